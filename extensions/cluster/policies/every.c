/* every: gradients are summed in each update. Uncompressed, the plan does this, as for a cut of the batch.
 * Compressed gradients are exchanged here, after the sums over the ranks of a worker and before the update. */
#include "base/memory.h"
#include "extensions/cluster/compress/codes.h"

static unroll_status open(struct exchange *e)
{
    double *squares;
    TRY(ALLOCATE(squares, e->vector.rows, "for norms"));
    e->state = squares;
    return UNROLL_OK;
}

static void close_every(struct exchange *e) { release(e->state); }

static unroll_status exchange_gradients(void *arg, unroll_session *session, struct turn *turn)
{
    struct exchange *e = arg;
    double exact[CODES_EXACT] = {*turn->sums[0], *turn->sums[1]};
    TRY(session_read_shares(session, SHARE_GRADIENTS, e->own));
    TRY(codes_begin(e, e->own, exact));
    TRY(codes_end(e, e->own, exact));
    *turn->sums[0] = exact[0];
    *turn->sums[1] = exact[1];
    exchange_square_rows(e, e->own, 0, e->vector.rows, e->state);
    exchange_sum_squares(e, e->state, turn->norms);
    return session_write_shares(session, SHARE_GRADIENTS, e->own);
}

static double bytes(const struct sync_options *options, const struct update_vector *vector, double *every)
{
    (void)options;
    *every = 1;
    return sum_bytes(vector->workers, vector->count);
}

const struct policy policy_every = {.name = "every",
                                    .about = "gradients are added in each update, as along a cut of the batch",
                                    .codes = true,
                                    .open = open,
                                    .close = close_every,
                                    .between = exchange_gradients,
                                    .bytes = bytes};
