/* Lowers a plan to a program: operations become acts, buffers become vectors. At the end, vectors are assigned to
 * shared memory. program_pointwise.c has recurrent layers and activations. */
#include "model/layer_kind.h"
#include "stream/program/program.h"
#include "base/memory.h"
#include "base/status.h"
#include "plan/ir/plan.h"
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---------------------------------------------------------------------------- */

static void word_of_c(char *to, size_t size, const char *name)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++, n++) to[n] = letter_of_c(*name);
    to[n] = '\0';
}

unroll_status program_add_vector(struct program *p, const char *name, uint32_t size, enum place place, int *index)
{
    if (p->vectors == (int)(sizeof p->vector / sizeof *p->vector))
        return fail(UNROLL_UNSUPPORTED,
                    "the model needs more than %d vectors, too many for an export; fix: use fewer layers", p->vectors);
    struct vector *v = &p->vector[p->vectors];
    *v = (struct vector){.size = size, .place = place, .first = -1, .last = -1};
    word_of_c(v->name, sizeof v->name, name);
    *index = p->vectors++;
    return UNROLL_OK;
}

unroll_status program_push(struct program *p, const struct act *act)
{
    if (p->acts == (int)(sizeof p->act / sizeof *p->act))
        return fail(UNROLL_UNSUPPORTED,
                    "the model needs more than %d operations per step, too many for an export; fix: use fewer layers",
                    p->acts);
    p->act[p->acts++] = *act;
    return UNROLL_OK;
}

int program_matrix(struct program *p, enum parameter_role role, int layer)
{
    int found = model_find(p->model, role, layer, 0);
    if (found < 0)
        return -1;
    const struct parameter *q = &p->model->parameter[found];
    for (int i = 0; i < p->matrices; i++)
        if (p->matrix[i].parameter == q)
            return i;
    uint32_t width = q->size[q->rank - 1];
    p->matrix[p->matrices] = (struct matrix){
        .parameter = q, .values = parameter_values(p, q), .rows = (uint32_t)(q->count / width), .width = width};
    return p->matrices++;
}

/* ---- from the plan --------------------------------------------------------------------- */

/* The vector of each buffer; for results of products, also its 16-bit copy as an operand. */
struct lowering {
    struct program *p;
    const struct plan *plan;
    int *vector, *operand;
};

/* Returns the offset of a view, in numbers. All axes but the last two have size 1, so views are contiguous. */
static uint32_t view_first(const struct lowering *l, const struct view *view)
{
    const struct buffer *b = &l->plan->buffer[view->buffer];
    uint32_t first = 0;
    for (int i = 0; i < b->rank; i++) first = first * b->size[i] + view->first[i];
    return first;
}

static uint32_t buffer_size(const struct buffer *b)
{
    uint32_t size = 1;
    for (int i = 0; i < b->rank; i++) size *= b->size[i];
    return size;
}

static unroll_status vector_of(struct lowering *l, int buffer, enum place place, int *index)
{
    if (l->vector[buffer] == ABSENT_VECTOR)
        TRY(program_add_vector(l->p, l->plan->buffer[buffer].name, buffer_size(&l->plan->buffer[buffer]), place,
                               &l->vector[buffer]));
    *index = l->vector[buffer];
    return UNROLL_OK;
}

/* Returns the vector that products read. */
static unroll_status operand_of(struct lowering *l, int buffer, int *index)
{
    TRY(vector_of(l, buffer, PLACE_WORK, index));
    const struct vector *v = &l->p->vector[*index];
    if (!l->p->is_integer || !v->is_sum)
        return UNROLL_OK;
    if (l->operand[buffer] == ABSENT_VECTOR) {
        char name[sizeof v->name + 8];
        snprintf(name, sizeof name, "%s_short", v->name);
        uint32_t size = v->size;
        TRY(program_add_vector(l->p, name, size, PLACE_WORK, &l->operand[buffer]));
        TRY(program_push(
            l->p,
            &(struct act){
                .kind = ACT_COPY, .layer = -1, .from = *index, .matrix = -1, .to = l->operand[buffer], .count = size}));
    }
    *index = l->operand[buffer];
    return UNROLL_OK;
}

static const struct parameter *parameter_of(const struct lowering *l, const struct view *view)
{
    if (view->access == NONE)
        return NULL;
    return &l->p->model->parameter[l->plan->buffer[view->buffer].parameter];
}

