/* From Keras' order of gates and axes to ours. */
#include "file/keras.h"

static const int same[] = { 0, 1, 2, 3 }, reset_first[] = { 1, 0, 2 };

const struct keras_gates keras_dense = { 1, same }, keras_lstm = { 4, same }, keras_gru = { 3, reset_first };

void keras_kernel(const struct keras_gates *k, const float *from, size_t inputs, size_t units, float *to)
{
    size_t columns = (size_t)k->count * units;

    for (size_t row = 0; row < columns; row++) {
        size_t column = (size_t)k->order[row / units] * units + row % units;
        for (size_t i = 0; i < inputs; i++)
            to[row * inputs + i] = from[i * columns + column];
    }
}

void keras_bias(const struct keras_gates *k, const float *from, size_t units, float *to)
{
    keras_kernel(k, from, 1, units, to);
}
