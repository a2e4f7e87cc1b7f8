/* Every all-reduce algorithm for 1 to 17 ranks. Sums of whole numbers, which are exact in every order, show a member
 * that is left out or counted twice; floats test the order itself. Several sums at once, with random delays. Without
 * arguments the ranks are threads; with "mpi" this process is one of those that mpirun started. */
/* test: kinds=plain,long-thread */
#include "base/memory.h"
#include "base/team.h"
#include "comm/all_reduce.h"
#include "tests/check.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORLD_MAX = 17, COUNT_MAX = 1000, SHARDS_MAX = 24, AT_ONCE = 5 };

struct world {
    struct unroll_comm *comm[WORLD_MAX];
    int ranks;
};

static int in_order[WORLD_MAX];

/* ---- whole numbers --------------------------------------------------------------------- */

/* Counts smaller than, not a multiple of, and larger than the number of ranks. */
static const int counts[] = {1, 2, 16, 37, COUNT_MAX};

static struct sum sum_of(struct world *w, enum algorithm algorithm, int tag, double *data, int count)
{
    return (struct sum){.ranks = in_order,
                        .size = w->ranks,
                        .tag = (uint32_t)tag,
                        .data = data,
                        .count = (size_t)count,
                        .is_double = true,
                        .algorithm = algorithm,
                        .shards = 1};
}

static void delay(int salt)
{
    unsigned h = (unsigned)salt * 2654435761u;
    if ((h >> 28) == 0)
        usleep(h >> 20 & 255);
}

static void check_whole(struct world *w, int rank, enum algorithm algorithm, int count)
{
    double x[COUNT_MAX];
    int wrong = 0, n = w->ranks;
    for (int i = 0; i < count; i++) x[i] = (double)(1 << rank) * (i + 1);
    struct sum sum = sum_of(w, algorithm, 10 + (int)algorithm, x, count);
    delay(rank * 31 + count);
    unroll_status status = comm_sum_begin(w->comm[rank], &sum);
    if (status == UNROLL_OK)
        status = comm_sum_end(w->comm[rank], &sum);
    for (int i = 0; i < count; i++) wrong += x[i] != (double)((1 << n) - 1) * (i + 1);
    CHECK(status == UNROLL_OK && !wrong, "%s, rank %d of %d, %d numbers: %d are wrong: %s",
          algorithm_name((int)algorithm), rank, n, count, wrong, status == UNROLL_OK ? "" : unroll_last_error());
}

/* ---- shards ---------------------------------------------------------------------------- */

static float shard_number(int shard, int i)
{
    unsigned h = ((unsigned)shard * 7919u + (unsigned)i) * 2654435761u;
    return (float)(h >> 8) / 16777216.0f - 0.4f;
}

/* Returns the bits of one process that holds all shards. */
static float tree_of_shards(int shards, int i)
{
    float x[SHARDS_MAX];
    for (int s = 0; s < shards; s++) x[s] = shard_number(s, i);
    for (int distance = 1; distance < shards; distance *= 2)
        for (int s = 0; s + distance < shards; s += 2 * distance) x[s] += x[s + distance];
    return x[0];
}

static void check_shards(struct world *w, int rank, int shards)
{
    enum { COUNT = 20 };
    int first = shards * rank / w->ranks, end = shards * (rank + 1) / w->ranks, wrong = 0;
    float x[SHARDS_MAX][COUNT];
    for (int s = first; s < end; s++)
        for (int i = 0; i < COUNT; i++) x[s - first][i] = shard_number(s, i);
    struct sum sum = {.ranks = in_order,
                      .size = w->ranks,
                      .tag = 40,
                      .data = x,
                      .count = COUNT,
                      .algorithm = COMM_SHARDS,
                      .shards = shards};
    unroll_status status = comm_sum_begin(w->comm[rank], &sum);
    if (status == UNROLL_OK)
        status = comm_sum_end(w->comm[rank], &sum);
    for (int i = 0; i < COUNT; i++) wrong += x[0][i] != tree_of_shards(shards, i);
    CHECK(status == UNROLL_OK && !wrong, "%d shards on rank %d of %d: %d of %d sums have other bits: %s", shards, rank,
          w->ranks, wrong, COUNT, status == UNROLL_OK ? "" : unroll_last_error());
}

