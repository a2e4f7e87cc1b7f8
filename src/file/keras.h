/* Weights as Keras lays them out, which RTNeural and RNNoise follow: kernels [inputs, gates x units], LSTM
 * i f c o, GRU z r h; ours are PyTorch's: [gates x units, inputs], i f g o, r z n. Not a file format. */
#ifndef FILE_KERAS_H
#define FILE_KERAS_H
#include "model/model.h"

/* Of a layer: kernels [inputs, gates x units], [units, gates x units]; biases [gates x units]. NULL: zeros, if the
 * layer has it. */
struct keras_weights {
    const float *kernel, *recurrent, *bias, *recurrent_bias;
};

/* They become a layer's weights. */
void keras_fill(const struct unroll_model *, int layer, const struct keras_weights *);

#endif
