/* A connection is anonymous until it has sent the secret and the epoch; then it belongs to a member. epoll reports
 * events in the order in which they happened, so the first lost member is the cause, and later ones are
 * consequences. */
#include "extensions/cluster/cli/launch_control.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/try.h"
#include "cli/show/console.h"
#include "cli/run/launch_text.h"
#include "cli/show/stopwatch.h"

enum {
    EVENTS = 64,
    STRANGERS = 16,
    LISTENER = RANKS_MAX + STRANGERS /* epoll tags: members, anonymous connections, the listener */
};

/* ---- opening ---- */

static unroll_status cannot(const char *what)
{
    return complain(
        UNROLL_RESOURCE,
        "the launcher cannot %s: %s; fix: end other processes, or raise the limits of this one (ulimit -n, -u)", what,
        strerror(errno));
}

/* Returns the address from which this machine would connect to the host. Sends nothing. */
static unroll_status find_address(const char *towards, struct sockaddr_storage *address, socklen_t *size)
{
    struct addrinfo wish = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM}, *found = NULL;
    int error = getaddrinfo(towards ? towards : "127.0.0.1", "9", &wish, &found);
    if (error != 0)
        return complain(UNROLL_COMMUNICATION, "--hosts: '%.80s' is not known: %s; fix: give a name or an address",
                        towards, gai_strerror(error));
    int probe = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_found = probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
                    getsockname(probe, (struct sockaddr *)address, size) == 0;
    int reason = errno;
    if (probe >= 0)
        close(probe);
    freeaddrinfo(found);
    errno = reason;
    return is_found ? UNROLL_OK : cannot("find its address");
}

static void watch(struct launch_control *c, int socket, int tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)tag};
    if (epoll_ctl(c->waits, EPOLL_CTL_MOD, socket, &event) != 0)
        epoll_ctl(c->waits, EPOLL_CTL_ADD, socket, &event);
}

unroll_status control_open(struct launch_control *c, const char *towards, char place[128])
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    unsigned char random[(MEMBER_SECRET - 1) / 2];
    char host[64], port[16];
    for (int i = 0; i < RANKS_MAX; i++) c->member[i].socket = -1;
    for (int i = 0; i < STRANGERS; i++) c->stranger[i].socket = -1;
    TRY(find_address(towards, &address, &size));
    if (address.ss_family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&address)->sin6_port = 0;
    c->listens = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->listens < 0 || bind(c->listens, (struct sockaddr *)&address, size) != 0 ||
        listen(c->listens, RANKS_MAX) != 0 || getsockname(c->listens, (struct sockaddr *)&address, &size) != 0)
        return cannot("listen to its ranks");
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return cannot("draw a secret");
    for (size_t i = 0; i < sizeof random; i++) snprintf(c->secret + 2 * i, 3, "%02x", random[i]);
    c->waits = epoll_create1(EPOLL_CLOEXEC);
    if (c->waits < 0 || getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return cannot("listen to its ranks");
    watch(c, c->listens, LISTENER);
    snprintf(place, 128, "%s/%s/%s", host, port, c->secret);
    return UNROLL_OK;
}

static void drop(int *socket)
{
    if (*socket >= 0)
        close(*socket);
    *socket = -1;
}

void control_empty(struct launch_control *c, int place, bool gone)
{
    struct launch_member *m = &c->member[place];
    drop(&m->socket);
    free(m->address);
    *m = (struct launch_member){
        .socket = -1, .gone = gone, .begin = -1, .step = -1, .checkpoint = -1, .trains = -1, .heard = seconds_now()};
}

void control_begin(struct launch_control *c, int64_t epoch, int ranks)
{
    for (int i = 0; i < c->ranks; i++) control_empty(c, i, true);
    for (int i = 0; i < STRANGERS; i++) drop(&c->stranger[i].socket);
    for (int i = 0; i < ranks; i++) control_empty(c, i, false);
    c->epoch = epoch;
    c->ranks = ranks;
    c->first = -1;
    c->stops = c->is_wrong = false;
    c->looked = seconds_now();
}

