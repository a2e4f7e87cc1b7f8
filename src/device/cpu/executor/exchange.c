/* Sends, receives, sums and gathers views between ranks. A message is split into pieces of a fixed number of elements
 * in row order, so that both ends agree on the messages, even if a view is strided on one of them. */
#include "device/cpu/executor/exchange.h"
#include "device/cpu/kernels/tensor.h"
#include <string.h>

struct exchange_piece {
    _Alignas(64) char at[PIECE_BYTES];
};

static char *piece_kept(void) { return IN_WORKSPACE(struct exchange_piece, PRODUCT_WORKSPACE, KERNEL_WORKSPACE)->at; }

/* Copies between a piece and elements [first, first + count) of a view, row by row. */
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

/* Passes a view in pieces. reads, writes: whether `pass` reads or writes its data. */
static unroll_status by_pieces(const struct call *call, exchange *pass, bool reads, bool writes)
{
    const struct tensor *x = &call->view[COMM_X];
    size_t size = dtype_size(x->dtype), max = PIECE_BYTES / size, all = tensor_rows(x) * tensor_width(x);
    char *piece = piece_kept();
    for (size_t done = 0; done < all; done += max) {
        size_t n = all - done < max ? all - done : max;
        char *data = call->contiguous ? (char *)x->at + done * size : piece;
        if (!call->contiguous && reads)
            copy_piece(x, done, n, piece, true);
        TRY(pass(call, data, n));
        if (!call->contiguous && writes)
            copy_piece(x, done, n, piece, false);
    }
    return UNROLL_OK;
}

/* ---- the kernels ----------------------------------------------------------------------- */

static unroll_status send_piece(const struct call *call, void *data, size_t count)
{
    return comm_send(call->comm, call->peer, call->tag, data, count * dtype_size(call->view[COMM_X].dtype));
}

static unroll_status recv_piece(const struct call *call, void *data, size_t count)
{
    return comm_recv(call->comm, call->peer, call->tag, data, count * dtype_size(call->view[COMM_X].dtype));
}

static struct sum sum_of(const struct call *call, void *data, size_t count)
{
    struct sum sum = call->sum;
    sum.data = data;
    sum.count = count / call->sum_each;
    if (sum.algorithm == COMM_AUTO)
        sum.algorithm = algorithm_choose(sum.size, count * dtype_size(call->view[COMM_X].dtype), call->ordered);
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
               : fail(UNROLL_UNSUPPORTED, "ranks can sum f32 and f64, not %s; fix: " REPORT_BUG, dtype_name(dtype));
}

unroll_status kernel_all_reduce(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    count_view(work, call, COMM_X, me);
    if (!call->contiguous) /* also on all other ranks: their views are alike */
        return by_pieces(call, sum_piece, true, true);
    return sum_piece(call, call->view[COMM_X].at, call->elements);
}

static unroll_status run_bucket(const struct call *call, int me, struct work *work,
                                unroll_status (*step)(struct unroll_comm *, const struct sum *))
{
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    for (int k = 0; k < call->views; k++) count_view(work, call, COMM_X + k, me);
    struct sum sum = sum_of(call, call->view[COMM_X].at, call->elements);
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

/* Returns a member's shard along one axis, as a view. */
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

/* Sends or receives a shard in pieces: both ends count the same elements. */
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

/* Sends this rank's shard to the other ranks and receives theirs; thread 0 only. */
unroll_status kernel_all_gather(const struct call *call, int me, int team, struct work *work)
{
    const struct rank_group *group = &call->group;
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
