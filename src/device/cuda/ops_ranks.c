/* What ranks send each other and add up (launch.h), by NCCL. All of it goes through the stream of struct talk
 * (ranks.h), so it can be captured like a kernel; a sum that begins is waited for only where it ends. */
#include "device/cuda/launch.h"
#include "device/cuda/ranks.h"

/* Numbers that lie side by side. */
struct stretch { char *at; uint64_t count; enum dtype dtype; };

static int index_of(const struct walker *w, const struct op *op) { return (int)(op - w->plan->op); }

static int nccl_type(enum dtype dtype) { return dtype == DTYPE_F64 ? NCCL_FLOAT64 : NCCL_FLOAT32; }

/* ---- order -------------------------------------------------------------------------------- */

static unroll_status order(cu_result result) { return cuda_check(result, "ordering streams"); }

/* Whoever waits on the host sees what is exchanged. */
static unroll_status mark(const struct talk *t, int number)
{
    const cu_ptr from = t->number + sizeof(uint32_t) * (unsigned)number;
    return cuda_check(cu.cuMemcpyDtoHAsync((void *)(uintptr_t)t->under_way, from, sizeof(uint32_t), t->stream),
                      "marking what is exchanged");
}

static unroll_status say(const struct walker *w, const struct op *op, const struct stretch *s)
{
    char label[96];
    int size, place;
    nccl_comm comm = ranks_of(w->talk->ranks, w->plan, op, &size, &place);
    const int type = nccl_type(s->dtype), peer = 1 - place;         /* of the two ends of a message */
    int result = op->kind == OP_SEND ? nccl.ncclSend(s->at, s->count, type, peer, comm, w->talk->stream)
               : op->kind == OP_RECV ? nccl.ncclRecv(s->at, s->count, type, peer, comm, w->talk->stream)
               : nccl.ncclAllReduce(s->at, s->at, s->count, type, NCCL_SUM, comm, w->talk->stream);
    return ranks_called(w->talk->ranks, comm, result, op_label(w->plan, op, label, sizeof label));
}

/* Prepared once all have joined, everything is said once, of zeros: NCCL connects ranks when they first talk. */
static unroll_status begin(struct walker *w, const struct op *op, const struct stretch *s)
{
    struct talk *t = w->talk;
    w->launches += 3;
    if (!t)
        return UNROLL_OK;
    if (s->dtype != DTYPE_F32 && s->dtype != DTYPE_F64)
        return fail(UNROLL_UNSUPPORTED, "GPUs exchange f32 and f64, not %s", dtype_name(s->dtype));
    if (w->walk == LAUNCH) {
        TRY(order(cu.cuEventRecord(t->asked, w->stream)));
        TRY(order(cu.cuStreamWaitEvent(t->stream, t->asked, 0)));
    }
    TRY(mark(t, index_of(w, op) + 1));
    TRY(say(w, op, s));
    TRY(mark(t, 0));
    return w->walk == LAUNCH ? order(cu.cuEventRecord(t->said[index_of(w, op)], t->stream)) : UNROLL_OK;
}

static unroll_status end(const struct walker *w, int begun)
{
    return w->walk == LAUNCH ? order(cu.cuStreamWaitEvent(w->stream, w->talk->said[begun], 0)) : UNROLL_OK;
}

static unroll_status exchange(struct walker *w, const struct op *op, const struct stretch *s)
{
    TRY(begin(w, op, s));
    return end(w, index_of(w, op));
}

/* ---- views -------------------------------------------------------------------------------- */

static struct stretch stretch_of(const struct cuda_view *x)
{
    return (struct stretch){ x->at, view_numbers(x), x->dtype };
}

/* A view with gaps goes through scratch. */
static unroll_status exchange_view(struct walker *w, const struct cuda_call *call)
{
    const struct cuda_view *x = &call->view[COMM_X];
    struct cuda_view whole = *x;
    size_t step = 1;
    if (view_is_whole(x)) {
        const struct stretch s = stretch_of(x);
        return exchange(w, call->op, &s);
    }
    for (int i = x->rank; i-- > 0; step *= x->count[i])
        whole.stride[i] = step;
    whole.at = scratch_take(w, step * dtype_size(x->dtype));
    const struct stretch s = stretch_of(&whole);
    if (call->op->kind != OP_RECV)
        TRY(cuda_move(w, x, &whole, false));
    TRY(exchange(w, call->op, &s));
    return call->op->kind != OP_SEND ? cuda_move(w, &whole, x, false) : UNROLL_OK;
}

unroll_status cuda_send(struct walker *w, const struct cuda_call *call) { return exchange_view(w, call); }
unroll_status cuda_recv(struct walker *w, const struct cuda_call *call) { return exchange_view(w, call); }
unroll_status cuda_all_reduce(struct walker *w, const struct cuda_call *call) { return exchange_view(w, call); }

/* ---- buckets ------------------------------------------------------------------------------ */

/* The views of a bucket lie side by side. Of one with shards, whose order over ranks nobody asks for here, the first
 * shard has their sum. */
unroll_status cuda_sum_begin(struct walker *w, const struct cuda_call *call)
{
    const struct cuda_view *first = &call->view[COMM_X], *last = &call->view[COMM_X + call->op->views - 1];
    struct stretch s = stretch_of(first);
    const size_t size = dtype_size(s.dtype);
    if (call->op->choice) {
        TRY(cuda_tree(w, call));
        s.count = first->stride[0];
    } else {
        s.count = (uint64_t)(last->at - first->at) / size + view_numbers(last);
    }
    return begin(w, call->op, &s);
}

unroll_status cuda_sum_end(struct walker *w, const struct cuda_call *call)
{
    const struct op *op = call->op;
    int i = index_of(w, op);
    while (w->plan->op[i].kind != OP_SUM_BEGIN || w->plan->op[i].tag != op->tag || w->plan->op[i].group != op->group)
        i--;
    return end(w, i);
}
