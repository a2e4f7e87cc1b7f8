/* Chooses the formats and integers of a calibrated program: fraction bits, int8 weights, and multipliers that convert a
 * product's exact sum to the format of its result. docs/howto/microcontrollers.md has the rules. */
#include "stream/program/integers.h"
#include "base/memory.h"
#include "base/status.h"
#include <math.h>
#include <stdlib.h>

enum {
    MAX_WEIGHTS_SUM = 65535, /* of |q| in a row: times 2^15 it fits 32 bits */
    SUM_BITS = 30,
    MAX_SUM_FRACTION = 24,
    MAX_SUM_FRACTION_OF_8 = 16 /* operands are 1.0 or less in units of 2^-7: finer sums would add nothing */
};

/* Returns the smallest k with largest <= 2^k. */
static int exponent_of(double largest)
{
    int exponent;
    double m = frexp(largest, &exponent);
    return m == 0.5 ? exponent - 1 : exponent;
}

int fraction_for(double largest)
{
    int fraction = largest > 0 ? 15 - exponent_of(largest) : 15;
    return fraction < MIN_FRACTION ? MIN_FRACTION : fraction > MAX_FRACTION ? MAX_FRACTION : fraction;
}

int32_t quantize_number(double value, int fraction)
{
    double q = floor(ldexp(value, fraction) + 0.5);
    return q >= INT16_MAX ? INT16_MAX : q <= INT16_MIN ? INT16_MIN : (int32_t)q;
}

/* ---- weights --------------------------------------------------------------------------- */

static void quantize_row(const float *w, uint32_t width, int8_t *q, double *scale)
{
    double largest = 0, magnitudes = 0;
    for (uint32_t k = 0; k < width; k++) {
        largest = fmax(largest, fabs((double)w[k]));
        magnitudes += fabs((double)w[k]);
    }
    *scale = largest / 127;
    if (largest > 0 && magnitudes / *scale > MAX_WEIGHTS_SUM - 0.5 * width)
        *scale = magnitudes / (MAX_WEIGHTS_SUM - 0.5 * width);
    for (uint32_t k = 0; k < width; k++) q[k] = (int8_t)(*scale > 0 ? nearbyint((double)w[k] / *scale) : 0);
}

static unroll_status quantize_matrix(struct matrix *m)
{
    enum { WIDEST = 65536 };
    if (m->width > WIDEST)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' has rows of %u values, but sums of more than %d int8 products may overflow; fix: set "
                    "`dtype` fp32",
                    m->parameter->name, m->width, WIDEST);
    m->q = allocate_zeroed(m->rows, m->width);
    m->scale = allocate_zeroed(m->rows, sizeof *m->scale);
    if (!m->q || !m->scale)
        return fail(UNROLL_RESOURCE, "no memory for the int8 weights of '%s'", m->parameter->name);
    for (uint32_t i = 0; i < m->rows; i++)
        quantize_row(m->values + (size_t)i * m->width, m->width, m->q + (size_t)i * m->width, &m->scale[i]);
    return UNROLL_OK;
}

/* ---- magnitudes ------------------------------------------------------------------------- */

/* Returns the magnitude that the users of a node need. Beyond it a sigmoid or tanh is flat, and a clip clips, so the
 * node may saturate. */
static double demand(const struct pointwise *f, int number, const double *wanted)
{
    double max = 0;
    for (int i = number + 1; i < f->record->nodes; i++) {
        const struct node *user = &f->record->node[i];
        for (int k = 0; f->node[i].is_needed && k < node_operands(user->kind); k++) {
            if (user->operand[k]->number != number)
                continue;
            bool bounds = user->kind == NODE_MIN || user->kind == NODE_MAX;
            const struct fixed_node *other = &f->node[bounds ? user->operand[1 - k]->number : i];
            bounds = bounds && other->is_constant;
            max = fmax(max, user->kind == NODE_SIGMOID ? 16
                            : user->kind == NODE_TANH  ? 8
                            : bounds                   ? fmax(wanted[i], fabs(other->value))
                                                       : INFINITY);
        }
    }
    return max;
}

static bool is_result(const struct pointwise *f, const struct node *node)
{
    for (int i = 0; i < f->results; i++)
        if (f->result[i].node == node)
            return true;
    return false;
}

static double certain_magnitude(const struct fixed_node *n)
{
    return n->is_bounded ? fmax(fabs(n->low), fabs(n->high)) : INFINITY;
}

/* Values used only by flat functions get at least this range: formats finer than 2^-13 would gain nothing. */
#define ROOM 4.0

