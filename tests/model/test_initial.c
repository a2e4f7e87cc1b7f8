/* The weights of new models: the distribution of each method, the position of the forget bias, refusals. */
/* test: kinds=plain,long-memory */
#include "check.h"
#include "unroll_network.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static unroll_model *make(const char *cell, const char *init, float forget_bias, int projection, uint64_t seed)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *m = NULL;
    spec.cell = cell, spec.layers = 2, spec.hidden = 48, spec.input = 20, spec.output = 7;
    spec.projection = projection, spec.init = init, spec.forget_bias = forget_bias;
    MUST(unroll_model_new(&spec, seed, &m));
    return m;
}

static unroll_parameter find(unroll_model *m, const char *name)
{
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < unroll_model_parameters(m); i++)
        if (unroll_model_parameter(m, i, &p) == UNROLL_OK && !strcmp(p.name, name))
            return p;
    abort();
}

static size_t count_of(const unroll_parameter *p)
{
    return (size_t)p->shape[0] * (size_t)(p->rank > 1 ? p->shape[1] : 1);
}

static bool is_same(unroll_model *a, unroll_model *b)
{
    bool same = true;
    for (int i = 0; i < unroll_model_parameters(a); i++) {
        unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
        unroll_model_parameter(a, i, &p);
        unroll_model_parameter(b, i, &q);
        same &= !memcmp(p.data, q.data, count_of(&p) * sizeof(float));
    }
    return same;
}

/* ---- distributions --------------------------------------------------------------------- */

/* Within +-bound and spread over it: the variance of many uniform values is bound^2 / 3, within 10%. */
static void check_uniform(unroll_model *m, const char *name, double bound)
{
    const unroll_parameter p = find(m, name);
    double largest = 0, square = 0, sum = 0;
    for (size_t i = 0; i < count_of(&p); i++) {
        largest = fmax(largest, fabs((double)p.data[i]));
        square += (double)p.data[i] * (double)p.data[i] / (double)count_of(&p);
        sum += (double)p.data[i] / (double)count_of(&p);
    }
    CHECK(largest <= bound && largest >= 0.9 * bound, "%s: the largest is %g of %g", name, largest, bound);
    CHECK(bound == 0 || (fabs(square / (bound * bound / 3) - 1) < 0.15 && fabs(sum) < 0.15 * bound),
          "%s: variance %g, mean %g of bound %g", name, square, sum, bound);
}

/* The `gates` matrices of a weight have orthonormal rows or columns, whichever are fewer. */
static void check_orthogonal(unroll_model *m, const char *name, int gates)
{
    const unroll_parameter p = find(m, name);
    const int units = p.shape[0] / gates, width = p.shape[1], n = units < width ? units : width;
    double worst = 0, between = 0;
    for (int gate = 0; gate < gates; gate++) {
        const float *w = p.data + (size_t)gate * (size_t)(units * width);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                double product = 0;
                for (int k = 0; k < (units < width ? width : units); k++)
                    product += units < width ? (double)w[i * width + k] * (double)w[j * width + k]
                                             : (double)w[k * width + i] * (double)w[k * width + j];
                worst = fmax(worst, fabs(product - (i == j)));
            }
        for (int k = 0; gate > 0 && k < units * width; k++)
            between = fmax(between, fabs((double)w[k] - (double)p.data[k]));
    }
    CHECK(worst < 1e-6, "%s: products of vectors are off by %g", name, worst);
    CHECK(gates == 1 || between > 0.1, "%s: the gates are alike", name);
}

static void check_ways(void)
{
    unroll_model *uniform = make("lstm", "uniform", 0, 0, 3), *standard = make("lstm", NULL, 0, 0, 3);
    unroll_model *xavier = make("lstm", "xavier", 0, 0, 3), *orthogonal = make("lstm", "orthogonal", 0, 0, 3);
    unroll_model *again = make("lstm", "orthogonal", 0, 0, 3), *other = make("lstm", "orthogonal", 0, 0, 4);
    unroll_model *projected = make("lstm", "orthogonal", 0, 30, 3), *gru = make("gru", "orthogonal", 0, 0, 3);
    CHECK(is_same(uniform, standard), "uniform is not what there is without init");
    CHECK(is_same(orthogonal, again) && !is_same(orthogonal, other), "weights are no function of the seed");
    check_uniform(uniform, "rnn.weight_hh_l1", 1 / sqrt(48));
    check_uniform(uniform, "rnn.bias_hh_l1", 1 / sqrt(48));
    check_uniform(xavier, "rnn.weight_ih_l0", sqrt(6.0 / (48 + 20)));
    check_uniform(xavier, "rnn.weight_hh_l1", sqrt(6.0 / (48 + 48)));
    check_uniform(xavier, "head.weight", sqrt(6.0 / (7 + 48)));
    check_uniform(xavier, "rnn.bias_hh_l1", 0);
    check_uniform(xavier, "head.bias", 0);
    check_uniform(orthogonal, "rnn.weight_ih_l1", sqrt(6.0 / (48 + 48)));
    check_uniform(orthogonal, "rnn.bias_ih_l0", 0);
    check_orthogonal(orthogonal, "rnn.weight_hh_l0", 4);
    check_orthogonal(orthogonal, "rnn.weight_hh_l1", 4);
    check_orthogonal(gru, "rnn.weight_hh_l0", 3);
    check_orthogonal(projected, "rnn.weight_hh_l0", 4);
    check_uniform(projected, "rnn.weight_hr_l0", sqrt(6.0 / (48 + 30)));
    unroll_model *all[] = {uniform, standard, xavier, orthogonal, again, other, projected, gru};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) unroll_model_free(all[i]);
}

/* ---- the forget bias ------------------------------------------------------------------- */

/* In the x biases of the second of four gates, in both layers, and nowhere else. */
static void check_forget_bias(void)
{
    unroll_model *plain = make("lstm", NULL, 0, 0, 3), *biased = make("lstm", NULL, 1.5f, 0, 3);
    for (int i = 0; i < unroll_model_parameters(plain); i++) {
        unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
        int wrong = 0;
        MUST(unroll_model_parameter(plain, i, &p));
        MUST(unroll_model_parameter(biased, i, &q));
        for (size_t k = 0; k < count_of(&p); k++)
            wrong += q.data[k] != p.data[k] + (strstr(p.name, "bias_ih") && k / 48 == 1 ? 1.5f : 0);
        CHECK(wrong == 0, "%s: %d numbers", p.name, wrong);
    }
    unroll_model_free(plain);
    unroll_model_free(biased);
}

static void refused(const char *cell, int bias, const char *init, float forget_bias, const char *words)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *m;
    spec.cell = cell, spec.bias = bias, spec.input = 3, spec.init = init, spec.forget_bias = forget_bias;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, words);
}

static void check_refusals(void)
{
    unroll_layer layer = unroll_layer_default();
    unroll_network network = unroll_network_default();
    unroll_model *m;
    refused("lstm", 1, "he", 0, "`init` = 'he' is unknown");
    refused("gru", 1, NULL, 1, "no layer has a forget gate with a bias");
    refused("lstm", 0, NULL, 1, "no layer has a forget gate with a bias");
    refused("lstm", 1, NULL, NAN, "it is not a number");
    refused("mingru", 1, "orthogonal", 0, "the network does not have");
    layer.kind = "lstm", layer.name = "rnn", layer.width = 3, layer.input_forget = 1;
    network.layer = &layer, network.layers = 1, network.input = 2, network.forget_bias = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "no layer has a forget gate with a bias");
}

int main(void)
{
    check_ways();
    check_forget_bias();
    check_refusals();
    return check_finish("initial");
}
