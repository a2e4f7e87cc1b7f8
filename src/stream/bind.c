/* Binds the operations of a streaming plan to calls with prepared addresses, and lays out their results in the stream.
 * The calls run in real time and make no system calls. Each kind of operation is a row of `forms`; a model with other
 * kinds is refused. */
#include "base/status.h"
#include "stream/stream.h"
#include <string.h>

/* ---- the calls -------------------------------------------------------------------------- */

/* Copies the table's row of each token. */
static void run_look_up(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++)
        memcpy(c->to.at + b * c->to.row, c->from.at + (size_t)c->token[b] * c->from.row, c->from.row * sizeof(float));
}

static void run_one_hot(const struct stream_call *c)
{
    memset(c->to.at, 0, c->rows * c->to.row * sizeof(float));
    for (size_t b = 0; b < c->rows; b++) c->to.at[b * c->to.row + (size_t)c->token[b]] = 1;
}

static void run_copy(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++)
        memcpy(c->to.at + b * c->to.row, c->from.at + b * c->from.row, c->width * sizeof(float));
}

static void run_add(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++)
        for (size_t i = 0; i < c->width; i++) c->to.at[b * c->to.row + i] += c->from.at[b * c->from.row + i];
}

static void run_activate(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++)
        c->isa->activate(&c->activation, c->from.at + b * c->from.row, c->to.at + b * c->to.row, c->width);
}

static float *row_of_fields(const struct fields *f, size_t b) { return (float *)f->at + b * f->row; }

/* A pool over all steps so far. `state` and `next` hold its accumulated values, then the number of steps as a float,
 * which stops at 2^24. The bits are those of a session with the same number of steps. */
static void run_mean(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++) {
        const float *x = c->from.at + b * c->from.row, *state = row_of_fields(&c->step.value.state, b);
        float *next = row_of_fields(&c->step.value.next, b), *y = c->to.at + b * c->to.row;
        const float steps = next[c->width] = state[c->width] + 1;
        for (size_t i = 0; i < c->width; i++) {
            next[i] = state[i] + x[i];
            y[i] = next[i] / steps;
        }
    }
}

static void run_max(const struct stream_call *c)
{
    for (size_t b = 0; b < c->rows; b++) {
        const float *x = c->from.at + b * c->from.row, *state = row_of_fields(&c->step.value.state, b);
        float *next = row_of_fields(&c->step.value.next, b), *y = c->to.at + b * c->to.row;
        const bool begins = state[c->width] == 0;
        next[c->width] = state[c->width] + 1;
        for (size_t i = 0; i < c->width; i++) next[i] = y[i] = begins || x[i] > state[i] ? x[i] : state[i];
    }
}

enum operand { OPERAND_X, OPERAND_H, OPERAND_INTERMEDIATE, OPERANDS };

/* Quantizes rows of k numbers to an operand for int8 weights. */
static void quantize(const struct stream_call *c, enum operand operand, const float *from, size_t row, size_t k)
{
    uint32_t *to = c->words + operand * c->operand;
    for (size_t b = 0; b < c->rows; b++) c->isa->quantize(from + b * row, k, to + b * operand_words(k));
}

static void run_product(const struct stream_call *c)
{
    if (c->words)
        quantize(c, OPERAND_X, c->from.at, c->from.row, c->product.k);
    c->multiply(&c->product);
}

/* A recurrence that is a single call of the kernel. */
static void run_step(const struct stream_call *c) { c->fused[0](&c->step); }

static void run_steps(const struct stream_call *c)
{
    const struct fused_step *step = &c->step;
    const struct fields *h = &step->value.state, *intermediate = &step->value.intermediate;
    if (c->words && step->of_x.at)
        quantize(c, OPERAND_X, c->from.at, c->from.row, step->of_x.k);
    if (c->words)
        quantize(c, OPERAND_H, h->at, h->row, step->of_h.k);
    c->fused[0](step);
    if (c->fused[1] && c->words)
        quantize(c, OPERAND_INTERMEDIATE, intermediate->at, intermediate->row, step->of_h.k);
    if (c->fused[1])
        c->fused[1](step);
}

/* h = P m, where the cell has stored m in place of h. */
static void run_projected(const struct stream_call *c)
{
    run_steps(c);
    memcpy(c->step.value.intermediate.at, c->to.at, c->rows * c->to.row * sizeof(float));
    c->multiply(&c->product);
}

