/* Cuts the forward list: batch, hidden and time by one function that looks up each kind's role of the axis; layers by
 * another one that sends what crosses stages. The backward of a cut list is derived later (adjoint.c), so each strategy
 * is implemented only here. */
#include "plan/ir/plan.h"
#include "base/memory.h"
#include "plan/passes/rates.h"
#include <float.h>
#include <string.h>

static const char *const mesh_names[M_N] = {"batch", "time", "layer", "hidden"};

static unroll_status refuse_cut(const struct plan *p, const struct op *op, enum mesh m, const char *why)
{
    char label[96];
    return fail(UNROLL_UNSUPPORTED, "the cut %s=%d is not possible: operation '%s' %s; fix: choose another `split`",
                mesh_names[m], p->config.mesh[m], op_label(p, op, label, sizeof label), why);
}

static bool touches(const struct plan *p, const struct op *op, enum axis axis)
{
    for (int i = 0; i < op->views; i++)
        if (op->view[i].buffer >= 0 && buffer_dim(&p->buffer[op->view[i].buffer], axis) >= 0)
            return true;
    return false;
}

/* ---- batch, hidden, time --------------------------------------------------------------- */

/* Checks that all operations allow the cut, and gives recurrences their group. */
static unroll_status ask_roles(struct plan *p, enum axis axis, enum mesh m)
{
    for (int i = 0; i < p->ops; i++) {
        struct op *op = &p->op[i];
        const struct op_kind_info *info = kind_info(op->kind);
        if (!touches(p, op, axis))
            continue;
        switch (info->role[axis == AX_T ? 0 : axis == AX_B ? 1 : 2]) {
        case ENTIRE: return refuse_cut(p, op, m, "needs the whole axis in one place");
        case CARRIED:
            if (!(info->inside >> m & 1))
                return refuse_cut(p, op, m,
                                  "passes its state from step to step and cannot exchange it along this axis; cut time "
                                  "into chunks instead (`chunks`)");
            if (m == M_HIDDEN && op->kind == OP_RNN && op->view[RNN_PROJ].buffer >= 0 && p->config.exact)
                return refuse_cut(
                    p, op, m,
                    "projects its output, a sum over all units that ranks add in a different order, which "
                    "is not exact; cut batch or layers, or leave out exact");
            op->group = plan_group(p, 1u << m);
            if (op->group < 0)
                return UNROLL_RESOURCE;
            op->tag = plan_tag(p->buffer[op->view[RNN_G].buffer].name, 0, 0);
            break;
        case ABSENT:
        case FREE:
        case SUMMED: break;
        }
    }
    return UNROLL_OK;
}

/* Returns this rank's part of an axis. Rows of the batch are divided at shard boundaries, so that a shard is summed on
 * one rank; steps are divided at those of accumulation blocks. */
static void own_shard(const struct plan *p, enum axis axis, enum mesh m, uint32_t size, uint32_t *first,
                      uint32_t *count)
{
    int n = p->config.mesh[m], at = p->config.at[m];
    uint32_t shards = p->config.shards;
    if (axis == AX_B && shards == 1 && p->config.rate) {
        double rate[RANKS_MAX];
        for (int i = 0; i < n; i++) rate[i] = rate_along(&p->config, m, i);
        rates_divide(size, n, at, rate, first, count);
        return;
    }
    if (axis != AX_B || shards == 1) {
        shard_range(size, n, at, axis == AX_T ? p->block_steps : 1, first, count);
        return;
    }
    uint32_t own, owned, end, end_count;
    shard_range(shards, n, at, 1, &own, &owned);
    shard_range(size, (int)shards, (int)own, 1, first, count);
    if (!owned)
        *count = 0;
    if (!*count)
        return;
    shard_range(size, (int)shards, (int)(own + owned) - 1, 1, &end, &end_count);
    *count = end + end_count - *first;
}

