/* Messages and sums between ranks (gpu_launch.h), through the driver. All of them go through the stream of struct
 * gpu_comm, so they can be captured like a kernel. A sum is waited for only by its OP_SUM_END. */
#include "extensions/gpu/gpu_launch.h"
#include "extensions/gpu/gpu_ranks.h"

/* Contiguous elements. */
struct stretch {
    char *at;
    uint64_t count;
    enum dtype dtype;
};

static int index_of(const struct recorder *w, const struct op *op) { return (int)(op - w->plan->op); }

/* ---- order -------------------------------------------------------------------------------- */

/* Shows a waiting host what is being exchanged. */
static unroll_status mark(const struct recorder *w, int number)
{
    const struct gpu_comm *t = w->device_comm;
    const gpu_address from = t->number + sizeof(uint32_t) * (unsigned)number;
    return w->driver->copy_out(t->stream, (void *)(uintptr_t)t->under_way, from, sizeof(uint32_t),
                               "marking what is exchanged");
}

/* Prepared after all ranks have joined, every exchange runs once with zeros, because ranks connect at their first
 * message. */
static unroll_status begin(struct recorder *w, const struct op *op, const struct stretch *s)
{
    struct gpu_comm *t = w->device_comm;
    w->launches += 3;
    if (!t)
        return UNROLL_OK;
    if (s->dtype != DTYPE_F32 && s->dtype != DTYPE_F64)
        return fail(UNROLL_UNSUPPORTED,
                    "GPUs exchange f32 and f64, not %s; fix: report it with the network and the options, or device cpu",
                    dtype_name(s->dtype));
    if (w->walk == LAUNCH) {
        TRY(w->driver->event_record(t->asked, w->stream));
        TRY(w->driver->stream_after(t->stream, t->asked));
    }
    TRY(mark(w, index_of(w, op) + 1));
    TRY(w->driver->ranks->exchange(w, op, s->at, s->count, s->dtype));
    TRY(mark(w, 0));
    return w->walk == LAUNCH ? w->driver->event_record(t->said[index_of(w, op)], t->stream) : UNROLL_OK;
}

static unroll_status end(const struct recorder *w, int begun)
{
    return w->walk == LAUNCH ? w->driver->stream_after(w->stream, w->device_comm->said[begun]) : UNROLL_OK;
}

static unroll_status exchange(struct recorder *w, const struct op *op, const struct stretch *s)
{
    TRY(begin(w, op, s));
    return end(w, index_of(w, op));
}

/* ---- views -------------------------------------------------------------------------------- */

static struct stretch stretch_of(const struct gpu_view *x)
{
    return (struct stretch){x->at, view_numbers(x), x->dtype};
}

/* Exchanges a view; one with gaps goes through scratch. */
static unroll_status exchange_view(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *x = &call->view[COMM_X];
    struct gpu_view whole = *x;
    size_t step = 1;
    if (view_is_whole(x)) {
        const struct stretch s = stretch_of(x);
        return exchange(w, call->op, &s);
    }
    for (int i = x->rank; i-- > 0; step *= x->count[i]) whole.stride[i] = step;
    whole.at = scratch_take(w, step * dtype_size(x->dtype));
    const struct stretch s = stretch_of(&whole);
    if (call->op->kind != OP_RECV)
        TRY(gpu_move(w, x, &whole, false));
    TRY(exchange(w, call->op, &s));
    return call->op->kind != OP_SEND ? gpu_move(w, &whole, x, false) : UNROLL_OK;
}

unroll_status gpu_op_send(struct recorder *w, const struct gpu_call *call) { return exchange_view(w, call); }
unroll_status gpu_op_recv(struct recorder *w, const struct gpu_call *call) { return exchange_view(w, call); }
unroll_status gpu_op_all_reduce(struct recorder *w, const struct gpu_call *call) { return exchange_view(w, call); }

/* ---- buckets ------------------------------------------------------------------------------ */

/* The views of a bucket are contiguous. In a bucket with shards, the first shard receives their sum, because the
 * order over ranks does not matter here. */
unroll_status gpu_op_sum_begin(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *first = &call->view[COMM_X], *last = &call->view[COMM_X + call->op->views - 1];
    struct stretch s = stretch_of(first);
    const size_t size = dtype_size(s.dtype);
    if (call->op->choice) {
        TRY(gpu_op_tree(w, call));
        s.count = first->stride[0];
    } else {
        s.count = (uint64_t)(last->at - first->at) / size + view_numbers(last);
    }
    return begin(w, call->op, &s);
}

unroll_status gpu_op_sum_end(struct recorder *w, const struct gpu_call *call)
{
    const struct op *op = call->op;
    int i = index_of(w, op);
    while (w->plan->op[i].kind != OP_SUM_BEGIN || w->plan->op[i].tag != op->tag || w->plan->op[i].group != op->group)
        i--;
    return end(w, i);
}
