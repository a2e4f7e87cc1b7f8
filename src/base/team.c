/* Barriers on C11 atomics with a futex for sleeping, and teams: threads around one barrier. Passing it starts a run,
 * passing it again ends the run. Threads are not pinned to processors. */
#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/system/clock.h"
#include "base/system/futex.h"
#include "base/system/processor.h"
#include "base/memory.h"
#include "base/system/process.h"

/* ---- barrier ---- */

/* A wait inside a time step takes a few us; sleeping and waking costs about 20 us. If members share a processor, a
 * spinning member delays those that it waits for. */
enum { SPIN_NANOSECONDS = 20000, CROWDED_SPIN_NANOSECONDS = 1000, PAUSES_PER_LOOK_AT_CLOCK = 32 };

int barrier_depth(int members)
{
    int depth = 1;
    for (; members > BARRIER_GROUP; depth++) members = (members + BARRIER_GROUP - 1) / BARRIER_GROUP;
    return depth;
}

/* In the root, the last arrival completes a multiple of 1 << shift, which releases the group. In other groups the
 * release is one more count, added when the last member returns from the parent. */
static void init_group(struct barrier *barrier, int number, int members, int parent)
{
    struct barrier_shape *shape = &barrier->shape[number];
    atomic_init(&barrier->group[number].count, 0);
    atomic_init(&barrier->group[number].sleepers, 0);
    *shape = (struct barrier_shape){.members = (uint8_t)members, .parent = (int16_t)parent};
    while (1 << shape->shift < members + (parent >= 0)) shape->shift++;
}

void barrier_init(struct barrier *barrier, int members)
{
    barrier->spin = members > 1 && members > cpu_count() ? CROWDED_SPIN_NANOSECONDS : SPIN_NANOSECONDS;
    for (int first = 0, above;; members = above - first, first = above) {
        above = first + (members + BARRIER_GROUP - 1) / BARRIER_GROUP;
        const bool is_root = above == first + 1;
        for (int i = first, rest = members; i < above; i++, rest -= BARRIER_GROUP)
            init_group(barrier, i, rest < BARRIER_GROUP ? rest : BARRIER_GROUP,
                       is_root ? -1 : above + (i - first) / BARRIER_GROUP);
        barrier->groups = above;
        if (is_root)
            return;
    }
}

/* Counts one arrival and returns true for the last one. In a root of two or four members this count also releases the
 * group, which moves one cache line between cores instead of two. */
static bool arrive(struct barrier *barrier, int number, unsigned *meeting)
{
    const struct barrier_shape shape = barrier->shape[number];
    const unsigned count = atomic_fetch_add(&barrier->group[number].count, 1);
    *meeting = count >> shape.shift;
    return (count & ((1u << shape.shift) - 1)) + 1 == shape.members;
}

/* Releases a group whose members have all arrived. `more` completes the count of the meeting. */
static void open_group(struct barrier_group *group, unsigned more)
{
    if (more > 0)
        atomic_fetch_add(&group->count, more);
    /* Both are sequentially consistent: this thread reads the sleeper, or the sleeper reads the new count. */
    if (atomic_load(&group->sleepers) > 0)
        futex_wake_all(&group->count);
}

static bool opens_while_spinning(struct barrier_group *group, unsigned shift, unsigned meeting, int spin)
{
    int64_t begin = clock_nanoseconds();
    do {
        for (int i = 0; i < PAUSES_PER_LOOK_AT_CLOCK; i++) {
            if (atomic_load_explicit(&group->count, memory_order_acquire) >> shift != meeting)
                return true;
            cpu_pause();
        }
    } while (clock_nanoseconds() - begin < spin);
    return false;
}

static void sleep_until_open(struct barrier_group *group, unsigned shift, unsigned meeting)
{
    unsigned count;
    atomic_fetch_add(&group->sleepers, 1);
    while ((count = atomic_load(&group->count)) >> shift == meeting) futex_sleep(&group->count, count);
    atomic_fetch_sub(&group->sleepers, 1);
}

/* The last arrival of each group climbs the tree, waits in the first group that is incomplete, and releases the groups
 * on the way down. */
static void meet_in(struct barrier *barrier, int number)
{
    struct barrier_group *group = &barrier->group[number];
    const struct barrier_shape shape = barrier->shape[number];
    unsigned meeting;
    if (!arrive(barrier, number, &meeting)) {
        if (!opens_while_spinning(group, shape.shift, meeting, barrier->spin))
            sleep_until_open(group, shape.shift, meeting);
        return;
    }
    if (shape.parent >= 0)
        meet_in(barrier, shape.parent);
    open_group(group, (1u << shape.shift) - shape.members);
}

void barrier_wait(struct barrier *barrier, int me) { meet_in(barrier, me / BARRIER_GROUP); }

/* Arrives for an absent member without waiting. */
static void arrive_for(struct barrier *barrier, int absent)
{
    unsigned meeting;
    int number = absent / BARRIER_GROUP;
    while (number >= 0 && arrive(barrier, number, &meeting)) number = barrier->shape[number].parent;
}

/* ---- team ---- */

struct member {
    struct team *team;
    pthread_t thread;
    int me;
};

struct team {
    struct barrier gate;
    unsigned process;                /* the process_number() whose threads these are */
    void (*work)(void *arg, int me); /* NULL: the workers exit */
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
        barrier_wait(&team->gate, member->me);
        if (team->work == NULL)
            return NULL;
        team->work(team->arg, member->me);
        barrier_wait(&team->gate, member->me);
    }
}

/* Ends the workers 1 .. started-1. The caller arrives for those that never started, then for itself. It may be the last
 * arrival of several groups; it releases them all, because it cannot wait in two. The barrier is not used again. */
static void dismiss(struct team *team, int started)
{
    team->work = NULL;
    for (int absent = started; absent < team->size; absent++) arrive_for(&team->gate, absent);
    barrier_wait(&team->gate, 0);
    for (int i = 0; i < team->gate.groups && started < team->size; i++)
        open_group(&team->gate.group[i], 1u << team->gate.shape[i].shift);
    for (int i = 1; i < started; i++) pthread_join(team->members[i].thread, NULL);
}

/* Bytes of a worker's stack, whatever the limit of the process (ulimit -s). It includes the thread-local variables. 256
 * KB are enough for optimized code; debug code needs more. */
#ifdef UNROLL_DEBUG
enum { STACK = 8 << 20 };
#else
enum { STACK = 1 << 20 };
#endif

/* Starts a worker with all signals blocked, so that the program's own threads handle them. */
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

/* Starts all threads but the caller's. If one fails, ends those already started. */
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
        return fail(UNROLL_USAGE, "`threads` = %d is outside 1..%d; fix: use a number in this range", threads,
                    TEAM_LARGEST);
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
    barrier_wait(&team->gate, 0);
    work(arg, 0);
    barrier_wait(&team->gate, 0);
    cpu_restore_float_mode(mode);
    return UNROLL_OK;
}
