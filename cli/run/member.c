/* A thread keeps the connection to the launcher: lines of text, with a heartbeat ten times a second, each answered
 * by a lease. The thread stops with the process, so a stopped process sends nothing. */
#include "cli/run/member.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/try.h"
#include "cli/show/console.h"
#include "cli/run/guard.h"
#include "cli/run/launch_text.h"
#include "cli/run/ranks.h"
#include "cli/show/stopwatch.h"

enum { SHORT_LINE = 256, LONG_LINE = UNROLL_ADDRESS + SHORT_LINE, WAIT_FOR_LEASE = 5000 /* milliseconds */ };

static struct {
    int socket; /* to the launcher; valid only if `is` */
    bool is, left, closed;
    int told; /* messages of progress sent at once */
    pthread_t thread;
    pthread_mutex_t sending;
    char heard[LONG_LINE]; /* a line received in part */
    size_t length;
    atomic_bool stops, saves, lost, stays; /* stays: the lease remains valid if the launcher is lost */
    atomic_llong lease;                    /* expiry in milliseconds of now() */
    atomic_llong step, checkpoint, mtbf;   /* mtbf: milliseconds */
    int place;                             /* of processes that meet again when some join or leave; -1: of others */
} member = {.sending = PTHREAD_MUTEX_INITIALIZER, .step = -1, .checkpoint = -1, .place = -1};

/* The newest world that the launcher has announced; whole: with all addresses. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t number, open; /* open: the world this process is or was in */
    int rank, ranks;
    bool whole, dismissed;
    bool trained; /* it has made and reported a step in the open world */
    char *address[RANKS_MAX];
    unroll_comm *comm; /* NULL: none is open */
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns milliseconds of a clock that continues while the machine sleeps, so that a lease expires in the meantime. */
static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void tell_line(const char *line, size_t length)
{
    pthread_mutex_lock(&member.sending);
    send(member.socket, line, length, MSG_NOSIGNAL);
    pthread_mutex_unlock(&member.sending);
}

/* Sends a line. If the launcher is gone, reading reports it. */
__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char line[SHORT_LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    length = length < SHORT_LINE - 2 ? length : SHORT_LINE - 2;
    for (int i = 0; i < length; i++) line[i] = line[i] == '\n' ? ' ' : line[i];
    line[length++] = '\n';
    tell_line(line, (size_t)length);
}

static void tell_place(void)
{
    tell("beat %lld %lld %lld", atomic_load(&member.step), atomic_load(&member.checkpoint), now());
}

/* ---- messages from the launcher ---- */

/* Interrupts this process if it waits for another rank. */
static void call_to_meet(void)
{
    if (world.comm)
        unroll_comm_interrupt(world.comm);
    pthread_cond_broadcast(&world.changed);
}

/* Handles "world NUMBER RANK RANKS", a line "peer RANK ADDRESS" for each rank, "meet" and "dismissed". */
static void hear_of_world(const char *line)
{
    enum { NUMBER, RANK, RANKS, NUMBERS };
    int64_t number[NUMBERS];
    const char *rest;
    pthread_mutex_lock(&world.lock);
    if (line_numbers(line, "world", NUMBERS, number) && number[RANKS] > 0 && number[RANKS] <= RANKS_MAX) {
        world.number = number[NUMBER];
        world.rank = (int)number[RANK];
        world.ranks = (int)number[RANKS];
        world.whole = false;
    } else if ((rest = line_numbers(line, "peer", 1, number)) && number[0] >= 0 && number[0] < world.ranks && *rest) {
        free(world.address[number[0]]);
        world.address[number[0]] = strdup(rest + 1);
    } else if (strcmp(line, "meet") == 0) {
        world.whole = true;
        call_to_meet();
    } else if (strcmp(line, "dismissed") == 0) {
        world.dismissed = true;
        call_to_meet();
    }
    pthread_mutex_unlock(&world.lock);
}

