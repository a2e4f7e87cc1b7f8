/* The first pass: converts a model to the forward list on whole tensors, for one machine and one thread. It has no
 * cuts, chunks, backward or addresses. */
#include "plan/lower/lower.h"
#include "plan/lower/lowering.h"
#include "model/layer_kind.h"
#include <stdio.h>
#include <string.h>

/* ---- buffers --------------------------------------------------------------------------- */

int plan_add(struct plan *p, const char *name, enum dtype dtype, enum segment segment, struct buffer_shape s)
{
    return plan_add_buffer(p, name, dtype, segment, s.rank, s.axis, s.size);
}

static struct buffer_shape parameter_shape(const struct parameter *q)
{
    static const enum axis axes[][3] = {
        [PARAM_EMBEDDING] = {AX_K, AX_K},
        [PARAM_W_IH] = {AX_G, AX_U, AX_K},
        [PARAM_W_HH] = {AX_G, AX_U, AX_K},
        [PARAM_B_IH] = {AX_G, AX_U},
        [PARAM_B_HH] = {AX_G, AX_U},
        [PARAM_VECTOR] = {AX_G, AX_U},
        [PARAM_W_HR] = {AX_K, AX_U},
        [PARAM_W_DENSE] = {AX_K, AX_K},
        [PARAM_B_DENSE] = {AX_K},
        [PARAM_MOVE] = {AX_K, AX_K},
        [PARAM_START] = {AX_K},
        [PARAM_END] = {AX_K},
    };
    struct buffer_shape s = {.rank = q->rank};
    for (int i = 0; i < q->rank; i++) {
        s.axis[i] = axes[q->role][i];
        s.size[i] = q->size[i];
    }
    return s;
}

static bool is_narrow(const struct plan *p) { return p->config.weights == DTYPE_BF16 || p->config.weights == DTYPE_I8; }

/* Adds the packed copy of a weight in the layout and the data type of the products that read it. */
static unroll_status add_copy(struct plan *p, int master, int layout)
{
    struct buffer *b = &p->buffer[master];
    char name[sizeof b->name + 8];
    snprintf(name, sizeof name, "%s.packed", b->name);
    enum dtype dtype = is_narrow(p) ? p->config.weights : b->dtype;
    if (dtype == DTYPE_I8 && b->size[b->rank - 1] > p->config.traits.int8_products)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' has rows of %u values, but sums of more than %u int8 products may overflow; fix: use "
                    "weights in bf16",
                    b->name, b->size[b->rank - 1], p->config.traits.int8_products);
    int copy = plan_add_buffer(p, name, dtype, SEG_COPY, b->rank, b->axis, b->size);
    if (copy < 0)
        return UNROLL_RESOURCE;
    p->buffer[copy].layout = layout;
    p->buffer[copy].copy_of = master;
    return UNROLL_OK;
}

/* Gradients of weights have a leading shard axis: [S, ..]. Each use of a shared weight is summed separately, so that
 * the order of a sum does not depend on the order of the uses. */
static int add_weight_sum(struct plan *p, int master, const char *prefix, struct buffer_shape s)
{
    char name[sizeof p->buffer->name + 16];
    snprintf(name, sizeof name, "%s.%s", prefix, p->buffer[master].name);
    memmove(s.axis + 1, s.axis, (BUFFER_AXES - 1) * sizeof *s.axis);
    memmove(s.size + 1, s.size, (BUFFER_AXES - 1) * sizeof *s.size);
    s.rank++;
    s.axis[0] = AX_S;
    s.size[0] = p->config.shards;
    int sum = plan_add(p, name, p->config.real, SEG_GRAD, s);
    if (sum >= 0)
        p->buffer[sum].parameter = p->buffer[master].parameter;
    return sum;
}

static unroll_status add_parameter_gradient(struct plan *p, int master, const struct parameter *q,
                                            struct buffer_shape s)
{
    bool shared = q->role == PARAM_EMBEDDING && p->model->tied;
    int gradient = add_weight_sum(p, master, "d", s);
    int second = shared && gradient >= 0 ? add_weight_sum(p, master, "d2", s) : -1;
    if (gradient < 0 || (shared && second < 0))
        return UNROLL_RESOURCE;
    p->buffer[master].gradient = gradient;
    p->buffer[master].second = second;
    return UNROLL_OK;
}

