/* Converts weights from Keras' order of gates and axes to ours. */
#include "convert/keras.h"

#include <string.h>

/* Transposes [inputs, gates x units] into a parameter [gates x units, inputs]. Our gate g is Keras' gate order[g]. */
static void fill_parameter(const struct unroll_model *m, enum parameter_role role, int layer, size_t inputs,
                           const float *from)
{
    static const int alone[] = {0};
    const struct layer *l = &m->layer[layer];
    const int *order = l->cell ? l->cell->foreign.keras_gates : alone, found = model_find(m, role, layer, 0);
    if (found < 0)
        return;
    const struct parameter *q = &m->parameter[found];
    const size_t rows = q->count / inputs, units = l->cell ? l->hidden : rows;
    float *to = m->values + q->first;
    if (!from)
        memset(to, 0, q->count * sizeof *to);
    for (size_t row = 0; from && row < rows; row++) {
        size_t column = (size_t)order[row / units] * units + row % units;
        for (size_t i = 0; i < inputs; i++) to[row * inputs + i] = from[i * rows + column];
    }
}

void keras_give(const struct unroll_model *m, enum parameter_role role, int layer, size_t inputs, float *to)
{
    static const int alone[] = {0};
    const struct layer *l = &m->layer[layer];
    const struct parameter *q = &m->parameter[model_find(m, role, layer, 0)];
    const int *order = l->cell ? l->cell->foreign.keras_gates : alone;
    const size_t rows = q->count / inputs, units = l->cell ? l->hidden : rows;
    const float *from = m->values + q->first;
    for (size_t row = 0; row < rows; row++) {
        const size_t column = (size_t)order[row / units] * units + row % units;
        for (size_t i = 0; i < inputs; i++) to[i * rows + column] = from[row * inputs + i];
    }
}

void keras_fill(const struct unroll_model *m, int layer, const struct keras_weights *w)
{
    const struct layer *l = &m->layer[layer];
    fill_parameter(m, l->cell ? PARAM_W_IH : PARAM_W_DENSE, layer, l->input, w->kernel);
    fill_parameter(m, PARAM_W_HH, layer, l->hidden, w->recurrent);
    fill_parameter(m, l->cell ? PARAM_B_IH : PARAM_B_DENSE, layer, 1, w->bias);
    fill_parameter(m, PARAM_B_HH, layer, 1, w->recurrent_bias);
}
