/* The reference of integer programs. Runs a program in plain C with the functions that are printed for small processors
 * (integer_functions.h), so that the printed program has the same bits. It is not fast. */
#include "stream/program/integers.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "model/units.h"
#include <math.h>
#include <string.h>

#include "stream/program/integer_tables.h"
#include "stream/program/integer_functions.h"
#include "unroll_advanced.h"

struct unroll_integer {
    struct program *program;
    unroll_model *own; /* the model in units; NULL: the caller's */
    void **value;      /* [vectors] the caller's floats, int32_t for sums, int16_t for others */
    int16_t *narrowed; /* the operand of a product */
    int16_t **held;    /* [vectors][size] the values that products last used, if delta >= 0; otherwise 0 */
    uint32_t *moved;   /* [vectors] */
    bool is_raw;       /* in this step, the caller's x are integers already, and y stay integers */
    int32_t token[UNROLL_INPUTS_MAX];
};

/* ---- pointwise ------------------------------------------------------------------------- */

static int32_t load(const struct unroll_integer *r, const struct fixed_node *n, uint32_t u)
{
    const struct binding *b = n->field;
    if (b->weights)
        return quantize_number((double)(parameter_values(r->program, b->weights) + b->first)[u], n->fraction);
    const struct vector *v = &r->program->vector[b->vector];
    return v->is_sum ? narrow(((const int32_t *)r->value[b->vector])[b->first + u], v->fraction - n->fraction)
                     : ((const int16_t *)r->value[b->vector])[b->first + u];
}

