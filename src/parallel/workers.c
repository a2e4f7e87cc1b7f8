/* What all policies share: the group of a rank, vectors of its weights, the mean of all workers. When and what is
 * exchanged is the policy's. */
#include "base/memory.h"
#include "comm/all_reduce.h"
#include "parallel/codes.h"
#include "parallel/policy.h"
#include <string.h>

/* ---- the group ---------------------------------------------------------------------------- */

static void find_group(struct exchange *e)
{
    const struct plan *p = session_plan(e->session);
    int at[M_N], each = plan_batch_ranks(p);
    memcpy(at, p->config.at, sizeof at);
    e->size = p->config.workers;
    e->place = at[M_BATCH] / each;
    for (int worker = 0, within = at[M_BATCH] % each; worker < e->size; worker++) {
        at[M_BATCH] = worker * each + within;
        e->rank[worker] = plan_rank_at(p, at);
    }
}

static unroll_status find_shares(struct exchange *e)
{
    const struct plan *p = session_plan(e->session);
    struct share share;
    while (plan_share(p, e->shares, &share, &e->count)) e->shares++;
    TRY(ALLOCATE(e->share, (size_t)e->shares, "for what workers exchange"));
    for (int i = 0; i < e->shares; i++) {
        plan_share(p, i, &e->share[i], NULL);
        e->rows += e->share[i].rows;
    }
    return UNROLL_OK;
}

/* Numbers beside a vector, of the policy. */
enum { BESIDE = 1 };

/* Norms are made anew of the gradients that a rank has. */
static unroll_status check_between(const struct exchange *e, const struct plan *p, const char *compress)
{
    return e->policy->between && (p->config.mesh[M_LAYER] > 1 || p->config.mesh[M_HIDDEN] > 1)
               ? fail(
                     UNROLL_UNSUPPORTED,
                     "sync %s with compress %s adds whole gradients, and the split cuts them; fix: `split` batch alone, "
                     "or sync local:H",
                     e->policy->name, compress ? compress : "none")
               : UNROLL_OK;
}

static unroll_status open_exchange(struct exchange *e, const char *sync, const char *compress)
{
    const struct plan *p = session_plan(e->session);
    const struct compressor *compressor;
    double level;
    TRY(policy_read(sync, &e->policy, &e->options));
    TRY(compressor_read(compress, &compressor, &level));
    TRY(check_between(e, p, compress));
    if (compressor && !e->policy->codes)
        return fail(UNROLL_UNSUPPORTED,
                    "sync %s sends weights, and compress %s is of gradients and changes; fix: leave it out, or sync "
                    "every or local:H",
                    e->policy->name, compress);
    if (!e->options.asynchronous && (e->arrivals || e->replay))
        return fail(UNROLL_USAGE,
                    "sync %s does not depend on what arrives when; fix: leave out `arrivals` and `replay`",
                    e->policy->name);
    if (e->options.asynchronous && plan_ranks(p) > p->config.workers)
        return fail(UNROLL_UNSUPPORTED, "sync %s: the ranks of a worker must hear the same; fix: leave out `split`",
                    e->policy->name);
    if (p->config.real != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "sync = %s exchanges fp32; fix: leave out precision fp64", e->policy->name);
    find_group(e);
    TRY(find_shares(e));
    TRY(ALLOCATE(e->own, e->count, "for the weights of a worker"));
    TRY(ALLOCATE(e->mean, e->count + BESIDE, "for the mean of the workers"));
    if (e->policy->diverges)
        e->kept[e->vectors++] = (struct kept_vector){"worker", KEPT_APART, e->own};
    TRY(e->policy->open ? e->policy->open(e) : UNROLL_OK);
    TRY(compressor ? codes_new(e, compressor, level, &e->codes) : UNROLL_OK);
    return exchange_resume(e, 0, NULL);
}

void exchange_join(struct exchange *e, unroll_session *session)
{
    if (e->policy->between)
        session_exchange_gradients(session, e->policy->between, e);
}

unroll_status exchange_new(unroll_session *session, const unroll_train_config *config, struct exchange **exchange)
{
    struct exchange *e;
    TRY(ALLOCATE(e, 1, "for what workers exchange"));
    e->session = session;
    e->comm = config->machine.comm;
    e->seed = config->seed;
    e->arrivals = config->arrivals && *config->arrivals ? config->arrivals : NULL;
    e->replay = config->replay && *config->replay ? config->replay : NULL;
    unroll_status status = comm_agree(e->comm, open_exchange(e, config->sync, config->compress), 0, "");
    if (status != UNROLL_OK) {
        exchange_free(e);
        return status;
    }
    *exchange = e;
    return UNROLL_OK;
}

void exchange_free(struct exchange *e)
{
    if (!e)
        return;
    if (e->policy && e->policy->close)
        e->policy->close(e);
    for (int i = 0; i < e->vectors; i++)
        if (e->kept[i].numbers != e->own)
            release(e->kept[i].numbers);
    codes_free(e->codes);
    release(e->own);
    release(e->mean);
    release(e->share);
    release(e);
}

unroll_status exchange_keep(struct exchange *e, const char *name, int kind, float **numbers)
{
    TRY(ALLOCATE(*numbers, e->count + BESIDE, "for the %s of a policy", name));
    e->kept[e->vectors++] = (struct kept_vector){name, kind, *numbers};
    return UNROLL_OK;
}

