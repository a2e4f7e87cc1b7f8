/* Derives the backward list from the cut forward list by a table of pairs, in reverse order. Communications have
 * adjoints too, so no strategy needs its own backward. */
#include "plan/passes/adjoint.h"
#include <stdio.h>
#include <string.h>

/* ---- views of gradients ---------------------------------------------------------------- */

static bool written_before(const struct plan *p, const struct view *v)
{
    if (p->buffer[v->buffer].segment == SEG_GRAD)
        return true; /* the update left zeros */
    for (int i = p->ops; i-- > 0 && p->op[i].phase == PHASE_BACKWARD;)
        if (op_writes(&p->op[i], v))
            return true;
    return false;
}

/* Returns whether the view has a gradient. A gradient in place was computed by forward (the loss). */
static bool has_gradient(const struct plan *p, const struct view *v)
{
    if (v->buffer < 0 || p->buffer[v->buffer].gradient < 0)
        return false;
    struct view d = *v;
    d.buffer = p->buffer[v->buffer].gradient;
    const struct buffer *b = &p->buffer[d.buffer];
    if (b->in_shards) { /* this rank may have written another part of it */
        d.first[b->rank - 1] = 0;
        d.count[b->rank - 1] = b->size[b->rank - 1];
    }
    return d.buffer == v->buffer || p->buffer[d.buffer].segment == SEG_IO || written_before(p, &d);
}

struct view gradient_read(const struct plan *p, const struct view *v)
{
    if (!has_gradient(p, v))
        return view_none();
    struct view d = *v;
    d.buffer = p->buffer[v->buffer].gradient;
    d.access = READ;
    return d;
}

unroll_status gradient_write(struct plan *p, const struct view *v, struct view *out)
{
    *out = view_none();
    if (v->buffer < 0 || !p->buffer[v->buffer].wants_gradient)
        return UNROLL_OK;
    int gradient = plan_gradient(p, v->buffer);
    if (gradient < 0)
        return UNROLL_RESOURCE;
    *out = *v;
    out->buffer = gradient;
    out->access = written_before(p, out) ? ADD : WRITE;
    return UNROLL_OK;
}

/* Returns the master of a weight, of which forward may have read a packed copy. */
static int master_weight(const struct plan *p, int weight)
{
    return weight >= 0 && p->buffer[weight].copy_of >= 0 ? p->buffer[weight].copy_of : weight;
}

/* In an exact hidden cut, a product that sums over units reads those of all ranks and computes this rank's part of its
 * columns. */
static unroll_status gather_columns(struct plan *p, const struct buffer *master, struct buffer *columns)
{
    int unit = master->rank - 2, last = master->rank - 1;
    columns->size[unit] = master->whole[unit];
    columns->origin[unit] = 0;
    columns->state[M_HIDDEN] = WHOLE;
    shard_range(master->whole[last], p->config.mesh[M_HIDDEN], p->config.at[M_HIDDEN], 1, &columns->origin[last],
                &columns->size[last]);
    if (!columns->size[last])
        return fail(UNROLL_UNSUPPORTED,
                    "hidden=%d with exact: the rows of '%s' have only %u values to divide; fix: use fewer ranks "
                    "along hidden",
                    p->config.mesh[M_HIDDEN], master->name, master->whole[last]);
    return UNROLL_OK;
}

/* Returns the copy that a backward product reads: in columns if the device packs weights, created at its first use
 * after all cuts. *read is -1 if the weight is absent. */
static unroll_status backward_weight(struct plan *p, int weight, int *read)
{
    int master = master_weight(p, weight);
    *read = master;
    if (master < 0 || !p->config.traits.operands)
        return UNROLL_OK;
    const int buffers = p->buffers;
    TRY(plan_own_copy(p, master, p->config.traits.operands->backward(p, master), read));
    const struct buffer *b = &p->buffer[master];
    bool is_new = p->buffers > buffers;
    return is_new && plan_gathers(p) && b->state[M_HIDDEN] == SPLIT ? gather_columns(p, b, &p->buffer[*read])
                                                                    : UNROLL_OK;
}

