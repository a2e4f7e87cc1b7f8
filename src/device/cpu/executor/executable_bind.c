/* Binding: fills the struct call of a kernel from an operation of the plan: addresses of views, parameters, the cell's
 * kernels. Memory is allocated in executable.c. */
#include "plan/ir/traffic.h"
#include "device/cpu/executor/executable_parts.h"
#include "device/cpu/executor/operands.h"

/* ---- views ----------------------------------------------------------------------------- */

/* Computes the distance between neighbors along each axis. Packed layouts have strides only on some axes: panels before
 * [U, K], columns on all but the last, interleaved tiles on none. */
static void set_strides(const struct buffer *b, size_t stride[BUFFER_AXES])
{
    size_t step = 1;
    for (int i = b->rank; i-- > 0;) {
        stride[i] = step;
        bool columns = b->layout == LAYOUT_COLUMNS && i == b->rank - 1;
        if (b->layout == LAYOUT_PANELS && i == b->rank - 2)
            step = panel_bytes(b->dtype, b->size[i + 1]) * panels(b->size[i]) / dtype_size(b->dtype);
        else
            step *= columns ? PANEL : b->size[i];
    }
}

/* Converts a view to a tensor with an address; the tensor of an absent view stays empty. */
static unroll_status bind_view(const struct executable *in, const struct view *v, struct tensor *x)
{
    if (v->buffer < 0)
        return UNROLL_OK;
    const struct buffer *b = &in->plan->buffer[v->buffer];
    size_t first = 0;
    x->rank = b->rank;
    x->dtype = b->dtype;
    x->layout = b->layout;
    set_strides(b, x->stride);
    for (int i = 0; i < b->rank; i++) {
        bool whole = v->first[i] == 0 && v->count[i] == b->size[i];
        bool is_packed = b->layout != LAYOUT_DENSE && (b->layout != LAYOUT_PANELS || i >= b->rank - 2);
        if (is_packed && !whole)
            return fail(UNROLL_FAILURE, "a view of '%s' is not aligned to its panels; fix: " REPORT_BUG, b->name);
        x->count[i] = v->count[i];
        x->origin[i] = b->origin[i] + v->first[i] + (b->axis[i] == in->plan->chunk_axis ? v->base : 0);
        first += v->first[i] * x->stride[i];
    }
    x->at = (char *)in->base[b->segment] + b->offset + first * dtype_size(b->dtype);
    return UNROLL_OK;
}

/* ---- operations ------------------------------------------------------------------------ */

static void bind_steps(const struct plan *p, const struct op *op, struct call *call)
{
    const struct buffer *g = &p->buffer[op->view[RNN_G].buffer];
    call->options = p->model->layer[op->depth - 1].options;
    call->all_units = g->whole[3];
    call->saves = p->config.mode >= MODE_TRAIN;
    call->saves_far = call->saves && plan_exceeds_cache(p, (double)g->bytes);
    call->int8 = p->config.weights == DTYPE_I8;
    call->pieces = op->pieces > 1 ? (size_t)op->pieces : 1;
    call->tolerance = op->tolerance;
    if (p->config.mesh[M_TIME] > 1) {
        call->times = call->group; /* no step waits for another rank */
        call->group = (struct rank_group){NULL, 0};
    }
}

static bool is_sum(const struct op *op)
{
    return op->kind == OP_ALL_REDUCE || op->kind == OP_SUM_BEGIN || op->kind == OP_SUM_END;
}

static void bind_exchange(const struct plan *p, const struct op *op, struct call *call)
{
    call->peer = op->peer, call->views = op->views;
    call->contiguous = view_is_contiguous(p, &op->view[COMM_X]);
    if (!is_sum(op))
        return;
    call->elements = sum_numbers(p, op);
    call->sum = sum_of_numbers(p, op, 0);
    call->sum_each = op->choice ? op->view[COMM_X].count[0] : 1;
    call->ordered = p->config.shards > 1;
    if (sum_is_by_size(p, op))
        call->sum.algorithm = COMM_AUTO;
}

void bind_numbers(const struct plan *p, const struct op *op, struct call *call)
{
    call->kind = op->kind;
    call->direction = op->direction, call->choice = op->choice, call->shift = op->shift, call->stream = op->stream;
    call->probability = op->probability, call->activation = op->activation, call->tag = op->tag;
    call->steps = p->config.T, call->batch = p->config.B, call->shards = p->config.shards,
    call->block_steps = p->block_steps;
    if (op->group >= 0)
        call->group = (struct rank_group){p->group[op->group].rank, p->group[op->group].size};
    for (int i = 0; i < op->views; i++) call->view[i].access = op->view[i].access;
    if (op->kind == OP_RNN || op->kind == OP_RNN_BACK)
        bind_steps(p, op, call);
    if (is_sum(op) || op->kind == OP_SEND || op->kind == OP_RECV)
        bind_exchange(p, op, call);
    if (op->kind == OP_GEMM_DW)
        call->by_tiles = p->splits_dw;
}

static bool has_bf16x3(const struct executable *in, const struct view *v)
{
    return v->buffer >= 0 && layout_is_right(in->plan->buffer[v->buffer].layout);
}

/* Returns whether tiles multiply the operation's bf16 weights. Not if the step includes a product with a narrow x. */
static bool has_bf16_tiles(const struct executable *in, const struct op *op)
{
    return in->isa->tiled_cells && op->view[RNN_W_X].buffer < 0 &&
           reads_bf16_by_tiles(in->plan, op->view[RNN_W].buffer);
}

static bool is_by_tiles(const struct executable *in, const struct op *op)
{
    return op->kind == OP_RNN &&
           (has_bf16x3(in, &op->view[RNN_W]) || has_bf16x3(in, &op->view[RNN_W_X]) || has_bf16_tiles(in, op));
}

static unroll_status bind_cell(const struct executable *in, const struct op *op, struct call *call)
{
    if (op->kind != OP_RNN && op->kind != OP_RNN_BACK)
        return UNROLL_OK;
    const char *name = in->plan->model->layer[op->depth - 1].cell->name;
    call->by_tiles = is_by_tiles(in, op);
    call->cell = cpu_isa_cell(in->isa, name, in->plan->config.weights, call->by_tiles);
    if (!call->cell || !call->cell->fused[0])
        return fail(UNROLL_UNSUPPORTED, "the %s kernels have no cell '%s'; fix: " REPORT_BUG, in->isa->name, name);
    return UNROLL_OK;
}

unroll_status bind_op(struct executable *in, const struct op *op, enum division division, struct call *call)
{
    *call = (struct call){.isa = in->isa, .division = division, .barrier = &in->team[op->queue % in->teams].barrier};
    if (!isa_kernel(in->isa, op->kind))
        return fail(UNROLL_UNSUPPORTED, "the %s kernels do not support '%s'; fix: " REPORT_BUG, in->isa->name,
                    kind_info(op->kind)->name);
    TRY(bind_cell(in, op, call));
    if (op->group >= 0 || op->peer >= 0)
        call->comm = in->comm;
    for (int i = 0; i < op->views; i++) TRY(bind_view(in, &op->view[i], &call->view[i]));
    bind_numbers(in->plan, op, call);
    call->counts = in->pieces ? &in->pieces[op - in->plan->op] : NULL;
    return UNROLL_OK;
}
