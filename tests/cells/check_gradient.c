/* Compares every gradient of a whole sequence (W, U, bias, vectors, x, starting states) with central finite differences
 * in double, for the library's cells and those of the tests. The loss weights all states of all steps randomly, so that
 * a backward that overwrites d.state instead of adding to it is detected. */
/* test: with=cells/toys_f64 */
#define LAYER_REAL double
#include "layer.h"
#include "toys.h"
#include "worst.h"

static double loss(struct layer *l, const real *weight, size_t first, size_t count)
{
    double sum = 0;
    layer_forward(l);
    for (size_t i = first; i < count; i++) sum += weight[i] * l->state[i];
    return sum;
}

/* Returns the largest relative error of the gradients compared with central differences. */
static double worst_gradient(struct layer *l)
{
    const double step = 1e-5;
    uint64_t seed = 1;
    size_t first = l->cell->declaration->states * l->shape.B * l->shape.H;
    size_t count = first * (l->shape.T + 1);
    real *weight = new_numbers(count);
    double worst = 0;
    for (size_t i = 0; i < l->value.count; i++) l->value.all[i] = random_number(&seed);
    for (size_t i = first; i < count; i++) weight[i] = random_number(&seed);

    layer_forward(l);
    memcpy(l->d_state, weight, count * sizeof *weight);
    layer_backward(l);

    for (size_t i = 0; i < l->value.count; i++) {
        real kept = l->value.all[i];
        l->value.all[i] = kept + step;
        double above = loss(l, weight, first, count);
        l->value.all[i] = kept - step;
        double below = loss(l, weight, first, count);
        l->value.all[i] = kept;
        double slope = (above - below) / (2 * step);
        worst = worse(worst, fabs(slope - l->gradient.all[i]) / (1 + fabs(slope)));
    }
    free(weight);
    return worst;
}

/* Tests all functions in turn, each with its neighbors as candidate and output; some with coupled gates and a clip. */
static void check_activations(const struct cell_kernels *cell, struct layer_shape shape)
{
    enum { ACTIVATIONS = ACTIVATION_SOFTPLUS - ACTIVATION_RELU + 1 };
    for (int kind = 0; kind < ACTIVATIONS; kind++) {
        struct layer *l = layer_new(cell, shape);
        char what[64];
        for (int k = 0; k < CELL_ACTIVATIONS; k++)
            activation_parse(activation_name((enum activation_kind)(ACTIVATION_RELU + (kind + k) % ACTIVATIONS)),
                             &l->options.function[k]);
        l->options.input_forget = kind % 2;
        l->options.clip = kind > 3 && kind % 3 == 0 ? 0 : 0.5f; /* without a clip, gates with relu or affine explode */
        snprintf(what, sizeof what, "%s, %s", cell->declaration->name, activation_name(l->options.function[0].kind));
        check_worst("gradient", what, worst_gradient(l), 1e-8);
        layer_free(l);
    }
}

static void check_table(const struct cell_kernels *const *cell)
{
    struct layer_shape shape = {.T = 6, .B = 3, .I = 4, .H = 5};
    for (; *cell; cell++) {
        if (strstr((*cell)->declaration->name, "_any")) {
            check_activations(*cell, shape);
            continue;
        }
        struct layer *l = layer_new(*cell, shape);
        check_worst("gradient", (*cell)->declaration->name, worst_gradient(l), 1e-8);
        layer_free(l);
    }
}

int main(void)
{
    check_table(cells_f64);
    check_table(toys_f64);
    return check_finish("check_gradient");
}