/* Handles a line from the launcher. */
static void obey(const char *line)
{
    enum { LASTS, STAYS, MTBF, SENT, NUMBERS };
    int64_t number[NUMBERS];
    if (line_numbers(line, "lease", NUMBERS, number)) {
        atomic_store(&member.stays, number[STAYS] != 0);
        atomic_store(&member.mtbf, number[MTBF]);
        atomic_store(&member.lease, number[SENT] + number[LASTS]); /* counted from when the beat was sent */
    } else if (strcmp(line, "save") == 0) {
        atomic_store(&member.saves, true);
    } else if (strcmp(line, "stop") == 0) {
        atomic_store(&member.stops, true);
    } else if (strcmp(line, "end") == 0) { /* another rank is lost, and this one is waiting for it */
        guard_hush();
        _exit(UNROLL_COMMUNICATION);
    } else {
        hear_of_world(line);
    }
}

/* Reads from the launcher; returns false if it is gone. */
static bool hear(void)
{
    ssize_t count = recv(member.socket, member.heard + member.length, sizeof member.heard - 1 - member.length, 0);
    if (count <= 0)
        return count < 0 && errno == EINTR;
    member.length += (size_t)count;
    member.heard[member.length] = '\0';
    for (char *end; (end = strchr(member.heard, '\n'));) {
        *end = '\0';
        obey(member.heard);
        member.length -= (size_t)(end + 1 - member.heard);
        memmove(member.heard, end + 1, member.length + 1);
    }
    return member.length < sizeof member.heard - 1;
}

static void *beat(void *unused)
{
    long long next = now();
    for (bool lives = true; lives;) {
        struct pollfd from = {.fd = member.socket, .events = POLLIN};
        if (poll(&from, 1, (int)(next > now() ? next - now() : 0)) > 0)
            lives = hear();
        if (lives && now() >= next) {
            tell_place();
            next = now() + MEMBER_BEAT;
        }
    }
    atomic_store(&member.lost, true);
    atomic_store(&member.stops, true);
    return unused;
}

/* ---- beginning and ending ---- */

static unroll_status reach(const char *host, const char *port)
{
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found = NULL;
    int error = getaddrinfo(host, port, &wish, &found);
    member.socket = error ? -1 : socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool reached = member.socket >= 0 && connect(member.socket, found->ai_addr, found->ai_addrlen) == 0;
    if (error == 0)
        freeaddrinfo(found);
    return reached ? UNROLL_OK
                   : complain(UNROLL_COMMUNICATION,
                              "the launcher at %.60s, port %.10s, can't be reached: %s; fix: let the hosts reach it",
                              host, port, error ? gai_strerror(error) : strerror(errno));
}

