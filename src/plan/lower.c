/* The first pass: a model becomes the forward list, on whole tensors, as if one machine with one
 * memory and one thread would run it. No cut, no chunk, no backward, no address. */
#include "cells/thirds.h"
#include "plan/plan.h"
#include <stdio.h>
#include <string.h>

/* ---- buffers --------------------------------------------------------------------------- */

struct shape { int rank; enum axis axis[BUFFER_AXES]; uint32_t size[BUFFER_AXES]; };

static int add(struct plan *p, const char *name, enum dtype dtype, enum segment segment, struct shape s)
{
    return plan_add_buffer(p, name, dtype, segment, s.rank, s.axis, s.size);
}

#define SHAPE1(a, n)                   (struct shape){ 1, { a }, { n } }
#define SHAPE2(a, n, b, m)             (struct shape){ 2, { a, b }, { n, m } }
#define SHAPE3(a, n, b, m, c, k)       (struct shape){ 3, { a, b, c }, { n, m, k } }
#define SHAPE4(a, n, b, m, c, k, d, l) (struct shape){ 4, { a, b, c, d }, { n, m, k, l } }

static struct shape parameter_shape(const struct parameter *q)
{
    static const enum axis axes[][3] = {
        [PARAM_EMBEDDING] = { AX_K, AX_K },       [PARAM_W_IH] = { AX_G, AX_U, AX_K },
        [PARAM_W_HH] = { AX_G, AX_U, AX_K },      [PARAM_B_IH] = { AX_G, AX_U },
        [PARAM_B_HH] = { AX_G, AX_U },            [PARAM_VECTOR] = { AX_G, AX_U },
        [PARAM_W_HR] = { AX_K, AX_U },            [PARAM_W_DENSE] = { AX_K, AX_K },
        [PARAM_B_DENSE] = { AX_K },
    };
    struct shape s = { .rank = q->rank };
    for (int i = 0; i < q->rank; i++) {
        s.axis[i] = axes[q->role][i];
        s.size[i] = q->size[i];
    }
    return s;
}

static bool is_narrow(const struct plan *p)
{
    return p->config.weights == DTYPE_BF16 || p->config.weights == DTYPE_I8;
}

static unroll_status add_copy(struct plan *p, int master, enum layout layout)
{
    struct buffer *b = &p->buffer[master];
    char name[sizeof b->name + 8];
    snprintf(name, sizeof name, "%s.packed", b->name);
    enum dtype dtype = is_narrow(p) ? p->config.weights : b->dtype;
    if (dtype == DTYPE_I8 && b->size[b->rank - 1] > MOST_INT8_PRODUCTS)
        return fail(UNROLL_UNSUPPORTED, "'%s' has rows of %u numbers: sums of more than %d products of int8 may "
                    "overflow; fix: weights in bf16", b->name, b->size[b->rank - 1], MOST_INT8_PRODUCTS);
    int copy = plan_add_buffer(p, name, dtype, SEG_COPY, b->rank, b->axis, b->size);
    if (copy < 0)
        return UNROLL_RESOURCE;
    p->buffer[copy].layout = layout;
    p->buffer[copy].copy_of = master;
    return UNROLL_OK;
}

/* Gradients of weights have a shard axis in front: [S, ..]. Each use of a shared weight is summed apart,
 * so that the order of a sum does not depend on how the uses take turns. */
static int add_weight_sum(struct plan *p, int master, const char *prefix, struct shape s)
{
    char name[sizeof p->buffer->name + 16];
    snprintf(name, sizeof name, "%s.%s", prefix, p->buffer[master].name);
    memmove(s.axis + 1, s.axis, (BUFFER_AXES - 1) * sizeof *s.axis);
    memmove(s.size + 1, s.size, (BUFFER_AXES - 1) * sizeof *s.size);
    s.rank++;
    s.axis[0] = AX_S;
    s.size[0] = p->config.shards;
    int sum = add(p, name, p->config.real, SEG_GRAD, s);
    if (sum >= 0)
        p->buffer[sum].parameter = p->buffer[master].parameter;
    return sum;
}

