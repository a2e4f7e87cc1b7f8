/* Workers that are threads: a small network trained up to an update, from and to checkpoints. The tests check the
 * weights. */
#ifndef TESTS_WORKERS_H
#define TESTS_WORKERS_H
#include "check.h"
#include "comm/comm.h"
#include "unroll_advanced.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS_RANKS = 16, WORKERS_WEIGHTS = 8192 };

struct leg {
    const char *sync;
    int workers;
    unroll_split mesh; /* of a worker */
    int until;
    const char *from, *to; /* checkpoints; NULL: none */
    const char *optimizer; /* NULL: adam */
    float dropout;
    int embed, slow; /* slow: the last rank waits this many ms in each step */
    double clip;     /* 0: 1 */
    const char *compress, *sum;
    const char *arrivals, *replay;
    int meet;    /* workers synchronize at these steps; 0: only at the end */
    bool silent; /* there they wait for each other and do not validate */
};

struct leg_rank {
    const struct leg *leg;
    unroll_comm *comm;
    unroll_status status;
    char error[512];
    unroll_progress progress;
    double validation;
    int steps;     /* steps made */
    uint64_t sent; /* bytes sent in steps */
    size_t count;
    float weights[WORKERS_WEIGHTS];
};

static unroll_dataset *legs_text;
static struct leg_rank leg_rank[WORKERS_RANKS];

static void legs_begin(const char *path)
{
    static char text[4000];
    unsigned state = 1;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        state = state * 1664525u + 1013904223u;
        text[i] = (char)('a' + (i % 7 + (state >> 24) % 3) % 9);
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
    MUST(unroll_dataset_open(path, NULL, &legs_text));
}

static unroll_model_config leg_spec(const struct leg *leg)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = 2;
    s.hidden = 8;
    s.dropout = leg->dropout;
    s.tokens = 1;
    s.embed = leg->embed;
    s.loss = "xent";
    unroll_dataset_vocabulary(legs_text, &s.input);
    s.output = s.input;
    return s;
}

/* Returns the trainer's configuration for a rank of a leg. */
static unroll_trainer_config leg_config(const struct leg_rank *r)
{
    unroll_trainer_config c = unroll_trainer_config_default();
    const struct leg *leg = r->leg;
    c.batch = 12;
    c.bptt = 6;
    if (leg->optimizer)
        c.rates = unroll_hyperparameters_default(leg->optimizer);
    c.rates.learning_rate = leg->optimizer ? 0.1 : 1e-2;
    c.rates.clip = leg->clip > 0 ? leg->clip : 1;
    c.warmup = 0;
    c.schedule = "constant";
    c.total_steps = 100;
    c.machine.threads = 1;
    c.machine.comm = r->comm;
    c.machine.split = leg->mesh;
    c.machine.workers = leg->workers;
    c.machine.sum = leg->sum;
    c.sync = leg->sync;
    c.compress = leg->compress;
    c.arrivals = leg->arrivals;
    c.replay = leg->replay;
    return c;
}

static void leg_keep_weights(unroll_model *m, struct leg_rank *r)
{
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        size_t n = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        memcpy(r->weights + r->count, p.data, n * sizeof *p.data);
        r->count += n;
    }
}