/* Reduces a buffer to this rank's share of the axis. */
static unroll_status cut_buffer(struct plan *p, struct buffer *b, enum axis axis, enum mesh m)
{
    int dim = buffer_dim(b, axis);
    if (dim < 0)
        return UNROLL_OK;
    uint32_t first, count;
    own_shard(p, axis, m, b->size[dim], &first, &count);
    if (!count && axis == AX_B && p->config.shards > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut %s=%d is not possible: a batch of %u rows is summed as %u shards, which cannot be "
                    "divided further; fix: use fewer ranks along this axis, or more shards (`exact`)",
                    mesh_names[m], p->config.mesh[m], p->config.B, p->config.shards);
    if (!count)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut %s=%d is not possible: '%s' has only size %u along this axis; fix: use fewer ranks "
                    "along this axis",
                    mesh_names[m], p->config.mesh[m], b->name, b->size[dim]);
    b->origin[dim] += first;
    b->size[dim] = count;
    b->state[m] = SPLIT;
    return UNROLL_OK;
}

static void fit_views(struct plan *p, enum axis axis)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            struct view *v = &p->op[i].view[k];
            int dim = v->buffer < 0 ? -1 : buffer_dim(&p->buffer[v->buffer], axis);
            if (dim >= 0)
                v->count[dim] = p->buffer[v->buffer].size[dim];
        }
}

unroll_status pass_cut_axis(struct plan *p, enum axis axis, enum mesh m)
{
    int n = p->config.mesh[m];
    if (n == 1)
        return UNROLL_OK;
    if (m == M_HIDDEN && p->config.exact && !p->config.traits.operands && p->config.mode >= MODE_TRAIN)
        return fail(UNROLL_UNSUPPORTED,
                    "hidden=%d with exact requires a device that packs weights; fix: use the device cpu", n);
    TRY(ask_roles(p, axis, m));
    for (int i = 0; i < p->buffers; i++) TRY(cut_buffer(p, &p->buffer[i], axis, m));
    fit_views(p, axis);
    if (axis == AX_B)
        own_shard(p, axis, m, p->config.B, &p->first_row, &p->rows);
    if (axis == AX_T)
        own_shard(p, axis, m, p->config.T, &p->first_step, &p->steps);
    if (axis == AX_B && p->config.shards > 1)
        for (int i = 0; i < p->buffers; i++) TRY(cut_buffer(p, &p->buffer[i], AX_S, m));
    return UNROLL_OK;
}

/* ---- layers ---------------------------------------------------------------------------- */

/* Finds contiguous stages whose slowest one is as fast as possible: FLOPs divided by the rate of the stage's slowest
 * rank. The embedding belongs to the first layer; the head counts as a layer. Runs on the whole list, so that all ranks
 * agree. */
unroll_status pass_partition(struct plan *p)
{
    int stages = p->config.mesh[M_LAYER];
    int last = p->model->layers;
    double cost[DEPTHS] = {0}, best[2][DEPTHS]; /* of the layers up to here in n stages, and in n - 1 */
    unsigned char cut[DEPTHS][DEPTHS];
    if (stages > last)
        return fail(UNROLL_UNSUPPORTED,
                    "layer=%d is more than the %d layers of the model, including the head; fix: use at most layer=%d",
                    stages, last, last);
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        double (*flops)(const struct plan *, const struct op *) = kind_info(op->kind)->flops;
        cost[op->depth ? op->depth : 1] += flops ? flops(p, op) : 0;
    }
    for (int n = 0; n <= stages; n++) {
        const double rate = n ? rate_along(&p->config, M_LAYER, n - 1) : 1;
        for (int end = 0; end <= last; end++) {
            double *now = best[n % 2], *before = best[(n + 1) % 2], tail = 0;
            now[end] = n == 0 && end == 0 ? 0 : DBL_MAX;
            for (int begin = end; n > 0 && begin > 0; begin--) {
                tail += cost[begin] / rate;
                double worst = before[begin - 1] > tail ? before[begin - 1] : tail;
                if (worst < now[end]) {
                    now[end] = worst;
                    cut[end][n] = (unsigned char)begin;
                }
            }
        }
    }
    for (int n = stages, end = last; n > 0; end = cut[end][n] - 1, n--)
        for (int depth = cut[end][n]; depth <= end; depth++) p->stage_of[depth] = n - 1;
    p->stage_of[0] = 0;
    return UNROLL_OK;
}