/* Returns the gradient [S, ..] of a parameter [..] in one use, for rows [first, first + count) of its first axis. */
static struct view parameter_gradient(const struct plan *p, int buffer, int use, uint32_t first, uint32_t count)
{
    buffer = master_weight(p, buffer);
    int gradient = buffer < 0 ? -1 : use ? p->buffer[buffer].second : p->buffer[buffer].gradient;
    if (gradient < 0)
        return view_none();
    struct view v = view_of(p, gradient, ADD);
    v.first[1] = first;
    v.count[1] = count;
    return v;
}

static struct view all_of_parameter_gradient(const struct plan *p, const struct view *parameter, int use)
{
    uint32_t rows = parameter->buffer < 0 ? 0 : p->buffer[parameter->buffer].size[0];
    return parameter_gradient(p, parameter->buffer, use, 0, rows);
}

struct op backward_op(const struct op *forward, enum op_kind kind)
{
    struct op op = op_new(kind, PHASE_BACKWARD, forward->depth);
    op.chunk = forward->chunk;
    op.traversal = forward->traversal;
    op.direction = forward->direction;
    op.choice = forward->choice;
    op.stream = forward->stream;
    op.probability = forward->probability;
    op.group = forward->group;
    op.peer = forward->peer;
    op.tag = forward->tag | TAG_BACKWARD;
    return op;
}

/* ---- exact hidden cuts ----------------------------------------------------------------- */

static void name_all(const struct plan *p, int buffer, char *name, size_t size)
{
    snprintf(name, size, "all.%s", p->buffer[buffer].name);
}

/* Returns the view of all ranks' units, if rnn_back gathered them. */
static struct view all_units(const struct plan *p, const struct view *v)
{
    char name[sizeof p->buffer->name + 8];
    struct view all = *v;
    name_all(p, v->buffer, name, sizeof name);
    all.buffer = plan_find_buffer(p, name);
    if (all.buffer < 0)
        return *v;
    all.first[3] = 0;
    all.count[3] = p->buffer[all.buffer].size[3];
    return all;
}

/* Returns the columns of a product that these weights compute on this rank. */
static struct view own_columns(struct plan *p, const struct view *weights, struct view dx)
{
    const struct buffer *w = &p->buffer[weights->buffer];
    int last = p->buffer[dx.buffer].rank - 1;
    p->buffer[dx.buffer].in_shards = true;
    dx.first[last] += w->origin[w->rank - 1];
    dx.count[last] = w->size[w->rank - 1];
    return dx;
}

/* Returns whether a product over the units of g needs all of them. */
static bool wants_all_units(const struct plan *p, const struct view *g)
{
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind == OP_GEMM && view_overlap(&p->op[i].view[GEMM_Y], g) &&
            p->buffer[p->op[i].view[GEMM_X].buffer].wants_gradient)
            return true;
    return false;
}

/* Adds [T, B, G, U] next to g, with the units of all ranks. */
static unroll_status add_all_units(struct plan *p, const struct view *g, struct view *out)
{
    char name[sizeof p->buffer->name + 8];
    if (!wants_all_units(p, g))
        return UNROLL_OK;
    name_all(p, g->buffer, name, sizeof name);
    int all = plan_find_buffer(p, name);
    if (all < 0) {
        all = plan_add_like(p, name, SEG_STEP, g->buffer);
        if (all < 0)
            return UNROLL_RESOURCE;
        struct buffer *b = &p->buffer[all];
        b->origin[3] = 0;
        b->size[3] = b->whole[3];
        b->state[M_HIDDEN] = WHOLE;
    }
    *out = *g;
    out->buffer = all;
    out->access = WRITE;
    out->count[3] = p->buffer[all].size[3];
    return UNROLL_OK;
}

/* ---- sums over rows -------------------------------------------------------------------- */

