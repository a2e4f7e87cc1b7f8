/* Weights in Keras' layout, which RTNeural and RNNoise also use: kernels [inputs, gates x units], LSTM gates i f c o,
 * GRU gates z r h. Ours is PyTorch's: [gates x units, inputs], i f g o, r z n. */
#pragma once
#include "model/model.h"

#define EXPORT_WEIGHTS "export the weights again, or take another copy of the file" /* a fix, for messages */

/* Weights of a layer: kernels [inputs, gates x units] and [units, gates x units], biases [gates x units]. NULL: zeros,
 * if the layer has this weight. */
struct keras_weights {
    const float *kernel, *recurrent, *bias, *recurrent_bias;
};

/* Converts a parameter of a layer, which must exist, to Keras' layout, [inputs, gates x units]; inputs 1: a bias. */
void keras_give(const struct unroll_model *, enum parameter_role, int layer, size_t inputs, float *to);

/* Converts and copies the weights of a layer. */
void keras_fill(const struct unroll_model *, int layer, const struct keras_weights *);
