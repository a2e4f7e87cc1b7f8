/* A recurrent layer of any cell over a whole sequence, in plain loops: matrix products, time loop, weight gradients.
 * Only the cell's declaration is used. Sums, saved values and the gradients of the sums share memory, as
 * nn/cells/cell.h allows. A test defines LAYER_REAL, the element type, before it includes this file. The library has
 * its own, faster layers. */
#ifndef TESTS_CELLS_LAYER_H
#define TESTS_CELLS_LAYER_H
#include "nn/cells/cell.h"
#include <stdlib.h>
#include <string.h>

typedef LAYER_REAL real;

struct layer_shape {
    size_t T, B, I, H;
}; /* steps, rows, inputs, units */

/* All differentiable tensors of a layer. Gradients have the same form as values. */
struct layer_tensors {
    real *W;      /* [inputs FROM_X, H, I] */
    real *U;      /* [inputs FROM_H or FROM_INTERMEDIATE, H, H] */
    real *bias;   /* [inputs, H] */
    real *vector; /* [vectors, H] */
    real *x;      /* [T, B, I] */
    real *start;  /* [states, B, H], the states before the first step */
    real *all;    /* the same values as one array of `count` */
    size_t count;
};

struct layer {
    const struct cell_kernels *cell;
    struct layer_shape shape;
    struct cell_options options;
    struct layer_tensors value, gradient;

    /* per step; backward needs the values */
    real *in;                            /* [T, B, inputs, H]: sums, then saved values, then d_in */
    real *intermediate, *d_intermediate; /* [T, B, intermediates, H]     */
    real *state, *d_state;               /* [T+1, states, B, H]: state 0 of step t+1 is output t */
    real *d_vector;                      /* [T, B, vectors, H]   */
};

/* ---- plain matrix products ------------------------------------------------------------- */

/* y[H] += M[H, K] x[K] */
static inline void add_matrix_vector(real *y, const real *M, const real *x, size_t H, size_t K)
{
    for (size_t h = 0; h < H; h++)
        for (size_t k = 0; k < K; k++) y[h] += M[h * K + k] * x[k];
}

/* d_x[K] += M[H, K]^T d_y[H] */
static inline void add_transposed_matrix_vector(real *d_x, const real *M, const real *d_y, size_t H, size_t K)
{
    for (size_t h = 0; h < H; h++)
        for (size_t k = 0; k < K; k++) d_x[k] += M[h * K + k] * d_y[h];
}

/* d_M[H, K] += d_y[H] x[K]^T */
static inline void add_outer_product(real *d_M, const real *d_y, const real *x, size_t H, size_t K)
{
    for (size_t h = 0; h < H; h++)
        for (size_t k = 0; k < K; k++) d_M[h * K + k] += d_y[h] * x[k];
}

static inline void add_vector(real *y, const real *x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

/* ---- memory ---------------------------------------------------------------------------- */

/* Sets the parts of t from t->all and returns the number of values they need. */
static inline size_t place_tensors(struct layer_tensors *t, const struct cell_declaration *cell, struct layer_shape s)
{
    struct {
        real **part;
        size_t count;
    } parts[] = {{&t->W, (size_t)cell_inputs_from(cell, FROM_X) * s.H * s.I},
                 {&t->U, (size_t)cell_inputs_from(cell, FROM_H | FROM_INTERMEDIATE) * s.H * s.H},
                 {&t->bias, (size_t)cell->inputs * s.H},
                 {&t->vector, (size_t)cell->vectors * s.H},
                 {&t->x, s.T * s.B * s.I},
                 {&t->start, (size_t)cell->states * s.B * s.H}};
    size_t used = 0;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (t->all)
            *parts[p].part = t->all + used;
        used += parts[p].count;
    }
    return used;
}

static inline real *new_numbers(size_t count)
{
    real *numbers = calloc(count ? count : 1, sizeof *numbers);
    if (!numbers)
        abort(); /* out of memory */
    return numbers;
}

static inline void make_tensors(struct layer_tensors *t, const struct cell_declaration *cell, struct layer_shape s)
{
    t->all = NULL;
    t->count = place_tensors(t, cell, s);
    t->all = new_numbers(t->count);
    place_tensors(t, cell, s);
}

