/* How long a rank computes without polling for messages. An engine records the CPU time between two polls while rank 1
 * keeps rank 0 waiting for its whole backward, or a whole forward; all polls must be of one thread. Uses the kernels of
 * the best ISA. With "untimed": small networks and no limits, for builds and machines whose times are meaningless. */
/* test: kinds=plain,long-thread; with=plan/mesh; args=untimed */
/* test: kinds=timed-plain; alone */
#include "check.h"
#include "comm/transport.h"
#include "plan/mesh.h"
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, LATE = 150000 }; /* microseconds */
static const double max = 2e-3;

static struct watch {
    pthread_t queue;
    bool has_queue;
    int looks, strangers;
    double last, longest;
    bool late;
} watch[RANKS];

static const struct transport *real; /* the observed transport */

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct watch *note(const struct unroll_comm *comm, bool look)
{
    struct watch *w = &watch[comm->rank];
    double now = processor_seconds();
    if (!w->has_queue)
        w->queue = pthread_self();
    w->has_queue = true;
    w->strangers += !pthread_equal(w->queue, pthread_self());
    if (look && now - w->last > w->longest)
        w->longest = now - w->last;
    w->looks += look;
    w->last = now;
    return w;
}

static unroll_status watched_begin(struct unroll_comm *comm, struct request *r)
{
    note(comm, false);
    return real->begin(comm, r);
}

static unroll_status watched_test(struct unroll_comm *comm, struct request *r, bool *done)
{
    note(comm, true);
    return real->test(comm, r, done);
}

static unroll_status watched_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    struct watch *w = &watch[comm->rank];
    if (comm->rank == 1 && !w->late)
        usleep(LATE);
    w->late = true;
    return real->send(comm, to, tag, data, bytes);
}

/* ---- the computation ------------------------------------------------------------------- */

static bool untimed;

/* Opens a run whose transport records the polls of the ranks. */
static unroll_status open_run(const char *cell, int bidirectional, struct plan_config c, unroll_model **m,
                              struct mesh_run *run)
{
    static struct transport watched;
    unroll_model_config s = unroll_model_config_default();
    s.cell = cell;
    s.layers = 2;
    s.hidden = untimed ? 40 : 320;
    s.bidirectional = bidirectional;
    s.tokens = 1;
    s.input = s.output = untimed ? 60 : 300;
    s.embed = s.hidden;
    s.loss = "xent";
    s.dropout = 0.2f;
    c.B = untimed ? 24 : 96;
    c.bucket = untimed ? 1 << 14 : 1 << 20;
    unroll_status status = unroll_model_new(&s, 1, m);
    if (status == UNROLL_OK)
        status = mesh_open(*m, c, cpu_isa_find(isa_best(), DTYPE_F32), c.queues, run);
    if (status != UNROLL_OK)
        return status;
    real = run->comm[0]->transport;
    watched = *real;
    watched.begin = watched_begin;
    watched.test = watched_test;
    watched.send = watched_send;
    for (int rank = 0; rank < RANKS; rank++) run->comm[rank]->transport = &watched;
    return UNROLL_OK;
}

struct forward {
    struct mesh_run *run;
    int rank;
    double number;
    unroll_status status;
};

/* Starts a sum, computes a forward, and finishes the sum. */
static void *run_forward(void *arg)
{
    static const int ranks[RANKS] = {0, 1};
    struct forward *f = arg;
    struct unroll_comm *comm = f->run->comm[f->rank];
    struct sum sum = {.ranks = ranks,
                      .size = RANKS,
                      .tag = TAG_CONTROL | 9,
                      .data = &f->number,
                      .count = 1,
                      .is_double = true,
                      .algorithm = COMM_TREE,
                      .shards = 1};
    f->status = comm_sum_begin(comm, &sum);
    if (f->status == UNROLL_OK)
        f->status = executable_run(f->run->executable[f->rank], PHASE_FORWARD);
    if (f->status == UNROLL_OK)
        f->status = comm_sum_end(comm, &sum);
    return NULL;
}

static unroll_status forward_alone(struct mesh_run *run)
{
    struct forward f[RANKS] = {{run, 0, 1, UNROLL_OK}, {run, 1, 2, UNROLL_OK}};
    pthread_t other;
    if (pthread_create(&other, NULL, run_forward, &f[1]))
        return fail(UNROLL_RESOURCE, "no thread for rank 1");
    run_forward(&f[0]);
    pthread_join(other, NULL);
    CHECK(f[0].number == 3 && f[1].number == 3, "sums of %g and %g", f[0].number, f[1].number);
    return f[0].status != UNROLL_OK ? f[0].status : f[1].status;
}

/* ---- gaps ------------------------------------------------------------------------------ */

static void check_gaps(const char *cell, int bidirectional, struct plan_config c,
                       unroll_status (*work)(struct mesh_run *))
{
    unroll_model *m = NULL;
    struct mesh_run run;
    if (!CHECK(open_run(cell, bidirectional, c, &m, &run) == UNROLL_OK, "%s: %s", cell, unroll_last_error()))
        return;
    /* Time that a hypervisor takes away counts as ours: uses the best of three. */
    double longest[RANKS] = {1, 1};
    for (int i = 0; i < (untimed ? 1 : 3) && (longest[0] >= max || longest[1] >= max); i++) {
        memset(watch, 0, sizeof watch);
        CHECK(work(&run) == UNROLL_OK, "%s: %s", cell, unroll_last_error());
        for (int rank = 0; rank < RANKS; rank++)
            longest[rank] = watch[rank].longest < longest[rank] ? watch[rank].longest : longest[rank];
    }
    for (int rank = 0; rank < RANKS; rank++) {
        const struct watch *w = &watch[rank];
        CHECK(w->strangers == 0, "%s: %d looks of rank %d are of another thread", cell, w->strangers, rank);
        CHECK(untimed || longest[rank] < max,
              "%s bidirectional %d queues %d checkpoint %u%s: rank %d computed %.2f ms without a look", cell,
              bidirectional, c.queues, c.checkpoint, work == forward_alone ? " forward" : "", rank,
              1e3 * longest[rank]);
    }
    CHECK(watch[0].looks > 20, "%s: rank 0 looked %d times in all", cell, watch[0].looks);
    mesh_close(&run);
    unroll_model_free(m);
}

static struct plan_config config(int queues, uint32_t checkpoint, uint32_t shards)
{
    struct plan_config c = mesh_config(16, RANKS, 1, 1, 1, DTYPE_F32);
    c.queues = queues;
    c.checkpoint = checkpoint;
    c.shards = shards;
    return c;
}

int main(int count, char **words)
{
    untimed = count > 1 && !strcmp(words[1], "untimed");
    check_gaps("lstm", 0, config(1, 0, 1), mesh_gradients);
    check_gaps("gru-before", 0, config(1, 0, 8), mesh_gradients);
    check_gaps("rnn", 1, config(2, 0, 1), mesh_gradients);
    check_gaps("lstm", 0, config(1, 4, 1), mesh_gradients);
    check_gaps("gru-before", 1, config(1, 0, 1), forward_alone);
    check_gaps("lstm", 0, config(2, 0, 1), forward_alone);
    return check_finish("polls");
}
