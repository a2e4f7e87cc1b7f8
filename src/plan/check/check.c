/* Checks a finished plan without executing it: memory is never read before it is written, nor reused while in use.
 * check_mesh.c checks the messages between ranks. */
#include "plan/ir/plan.h"
#include <string.h>

/* ---- memory of one rank ---------------------------------------------------------------- */

static bool shard_bytes(const struct plan *p, const struct view *a, const struct view *b)
{
    if (a->buffer < 0 || b->buffer < 0)
        return false;
    if (a->buffer == b->buffer)
        return view_overlap(a, b);
    const struct buffer *x = &p->buffer[a->buffer], *y = &p->buffer[b->buffer];
    return x->segment == y->segment && x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static const struct view *clash(const struct plan *p, const struct op *a, const struct op *b)
{
    for (int i = 0; i < a->views; i++)
        for (int k = 0; k < b->views; k++)
            if ((access_writes(a->view[i].access) || access_writes(b->view[k].access)) &&
                shard_bytes(p, &a->view[i], &b->view[k]))
                return &a->view[i];
    return NULL;
}

/* Checks that operations without an order do not write the same part of a buffer. */
static unroll_status check_races(const struct plan *p, const struct before *order)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = i + 1; k < p->ops; k++) {
            if (before(order, i, k))
                continue;
            const struct view *v = clash(p, &p->op[i], &p->op[k]);
            char one[96], other[96];
            if (v)
                return fail(UNROLL_FAILURE,
                            "the plan lets '%s' (queue %d) and '%s' (queue %d) use '%s' at once; fix: " REPORT_BUG,
                            op_label(p, &p->op[i], one, sizeof one), p->op[i].queue,
                            op_label(p, &p->op[k], other, sizeof other), p->op[k].queue, p->buffer[v->buffer].name);
        }
    return UNROLL_OK;
}

enum found { NOT_WRITTEN, OTHER_SEGMENT, WRITTEN };

/* Returns what the last operation that wrote part of this view left there. Segments of time may share the memory. */
static enum found find_written(const struct plan *p, int before, const struct view *v)
{
    for (int i = before; i-- > 0;)
        for (int k = 0; p->op[i].touches >> v->buffer % 64 & 1 && k < p->op[i].views; k++) {
            const struct view *w = &p->op[i].view[k];
            if (access_writes(w->access) && view_overlap(w, v))
                return w->base == v->base ? WRITTEN : OTHER_SEGMENT;
        }
    return NOT_WRITTEN;
}

/* Checks that activations are written before they are read. */
static unroll_status check_reads(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            if (!access_reads(v->access) || p->buffer[v->buffer].segment != SEG_STEP)
                continue;
            enum found found = find_written(p, i, v);
            char label[96];
            if (found != WRITTEN)
                return fail(UNROLL_FAILURE, "the plan lets '%s' read '%s' %s; fix: " REPORT_BUG,
                            op_label(p, &p->op[i], label, sizeof label), p->buffer[v->buffer].name,
                            found == NOT_WRITTEN ? "before it is written" : "when it contains another segment of time");
        }
    return UNROLL_OK;
}

/* Checks that all views are within their buffers, and buffers within their segments. */
static unroll_status check_bounds(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            const struct buffer *b = v->buffer < 0 ? NULL : &p->buffer[v->buffer];
            for (int d = 0; b && d < b->rank; d++)
                if (!v->count[d] || v->first[d] + v->count[d] > b->size[d])
                    return fail(UNROLL_FAILURE, "a view of '%s' is empty or extends past its end; fix: " REPORT_BUG,
                                b->name);
            if (b && b->offset + b->bytes > p->segment_bytes[b->segment])
                return fail(UNROLL_FAILURE, "'%s' is outside its segment; fix: " REPORT_BUG, b->name);
        }
    return UNROLL_OK;
}

/* ---- sums under way -------------------------------------------------------------------- */