static int rank_number(void)
{
    static const char *const names[] = {MEMBER_PLACE, "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    int64_t rank;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) && number_whole_integer(getenv(names[i]), 0, 1 << 20, &rank) == NUMBER_OK)
            return (int)rank;
    return 0;
}

int start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

unroll_status member_open(double machine)
{
    const char *place = getenv(MEMBER_VARIABLE);
    char words[SHORT_LINE], host[128] = "", *part[4], *rest = words;
    pthread_condattr_t monotonic;
    if (place == NULL)
        return UNROLL_OK;
    snprintf(words, sizeof words, "%s", place);
    for (int i = 0; i < 4; i++)
        if ((part[i] = strtok_r(i ? NULL : words, "/", &rest)) == NULL)
            return complain(UNROLL_USAGE,
                            MEMBER_VARIABLE " = '%.80s' is not HOST/PORT/SECRET/EPOCH; fix: let unroll launch set it",
                            place);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC); /* other clocks may jump */
    pthread_cond_init(&world.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    TRY(reach(part[0], part[1]));
    gethostname(host, sizeof host - 1);
    tell("hello %.20s %d %ld %.0f %.40s %.100s", part[3], rank_number(), (long)getpid(), machine, part[2], host);
    if (start_thread(&member.thread, beat, NULL) != 0)
        return complain(UNROLL_RESOURCE, "cannot start a thread; fix: raise the limit of threads (ulimit -u)");
    member.is = true;
    member.place = getenv(MEMBER_PLACE) ? rank_number() : -1;
    return UNROLL_OK;
}

bool member_is(void) { return member.is; }

void member_close(unroll_status status)
{
    if (!member.is || member.closed)
        return;
    member.closed = true;
    tell("bye %d %.200s", (int)status, status == UNROLL_OK || status == UNROLL_PREEMPTED ? "" : last_complaint());
    shutdown(member.socket, SHUT_RDWR);
    pthread_join(member.thread, NULL);
}

/* ---- while it trains ---- */

void member_met(void)
{
    if (member.is)
        tell("met");
}

/* Reports the first steps of a rank and each new checkpoint at once, not with the next beat. */
void member_stands(int64_t step, int64_t checkpoint)
{
    bool is_new = atomic_exchange(&member.checkpoint, checkpoint) != checkpoint;
    atomic_store(&member.step, step);
    if (member.is && (is_new || member.told < 2))
        tell_place();
    member.told += member.told < 2;
}

void member_leaves(void)
{
    if (member.is && !member.left)
        tell("leave");
    member.left = true;
}

void member_found_wrong(int rank)
{
    if (member.is)
        tell("wrong %d", rank);
}

bool member_stops(void) { return atomic_load(&member.stops); }

bool member_saves(void) { return atomic_exchange(&member.saves, false); }

double member_mtbf(void) { return 1e-3 * (double)atomic_load(&member.mtbf); }

static bool may_write(void)
{
    return now() < atomic_load(&member.lease) || (atomic_load(&member.lost) && atomic_load(&member.stays));
}

bool member_lease(void)
{
    long long begin = now();
    while (member.is && !may_write()) {
        if (atomic_load(&member.lost) || now() - begin > WAIT_FOR_LEASE)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return true;
}

/* ---- worlds ---- */

bool member_rejoins(void) { return member.place >= 0; }

bool member_is_first(void) { return member.place <= 0; }

unroll_status member_ready(void)
{
    char address[UNROLL_ADDRESS], line[LONG_LINE];
    TRY(complain_library(unroll_comm_address(address)));
    tell_line(line, (size_t)snprintf(line, sizeof line, "here 0 %s\n", address));
    return UNROLL_OK;
}

bool member_is_called(void)
{
    pthread_mutex_lock(&world.lock);
    bool is_called = world.dismissed || (world.whole && world.number > world.open);
    pthread_mutex_unlock(&world.lock);
    return is_called;
}

bool member_is_dismissed(void)
{
    pthread_mutex_lock(&world.lock);
    bool dismissed = world.dismissed;
    pthread_mutex_unlock(&world.lock);
    return dismissed;
}

/* Waits for the next world; the caller holds the lock. */
static unroll_status wait_for_world(double seconds)
{
    struct timespec until;
    const bool is_spare = world.open == 0;
    for (double end = seconds_now() + seconds; is_spare || seconds_now() < end;) {
        if (world.dismissed || atomic_load(&member.stops))
            return UNROLL_PREEMPTED;
        if (world.whole && world.number > world.open)
            return UNROLL_OK;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&world.changed, &world.lock, &until);
    }
    return complain(
        UNROLL_COMMUNICATION,
        "the launcher has not formed a new group of ranks for %.0f s; fix: look at its messages, and start again",
        seconds);
}

unroll_status member_meet(double timeout, double seconds, unroll_comm **comm)
{
    *comm = NULL;
    pthread_mutex_lock(&world.lock);
    unroll_status status = wait_for_world(seconds);
    if (status == UNROLL_OK) {
        world.open = world.number;
        world.trained = false;
        status = complain_library(unroll_comm_open_world(world.number, world.rank, world.ranks,
                                                         (const char *const *)world.address, timeout, comm));
        world.comm = *comm;
    }
    pthread_mutex_unlock(&world.lock);
    return status;
}

void member_part(unroll_comm **comm)
{
    pthread_mutex_lock(&world.lock);
    world.comm = NULL;
    pthread_mutex_unlock(&world.lock);
    unroll_comm_close(*comm);
    *comm = NULL;
}

void member_trains(void)
{
    if (member.place >= 0 && !world.trained)
        tell("trains %lld", (long long)world.open);
    world.trained = true;
}