/* Allocates a layer with all its tensors; layer_free releases it. */
static inline struct layer *layer_new(const struct cell_kernels *kernels, struct layer_shape s)
{
    const struct cell_declaration *cell = kernels->declaration;
    size_t units = s.B * s.H, steps = s.T * units;
    struct layer *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    l->cell = kernels;
    l->shape = s;
    make_tensors(&l->value, cell, s);
    make_tensors(&l->gradient, cell, s);
    l->options = (struct cell_options){.clip = 0.5f};
    l->in = new_numbers(steps * cell->inputs);
    l->intermediate = new_numbers(steps * cell->intermediates);
    l->d_intermediate = new_numbers(steps * cell->intermediates);
    l->state = new_numbers((steps + units) * cell->states);
    l->d_state = new_numbers((steps + units) * cell->states);
    l->d_vector = new_numbers(steps * cell->vectors);
    return l;
}

static inline void layer_free(struct layer *l)
{
    real *owned[] = {l->value.all,      l->gradient.all, l->in,      l->intermediate,
                     l->d_intermediate, l->state,        l->d_state, l->d_vector};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(l);
}

static inline size_t state_step(const struct layer *l)
{
    return l->cell->declaration->states * l->shape.B * l->shape.H;
}

/* Returns n fields of each row of step t: [B, n, H]. */
static inline struct fields rows_of(real *array, size_t t, size_t n, struct layer_shape s)
{
    return (struct fields){.at = array + t * s.B * n * s.H, .field = s.H, .row = n * s.H};
}

/* Returns one plane for each state: [states, B, H]. */
static inline struct fields planes_of(real *array, struct layer_shape s)
{
    return (struct fields){.at = array, .field = s.B * s.H, .row = s.H};
}

/* Returns the arguments of a cell's kernel at step t. */
static inline struct cell_step step_of(const struct layer *l, size_t t)
{
    const struct cell_declaration *cell = l->cell->declaration;
    struct layer_shape s = l->shape;
    size_t before = t * state_step(l), after = (t + 1) * state_step(l);
    return (struct cell_step){
        .rows = s.B,
        .width = s.H,
        .options = l->options,
        .value = {.in = rows_of(l->in, t, cell->inputs, s),
                  .state = planes_of(l->state + before, s),
                  .next = planes_of(l->state + after, s),
                  .saved = rows_of(l->in, t, cell->inputs, s),
                  .intermediate = rows_of(l->intermediate, t, cell->intermediates, s),
                  .vector = {.at = l->value.vector, .field = s.H}},
        .gradient = {.in = rows_of(l->in, t, cell->inputs, s),
                     .state = planes_of(l->d_state + before, s),
                     .next = planes_of(l->d_state + after, s),
                     .intermediate = rows_of(l->d_intermediate, t, cell->intermediates, s),
                     .vector = rows_of(l->d_vector, t, cell->vectors, s)},
    };
}

/* ---- the products of one step ---------------------------------------------------------- */

/* Visits every product that feeds the inputs of step t for one row: the matrix [H, K], the operand [K], the sum [H]
 * that it is added to, and their gradients. */
struct product {
    real *matrix, *d_matrix;   /* [H, K] */
    real *operand, *d_operand; /* [K] */
    real *sum;                 /* [H], in backward its gradient */
    size_t H, K;
};
typedef void product_visitor(const struct product *product);

/* Calls `visit` for each product of step t whose operand comes from `source`. */
static inline void visit_products(struct layer *l, size_t t, unsigned source, product_visitor *visit)
{
    const struct cell_declaration *cell = l->cell->declaration;
    struct layer_shape s = l->shape;
    struct layer_tensors *value = &l->value, *gradient = &l->gradient;
    size_t w = 0, u = 0; /* the next row blocks of W and U */
    for (int k = 0; k < cell->inputs; k++) {
        unsigned from = cell->input[k].from;
        size_t w_at = w * s.H * s.I, u_at = u * s.H * s.H;
        w += (from & FROM_X) != 0;
        u += (from & (FROM_H | FROM_INTERMEDIATE)) != 0;
        if (!(from & source))
            continue;
        for (size_t b = 0; b < s.B; b++) {
            size_t row = t * s.B + b, sum_at = (row * cell->inputs + k) * s.H;
            size_t h_at = t * state_step(l) + b * s.H;
            struct product p = {
                .sum = l->in + sum_at, .H = s.H, .K = s.H, .matrix = value->U + u_at, .d_matrix = gradient->U + u_at};
            if (source == FROM_X) {
                p.K = s.I;
                p.matrix = value->W + w_at, p.d_matrix = gradient->W + w_at;
                p.operand = value->x + row * s.I, p.d_operand = gradient->x + row * s.I;
            } else if (source == FROM_H) {
                p.operand = l->state + h_at, p.d_operand = l->d_state + h_at;
            } else {
                size_t intermediate_at = row * cell->intermediates * s.H;
                p.operand = l->intermediate + intermediate_at, p.d_operand = l->d_intermediate + intermediate_at;
            }
            visit(&p);
        }
    }
}