/* Narrows a view to the rows of another one [T, B, ..]. */
static struct view same_rows(const struct plan *p, struct view v, const struct view *of)
{
    int dim = v.buffer < 0 ? -1 : buffer_dim(&p->buffer[v.buffer], AX_B);
    int rows = buffer_dim(&p->buffer[of->buffer], AX_B);
    if (dim >= 0 && rows >= 0) {
        v.first[dim] = of->first[rows];
        v.count[dim] = of->count[rows];
    }
    return v;
}

/* Returns the lengths of the batch, if any: rows count before their length. */
static struct view lengths_of(const struct plan *p, const struct view *of)
{
    return same_rows(p, view_of(p, plan_find_buffer(p, "lengths"), READ), of);
}

/* The twin, if any, gets the same sum. */
static unroll_status push_bias_gradient(struct plan *p, const struct op *forward, struct view dy, struct view sum,
                                        struct view twin)
{
    if (sum.buffer < 0)
        return UNROLL_OK;
    struct op op = backward_op(forward, OP_BIAS_GRAD);
    op.group = -1;
    op.view[BIAS_GRAD_DY] = dy;
    op.view[BIAS_GRAD_SUM] = sum;
    op.view[BIAS_GRAD_TWIN] = twin;
    op.view[BIAS_GRAD_LENGTHS] = lengths_of(p, &dy);
    return plan_push(p, &op);
}

static unroll_status push_weight_gradient(struct plan *p, const struct op *forward, struct view dy, struct view x,
                                          struct view dw)
{
    if (dw.buffer < 0)
        return UNROLL_OK;
    struct op op = backward_op(forward, p->buffer[x.buffer].dtype == DTYPE_I32 ? OP_SCATTER_ADD : OP_GEMM_DW);
    op.group = -1;
    x.access = dy.access = READ;
    op.view[GEMM_DW_DY] = dy;
    op.view[GEMM_DW_X] = x;
    op.view[GEMM_DW_DW] = dw;
    op.view[GEMM_DW_LENGTHS] = lengths_of(p, &dy);
    return plan_push(p, &op);
}

/* The forward operation has computed the gradients by each row; this sums them as those of a bias. */
unroll_status adjoint_sequence_loss(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    for (int i = 0; i <= SEQUENCE_DEND - SEQUENCE_DMOVE; i++) {
        struct view dy = forward.view[SEQUENCE_DMOVE + i];
        if (dy.buffer < 0)
            continue;
        dy.access = READ;
        TRY(push_bias_gradient(p, &forward, dy, all_of_parameter_gradient(p, &forward.view[SEQUENCE_MOVE + i], 0),
                               view_none()));
    }
    return UNROLL_OK;
}

/* Returns the buffer of a bias of an operation's layer, or -1. */
static int bias_of(const struct plan *p, enum parameter_role role, const struct op *op)
{
    int bias = model_find(p->model, role, op->depth - 1, op->direction);
    return bias < 0 ? -1 : plan_find_buffer(p, p->model->parameter[bias].name);
}

/* Adds the gradients of biases: gates with both biases are summed once, the others only for this product's bias. Gate
 * `gate` has row `row`. */
static unroll_status push_gate_biases(struct plan *p, const struct op *back, struct view dy, int gate, int end,
                                      uint32_t row)
{
    const struct cell_input *input = p->model->layer[back->depth - 1].cell->input;
    int own = bias_of(p, PARAM_B_HH, back), other = bias_of(p, PARAM_B_IH, back);
    for (int next; gate < end; gate = next) {
        bool both = input[gate].from & FROM_X;
        for (next = gate + 1; next < end && (bool)(input[next].from & FROM_X) == both; next++) {}
        uint32_t gates = (uint32_t)(next - gate);
        dy.first[2] = (uint32_t)gate;
        dy.count[2] = gates;
        TRY(push_bias_gradient(p, back, dy, parameter_gradient(p, own, 0, row, gates),
                               both ? parameter_gradient(p, other, 0, (uint32_t)gate, gates) : view_none()));
        row += gates;
    }
    return UNROLL_OK;
}