static unroll_status add_parameter_gradient(struct plan *p, int master, const struct parameter *q, struct shape s)
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

static unroll_status add_optimizer_states(struct plan *p, int master, struct shape s)
{
    for (int i = 0; i < p->config.optimizer_states; i++) {
        char name[sizeof p->buffer->name + 16];
        snprintf(name, sizeof name, "%s.opt%d", p->buffer[master].name, i);
        int state = add(p, name, p->config.real, SEG_OPT, s);
        if (state < 0)
            return UNROLL_RESOURCE;
        p->buffer[state].parameter = p->buffer[master].parameter;
    }
    return UNROLL_OK;
}

/* All parameters in model order, first of all: so their offsets are the same in every plan. */
static unroll_status lower_parameters(struct plan *p)
{
    for (int i = 0; i < p->model->parameters; i++) {
        const struct parameter *q = &p->model->parameter[i];
        struct shape s = parameter_shape(q);
        int master = add(p, q->name, p->config.real, SEG_PARAM, s);
        if (master < 0)
            return UNROLL_RESOURCE;
        p->buffer[master].parameter = i;
        p->buffer[master].wants_gradient = true;
        if (p->config.packed && model_multiplies(p->model, q))
            TRY(add_copy(p, master, q->role == PARAM_W_HH || fold_wanted(p, q) ? LAYOUT_GATES : LAYOUT_PANELS));
        if (p->config.mode >= MODE_TRAIN)
            TRY(add_parameter_gradient(p, master, q, s));
        if (p->config.mode == MODE_TRAIN)
            TRY(add_optimizer_states(p, master, s));
    }
    return UNROLL_OK;
}

/* The buffer of a parameter, or -1 where the model has none. */
static int master_of(const struct plan *p, enum parameter_role role, int layer, int direction)
{
    int i = model_find(p->model, role, layer, direction);
    return i < 0 ? -1 : plan_find_buffer(p, p->model->parameter[i].name);
}

/* What a forward product reads: the packed copy where there is one. */
static int forward_weight(const struct plan *p, int master)
{
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].copy_of == master && master >= 0)
            return i;
    return master;
}

static unroll_status lower_values(struct plan *p)
{
    const struct plan_config *c = &p->config;
    bool enough =
        add(p, "run", DTYPE_I64, SEG_VALUES, SHAPE1(AX_K, 8)) >= 0 &&
        add(p, "rates", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 16)) >= 0 &&
        add(p, "loss_sum", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 1)) >= 0 &&
        add(p, "weight_sum", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, 1)) >= 0 &&
        add(p, "norms", DTYPE_F64, SEG_VALUES, SHAPE1(AX_K, (uint32_t)p->model->parameters)) >= 0 &&
        (!c->lengths || add(p, "lengths", DTYPE_I32, SEG_IO, SHAPE1(AX_B, c->B)) >= 0) &&
        (!c->resets || add(p, "reset", DTYPE_U8, SEG_IO, SHAPE2(AX_T, c->T, AX_B, c->B)) >= 0);
    return enough ? UNROLL_OK : UNROLL_RESOURCE;
}

static struct view read_named(const struct plan *p, const char *name)
{
    return view_of(p, plan_find_buffer(p, name), READ);
}

/* ---- operations ------------------------------------------------------------------------ */

/* Can products with one-hot rows pick columns of weights? A layer that reads the input beside other sources needs the
 * rows themselves, and of few symbols steps of a recurrence multiply them (fold_wanted). */