/* A row of the table, or a one-hot vector. */
static unroll_status lower_embed(struct lowering *l, const struct op *op)
{
    const struct parameter *table = parameter_of(l, &op->view[EMBED_TABLE]);
    const struct view *to = &op->view[EMBED_OUT];
    struct act act = {.kind = ACT_EMBED, .layer = -1, .from = ABSENT_VECTOR, .matrix = -1};
    TRY(vector_of(l, to->buffer, PLACE_WORK, &act.to));
    act.to_first = view_first(l, to);
    act.count = to->count[2];
    if (table)
        act.matrix = program_matrix(l->p, PARAM_EMBEDDING, table->layer);
    for (int i = 0; table && i < table->layer; i++) act.token += l->p->model->inputs[i].tokens > 0;
    return program_push(l->p, &act);
}

/* A product with a vector, or a column per token. */
static unroll_status lower_product(struct lowering *l, const struct op *op)
{
    const struct view *y = &op->view[GEMM_Y];
    const struct parameter *w = parameter_of(l, &op->view[GEMM_W]);
    const bool gathers_columns = op->kind == OP_GATHER_COLUMNS;
    struct act act = {.kind = gathers_columns ? ACT_COLUMN : ACT_PRODUCT,
                      .layer = op->depth - 1,
                      .from = ABSENT_VECTOR,
                      .bias = parameter_of(l, &op->view[GEMM_BIAS]),
                      .matrix = program_matrix(l->p, w->role, w->layer)};
    if (!gathers_columns)
        TRY(operand_of(l, op->view[GEMM_X].buffer, &act.from));
    TRY(vector_of(l, y->buffer, PLACE_WORK, &act.to));
    struct matrix *m = &l->p->matrix[act.matrix];
    l->p->vector[act.to].is_sum = true;
    act.to_first = view_first(l, y);
    act.count = m->rows;
    m->by_columns = gathers_columns;
    return program_push(l->p, &act);
}

/* The old state, the new state and the output are one vector: a step reads it, then writes it. */
static unroll_status lower_rnn(struct lowering *l, const struct op *op)
{
    const struct view *view = op->view;
    struct recurrence r = {.layer = op->depth - 1, .others = ABSENT_VECTOR};
    TRY(vector_of(l, view[RNN_G].buffer, PLACE_WORK, &r.sums));
    l->p->vector[r.sums].is_sum = true;
    TRY(vector_of(l, view[RNN_H0].buffer, PLACE_STATE, &r.h));
    snprintf(l->p->vector[r.h].name, sizeof l->p->vector->name, "h_l%d", r.layer);
    l->vector[view[RNN_Y].buffer] = l->vector[view[RNN_HN].buffer] = r.h;
    if (view[RNN_S0].access != NONE) {
        TRY(vector_of(l, view[RNN_S0].buffer, PLACE_STATE, &r.others));
        snprintf(l->p->vector[r.others].name, sizeof l->p->vector->name, "s_l%d", r.layer);
        l->vector[view[RNN_SN].buffer] = r.others;
    }
    return program_add_recurrence(l->p, &r);
}

static unroll_status lower_activate(struct lowering *l, const struct op *op)
{
    int from, to;
    TRY(vector_of(l, op->view[ACTIVATE_X].buffer, PLACE_WORK, &from));
    TRY(vector_of(l, op->view[ACTIVATE_Y].buffer, PLACE_WORK, &to));
    if (op->activation.kind != ACTIVATION_SOFTMAX)
        return program_add_activation(l->p, op->depth - 1, from, to);
    return program_push(l->p, &(struct act){.kind = ACT_SOFTMAX,
                                            .layer = op->depth - 1,
                                            .from = from,
                                            .to = to,
                                            .matrix = -1,
                                            .count = l->p->vector[to].size});
}

/* Integers cannot have a mean: the sum of any number of steps would overflow. */
static unroll_status lower_pool(struct lowering *l, const struct op *op)
{
    struct act act = {.kind = ACT_POOL, .layer = op->depth - 1, .matrix = -1, .is_mean = op->choice == POOL_MEAN};
    if (l->p->is_integer && act.is_mean)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d ('%s'): the sums of a pool 'mean' do not fit in integers; fix: set `dtype` fp32, or use the "
            "pool 'max' or 'last'",
            act.layer, l->p->model->layer[act.layer].name);
    TRY(operand_of(l, op->view[POOL_X].buffer, &act.from));
    TRY(vector_of(l, op->view[POOL_Y].buffer, PLACE_WORK, &act.to));
    TRY(vector_of(l, op->view[POOL_STATE].buffer, PLACE_STATE, &act.state));
    snprintf(l->p->vector[act.state].name, sizeof l->p->vector->name, "pool_l%d", act.layer);
    act.count = l->p->vector[act.to].size;
    return program_push(l->p, &act);
}

