#include "session/balance.h"

#include <string.h>

#include "base/memory.h"
#include "plan/rates.h"
#include "session/mesh.h"
#include "session/session.h"

enum { MOST_RESTS = 6 };

struct balance {
    struct unroll_model *model;
    unroll_comm *comm;
    uint32_t rows; /* of the whole batch */
    int ranks, updates;
    int rests, times; /* windows until the next look; how often shares have changed */
    double seconds;   /* of this rank in this window */
    struct pace pace;
    double *rate, *found; /* [ranks] rows a second that the shares are by, that were measured */
    double *all, *work;   /* [ranks] */
};

unroll_status balance_new(unroll_session *s, struct balance **balance)
{
    const struct plan_config *c = &s->plan->config;
    struct balance *b;
    *balance = NULL;
    if (!is_one_of_many(s))
        return UNROLL_OK;
    const int ranks = unroll_comm_ranks(s->config.machine.comm);
    if (c->mesh[M_BATCH] != ranks || c->workers > 1 || c->shards > 1 || s->staged)
        return fail(UNROLL_UNSUPPORTED, "balance: rows are divided anew among ranks that divide the batch alone; fix: "
                                        "leave out other cuts, workers, exact and lists of devices");
    TRY(ALLOCATE(b, 1, "for rates of ranks"));
    *balance = b;
    b->model = s->model;
    b->comm = s->config.machine.comm;
    b->rows = c->B;
    b->ranks = ranks;
    TRY(ALLOCATE(b->rate, 4 * (size_t)ranks, "for rates of ranks"));
    b->found = b->rate + ranks;
    b->all = b->found + ranks;
    b->work = b->all + ranks;
    for (int i = 0; i < ranks; i++) b->rate[i] = 1;
    return UNROLL_OK;
}

void balance_free(struct balance *b)
{
    if (b && b->model->rate == b->rate)
        b->model->rate = NULL;
    if (b)
        release(b->rate);
    release(b);
}

static double rows_of(const struct balance *b, const double *rate, int rank)
{
    uint32_t first, count;
    rates_divide(b->rows, b->ranks, rank, rate, &first, &count);
    return count;
}

/* Of the rank that is done last, as fast as ranks were found to be. */
static double longest(const struct balance *b, const double *rate)
{
    double most = 0;
    for (int i = 0; i < b->ranks; i++) {
        const double seconds = rows_of(b, rate, i) / b->found[i];
        most = seconds > most ? seconds : most;
    }
    return most;
}

unroll_status balance_update(struct balance *b, double seconds, bool *divides)
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
    for (int i = 0; i < b->ranks; i++) b->work[i] = rows_of(b, b->rate, i);
    if (!pace_window(&b->pace, b->ranks, b->all, b->work, b->found) ||
        longest(b, b->found) >= worth * longest(b, b->rate))
        return UNROLL_OK;
    memcpy(b->rate, b->found, (size_t)b->ranks * sizeof *b->rate);
    b->model->rate = b->rate;
    b->rests = PACE_WINDOWS << (b->times < MOST_RESTS ? b->times++ : MOST_RESTS); /* rates may go to and fro */
    *divides = true;
    return UNROLL_OK;
}
