/* The activation functions of dense layers, and of cells whose functions are configurable, as data. Formulas are in
 * nn/vector/v_activation.h for each V. Names and defaults are ONNX's (onnx.ai/onnx/operators/onnx__LSTM.html). Softmax
 * applies to a whole row and is for dense layers only. */
#pragma once
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

/* Returns the number of its parameters: 1: alpha; 2: alpha and beta. */
int activation_numbers(enum activation_kind kind);

/* Parses "hard_sigmoid" (default alpha and beta) or "hard_sigmoid(0.2,0.5)". Returns false for an unknown name. */
bool activation_parse(const char *name, struct activation *activation);

/* Formats an activation; at most 64 bytes are needed. */
void activation_format(const struct activation *, char *to, size_t size);