/* Adds the bias gradient of a product with x. Gates that are also fed by the recurrence were already summed with it. */
static unroll_status push_input_bias(struct plan *p, const struct op *forward, struct view dy)
{
    const struct cell_declaration *cell = p->model->layer[forward->depth - 1].cell; /* NULL: dense */
    int bias = forward->view[GEMM_BIAS].buffer;
    bool is_input = bias >= 0 && p->model->parameter[p->buffer[bias].parameter].role == PARAM_B_IH;
    if (!is_input || bias_of(p, PARAM_B_HH, forward) < 0)
        return push_bias_gradient(p, forward, dy, all_of_parameter_gradient(p, &forward->view[GEMM_BIAS], 0),
                                  view_none());
    for (int i = 0, end; i < cell->inputs && (cell->input[i].from & FROM_X); i = end) {
        bool shared = cell->input[i].from & (FROM_H | FROM_INTERMEDIATE);
        for (end = i + 1; end < cell->inputs && cell->input[end].from == cell->input[i].from; end++) {}
        dy.first[2] = (uint32_t)i;
        dy.count[2] = (uint32_t)(end - i);
        if (!shared)
            TRY(push_bias_gradient(p, forward, dy, parameter_gradient(p, bias, 0, (uint32_t)i, (uint32_t)(end - i)),
                                   view_none()));
    }
    return UNROLL_OK;
}

/* ---- the pairs ------------------------------------------------------------------------- */

unroll_status adjoint_embed(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct view dy = gradient_read(p, &forward.view[EMBED_OUT]);
    if (forward.view[EMBED_TABLE].buffer < 0 || dy.buffer < 0)
        return UNROLL_OK;
    struct op op = backward_op(&forward, OP_EMBED_GRAD);
    op.view[EMBED_GRAD_TOKENS] = forward.view[EMBED_TOKENS];
    op.view[EMBED_GRAD_DY] = dy;
    op.view[EMBED_GRAD_DTABLE] = all_of_parameter_gradient(p, &forward.view[EMBED_TABLE], forward.use);
    return plan_push(p, &op);
}

/* Adds the products for dx and dW and the bias gradient. */
unroll_status adjoint_gemm(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct view dy = gradient_read(p, &forward.view[GEMM_Y]), dx;
    if (dy.buffer < 0)
        return UNROLL_OK;
    TRY(gradient_write(p, &forward.view[GEMM_X], &dx));
    if (dx.buffer >= 0) {
        struct op op = backward_op(&forward, OP_GEMM_DX);
        op.view[GEMM_DX_DY] = plan_gathers(p) ? all_units(p, &dy) : dy;
        int weight;
        TRY(backward_weight(p, forward.view[GEMM_W].buffer, &weight));
        op.view[GEMM_DX_W] = view_of(p, weight, READ);
        op.view[GEMM_DX_DX] = op.view[GEMM_DX_DY].buffer == dy.buffer ? dx : own_columns(p, &op.view[GEMM_DX_W], dx);
        op.view[GEMM_DX_LENGTHS] = lengths_of(p, &dy);
        TRY(plan_push(p, &op));
    }
    TRY(push_weight_gradient(p, &forward, dy, forward.view[GEMM_X],
                             all_of_parameter_gradient(p, &forward.view[GEMM_W], forward.use)));
    return push_input_bias(p, &forward, dy);
}

/* Adds a backward operation that turns the gradient dy of y into the gradient dx of x, if both are wanted. */
static unroll_status push_pair(struct plan *p, const struct op *forward, struct op *op, int y, int dy, int x, int dx)
{
    op->view[dy] = gradient_read(p, &forward->view[y]);
    if (op->view[dy].buffer < 0)
        return UNROLL_OK;
    TRY(gradient_write(p, &forward->view[x], &op->view[dx]));
    return op->view[dx].buffer < 0 ? UNROLL_OK : plan_push(p, op);
}

unroll_status adjoint_dropout(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_DROPOUT);
    op.view[DROPOUT_RUN] = forward.view[DROPOUT_RUN];
    op.view[DROPOUT_LENGTHS] = forward.view[DROPOUT_LENGTHS];
    return push_pair(p, &forward, &op, DROPOUT_Y, DROPOUT_X, DROPOUT_X, DROPOUT_Y);
}

