/* Redivision during a run (several.h): if the rates of ranks differ from the estimates, everything that outlives an
 * update is gathered, the ranks are rebuilt with other shares, and the data are divided again. Activations of the
 * old ranks are lost. */
#include "base/memory.h"
#include "extensions/cluster/devices/several.h"
#include "plan/passes/rates.h"
#include <string.h>

/* ---- when ------------------------------------------------------------------------------ */

static double work_of(const struct plan *p)
{
    double flops = 0;
    for (int i = 0; i < p->ops; i++) flops += p->op[i].flops;
    return flops;
}

void divide_watch(struct several *x)
{
    struct several_store *s = x->store;
    double seconds[RANKS_MAX], work[RANKS_MAX];
    for (int r = 0; r < s->ranks; r++) {
        seconds[r] = x->member[r].seconds;
        work[r] = work_of(x->member[r].plan);
        x->member[r].seconds = 0;
    }
    s->divides = pace_update(&s->pace, s->ranks, seconds, work, s->found) || s->divides;
}

/* Returns the seconds of the slowest rank at these rates. */
static double longest_of(const struct several *x, struct plan *const *plans, const double *rate)
{
    double longest = 0;
    for (int r = 0; r < x->store->ranks; r++) {
        const double seconds = work_of(plans ? plans[r] : x->member[r].plan) / rate[r];
        longest = seconds > longest ? seconds : longest;
    }
    return longest;
}

/* Checks whether a new division would be faster by more than the cost of moving. */
static unroll_status gains(const struct several *x, bool *gains)
{
    static const double worth = 0.95;
    struct plan *plans[RANKS_MAX] = {NULL};
    unroll_status status = UNROLL_OK;
    for (int r = 0; r < x->store->ranks && status == UNROLL_OK; r++) {
        struct plan_config c = member_config(x, r);
        c.rate = x->store->found;
        status = plan_new(x->plan->model, &c, &plans[r]);
    }
    *gains =
        status == UNROLL_OK && longest_of(x, plans, x->store->found) < worth * longest_of(x, NULL, x->store->found);
    for (int r = 0; r < x->store->ranks; r++) plan_free(plans[r]);
    return status;
}

/* ---- what stays ------------------------------------------------------------------------ */

/* Weights and their states belong to the store: one executable keeps them for all. */
static bool is_kept(const struct several *x, int buffer, bool stored)
{
    const struct buffer *b = &x->plan->buffer[buffer];
    const bool is_stored = b->segment == SEG_PARAM || b->segment == SEG_OPT || b->segment == SEG_GRAD;
    bool here = false;
    for (int r = 0; r < x->store->ranks; r++) here = here || x->member[r].twin[buffer] >= 0;
    return here && b->bytes && ((is_stored && stored) || b->segment == SEG_CARRY);
}

static unroll_status keep_arrays(struct several *x, bool stored)
{
    const struct plan *p = x->plan;
    TRY(ALLOCATE(x->kept, (size_t)p->buffers + 1, "to redistribute"));
    for (int i = 0; i < p->buffers; i++) {
        if (x->host[i]) {
            if (x->newer[i] == SIDE_RANKS)
                TRY(boxes_gather(x, i, x->host[i]));
            x->newer[i] = SIDE_HERE;
            continue;
        }
        if (!is_kept(x, i, stored))
            continue;
        TRY(ALLOCATE(x->kept[i], p->buffer[i].bytes, "to redistribute '%s'", p->buffer[i].name));
        TRY(boxes_gather(x, i, x->kept[i]));
    }
    return UNROLL_OK;
}

static unroll_status give_back_arrays(struct several *x)
{
    for (int i = 0; i < x->plan->buffers; i++)
        if (x->kept[i])
            TRY(boxes_scatter(x, i, x->kept[i], false));
    return UNROLL_OK;
}

static void drop_arrays(struct several *x)
{
    for (int i = 0; x->kept && i < x->plan->buffers; i++) release(x->kept[i]);
    release(x->kept);
    x->kept = NULL;
}

/* ---- doing it -------------------------------------------------------------------------- */

static unroll_status make_all(struct several_store *s)
{
    for (struct several *x = s->first; x; x = x->next) TRY(members_make(x));
    for (struct several *x = s->first; x; x = x->next) TRY(give_back_arrays(x));
    for (struct several *x = s->first; x; x = x->next) TRY(members_run(x, PHASE_PACK, PHASE_PACK));
    return UNROLL_OK;
}

static unroll_status move(struct several *now)
{
    struct several_store *s = now->store;
    unroll_status status = UNROLL_OK;
    for (struct several *x = s->first; x && status == UNROLL_OK; x = x->next) status = keep_arrays(x, x == now);
    if (status == UNROLL_OK) {
        for (struct several *x = s->first; x; x = x->next) members_drop(x);
        several_drop_stores(s);
        memcpy(s->rate, s->found, (size_t)s->ranks * sizeof *s->rate);
        status = make_all(s);
    }
    for (struct several *x = s->first; x; x = x->next) {
        drop_arrays(x);
        x->lost = x->lost || status != UNROLL_OK;
    }
    s->moves++;
    return status;
}

unroll_status several_rebalance(struct several *x)
{
    struct several_store *s = x->store;
    bool worth;
    s->divides = false;
    TRY(gains(x, &worth));
    return worth ? move(x) : UNROLL_OK;
}

int several_divided(const void *executable, double *part, int room, int *ranks)
{
    const struct several *x = executable;
    double all = 0;
    *ranks = x->store->ranks;
    for (int r = 0; r < x->store->ranks; r++) all += work_of(x->member[r].plan);
    for (int r = 0; r < x->store->ranks && r < room; r++) part[r] = all > 0 ? work_of(x->member[r].plan) / all : 0;
    return x->store->moves;
}
