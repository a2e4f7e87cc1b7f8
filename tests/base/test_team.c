/* Tests teams and barriers with 1 to 7 and 34 threads (four levels of groups) on any number of processors. Also built
 * with -fsanitize=thread, which detects races that do not show up otherwise. */
/* test: kinds=plain,long-thread */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/system/processor.h"
#include "base/memory.h"
#include "base/team.h"
#include "check.h"

enum { LARGEST = 34, ROUNDS = 300, RUNS = 200 };

/* ---- each member once, plain memory handed over ---- */

struct roll_call {
    int calls[LARGEST]; /* [me], each written by its member alone and read by the caller */
    float flushed[LARGEST];
    bool signal_blocked[LARGEST];
};

static void answer(void *argument, int me)
{
    struct roll_call *roll = argument;
    volatile float tiny = 0x1p-126f, half = 0.5f;
    sigset_t blocked;
    roll->calls[me]++;
    roll->flushed[me] = tiny * half;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    roll->signal_blocked[me] = sigismember(&blocked, SIGTERM);
}

static void test_each_once(struct team *team, int size)
{
    struct roll_call roll = {{0}, {0}, {0}};
    uint64_t mode = cpu_float_mode(), allocated = memory_allocations();
    int wrong = 0;
    for (int run = 1; run <= RUNS; run++) {
        team_run(team, answer, &roll);
        for (int me = 0; me < size; me++)
            wrong += roll.calls[me] != run || roll.flushed[me] != 0 || roll.signal_blocked[me] != (me > 0);
        if (run % 50 == 0)
            usleep(300); /* longer than workers spin, so they go to sleep */
    }
    CHECK(wrong == 0, "%d answers of %d members are wrong", wrong, size);
    CHECK(cpu_float_mode() == mode, "the caller's floating-point mode was not restored");
    CHECK(memory_allocations() == allocated, "a run allocated");
}

static double cpu_milliseconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return 1e3 * (double)used.tv_sec + 1e-6 * (double)used.tv_nsec;
}

/* Between runs the workers are idle: if they were spinning, each would use 50 ms. */
static void test_idle(struct team *team, int size)
{
    struct roll_call roll = {{0}, {0}, {0}};
    team_run(team, answer, &roll);
    double before = cpu_milliseconds();
    usleep(50000);
    double used = cpu_milliseconds() - before;
    CHECK(used < 10, "%d idle members worked for %.1f ms", size, used);
}

/* ---- barriers: all earlier writes are visible to all members ---- */

struct storm {
    struct barrier all, half[2]; /* the halves are the even and the odd members */
    int size, step[LARGEST];     /* plain memory on purpose */
    atomic_int wrong;
};

static void weather(void *argument, int me)
{
    struct storm *storm = argument;
    for (int round = 1; round <= ROUNDS; round++) {
        storm->step[me] = round;
        barrier_wait(&storm->half[me % 2], me / 2);
        for (int other = me % 2; other < storm->size; other += 2)
            atomic_fetch_add(&storm->wrong, storm->step[other] != round);
        barrier_wait(&storm->all, me);
        for (int other = 0; other < storm->size; other++) atomic_fetch_add(&storm->wrong, storm->step[other] != round);
        if (round % 100 == 0 && me == storm->size - 1)
            usleep(200); /* the others wait asleep */
        barrier_wait(&storm->all, me);
    }
}

static void test_storm(struct team *team, int size)
{
    struct storm storm = {.size = size};
    barrier_init(&storm.all, size);
    barrier_init(&storm.half[0], (size + 1) / 2);
    barrier_init(&storm.half[1], size > 1 ? size / 2 : 1);
    team_run(team, weather, &storm);
    team_run(team, weather, &storm); /* barriers can be reused without a reset */
    CHECK(storm.wrong == 0, "%d stale reads among %d members", (int)storm.wrong, size);
}

/* Counters wrap around after 2^32 arrivals. */
static void test_wrap(struct team *team, int size)
{
    struct storm storm = {.size = size};
    barrier_init(&storm.all, size);
    barrier_init(&storm.half[0], (size + 1) / 2);
    barrier_init(&storm.half[1], size > 1 ? size / 2 : 1);
    for (int i = 0; i < storm.all.groups; i++) atomic_store(&storm.all.group[i].count, UINT_MAX - 15);
    team_run(team, weather, &storm);
    CHECK(storm.wrong == 0, "%d stale reads where counts wrap", (int)storm.wrong);
}

static void test_refusals(void)
{
    struct team *team = NULL;
    CHECK(team_new(0, &team) == UNROLL_USAGE && team == NULL, "an empty team");
    CHECK(team_new(TEAM_LARGEST + 1, &team) == UNROLL_USAGE && strstr(unroll_last_error(), "1025"), "'%s'",
          unroll_last_error());
    memory_fail_after(0);
    CHECK(team_new(2, &team) == UNROLL_RESOURCE && team == NULL, "a team without memory");
    memory_fail_after(-1);
    team_free(NULL);
}

/* If the address space is used up after some members have started, these exit again. */
static void test_some_members_start(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    check_skip("a limit on the address space stops the sanitizer");
#else
    struct rlimit before, small;
    struct team *team = NULL;
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");

    if (sizes == NULL || fscanf(sizes, "%lu", &pages) != 1)
        pages = 0;
    if (sizes != NULL)
        fclose(sizes);
    getrlimit(RLIMIT_AS, &before);
    small = before;
    small.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64u << 20); /* a few stacks */
    setrlimit(RLIMIT_AS, &small);
    unroll_status status = team_new(TEAM_LARGEST, &team);
    setrlimit(RLIMIT_AS, &before);
    CHECK(status == UNROLL_RESOURCE && team == NULL && strstr(unroll_last_error(), "of 1024"), "'%s'",
          unroll_last_error());
    CHECK(memory_live() == 0, "%d allocations were not released", (int)memory_live());
#endif
}

int main(void)
{
    alarm(120); /* a deadlock ends the program */
    test_refusals();
    test_some_members_start();
    for (int size = 1; size <= LARGEST; size += size == 7 ? LARGEST - 7 : 1) {
        struct team *team;
        if (!CHECK(team_new(size, &team) == UNROLL_OK, "%s", unroll_last_error()))
            continue;
        CHECK(team_size(team) == size, "%d", team_size(team));
        test_each_once(team, size);
        test_idle(team, size);
        test_storm(team, size);
        test_wrap(team, size);
        team_free(team);
        CHECK(team_new(size, &team) == UNROLL_OK, "%s", unroll_last_error());
        team_free(team); /* without a run */
    }
    CHECK(memory_live() == 0, "%d allocations were not released", (int)memory_live());
    return check_finish("test_team");
}