unroll_status adjoint_activate(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_ACTIVATE_BACK);
    op.activation = forward.activation;
    op.view[ACTIVATE_BACK_X] = forward.view[ACTIVATE_X];
    op.view[ACTIVATE_BACK_X].access = UPDATE; /* the value is recomputed into it */
    return push_pair(p, &forward, &op, ACTIVATE_Y, ACTIVATE_BACK_DY, ACTIVATE_X, ACTIVATE_BACK_DX);
}

unroll_status adjoint_pool(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_POOL_BACK);
    op.view[POOL_BACK_LENGTHS] = forward.view[POOL_LENGTHS];
    op.view[POOL_BACK_AT] = forward.view[POOL_AT];
    if (op.view[POOL_BACK_AT].buffer >= 0)
        op.view[POOL_BACK_AT].access = READ;
    return push_pair(p, &forward, &op, POOL_Y, POOL_BACK_DY, POOL_X, POOL_BACK_DX);
}

unroll_status adjoint_copy(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_COPY);
    return push_pair(p, &forward, &op, COPY_TO, COPY_FROM, COPY_FROM, COPY_TO);
}

unroll_status adjoint_send(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_RECV);
    TRY(gradient_write(p, &forward.view[COMM_X], &op.view[COMM_X]));
    if (op.view[COMM_X].buffer < 0)
        return UNROLL_OK;
    if (op.view[COMM_X].access == ADD)
        return fail(UNROLL_UNSUPPORTED, "'%s' is used by several stages of a layer cut; fix: " REPORT_BUG,
                    p->buffer[forward.view[COMM_X].buffer].name);
    return plan_push(p, &op);
}

unroll_status adjoint_recv(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op op = backward_op(&forward, OP_SEND);
    op.view[COMM_X] = gradient_read(p, &forward.view[COMM_X]);
    return op.view[COMM_X].buffer < 0 ? UNROLL_OK : plan_push(p, &op);
}

/* ---- the recurrence -------------------------------------------------------------------- */

/* Gradients of h cover only this rank's units, although h itself is whole: [B, U] for [B, K]. */
static int state_gradient(struct plan *p, int state, const struct view *g, bool projected)
{
    if (p->buffer[state].gradient >= 0)
        return p->buffer[state].gradient;
    int made = plan_gradient(p, state);
    if (made < 0)
        return -1;
    struct buffer *d = &p->buffer[made];
    const struct buffer *units = &p->buffer[g->buffer];
    int last = d->rank - 1;
    if (!projected) {
        d->axis[last] = AX_U;
        d->size[last] = units->size[3];
        d->origin[last] = units->origin[3];
        d->whole[last] = units->whole[3];
        d->state[M_HIDDEN] = units->state[M_HIDDEN];
    }
    return made;
}

/* Sets the views of the gradients of the last and the first states. */
static unroll_status state_views(struct plan *p, const struct op *forward, struct op *op)
{
    static const struct {
        int state, gradient;
        enum access access;
    } pairs[] = {{RNN_HN, RNN_DHN, READ}, {RNN_SN, RNN_DSN, READ}, {RNN_H0, RNN_DH0, WRITE}, {RNN_S0, RNN_DS0, WRITE}};
    for (int i = 0; i < 4; i++) {
        int state = forward->view[pairs[i].state].buffer;
        bool acc_blocks = pairs[i].access == READ;
        /* Only a module has a gradient of the last state; between chunks, the later chunk computed it. */
        if (state < 0 || (acc_blocks && p->buffer[state].segment != SEG_STEP && p->config.mode != MODE_MODULE))
            continue;
        bool is_h = pairs[i].state == RNN_HN || pairs[i].state == RNN_H0;
        int gradient = is_h ? state_gradient(p, state, &forward->view[RNN_G], forward->view[RNN_PROJ].buffer >= 0)
                            : plan_gradient(p, state);
        if (gradient < 0)
            return UNROLL_RESOURCE;
        op->view[pairs[i].gradient] = same_rows(p, view_of(p, gradient, pairs[i].access), &forward->view[RNN_G]);
    }
    return UNROLL_OK;
}

