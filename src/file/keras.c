/* From Keras' order of gates and axes to ours. */
#include "file/keras.h"

struct keras_gates keras_gates(const struct cell_declaration *cell)
{
    static const int alone[] = { 0 };
    return cell ? (struct keras_gates){ cell_inputs_from(cell, FROM_X), cell->foreign.keras_gates }
                : (struct keras_gates){ 1, alone };
}

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
