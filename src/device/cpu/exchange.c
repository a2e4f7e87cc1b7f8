/* Sends, receives, sums and gathers views between ranks. A message goes in pieces of a fixed number of elements in row
 * order, so that both ends agree on the messages even when one of them keeps the view inside wider rows. */
#include "device/cpu/exchange.h"
#include "device/cpu/tensor.h"
#include <string.h>

enum { PIECE = 1 << 15 };       /* bytes: fits in the L1 or L2 cache, and on the stack of a thread */

static bool is_contiguous(const struct tensor *x)
{
    size_t inside = 1;
    for (int i = x->rank; i-- > 0; inside *= x->count[i])
        if (x->count[i] > 1 && x->stride[i] != inside)
            return false;
    return true;
}

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

/* reads, writes: what the exchange does to the view. */
static unroll_status by_pieces(const struct call *call, exchange *exchange, bool reads, bool writes)
{
    const struct tensor *x = &call->view[COMM_X];
    size_t size = dtype_size(x->dtype), most = PIECE / size, all = tensor_rows(x) * tensor_width(x);
    bool contiguous = is_contiguous(x);
    _Alignas(64) char piece[PIECE];
    for (size_t done = 0; done < all; done += most) {
        size_t n = all - done < most ? all - done : most;
        char *data = contiguous ? (char *)x->at + done * size : piece;
        if (!contiguous && reads)
            copy_piece(x, done, n, piece, true);
        TRY(exchange(call, data, n));
        if (!contiguous && writes)
            copy_piece(x, done, n, piece, false);
    }
    return UNROLL_OK;
}

/* ---- the kernels ----------------------------------------------------------------------- */

static unroll_status send_piece(const struct call *call, void *data, size_t count)
{
    return comm_send(call->comm, call->op->peer, call->op->tag, data,
                     count * dtype_size(call->view[COMM_X].dtype));
}

static unroll_status recv_piece(const struct call *call, void *data, size_t count)
{
    return comm_recv(call->comm, call->op->peer, call->op->tag, data,
                     count * dtype_size(call->view[COMM_X].dtype));
}

/* A view, or the views of a bucket, which lie side by side. */
struct stretch { char *at; size_t count; };

static struct stretch stretch_of(const struct call *call)
{
    const struct tensor *first = &call->view[COMM_X], *last = &call->view[COMM_X + call->op->views - 1];
    size_t size = dtype_size(first->dtype);
    if (call->op->kind == OP_ALL_REDUCE)
        last = first;
    char *end = (char *)last->at + tensor_rows(last) * tensor_width(last) * size;
    return (struct stretch){ first->at, (size_t)(end - (char *)first->at) / size };
}

/* What the user chose for buckets; else of few numbers the fewest messages, of many the fewest bytes. Sums over shards keep the order of their tree. */
static enum topology choose_topology(const struct call *call, size_t bytes)
{
    enum { FEW_BYTES = 1 << 14 };
    int size = call->plan->group[call->op->group].size;
    if (call->op->choice)
        return COMM_SHARDS;
    if (call->plan->config.sum >= 0 && call->op->kind != OP_ALL_REDUCE)
        return (enum topology)call->plan->config.sum;
    if (bytes <= FEW_BYTES)
        return COMM_TREE;
    return (size & (size - 1)) == 0 ? COMM_HALVING : call->plan->config.shards > 1 ? COMM_TREE : COMM_RING;
}

static struct sum sum_of(const struct call *call, void *data, size_t count)
{
    const struct group *group = &call->plan->group[call->op->group];
    const struct tensor *x = &call->view[COMM_X];
    size_t here = call->op->choice ? x->count[0] : 1;
    return (struct sum){ .ranks = group->rank, .size = group->size, .tag = call->op->tag, .data = data,
                         .count = count / here, .is_double = x->dtype == DTYPE_F64,
                         .topology = choose_topology(call, count * dtype_size(x->dtype)),
                         .shards = call->op->choice ? (int)call->plan->config.shards : 1 };
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
               ? UNROLL_OK : fail(UNROLL_UNSUPPORTED, "ranks can add up f32 and f64, not %s", dtype_name(dtype));
}

unroll_status kernel_all_reduce(const struct call *call, int me, int team, struct work *work)
{
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    count_view(work, call, COMM_X, me);
    if (!is_contiguous(&call->view[COMM_X]))                /* here and on all others: their views are alike */
        return by_pieces(call, sum_piece, true, true);
    struct stretch all = stretch_of(call);
    return sum_piece(call, all.at, all.count);
}

static unroll_status run_bucket(const struct call *call, int me, struct work *work,
                                unroll_status (*step)(struct unroll_comm *, const struct sum *))
{
    if (me > 0)
        return UNROLL_OK;
    TRY(check_type(call));
    for (int k = 0; k < call->op->views; k++)
        count_view(work, call, COMM_X + k, me);
    struct stretch all = stretch_of(call);
    struct sum sum = sum_of(call, all.at, all.count);
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
static struct tensor share_of(const struct call *call, int member)
{
    struct tensor x = call->view[COMM_X];
    int dim = call->op->choice;
    uint32_t first, count;
    share(x.count[dim], call->plan->group[call->op->group].size, member, 1, &first, &count);
    x.at = (char *)x.at + first * x.stride[dim] * dtype_size(x.dtype);
    x.count[dim] = count;
    return x;
}

/* Between a share and a rank, by pieces: both ends count the same elements. */
static unroll_status move_share(const struct call *call, const struct tensor *x, int rank, bool sends)
{
    size_t most = PIECE / dtype_size(x->dtype), all = tensor_rows(x) * tensor_width(x);
    _Alignas(64) char piece[PIECE];
    for (size_t done = 0; done < all; done += most) {
        size_t n = all - done < most ? all - done : most, bytes = n * dtype_size(x->dtype);
        if (sends)
            copy_piece(x, done, n, piece, true);
        TRY(sends ? comm_send(call->comm, rank, call->op->tag, piece, bytes)
                  : comm_recv(call->comm, rank, call->op->tag, piece, bytes));
        if (!sends)
            copy_piece(x, done, n, piece, false);
    }
    return UNROLL_OK;
}

unroll_status kernel_all_gather(const struct call *call, int me, int team, struct work *work)
{
    const struct group *group = &call->plan->group[call->op->group];
    int here = 0;
    (void)team;
    if (me > 0)
        return UNROLL_OK;
    count_view(work, call, COMM_X, me);
    while (group->rank[here] != comm_rank(call->comm))
        here++;
    const struct tensor mine = share_of(call, here);
    for (int i = 0; i < group->size; i++)
        if (i != here)
            TRY(move_share(call, &mine, group->rank[i], true));
    for (int i = 0; i < group->size; i++) {
        const struct tensor its = share_of(call, i);
        if (i != here)
            TRY(move_share(call, &its, group->rank[i], false));
    }
    return UNROLL_OK;
}