static bool picks(const struct plan *p)
{
    const uint32_t symbols = model_input(p->model);
    bool alone = true;
    for (int i = 0; i < p->model->layers; i++)
        for (int k = 0; k < p->model->layer[i].sources; k++)
            alone &= p->model->layer[i].sources == 1 || p->model->layer[i].source[k] >= 0;
    return p->config.picks && !is_narrow(p) && master_of(p, PARAM_EMBEDDING, 0, 0) < 0 && alone &&
           symbols > p->config.narrow && symbols <= MOST_PICKED;
}

/* The product of what a layer reads. */
static struct op product_of(const struct plan *p, int x, int layer)
{
    struct op op = op_new(p->buffer[x].dtype == DTYPE_I32 ? OP_PICK : OP_GEMM, PART_FORWARD, layer + 1);
    op.view[GEMM_X] = view_of(p, x, READ);
    return op;
}

/* Tokens or vectors; gives the buffer that the first layer reads. */
static unroll_status lower_input(struct plan *p, int *x)
{
    const struct plan_config *c = &p->config;
    uint32_t width = model_input(p->model);
    if (!p->model->tokens) {
        *x = add(p, "x", c->real, SEG_IO, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, width));
        if (*x >= 0)
            p->buffer[*x].wants_gradient = c->input_gradient;
        return *x < 0 ? UNROLL_RESOURCE : UNROLL_OK;
    }
    int tokens = add(p, "tokens", DTYPE_I32, SEG_IO, SHAPE2(AX_T, c->T, AX_B, c->B));
    if (tokens >= 0 && picks(p)) {
        *x = tokens;
        return UNROLL_OK;
    }
    *x = add(p, "embedded", c->real, SEG_STEP, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, width));
    if (tokens < 0 || *x < 0)
        return UNROLL_RESOURCE;
    struct op op = op_new(OP_EMBED, PART_FORWARD, 0);
    int table = master_of(p, PARAM_EMBEDDING, 0, 0);
    op.view[EMBED_TOKENS] = view_of(p, tokens, READ);
    op.view[EMBED_TABLE] = view_of(p, table, READ);
    op.view[EMBED_OUT] = view_of(p, *x, WRITE);
    p->buffer[*x].wants_gradient = table >= 0;
    return plan_push(p, &op);
}

/* The buffers of one direction of one layer. */
struct layer_buffers { int g, s, link, m, h0, s0, hn, sn, scratch; };

static int optional(struct plan *p, bool wanted, const char *name, enum segment segment, struct shape s, bool *ok)
{
    if (!wanted || !*ok)
        return -1;
    int made = add(p, name, p->config.real, segment, s);
    *ok = made >= 0;
    return made;
}

/* Planes of `width` numbers a row for the gradients of all sums of a step; as left factors where those are wanted. */
static uint32_t gathered_planes(const struct plan *p, const struct cell_declaration *cell, uint32_t U, uint32_t width)
{
    const uint32_t inputs = (uint32_t)cell->inputs;
    const size_t left = inputs * thirds_steps(U) * LEFT_ROW / (width * sizeof(float)) + 2;
    return p->thirds && left > inputs + 1 ? (uint32_t)left : inputs + 1;
}