static int32_t lesser(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t greater(int32_t a, int32_t b) { return a > b ? a : b; }

/* Computes a node from its operands in integers. */
static int32_t compute_node(const struct fixed_node *n, enum node_kind kind, int32_t a, int32_t b, int32_t c)
{
    switch (kind) {
    case NODE_ADD: return narrow(aligned(a, n->shift[0]) + aligned(b, n->shift[1]), n->out);
    case NODE_SUB: return narrow(aligned(a, n->shift[0]) - aligned(b, n->shift[1]), n->out);
    case NODE_MUL: return narrow(a * b, n->out);
    case NODE_FMA: return narrow(aligned(a * b, n->shift[0]) + aligned(c, n->shift[2]), n->out);
    case NODE_MIN: return lesser(narrow(a, n->shift[0]), narrow(b, n->shift[1]));
    case NODE_MAX: return greater(narrow(a, n->shift[0]), narrow(b, n->shift[1]));
    case NODE_LESS: return aligned(a, n->shift[0]) < aligned(b, n->shift[1]) ? 16384 : 0;
    case NODE_ABS: return narrow(a < 0 ? -a : a, n->out);
    case NODE_DIV: return quotient(a, b, n->shift[0]);
    case NODE_SQRT: return root(a, n->shift[1]);
    case NODE_EXP: return exp_of(a, n->shift[1], n->fraction);
    case NODE_LOG: return log_of(a, n->shift[1], n->fraction);
    case NODE_SIGMOID: return sigmoid_of(narrow(a, n->shift[0]), n->shift[1]);
    case NODE_TANH: return tanh_of(narrow(a, n->shift[0]), n->shift[1]);
    default: return 0; /* no cell contains other kinds */
    }
}

/* A constant has the format that its user needs. */
static int32_t operand(const struct pointwise *f, const struct node *node, int k, const int32_t *value)
{
    if (k >= node_operands(node->kind))
        return 0;
    int number = node->operand[k]->number;
    return f->node[number].is_constant ? f->node[node->number].constant[k] : value[number];
}

/* Computes all units of a pointwise function. */
static void run_pointwise(const struct unroll_integer *r, const struct pointwise *f)
{
    int32_t value[RECORD_NODES];
    for (uint32_t u = 0; u < f->units; u++) {
        for (int i = 0; i < f->record->nodes; i++) {
            const struct node *node = &f->record->node[i];
            if (f->node[i].is_constant)
                value[i] = quantize_number(f->node[i].value, f->node[i].fraction);
            else if (f->node[i].is_needed)
                value[i] = node->kind == NODE_INPUT
                               ? load(r, &f->node[i], u)
                               : compute_node(&f->node[i], node->kind, operand(f, node, 0, value),
                                              operand(f, node, 1, value), operand(f, node, 2, value));
        }
        for (int i = 0; i < f->results; i++) {
            const struct binding *b = &f->result[i];
            int made = b->node->number;
            ((int16_t *)r->value[b->vector])[b->first + u] =
                (int16_t)narrow(value[made], f->node[made].fraction - r->program->vector[b->vector].fraction);
        }
    }
}

/* ---- acts ------------------------------------------------------------------------------ */

/* Returns the upper operand_bits of 16 bits, rounded half up. */
static int16_t narrowed(const struct unroll_integer *r, int16_t x)
{
    const int less = OPERAND_BITS - r->program->operand_bits, most = (1 << (r->program->operand_bits - 1)) - 1;
    return less ? (int16_t)lesser(aligned(x, -less), most) : x;
}

int32_t operand_threshold(const struct program *p, int vector)
{
    const double most = p->delta * ldexp(1, p->vector[vector].fraction - (OPERAND_BITS - p->operand_bits));
    return most >= 32767 ? 32767 : (int32_t)most;
}

/* Returns the operand. Elements that changed little keep the value that products last used. A second call in the same
 * step changes nothing. */
static const int16_t *hold(const struct unroll_integer *r, int vector)
{
    const int16_t *x = r->value[vector];
    const int32_t threshold = operand_threshold(r->program, vector);
    for (uint32_t k = 0; k < r->program->vector[vector].size; k++) {
        const int16_t now = narrowed(r, x[k]);
        const int32_t by = (int32_t)now - r->held[vector][k];
        if (by > threshold || -by > threshold) {
            r->held[vector][k] = now;
            r->moved[vector]++;
        }
    }
    return r->held[vector];
}

static const int16_t *operands_of(const struct unroll_integer *r, int vector)
{
    if (r->program->delta >= 0)
        return hold(r, vector);
    if (r->program->operand_bits == OPERAND_BITS)
        return r->value[vector];
    const int16_t *x = r->value[vector];
    for (uint32_t k = 0; k < r->program->vector[vector].size; k++) r->narrowed[k] = narrowed(r, x[k]);
    return r->narrowed;
}

uint32_t integer_moved(const struct unroll_integer *r, int vector) { return r->moved[vector]; }

static void run_products(const struct unroll_integer *r, const struct act *a)
{
    const struct matrix *m = &r->program->matrix[a->matrix];
    const int32_t token = r->token[a->token];
    const bool known = token >= 0 && (uint32_t)token < m->width;
    int32_t *y = (int32_t *)r->value[a->to] + a->to_first;
    if (a->kind == ACT_PRODUCT) {
        product(y, m->q + (size_t)a->row * m->width, operands_of(r, a->from), a->multiplier, a->bias_q, (int)a->count,
                (int)m->width, a->adds, a->shift);
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) /* q is stored by rows only */
        column(y + i, known ? m->q + (size_t)i * m->width + token : NULL, a->multiplier + i,
               a->bias_q ? a->bias_q + i : NULL, 1, a->shift);
}

static void run_embed(const struct unroll_integer *r, const struct act *a)
{
    const int32_t token = r->token[a->token];
    int16_t *y = (int16_t *)r->value[a->to] + a->to_first;
    if (a->matrix < 0) {
        one_hot(y, token, (int)a->count, r->program->vector[a->to].fraction);
        return;
    }
    const struct matrix *m = &r->program->matrix[a->matrix];
    const bool known = token >= 0 && (uint32_t)token < m->rows;
    embed(y, known ? m->q + (size_t)token * m->width : NULL, known ? a->multiplier[token] : 0, (int)a->count, a->shift);
}

int16_t embedded_number(const struct program *p, const struct act *a, int token, uint32_t i)
{
    int16_t y;
    const struct matrix *m = a->matrix < 0 ? NULL : &p->matrix[a->matrix];
    if (!m)
        return (int16_t)((uint32_t)token == i ? 1 << p->vector[a->to].fraction : 0);
    const bool known = token >= 0 && (uint32_t)token < m->rows;
    embed(&y, known ? m->q + (size_t)token * m->width + i : NULL, known ? a->multiplier[token] : 0, 1, a->shift);
    return y;
}

static void run_copy(const struct unroll_integer *r, const struct act *a)
{
    const struct vector *from = &r->program->vector[a->from], *to = &r->program->vector[a->to];
    int16_t *y = (int16_t *)r->value[a->to] + a->to_first;
    if (from->is_sum)
        copy_sums(y, r->value[a->from], (int)a->count, from->fraction - to->fraction);
    else
        copy_short(y, r->value[a->from], (int)a->count, from->fraction - to->fraction);
}

static void run_enter(const struct unroll_integer *r, const struct act *a)
{
    if (r->is_raw)
        memcpy(r->value[a->to], r->value[a->from], a->count * sizeof(int16_t));
    else
        enter(r->value[a->to], r->value[a->from], (int)a->count, (float)ldexp(1, r->program->vector[a->to].fraction));
}

static void run_leave(const struct unroll_integer *r, const struct act *a)
{
    const struct vector *from = &r->program->vector[a->from];
    if (r->is_raw) {
        int32_t *y = r->value[a->to];
        for (uint32_t i = 0; i < a->count; i++)
            y[i] = from->is_sum ? ((const int32_t *)r->value[a->from])[i] : ((const int16_t *)r->value[a->from])[i];
        return;
    }
    const float scale = (float)ldexp(1, -from->fraction);
    if (from->is_sum)
        leave_sums(r->value[a->to], r->value[a->from], (int)a->count, scale);
    else
        leave_short(r->value[a->to], r->value[a->from], (int)a->count, scale);
}

static void run_act(const struct unroll_integer *r, const struct act *a)
{
    const struct vector *v = r->program->vector;
    switch (a->kind) {
    case ACT_ENTER: run_enter(r, a); break;
    case ACT_LEAVE: run_leave(r, a); break;
    case ACT_EMBED: run_embed(r, a); break;
    case ACT_PRODUCT:
    case ACT_COLUMN: run_products(r, a); break;
    case ACT_POINTWISE: run_pointwise(r, a->pointwise); break;
    case ACT_SOFTMAX: softmax(r->value[a->to], r->value[a->from], (int)a->count, v[a->from].fraction); break;
    case ACT_POOL: pool_max(r->value[a->to], r->value[a->from], r->value[a->state], (int)a->count); break;
    case ACT_COPY: run_copy(r, a); break;
    }
}

/* Runs all acts, then updates the operands of the next step, so that their changes are counted in this one. */
static void run_acts(const struct unroll_integer *r)
{
    const struct program *p = r->program;
    for (int i = 0; i < p->vectors; i++) r->moved[i] = 0;
    for (int i = 0; i < p->acts; i++) run_act(r, &p->act[i]);
    for (int i = 0; i < p->acts && p->delta >= 0; i++)
        if (p->act[i].kind == ACT_PRODUCT)
            hold(r, p->act[i].from);
}

/* ---- the public functions -------------------------------------------------------------- */

void unroll_integer_config_begin(unroll_integer_config *config, size_t size)
{
    const unroll_integer_config standard = {
        .size = sizeof(unroll_integer_config), .rows = 1, .operand_bits = OPERAND_BITS, .delta = -1};
    sized_begin(&standard, sizeof standard, config, size);
}

/* Converts the public struct. */
static unroll_status calibration_of(const unroll_integer_config *given, struct calibration_data *c, bool *is_given)
{
    *is_given = given->inputs || given->tokens;
    if (*is_given && (given->steps < 1 || given->rows < 1))
        return fail(UNROLL_USAGE,
                    "a calibration needs at least 1 step and 1 row, not %d x %d; fix: give 1 or more of both",
                    given->steps, given->rows);
    if (*is_given)
        *c = (struct calibration_data){given->inputs, given->tokens, (size_t)given->steps, (size_t)given->rows};
    return UNROLL_OK;
}

unroll_status integer_new(struct program *p, unroll_integer **integer)
{
    size_t bytes = 0, widest = 0;
    for (int i = 0; i < p->vectors; i++) {
        bytes += (p->vector[i].size * sizeof(int32_t) + 7) / 8 * 8;
        widest = p->vector[i].size > widest ? p->vector[i].size : widest;
    }
    const size_t pointers = 2 * sizeof(void *) + sizeof(uint32_t);
    unroll_integer *r = allocate_zeroed(1, sizeof *r + (size_t)p->vectors * pointers + 2 * bytes + 2 * widest);
    if (!r)
        return fail(UNROLL_RESOURCE, "no memory for the states of an integer model");
    r->program = p;
    r->value = (void **)(r + 1);
    r->held = (int16_t **)(r->value + p->vectors);
    char *at = (char *)(r->held + p->vectors);
    for (int i = 0; i < p->vectors; i++) {
        const size_t room = (p->vector[i].size * sizeof(int32_t) + 7) / 8 * 8;
        r->value[i] = at;
        r->held[i] = (int16_t *)(at + bytes);
        at += room;
    }
    r->moved = (uint32_t *)(at + bytes);
    r->narrowed = (int16_t *)(r->moved + p->vectors);
    *integer = r;
    return UNROLL_OK;
}

unroll_status unroll_integer_new(const unroll_model *model, const unroll_integer_config *given,
                                 unroll_integer **integer)
{
    unroll_integer_config config = unroll_integer_config_default();
    unroll_model *used = (unroll_model *)model, *own; /* only read */
    struct calibration_data c;
    struct program *p;
    bool is_given;
    if (given)
        TRY(sized_take(SIZED(unroll_integer_config, "unroll_integer_config_default()"), given, &config));
    TRY(calibration_of(&config, &c, &is_given));
    if (config.operand_bits != 8 && config.operand_bits != OPERAND_BITS)
        return fail(UNROLL_USAGE, "operand_bits = %d is not supported; fix: choose one of 8, 16", config.operand_bits);
    if (!(config.delta < 32768))
        return fail(UNROLL_USAGE, "`delta` = %g is not supported; fix: use 0 or more, or -1 for none", config.delta);
    TRY(units_take(&used, config.raw, config.series, true, &own));
    unroll_status status = program_new_integer(used, is_given ? &c : NULL, config.operand_bits, &p);
    if (status == UNROLL_OK) {
        p->delta = given ? config.delta : p->delta;
        status = integer_new(p, integer);
        if (status != UNROLL_OK)
            program_free(p);
    }
    if (status == UNROLL_OK)
        (*integer)->own = own;
    else
        unroll_model_free(own);
    return status;
}

void unroll_integer_free(unroll_integer *r)
{
    if (r)
        program_free(r->program);
    if (r)
        unroll_model_free(r->own);
    release(r);
}

/* Runs a step; raw inputs and outputs are integers. */
static unroll_status run_step(unroll_integer *r, const int32_t *tokens, const void *inputs, void *outputs, bool is_raw)
{
    const struct program *p = r->program;
    if (!tokens != !p->tokens || !inputs != (p->input < 0) || !outputs)
        return fail(UNROLL_USAGE, "a step of this model needs %s%s%s, and outputs; fix: give them",
                    p->tokens ? "tokens" : "", p->tokens && p->input >= 0 ? " and " : "",
                    p->input >= 0 ? "inputs" : "");
    r->is_raw = is_raw;
    if (tokens)
        memcpy(r->token, tokens, (size_t)p->tokens * sizeof *tokens);
    if (inputs)
        memcpy(r->value[p->input], inputs, p->vector[p->input].size * (is_raw ? sizeof(int16_t) : sizeof(float)));
    run_acts(r);
    memcpy(outputs, r->value[p->output], p->vector[p->output].size * sizeof(int32_t));
    return UNROLL_OK;
}

unroll_status unroll_integer_step(unroll_integer *r, const int32_t *tokens, const float *inputs, float *outputs)
{
    return run_step(r, tokens, inputs, outputs, false);
}

unroll_status unroll_integer_step_raw(unroll_integer *r, const int32_t *tokens, const int16_t *inputs, int32_t *outputs)
{
    return run_step(r, tokens, inputs, outputs, true);
}

void unroll_integer_fractions(const unroll_integer *r, int *inputs, int *outputs)
{
    *inputs = *outputs = 0;
    for (int i = 0; i < r->program->acts; i++) {
        const struct act *a = &r->program->act[i];
        if (a->kind == ACT_ENTER)
            *inputs = r->program->vector[a->to].fraction;
        if (a->kind == ACT_LEAVE)
            *outputs = r->program->vector[a->from].fraction;
    }
}

void unroll_integer_reset(unroll_integer *r)
{
    for (int i = 0; i < r->program->vectors; i++)
        if (r->program->vector[i].place == PLACE_STATE)
            memset(r->value[i], 0, r->program->vector[i].size * sizeof(int32_t));
    for (int i = 0; i < r->program->vectors; i++) memset(r->held[i], 0, r->program->vector[i].size * sizeof(int16_t));
}

/* ---- for tests ------------------------------------------------------------------------- */

int32_t fixed_function(enum node_kind kind, int32_t x, int fraction, int out)
{
    const struct fixed_node n = {.shift = {0, kind == NODE_SQRT ? out : fraction}, .fraction = out};
    return compute_node(&n, kind, x, 0, 0);
}
