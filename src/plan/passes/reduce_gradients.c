/* Adds what must be summed: gradients of activations that a cut left partial (before their reader), gradients of
 * weights over shards and ranks, and their norm; then the update, the packed copies and the states carried to the next
 * run. One rule serves all strategies: a partial value must become whole. */
#include "base/memory.h"
#include "plan/passes/reduce_gradients.h"
#include <stdio.h>
#include <string.h>

/* ---- partial gradients of activations -------------------------------------------------- */

/* Returns whether this operation sums over a mesh axis that divides its operands. */
static bool sums_over(const struct plan *p, const struct op *op, enum mesh m, int role)
{
    if (kind_info(op->kind)->role[role] != SUMMED)
        return false;
    for (int k = 0; k < op->views; k++) {
        const struct view *v = &op->view[k];
        if (access_reads(v->access) && v->access != ADD && p->buffer[v->buffer].state[m] == SPLIT)
            return true;
    }
    return false;
}

/* Marks the buffers that hold only this rank's part of a sum over a cut axis. */
static unroll_status mark(struct plan *p, enum mesh m, enum axis axis, int role)
{
    if ((m == M_BATCH ? plan_batch_ranks(p) : p->config.mesh[m]) == 1)
        return UNROLL_OK;
    for (int i = 0; i < p->ops; i++) {
        if (p->op[i].phase != PHASE_BACKWARD)
            continue;
        bool sums = sums_over(p, &p->op[i], m, role);
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            if (!access_writes(v->access) || buffer_dim(&p->buffer[v->buffer], axis) >= 0)
                continue;
            struct buffer *b = &p->buffer[v->buffer];
            if (v->access == ADD && b->segment != SEG_GRAD && sums != (b->state[m] == PARTIAL))
                return fail(UNROLL_UNSUPPORTED, "'%s' receives both partial and complete sums; fix: " REPORT_BUG,
                            b->name);
            if (sums)
                b->state[m] = PARTIAL;
        }
    }
    return UNROLL_OK;
}

unsigned partial_axes(const struct buffer *b)
{
    unsigned axes = 0;
    for (int m = 0; m < M_N; m++) axes |= (unsigned)(b->state[m] == PARTIAL) << m;
    return axes;
}

/* Returns the number of sums of one buffer so far: parts of it may be read in several places. */
static int sums_of(const struct plan *p, int buffer, int chunk)
{
    int count = 0;
    for (int i = 0; i < p->ops; i++)
        count += p->op[i].kind == OP_ALL_REDUCE && p->op[i].view[COMM_X].buffer == buffer && p->op[i].chunk == chunk;
    return count;
}

static unroll_status push_all_reduce(struct plan *p, enum phase phase, int group, struct view v, const struct op *about)
{
    if (group < 0)
        return UNROLL_RESOURCE;
    struct op op = op_new(OP_ALL_REDUCE, phase, about ? about->depth : 0);
    op.chunk = about ? about->chunk : 0;
    op.traversal = about ? about->traversal : 0;
    op.group = group;
    v.access = UPDATE;
    op.view[COMM_X] = v;
    op.tag =
        plan_tag(p->buffer[v.buffer].name, op.chunk,
                 p->group[group].rank[p->group[group].size - 1] + RANKS_MAX * (1 + sums_of(p, v.buffer, op.chunk)));
    return plan_push(p, &op);
}

static bool settled_before(const struct plan *p, const struct view *v)
{
    for (int i = p->ops; i-- > 0;)
        if ((p->op[i].kind == OP_ALL_REDUCE || p->op[i].kind == OP_ALL_GATHER) &&
            view_overlap(&p->op[i].view[COMM_X], v))
            return true;
    return false;
}

/* Adds an all_gather of an axis of the view between the ranks of a hidden cut; the view has the whole axis. */
static unroll_status push_all_gather(struct plan *p, enum phase phase, struct view v, int axis, const struct op *about)
{
    struct op op = op_new(OP_ALL_GATHER, phase, about ? about->depth : 0);
    op.chunk = about ? about->chunk : 0;
    op.traversal = about ? about->traversal : 0;
    op.choice = axis;
    op.group = plan_group(p, 1u << M_HIDDEN);
    if (op.group < 0)
        return UNROLL_RESOURCE;
    v.access = UPDATE;
    v.first[axis] = 0;
    v.count[axis] = p->buffer[v.buffer].size[axis];
    op.view[COMM_X] = v;
    op.tag = plan_tag(p->buffer[v.buffer].name, op.chunk, p->group[op.group].rank[p->group[op.group].size - 1]);
    return plan_push(p, &op);
}

