/* Groups of threads that act as ranks. Sums of whole numbers, which are exact in every order, so that a wrong member
 * shows; the order of floating-point sums; matching by tag; failures and their messages. */
/* test: kinds=plain,long-thread */
#include "base/memory.h"
#include "base/team.h"
#include "comm/comm.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORLD_MAX = 9, NUMBERS = 10000 }; /* doubles in more than one piece */

struct world {
    struct unroll_comm *comm[WORLD_MAX];
    int ranks;
};

static void run(int ranks, double timeout, void (*work)(void *world, int rank))
{
    struct world w = {.ranks = ranks};
    struct team *team;
    unroll_status status = comm_threads_new(ranks, timeout, w.comm);
    if (status == UNROLL_OK)
        status = team_new(ranks, &team);
    if (!CHECK(status == UNROLL_OK, "%s", unroll_last_error()))
        return;
    team_run(team, work, &w);
    team_free(team);
    comm_threads_free(w.comm, ranks);
}

/* ---- sums ------------------------------------------------------------------------------ */

static const int in_order[WORLD_MAX] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static void sum_doubles(void *world, int rank)
{
    struct world *w = world;
    double *x = allocate_zeroed(NUMBERS, sizeof *x);
    int wrong = 0;
    for (int i = 0; i < NUMBERS; i++) x[i] = (double)(1 << rank) * i;
    CHECK(comm_all_reduce(w->comm[rank], in_order, w->ranks, 1, x, NUMBERS, 1) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < NUMBERS; i++) wrong += x[i] != (double)((1 << w->ranks) - 1) * i;
    CHECK(wrong == 0, "rank %d of %d: %d sums are wrong", rank, w->ranks, wrong);
    release(x);
}