static unroll_status add_optimizer_states(struct plan *p, int master, struct buffer_shape s)
{
    for (int i = 0; i < p->config.optimizer_states; i++) {
        char name[sizeof p->buffer->name + 16];
        snprintf(name, sizeof name, "%s.opt%d", p->buffer[master].name, i);
        int state = plan_add(p, name, p->config.real, SEG_OPT, s);
        if (state < 0)
            return UNROLL_RESOURCE;
        p->buffer[state].parameter = p->buffer[master].parameter;
    }
    return UNROLL_OK;
}

/* Adds all parameters first, in model order, so that their offsets are the same in every plan. */
static unroll_status lower_parameters(struct plan *p)
{
    const struct operand_traits *operands = p->config.traits.operands;
    for (int i = 0; i < p->model->parameters; i++) {
        const struct parameter *q = &p->model->parameter[i];
        struct buffer_shape s = parameter_shape(q);
        int master = plan_add(p, q->name, p->config.real, SEG_PARAM, s);
        if (master < 0)
            return UNROLL_RESOURCE;
        p->buffer[master].parameter = i;
        p->buffer[master].wants_gradient = true;
        if (operands && model_multiplies(p->model, q))
            TRY(add_copy(p, master,
                         q->role == PARAM_W_HH || fuse_input_wanted(p, q) ? operands->step : operands->product));
        if (p->config.mode >= MODE_TRAIN)
            TRY(add_parameter_gradient(p, master, q, s));
        if (plan_updates(p))
            TRY(add_optimizer_states(p, master, s));
    }
    return UNROLL_OK;
}

int lower_master(const struct plan *p, enum parameter_role role, int layer, int direction)
{
    int i = model_find(p->model, role, layer, direction);
    return i < 0 ? -1 : plan_find_buffer(p, p->model->parameter[i].name);
}

int lower_weight(const struct plan *p, int master)
{
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].copy_of == master && master >= 0)
            return i;
    return master;
}

static unroll_status lower_values(struct plan *p)
{
    const struct plan_config *c = &p->config;
    bool enough = plan_add(p, "run", DTYPE_I64, SEG_VALUES, SHAPE1(AX_K, 8)) >= 0 &&
                  plan_add(p, "rates", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 16)) >= 0 &&
                  plan_add(p, "loss_sum", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 1)) >= 0 &&
                  plan_add(p, "weight_sum", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 1)) >= 0 &&
                  plan_add(p, "norms", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, (uint32_t)p->model->parameters)) >= 0 &&
                  (!c->lengths || plan_add(p, "lengths", DTYPE_I32, SEG_IO, SHAPE1(AX_B, c->B)) >= 0) &&
                  (!c->resets || plan_add(p, "reset", DTYPE_U8, SEG_IO, SHAPE2(AX_T, c->T, AX_B, c->B)) >= 0);
    return enough ? UNROLL_OK : UNROLL_RESOURCE;
}

struct view lower_named(const struct plan *p, const char *name) { return view_of(p, plan_find_buffer(p, name), READ); }

/* ---- operations ------------------------------------------------------------------------ */

/* Returns whether products with one-hot rows gather columns of weights. */
static bool gathers_columns(const struct plan *p)
{
    const uint32_t symbols = (uint32_t)p->model->input;
    const struct gathers_columns *of = &p->config.traits.gathers_columns;
    return p->model->tokens && !p->model->embed && symbols >= of->min && symbols <= of->max &&
           (of->narrow || !is_narrow(p));
}

/* Returns whether the layer can read tokens instead of rows. */
static bool takes_tokens(const struct layer *l) { return l->sources == 1 && l->kind->gathers_columns; }

static bool all_take_tokens(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++)
        for (int k = 0; k < m->layer[i].sources; k++)
            if (m->layer[i].source[k] == SOURCE_INPUT && !takes_tokens(&m->layer[i]))
                return false;
    return true;
}

struct op lower_product(const struct plan *p, int x, int layer)
{
    struct op op = op_new(p->buffer[x].dtype == DTYPE_I32 ? OP_GATHER_COLUMNS : OP_GEMM, PHASE_FORWARD, layer + 1);
    op.view[GEMM_X] = view_of(p, x, READ);
    return op;
}