/* Adds operations that assemble what a hidden cut divides in scratch: [.., U, ..] of all ranks. */
static unroll_status push_whole(struct plan *p, enum phase phase, struct view own, int *whole)
{
    const struct buffer b = p->buffer[own.buffer];
    char name[sizeof b.name + 8];
    struct op op = op_new(OP_COPY, phase, 0);
    int unit = buffer_dim(&b, AX_U);
    snprintf(name, sizeof name, "all.%s", b.name);
    *whole = plan_find_buffer(p, name);
    if (*whole < 0)
        *whole = plan_add_buffer(p, name, b.dtype, SEG_SCRATCH, b.rank, b.axis, b.whole);
    if (*whole < 0)
        return UNROLL_RESOURCE;
    for (int i = 0; i < b.rank; i++) p->buffer[*whole].size[i] = i == unit ? b.whole[i] : own.count[i];
    op.view[COPY_FROM] = own;
    op.view[COPY_FROM].access = READ;
    op.view[COPY_TO] = view_of(p, *whole, WRITE);
    op.view[COPY_TO].first[unit] = b.origin[unit];
    op.view[COPY_TO].count[unit] = b.size[unit];
    TRY(plan_push(p, &op));
    return push_all_gather(p, phase, view_of(p, *whole, UPDATE), unit, NULL);
}

/* Adds sums over ranks before the first reader of a partial activation gradient. */
static unroll_status settle(struct plan *p, const struct op *list, int count)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < list[i].views; k++) {
            const struct view *v = &list[i].view[k];
            if (v->buffer < 0 || p->buffer[v->buffer].segment != SEG_STEP || (v->access != READ && v->access != UPDATE))
                continue;
            unsigned axes = partial_axes(&p->buffer[v->buffer]);
            if (axes && !settled_before(p, v))
                TRY(push_all_reduce(p, list[i].phase, plan_group(p, axes), *v, &list[i]));
            if (p->buffer[v->buffer].in_shards && list[i].phase == PHASE_BACKWARD && !settled_before(p, v))
                TRY(push_all_gather(p, list[i].phase, *v, p->buffer[v->buffer].rank - 1, &list[i]));
        }
        TRY(plan_push(p, &list[i]));
    }
    return UNROLL_OK;
}

/* Checks that one stage computes the gradient of the inputs; parts on several stages would never be summed. */
static unroll_status check_readers_of_input(const struct plan *p)
{
    int stage = -1;
    for (int i = 0; i < p->model->layers; i++)
        for (int k = 0; k < p->model->layer[i].sources; k++) {
            int here = p->stage_of[i + 1];
            if (p->model->layer[i].source[k] != SOURCE_INPUT)
                continue;
            if (stage >= 0 && stage != here)
                return fail(UNROLL_UNSUPPORTED,
                            "gradients of the inputs (input_gradient) with layer=%d: layers in several stages read "
                            "the inputs; fix: cut only batch or hidden",
                            p->config.mesh[M_LAYER]);
            stage = here;
        }
    return UNROLL_OK;
}

/* Completes the gradient of the inputs, which only the host reads, on all ranks; some stages do not compute it. */
static unroll_status settle_input(struct plan *p)
{
    int x = plan_find_buffer(p, "x");
    if (!p->config.input_gradient || x < 0)
        return UNROLL_OK;
    TRY(check_readers_of_input(p));
    int gradient = plan_gradient(p, x);
    if (gradient < 0)
        return UNROLL_RESOURCE;
    if (!is_written(p, gradient))
        return UNROLL_OK;
    struct view all = view_of(p, gradient, UPDATE);
    unsigned axes = partial_axes(&p->buffer[gradient]);
    if (p->buffer[gradient].in_shards)
        return push_all_gather(p, PHASE_BACKWARD, all, p->buffer[gradient].rank - 1, NULL);
    return axes ? push_all_reduce(p, PHASE_BACKWARD, plan_group(p, axes), all, NULL) : UNROLL_OK;
}

static unroll_status settle_activations(struct plan *p)
{
    TRY(mark(p, M_BATCH, AX_B, 1));
    TRY(mark(p, M_HIDDEN, AX_U, 2));
    TRY(mark(p, M_TIME, AX_T, 0));
    int count;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = settle(p, list, count);
    release(list);
    return status == UNROLL_OK ? settle_input(p) : status;
}

