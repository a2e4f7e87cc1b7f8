/* Runs the list in ranges and exchanges messages between them on the host (staged.h). */
#include "device/staged.h"
#include "base/memory.h"
#include "plan/ir/traffic.h"
#include <string.h>

struct staged {
    const struct plan *plan;
    struct unroll_comm *comm;
    const struct staged_calls *calls;
    void *executable;
    char *room, *packed; /* room: a view from its first element to its last; packed: only its elements */
    char **bucket;       /* [ops] for each begun sum: its data, until it ends */
};

/* ---- views ----------------------------------------------------------------------------- */

/* The location of a view in its dense buffer, in bytes from the first element to the last, and its rows along the last
 * axis. */
struct view_span {
    const struct buffer *buffer;
    size_t size, first, bytes, width, rows, stride[BUFFER_AXES];
};

static struct view_span span_of(const struct plan *p, const struct view *v)
{
    const struct buffer *b = &p->buffer[v->buffer];
    struct view_span s = {.buffer = b, .size = dtype_size(b->dtype), .rows = 1};
    size_t last = 0, step = 1;
    for (int i = b->rank; i-- > 0; step *= b->size[i]) {
        s.stride[i] = step;
        s.first += v->first[i] * step;
        last += (v->first[i] + v->count[i] - 1) * step;
        s.rows *= i < b->rank - 1 ? v->count[i] : 1;
    }
    s.width = v->count[b->rank - 1] * s.size;
    s.bytes = (last + 1 - s.first) * s.size;
    s.first *= s.size;
    return s;
}

/* Copies between a span and its packed rows. */
static void move_rows(const struct view_span *s, const struct view *v, char *span, char *rows, bool pack)
{
    uint32_t at[BUFFER_AXES] = {0};
    const int axes = s->buffer->rank - 1;
    for (size_t row = 0; row < s->rows; row++, rows += s->width) {
        size_t place = 0;
        for (int i = 0; i < axes; i++) place += at[i] * s->stride[i] * s->size;
        memcpy(pack ? rows : span + place, pack ? span + place : rows, s->width);
        for (int i = axes; i-- > 0 && ++at[i] == v->count[i];) at[i] = 0;
    }
}

static unroll_status read_view(struct staged *t, const struct view *v, struct view_span *s, char **data)
{
    *s = span_of(t->plan, v);
    *data = t->room;
    TRY(t->calls->read(t->executable, s->buffer->name, s->first, s->bytes, t->room));
    if (view_is_contiguous(t->plan, v))
        return UNROLL_OK;
    *data = t->packed;
    move_rows(s, v, t->room, t->packed, true);
    return UNROLL_OK;
}

static unroll_status write_view(struct staged *t, const struct view *v, const struct view_span *s, char *data)
{
    if (data == t->packed)
        move_rows(s, v, t->room, t->packed, false);
    return t->calls->write(t->executable, s->buffer->name, s->first, s->bytes, t->room);
}

/* ---- messages -------------------------------------------------------------------------- */

static unroll_status add_up(struct staged *t, const struct op *op, void *data, size_t numbers)
{
    struct sum sum = sum_of_numbers(t->plan, op, numbers);
    sum.data = data;
    TRY(comm_sum_begin(t->comm, &sum));
    return comm_sum_end(t->comm, &sum);
}

static unroll_status pass_piece(struct staged *t, const struct op *op, char *data, size_t bytes, size_t size)
{
    if (op->kind == OP_SEND)
        return comm_send(t->comm, op->peer, op->tag, data, bytes);
    if (op->kind == OP_RECV)
        return comm_recv(t->comm, op->peer, op->tag, data, bytes);
    return add_up(t, op, data, bytes / size);
}

/* Sends, receives or sums a view in pieces of the same size as on the other rank. */
static unroll_status exchange_view(struct staged *t, const struct op *op)
{
    const struct view *v = &op->view[COMM_X];
    struct view_span s;
    char *data;
    TRY(read_view(t, v, &s, &data)); /* also before receiving: elements between its rows are kept */
    const size_t all = s.rows * s.width;
    const bool is_whole_sum = op->kind == OP_ALL_REDUCE && data == t->room;
    const size_t max = is_whole_sum ? all : PIECE_BYTES / s.size * s.size;
    for (size_t done = 0; done < all; done += max)
        TRY(pass_piece(t, op, data + done, all - done < max ? all - done : max, s.size));
    return op->kind == OP_SEND ? UNROLL_OK : write_view(t, v, &s, data);
}

/* Copies between the host and a bucket, whose views are adjacent in their segment. */
static unroll_status move_bucket(struct staged *t, const struct op *op, char *data, bool reads)
{
    const struct plan *p = t->plan;
    uint64_t begin = 0;
    for (int k = COMM_X; k < op->views; k++) {
        const struct view_span s = span_of(p, &op->view[k]);
        const uint64_t at = s.buffer->offset + s.first;
        begin = k == COMM_X ? at : begin;
        TRY(reads ? t->calls->read(t->executable, s.buffer->name, s.first, s.bytes, data + (at - begin))
                  : t->calls->write(t->executable, s.buffer->name, s.first, s.bytes, data + (at - begin)));
    }
    return UNROLL_OK;
}