static inline void add_product(const struct product *p)
{
    add_matrix_vector(p->sum, p->matrix, p->operand, p->H, p->K);
}

static inline void add_operand_gradient(const struct product *p)
{
    add_transposed_matrix_vector(p->d_operand, p->matrix, p->sum, p->H, p->K);
}

static inline void add_matrix_gradient(const struct product *p)
{
    add_outer_product(p->d_matrix, p->sum, p->operand, p->H, p->K);
}

/* ---- the time loops -------------------------------------------------------------------- */

/* Computes the part of the sums that needs no state, for all steps: biases and products with x. */
static inline void layer_refill_sums(struct layer *l)
{
    size_t in_row = l->cell->declaration->inputs * l->shape.H;
    for (size_t row = 0; row < l->shape.T * l->shape.B; row++)
        memcpy(l->in + row * in_row, l->value.bias, in_row * sizeof(real));
    for (size_t t = 0; t < l->shape.T; t++) visit_products(l, t, FROM_X, add_product);
}

/* Computes the states from the values. */
static inline void layer_forward(struct layer *l)
{
    memcpy(l->state, l->value.start, state_step(l) * sizeof(real));
    layer_refill_sums(l);
    for (size_t t = 0; t < l->shape.T; t++) {
        struct cell_step step = step_of(l, t);
        visit_products(l, t, FROM_H, add_product);
        l->cell->forward[0](&step);
        if (l->cell->declaration->phases == 2) {
            visit_products(l, t, FROM_INTERMEDIATE, add_product);
            l->cell->forward[1](&step);
        }
    }
}

/* Sums over all steps and rows: the gradient of a weight that acts on every row. */
static inline void sum_rows(real *total, const real *rows, size_t row_count, size_t n)
{
    for (size_t row = 0; row < row_count; row++) add_vector(total, rows + row * n, n);
}

static inline void weight_gradients(struct layer *l)
{
    const struct cell_declaration *cell = l->cell->declaration;
    struct layer_shape s = l->shape;
    for (size_t t = 0; t < s.T; t++) {
        visit_products(l, t, FROM_X, add_operand_gradient);
        visit_products(l, t, FROM_X, add_matrix_gradient);
        visit_products(l, t, FROM_H, add_matrix_gradient);
        visit_products(l, t, FROM_INTERMEDIATE, add_matrix_gradient);
    }
    sum_rows(l->gradient.bias, l->in, s.T * s.B, cell->inputs * s.H);
    sum_rows(l->gradient.vector, l->d_vector, s.T * s.B, cell->vectors * s.H);
    memcpy(l->gradient.start, l->d_state, state_step(l) * sizeof(real));
}

/* Computes the gradients from d_state[1..T], the gradients of a loss with respect to all states. */
static inline void layer_backward(struct layer *l)
{
    const struct cell_declaration *cell = l->cell->declaration;
    struct layer_shape s = l->shape;
    memset(l->gradient.all, 0, l->gradient.count * sizeof(real));
    memset(l->d_intermediate, 0, s.T * s.B * s.H * cell->intermediates * sizeof(real));
    memset(l->d_state, 0, state_step(l) * sizeof(real));

    for (size_t t = s.T; t-- > 0;) {
        struct cell_step step = step_of(l, t);
        if (cell->phases == 2) {
            l->cell->backward[1](&step);
            visit_products(l, t, FROM_INTERMEDIATE, add_operand_gradient);
        }
        l->cell->backward[0](&step);
        visit_products(l, t, FROM_H, add_operand_gradient);
    }
    weight_gradients(l);
}

#endif
