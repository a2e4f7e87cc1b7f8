/* Recomputation: segments of time share the memory of their activations, and the forward of a segment is repeated
 * before its backward. A segment is a chunk of one traversal. The states between segments, and what another traversal
 * or rank reads, are kept. Chunks of rows share buffers that are used in one phase only; nothing is repeated for them.
 * This pass sets no offsets and is independent of kinds, except those that communicate. */
#include "base/memory.h"
#include "plan/ir/plan.h"
#include <string.h>

/* ---- how long a segment is ------------------------------------------------------------- */

unroll_status plan_set_checkpoint(struct plan_config *c, int steps)
{
    if (steps < 0 && steps != UNROLL_AUTO)
        return fail(UNROLL_USAGE,
                    "`checkpoint_time` = %d is not a number of steps; fix: use 0 (none), UNROLL_AUTO or 1 or more",
                    steps);
    c->checkpoint = steps == UNROLL_AUTO ? CHECKPOINT_AUTO : (uint32_t)steps;
    return UNROLL_OK;
}

static uint32_t root_of(uint32_t T)
{
    uint32_t root = 1;
    while ((uint64_t)root * root < T) root++;
    return root;
}

/* Segments are chunks, and so whole accumulation blocks of the sums: recomputation does not change the bits. */
unroll_status pass_segment(struct plan *p)
{
    uint32_t T = p->config.T, acc_blocks = (T + p->block_steps - 1) / p->block_steps;
    uint32_t steps = p->config.checkpoint;
    if (!steps)
        return UNROLL_OK;
    if (steps == CHECKPOINT_AUTO)
        steps = root_of(T) > p->block_steps ? root_of(T) : p->block_steps;
    if (steps < p->block_steps)
        return fail(UNROLL_UNSUPPORTED,
                    "checkpoints every %u steps are too frequent, because this device sums weight gradients over %u "
                    "steps at a time; fix: set `checkpoint_time` %u or more, or auto",
                    steps, p->block_steps, p->block_steps);
    uint32_t each = steps / p->block_steps, segments = (acc_blocks + each - 1) / each;
    if ((uint32_t)p->config.chunks < segments)
        p->config.chunks = (int)segments;
    return UNROLL_OK;
}

/* ---- which buffers segments share ------------------------------------------------------ */

/* Returns whether the operation uses exactly the steps of its own chunk. */
static bool keeps_to_chunk(const struct plan *p, const struct op *op, const struct view *v)
{
    uint32_t first, count;
    int dim = buffer_dim(&p->buffer[v->buffer], p->chunk_axis);
    plan_chunk(p, op->chunk, &first, &count);
    return v->first[dim] == first && v->count[dim] == count;
}

/* Returns whether segments can share a buffer: all its users are in one traversal, so each segment is finished before
 * the next starts. Data received from another rank is kept, because it cannot be sent again. Without recomputation all
 * users must also be in one phase. */
static bool can_shard(const struct plan *p, int buffer)
{
    int traversal = -1;
    enum phase phase = PHASE_N;
    if (p->buffer[buffer].segment != SEG_STEP || buffer_dim(&p->buffer[buffer], p->chunk_axis) < 0)
        return false;
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        for (int k = 0; op->touches >> buffer % 64 & 1 && k < op->views; k++) {
            if (op->view[k].buffer != buffer)
                continue;
            bool received = op->kind == OP_RECV && op->phase == PHASE_FORWARD;
            if (received || !keeps_to_chunk(p, op, &op->view[k]) || (traversal >= 0 && op->traversal != traversal))
                return false;
            if (!p->config.checkpoint && phase != PHASE_N && op->phase != phase)
                return false;
            traversal = op->traversal;
            phase = op->phase;
        }
    }
    return traversal >= 0;
}

static bool is_shared_view(const struct plan *p, const struct view *v)
{
    return v->buffer >= 0 && p->buffer[v->buffer].shared;
}

static bool touches_shared(const struct plan *p, const struct op *op, bool writes)
{
    for (int k = 0; k < op->views; k++)
        if (is_shared_view(p, &op->view[k]) && (!writes || access_writes(op->view[k].access)))
            return true;
    return false;
}

/* ---- repeating a forward --------------------------------------------------------------- */

/* Removes additions to sums, which were already done the first time. */
static void leave_sums(const struct plan *p, struct op *op)
{
    for (int k = 0; k < op->views; k++)
        if (op->view[k].access == ADD && p->buffer[op->view[k].buffer].segment == SEG_VALUES)
            op->view[k] = view_none();
}

/* Repeats the forward of the reader's segment, as far as it writes shared buffers. */
static unroll_status push_again(struct plan *p, const struct op *list, const struct op *reader)
{
    for (; list->phase == PHASE_FORWARD; list++) {
        if (list->traversal != reader->traversal || list->chunk != reader->chunk || !touches_shared(p, list, true))
            continue;
        struct op op = *list;
        op.phase = PHASE_BACKWARD;
        leave_sums(p, &op);
        TRY(plan_push(p, &op));
    }
    return UNROLL_OK;
}

/* The memory of a traversal holds the segment that used it last. If backward needs another one, that segment's forward
 * is repeated first. The last segment of forward is still there. */
static unroll_status write_list(struct plan *p, const struct op *list, int count)
{
    int held[TRAVERSALS_MAX];
    memset(held, 0xff, sizeof held); /* -1: none */
    for (int i = 0; i < count; i++) {
        const struct op *op = &list[i];
        if (touches_shared(p, op, false)) {
            if (op->phase == PHASE_BACKWARD && held[op->traversal] != op->chunk)
                TRY(push_again(p, list, op));
            held[op->traversal] = op->chunk;
        }
        TRY(plan_push(p, op));
    }
    return UNROLL_OK;
}

/* ---- memory of one segment ------------------------------------------------------------- */

static void move_views(struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            struct view *v = &p->op[i].view[k];
            if (!is_shared_view(p, v))
                continue;
            int dim = buffer_dim(&p->buffer[v->buffer], p->chunk_axis);
            v->base = v->first[dim];
            v->first[dim] = 0;
        }
}

static void shrink_buffers(struct plan *p)
{
    uint32_t longest = 0;
    for (int chunk = 0; chunk < p->config.chunks; chunk++) {
        uint32_t first, count;
        plan_chunk(p, chunk, &first, &count);
        longest = count > longest ? count : longest;
    }
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].shared)
            p->buffer[i].size[buffer_dim(&p->buffer[i], p->chunk_axis)] = longest;
}

unroll_status pass_recompute(struct plan *p)
{
    int count;
    if ((!p->config.checkpoint && p->chunk_axis == AX_T) || p->config.chunks == 1)
        return UNROLL_OK;
    for (int i = 0; i < p->buffers; i++) p->buffer[i].shared = can_shard(p, i);
    struct op *list = plan_take_list(p, &count);
    unroll_status status = write_list(p, list, count);
    release(list);
    move_views(p);
    shrink_buffers(p);
    return status;
}
