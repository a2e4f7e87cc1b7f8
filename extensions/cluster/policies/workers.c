/* Shared by all policies: the group of a rank, vectors of its weights, the mean of all workers. The policy decides
 * what is exchanged and when. */
#include "base/memory.h"
#include "comm/all_reduce.h"
#include "extensions/cluster/compress/codes.h"
#include "extensions/cluster/policies/policy.h"
#include <string.h>

/* Values after a vector, for the policy. */
enum { EXTRA = 1 };

/* Norms are recomputed from a rank's gradients, so it must have all of them. */
static unroll_status check_between(const struct exchange *e, const char *compress)
{
    return e->policy->between && e->vector.is_part
               ? fail(
                     UNROLL_UNSUPPORTED,
                     "sync %s with compress %s adds whole gradients, and the split cuts them; fix: use `split` batch alone, "
                     "or sync local:H",
                     e->policy->name, compress ? compress : "none")
               : UNROLL_OK;
}

/* Opens the policy and the compressor, and checks that they fit each other and the plan. */
static unroll_status open_exchange(struct exchange *e, const char *sync, const char *compress)
{
    const struct compressor *compressor;
    double level;
    TRY(session_update_vector(e->session, &e->vector));
    TRY(policy_read(sync, &e->policy, &e->options));
    TRY(compressor_read(compress, &compressor, &level));
    TRY(check_between(e, compress));
    if (compressor && !e->policy->codes)
        return fail(UNROLL_UNSUPPORTED,
                    "sync %s sends weights, and compress %s is of gradients and changes; fix: leave it out, or sync "
                    "every or local:H",
                    e->policy->name, compress);
    if (!e->options.asynchronous && (e->arrivals || e->replay))
        return fail(UNROLL_USAGE,
                    "sync %s does not depend on what arrives when; fix: leave out `arrivals` and `replay`",
                    e->policy->name);
    if (e->options.asynchronous && e->vector.ranks > e->vector.workers)
        return fail(UNROLL_UNSUPPORTED, "sync %s: the ranks of a worker must hear the same; fix: leave out `split`",
                    e->policy->name);
    if (!e->vector.is_fp32)
        return fail(UNROLL_UNSUPPORTED, "`sync` = %s exchanges fp32; fix: leave out precision fp64", e->policy->name);
    TRY(ALLOCATE(e->own, e->vector.count, "for the weights of a worker"));
    TRY(ALLOCATE(e->mean, e->vector.count + EXTRA, "for the mean of the workers"));
    if (e->policy->diverges)
        e->kept[e->vectors++] = (struct kept_vector){"worker", KEPT_APART, e->own};
    TRY(e->policy->open ? e->policy->open(e) : UNROLL_OK);
    TRY(compressor ? codes_new(e, compressor, level, &e->codes) : UNROLL_OK);
    return workers_resume(e, 0, NULL);
}

void workers_join(struct exchange *e, unroll_session *session)
{
    if (e->policy->between)
        session_exchange_gradients(session, e->policy->between, e);
}

unroll_status workers_open(unroll_session *session, const unroll_trainer_config *config, struct exchange **exchange)
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
        workers_close(e);
        return status;
    }
    *exchange = e;
    return UNROLL_OK;
}

void workers_close(struct exchange *e)
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
    update_vector_free(&e->vector);
    release(e);
}

unroll_status exchange_keep(struct exchange *e, const char *name, int kind, float **numbers)
{
    TRY(ALLOCATE(*numbers, e->vector.count + EXTRA, "for the %s of a policy", name));
    e->kept[e->vectors++] = (struct kept_vector){name, kind, *numbers};
    return UNROLL_OK;
}

/* ---- sums --------------------------------------------------------------------------------- */

static unroll_status sum_begin(struct exchange *e, float *numbers, size_t count)
{
    e->sum = (struct sum){.ranks = e->vector.rank,
                          .size = e->vector.workers,
                          .tag = TAG_POLICY,
                          .data = numbers,
                          .count = count,
                          .algorithm = algorithm_choose(e->vector.workers, count * sizeof *numbers, false),
                          .shards = 1};
    e->sums = true;
    return comm_sum_begin(e->comm, &e->sum);
}

unroll_status exchange_sum_begin(struct exchange *e, float *vector)
{
    const double exact[CODES_EXACT] = {(double)vector[e->vector.count]};
    return e->codes ? codes_begin(e, vector, exact) : sum_begin(e, vector, e->vector.count + EXTRA);
}

static unroll_status sum_end(struct exchange *e)
{
    e->sums = false;
    return comm_sum_end(e->comm, &e->sum);
}

unroll_status exchange_sum_end(struct exchange *e, float *vector)
{
    double exact[CODES_EXACT];
    if (!e->codes || !e->sums)
        return e->sums ? sum_end(e) : UNROLL_OK;
    TRY(codes_end(e, vector, exact));
    vector[e->vector.count] = (float)exact[0];
    return UNROLL_OK;
}

double sum_bytes(int workers, size_t count)
{
    double most = 0;
    for (int place = 0; place < workers; place++) {
        struct sum_shape shape = {.size = workers, .place = place, .count = count, .shards = 1};
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

/* Same order as the norms of a plan (device/cpu/kernels/elementwise.h): 16 sums by column modulo 16, then a tree. */
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
    for (int i = 0; i < e->vector.shares; row += e->vector.share[i++].rows) {
        const struct share *s = &e->vector.share[i];
        for (size_t r = from > row ? from - row : 0; r < s->rows && row + r < to; r++)
            squares[row + r] = squares_of_row(gradients + s->first + r * s->columns, s->columns);
    }
}

void exchange_sum_squares(const struct exchange *e, const double *squares, double *norms)
{
    for (int i = 0; i < e->vector.shares; i++) {
        double total = 0;
        for (size_t row = 0; row < e->vector.share[i].rows; row++) total += *squares++;
        norms[e->vector.share[i].parameter] = total;
    }
}

/* ---- the mean of all workers ---------------------------------------------------------------- */

unroll_status workers_resume(struct exchange *e, int64_t step, const int64_t integer[POLICY_INTEGERS])
{
    e->step = step;
    if (integer) {
        memcpy(e->integer, integer, sizeof e->integer);
        TRY(e->policy->diverges ? session_write_shares(e->session, SHARE_WEIGHTS, e->own) : UNROLL_OK);
        return e->policy->begin ? e->policy->begin(e, step, false) : UNROLL_OK;
    }
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    return e->policy->begin ? e->policy->begin(e, step, true) : UNROLL_OK;
}

unroll_status workers_enter_mean(struct exchange *e, bool states)
{
    e->states = states;
    TRY(e->policy->settle ? e->policy->settle(e) : UNROLL_OK);
    if (!e->policy->diverges)
        return UNROLL_OK;
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    memcpy(e->mean, e->own, e->vector.count * sizeof *e->mean);
    TRY(sum_begin(e, e->mean, e->vector.count));
    TRY(sum_end(e));
    for (size_t i = 0; i < e->vector.count; i++) e->mean[i] /= (float)e->vector.workers;
    e->is_mean = true;
    return session_write_shares(e->session, SHARE_WEIGHTS, e->mean);
}

unroll_status workers_leave_mean(struct exchange *e)
{
    if (!e->is_mean)
        return UNROLL_OK;
    e->is_mean = false;
    return session_write_shares(e->session, SHARE_WEIGHTS, e->own);
}