/* Copies rows of a table, or one-hot rows, to the column's slice of x. */
static unroll_status lower_embedding(struct plan *p, int column, int tokens, uint32_t first, int x)
{
    const int table = lower_master(p, PARAM_EMBEDDING, column, 0);
    struct op op = op_new(OP_EMBED, PHASE_FORWARD, 0);
    op.view[EMBED_TOKENS] = view_of(p, tokens, READ);
    op.view[EMBED_TABLE] = view_of(p, table, READ);
    op.view[EMBED_OUT] = view_of(p, x, WRITE);
    view_narrow(p, &op.view[EMBED_OUT], AX_K, first, input_width(&p->model->inputs[column]));
    p->buffer[x].wants_gradient |= table >= 0;
    return plan_push(p, &op);
}

static unroll_status lower_numbers(struct plan *p, int numbers, uint32_t first, int x)
{
    struct op op = op_new(OP_COPY, PHASE_FORWARD, 0);
    op.view[COPY_FROM] = view_of(p, numbers, READ);
    op.view[COPY_TO] = view_of(p, x, WRITE);
    view_narrow(p, &op.view[COPY_TO], AX_K, first, p->buffer[numbers].size[2]);
    p->buffer[x].wants_gradient |= p->buffer[numbers].wants_gradient;
    return plan_push(p, &op);
}

/* Returns the buffer that the host fills with a column. */
static int add_column(struct plan *p, int column)
{
    const struct plan_config *c = &p->config;
    const unroll_input *of = &p->model->inputs[column];
    char name[48];
    column_buffer(p->model, column, name);
    if (of->tokens)
        return plan_add(p, name, DTYPE_I32, SEG_IO, SHAPE2(AX_T, c->T, AX_B, c->B));
    const int x = plan_add(p, name, c->real, SEG_IO, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, (uint32_t)of->width));
    if (x >= 0)
        p->buffer[x].wants_gradient = c->input_gradient;
    return x;
}

/* Concatenates all columns. */
static unroll_status lower_columns(struct plan *p, const int *column, int *x)
{
    const struct plan_config *c = &p->config;
    const struct unroll_model *m = p->model;
    uint32_t first = 0;
    *x = plan_add(p, "embedded", c->real, SEG_STEP, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, model_input(m)));
    if (*x < 0)
        return UNROLL_RESOURCE;
    for (int i = 0; i < m->n_inputs; first += input_width(&m->inputs[i++])) {
        if (m->inputs[i].tokens)
            TRY(lower_embedding(p, i, column[i], first, *x));
        else
            TRY(lower_numbers(p, column[i], first, *x));
    }
    return UNROLL_OK;
}

/* Applies dropout to the output of a layer or to the input. */
static unroll_status lower_dropout(struct plan *p, float probability, const char *name, int layer, int *y)
{
    if (probability <= 0 || p->config.mode < MODE_TRAIN || p->config.no_dropout)
        return UNROLL_OK;
    int dropped = plan_add_like(p, name, SEG_STEP, *y);
    if (dropped < 0)
        return UNROLL_RESOURCE;
    p->buffer[dropped].wants_gradient = p->buffer[*y].wants_gradient;
    struct op op = op_new(OP_DROPOUT, PHASE_FORWARD, layer + 2); /* at the depth of the layer that reads it */
    op.probability = probability;
    op.stream = layer;
    op.view[DROPOUT_X] = view_of(p, *y, READ);
    op.view[DROPOUT_RUN] = lower_named(p, "run");
    op.view[DROPOUT_LENGTHS] = lower_named(p, "lengths");
    op.view[DROPOUT_Y] = view_of(p, dropped, WRITE);
    *y = dropped;
    return plan_push(p, &op);
}