/* Adds a buffer [T,B,..] used only by backward, with the steps of the chunk's view. */
static unroll_status step_buffer(struct plan *p, const char *prefix, const struct op *forward, int rank,
                                 const enum axis *axis, const uint32_t *size, struct view *out)
{
    const struct view *g = &forward->view[RNN_G];
    char name[sizeof p->buffer->name + 8];
    snprintf(name, sizeof name, "%s.%s", prefix, p->buffer[g->buffer].name);
    int made = plan_find_buffer(p, name);
    if (made < 0)
        made = plan_add_buffer(p, name, p->config.real, SEG_STEP, rank, axis, size);
    if (made < 0)
        return UNROLL_RESOURCE;
    const struct buffer *units = &p->buffer[g->buffer];
    for (int i = 0; i < 2; i++) {
        p->buffer[made].origin[i] = units->origin[i];
        p->buffer[made].whole[i] = units->whole[i];
    }
    if (axis[rank - 1] == AX_U) {
        p->buffer[made].origin[rank - 1] = units->origin[3];
        p->buffer[made].whole[rank - 1] = units->whole[3];
    }
    for (int m = 0; m < M_N; m++) p->buffer[made].state[m] = units->state[m];
    *out = view_of(p, made, WRITE);
    out->first[0] = g->first[0];
    out->count[0] = g->count[0];
    *out = same_rows(p, *out, g);
    return UNROLL_OK;
}

static unroll_status backward_buffers(struct plan *p, const struct op *forward, struct op *op)
{
    const struct buffer *g = &p->buffer[forward->view[RNN_G].buffer];
    uint32_t T = g->size[0], B = g->size[1], U = g->size[3];
    if (forward->view[RNN_VECTOR].buffer >= 0)
        TRY(step_buffer(p, "dv", forward, 4, (enum axis[]){AX_T, AX_B, AX_G, AX_U},
                        (uint32_t[]){T, B, p->buffer[forward->view[RNN_VECTOR].buffer].size[0], U}, &op->view[RNN_DV]));
    if (forward->view[RNN_PROJ].buffer >= 0)
        TRY(step_buffer(p, "dp", forward, 3, (enum axis[]){AX_T, AX_B, AX_K},
                        (uint32_t[]){T, B, p->model->layer[forward->depth - 1].width}, &op->view[RNN_DP]));
    return UNROLL_OK;
}

/* Adds the backward recurrence of a forward one and returns it in *op. */
static unroll_status push_rnn_back(struct plan *p, const struct op *forward, struct op *op)
{
    static const int read[] = {RNN_VECTOR,       RNN_PROJ, RNN_H0,      RNN_S0,    RNN_Y,    RNN_S,
                               RNN_INTERMEDIATE, RNN_M,    RNN_LENGTHS, RNN_RESET, RNN_SAVED};
    *op = backward_op(forward, OP_RNN_BACK);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        op->view[read[i]] = forward->view[read[i]];
        if (op->view[read[i]].buffer >= 0)
            op->view[read[i]].access = READ;
    }
    int weight;
    TRY(backward_weight(p, forward->view[RNN_W].buffer, &weight));
    op->view[RNN_W] = view_of(p, weight, READ);
    op->view[RNN_G] = forward->view[RNN_G];
    op->view[RNN_PIECES] = forward->view[RNN_PIECES];
    op->pieces = forward->pieces;
    op->tolerance = forward->tolerance;
    if (op->view[RNN_SAVED].buffer >= 0)
        op->view[RNN_G].access = WRITE; /* overwrites the sums */
    op->view[RNN_SCRATCH] = forward->view[RNN_SCRATCH];
    op->view[RNN_DY] = gradient_read(p, &forward->view[RNN_Y]);
    TRY(state_views(p, forward, op));
    TRY(backward_buffers(p, forward, op));
    op->choice = plan_gathers(p);
    if (plan_gathers(p))
        TRY(add_all_units(p, &forward->view[RNN_G], &op->view[RNN_DG]));
    return plan_push(p, op);
}

