/* Certain bounds of values, derived from the records alone: a sigmoid is within [0, 1], a mix of two values is between
 * them. States start at zero and are iterated until they stop growing. Values without a certain bound must be
 * measured. */
#include "stream/program/integers.h"
#include <math.h>

struct bounds {
    double low, high;
};

static const struct bounds anything = {-INFINITY, INFINITY};

static struct bounds sum_of(struct bounds a, struct bounds b)
{
    return (struct bounds){a.low + b.low, a.high + b.high};
}

static struct bounds product_of(struct bounds a, struct bounds b)
{
    const double p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    struct bounds r = {p[0], p[0]};
    for (int i = 0; i < 4; i++) {
        if (isnan(p[i])) /* 0 times anything */
            return anything;
        r.low = fmin(r.low, p[i]);
        r.high = fmax(r.high, p[i]);
    }
    return r;
}

static struct bounds hull(struct bounds a, struct bounds b)
{
    return (struct bounds){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static struct bounds of_node(const struct pointwise *f, const struct node *node)
{
    const struct fixed_node *n = &f->node[node->number];
    return (struct bounds){n->low, n->high};
}

/* z (a - b) + b with z in [0, 1] is between a and b (v_mix). */
static bool is_mix(const struct node *node, const struct bounds *z)
{
    const struct node *difference = node->operand[1];
    return z->low >= 0 && z->high <= 1 && difference->kind == NODE_SUB && difference->operand[1] == node->operand[2];
}

/* Returns the bounds of a node from those of its operands. */
static struct bounds bound_of(const struct pointwise *f, const struct node *node)
{
    struct bounds a = anything, b = anything, c = anything;
    if (node_operands(node->kind) > 0)
        a = of_node(f, node->operand[0]);
    if (node_operands(node->kind) > 1)
        b = of_node(f, node->operand[1]);
    if (node_operands(node->kind) > 2)
        c = of_node(f, node->operand[2]);
    switch (node->kind) {
    case NODE_CONSTANT: return (struct bounds){node->constant, node->constant};
    case NODE_ADD: return sum_of(a, b);
    case NODE_SUB: return sum_of(a, (struct bounds){-b.high, -b.low});
    case NODE_MUL: return product_of(a, b);
    case NODE_FMA:
        return is_mix(node, &a) ? hull(of_node(f, node->operand[1]->operand[0]), c) : sum_of(product_of(a, b), c);
    case NODE_MIN: return (struct bounds){fmin(a.low, b.low), fmin(a.high, b.high)};
    case NODE_MAX: return (struct bounds){fmax(a.low, b.low), fmax(a.high, b.high)};
    case NODE_ABS: return (struct bounds){0, fmax(-a.low, a.high)};
    case NODE_LESS:
    case NODE_SIGMOID: return (struct bounds){0, 1};
    case NODE_TANH: return (struct bounds){-1, 1};
    case NODE_EXP: return (struct bounds){0, exp(a.high)};
    case NODE_SQRT: return (struct bounds){0, sqrt(fmax(a.high, 0))};
    default: return anything;
    }
}

/* ---- fields ---------------------------------------------------------------------------- */

static struct bounds weights_range(const struct program *p, const struct pointwise *f, const struct binding *b)
{
    const float *w = parameter_values(p, b->weights) + b->first;
    struct bounds r = {(double)w[0], (double)w[0]};
    for (uint32_t u = 0; u < f->units; u++) r = hull(r, (struct bounds){(double)w[u], (double)w[u]});
    return r;
}

/* Returns the result that becomes this field in the next step, or NULL. */
static const struct node *next_of(const struct pointwise *f, const struct binding *input)
{
    for (int i = 0; i < f->results; i++)
        if (f->result[i].vector == input->vector && f->result[i].first == input->first)
            return f->result[i].node;
    return NULL;
}

static void set(struct fixed_node *n, struct bounds r)
{
    n->low = r.low;
    n->high = r.high;
}

static struct bounds input_range(const struct program *p, const struct pointwise *f, const struct binding *b)
{
    if (b->weights)
        return weights_range(p, f, b);
    if (b->vector == ABSENT_VECTOR)
        return (struct bounds){b->constant, b->constant};
    return next_of(f, b) ? (struct bounds){0, 0} : anything; /* states start at zero */
}

/* Computes the bounds of one step, with states from the previous one. Returns true if none grew. */
static bool follow(const struct program *p, struct pointwise *f, bool is_first)
{
    bool settled = true;
    for (int i = 0; i < f->record->nodes; i++) {
        const struct node *node = &f->record->node[i];
        const struct binding *b = f->node[i].field;
        const struct node *next = b ? next_of(f, b) : NULL;
        struct bounds r = node->kind != NODE_INPUT ? bound_of(f, node)
                          : !b                     ? anything
                          : is_first || !next      ? input_range(p, f, b)
                                                   : hull(of_node(f, node), of_node(f, next));
        if (next && !is_first)
            settled &= r.low == f->node[i].low && r.high == f->node[i].high;
        set(&f->node[i], r);
    }
    return settled && !is_first;
}

static void give_up(struct pointwise *f)
{
    for (int i = 0; i < f->record->nodes; i++) {
        const struct node *node = &f->record->node[i];
        const struct binding *b = f->node[i].field;
        const struct node *next = b ? next_of(f, b) : NULL;
        /* a state that still grows is unbounded; a settled one keeps its bound */
        if (next && !(of_node(f, next).low >= f->node[i].low && of_node(f, next).high <= f->node[i].high))
            set(&f->node[i], anything);
        else if (node->kind != NODE_INPUT)
            set(&f->node[i], bound_of(f, node));
    }
}

static void find_constants(struct pointwise *f)
{
    for (int i = 0; i < f->record->nodes; i++) {
        struct fixed_node *n = &f->node[i];
        n->is_bounded = isfinite(n->low) && isfinite(n->high);
        n->is_constant = n->is_bounded && n->low == n->high;
        n->value = n->low;
    }
}

void program_bound(struct program *p)
{
    enum { STEPS = 6 };
    for (int i = 0; i < p->acts; i++) {
        struct pointwise *f = p->act[i].pointwise;
        if (!f)
            continue;
        int step = 0;
        while (step < STEPS && !follow(p, f, step == 0)) step++;
        for (int again = 0; step == STEPS && again < STEPS; again++) give_up(f);
        find_constants(f);
    }
}