/* ---- gradients of weights -------------------------------------------------------------- */

static bool lives_here(const struct plan *p, const struct buffer *master)
{
    return master->owners >> p->config.at[M_LAYER] & 1;
}

struct view sum_of(const struct plan *p, int gradient, enum access access)
{
    struct view v = view_of(p, gradient, access);
    v.count[0] = 1;
    return v;
}

/* Adds the sums that buckets left: shards of which no rank holds whole subtrees were summed only over the batch. */
static unroll_status sum_rest(struct plan *p, int gradient)
{
    struct reduction reduction = reduction_of(p, gradient);
    return reduction.left
               ? push_all_reduce(p, PHASE_SUM, plan_group(p, reduction.left), sum_of(p, gradient, UPDATE), NULL)
               : UNROLL_OK;
}

/* Adds the sum of the second use to the first's, and clears it for the next step. */
static unroll_status join_uses(struct plan *p, int first, int second)
{
    struct op copy = op_new(OP_COPY, PHASE_SUM, 0), fill = op_new(OP_FILL, PHASE_SUM, 0);
    copy.view[COPY_FROM] = sum_of(p, second, READ);
    copy.view[COPY_TO] = sum_of(p, first, ADD);
    fill.view[FILL_TO] = view_of(p, second, WRITE);
    TRY(plan_push(p, &copy));
    return plan_push(p, &fill);
}

/* Returns the stages of a layer cut that use this parameter, at this rank's place on the other axes. */
static int home_group(struct plan *p, const struct buffer *master)
{
    struct group owners = {.size = 0};
    int at[M_N];
    memcpy(at, p->config.at, sizeof at);
    for (int stage = 0; stage < p->config.mesh[M_LAYER]; stage++) {
        at[M_LAYER] = stage;
        if (master->owners >> stage & 1)
            owners.rank[owners.size++] = plan_rank_at(p, at);
    }
    return plan_add_group(p, &owners);
}

/* Counts every weight once in the norm: on its first stage, and on one rank if all have the same values; on all ranks
 * that gather to keep the order of the sum. */
static bool owns_norm(const struct plan *p, const struct buffer *master)
{
    int first = __builtin_ctzll(master->owners);
    return p->config.at[M_LAYER] == first &&
           (plan_gathers(p) || master->state[M_HIDDEN] == SPLIT || p->config.at[M_HIDDEN] == 0);
}

static unroll_status push_norm(struct plan *p, int master)
{
    const struct buffer *b = &p->buffer[master];
    struct op op = op_new(OP_NORM, PHASE_SUM, 0);
    if (!plan_updates(p) || !owns_norm(p, b))
        return UNROLL_OK;
    int gradient = b->gradient, parameter = b->parameter;
    if (plan_gathers(p) && b->state[M_HIDDEN] == SPLIT)
        TRY(push_whole(p, PHASE_SUM, sum_of(p, gradient, READ), &gradient));
    op.view[NORM_GRAD] = sum_of(p, gradient, READ);
    op.view[NORM_OUT] = view_of(p, plan_find_buffer(p, "norms"), ADD);
    view_narrow(p, &op.view[NORM_OUT], AX_K, (uint32_t)parameter, 1);
    return plan_push(p, &op);
}

/* Finishes a weight after all its sums over a batch: merges its uses and sums over the stages that share it. */
static unroll_status complete(struct plan *p, int master)
{
    int first = p->buffer[master].gradient, second = p->buffer[master].second;
    bool shared = p->buffer[master].owners & (p->buffer[master].owners - 1);
    if (is_written(p, first))
        TRY(sum_rest(p, first));
    if (second >= 0 && is_written(p, second)) {
        TRY(sum_rest(p, second));
        TRY(join_uses(p, first, second));
    }
    if (shared)
        TRY(push_all_reduce(p, PHASE_SUM, home_group(p, &p->buffer[master]), sum_of(p, first, UPDATE), NULL));
    return push_norm(p, master);
}

static bool is_under_way(const struct plan *p, int gradient)
{
    int begun = 0;
    for (int i = 0; i < p->ops && gradient >= 0; i++)
        for (int k = 0; k < p->op[i].views && (p->op[i].kind == OP_SUM_BEGIN || p->op[i].kind == OP_SUM_END); k++)
            if (p->op[i].view[k].buffer == gradient)
                begun += p->op[i].kind == OP_SUM_BEGIN ? 1 : -1;
    return begun > 0;
}