/* ---- messages of members ---- */

/* Sends a line. A full buffer means that the member does not read: it is lost anyway. */
static void answer(int socket, const char *line) { send(socket, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT); }

static void hear_beat(const struct launch_control *c, struct launch_member *m, const int64_t place[3])
{
    char words[96];
    m->begin = m->begin < 0 ? place[0] : m->begin;
    m->trained = m->begin >= 0 && place[0] > m->begin;
    m->step = place[0];
    m->checkpoint = place[1];
    snprintf(words, sizeof words, "lease %" PRId64 " %d %.0f %" PRId64 "\n", c->lease, c->stays, 1e3 * c->mtbf,
             place[2]);
    if (c->lease > 0)
        answer(m->socket, words);
    if (c->stops)
        answer(m->socket, "stop\n");
}

/* Handles a line from a member. */
static void hear_line(struct launch_control *c, struct launch_member *m, const char *line)
{
    const char *rest;
    int64_t number[3];
    m->heard = seconds_now();
    if (line_numbers(line, "beat", 3, number))
        hear_beat(c, m, number);
    else if (line_numbers(line, "wrong", 1, number)) {
        c->is_wrong = number[0] < c->ranks;
        c->wrong = (int)number[0];
    } else if ((rest = line_numbers(line, "here", 1, number)) && *rest && m->address == NULL)
        m->address = strdup(rest + 1);
    else if (line_numbers(line, "trains", 1, number))
        m->trains = number[0];
    else if (strcmp(line, "met") == 0)
        m->met = true;
    else if (strcmp(line, "leave") == 0)
        m->left = true;
    else if ((rest = line_numbers(line, "bye", 1, number))) {
        m->ended = true;
        m->status = (int)number[0];
        snprintf(m->words, sizeof m->words, "%s", *rest ? rest + 1 : "");
    }
}

/* Takes one complete line from the buffer; returns false if there is none. The rest stays in the buffer. */
static bool next_line(char *text, size_t *length, char line[CONTROL_LINE])
{
    char *end = memchr(text, '\n', *length);
    if (end == NULL)
        return false;
    size_t size = (size_t)(end - text);
    memcpy(line, text, size);
    line[size] = '\0';
    *length -= size + 1;
    memmove(text, end + 1, *length);
    return true;
}

