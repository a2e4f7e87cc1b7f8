/* The guard and its rank hold the two ends of a socket, which the system closes however the rank ends. The guard
 * runs in its own session, so that no signal to the rank's process group reaches it. */
#include "cli/run/guard.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"

enum { LINE_LONGEST = PATH_MAX + 64, NUMBERS = 1024 /* of files that a launcher may have opened for its ranks */ };

static int to_guard = -1;

/* ---- the guard ---- */

static struct {
    char line[LINE_LONGEST];
    bool done, alone;   /* alone: the rank has ended */
    struct pollfd lead; /* the process of rank 0; fd < 0: it is this rank, or on another machine */
} guard = {.lead = {.fd = -1, .events = POLLIN}};

static void wait_a_little(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

static void hear_rank(void)
{
    char words[LINE_LONGEST];
    int64_t lead;
    ssize_t length = recv(STDIN_FILENO, words, sizeof words - 1, 0);
    words[length > 0 ? length : 0] = '\0';
    guard.alone = length <= 0;
    guard.done = strcmp(words, "done") == 0;
    if (strncmp(words, "lead ", 5) == 0 && number_whole_integer(words + 5, 1, INT_MAX, &lead) == NUMBER_OK)
        guard.lead.fd = (int)syscall(SYS_pidfd_open, (pid_t)lead, 0); /* kernels before 5.3 have no pidfd_open */
    else if (guard.done || strcmp(words, "hush") == 0)
        guard.line[0] = '\0';
    else if (length > 0)
        strcpy(guard.line, words);
}

/* Waits for the end of the rank and prints its last line. Only one guard prints: that of a rank that died alone,
 * whose output launchers still read, or that of rank 0 if it died too. */
static void stand_guard(void)
{
    while (!guard.done && !guard.alone) hear_rank();
    if (*guard.line && guard.lead.fd >= 0)
        wait_a_little();
    if (*guard.line && (guard.lead.fd < 0 || poll(&guard.lead, 1, 0) == 0))
        dprintf(STDERR_FILENO, "%s\n", guard.line);
}

/* Closes the outputs with a pause in between. MPICH's proxy (pmip.c) looks for ended children when an output closes.
 * After it has passed on a signal, it forgets the status of a rank whose outputs were all closed before that, so one
 * output stays open while the rank ends. */
static void close_outputs(void)
{
    wait_a_little();
    close(STDOUT_FILENO);
    wait_a_little();
    close(STDERR_FILENO);
}

/* Wakes mpirun with SIGCHLD, which only makes it look for ended children. Open MPI's mpirun ends ranks with SIGCONT,
 * SIGTERM and SIGKILL, and sleeps for a second after each but the last unless a child wakes it:
 * odls_base_default_kill_local_procs(). */
static void hurry(pid_t launcher)
{
    enum { TIMES = 100 };

    for (int i = 0; i < TIMES && kill(launcher, SIGCHLD) == 0; i++) wait_a_little();
}

/* Removes the shared memory of Open MPI 4 that this rank would have removed if it had not been killed before all
 * ranks had started (extensions/cluster/comm/mpi_openmpi.c). Its name contains the host, user, job and rank. */
static void remove_segment(void)
{
    const char *job = getenv("OMPI_MCA_ess_base_jobid"), *rank = getenv("OMPI_MCA_ess_base_vpid");
    char host[64] = "", path[PATH_MAX];
    int64_t number;
    gethostname(host, sizeof host - 1);
    if (job == NULL || rank == NULL || number_whole_integer(job, 0, UINT32_MAX, &number) != NUMBER_OK)
        return;
    snprintf(path, sizeof path, "/dev/shm/vader_segment.%s.%u.%x.%s", host, geteuid(), (unsigned)number, rank);
    unlink(path);
}

/* Runs the guard. It closes everything inherited from the rank, so that the rank's end is visible. */
static void be_guard(int socket, pid_t launcher)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2};
    prctl(PR_SET_NAME, "rank-guard"); /* killing all processes named "unroll" spares guards */
    setsid();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    dup2(socket, STDIN_FILENO);
    for (int number = STDERR_FILENO + 1; number < NUMBERS; number++) close(number);
    bool is_openmpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL;

    stand_guard();
    while (!is_openmpi && !guard.alone) hear_rank();
    close_outputs();
    if (is_openmpi)
        hurry(launcher);
    if (guard.alone)
        remove_segment();
}

/* ---- the rank ---- */

void guard_start(void)
{
    int ends[2];
    pid_t launcher = getppid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    if (fork() == 0) {
        be_guard(ends[1], launcher);
        _exit(0);
    }
    close(ends[1]);
    to_guard = ends[0];
}

void guard_will_say(const char *line)
{
    send(to_guard, line, strlen(line), MSG_NOSIGNAL); /* fails harmlessly if there is no guard */
}

void guard_lead(pid_t process)
{
    char words[32];
    snprintf(words, sizeof words, "lead %ld", (long)process);
    guard_will_say(words);
}

void guard_hush(void)
{
    int error = errno;
    guard_will_say("hush");
    errno = error;
}

void guard_done(void) { guard_will_say("done"); }
