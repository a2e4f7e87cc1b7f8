/* The activation functions of dense layers and of cells that let users choose theirs, as data.
 * Their formulas are in v/v_activation.h, for each V; ONNX's names and defaults
 * (onnx.ai/onnx/operators/onnx__LSTM.html). Softmax is of a whole row: for dense layers alone. */
#ifndef CELLS_ACTIVATION_H
#define CELLS_ACTIVATION_H
#include <stdbool.h>
#include <stddef.h>

/* ID, name, default alpha, default beta */
#define ACTIVATIONS(NAMED)                          \
    NAMED(LINEAR,           linear,           0, 0) \
    NAMED(RELU,             relu,             0, 0) \
    NAMED(TANH,             tanh,             0, 0) \
    NAMED(SIGMOID,          sigmoid,          0, 0) \
    NAMED(AFFINE,           affine,           1, 0) \
    NAMED(LEAKY_RELU,       leaky_relu,       0.01f, 0) \
    NAMED(THRESHOLDED_RELU, thresholded_relu, 1, 0) \
    NAMED(SCALED_TANH,      scaled_tanh,      1, 1) \
    NAMED(HARD_SIGMOID,     hard_sigmoid,     0.2f, 0.5f) \
    NAMED(ELU,              elu,              1, 0) \
    NAMED(SOFTSIGN,         softsign,         0, 0) \
    NAMED(SOFTPLUS,         softplus,         0, 0) \
    NAMED(SOFTMAX,          softmax,          0, 0)

enum activation_kind {
#define ACTIVATION_ENUM(ID, name, alpha, beta) ACTIVATION_##ID,
    ACTIVATIONS(ACTIVATION_ENUM)
#undef ACTIVATION_ENUM
        ACTIVATION_COUNT
};

struct activation {
    enum activation_kind kind;
    float alpha, beta;
};

const char *activation_name(enum activation_kind kind);

/* How many numbers it has: 1, alpha; 2, alpha and beta. */
int activation_numbers(enum activation_kind kind);

/* "hard_sigmoid", with the default alpha and beta, or "hard_sigmoid(0.2,0.5)"; false: it is none. */
bool activation_parse(const char *name, struct activation *activation);

/* The other way round; size: at most 64. */
void activation_format(const struct activation *, char *to, size_t size);

#endif