/* ---- binding --------------------------------------------------------------------------- */

struct binder {
    const struct stream_plan *plan;
    const struct unroll_stream *s;
    const struct unroll_stream_weights *w;
};

static const struct layer *layer_of(const struct stream_plan *p, const struct op *op)
{
    return &p->plan->model->layer[op->depth - 1];
}

static const struct cell_kernels *cell_of(const struct stream_plan *p, const struct op *op)
{
    return cpu_isa_cell(p->isa, layer_of(p, op)->cell->name, p->weights.dtype, false);
}

/* Returns the rows of a view; for states, those after the step. */
static struct stream_rows rows_of(const struct binder *b, const struct view *v)
{
    if (v->buffer < 0)
        return (struct stream_rows){NULL, 0};
    const struct stream_array *a = &b->plan->array[v->buffer];
    if (stream_is_weight(b->plan, v->buffer))
        return (struct stream_rows){stream_at(b->w, a->at), a->row};
    struct stream_rows rows = stream_rows(b->s, a, 1);
    rows.at += v->first[b->plan->plan->buffer[v->buffer].rank - 1];
    return rows;
}

/* Returns the operand of a product with weights: floats, or bytes. */
static struct fused_operand operand_of(const struct stream_call *c, enum operand operand, const float *at, size_t row,
                                       size_t k)
{
    if (c->words)
        return (struct fused_operand){c->words + operand * c->operand, operand_words(k)};
    return (struct fused_operand){at, row};
}

/* A product [B, n] with weights in panels of length k. */
static struct product product_of(const struct stream_call *c, struct fused_operand x, size_t n, size_t k,
                                 enum dtype dtype, const float *w, const float *bias)
{
    return (struct product){.m = c->rows,
                            .n = n,
                            .k = k,
                            .a = x.at,
                            .a_row = x.row,
                            .a_col = 1,
                            .b = w,
                            .b_row = PANEL,
                            .b_panel = words_of(dtype, k) * PANEL,
                            .c = c->to.at,
                            .c_row = c->to.row,
                            .bias = bias,
                            .start = ZERO};
}

static void bind_product(const struct binder *b, const struct op *op, struct stream_call *c)
{
    const size_t k = b->plan->plan->buffer[op->view[GEMM_W].buffer].size[1];
    const float *w = rows_of(b, &op->view[GEMM_W]).at, *bias = rows_of(b, &op->view[GEMM_BIAS]).at;
    c->multiply = product_with(b->w->isa, b->w->dtype);
    c->product = product_of(c, operand_of(c, OPERAND_X, c->from.at, c->from.row, k), c->width, k, b->w->dtype, w, bias);
}

/* Returns the weights [G, U, K] and their biases; empty if they are absent. */
static struct fused_weights weights_of(const struct binder *b, const struct view *w, const struct view *bias)
{
    static const enum fused_word cells[] = {
        [DTYPE_F32] = FUSED_REAL, [DTYPE_BF16] = FUSED_BF16, [DTYPE_I8] = FUSED_INT8};
    if (w->buffer < 0)
        return (struct fused_weights){0};
    const struct buffer *of = &b->plan->plan->buffer[w->buffer];
    return (struct fused_weights){.at = rows_of(b, w).at,
                                  .k = of->size[2],
                                  .gates = of->size[0],
                                  .bias = rows_of(b, bias).at,
                                  .bias_gate = stream_padded(of->size[1]),
                                  .cell = cells[b->w->dtype]};
}

/* Every other step goes through the units backward. It starts with the weights that are still in a cache too small for
 * all of them. */