/* Finishes the weights whose sums have all ended, in the model's order. done: [buffers]. */
static unroll_status complete_all(struct plan *p, bool *done)
{
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        if (done[i] || b->segment != SEG_PARAM || b->gradient < 0 || !lives_here(p, b) ||
            is_under_way(p, b->gradient) || is_under_way(p, b->second))
            continue;
        done[i] = true;
        TRY(complete(p, i));
    }
    return UNROLL_OK;
}

/* Sums end in the order of their starts; a weight is finished while other sums are in progress. */
static unroll_status end_sums(struct plan *p, bool *done)
{
    TRY(complete_all(p, done));
    for (int i = 0, begun = p->ops; i < begun; i++) {
        if (p->op[i].kind != OP_SUM_BEGIN)
            continue;
        struct op end = p->op[i];
        end.kind = OP_SUM_END;
        TRY(plan_push(p, &end));
        TRY(complete_all(p, done));
    }
    return UNROLL_OK;
}

/* Adds the sums of gradients over ranks and, for an update, their norms. */
static unroll_status sum_gradients(struct plan *p)
{
    bool updates = plan_updates(p);
    int norms = plan_find_buffer(p, "norms");
    unsigned axes = (p->config.mesh[M_LAYER] > 1 ? 1u << M_LAYER : 0) |
                    (p->config.mesh[M_HIDDEN] > 1 && !plan_gathers(p) ? 1u << M_HIDDEN : 0);
    TRY(sum_begin_all(p));
    if (updates) {
        struct op fill = op_new(OP_FILL, PHASE_SUM, 0);
        fill.view[FILL_TO] = view_of(p, norms, WRITE);
        TRY(plan_push(p, &fill));
    }
    bool *done = allocate_zeroed(2 * (size_t)p->buffers, sizeof *done); /* twice the size: gathered buffers are added on
                                                                         * the way */
    unroll_status status = done ? end_sums(p, done) : fail(UNROLL_RESOURCE, "no memory to sum %d buffers", p->buffers);
    release(done);
    if (status != UNROLL_OK || !updates || !axes)
        return status;
    return push_all_reduce(p, PHASE_SUM, plan_group(p, axes), view_of(p, norms, UPDATE), NULL);
}

/* ---- the update ------------------------------------------------------------------------ */

static struct view optimizer_state(const struct plan *p, int master, int state)
{
    char name[sizeof p->buffer->name + 16];
    snprintf(name, sizeof name, "%s.opt%d", p->buffer[master].name, state);
    return view_of(p, plan_find_buffer(p, name), UPDATE);
}

/* Adds the optimizer's step of a weight. */
static unroll_status push_update(struct plan *p, int master)
{
    struct op op = op_new(OP_UPDATE, PHASE_UPDATE, 0);
    op.choice = p->config.optimizer;
    op.view[UPDATE_W] = view_of(p, master, UPDATE);
    op.view[UPDATE_GRAD] = sum_of(p, p->buffer[master].gradient, UPDATE);
    for (int i = 0; i < p->config.optimizer_states; i++) op.view[UPDATE_STATE + i] = optimizer_state(p, master, i);
    op.view[UPDATE_RUN] = view_of(p, plan_find_buffer(p, "rates"), READ);
    op.view[UPDATE_NORM] = view_of(p, plan_find_buffer(p, "norms"), READ);
    op.view[UPDATE_WEIGHT] = view_of(p, plan_find_buffer(p, "weight_sum"), READ);
    TRY(plan_push(p, &op));
    if (p->buffer[p->buffer[master].gradient].size[0] == 1)
        return UNROLL_OK;
    struct op fill = op_new(OP_FILL, PHASE_UPDATE, 0); /* clears the shards' sums for the next step */
    fill.view[FILL_TO] = view_of(p, p->buffer[master].gradient, WRITE);
    return plan_push(p, &fill);
}

static bool is_read(const struct plan *p, int buffer)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer && p->op[i].kind != OP_PACK)
                return true;
    return false;
}

/* Returns whether an update or load packs this copy. After an update only those that this plan reads: other sessions
 * pack theirs before they run. Copies in the store exist in all plans. */
