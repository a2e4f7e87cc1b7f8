/* Divides time, or the rows of the batch, into chunks on one rank: each operation becomes one per chunk. States pass
 * between chunks of time through their own buffers, and these chunks are whole accumulation blocks. With chunks of
 * rows, sums run once after the last one. No sum's order depends on chunks. */
#include "base/memory.h"
#include "plan/ir/plan.h"
#include <math.h>
#include <stdio.h>

/* Returns the buffer that passes a state from the n-th chunk in order of execution to the next. */
static int handover(struct plan *p, const struct view *leaving, int n)
{
    char name[sizeof p->buffer->name + 16];
    snprintf(name, sizeof name, "%s.%d", p->buffer[leaving->buffer].name, n);
    int found = plan_find_buffer(p, name);
    if (found >= 0)
        return found;
    int made = plan_add_like(p, name, SEG_STEP, leaving->buffer);
    if (made >= 0)
        p->buffer[made].wants_gradient = p->buffer[leaving->buffer].wants_gradient;
    return made;
}

/* n: the chunk's position in this operation's order of execution. */
static unroll_status hand_over(struct plan *p, struct op *op, int n, int chunks)
{
    const struct carried *carried = kind_info(op->kind)->carried;
    for (int i = 0; i < 2; i++) {
        struct view *in = &op->view[carried[i].in], *out = &op->view[carried[i].out];
        if (carried[i].in == carried[i].out || out->buffer < 0)
            continue;
        struct view leaving = *out;
        if (n > 0)
            in->buffer = handover(p, &leaving, n - 1);
        if (n + 1 < chunks)
            out->buffer = handover(p, &leaving, n);
        if (in->buffer < 0 || out->buffer < 0)
            return UNROLL_RESOURCE;
    }
    return UNROLL_OK;
}

/* Results over all steps are started by the first chunk of time and updated by the others. */
static void go_on(const struct plan *p, struct op *op)
{
    for (int i = 0; i < op->views; i++)
        if (op->view[i].access == WRITE && buffer_dim(&p->buffer[op->view[i].buffer], AX_ONE) >= 0)
            op->view[i].access = UPDATE;
}

/* Adds the part of an operation that belongs to the n-th chunk. */
static unroll_status push_chunk(struct plan *p, const struct op *whole, int n, int traversal)
{
    int chunks = p->config.chunks;
    struct op op = *whole;
    op.chunk = whole->direction && p->chunk_axis == AX_T ? chunks - 1 - n : n;
    op.traversal = traversal;
    uint32_t first, count;
    plan_chunk(p, op.chunk, &first, &count);
    for (int i = 0; i < op.views; i++)
        if (op.view[i].buffer >= 0 && p->buffer[op.view[i].buffer].segment != SEG_SCRATCH)
            view_narrow(p, &op.view[i], p->chunk_axis, first, count);
    if (op.group >= 0)
        op.tag = plan_tag(p->buffer[op.view[RNN_G].buffer].name, op.chunk, 0);
    if (p->chunk_axis == AX_T)
        TRY(hand_over(p, &op, n, chunks));
    if (p->chunk_axis == AX_T && n > 0)
        go_on(p, &op);
    return plan_push(p, &op);
}

/* Returns whether the operation is divided into chunks. After a pool it has no steps and runs once, after all chunks of
 * its inputs; so does one that needs all steps at once. */
static bool is_divided(const struct plan *p, const struct op *op)
{
    const struct op_kind_info *info = kind_info(op->kind);
    if (p->chunk_axis == AX_T && info->role[0] == ENTIRE && !info->continues)
        return false;
    for (int i = 0; i < op->views; i++)
        if (op->view[i].buffer >= 0 && buffer_dim(&p->buffer[op->view[i].buffer], p->chunk_axis) >= 0)
            return true;
    return false;
}

static unroll_status push_once(struct plan *p, const struct op *whole, int traversal)
{
    struct op op = *whole;
    op.traversal = traversal;
    return plan_push(p, &op);
}

/* Returns the end of a block of operations that alternate chunk by chunk. If the direction changes, all chunks of time
 * of the first direction must end before the other starts: the barrier of a bidirectional layer. */
static int block_end(const struct plan *p, const struct op *list, int count, int begin)
{
    int end = begin;
    const bool divided = is_divided(p, &list[begin]);
    while (end < count && (p->chunk_axis == AX_B || list[end].direction == list[begin].direction) &&
           is_divided(p, &list[end]) == divided)
        end++;
    return end;
}

static unroll_status chunk_list(struct plan *p, const struct op *list, int count)
{
    for (int begin = 0, traversal = 0; begin < count; traversal++) {
        int end = block_end(p, list, count, begin);
        for (int n = 0; n < p->config.chunks && is_divided(p, &list[begin]); n++)
            for (int i = begin; i < end; i++) TRY(push_chunk(p, &list[i], n, traversal));
        for (int i = begin; i < end && !is_divided(p, &list[begin]); i++) TRY(push_once(p, &list[i], traversal));
        begin = end;
    }
    return UNROLL_OK;
}