static void bind_recurrence(const struct binder *b, const struct op *op, struct stream_call *c)
{
    const struct layer *l = layer_of(b->plan, op);
    const size_t units = c->to.row, plane = c->rows * units;
    float *state = stream_rows(b->s, &b->plan->array[op->view[RNN_H0].buffer], 0).at;
    float *intermediate = rows_of(b, &op->view[RNN_SCRATCH]).at;
    const struct stream_rows sums =
        op->view[RNN_X].access ? (struct stream_rows){NULL, 0} : rows_of(b, &op->view[RNN_G]);
    memcpy(c->fused, cell_of(b->plan, op)->fused, sizeof c->fused);
    c->states = (size_t)l->cell->states;
    c->hidden = l->hidden;
    c->step = (struct fused_step){.rows = c->rows,
                                  .unit_end = units,
                                  .reverse = b->s->now,
                                  .options = l->options,
                                  .of_x = weights_of(b, &op->view[RNN_W_X], &op->view[RNN_BIAS_X]),
                                  .of_h = weights_of(b, &op->view[RNN_W], &op->view[RNN_BIAS]),
                                  .x = operand_of(c, OPERAND_X, c->from.at, c->from.row, l->input),
                                  .h = operand_of(c, OPERAND_H, state, units, l->width),
                                  .intermediate = operand_of(c, OPERAND_INTERMEDIATE, intermediate, units, l->width),
                                  .value = {.in = {sums.at, units, sums.row},
                                            .state = {state, plane, units},
                                            .next = {c->to.at, plane, units},
                                            .intermediate = {intermediate, plane, units},
                                            .vector = {rows_of(b, &op->view[RNN_VECTOR]).at, units, 0}}};
    c->run = l->projection ? run_projected : c->fused[1] || c->words ? run_steps : run_step;
    c->multiply = b->w->isa->product;
    c->product = product_of(c, (struct fused_operand){intermediate, units}, l->width, l->hidden, DTYPE_F32,
                            rows_of(b, &op->view[RNN_PROJ]).at, NULL);
}

static void bind_pool(const struct binder *b, const struct op *op, struct stream_call *c)
{
    const struct stream_array *a = &b->plan->array[op->view[POOL_STATE].buffer];
    const struct stream_rows state = stream_rows(b->s, a, 0), next = stream_rows(b->s, a, 1);
    c->run = op->choice == POOL_MEAN ? run_mean : run_max;
    c->states = 2;
    c->hidden = 1;
    c->step.value.state = (struct fields){state.at, c->width, state.row};
    c->step.value.next = (struct fields){next.at, c->width, next.row};
}

/* The view slots of input and output, and a function for further preparations. */
struct form {
    void (*run)(const struct stream_call *), (*run_adding)(const struct stream_call *);
    int from, to;
    void (*bind)(const struct binder *, const struct op *, struct stream_call *);
};

static const struct form forms[OP_KIND_MAX] = {
    [OP_EMBED] = {run_look_up, NULL, EMBED_TABLE, EMBED_OUT, NULL},
    [OP_GATHER_COLUMNS] = {run_look_up, NULL, GEMM_W, GEMM_Y, NULL},
    [OP_COPY] = {run_copy, run_add, COPY_FROM, COPY_TO, NULL},
    [OP_ACTIVATE] = {run_activate, NULL, ACTIVATE_X, ACTIVATE_Y, NULL},
    [OP_POOL] = {run_max, NULL, POOL_X, POOL_Y, bind_pool},
    [OP_GEMM] = {run_product, NULL, GEMM_X, GEMM_Y, bind_product},
    [OP_RNN] = {run_steps, NULL, RNN_X, RNN_Y, bind_recurrence},
};

/* Returns whether unroll_stream_read returns this result of a layer. */
static bool gives(const struct plan *p, const struct op *op, int buffer)
{
    char y[32];
    snprintf(y, sizeof y, "y.l%d", op->depth - 1);
    return op->depth && p->model->layer[op->depth - 1].is_output && plan_find_buffer(p, y) == buffer;
}

/* Returns the tokens that index the table, or NULL if the operation has none. */
static const int32_t *tokens_of(const struct binder *b, const struct op *op)
{
    const int buffer = op->kind == OP_EMBED ? op->view[EMBED_TOKENS].buffer : op->view[GEMM_X].buffer;
    const bool is_one = op->kind == OP_EMBED || op->kind == OP_GATHER_COLUMNS;
    return is_one ? stream_at(b->s, b->plan->array[buffer].at) : NULL;
}

/* Prepares the call of an operation for the current half of the states. */
static void bind_call(const struct binder *b, const struct op *op, struct stream_call *c)
{
    const struct plan *p = b->plan->plan;
    const struct form *form = &forms[op->kind];
    const struct view *from = &op->view[form->from], *to = &op->view[form->to];
    *c = (struct stream_call){.run = to->access == ADD ? form->run_adding : form->run,
                              .isa = b->w->isa,
                              .rows = b->s->rows,
                              .layer = gives(p, op, to->buffer) ? op->depth - 1 : -1,
                              .width = to->count[p->buffer[to->buffer].rank - 1],
                              .from = rows_of(b, from),
                              .to = rows_of(b, to),
                              .token = tokens_of(b, op),
                              .words = stream_at(b->s, b->s->words),
                              .operand = b->s->operand,
                              .activation = op->activation};
    if (op->kind == OP_EMBED && !from->access)
        c->run = run_one_hot;
    if (form->bind)
        form->bind(b, op, c);
}

