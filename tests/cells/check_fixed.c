/* Measures how far cells in 16-bit fixed point deviate from float ones over a sequence. Only the pointwise part is
 * fixed point, so the error is that of the format. */
/* test: with=cells/cells_fixed */
#define LAYER_REAL float
#include "layer.h"
#include "worst.h"

extern const struct cell_kernels *const cells_fixed[]; /* cells_fixed.c */

static struct layer *run(const struct cell_kernels *cell, struct layer_shape shape)
{
    struct layer *l = layer_new(cell, shape);
    uint64_t seed = 11;
    double scale = 1 / sqrt((double)shape.H);
    for (size_t i = 0; i < l->value.count; i++) l->value.all[i] = (real)(scale * random_number(&seed));
    for (size_t i = 0; i < shape.T * shape.B * shape.I; i++) l->value.x[i] = (real)random_number(&seed);
    layer_forward(l);
    return l;
}

static double worst_output(const struct layer *a, const struct layer *b)
{
    size_t units = a->shape.B * a->shape.H, step = a->cell->declaration->states * units;
    double worst = 0;
    for (size_t t = 1; t <= a->shape.T; t++)
        for (size_t u = 0; u < units; u++) worst = worse(worst, fabs(a->state[t * step + u] - b->state[t * step + u]));
    return worst;
}

/* Saturation is correct at the limits of the format, and no conversion is undefined. */
static void check_range(void)
{
    const struct cell_kernels *relu = cell_find(cells_fixed, "rnn_relu");
    float in[4] = {1e30f, -INFINITY, NAN, 1.25f}, next[4], expected[4] = {32767 / 4096.f, 0, 0, 1.25f};
    struct fields dense = {next, 4, 4};
    struct cell_step step = {.rows = 1, .width = 4, .value = {.in = {in, 4, 4}, .next = dense, .state = dense}};
    relu->forward[0](&step);
    for (int i = 0; i < 4; i++)
        CHECK(next[i] == expected[i], "relu of %g is %g in Q3.12, not %g", in[i], next[i], expected[i]);
}

int main(void)
{
    struct layer_shape shape = {.T = 500, .B = 2, .I = 16, .H = 32};
    for (int i = 0; cells_fixed[i]; i++) {
        struct layer *fixed = run(cells_fixed[i], shape), *exact = run(cells_scalar[i], shape);
        check_worst("fixed", exact->cell->declaration->name, worst_output(fixed, exact), 4e-3);
        layer_free(fixed);
        layer_free(exact);
    }
    check_range();
    return check_finish("check_fixed");
}
