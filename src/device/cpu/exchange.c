/* Sends, receives, sums and gathers views between ranks. A message goes in pieces of a fixed number of elements in row
 * order, so that both ends agree on the messages even when one of them keeps the view inside wider rows. */
#include "device/cpu/exchange.h"
#include "device/cpu/tensor.h"
#include "plan/traffic.h"
#include <string.h>

struct piece {
    _Alignas(64) char at[PIECE_BYTES];
};

static char *piece_kept(void) { return IN_WORKSPACE(struct piece, PRODUCT_WORKSPACE, KERNEL_WORKSPACE)->at; }

/* Between a piece and elements [first, first + count) of a view, row by row. */
static void copy_piece(const struct tensor *x, size_t first, size_t count, char *piece, bool pack)
{
    size_t width = tensor_width(x), size = dtype_size(x->dtype);
    for (size_t n = first, run; n < first + count; n += run, piece += run * size) {
        run = width - n % width;
        if (run > first + count - n)
            run = first + count - n;
        char *there = (char *)tensor_row(x, n / width) + n % width * size;
        memcpy(pack ? piece : there, pack ? there : piece, run * size);
    }
}

typedef unroll_status exchange(const struct call *call, void *data, size_t count);

/* reads, writes: what passing a piece does to the view. */
static unroll_status by_pieces(const struct call *call, exchange *pass, bool reads, bool writes)
{
    const struct tensor *x = &call->view[COMM_X];
    size_t size = dtype_size(x->dtype), max = PIECE_BYTES / size, all = tensor_rows(x) * tensor_width(x);
    bool contiguous = view_is_contiguous(call->plan, &call->op->view[COMM_X]);
    char *piece = piece_kept();
    for (size_t done = 0; done < all; done += max) {
        size_t n = all - done < max ? all - done : max;
        char *data = contiguous ? (char *)x->at + done * size : piece;
        if (!contiguous && reads)
            copy_piece(x, done, n, piece, true);
        TRY(pass(call, data, n));
        if (!contiguous && writes)
            copy_piece(x, done, n, piece, false);
    }
    return UNROLL_OK;
}

/* ---- the kernels ----------------------------------------------------------------------- */

static unroll_status send_piece(const struct call *call, void *data, size_t count)
{
    return comm_send(call->comm, call->op->peer, call->tag, data, count * dtype_size(call->view[COMM_X].dtype));
}

static unroll_status recv_piece(const struct call *call, void *data, size_t count)
{
    return comm_recv(call->comm, call->op->peer, call->tag, data, count * dtype_size(call->view[COMM_X].dtype));
}

static struct sum sum_of(const struct call *call, void *data, size_t count)
{
    struct sum sum = sum_of_numbers(call->plan, call->op, count);
    sum.data = data;
    return sum;
}

static unroll_status sum_piece(const struct call *call, void *data, size_t count)
{
    struct sum sum = sum_of(call, data, count);
    TRY(comm_sum_begin(call->comm, &sum));
    return comm_sum_end(call->comm, &sum);
}

unroll_status kernel_send(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    count_view(work, call, COMM_X, me);
    return by_pieces(call, send_piece, true, false);
}

unroll_status kernel_recv(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    count_view(work, call, COMM_X, me);
    return by_pieces(call, recv_piece, false, true);
}

static unroll_status check_type(const struct call *call)
{
    enum dtype dtype = call->view[COMM_X].dtype;
    return dtype == DTYPE_F32 || dtype == DTYPE_F64
               ? UNROLL_OK
               : fail(UNROLL_UNSUPPORTED,
                      "ranks can add up f32 and f64, not %s; fix: report it with the network and the options",
                      dtype_name(dtype));
}

unroll_status kernel_all_reduce(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    count_view(work, call, COMM_X, me);
    if (!view_is_contiguous(call->plan, &call->op->view[COMM_X])) /* here and on all others: views are alike */
        return by_pieces(call, sum_piece, true, true);
    return sum_piece(call, call->view[COMM_X].at, sum_numbers(call->plan, call->op));
}

static unroll_status run_bucket(const struct call *call, int me, struct work *work,
                                unroll_status (*step)(struct unroll_comm *, const struct sum *))
{
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    for (int k = 0; k < call->op->views; k++) count_view(work, call, COMM_X + k, me);
    struct sum sum = sum_of(call, call->view[COMM_X].at, sum_numbers(call->plan, call->op));
    return step(call->comm, &sum);
}

unroll_status kernel_sum_begin(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    return run_bucket(call, me, work, comm_sum_begin);
}

unroll_status kernel_sum_end(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    return run_bucket(call, me, work, comm_sum_end);
}

/* Of the share of a member of the group along one axis, a view of its own. */
static struct tensor shard_of(const struct call *call, int member)
{
    struct tensor x = call->view[COMM_X];
    int dim = call->choice;
    uint32_t first, count;
    shard_range(x.count[dim], call->group.size, member, 1, &first, &count);
    x.at = (char *)x.at + first * x.stride[dim] * dtype_size(x.dtype);
    x.count[dim] = count;
    return x;
}

/* Between a share and a rank, by pieces: both ends count the same elements. */
static unroll_status move_shard(const struct call *call, const struct tensor *x, int rank, bool sends)
{
    size_t max = PIECE_BYTES / dtype_size(x->dtype), all = tensor_rows(x) * tensor_width(x);
    char *piece = piece_kept();
    for (size_t done = 0; done < all; done += max) {
        size_t n = all - done < max ? all - done : max, bytes = n * dtype_size(x->dtype);
        if (sends)
            copy_piece(x, done, n, piece, true);
        TRY(sends ? comm_send(call->comm, rank, call->tag, piece, bytes)
                  : comm_recv(call->comm, rank, call->tag, piece, bytes));
        if (!sends)
            copy_piece(x, done, n, piece, false);
    }
    return UNROLL_OK;
}

unroll_status kernel_all_gather(const struct call *call, int me, int team, struct work *work)
{
    const struct members *group = &call->group;
    int here = 0;
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    count_view(work, call, COMM_X, me);
    while (group->rank[here] != comm_rank(call->comm)) here++;
    const struct tensor mine = shard_of(call, here);
    for (int i = 0; i < group->size; i++)
        if (i != here)
            TRY(move_shard(call, &mine, group->rank[i], true));
    for (int i = 0; i < group->size; i++) {
        const struct tensor its = shard_of(call, i);
        if (i != here)
            TRY(move_shard(call, &its, group->rank[i], false));
    }
    return UNROLL_OK;
}