/* Trains one leg on a rank and stores its results in *r. */
static unroll_status leg_train(unroll_model *m, struct leg_rank *r)
{
    unroll_trainer_config config = leg_config(r);
    unroll_trainer *t;
    unroll_evaluation found = {.size = sizeof found};
    TRY(unroll_trainer_new(m, legs_text, &config, &t));
    unroll_status status = r->leg->from ? unroll_trainer_load(t, r->leg->from) : UNROLL_OK;
    uint64_t before = unroll_comm_sent(r->comm);
    r->progress = (unroll_progress){.size = sizeof r->progress};
    unroll_trainer_progress(t, &r->progress);
    bool slow = r->leg->slow && unroll_comm_rank(r->comm) + 1 == unroll_comm_ranks(r->comm);
    while (status == UNROLL_OK && r->progress.step < r->leg->until) {
        int64_t meet = r->leg->meet ? r->leg->meet : r->leg->until;
        unroll_trainer_meet_at(t, (r->progress.step / meet + 1) * meet);
        status = unroll_trainer_step(t, &r->progress);
        r->steps++;
        if (slow)
            usleep(1000 * (unsigned)r->leg->slow);
        if (status == UNROLL_OK && r->leg->meet && r->progress.met && r->progress.step < r->leg->until)
            status = r->leg->silent ? comm_agree(r->comm, UNROLL_OK, 0, "") : unroll_trainer_validate(t, &found);
    }
    r->sent = unroll_comm_sent(r->comm) - before;
    if (status == UNROLL_OK)
        status = unroll_trainer_validate(t, &found);
    r->validation = found.loss;
    unroll_snapshot *snapshot;
    if (status == UNROLL_OK) /* stores the mean of the weights in the model */
        status = r->leg->to ? unroll_trainer_save(t, r->leg->to) : unroll_trainer_snapshot(t, &snapshot);
    leg_keep_weights(m, r);
    unroll_trainer_free(t);
    return status;
}

static void *leg_run_rank(void *arg)
{
    struct leg_rank *r = arg;
    unroll_model *m;
    unroll_model_config spec = leg_spec(r->leg);
    r->status = unroll_model_new(&spec, 3, &m);
    if (r->status == UNROLL_OK) {
        r->status = leg_train(m, r);
        unroll_model_free(m);
    }
    if (r->status != UNROLL_OK)
        snprintf(r->error, sizeof r->error, "%s", unroll_last_error());
    return NULL;
}

/* Runs the ranks and fills in leg_rank. */
static int leg_ranks(const struct leg *leg)
{
    pthread_t thread[WORKERS_RANKS];
    unroll_comm *comm[WORKERS_RANKS] = {NULL};
    int axes[] = {leg->workers, leg->mesh.batch, leg->mesh.layer, leg->mesh.hidden}, ranks = 1;
    for (int i = 0; i < 4; i++) ranks *= axes[i] ? axes[i] : 1;
    if (ranks > 1)
        CHECK(comm_threads_new(ranks, 20, comm) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < ranks; i++) {
        leg_rank[i] = (struct leg_rank){.leg = leg, .comm = comm[i]};
        pthread_create(&thread[i], NULL, leg_run_rank, &leg_rank[i]);
    }
    for (int i = 0; i < ranks; i++) pthread_join(thread[i], NULL);
    if (ranks > 1)
        comm_threads_free(comm, ranks);
    return ranks;
}

/* Trains with all ranks alike; weights [count] receives the mean of the workers. */
static size_t leg_weights(const char *what, const struct leg *leg, float *weights)
{
    int ranks = leg_ranks(leg);
    for (int i = 0; i < ranks; i++) {
        CHECK(leg_rank[i].status == UNROLL_OK, "%s: rank %d: %s", what, i, leg_rank[i].error);
        CHECK(!memcmp(leg_rank[i].weights, leg_rank[0].weights, sizeof leg_rank[0].weights),
              "%s: rank %d has other weights than rank 0", what, i);
        CHECK(leg_rank[i].validation == leg_rank[0].validation, "%s: rank %d has another validation", what, i);
    }
    memcpy(weights, leg_rank[0].weights, sizeof leg_rank[0].weights);
    return leg_rank[0].count;
}

static double leg_difference(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)a[i] - (double)b[i];
        most = d > most ? d : -d > most ? -d : most;
    }
    return most;
}

static unroll_status leg_refused(const struct leg *leg, const char **why)
{
    leg_ranks(leg);
    *why = leg_rank[0].error;
    return leg_rank[0].status;
}

#endif