/* Returns in *x the tokens if products gather columns, otherwise the rows; in *rows the rows, or -1. */
static unroll_status lower_input(struct plan *p, int *x, int *rows)
{
    const struct unroll_model *m = p->model;
    const bool gathers = gathers_columns(p);
    int column[UNROLL_INPUTS_MAX] = {-1};
    for (int i = 0; i < m->n_inputs; i++) {
        column[i] = add_column(p, i);
        if (column[i] < 0)
            return UNROLL_RESOURCE;
    }
    *rows = m->tokens ? -1 : column[0];
    if (m->n_inputs > 1 || (m->tokens && (!gathers || !all_take_tokens(m))))
        TRY(lower_columns(p, column, rows));
    if (*rows >= 0)
        TRY(lower_dropout(p, m->input_dropout, "dropped.input", SOURCE_INPUT, rows));
    *x = gathers ? column[0] : *rows;
    return UNROLL_OK;
}

int lower_result(struct plan *p, const char *prefix, int layer, uint32_t width, bool is_output)
{
    const struct plan_config *c = &p->config;
    char name[32];
    snprintf(name, sizeof name, layer < 0 ? "%s" : "%s.l%d", prefix, layer);
    bool runs = c->mode == MODE_INFER || c->mode == MODE_MODULE || (c->mode == MODE_EVAL && c->results);
    bool for_host = is_output && runs, pooled = p->model->layer[layer < 0 ? p->model->layers - 1 : layer].pooled;
    int made = plan_add(p, name, c->real, for_host ? SEG_IO : SEG_STEP, lower_steps(p, pooled, width));
    if (made >= 0)
        p->buffer[made].wants_gradient = true;
    return made;
}

int lower_output(struct plan *p, int layer)
{
    const struct layer *l = &p->model->layer[layer];
    const bool z = layer + 1 == p->model->layers && !l->kind->keeps_results;
    int y = z ? lower_result(p, "z", -1, l->outputs, true) : lower_result(p, "y", layer, l->outputs, l->is_output);
    if (z && y >= 0 && p->config.mode == MODE_TRAIN)
        p->buffer[y].gradient = y; /* the loss overwrites z with dz */
    return y;
}

/* Returns the input of a layer. `given` are the buffers of the input's rows (first) and of earlier layers; several
 * sources are concatenated. `input` is used by a layer that can read tokens. */
static unroll_status lower_sources(struct plan *p, int layer, int input, const int *given, int *x)
{
    const struct layer *l = &p->model->layer[layer];
    *x = l->source[0] == SOURCE_INPUT && takes_tokens(l) ? input : given[l->source[0] + 1];
    if (l->sources == 1)
        return UNROLL_OK;
    char name[32];
    uint32_t first = 0;
    snprintf(name, sizeof name, "x.l%d", layer);
    int joined = plan_add_like(p, name, SEG_STEP, *x);
    if (joined < 0)
        return UNROLL_RESOURCE;
    p->buffer[joined].size[2] = p->buffer[joined].whole[2] = l->input;
    p->buffer[joined].wants_gradient = true;
    for (int i = 0; i < l->sources; i++) {
        struct op op = op_new(OP_COPY, PHASE_FORWARD, layer + 1);
        uint32_t width = model_source(p->model, l->source[i]);
        op.view[COPY_FROM] = view_of(p, given[l->source[i] + 1], READ);
        op.view[COPY_TO] = view_of(p, joined, WRITE);
        view_narrow(p, &op.view[COPY_TO], AX_K, first, width);
        TRY(plan_push(p, &op));
        first += width;
    }
    *x = joined;
    return UNROLL_OK;
}

static unroll_status lower_layer(struct plan *p, int layer, int input, int *given)
{
    const struct layer_lowering *lowering;
    char name[32];
    int x, y;
    TRY(lower_sources(p, layer, input, given, &x));
    TRY(lowering_find(p->model->layer[layer].kind->name, &lowering));
    TRY(lowering->lower(p, layer, x, &y));
    snprintf(name, sizeof name, "dropped.l%d", layer);
    TRY(lower_dropout(p, p->model->layer[layer].dropout, name, layer, &y));
    given[layer + 1] = y;
    return UNROLL_OK;
}

unroll_status pass_lower(struct plan *p)
{
    int input, given[MODEL_LAYERS_MAX + 1]; /* the buffers of the input and of each layer's results */
    TRY(lower_parameters(p));
    TRY(lower_values(p));
    TRY(lower_input(p, &input, &given[0]));
    for (int layer = 0; layer < p->model->layers; layer++) TRY(lower_layer(p, layer, input, given));
    return lower_loss(p, given[p->model->layers]);
}