static bool is_end_of(const struct op *begin, const struct op *end)
{
    return end->kind == OP_SUM_END && end->tag == begin->tag && end->group == begin->group &&
           !memcmp(&end->view[COMM_X], &begin->view[COMM_X], sizeof *end->view);
}

/* Checks that a sum ends, and that no operation uses its buffers before. */
static unroll_status check_sum(const struct plan *p, int begin)
{
    char one[96], other[96];
    for (int i = begin + 1; i < p->ops; i++) {
        const struct view *v = is_end_of(&p->op[begin], &p->op[i]) ? NULL : clash(p, &p->op[begin], &p->op[i]);
        if (v)
            return fail(UNROLL_FAILURE, "the plan lets '%s' use '%s' while '%s' is in progress; fix: " REPORT_BUG,
                        op_label(p, &p->op[i], one, sizeof one), p->buffer[v->buffer].name,
                        op_label(p, &p->op[begin], other, sizeof other));
        if (is_end_of(&p->op[begin], &p->op[i]))
            return UNROLL_OK;
    }
    return fail(UNROLL_FAILURE, "the plan never ends '%s'; fix: " REPORT_BUG,
                op_label(p, &p->op[begin], one, sizeof one));
}

/* Finds the bytes of a view in its segment. */
static void find_bytes(const struct plan *p, const struct view *v, uint64_t *begin, uint64_t *end)
{
    const struct buffer *b = &p->buffer[v->buffer];
    uint64_t step = dtype_size(b->dtype);
    *begin = *end = b->offset;
    for (int i = b->rank; i-- > 0; step *= b->size[i]) {
        *begin += step * v->first[i];
        *end += step * (v->first[i] + v->count[i] - 1);
    }
    *end += dtype_size(b->dtype);
}

/* Checks that all views of one message form a range of memory, apart from alignment gaps, which contain zeros. */
static unroll_status check_bucket(const struct plan *p, const struct op *op)
{
    uint64_t begin, end, next;
    find_bytes(p, &op->view[COMM_X], &begin, &end);
    for (int k = 1; k < op->views; k++, end = next) {
        const struct buffer *a = &p->buffer[op->view[k - 1].buffer], *b = &p->buffer[op->view[k].buffer];
        find_bytes(p, &op->view[k], &begin, &next);
        if (a->segment != b->segment || a->dtype != b->dtype || begin < end || begin - end >= 64)
            return fail(UNROLL_FAILURE, "'%s' and '%s' are summed together, but are not adjacent; fix: " REPORT_BUG,
                        a->name, b->name);
    }
    return UNROLL_OK;
}

/* Checks that each sum that begins ends, and the reverse, on the queue of communication. */
static unroll_status check_sums(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        int begin = i;
        char label[96];
        if (op->phase == PHASE_SUM && op->queue)
            return fail(UNROLL_FAILURE,
                        "'%s' is on queue %d, but sums must be on the communication queue; fix: " REPORT_BUG,
                        op_label(p, op, label, sizeof label), op->queue);
        if (op->kind == OP_SUM_BEGIN) {
            TRY(check_bucket(p, op));
            TRY(check_sum(p, i));
        }
        while (op->kind == OP_SUM_END && begin > 0 &&
               !(p->op[begin].kind == OP_SUM_BEGIN && is_end_of(&p->op[begin], op)))
            begin--;
        if (op->kind == OP_SUM_END && p->op[begin].kind != OP_SUM_BEGIN)
            return fail(UNROLL_FAILURE, "the plan ends '%s' without starting it; fix: " REPORT_BUG,
                        op_label(p, op, label, sizeof label));
    }
    return UNROLL_OK;
}

unroll_status pass_check(const struct plan *p)
{
    struct before *order;
    TRY(check_bounds(p));
    TRY(check_reads(p));
    TRY(check_sums(p));
    TRY(before_new(p, &order));
    unroll_status status = p->config.queues > 1 ? check_races(p, order) : UNROLL_OK; /* one queue has only one order */
    before_free(order);
    return status;
}