static void size_nodes(struct pointwise *f, double margin)
{
    double wanted[RECORD_NODES];
    for (int i = f->record->nodes - 1; i >= 0; i--) {
        struct fixed_node *n = &f->node[i];
        double certain = certain_magnitude(n);
        wanted[i] = is_result(f, &f->record->node[i]) ? INFINITY : demand(f, i, wanted);
        double seen = fmin(margin * n->largest, wanted[i]);
        if (isfinite(wanted[i]))
            seen = fmax(seen, fmin(ROOM, wanted[i]));
        n->largest = certain <= 1 ? certain : fmin(certain, seen);
        n->fraction = fraction_for(n->largest);
    }
}

/* Sizes the results of cells and activations by their records, and other vectors by measurement. */
static void size_vectors(struct program *p, double margin)
{
    bool made[sizeof p->vector / sizeof *p->vector] = {false};
    for (int i = 0; i < p->vectors; i++) p->vector[i].largest *= margin;
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        if (a->kind == ACT_SOFTMAX)
            p->vector[a->to].largest = 1;
        for (int k = 0; a->pointwise && k < a->pointwise->results; k++) {
            const struct binding *b = &a->pointwise->result[k];
            struct vector *v = &p->vector[b->vector];
            double largest = a->pointwise->node[b->node->number].largest;
            v->largest = made[b->vector] ? fmax(v->largest, largest) : largest;
            made[b->vector] = true;
        }
    }
    for (int i = 0; i < p->vectors; i++) p->vector[i].fraction = fraction_for(p->vector[i].largest);
}

/* A one-hot vector has only 0 and 1; other columns may share it. */
static void size_tables(struct program *p)
{
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        double largest = a->matrix < 0 ? 1 : 0;
        if (a->kind != ACT_EMBED)
            continue;
        const struct matrix *m = a->matrix < 0 ? NULL : &p->matrix[a->matrix];
        for (uint32_t k = 0; m && k < m->rows; k++) largest = fmax(largest, 127 * m->scale[k]);
        struct vector *v = &p->vector[a->to];
        v->largest = a->count < v->size ? fmax(v->largest, largest) : largest;
        v->fraction = a->matrix < 0 ? 14 : fraction_for(v->largest);
    }
}

/* The result of a pool keeps the format of its input, as does a copy without conversion. */
static void size_pools(struct program *p)
{
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        if (a->kind == ACT_POOL)
            p->vector[a->to].fraction = p->vector[a->state].fraction = p->vector[a->from].fraction;
        if (a->kind == ACT_COPY && !p->vector[a->from].is_sum && a->count == p->vector[a->to].size)
            p->vector[a->to].fraction = p->vector[a->from].fraction;
    }
}

/* ---- products -------------------------------------------------------------------------- */

/* A column is a single weight: with few multiplier bits, a finer sum would need a multiplier that does not fit. */
static int column_fraction(const struct program *p, int vector)
{
    double largest = 0;
    for (int i = 0; i < p->acts; i++)
        for (uint32_t k = 0; p->act[i].to == vector && p->act[i].kind == ACT_COLUMN && k < p->act[i].count; k++)
            largest = fmax(largest, p->matrix[p->act[i].matrix].scale[p->act[i].row + k]);
    return p->operand_bits == 8 && largest > 0 ? MULTIPLIER_BITS_OF_8 - 1 - exponent_of(largest) : MAX_SUM_FRACTION;
}

/* No sum can exceed 31 bits for any input: operands are within 2^15 units of their format. */
static unroll_status size_sums(struct program *p)
{
    for (int v = 0; v < p->vectors; v++) {
        double max = 0;
        for (int i = 0; i < p->acts; i++) {
            const struct act *a = &p->act[i];
            if (a->to != v || (a->kind != ACT_PRODUCT && a->kind != ACT_COLUMN))
                continue;
            const struct matrix *m = &p->matrix[a->matrix];
            double act_max = 0;
            for (uint32_t k = 0; k < a->count; k++) {
                double bound = a->bias ? fabs((double)parameter_values(p, a->bias)[a->bias_first + k]) : 0;
                double operand = a->kind == ACT_COLUMN ? 127 : 0;
                for (uint32_t j = 0; a->kind == ACT_PRODUCT && j < m->width; j++)
                    operand += ldexp(abs(m->q[(size_t)(a->row + k) * m->width + j]), 15 - p->vector[a->from].fraction);
                act_max = fmax(act_max, bound + operand * m->scale[a->row + k]);
            }
            max += act_max;
        }
        if (!p->vector[v].is_sum)
            continue;
        int fraction = SUM_BITS - (max > 0 ? exponent_of(max) + 1 : 0);
        fraction = fraction < column_fraction(p, v) ? fraction : column_fraction(p, v);
        if (fraction < 0)
            return fail(UNROLL_UNSUPPORTED,
                        "the sums of '%s' may reach %.3g, which is too large for integers; fix: set `dtype` fp32",
                        p->vector[v].name, max);
        const int finest = p->operand_bits == 8 ? MAX_SUM_FRACTION_OF_8 : MAX_SUM_FRACTION;
        p->vector[v].fraction = fraction < finest ? fraction : finest;
    }
    return UNROLL_OK;
}