/* For 2^n ranks, halving and doubling adds in the order of the tree. */
static void check_halving(struct world *w, int rank)
{
    float x[37], y[37];
    if (w->ranks & (w->ranks - 1))
        return;
    for (int i = 0; i < 37; i++) x[i] = y[i] = shard_number(rank, i);
    struct sum sum = {.ranks = in_order,
                      .size = w->ranks,
                      .tag = 41,
                      .data = x,
                      .count = 37,
                      .algorithm = COMM_HALVING_DOUBLING,
                      .shards = 1};
    unroll_status status = comm_sum_begin(w->comm[rank], &sum);
    if (status == UNROLL_OK)
        status = comm_sum_end(w->comm[rank], &sum);
    if (status == UNROLL_OK)
        status = comm_all_reduce(w->comm[rank], in_order, w->ranks, 42, y, 37, 0);
    CHECK(status == UNROLL_OK && !memcmp(x, y, sizeof x), "rank %d of %d: halving has not the tree's bits", rank,
          w->ranks);
}

/* ---- the transport's own ------------------------------------------------------------------ */

/* MPI has native sums; threads refuse them. */
static void check_native(struct world *w, int rank)
{
    bool has = !strcmp(comm_transport(w->comm[rank]), "mpi");
    double x[COUNT_MAX];
    int wrong = 0;
    unroll_status status = comm_join(w->comm[rank], in_order, w->ranks);
    if (!has) {
        CHECK(status == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "threads"), "threads: %s",
              unroll_last_error());
        return;
    }
    struct sum sum = sum_of(w, COMM_NATIVE, 70, x, COUNT_MAX);
    for (int i = 0; i < COUNT_MAX; i++) x[i] = (double)(1 << rank) * (i + 1);
    if (status == UNROLL_OK)
        status = comm_sum_begin(w->comm[rank], &sum);
    if (status == UNROLL_OK)
        status = comm_sum_end(w->comm[rank], &sum);
    for (int i = 0; i < COUNT_MAX; i++) wrong += x[i] != (double)((1 << w->ranks) - 1) * (i + 1);
    CHECK(status == UNROLL_OK && !wrong, "native, rank %d of %d: %d are wrong: %s", rank, w->ranks, wrong,
          status == UNROLL_OK ? "" : unroll_last_error());
}

/* ---- several at once ------------------------------------------------------------------- */

/* Sums are started in one order and finished in another, with other work between polls. */
static void check_at_once(struct world *w, int rank)
{
    static double data[WORLD_MAX][AT_ONCE][COUNT_MAX];
    struct sum sum[AT_ONCE];
    int wrong = 0;
    unroll_status status = UNROLL_OK;
    for (int k = 0; k < AT_ONCE && status == UNROLL_OK; k++) {
        for (int i = 0; i < COUNT_MAX; i++) data[rank][k][i] = (rank + 1.0) * (k + 1);
        sum[k] = sum_of(w, (enum algorithm)(COMM_TREE + k), 60 + k, data[rank][k], COUNT_MAX);
        delay(rank * 17 + k);
        status = comm_sum_begin(w->comm[rank], &sum[k]);
    }
    for (int i = 0; i < 20 && status == UNROLL_OK; i++) {
        delay(rank + i);
        status = comm_progress(w->comm[rank]);
    }
    for (int k = AT_ONCE; k-- > 0 && status == UNROLL_OK;) {
        status = comm_sum_end(w->comm[rank], &sum[k]);
        for (int i = 0; i < COUNT_MAX; i++) wrong += data[rank][k][i] != w->ranks * (w->ranks + 1.0) / 2 * (k + 1);
    }
    CHECK(status == UNROLL_OK && !wrong, "rank %d of %d: of sums at once %d numbers are wrong: %s", rank, w->ranks,
          wrong, status == UNROLL_OK ? "" : unroll_last_error());
}

/* ---- agreement ------------------------------------------------------------------------- */

static void check_agreement(struct world *w, int rank)
{
    struct unroll_comm *comm = w->comm[rank];
    int last = w->ranks - 1;
    CHECK(comm_agree(comm, UNROLL_OK, 5, "") == UNROLL_OK, "rank %d: %s", rank, unroll_last_error());
    if (w->ranks == 1)
        return;
    CHECK(comm_agree(comm, UNROLL_OK, rank == last, "the text is") == UNROLL_USAGE &&
              strstr(unroll_last_error(), "the text is not the same"),
          "rank %d: %s", rank, unroll_last_error());
    unroll_status mine = rank == last ? fail(UNROLL_DATA, "no such file") : UNROLL_OK;
    CHECK(comm_agree(comm, mine, 0, "") == UNROLL_DATA && strstr(unroll_last_error(), "no such file"), "rank %d: %s",
          rank, unroll_last_error());
    char word[6] = "";
    if (rank == 0)
        strcpy(word, "hello");
    CHECK(comm_broadcast(comm, TAG_CONTROL | 9, word, sizeof word) == UNROLL_OK && !strcmp(word, "hello"),
          "rank %d heard '%s'", rank, word);
}

