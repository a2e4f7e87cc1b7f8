#include "session/session.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "plan/passes/rates.h"
#include "session/mesh.h"

enum { MOST_RESTS = 6 };

struct balance {
    struct unroll_model *model;
    unroll_comm *comm;
    int ranks, updates;
    int rests, times; /* windows until the next check; number of times the shares have changed */
    double seconds;   /* of this rank in this window */
    struct pace pace;
    double *rate, *found; /* [ranks] FLOP/s: those of the current shares, those measured */
    double *all;          /* [ranks] seconds of a window */
    double *work, *other; /* [ranks] FLOPs of an update: with the current shares, 0 if not computed; with new shares */
};

unroll_status balance_new(unroll_session *s, struct balance **balance)
{
    const struct plan_config *c = &s->plan->config;
    struct balance *b;
    *balance = NULL;
    if (!is_one_of_many(s))
        return UNROLL_OK;
    const int ranks = unroll_comm_ranks(s->config.machine.comm);
    if (c->mesh[M_BATCH] * c->mesh[M_LAYER] != ranks || c->workers > 1 || c->shards > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "balance: only rows and layers can be redistributed among ranks; fix: leave out other cuts, "
                    "workers and exact");
    TRY(ALLOCATE(b, 1, "for rates of ranks"));
    *balance = b;
    b->model = s->model;
    b->comm = s->config.machine.comm;
    b->ranks = ranks;
    TRY(ALLOCATE(b->rate, 5 * (size_t)ranks, "for rates of ranks"));
    b->found = b->rate + ranks;
    b->all = b->found + ranks;
    b->work = b->all + ranks;
    b->other = b->work + ranks;
    for (int i = 0; i < ranks; i++) b->rate[i] = 1;
    return UNROLL_OK;
}

void balance_free(struct balance *b)
{
    if (b && b->model->runtime.rate == b->rate)
        b->model->runtime.rate = NULL;
    if (b)
        release(b->rate);
    release(b);
}

/* Computes the FLOPs of an update on each rank for these rates. */
static unroll_status divide_work(const struct balance *b, const unroll_session *s, const double *rate, double *work)
{
    for (int i = 0; i < b->ranks; i++) {
        struct plan_config c = s->plan->config;
        struct plan *plan;
        c.rate = rate;
        plan_config_at(&c, i);
        TRY(plan_new(b->model, &c, &plan));
        work[i] = 0;
        for (int k = 0; k < plan->ops; k++) work[i] += plan->op[k].flops;
        plan_free(plan);
    }
    return UNROLL_OK;
}

/* Returns the seconds of the slowest rank at the measured rates. */
static double longest(const struct balance *b, const double *work)
{
    double most = 0;
    for (int i = 0; i < b->ranks; i++) most = fmax(most, work[i] / b->found[i]);
    return most;
}

unroll_status balance_update(struct balance *b, const unroll_session *s, double seconds, bool *divides)
{
    static const double worth = 0.95;
    *divides = false;
    b->seconds += seconds;
    if (++b->updates < PACE_UPDATES)
        return UNROLL_OK;
    memset(b->all, 0, (size_t)b->ranks * sizeof *b->all);
    b->all[unroll_comm_rank(b->comm)] = b->seconds;
    b->updates = 0, b->seconds = 0;
    TRY(unroll_comm_sum(b->comm, b->all, b->ranks));
    if (b->rests > 0) {
        b->rests--;
        return UNROLL_OK;
    }
    if (b->work[0] <= 0)
        TRY(divide_work(b, s, s->plan->config.rate, b->work));
    if (!pace_window(&b->pace, b->ranks, b->all, b->work, b->found))
        return UNROLL_OK;
    TRY(divide_work(b, s, b->found, b->other));
    if (longest(b, b->other) >= worth * longest(b, b->work))
        return UNROLL_OK;
    memcpy(b->work, b->other, (size_t)b->ranks * sizeof *b->work);
    memcpy(b->rate, b->found, (size_t)b->ranks * sizeof *b->rate);
    b->model->runtime.rate = b->rate;
    b->rests = PACE_WINDOWS << (b->times < MOST_RESTS ? b->times : MOST_RESTS); /* rates may alternate */
    b->times++;
    *divides = true;
    return UNROLL_OK;
}

int balance_divided(const struct balance *b, double *part, int room, int *ranks)
{
    double all = 0;
    *ranks = b->times ? b->ranks : 0;
    for (int i = 0; i < *ranks; i++) all += b->work[i];
    for (int i = 0; i < *ranks && i < room; i++) part[i] = b->work[i] / all;
    return b->times;
}
