/* every: gradients are added in each update. As they are the plan does it, as of a cut of the batch; compressed they
 * are exchanged here, between their sums over the ranks of a worker and the update. */
#include "parallel/codes.h"

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

static void make_norms(const struct exchange *e, const float *gradients, double *norms)
{
    for (int i = 0; i < e->shares; i++) {
        const struct share *s = &e->share[i];
        double total = 0;
        for (size_t row = 0; row < s->rows; row++)
            total += squares_of_row(gradients + s->first + row * s->columns, s->columns);
        norms[s->weights->parameter] = total;
    }
}

static unroll_status exchange_gradients(void *arg, unroll_session *session, double *sums[2], double *norms)
{
    struct exchange *e = arg;
    double beside[CODES_BESIDE] = {*sums[0], *sums[1]};
    TRY(session_read_shares(session, SHARE_GRADIENTS, e->own));
    TRY(codes_begin(e, e->own, beside));
    TRY(codes_end(e, e->own, beside));
    *sums[0] = beside[0];
    *sums[1] = beside[1];
    make_norms(e, e->own, norms);
    return session_write_shares(session, SHARE_GRADIENTS, e->own);
}

static double bytes(const struct sync_options *options, int workers, size_t count, double *every)
{
    (void)options;
    *every = 1;
    return sum_bytes(workers, count);
}

const struct policy policy_every = {.name = "every",
                                    .about = "gradients are added in each update, as along a cut of the batch",
                                    .between = exchange_gradients,
                                    .bytes = bytes};