/* Computes multipliers of `count` rows for the factors scale[row] 2^power; the largest is just below 2^bits. */
static unroll_status make_multipliers(struct act *a, const double *scale, uint32_t count, int power, int bits)
{
    double largest = 0;
    TRY(ALLOCATE(a->multiplier, count, "for %u multipliers", count));
    for (uint32_t i = 0; i < count; i++) largest = fmax(largest, ldexp(scale[i], power));
    a->shift = bits - (largest > 0 ? exponent_of(largest) : 0);
    a->shift = a->shift < 1 ? 1 : a->shift > 62 ? 62 : a->shift;
    if (ldexp(largest, a->shift) > ldexp(1, bits))
        return fail(UNROLL_UNSUPPORTED,
                    "layer %d: weights are too large compared with their inputs for integers; fix: set `dtype` fp32",
                    a->layer);
    for (uint32_t i = 0; i < count; i++) a->multiplier[i] = (int32_t)nearbyint(ldexp(scale[i], power + a->shift));
    return UNROLL_OK;
}

static unroll_status quantize_product(const struct program *p, struct act *a)
{
    const struct matrix *m = &p->matrix[a->matrix];
    const int fraction = p->vector[a->to].fraction;
    const int operand = a->kind == ACT_COLUMN ? 0 : p->vector[a->from].fraction - (OPERAND_BITS - p->operand_bits);
    const int bits = p->operand_bits == 8 ? MULTIPLIER_BITS_OF_8 : MULTIPLIER_BITS;
    TRY(make_multipliers(a, m->scale + a->row, a->count, fraction - operand, bits));
    if (!a->bias)
        return UNROLL_OK;
    const float *bias = parameter_values(p, a->bias) + a->bias_first;
    TRY(ALLOCATE(a->bias_q, a->count, "for %u biases", a->count));
    for (uint32_t i = 0; i < a->count; i++) a->bias_q[i] = (int32_t)nearbyint(ldexp((double)bias[i], fraction));
    return UNROLL_OK;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static int limited(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* Returns the fraction of an operand; that of a constant depends on its value. */
static int operand_fraction(const struct pointwise *f, const struct node *node, int k)
{
    const struct fixed_node *n = &f->node[node->operand[k]->number];
    return n->is_constant ? fraction_for(fabs(n->value)) : n->fraction;
}

static void set_constant(const struct pointwise *f, const struct node *node, int k, int fraction)
{
    const struct fixed_node *n = &f->node[node->operand[k]->number];
    struct fixed_node *to = (struct fixed_node *)&f->node[node->number];
    if (n->is_constant)
        to->constant[k] = quantize_number(n->value, fraction);
}

/* Aligns the two terms of a sum, or of a product and a number: chooses a fraction at which neither, shifted left,
 * exceeds 30 bits. */
static void align(struct fixed_node *n, int first, int second, int bits)
{
    int common = first > second ? first : second;
    common = limited(common, INT32_MIN, (first < second ? first : second) + bits);
    n->shift[0] = limited(common - first, -31, bits);
    n->shift[1] = limited(common - second, -31, bits);
    n->out = common;
}

/* Chooses the shifts and constants of a node with two operands. */
static void lower_binary(struct pointwise *f, const struct node *node, struct fixed_node *n)
{
    const int a = operand_fraction(f, node, 0), b = operand_fraction(f, node, 1);
    switch (node->kind) {
    case NODE_ADD:
    case NODE_SUB:
    case NODE_LESS: align(n, a, b, 14); break;
    case NODE_MUL: n->out = a + b; break;
    case NODE_DIV: n->shift[0] = limited(n->fraction + b - a, -40, 40); break;
    default: /* min, max: both in the result's format */
        n->shift[0] = limited(a - n->fraction, -15, 31);
        n->shift[1] = limited(b - n->fraction, -15, 31);
    }
    bool bounds = node->kind == NODE_MIN || node->kind == NODE_MAX;
    for (int k = 0; k < 2; k++) {
        set_constant(f, node, k, bounds ? n->fraction : k ? b : a);
        if (bounds && f->node[node->operand[k]->number].is_constant)
            n->shift[k] = 0;
    }
}

/* The product has 30 bits at fraction a + b. It loses some if c needs the range. */
static void lower_fma(struct pointwise *f, const struct node *node, struct fixed_node *n)
{
    const int a = operand_fraction(f, node, 0), b = operand_fraction(f, node, 1), c = operand_fraction(f, node, 2);
    const int common = a + b < c + 14 ? a + b : c + 14;
    n->shift[0] = limited(common - a - b, -31, 0);
    n->shift[2] = limited(common - c, -31, 14);
    n->out = common;
    set_constant(f, node, 0, a);
    set_constant(f, node, 1, b);
    set_constant(f, node, 2, c);
}

/* shift[0] converts the argument to the fraction shift[1]. */
static void lower_function(struct pointwise *f, const struct node *node, struct fixed_node *n)
{
    const int a = operand_fraction(f, node, 0), more = node->kind == NODE_TANH;
    const bool squashes = more || node->kind == NODE_SIGMOID;
    n->shift[1] = squashes ? limited(a, SIGMOID_MIN + more, SIGMOID_MAX + more) : a;
    n->shift[0] = limited(a - n->shift[1], -15, 31);
    if (node->kind == NODE_SQRT)
        n->shift[1] = limited(2 * n->fraction - a, -40, 46);
    n->out = FUNCTION_FRACTION;
    set_constant(f, node, 0, a);
}

/* Chooses the shifts of a node, in terms of its operands' fractions. */
static void lower_node(struct pointwise *f, int number)
{
    const struct node *node = &f->record->node[number];
    struct fixed_node *n = &f->node[number];
    switch (node->kind) {
    case NODE_INPUT:
    case NODE_CONSTANT: return;
    case NODE_FMA: lower_fma(f, node, n); break;
    case NODE_ABS: n->out = operand_fraction(f, node, 0); break;
    case NODE_EXP:
    case NODE_LOG:
    case NODE_SQRT:
    case NODE_SIGMOID:
    case NODE_TANH: lower_function(f, node, n); break;
    default: lower_binary(f, node, n);
    }
    n->out = limited(n->out - n->fraction, -15, 31); /* from here on: the shift to the result's format */
}

/* Makes formats equal: of a vector and the field that reads it, and of a function and its result. */
static void fix_formats(const struct program *p, struct pointwise *f)
{
    for (int i = 0; i < f->record->nodes; i++) {
        const struct node *node = &f->record->node[i];
        if (node->kind == NODE_SIGMOID || node->kind == NODE_TANH)
            f->node[i].fraction = FUNCTION_FRACTION;
        if (node->kind == NODE_LESS)
            f->node[i].fraction = 14;
        const struct binding *b = f->node[i].field;
        if (!b || b->vector == ABSENT_VECTOR)
            continue;
        const struct vector *v = &p->vector[b->vector];
        f->node[i].fraction =
            v->is_sum ? limited(f->node[i].fraction, v->fraction - 31, v->fraction + 15) : v->fraction;
    }
}

/* ---- all -------------------------------------------------------------------------------- */

/* Chooses formats, integer weights and multipliers after a calibration, with a range of `margin` times the measured
 * magnitudes. */
static unroll_status quantize(struct program *p, double margin)
{
    for (int i = 0; i < p->matrices; i++) TRY(quantize_matrix(&p->matrix[i]));
    for (int i = 0; i < p->acts; i++)
        if (p->act[i].pointwise)
            size_nodes(p->act[i].pointwise, margin);
    size_vectors(p, margin);
    size_tables(p);
    size_pools(p);
    TRY(size_sums(p));
    for (int i = 0; i < p->acts; i++) {
        struct act *a = &p->act[i];
        if (a->kind == ACT_PRODUCT || a->kind == ACT_COLUMN)
            TRY(quantize_product(p, a));
        if (a->kind == ACT_EMBED && a->matrix >= 0)
            TRY(make_multipliers(a, p->matrix[a->matrix].scale, p->matrix[a->matrix].rows, p->vector[a->to].fraction,
                                 MULTIPLIER_BITS));
        if (!a->pointwise)
            continue;
        fix_formats(p, a->pointwise);
        for (int k = 0; k < a->pointwise->record->nodes; k++) lower_node(a->pointwise, k);
    }
    return UNROLL_OK;
}

/* Future values may exceed the measured ones by this factor. */
#define MARGIN_OF_SEEN  1.25
#define MARGIN_OF_NOISE 2.0

unroll_status program_new_integer(const struct unroll_model *model, const struct calibration_data *calibration,
                                  int operand_bits, struct program **program)
{
    struct program *p;
    TRY(program_new(model, true, &p));
    p->operand_bits = operand_bits;
    p->delta = -1;
    program_bound(p);
    unroll_status status = program_calibrate(p, calibration);
    if (status == UNROLL_OK)
        status = quantize(p, calibration ? MARGIN_OF_SEEN : MARGIN_OF_NOISE);
    if (status != UNROLL_OK) {
        program_free(p);
        return status;
    }
    *program = p;
    return UNROLL_OK;
}
