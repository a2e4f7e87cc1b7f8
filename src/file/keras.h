/* Weights as Keras lays them out, which RTNeural and RNNoise follow: kernels [inputs, gates x units], LSTM
 * i f c o, GRU z r h; ours are PyTorch's: [gates x units, inputs], i f g o, r z n. Not a file format. */
#ifndef FILE_KERAS_H
#define FILE_KERAS_H
#include <stddef.h>
#include "cells/cell.h"

/* Our gate g is gate order[g] there. */
struct keras_gates { int count; const int *order; };

/* cell NULL: of a dense layer. */
struct keras_gates keras_gates(const struct cell_declaration *cell);

/* from [inputs, gates x units] into to [gates x units, inputs]. */
void keras_kernel(const struct keras_gates *, const float *from, size_t inputs, size_t units, float *to);

/* [gates x units] in our order. */
void keras_bias(const struct keras_gates *, const float *from, size_t units, float *to);

#endif