/* An algorithm of the test: up the chain of ranks and back. */
static bool chain_round(const struct sum_shape *s, int number, struct round *r)
{
    const int half = s->size - 1, from = number < half ? number : 2 * half - number,
              to = number < half ? from + 1 : from - 1;
    if (number >= 2 * half)
        return false;
    if (s->place == from)
        r->to = to, r->sent = s->count;
    if (s->place == to)
        r->from = from, r->received = s->count, r->adds = number < half;
    return true;
}

static const struct algorithm_row chain_row = {.name = "chain", .about = "up the chain and back", .round = chain_round};
static int chain = COMM_ALGORITHMS;

static void check_rank(void *world, int rank)
{
    struct world *w = world;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_whole(w, rank, (enum algorithm)chain, counts[i]);
    for (int t = COMM_TREE; t < COMM_NATIVE; t++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_whole(w, rank, (enum algorithm)t, counts[i]);
    for (int shards = w->ranks; shards <= SHARDS_MAX; shards += 1 + shards / 3) check_shards(w, rank, shards);
    check_halving(w, rank);
    check_native(w, rank);
    check_at_once(w, rank);
    check_agreement(w, rank);
}

static void run_threads(int ranks)
{
    struct world w = {.ranks = ranks};
    struct team *team;
    unroll_status status = comm_threads_new(ranks, 20, w.comm);
    if (status == UNROLL_OK)
        status = team_new(ranks, &team);
    if (!CHECK(status == UNROLL_OK, "%s", unroll_last_error()))
        return;
    team_run(team, check_rank, &w);
    team_free(team);
    comm_threads_free(w.comm, ranks);
}

/* A forked child is refused immediately, because it has no part in its parent's messages. */
static void check_fork(struct unroll_comm *comm)
{
    struct unroll_comm *own;
    double x = 1;
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        checks_failed = 0;
        if (comm_ranks(comm) > 1)
            CHECK_REFUSED(comm_send(comm, !comm_rank(comm), 9, &x, sizeof x), UNROLL_UNSUPPORTED,
                          "forked from a process");
        CHECK_REFUSED(comm_open("mpi", 20, &own), UNROLL_UNSUPPORTED, "opened MPI");
        comm_close(comm);
        _exit(checks_failed != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
}

/* Rank 0 prints the line of counts: its own checks, and one more for the failures of the others. */
static int run_mpi(void)
{
    struct world w = {.ranks = 0};
    struct unroll_comm *comm;
    if (comm_open("mpi", 20, &comm) != UNROLL_OK) {
        printf("FAILED: %s\n", unroll_last_error());
        return 1;
    }
    w.ranks = comm_ranks(comm);
    w.comm[comm_rank(comm)] = comm;
    check_rank(&w, comm_rank(comm));
    check_fork(comm);
    unroll_status mine = checks_failed ? fail(UNROLL_FAILURE, "checks failed") : UNROLL_OK;
    unroll_status all = comm_agree(comm, mine, 0, "");
    CHECK(all == UNROLL_OK, "%s", unroll_last_error());
    bool is_owner = comm_rank(comm) == 0;
    comm_close(comm);
    return is_owner ? check_finish("test_sums_mpi") : all != UNROLL_OK;
}

int main(int count, char **words)
{
    uint64_t live = memory_live();
    for (int i = 0; i < WORLD_MAX; i++) in_order[i] = i;
    MUST(algorithm_add(&chain_row));
    if (count > 1 && !strcmp(words[1], "mpi"))
        return run_mpi();
    for (int ranks = 1; ranks <= WORLD_MAX; ranks++) run_threads(ranks);
    CHECK(memory_live() == live, "%llu blocks leak", (unsigned long long)(memory_live() - live));
    struct unroll_comm *self;
    if (CHECK(comm_open("self", 1, &self) == UNROLL_OK, "%s", unroll_last_error())) {
        CHECK(comm_ranks(self) == 1 && comm_rank(self) == 0, "a rank alone is %d of %d", comm_rank(self),
              comm_ranks(self));
        comm_close(self);
    }
    CHECK(comm_open("smoke", 1, &self) == UNROLL_USAGE, "a transport of smoke");
    int ring, found, own;
    CHECK(algorithm_find("ring", false, &ring) == UNROLL_OK && ring == COMM_RING, "the ring is %d", ring);
    CHECK(algorithm_find(NULL, true, &found) == UNROLL_OK && found == COMM_AUTO, "auto is %d", found);
    CHECK(algorithm_find("chain", false, &own) == UNROLL_OK && own == chain, "the chain is %d", own);
    CHECK_REFUSED(algorithm_find("chain", true, &own), UNROLL_UNSUPPORTED, "exact: the sum 'chain' adds");
    CHECK_REFUSED(algorithm_find("moebius", false, &found), UNROLL_USAGE,
                  "auto, tree, halving_doubling, ring, ring_2d, gather_broadcast, native, chain");
    return check_finish("test_sums");
}