/* Adds the gradients of the recurrent weights: one product per run of gates with the same operand. */
static unroll_status push_recurrent_weights(struct plan *p, const struct op *back)
{
    const struct cell_declaration *cell = p->model->layer[back->depth - 1].cell;
    const unsigned recurrent = FROM_H | FROM_INTERMEDIATE;
    int weights = p->buffer[master_weight(p, back->view[RNN_W].buffer)].gradient;
    uint32_t row = 0;
    for (int k = 0, end; k < cell->inputs; k = end) {
        unsigned source = cell->input[k].from & recurrent;
        for (end = k + 1; end < cell->inputs && (cell->input[end].from & recurrent) == source; end++) {}
        if (!source)
            continue;
        uint32_t gates = (uint32_t)(end - k);
        struct view dy = back->view[RNN_G];
        dy.access = READ;
        dy.first[2] = (uint32_t)k;
        dy.count[2] = gates;
        struct op op = backward_op(back, OP_GEMM_DW);
        op.group = -1;
        op.view[GEMM_DW_DY] = dy;
        op.shift = source == FROM_H;
        op.view[GEMM_DW_X] = back->view[source == FROM_H ? RNN_Y : RNN_INTERMEDIATE];
        if (op.shift) {
            op.view[GEMM_DW_INIT] = back->view[RNN_H0];
            op.view[GEMM_DW_RESET] = back->view[RNN_RESET];
        }
        op.view[GEMM_DW_LENGTHS] = back->view[RNN_LENGTHS];
        op.view[GEMM_DW_DW] = view_of(p, weights, ADD);
        op.view[GEMM_DW_DW].first[1] = row;
        op.view[GEMM_DW_DW].count[1] = gates;
        TRY(plan_push(p, &op));
        TRY(push_gate_biases(p, back, dy, k, end, row));
        row += gates;
    }
    return UNROLL_OK;
}

/* Adds the backward recurrence and the gradients of all weights of the layer. */
unroll_status adjoint_rnn(struct plan *p, int index)
{
    const struct op forward = p->op[index];
    struct op back;
    TRY(push_rnn_back(p, &forward, &back));
    if (back.view[RNN_W].buffer >= 0)
        TRY(push_recurrent_weights(p, &back));
    if (back.view[RNN_DP].buffer >= 0)
        TRY(push_weight_gradient(p, &forward, back.view[RNN_DP], forward.view[RNN_M],
                                 all_of_parameter_gradient(p, &forward.view[RNN_PROJ], 0)));
    if (back.view[RNN_DV].buffer < 0)
        return UNROLL_OK;
    struct view dv = back.view[RNN_DV];
    dv.access = READ;
    return push_bias_gradient(p, &forward, dv, all_of_parameter_gradient(p, &forward.view[RNN_VECTOR], 0), view_none());
}

/* ---- the pass -------------------------------------------------------------------------- */

/* A module's caller provides the gradient of its outputs. */
static unroll_status give_output_gradient(struct plan *p)
{
    char name[32];
    int gradient = plan_gradient(p, plan_find_buffer(p, model_results(p->model, name)));
    if (gradient < 0)
        return UNROLL_RESOURCE;
    p->buffer[gradient].segment = SEG_IO;
    return UNROLL_OK;
}

unroll_status pass_adjoint(struct plan *p)
{
    if (p->config.mode < MODE_TRAIN)
        return UNROLL_OK;
    if (p->config.mode == MODE_MODULE)
        TRY(give_output_gradient(p));
    for (int i = p->ops; i-- > 0;) {
        unroll_status (*adjoint)(struct plan *, int) = kind_info(p->op[i].kind)->adjoint;
        if (adjoint)
            TRY(adjoint(p, i));
    }
    return UNROLL_OK;
}