static struct sum sum_of_bucket(const struct staged *t, int begun)
{
    const struct op *op = &t->plan->op[begun];
    struct sum sum = sum_of_numbers(t->plan, op, sum_numbers(t->plan, op));
    sum.data = t->bucket[begun];
    return sum;
}

static unroll_status begin_sum(struct staged *t, int index)
{
    TRY(move_bucket(t, &t->plan->op[index], t->bucket[index], true));
    const struct sum sum = sum_of_bucket(t, index);
    return comm_sum_begin(t->comm, &sum);
}

static unroll_status end_sum(struct staged *t, int index)
{
    const struct op *op = &t->plan->op[index];
    int begun = index;
    while (t->plan->op[begun].kind != OP_SUM_BEGIN || t->plan->op[begun].tag != op->tag ||
           t->plan->op[begun].group != op->group)
        begun--;
    const struct sum sum = sum_of_bucket(t, begun);
    TRY(comm_sum_end(t->comm, &sum));
    return move_bucket(t, &t->plan->op[begun], t->bucket[begun], false);
}

static unroll_status do_message(struct staged *t, int index)
{
    const struct op *op = &t->plan->op[index];
    char label[96];
    unroll_status status = op->kind == OP_SUM_BEGIN ? begin_sum(t, index)
                           : op->kind == OP_SUM_END ? end_sum(t, index)
                                                    : exchange_view(t, op);
    if (status == UNROLL_COMMUNICATION)
        set_error("'%s': %s", op_label(t->plan, op, label, sizeof label), unroll_last_error());
    return status;
}

/* ---- the list -------------------------------------------------------------------------- */

static unroll_status run_until(struct staged *t, enum phase phase, int first, int end)
{
    for (int i = first; i < end; i++)
        if (is_in_phase(&t->plan->op[i], phase))
            return t->calls->run_range(t->executable, phase, first, end);
    return UNROLL_OK;
}

static unroll_status run_phase(struct staged *t, enum phase phase)
{
    int i, end, first;
    phase_range(t->plan, phase, &i, &end);
    for (first = i; i < end; i++) {
        if (!is_in_phase(&t->plan->op[i], phase) || !op_communicates(&t->plan->op[i]))
            continue;
        TRY(run_until(t, phase, first, i));
        TRY(do_message(t, i));
        first = i + 1;
    }
    return run_until(t, phase, first, end);
}

unroll_status staged_run(struct staged *t, enum phase first, enum phase last)
{
    const bool overlap = first <= PHASE_BACKWARD && last >= PHASE_SUM && plan_overlaps(t->plan);
    for (int phase = (int)first; phase <= (int)last; phase++)
        if (!overlap || phase != PHASE_SUM)
            TRY(run_phase(t, (enum phase)(overlap && phase == PHASE_BACKWARD ? PHASE_BACKWARD_SUM : phase)));
    return UNROLL_OK;
}

/* ---- making one ------------------------------------------------------------------------ */

static unroll_status check_op(const struct plan *p, const struct op *op)
{
    static const unsigned known =
        1u << OP_SEND | 1u << OP_RECV | 1u << OP_ALL_REDUCE | 1u << OP_SUM_BEGIN | 1u << OP_SUM_END;
    char label[96];
    if (known >> op->kind & 1)
        return UNROLL_OK;
    return fail(
        UNROLL_UNSUPPORTED,
        "'%s' exchanges units in each step, which is not supported for devices of several kinds; fix: cut along "
        "batch or layer, not hidden",
        op_label(p, op, label, sizeof label));
}

/* Allocates buffers for the largest message and for each sum of gradients. */
static unroll_status take_room(struct staged *t)
{
    const struct plan *p = t->plan;
    size_t most = 1;
    TRY(ALLOCATE(t->bucket, (size_t)p->ops + 1, "for messages"));
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        if (!op_communicates(op))
            continue;
        TRY(check_op(p, op));
        const struct view_span s = span_of(p, &op->view[COMM_X]);
        if (op->kind == OP_SUM_BEGIN)
            TRY(ALLOCATE(t->bucket[i], sum_numbers(p, op) * s.size, "for sums of gradients"));
        most = op->kind != OP_SUM_BEGIN && op->kind != OP_SUM_END && s.bytes > most ? s.bytes : most;
    }
    TRY(ALLOCATE(t->room, most, "for messages"));
    return ALLOCATE(t->packed, most, "for messages");
}

unroll_status staged_new(const struct plan *plan, struct unroll_comm *comm, const struct staged_calls *calls,
                         void *executable, struct staged **staged)
{
    struct staged *t;
    TRY(ALLOCATE(t, 1, "for messages"));
    *t = (struct staged){.plan = plan, .comm = comm, .calls = calls, .executable = executable};
    unroll_status status = take_room(t);
    if (status != UNROLL_OK) {
        staged_free(t);
        return status;
    }
    *staged = t;
    return UNROLL_OK;
}

void staged_free(struct staged *t)
{
    if (!t)
        return;
    for (int i = 0; t->bucket && i < t->plan->ops; i++) release(t->bucket[i]);
    release(t->bucket);
    release(t->room);
    release(t->packed);
    release(t);
}