/* ---- sums --------------------------------------------------------------------------------- */

static unroll_status sum_begin(struct exchange *e, float *numbers, size_t count)
{
    e->sum = (struct sum){.ranks = e->rank,
                          .size = e->size,
                          .tag = TAG_POLICY,
                          .data = numbers,
                          .count = count,
                          .algorithm = algorithm_choose(e->size, count * sizeof *numbers, false),
                          .shards = 1};
    e->sums = true;
    return comm_sum_begin(e->comm, &e->sum);
}

unroll_status exchange_sum_begin(struct exchange *e, float *vector)
{
    const double beside[CODES_BESIDE] = {(double)vector[e->count]};
    return e->codes ? codes_begin(e, vector, beside) : sum_begin(e, vector, e->count + BESIDE);
}

static unroll_status sum_end(struct exchange *e)
{
    e->sums = false;
    return comm_sum_end(e->comm, &e->sum);
}

unroll_status exchange_sum_end(struct exchange *e, float *vector)
{
    double beside[CODES_BESIDE];
    if (!e->codes || !e->sums)
        return e->sums ? sum_end(e) : UNROLL_OK;
    TRY(codes_end(e, vector, beside));
    vector[e->count] = (float)beside[0];
    return UNROLL_OK;
}

size_t plan_numbers(const struct plan *plan)
{
    struct share share;
    size_t numbers;
    int shares = 0;
    while (plan_share(plan, shares, &share, &numbers)) shares++;
    return numbers;
}

double sum_bytes(int workers, size_t count)
{
    double most = 0;
    for (int place = 0; place < workers; place++) {
        struct shape shape = {.size = workers, .place = place, .count = count, .shards = 1};
        struct round round;
        double numbers = 0;
        enum algorithm algorithm = algorithm_choose(workers, count * sizeof(float), false);
        for (int i = 0; algorithm_round(algorithm, &shape, i, &round); i++)
            numbers += round.to >= 0 ? (double)round.sent : 0;
        most = numbers > most ? numbers : most;
    }
    return most * sizeof(float);
}

/* ---- norms -------------------------------------------------------------------------------- */

enum { LANES = 16 };

/* As the norms of a plan (device/cpu/elementwise.h): 16 sums by column modulo 16, then a tree. */
static double squares_of_row(const float *x, size_t n)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) lane[i % LANES] += (double)x[i] * (double)x[i];
    for (size_t distance = LANES / 2; distance > 0; distance /= 2)
        for (size_t l = 0; l < distance; l++) lane[l] += lane[l + distance];
    return lane[0];
}

void exchange_square_rows(const struct exchange *e, const float *gradients, size_t from, size_t to, double *squares)
{
    size_t row = 0;
    for (int i = 0; i < e->shares; row += e->share[i++].rows) {
        const struct share *s = &e->share[i];
        for (size_t r = from > row ? from - row : 0; r < s->rows && row + r < to; r++)
            squares[row + r] = squares_of_row(gradients + s->first + r * s->columns, s->columns);
    }
}

void exchange_sum_squares(const struct exchange *e, const double *squares, double *norms)
{
    for (int i = 0; i < e->shares; i++) {
        double total = 0;
        for (size_t row = 0; row < e->share[i].rows; row++) total += *squares++;
        norms[e->share[i].parameter] = total;
    }
}

/* ---- the mean of all workers ---------------------------------------------------------------- */

unroll_status exchange_after(struct exchange *e, int64_t step)
{
    return e && e->policy->after ? e->policy->after(e, step) : UNROLL_OK;
}

bool exchange_met(const struct exchange *e, int64_t step) { return !e || !e->policy->met || e->policy->met(e, step); }

const char *const exchange_names[] = {"worker", "anchor", "velocity", "change", "start", "residual", NULL};

unroll_status exchange_resume(struct exchange *e, int64_t step, const int64_t integer[POLICY_INTEGERS])
{
    if (!e)
        return UNROLL_OK;
    e->step = step;
    if (integer) {
        memcpy(e->integer, integer, sizeof e->integer);
        TRY(e->policy->diverges ? session_write_shares(e->session, SHARE_WEIGHTS, e->own) : UNROLL_OK);
        return e->policy->begin ? e->policy->begin(e, step, false) : UNROLL_OK;
    }
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    return e->policy->begin ? e->policy->begin(e, step, true) : UNROLL_OK;
}

unroll_status exchange_enter_mean(struct exchange *e, bool states)
{
    if (!e)
        return UNROLL_OK;
    e->states = states;
    TRY(e->policy->settle ? e->policy->settle(e) : UNROLL_OK);
    if (!e->policy->diverges)
        return UNROLL_OK;
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    memcpy(e->mean, e->own, e->count * sizeof *e->mean);
    TRY(sum_begin(e, e->mean, e->count));
    TRY(sum_end(e));
    for (size_t i = 0; i < e->count; i++) e->mean[i] /= (float)e->size;
    e->is_mean = true;
    return session_write_shares(e->session, SHARE_WEIGHTS, e->mean);
}

unroll_status exchange_leave_mean(struct exchange *e)
{
    if (!e || !e->is_mean)
        return UNROLL_OK;
    e->is_mean = false;
    return session_write_shares(e->session, SHARE_WEIGHTS, e->own);
}