void stream_bind(const struct stream_plan *p, struct unroll_stream *s)
{
    const struct binder b = {p, s, stream_weights(s)};
    struct stream_call *c = stream_at(s, s->call);
    for (int half = 0; half < 2; half++, s->now ^= 1)
        for (uint32_t i = 0; i < s->calls; i++)
            bind_call(&b, &p->plan->op[(uint32_t)p->plan->phase[PHASE_FORWARD].first + i], c++);
    s->place = s;
}

/* Updates the addresses in the calls after a move; those of shared weights stay. */
void stream_move(struct unroll_stream *s)
{
#define ADDRESS(field) offsetof(struct stream_call, field)
    static const size_t address[] = {ADDRESS(from.at),
                                     ADDRESS(to.at),
                                     ADDRESS(token),
                                     ADDRESS(words),
                                     ADDRESS(product.a),
                                     ADDRESS(product.b),
                                     ADDRESS(product.c),
                                     ADDRESS(product.bias),
                                     ADDRESS(step.x.at),
                                     ADDRESS(step.h.at),
                                     ADDRESS(step.intermediate.at),
                                     ADDRESS(step.of_x.at),
                                     ADDRESS(step.of_x.bias),
                                     ADDRESS(step.of_h.at),
                                     ADDRESS(step.of_h.bias),
                                     ADDRESS(step.value.in.at),
                                     ADDRESS(step.value.state.at),
                                     ADDRESS(step.value.next.at),
                                     ADDRESS(step.value.intermediate.at),
                                     ADDRESS(step.value.vector.at)};
#undef ADDRESS
    struct stream_call *call = stream_at(s, s->call);
    for (struct stream_call *end = call + 2 * s->calls; call < end; call++)
        for (size_t k = 0; k < sizeof address / sizeof *address; k++) {
            uintptr_t at;
            memcpy(&at, (char *)call + address[k], sizeof at);
            if (at - (uintptr_t)s->place < s->bytes)
                at += (uintptr_t)s - (uintptr_t)s->place;
            memcpy((char *)call + address[k], &at, sizeof at);
        }
    s->place = s;
}

/* ---- layout ---------------------------------------------------------------------------- */

/* The memory that all operations need. */
struct needs {
    size_t used, half, widest;
};

/* Places the rows of a buffer, unless an earlier operation has. */
static void place_buffer(const struct stream_plan *p, int buffer, size_t planes, size_t row, struct needs *needs)
{
    const struct buffer *b = &p->plan->buffer[buffer];
    struct stream_array *a = &p->array[buffer];
    const bool is_state = b->segment == SEG_CARRY;
    if (a->row)
        return;
    *a = (struct stream_array){.row = row, .width = b->size[b->rank - 1], .is_state = is_state};
    a->at = stream_take(is_state ? &needs->half : &needs->used, planes * p->plan->config.B * row * sizeof(float));
    needs->widest = a->width > needs->widest ? a->width : needs->widest;
}

/* Places the states one after another, in rows of whole tiles. The layer's output is h. */
static void place_recurrence(const struct stream_plan *p, const struct op *op, struct needs *needs)
{
    const struct view *v = op->view;
    const struct layer *l = layer_of(p, op);
    const size_t row = stream_padded(l->hidden);
    place_buffer(p, v[RNN_H0].buffer, 1, row, needs);
    p->array[v[RNN_Y].buffer] = p->array[v[RNN_HN].buffer] = p->array[v[RNN_H0].buffer];
    if (v[RNN_S0].access) {
        place_buffer(p, v[RNN_S0].buffer, (size_t)l->cell->states - 1, row, needs);
        p->array[v[RNN_SN].buffer] = p->array[v[RNN_S0].buffer];
    }
    if (l->projection || l->cell->intermediates)
        place_buffer(p, v[RNN_SCRATCH].buffer, l->projection ? 1 : (size_t)l->cell->intermediates, row, needs);
    if (v[RNN_X].access)
        place_buffer(p, v[RNN_X].buffer, 1, l->input, needs);
}

