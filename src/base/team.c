/* Barriers on C11 atomics with a futex to sleep on, and teams, which are threads around one barrier:
 * passing it begins a run, passing it again ends the run.
 * Not pinned to processors: the system moves threads as it likes. */
#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/processor.h"
#include "base/memory.h"
#include "base/process.h"

/* ---- barrier ---- */

/* A wait inside a time step is a few us; going to sleep and being woken costs about 20. Members that have no
 * processor of their own keep those that they wait for from running. */
enum { SPIN_NANOSECONDS = 20000, CROWDED_SPIN_NANOSECONDS = 1000, PAUSES_PER_LOOK_AT_CLOCK = 32 };

void barrier_init(struct barrier *barrier, int members)
{
    atomic_init(&barrier->arrived, 0);
    atomic_init(&barrier->epoch, 0);
    atomic_init(&barrier->sleepers, 0);
    barrier->members = (unsigned)members;
    barrier->spin = members > 1 && members > cpu_count() ? CROWDED_SPIN_NANOSECONDS : SPIN_NANOSECONDS;
}

/* Counts one arrival; the last one opens the barrier. The others wait while the epoch is `closed`. Of two members the
 * first waits for what the second counts with: one line of memory goes from core to core, not two one after the
 * other. */
static bool arrive(struct barrier *barrier, unsigned *closed)
{
    if (barrier->members == 2) {
        *closed = atomic_fetch_add(&barrier->epoch, 1) + 1;
        if (*closed % 2 == 1)
            return false;
    } else {
        /* No member can open the next meeting before we arrive: this epoch is the current one. */
        *closed = atomic_load_explicit(&barrier->epoch, memory_order_relaxed);
        if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 < barrier->members)
            return false;
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store(&barrier->epoch, *closed + 1);
    }
    /* Both sequentially consistent: either we see the sleeper or the sleeper sees the epoch. */
    if (atomic_load(&barrier->sleepers) > 0)
        syscall(SYS_futex, &barrier->epoch, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    return true;
}

static bool opens_while_spinning(struct barrier *barrier, unsigned closed)
{
    int64_t begin = clock_nanoseconds();
    do {
        for (int i = 0; i < PAUSES_PER_LOOK_AT_CLOCK; i++) {
            if (atomic_load_explicit(&barrier->epoch, memory_order_acquire) != closed)
                return true;
            cpu_pause();
        }
    } while (clock_nanoseconds() - begin < barrier->spin);
    return false;
}

static void sleep_until_open(struct barrier *barrier, unsigned closed)
{
    atomic_fetch_add(&barrier->sleepers, 1);
    while (atomic_load(&barrier->epoch) == closed) /* the kernel compares once more, atomically */
        syscall(SYS_futex, &barrier->epoch, FUTEX_WAIT_PRIVATE, closed, NULL, NULL, 0);
    atomic_fetch_sub(&barrier->sleepers, 1);
}

void barrier_wait(struct barrier *barrier)
{
    unsigned closed;
    if (!arrive(barrier, &closed) && !opens_while_spinning(barrier, closed))
        sleep_until_open(barrier, closed);
}

/* ---- team ---- */

struct member {
    struct team *team;
    pthread_t thread;
    int me;
};

struct team {
    struct barrier gate;
    unsigned process;                /* whose threads there are */
    void (*work)(void *arg, int me); /* NULL: the workers leave */
    void *arg;
    int size;
    struct member members[]; /* [size]; 0 is the caller and has no thread here */
};

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct team *team = member->team;
    cpu_flush_denormals();
    for (;;) {
        barrier_wait(&team->gate);
        if (team->work == NULL)
            return NULL;
        team->work(team->arg, member->me);
        barrier_wait(&team->gate);
    }
}

/* Ends the workers 1 .. started-1. The caller arrives for itself and for those that never started. */
static void dismiss(struct team *team, int started)
{
    unsigned closed;
    team->work = NULL;
    for (int absent = started - 1; absent < team->size; absent++) arrive(&team->gate, &closed);
    for (int i = 1; i < started; i++) pthread_join(team->members[i].thread, NULL);
}

/* Bytes of a worker's stack, whatever the limit of the process is (ulimit -s). It holds the program's thread-local
 * variables, too. Code that is not optimized needs more than the 256 KB that are enough for any caller. */
#ifdef UNROLL_DEBUG
enum { STACK = 8 << 20 };
#else
enum { STACK = 1 << 20 };
#endif

/* Signals stay with the threads of the program: workers block them all. */
static int start_member(struct member *member)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_attr_setstacksize(&attributes, STACK);
    if (error == 0)
        error = pthread_create(&member->thread, &attributes, member_main, member);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static unroll_status start_members(struct team *team)
{
    barrier_init(&team->gate, team->size);
    for (int i = 1; i < team->size; i++) {
        team->members[i].team = team;
        team->members[i].me = i;
        int error = start_member(&team->members[i]);
        if (error != 0) {
            dismiss(team, i);
            return fail(UNROLL_RESOURCE, "cannot start thread %d of %d: %s; fix: ask for fewer threads", i + 1,
                        team->size, strerror(error));
        }
    }
    team->process = process_number();
    return UNROLL_OK;
}

unroll_status team_new(int threads, struct team **team)
{
    if (threads < 1 || threads > TEAM_LARGEST)
        return fail(UNROLL_USAGE, "a team of %d threads was asked for; fix: ask for 1 to %d", threads, TEAM_LARGEST);
    struct team *made = allocate_zeroed(1, sizeof *made + (size_t)threads * sizeof made->members[0]);
    if (made == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a team of %d threads", threads);
    made->size = threads;
    unroll_status status = start_members(made);
    if (status == UNROLL_OK)
        *team = made;
    else
        release(made);
    return status;
}

void team_free(struct team *team)
{
    if (team != NULL && team->process == process_number())
        dismiss(team, team->size);
    release(team);
}

int team_size(const struct team *team) { return team->size; }

unroll_status team_run(struct team *team, void (*work)(void *arg, int me), void *arg)
{
    if (team->process != process_number())
        TRY(start_members(team));
    uint64_t mode = cpu_flush_denormals();
    team->work = work;
    team->arg = arg;
    barrier_wait(&team->gate);
    work(arg, 0);
    barrier_wait(&team->gate);
    cpu_restore_float_mode(mode);
    return UNROLL_OK;
}