/* Returns false if the connection has ended. */
static bool read_more(int socket, char text[CONTROL_LINE], size_t *length)
{
    ssize_t count = recv(socket, text + *length, CONTROL_LINE - *length, MSG_DONTWAIT);
    if (count > 0)
        *length += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static void hear_member(struct launch_control *c, int rank)
{
    struct launch_member *m = &c->member[rank];
    char line[CONTROL_LINE];
    bool lives = m->socket >= 0 && read_more(m->socket, m->line, &m->length);
    while (next_line(m->line, &m->length, line)) hear_line(c, m, line);
    if (lives || m->socket < 0)
        return;
    drop(&m->socket);
    m->lost = !m->ended;
    if (m->lost && c->first < 0)
        c->first = rank;
}

/* "hello EPOCH RANK PROCESS MACHINE SECRET HOST" */
static bool introduce(struct launch_control *c, int socket, const char *line)
{
    enum { EPOCH, RANK, PROCESS, MACHINE, NUMBERS };
    struct launch_member m = {.socket = socket,
                              .came = true,
                              .begin = -1,
                              .step = -1,
                              .checkpoint = -1,
                              .trains = -1,
                              .heard = seconds_now()};
    int64_t number[NUMBERS];
    const char *rest = line_numbers(line, "hello", NUMBERS, number), *host = rest ? strrchr(rest, ' ') : NULL;
    if (rest == NULL || host - rest != MEMBER_SECRET || strncmp(rest + 1, c->secret, MEMBER_SECRET - 1) != 0 ||
        number[EPOCH] != c->epoch || number[RANK] < 0 || number[RANK] >= c->ranks || c->member[number[RANK]].came ||
        c->member[number[RANK]].gone)
        return false;
    m.process = (long)number[PROCESS];
    m.child = c->member[number[RANK]].child;
    snprintf(m.host, sizeof m.host, "%s", host + 1);
    c->member[number[RANK]] = m;
    watch(c, socket, (int)number[RANK]);
    return true;
}

/* Reads a connection without a known member. Its first line must introduce a rank; otherwise it is closed. */
static void hear_stranger(struct launch_control *c, int index)
{
    char line[CONTROL_LINE];
    int *socket = &c->stranger[index].socket;
    size_t *length = &c->stranger[index].length;
    bool lives = *socket >= 0 && read_more(*socket, c->stranger[index].line, length);
    if (!next_line(c->stranger[index].line, length, line)) {
        if (!lives || *length == sizeof line)
            drop(socket);
        return;
    }
    int rank = 0;
    if (!introduce(c, *socket, line)) {
        drop(socket);
        return;
    }
    while (c->member[rank].socket != *socket) rank++;
    memcpy(c->member[rank].line, c->stranger[index].line, *length);
    c->member[rank].length = *length;
    *socket = -1;
    hear_member(c, rank);
}

static void welcome(struct launch_control *c)
{
    const int on = 1;
    int socket, index = 0;
    while (index < STRANGERS && c->stranger[index].socket >= 0) index++;
    if (index == STRANGERS)
        drop(&c->stranger[index = 0].socket); /* any one may go: members introduce themselves at once */
    socket = accept4(c->listens, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->stranger[index].socket = socket;
    c->stranger[index].length = 0;
    watch(c, socket, RANKS_MAX + index);
}

/* If this process itself was stopped or starved, does not count that time as silence of the members. */
static void forgive(struct launch_control *c, double limit)
{
    double now = seconds_now(), missed = now - c->looked - limit;
    for (int i = 0; missed > 0.5 && i < c->ranks; i++) c->member[i].heard += missed;
    c->looked = now;
}

void control_wait(struct launch_control *c, int milliseconds)
{
    struct epoll_event event[EVENTS];
    int count = epoll_wait(c->waits, event, EVENTS, milliseconds);
    forgive(c, 1e-3 * milliseconds);
    for (int i = 0; i < count; i++) {
        int tag = (int)event[i].data.u32;
        if (tag == LISTENER)
            welcome(c);
        else if (tag >= RANKS_MAX)
            hear_stranger(c, tag - RANKS_MAX);
        else
            hear_member(c, tag);
    }
}

void control_stop(struct launch_control *c) { c->stops = true; }

void control_tell(struct launch_control *c, const char *word)
{
    char line[16];
    snprintf(line, sizeof line, "%s\n", word);
    for (int i = 0; i < c->ranks; i++)
        if (c->member[i].socket >= 0)
            answer(c->member[i].socket, line);
}

int control_silent(const struct launch_control *c, double *seconds)
{
    int silent = -1;
    for (int i = 0; i < c->ranks; i++)
        if (!c->member[i].gone && !c->member[i].ended && (silent < 0 || c->member[i].heard < c->member[silent].heard))
            silent = i;
    *seconds = silent < 0 ? 0 : seconds_now() - c->member[silent].heard;
    return silent;
}

int control_count(const struct launch_control *c, bool (*is)(const struct launch_member *))
{
    int count = 0;
    for (int i = 0; i < c->ranks; i++) count += !c->member[i].gone && is(&c->member[i]);
    return count;
}

static bool is_any(const struct launch_member *m)
{
    (void)m;
    return true;
}

int control_members(const struct launch_control *c) { return control_count(c, is_any); }

void control_tell_one(struct launch_control *c, int place, const char *line)
{
    if (c->member[place].socket >= 0)
        answer(c->member[place].socket, line);
}