/* Gate sums are in rows of whole tiles, too. */
static void place_view(const struct stream_plan *p, int buffer, struct needs *needs)
{
    const struct buffer *b = &p->plan->buffer[buffer < 0 ? 0 : buffer];
    if (buffer >= 0 && !stream_is_weight(p, buffer))
        place_buffer(p, buffer, 1,
                     b->dtype == DTYPE_I32 ? 1
                     : b->rank == 4        ? b->size[2] * stream_padded(b->size[3])
                                           : b->size[b->rank - 1],
                     needs);
}

/* Places the buffers of an operation; fails if streams or kernels do not support it. */
static unroll_status place_op(const struct stream_plan *p, const struct op *op, struct needs *needs)
{
    const struct form *form = &forms[op->kind];
    const struct cell_kernels *cell = op->kind == OP_RNN ? cell_of(p, op) : NULL;
    if (!form->run || (op->view[form->to].access == ADD && !form->run_adding))
        return fail(UNROLL_UNSUPPORTED,
                    "layer '%s' cannot be streamed: streams do not support '%s'; fix: run it in a session",
                    layer_of(p, op)->name, kind_info(op->kind)->name);
    if (op->kind == OP_RNN && (!cell || !cell->fused[0]))
        return fail(UNROLL_UNSUPPORTED, "the kernels for %s have no fused step for '%s'; fix: use another isa (scalar)",
                    p->isa->name, layer_of(p, op)->cell->name);
    if (cell)
        place_recurrence(p, op, needs);
    if (op->kind == OP_POOL) {
        place_view(p, op->view[POOL_STATE].buffer, needs);
        p->array[op->view[POOL_NEXT].buffer] = p->array[op->view[POOL_STATE].buffer];
    }
    for (int k = 0; k < op->views && !cell; k++) place_view(p, op->view[k].buffer, needs);
    return UNROLL_OK;
}

/* Records where the input columns are. */
static void lay_out_inputs(const struct stream_plan *p, struct unroll_stream *s)
{
    const struct unroll_model *m = p->plan->model;
    char name[48];
    for (int i = 0; i < m->n_inputs; i++) {
        const struct stream_array *a = &p->array[plan_find_buffer(p->plan, column_buffer(m, i, name))];
        struct stream_tokens *of = &s->token[s->tokens];
        if (!m->inputs[i].tokens) {
            s->input = *a;
            continue;
        }
        *of = (struct stream_tokens){.at = a->at, .symbols = (uint32_t)m->inputs[i].tokens};
        input_called(m, i, of->called);
        s->tokens++;
    }
}

unroll_status stream_lay_out(struct stream_plan *p, const unroll_stream_config *config, struct unroll_stream *s)
{
    const struct unroll_model *m = p->plan->model;
    struct needs needs = {.used = sizeof *s};
    char name[32];
    *s = (struct unroll_stream){.shared = config->weights,
                                .rows = (size_t)config->rows,
                                .layers = (uint32_t)m->layers,
                                .header = stream_header_of(m, (size_t)config->rows)};
    for (int i = p->plan->phase[PHASE_FORWARD].first; i < p->plan->phase[PHASE_FORWARD].end; i++, s->calls++)
        TRY(place_op(p, &p->plan->op[i], &needs));
    s->call = stream_take(&needs.used, 2 * s->calls * sizeof(struct stream_call));
    s->half = stream_take(&needs.half, 0);
    s->state = stream_take(&needs.used, 2 * s->half);
    if (p->weights.dtype == DTYPE_I8) {
        s->operand = s->rows * operand_words(needs.widest);
        s->words = stream_take(&needs.used, OPERANDS * s->operand * sizeof(uint32_t));
    }
    if (s->rows > ROWS_WITHOUT_WORKSPACE)
        s->workspace = stream_take(&needs.used, PRODUCT_WORKSPACE);
    lay_out_inputs(p, s);
    s->output = p->array[plan_find_buffer(p->plan, model_results(m, name))];
    if (!config->weights)
        s->inside = stream_take(&needs.used, p->weights.bytes);
    s->bytes = stream_take(&needs.used, 0);
    return UNROLL_OK;
}