static unroll_status lower_copy(struct lowering *l, const struct op *op)
{
    struct act act = {.kind = ACT_COPY, .layer = op->depth - 1, .matrix = -1};
    TRY(vector_of(l, op->view[COPY_FROM].buffer, PLACE_WORK, &act.from));
    TRY(vector_of(l, op->view[COPY_TO].buffer, PLACE_WORK, &act.to));
    act.to_first = view_first(l, &op->view[COPY_TO]);
    act.count = l->p->vector[act.from].size;
    return program_push(l->p, &act);
}

static unroll_status lower_op(struct lowering *l, const struct op *op)
{
    static unroll_status (*const forms[OP_KIND_MAX])(struct lowering *, const struct op *) = {
        [OP_EMBED] = lower_embed, [OP_GEMM] = lower_product,      [OP_GATHER_COLUMNS] = lower_product,
        [OP_RNN] = lower_rnn,     [OP_ACTIVATE] = lower_activate, [OP_COPY] = lower_copy,
        [OP_POOL] = lower_pool,
    };
    const struct layer *layer = &l->p->model->layer[op->depth ? op->depth - 1 : 0];
    if (!forms[op->kind] || (op->kind == OP_COPY && op->view[COPY_TO].access == ADD))
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d ('%s'): exported C does not support '%s' as layer '%s' needs it; fix: use another format (`to` "
            "onnx)",
            op->depth - 1, layer->name, kind_info(op->kind)->name, layer->kind->name);
    return forms[op->kind](l, op);
}

/* ---- input and output ------------------------------------------------------------------- */

/* Adds the caller's floats as input; integer programs convert them. */
static unroll_status begin_program(struct lowering *l)
{
    struct program *p = l->p;
    int x = plan_find_buffer(l->plan, "x");
    p->input = ABSENT_VECTOR;
    p->tokens = model_token_columns(p->model);
    if (x < 0)
        return UNROLL_OK;
    TRY(program_add_vector(p, "x", buffer_size(&l->plan->buffer[x]), PLACE_CALLER, &p->input));
    l->vector[x] = p->input;
    if (!p->is_integer)
        return UNROLL_OK;
    TRY(program_add_vector(p, "x_short", p->vector[p->input].size, PLACE_WORK, &l->vector[x]));
    return program_push(p, &(struct act){.kind = ACT_ENTER,
                                         .layer = -1,
                                         .from = p->input,
                                         .to = l->vector[x],
                                         .matrix = -1,
                                         .count = p->vector[p->input].size});
}

/* Adds the output. Results are written directly to the caller's memory if possible. */
static unroll_status end_program(struct lowering *l)
{
    struct program *p = l->p;
    char name[32];
    const int from = l->vector[plan_find_buffer(l->plan, model_results(p->model, name))];
    if (!p->is_integer && p->vector[from].place == PLACE_WORK) {
        p->vector[from].place = PLACE_CALLER;
        strcpy(p->vector[from].name, "y");
        p->output = from;
        return UNROLL_OK;
    }
    TRY(program_add_vector(p, "y", p->vector[from].size, PLACE_CALLER, &p->output));
    return program_push(p, &(struct act){.kind = ACT_LEAVE,
                                         .layer = -1,
                                         .from = from,
                                         .to = p->output,
                                         .matrix = -1,
                                         .count = p->vector[from].size});
}

/* Checks that only the last layer is an output and that all weights are finite. */
static unroll_status check_model(const struct unroll_model *m)
{
    for (int i = 0; i + 1 < m->layers; i++)
        if (m->layer[i].is_output)
            return fail(UNROLL_UNSUPPORTED,
                        "layer %d ('%s') is an additional output of the network, but exported C returns only the "
                        "last layer; fix: use a network with the last layer as its only output",
                        i, m->layer[i].name);
    for (int i = 0; i < m->parameters; i++)
        for (size_t k = 0; k < m->parameter[i].count; k++)
            if (!((m->values + m->parameter[i].first)[k] - (m->values + m->parameter[i].first)[k] == 0))
                return fail(
                    UNROLL_DATA,
                    "'%s' contains NaN or infinity at index %zu, so the model was not exported; fix: train it again "
                    "with a lower learning rate",
                    m->parameter[i].name, k);
    return UNROLL_OK;
}