/* Stages of a layer cut would wait for each other at that barrier; they use chunks of rows with all their steps
 * instead. Checkpoints are segments of time and keep the barrier. */
static enum axis choose_axis(const struct plan *p)
{
    bool turns = false;
    for (int i = 0; i < p->ops; i++) turns |= p->op[i].direction != 0;
    return turns && p->config.mesh[M_LAYER] > 1 && !p->config.checkpoint ? AX_B : AX_T;
}

/* ---- how many -------------------------------------------------------------------------- */

/* Returns the bytes of a recurrent layer's sums, for all steps of a rank's rows. Returns 0 if its weights, which each
 * chunk reads again, use a large part of the near cache. */
static double bytes_of_sums(const struct plan *p, const struct layer *l)
{
    if (!l->cell)
        return 0;
    double sums = (double)l->cell->inputs * l->hidden, real = (double)dtype_size(p->config.real);
    double weights = sums * ((double)l->input + l->width) * real;
    double rows = ceil((double)p->config.B / p->config.mesh[M_BATCH]);
    return weights > p->config.traits.near / 2 ? 0 : p->config.T * rows * sums * real;
}

/* Returns whether this is far more than the caches hold. */
bool plan_exceeds_cache(const struct plan *p, double bytes)
{
    enum { FAR = 8 };
    return p->config.traits.near && bytes > (double)FAR * p->config.traits.near;
}

/* A training passes over the sums of a layer eight times, operation by operation. If they far exceed the caches, chunks
 * that stay in cache are faster: by 10% with few units and inputs, by 1% with many. Not used with chunks of rows,
 * checkpoints or layer cuts, which set the number themselves. */
void pass_fit_cache(struct plan *p)
{
    const struct plan_config *c = &p->config;
    double max = 0;
    if (c->chunks)
        return;
    for (int i = 0; i < p->model->layers; i++) max = fmax(max, bytes_of_sums(p, &p->model->layer[i]));
    uint32_t acc_blocks = (c->T + p->block_steps - 1) / p->block_steps;
    bool wanted = plan_exceeds_cache(p, max) && c->mode >= MODE_TRAIN && !c->checkpoint && c->mesh[M_LAYER] == 1 &&
                  c->mesh[M_HIDDEN] == 1 && !c->traits_of;
    double chunks = wanted ? ceil(max / c->traits.near) : 1;
    p->config.chunks = chunks < acc_blocks ? (int)chunks : (int)acc_blocks;
}

/* ---- the cut --------------------------------------------------------------------------- */

unroll_status pass_chunk(struct plan *p)
{
    uint32_t acc_blocks = (p->config.T + p->block_steps - 1) / p->block_steps;
    p->chunk_axis = choose_axis(p);
    if (p->config.chunks == 1)
        return UNROLL_OK;
    if (p->chunk_axis == AX_B && (uint32_t)p->config.chunks > p->rows)
        return fail(UNROLL_UNSUPPORTED,
                    "%d chunks of %u rows: a pipeline with bidirectional layers divides the rows of the batch; fix: "
                    "use at most one chunk per row of a rank",
                    p->config.chunks, p->rows);
    if (p->chunk_axis == AX_T && (uint32_t)p->config.chunks > acc_blocks)
        return fail(UNROLL_UNSUPPORTED, "%d chunks of %u steps: at most %u are possible; fix: use fewer `chunks`",
                    p->config.chunks, p->config.T, acc_blocks);
    int count;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = chunk_list(p, list, count);
    release(list);
    return status;
}

/* ---- sums over chunks of rows ---------------------------------------------------------- */

/* Returns whether the operation sums over rows into a gradient without rows. */
static bool sums_rows(const struct plan *p, const struct op *op)
{
    for (int k = 0; k < op->views; k++)
        if (op->view[k].access == ADD && p->buffer[op->view[k].buffer].segment == SEG_GRAD)
            return op->phase == PHASE_BACKWARD && kind_info(op->kind)->role[1] == SUMMED;
    return false;
}

/* Runs the sums over rows once, for the rows of all chunks and after all other work. They are then in serial order, and
 * the previous stage does not wait for them. */
static unroll_status merge_reductions(struct plan *p, const struct op *list, int count)
{
    for (int i = 0; i < count; i++)
        if (!sums_rows(p, &list[i]))
            TRY(plan_push(p, &list[i]));
    for (int i = 0; i < count; i++) {
        if (!sums_rows(p, &list[i]) || list[i].chunk != 0)
            continue;
        struct op op = list[i];
        for (int k = 0; k < op.views; k++)
            if (op.view[k].buffer >= 0)
                view_narrow(p, &op.view[k], AX_B, 0, p->rows);
        TRY(plan_push(p, &op));
    }
    return UNROLL_OK;
}

unroll_status pass_merge_reductions(struct plan *p)
{
    int count;
    if (p->chunk_axis != AX_B || p->config.chunks == 1)
        return UNROLL_OK;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = merge_reductions(p, list, count);
    release(list);
    return status;
}