static void find_owners(struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            int buffer = p->op[i].view[k].buffer;
            if (buffer >= 0 && p->buffer[buffer].copy_of >= 0)
                buffer = p->buffer[buffer].copy_of;
            if (buffer >= 0 && p->buffer[buffer].segment == SEG_PARAM)
                p->buffer[buffer].owners |= 1ull << p->stage_of[p->op[i].depth];
        }
}

/* Returns the stage that produced what a view of an activation reads; -1: none. */
static int producer_stage(const struct plan *p, const struct op *list, int end, const struct view *v)
{
    if (v->buffer < 0 || p->buffer[v->buffer].segment != SEG_STEP)
        return -1;
    for (int i = end; i-- > 0;)
        if (op_writes(&list[i], v))
            return p->stage_of[list[i].depth];
    return -1;
}

static bool arrived(const struct op *messages, int count, const struct view *v, int stage)
{
    for (int i = 0; i < count; i++)
        if (messages[i].depth == stage && !memcmp(messages[i].view[COMM_X].first, v->first, sizeof v->first) &&
            messages[i].view[COMM_X].buffer == v->buffer)
            return true;
    return false;
}

/* Adds one message. Both ends call this in the same order of the uncut list, and each keeps its own end. */
static unroll_status push_message(struct plan *p, const struct op *reader, const struct view *v, int from, int to)
{
    int here = p->config.at[M_LAYER];
    if (here != from && here != to)
        return UNROLL_OK;
    bool sends = here == from;
    struct op op = op_new(sends ? OP_SEND : OP_RECV, PHASE_FORWARD, reader->depth);
    int at[M_N];
    memcpy(at, p->config.at, sizeof at);
    at[M_LAYER] = sends ? to : from;
    op.peer = plan_rank_at(p, at);
    op.chunk = reader->chunk;
    op.traversal = reader->traversal;
    op.tag = plan_tag(p->buffer[v->buffer].name, reader->chunk, to);
    op.view[COMM_X] = *v;
    op.view[COMM_X].access = sends ? READ : WRITE;
    return plan_push(p, &op);
}

/* Adds the operations of this rank's stage, and messages for views that another stage writes. */
static unroll_status divide_list(struct plan *p, const struct op *list, int count, struct op *messages)
{
    int sent = 0;
    for (int i = 0; i < count; i++) {
        int stage = p->stage_of[list[i].depth];
        for (int k = 0; k < list[i].views; k++) {
            const struct view *v = &list[i].view[k];
            if (!access_reads(v->access))
                continue;
            int from = producer_stage(p, list, i, v);
            if (from < 0 || from == stage || arrived(messages, sent, v, stage))
                continue;
            messages[sent].depth = stage;
            messages[sent++].view[COMM_X] = *v;
            TRY(push_message(p, &list[i], v, from, stage));
        }
        if (stage == p->config.at[M_LAYER])
            TRY(plan_push(p, &list[i]));
    }
    return UNROLL_OK;
}

unroll_status pass_cut_layer(struct plan *p)
{
    find_owners(p);
    if (p->config.mesh[M_LAYER] == 1)
        return UNROLL_OK;
    int count;
    struct op *list = plan_take_list(p, &count);
    struct op *messages = allocate_zeroed((size_t)count * 2, sizeof *messages);
    unroll_status status = messages ? divide_list(p, list, count, messages)
                                    : fail(UNROLL_RESOURCE, "no memory to cut %d operations into stages", count);
    release(messages);
    release(list);
    return status;
}