/* Lowers the forward operations of the plan. */
static unroll_status lower_plan(struct program *p, const struct plan *plan)
{
    struct lowering l = {.p = p, .plan = plan};
    l.vector = allocate_zeroed((size_t)plan->buffers, 2 * sizeof *l.vector);
    if (!l.vector)
        return fail(UNROLL_RESOURCE, "no memory to export a model of %d buffers", plan->buffers);
    l.operand = l.vector + plan->buffers;
    for (int i = 0; i < 2 * plan->buffers; i++) l.vector[i] = ABSENT_VECTOR;
    unroll_status status = begin_program(&l);
    for (int i = plan->phase[PHASE_FORWARD].first; i < plan->phase[PHASE_FORWARD].end && status == UNROLL_OK; i++)
        status = lower_op(&l, &plan->op[i]);
    if (status == UNROLL_OK)
        status = end_program(&l);
    release(l.vector);
    return status;
}

/* ---- memory ---------------------------------------------------------------------------- */

static void use(struct program *p, int vector, int act)
{
    if (vector == ABSENT_VECTOR)
        return;
    struct vector *v = &p->vector[vector];
    v->first = v->first < 0 ? act : v->first;
    v->last = act;
}

static void use_all(struct program *p)
{
    for (int i = 0; i < p->vectors; i++) p->vector[i].first = p->vector[i].last = -1;
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        use(p, a->kind == ACT_COLUMN ? ABSENT_VECTOR : a->from, i);
        use(p, a->to, i);
        for (int k = 0; a->pointwise && k < a->pointwise->inputs; k++) use(p, a->pointwise->input[k].vector, i);
        for (int k = 0; a->pointwise && k < a->pointwise->results; k++) use(p, a->pointwise->result[k].vector, i);
    }
}

static bool together(const struct program *p, const struct vector *a, const struct vector *b)
{
    return b->place == PLACE_WORK && b->first >= 0 && vector_pool(p, a) == vector_pool(p, b) && a->first <= b->last &&
           b->first <= a->last;
}

/* Returns the lowest offset at which the vector overlaps no vector used at the same time. Vectors before it are placed
 * already. */
static uint32_t lowest_place(const struct program *p, int vector)
{
    const struct vector *v = &p->vector[vector];
    uint32_t offset = 0;
    for (int i = 0; i < vector; i++) {
        const struct vector *other = &p->vector[i];
        if (together(p, v, other) && offset < other->offset + other->size && other->offset < offset + v->size) {
            offset = other->offset + other->size;
            i = -1; /* it may now overlap one already checked */
        }
    }
    return offset;
}

/* Computes lifetimes and places the vectors. */
static void place_vectors(struct program *p)
{
    use_all(p);
    for (int i = 0; i < p->vectors; i++) {
        struct vector *v = &p->vector[i];
        if (v->place != PLACE_WORK || v->first < 0)
            continue;
        v->offset = lowest_place(p, i);
        uint32_t *pool = &p->work[vector_pool(p, v)];
        *pool = *pool > v->offset + v->size ? *pool : v->offset + v->size;
    }
}

/* ---- all -------------------------------------------------------------------------------- */

unroll_status program_new(const struct unroll_model *model, bool is_integer, struct program **program)
{
    struct plan_config config = plan_config_default();
    struct plan *plan;
    if (!model)
        return fail(UNROLL_USAGE, "an export needs a model; fix: give one");
    TRY(check_model(model));
    TRY(plan_streaming(model, &config, &plan));
    struct program *p = allocate_zeroed(1, sizeof *p);
    unroll_status status = p ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a program");
    if (p) {
        p->model = model;
        p->is_integer = is_integer;
        status = lower_plan(p, plan);
    }
    plan_free(plan);
    if (status != UNROLL_OK) {
        program_free(p);
        return status;
    }
    place_vectors(p);
    *program = p;
    return UNROLL_OK;
}

void program_free(struct program *p)
{
    for (int i = 0; p && i < p->acts; i++) {
        if (p->act[i].pointwise)
            release(p->act[i].pointwise->record);
        release(p->act[i].pointwise);
        release(p->act[i].multiplier);
        release(p->act[i].bias_q);
    }
    for (int i = 0; p && i < p->matrices; i++) {
        release(p->matrix[i].q);
        release(p->matrix[i].scale);
    }
    release(p);
}
