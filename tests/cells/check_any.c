/* Cells with configurable functions are the reference for those with fixed ones: with the same functions, clip and
 * weights, a layer and its backward give the same bits. */
/* test: seconds=5 */
#define LAYER_REAL float
#include "layer.h"
#include "worst.h"

static const struct pair {
    const char *cell, *any;
    float clip;
    enum activation_kind function[CELL_ACTIVATIONS];
} pairs[] = {
#define LIKE_LSTM { ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_TANH }
    {"lstm", "lstm_any", 0, LIKE_LSTM},
    {"lstm_clip", "lstm_any", 0.5f, LIKE_LSTM},
    {"lstm_peephole", "lstm_peephole_any", 0, LIKE_LSTM},
    {"lstm_peephole_clip", "lstm_peephole_any", 0.5f, LIKE_LSTM},
    {"gru", "gru_any", 0, LIKE_LSTM},
    {"gru_before", "gru_before_any", 0, LIKE_LSTM},
    {"rnn", "rnn_any", 0, {ACTIVATION_TANH, ACTIVATION_LINEAR, ACTIVATION_LINEAR}},
    {"rnn_relu", "rnn_any", 0, {ACTIVATION_RELU, ACTIVATION_LINEAR, ACTIVATION_LINEAR}}};

static struct layer *run(const char *name, const struct pair *pair)
{
    struct layer *l = layer_new(cell_find(cells_scalar, name), (struct layer_shape){.T = 6, .B = 3, .I = 4, .H = 19});
    uint64_t seed = 7;
    size_t states = l->cell->declaration->states * l->shape.B * l->shape.H * (l->shape.T + 1);
    l->options = (struct cell_options){.clip = pair->clip};
    for (int k = 0; k < CELL_ACTIVATIONS; k++) l->options.function[k].kind = pair->function[k];
    for (size_t i = 0; i < l->value.count; i++) l->value.all[i] = (float)random_number(&seed);
    layer_forward(l);
    for (size_t i = 0; i < states; i++) l->d_state[i] = (float)random_number(&seed);
    layer_backward(l);
    return l;
}

int main(void)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct layer *one = run(pairs[i].cell, &pairs[i]), *any = run(pairs[i].any, &pairs[i]);
        size_t states = one->cell->declaration->states * one->shape.B * one->shape.H * (one->shape.T + 1);
        CHECK(!memcmp(one->state, any->state, states * sizeof *one->state), "%s and %s: other states", pairs[i].cell,
              pairs[i].any);
        CHECK(!memcmp(one->gradient.all, any->gradient.all, one->gradient.count * sizeof *one->gradient.all),
              "%s and %s: other gradients", pairs[i].cell, pairs[i].any);
        layer_free(one);
        layer_free(any);
    }
    return check_finish("check_any");
}
