/* every: gradients are added in each update. As they are the plan does it, as of a cut of the batch; compressed they
 * are exchanged here, between their sums over the ranks of a worker and the update. */
#include "base/memory.h"
#include "parallel/codes.h"

static unroll_status open(struct exchange *e)
{
    double *squares;
    TRY(ALLOCATE(squares, e->rows, "for norms"));
    e->state = squares;
    return UNROLL_OK;
}

static void close_every(struct exchange *e) { release(e->state); }

static unroll_status exchange_gradients(void *arg, unroll_session *session, struct turn *turn)
{
    struct exchange *e = arg;
    double beside[CODES_BESIDE] = {*turn->sums[0], *turn->sums[1]};
    TRY(session_read_shares(session, SHARE_GRADIENTS, e->own));
    TRY(codes_begin(e, e->own, beside));
    TRY(codes_end(e, e->own, beside));
    *turn->sums[0] = beside[0];
    *turn->sums[1] = beside[1];
    exchange_square_rows(e, e->own, 0, e->rows, e->state);
    exchange_sum_squares(e, e->state, turn->norms);
    return session_write_shares(session, SHARE_GRADIENTS, e->own);
}

static double bytes(const struct sync_options *options, const struct plan *plan, double *every)
{
    (void)options;
    *every = 1;
    return sum_bytes(plan->config.workers, plan_numbers(plan));
}

const struct policy policy_every = {.name = "every",
                                    .about = "gradients are added in each update, as along a cut of the batch",
                                    .codes = true,
                                    .open = open,
                                    .close = close_every,
                                    .between = exchange_gradients,
                                    .bytes = bytes};