static bool is_packed_in(const struct plan *p, int copy, enum phase phase)
{
    return is_read(p, copy) || (phase == PHASE_PACK && p->buffer[copy].segment == SEG_COPY);
}

/* Adds the packing of all copies that belong in this phase. */
static unroll_status push_packs(struct plan *p, enum phase phase)
{
    for (int i = 0; i < p->buffers; i++) {
        int master = p->buffer[i].copy_of;
        if (master < 0 || !lives_here(p, &p->buffer[master]) || !is_packed_in(p, i, phase))
            continue;
        struct op op = op_new(OP_PACK, phase, 0);
        op.view[PACK_FROM] = view_of(p, master, READ);
        if (p->buffer[i].state[M_HIDDEN] != p->buffer[master].state[M_HIDDEN]) { /* some columns of all units */
            int whole, last = p->buffer[master].rank - 1;
            TRY(push_whole(p, phase, view_of(p, master, READ), &whole));
            op.view[PACK_FROM] = view_of(p, whole, READ);
            op.view[PACK_FROM].first[last] = p->buffer[i].origin[last];
            op.view[PACK_FROM].count[last] = p->buffer[i].size[last];
        }
        op.view[PACK_TO] = view_of(p, i, WRITE);
        TRY(plan_push(p, &op));
    }
    return UNROLL_OK;
}

/* Copies the final states to the next run's initial states, after all readers of the old ones. The backward direction
 * restarts in each part of a sequence. */
static unroll_status push_carry(struct plan *p)
{
    enum phase phase = p->config.mode == MODE_TRAIN ? PHASE_BACKWARD : PHASE_FORWARD;
    for (int i = 0, forward = p->ops; i < forward && p->config.stateful; i++) {
        const struct op op = p->op[i];
        static const struct {
            int out;
            const char *prefix;
        } states[] = {{RNN_HN, "h0"}, {RNN_SN, "s0"}};
        if (op.kind != OP_RNN || op.direction)
            continue;
        for (int k = 0; k < 2; k++) {
            int out = op.view[states[k].out].buffer;
            if (out < 0 || p->buffer[out].segment != SEG_IO)
                continue;
            char name[32];
            snprintf(name, sizeof name, "%s.l%d", states[k].prefix, op.depth - 1);
            struct op copy = op_new(OP_COPY, phase, op.depth);
            copy.view[COPY_FROM] = op.view[states[k].out];
            copy.view[COPY_FROM].access = READ;
            copy.view[COPY_TO] = copy.view[COPY_FROM];
            copy.view[COPY_TO].buffer = plan_find_buffer(p, name);
            copy.view[COPY_TO].access = WRITE;
            TRY(plan_push(p, &copy));
        }
    }
    return UNROLL_OK;
}

static struct op *first_writer(struct plan *p, int buffer)
{
    const struct view all = view_of(p, buffer, ADD);
    for (int i = 0; i < p->ops; i++)
        if (op_writes(&p->op[i], &all))
            return &p->op[i];
    return NULL;
}

/* Without an update, a module's gradients are those of one backward. If the first writer is a product that covers the
 * whole weight, it sets the gradient, which need not be cleared or read. The session clears the others. */
static void set_gradients(struct plan *p)
{
    for (int i = 0; i < p->buffers; i++) {
        struct op *first = p->buffer[i].segment == SEG_GRAD ? first_writer(p, i) : NULL;
        const struct view all = view_of(p, i, ADD);
        if (!first || first->kind != OP_GEMM_DW || view_elements(p, &first->view[GEMM_DW_DW]) != view_elements(p, &all))
            continue;
        first->view[GEMM_DW_DW].access = WRITE;
        p->buffer[i].is_set = true;
    }
}

unroll_status pass_reduce_gradients(struct plan *p)
{
    if (!plan_updates(p) && p->config.mode == MODE_MODULE)
        set_gradients(p);
    TRY(settle_activations(p));
    if (p->config.mode >= MODE_TRAIN && plan_ranks(p) > 1)
        TRY(divide_products(p));
    TRY(push_carry(p));
    if (p->config.mode >= MODE_EVAL)
        TRY(sum_gradients(p));
    if (plan_updates(p)) {
        for (int i = 0; i < p->buffers; i++)
            if (p->buffer[i].segment == SEG_PARAM && lives_here(p, &p->buffer[i]))
                TRY(push_update(p, i));
        TRY(push_packs(p, PHASE_UPDATE));
    }
    return push_packs(p, PHASE_PACK);
}