static unroll_status add_layer_buffers(struct plan *p, int layer, int direction, struct layer_buffers *l)
{
    const struct plan_config *c = &p->config;
    const struct layer *described = &p->model->layer[layer];
    const struct cell_declaration *cell = described->cell;
    uint32_t T = c->T, B = c->B, U = described->hidden, K = described->width;
    uint32_t others = (uint32_t)cell->states - 1, links = (uint32_t)cell->links;
    bool keeps = c->mode >= MODE_TRAIN, ok = true;      /* the backward needs more, and more scratch */
    uint32_t gathered = keeps ? 2 * gathered_planes(p, cell, U, K > U ? K : U) : 0;
    char name[32];
#define NAMED(prefix) (snprintf(name, sizeof name, prefix ".l%d%s", layer, direction ? ".reverse" : ""), name)
    l->g  = optional(p, true, NAMED("g"), SEG_STEP,
                     SHAPE4(AX_T, T, AX_B, B, AX_G, (uint32_t)cell->inputs, AX_U, U), &ok);
    l->s  = optional(p, others && keeps, NAMED("s"), SEG_STEP, SHAPE4(AX_T, T, AX_B, B, AX_G, others, AX_U, U), &ok);
    l->link = optional(p, links && keeps, NAMED("link"), SEG_STEP,
                       SHAPE4(AX_T, T, AX_B, B, AX_G, links, AX_K, K), &ok);  /* whole: an operand */
    l->m  = optional(p, described->projection && keeps, NAMED("m"), SEG_STEP,
                     SHAPE3(AX_T, T, AX_B, B, AX_U, U), &ok);
    l->h0 = optional(p, true, NAMED("h0"), SEG_CARRY, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->s0 = optional(p, others, NAMED("s0"), SEG_CARRY, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    l->hn = optional(p, true, NAMED("hn"), SEG_IO, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->sn = optional(p, others, NAMED("sn"), SEG_IO, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    uint32_t planes = (keeps ? 4 : 2) * (others + 1) + links + 2;       /* as device/cpu/rnn.h says */
    l->scratch = optional(p, true, NAMED("scratch"), SEG_SCRATCH,
                          SHAPE3(AX_G, planes + gathered, AX_B, B, AX_K, K > U ? K : U), &ok);
#undef NAMED
    if (!ok)
        return UNROLL_RESOURCE;
    p->buffer[l->g].wants_gradient = true;
    p->buffer[l->g].gradient = l->g;                    /* pre-activations -> saved -> their gradients */
    p->buffer[l->h0].wants_gradient = p->buffer[l->hn].wants_gradient = true;
    if (others)
        p->buffer[l->s0].wants_gradient = p->buffer[l->sn].wants_gradient = true;
    return UNROLL_OK;
}

/* The input product: all gates that see x, for all steps at once. */
static unroll_status lower_input_product(struct plan *p, int layer, int direction, int x, int g)
{
    struct op op = product_of(p, x, layer);
    op.view[GEMM_W] = view_of(p, forward_weight(p, master_of(p, PARAM_W_IH, layer, direction)), READ);
    op.view[GEMM_BIAS] = view_of(p, master_of(p, PARAM_B_IH, layer, direction), READ);
    op.view[GEMM_Y] = view_of(p, g, WRITE);
    op.view[GEMM_LENGTHS] = read_named(p, "lengths");
    view_narrow(p, &op.view[GEMM_Y], AX_G, 0, (uint32_t)cell_inputs_from(p->model->layer[layer].cell, FROM_X));
    op.direction = direction;
    return plan_push(p, &op);
}

static unroll_status lower_recurrence(struct plan *p, int layer, int direction, int y, const struct layer_buffers *l)
{
    struct op op = op_new(OP_RNN, PART_FORWARD, layer + 1);
    uint32_t K = p->model->layer[layer].width, before = (uint32_t)(direction - p->model->layer[layer].first_direction);
    op.direction = direction;
    op.view[RNN_G] = view_of(p, l->g, UPDATE);
    op.view[RNN_W] = view_of(p, forward_weight(p, master_of(p, PARAM_W_HH, layer, direction)), READ);
    op.view[RNN_BIAS] = view_of(p, master_of(p, PARAM_B_HH, layer, direction), READ);
    op.view[RNN_VECTOR] = view_of(p, master_of(p, PARAM_VECTOR, layer, direction), READ);
    op.view[RNN_PROJ] = view_of(p, master_of(p, PARAM_W_HR, layer, direction), READ);
    op.view[RNN_H0] = view_of(p, l->h0, READ);
    op.view[RNN_S0] = view_of(p, l->s0, READ);
    op.view[RNN_Y] = view_of(p, y, WRITE);
    view_narrow(p, &op.view[RNN_Y], AX_K, before * K, K);
    op.view[RNN_S] = view_of(p, l->s, WRITE);
    op.view[RNN_LINK] = view_of(p, l->link, WRITE);
    op.view[RNN_M] = view_of(p, l->m, WRITE);
    op.view[RNN_LENGTHS] = read_named(p, "lengths");
    op.view[RNN_RESET] = read_named(p, "reset");
    op.view[RNN_SCRATCH] = view_of(p, l->scratch, WRITE);
    op.view[RNN_HN] = view_of(p, l->hn, WRITE);
    op.view[RNN_SN] = view_of(p, l->sn, WRITE);
    return plan_push(p, &op);
}

static unroll_status lower_dropout(struct plan *p, int layer, int *y)
{
    float probability = p->model->layer[layer].dropout;
    if (probability <= 0 || p->config.mode < MODE_TRAIN || p->config.no_dropout)
        return UNROLL_OK;
    char name[32];
    snprintf(name, sizeof name, "dropped.l%d", layer);
    int dropped = plan_add_like(p, name, SEG_STEP, *y);
    if (dropped < 0)
        return UNROLL_RESOURCE;
    p->buffer[dropped].wants_gradient = true;
    struct op op = op_new(OP_DROPOUT, PART_FORWARD, layer + 2);     /* with the layer that reads it */
    op.probability = probability;
    op.stream = layer;
    op.view[DROPOUT_X] = view_of(p, *y, READ);
    op.view[DROPOUT_RUN] = read_named(p, "run");
    op.view[DROPOUT_LENGTHS] = read_named(p, "lengths");
    op.view[DROPOUT_Y] = view_of(p, dropped, WRITE);
    *y = dropped;
    return plan_push(p, &op);
}

/* [T, B, width] of a layer, by its number: its results where the host may read them, else a step's. */
static int add_result(struct plan *p, const char *prefix, int layer, uint32_t width, bool is_output)
{
    const struct plan_config *c = &p->config;
    char name[32];
    snprintf(name, sizeof name, layer < 0 ? "%s" : "%s.l%d", prefix, layer);
    bool for_host = is_output && (c->mode == MODE_INFER || c->mode == MODE_MODULE);
    int made = add(p, name, c->real, for_host ? SEG_IO : SEG_STEP, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, width));
    if (made >= 0)
        p->buffer[made].wants_gradient = true;
    return made;
}

static unroll_status lower_recurrent(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    *y = add_result(p, "y", layer, l->outputs, l->is_output);
    if (*y < 0)
        return UNROLL_RESOURCE;
    for (int direction = l->first_direction; direction < layer_end(l); direction++) {
        struct layer_buffers buffers;
        TRY(add_layer_buffers(p, layer, direction, &buffers));
        TRY(lower_input_product(p, layer, direction, x, buffers.g));
        TRY(lower_recurrence(p, layer, direction, *y, &buffers));
    }
    return UNROLL_OK;
}

static unroll_status lower_activation(struct plan *p, int layer, int x, int y)
{
    struct op op = op_new(OP_ACTIVATE, PART_FORWARD, layer + 1);
    op.activation = p->model->layer[layer].activation;
    op.view[ACTIVATE_X] = view_of(p, x, READ);
    op.view[ACTIVATE_Y] = view_of(p, y, WRITE);
    return plan_push(p, &op);
}

/* The results of the network are "z", those of dense layers before it "y.lN"; what enters an activation is
 * kept for backward, "a.lN". */
static unroll_status lower_dense(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    bool last = layer + 1 == p->model->layers, linear = l->activation.kind == ACTIVATION_LINEAR;
    bool tied = p->model->tied && last;
    int master = tied ? master_of(p, PARAM_EMBEDDING, 0, 0) : master_of(p, PARAM_W_DENSE, layer, 0);
    *y = last ? add_result(p, "z", -1, l->outputs, true) : add_result(p, "y", layer, l->outputs, l->is_output);
    int sum = linear ? *y : add_result(p, "a", layer, l->outputs, false);
    if (*y < 0 || sum < 0)
        return UNROLL_RESOURCE;
    if (last && p->config.mode == MODE_TRAIN)
        p->buffer[*y].gradient = *y;                    /* the loss turns z into dz */
    struct op op = product_of(p, x, layer);
    op.use = tied;
    op.view[GEMM_W] = view_of(p, forward_weight(p, master), READ);
    op.view[GEMM_BIAS] = view_of(p, master_of(p, PARAM_B_DENSE, layer, 0), READ);
    op.view[GEMM_Y] = view_of(p, sum, WRITE);
    op.view[GEMM_LENGTHS] = read_named(p, "lengths");
    TRY(plan_push(p, &op));
    return linear ? UNROLL_OK : lower_activation(p, layer, sum, *y);
}

/* What the layer reads, `given` by the input (first) and the layers before it: several sources are copied
 * side by side. */
static unroll_status lower_sources(struct plan *p, int layer, const int *given, int *x)
{
    const struct layer *l = &p->model->layer[layer];
    *x = given[l->source[0] + 1];
    if (l->sources == 1)
        return UNROLL_OK;
    int joined = add_result(p, "x", layer, l->input, false);
    uint32_t first = 0;
    if (joined < 0)
        return UNROLL_RESOURCE;
    for (int i = 0; i < l->sources; i++) {
        struct op op = op_new(OP_COPY, PART_FORWARD, layer + 1);
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

static unroll_status lower_layer(struct plan *p, int layer, int *given)
{
    int x, y;
    TRY(lower_sources(p, layer, given, &x));
    if (p->model->layer[layer].kind == LAYER_DENSE)
        TRY(lower_dense(p, layer, x, &y));
    else
        TRY(lower_recurrent(p, layer, x, &y));
    TRY(lower_dropout(p, layer, &y));
    given[layer + 1] = y;
    return UNROLL_OK;
}

static unroll_status lower_loss(struct plan *p, int z)
{
    const struct plan_config *c = &p->config;
    const unroll_loss loss = p->model->loss;
    if (c->mode == MODE_INFER || c->mode == MODE_MODULE)
        return UNROLL_OK;
    if (loss == UNROLL_LOSS_NONE)
        return fail(UNROLL_USAGE, "the model has no loss (loss, output): it can be run, not trained or "
                    "evaluated; give it an output width and a loss");
    int target = loss == UNROLL_LOSS_XENT
        ? add(p, "targets", DTYPE_I32, SEG_IO, SHAPE2(AX_T, c->T, AX_B, c->B))
        : add(p, "targets", c->real, SEG_IO, SHAPE3(AX_T, c->T, AX_B, c->B, AX_K, (uint32_t)unroll_model_outputs(p->model)));
    if (target < 0)
        return UNROLL_RESOURCE;
    struct op op = op_new(OP_LOSS, PART_FORWARD, p->model->layers);
    op.choice = (int)loss;
    op.view[LOSS_Z] = view_of(p, z, UPDATE);
    op.view[LOSS_TARGET] = view_of(p, target, READ);
    op.view[LOSS_LENGTHS] = read_named(p, "lengths");
    op.view[LOSS_SUM] = view_of(p, plan_find_buffer(p, "loss_sum"), ADD);
    op.view[LOSS_WEIGHT] = view_of(p, plan_find_buffer(p, "weight_sum"), ADD);
    return plan_push(p, &op);
}

unroll_status pass_lower(struct plan *p)
{
    int given[MODEL_LAYERS_MAX + 1];                     /* the buffers of the input and of each layer's results */
    TRY(lower_parameters(p));
    TRY(lower_values(p));
    TRY(lower_input(p, &given[0]));
    for (int layer = 0; layer < p->model->layers; layer++)
        TRY(lower_layer(p, layer, given));
    return lower_loss(p, given[p->model->layers]);
}