static void sum_floats(void *world, int rank)
{
    struct world *w = world;
    float x[3] = {(float)rank, 1, -(float)(1 << rank)};
    CHECK(comm_all_reduce(w->comm[rank], in_order, w->ranks, 2, x, 3, 0) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(x[0] == (float)(w->ranks * (w->ranks - 1)) / 2 && x[1] == (float)w->ranks &&
              x[2] == -(float)((1 << w->ranks) - 1),
          "rank %d of %d: %g %g %g", rank, w->ranks, (double)x[0], (double)x[1], (double)x[2]);
}

/* 1 + 2^-53 rounds to 1: only (a + b) + (c + d) keeps the last two values. */
static void sum_in_tree_order(void *world, int rank)
{
    struct world *w = world;
    static const double number[4] = {1, 0x1p-53, 0x1p-53, 0x1p-53};
    double x = number[rank], tree = (number[0] + number[1]) + (number[2] + number[3]);
    double chain = ((number[0] + number[1]) + number[2]) + number[3];
    CHECK(comm_all_reduce(w->comm[rank], in_order, 4, 3, &x, 1, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(x == tree && tree != chain, "rank %d: %a is not the sum in the order of the tree, %a", rank, x, tree);
}

/* ---- groups, tags ------------------------------------------------------------- */

/* Even and odd ranks sum separately, at the same time and with the same tag. */
static void sum_in_groups(void *world, int rank)
{
    struct world *w = world;
    int member[WORLD_MAX], size = 0;
    double expected = 0, x = rank;
    for (int i = rank % 2; i < w->ranks; i += 2) {
        member[size++] = i;
        expected += i;
    }
    CHECK(comm_all_reduce(w->comm[rank], member, size, 5, &x, 1, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(x == expected, "rank %d of %d: %g, not %g", rank, w->ranks, x, expected);
}

/* Messages are received in any order of tags; those with the same tag arrive in the order of sending. */
static void match_tags(void *world, int rank)
{
    struct world *w = world;
    static const uint32_t sent[] = {7, 8, 7, 9}, received[] = {9, 7, 8, 7};
    static const int expected[] = {3, 0, 1, 2};
    for (int i = 0; i < 4 && rank == 0; i++)
        CHECK(comm_send(w->comm[0], 1, sent[i], &i, sizeof i) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0, x = -1; i < 4 && rank == 1; i++) {
        CHECK(comm_recv(w->comm[1], 0, received[i], &x, sizeof x) == UNROLL_OK, "%s", unroll_last_error());
        CHECK(x == expected[i], "tag %u gave message %d, not %d", (unsigned)received[i], x, expected[i]);
    }
}

/* Every rank sends to every other many times: mailboxes under load. */
static void storm(void *world, int rank)
{
    struct world *w = world;
    int wrong = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < w->ranks; i++)
            if (i != rank)
                wrong += comm_send(w->comm[rank], i, (uint32_t)round % 3, &round, sizeof round) != UNROLL_OK;
        for (int i = 0, x; i < w->ranks; i++)
            if (i != rank)
                wrong += comm_recv(w->comm[rank], i, (uint32_t)round % 3, &x, sizeof x) != UNROLL_OK || x != round;
    }
    CHECK(wrong == 0, "rank %d of %d: %d messages are wrong", rank, w->ranks, wrong);
}

/* ---- what fails ------------------------------------------------------------------------ */

static void nobody_sends(void *world, int rank)
{
    struct world *w = world;
    int x = 5;
    if (rank > 0)
        return;
    CHECK(comm_recv(w->comm[0], 1, 77, &x, sizeof x) == UNROLL_COMMUNICATION, "a receive without a send went well");
    const char *message = unroll_last_error(), *waited = strstr(message, "waited ");
    CHECK(strstr(message, "rank 0") && strstr(message, "rank 1") && strstr(message, "77") && waited &&
              atof(waited + strlen("waited ")) >= 0.05, /* the limit, or more on a busy machine */
          "the message does not name the ranks, the tag and the time: %s", message);
}

static _Atomic int waiting; /* ranks whose wait has not failed yet */

/* Each rank waits for the next. Ranks 2 and 4 do not communicate at all; 0 begins later than the others and is
 * notified. */
static void wait_in_a_chain(void *world, int rank)
{
    struct world *w = world;
    char words[SILENCE_SIZE];
    int x;
    waiting += rank % 2 || rank == 0;
    if (rank == 2 || rank == 4) {
        while (waiting) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        return;
    }
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    CHECK(comm_recv(w->comm[rank], (rank + 1) % w->ranks, 9, &x, sizeof x) == UNROLL_COMMUNICATION, "rank %d received",
          rank);
    waiting--;
    CHECK(strstr(unroll_last_error(), "; rank 2 and 1 more do not answer;"), "rank %d: %s", rank, unroll_last_error());
    CHECK(!strcmp(comm_silence(w->comm[rank], words), "; rank 2 and 1 more do not answer"), "rank %d: %s", rank, words);
    CHECK(comm_first(w->comm[rank]) == 0, "rank %d: the first is %d", rank, comm_first(w->comm[rank]));
}

static void sizes_differ(void *world, int rank)
{
    struct world *w = world;
    int x[2] = {1, 2};
    if (rank == 0)
        CHECK(comm_send(w->comm[0], 1, 6, x, sizeof x) == UNROLL_OK, "%s", unroll_last_error());
    else
        CHECK(comm_recv(w->comm[1], 0, 6, x, sizeof x[0]) == UNROLL_COMMUNICATION, "8 bytes were taken for 4");
}

static void wrong_peers(void *world, int rank)
{
    struct world *w = world;
    int x = 0;
    CHECK(comm_send(w->comm[rank], rank, 1, &x, sizeof x) == UNROLL_COMMUNICATION, "a message to oneself");
    CHECK(comm_recv(w->comm[rank], w->ranks, 1, &x, sizeof x) == UNROLL_COMMUNICATION,
          "a message from an invalid rank");
    double y = 0;
    int others[2] = {(rank + 1) % 3, (rank + 2) % 3};
    CHECK(comm_all_reduce(w->comm[rank], others, 2, 1, &y, 1, 1) == UNROLL_COMMUNICATION, "a sum of others");
}

/* A single rank needs no transport. */
static void check_alone(void)
{
    double x = 3;
    int self = 0;
    CHECK(comm_all_reduce(NULL, &self, 1, 1, &x, 1, 1) == UNROLL_OK && x == 3, "a sum of one is %g", x);
}

static void send_again(void *world, int rank)
{
    sum_doubles(world, rank);
    sum_doubles(world, rank);
}

/* Messages are reused and released with the mailboxes, and running out of memory does no harm. */
static void check_memory(void)
{
    struct unroll_comm *comm[2];
    uint64_t live = memory_live();
    int x = 1;
    run(4, 10, send_again);
    CHECK(memory_live() == live, "%llu blocks leak", (unsigned long long)(memory_live() - live));
    for (int n = 0; n < 3; n++) {
        memory_fail_after(n);
        CHECK(comm_threads_new(2, 1, comm) == UNROLL_RESOURCE, "a world without memory (%d blocks)", n);
        memory_fail_after(-1);
        CHECK(memory_live() == live, "a world that failed leaks");
    }
    if (!CHECK(comm_threads_new(2, 1, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    memory_fail_after(0);
    CHECK(comm_send(comm[0], 1, 1, &x, sizeof x) == UNROLL_RESOURCE, "a message without memory");
    memory_fail_after(-1);
    comm_threads_free(comm, 2);
    CHECK(memory_live() == live, "a world leaks");
}

/* Environment variables of launchers, and without a launcher. */
static void check_launched(void)
{
    static const struct {
        const char *name, *value;
        int ranks;
    } cases[] = {{"PMI_SIZE", "4", 4},
                 {"PMI_SIZE", "0", 1},
                 {"PMI_SIZE", "-3", 1},
                 {"PMI_SIZE", "four", 1},
                 {"PMI_SIZE", "4294967298", 1},
                 {"PMI_SIZE", "99999999999999999999", 1},
                 {"SLURM_STEP_NUM_TASKS", "2(x3)", 2}};
    unsetenv("OMPI_COMM_WORLD_SIZE");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv(cases[i].name, cases[i].value, 1);
        CHECK(comm_launched_ranks() == cases[i].ranks, "%s=%s: %d ranks", cases[i].name, cases[i].value,
              comm_launched_ranks());
        unsetenv(cases[i].name);
    }
}

int main(void)
{
    check_launched();
    for (int ranks = 1; ranks <= WORLD_MAX; ranks++) {
        run(ranks, 10, sum_doubles);
        run(ranks, 10, sum_floats);
        run(ranks, 10, sum_in_groups);
    }
    run(4, 10, sum_in_tree_order);
    run(2, 10, match_tags);
    run(5, 10, storm);
    run(2, 0.05, nobody_sends);
    run(5, 1, wait_in_a_chain);
    run(2, 10, sizes_differ);
    run(3, 10, wrong_peers);
    check_alone();
    check_memory();
    return check_finish("test_comm");
}
