/* Programs in integers: how they are made of a model and of inputs that are like those to come, and the
 * reference that runs them with the functions that the printed C has. Not printing: c99_fixed.c. */
#ifndef EXPORT_INTEGERS_H
#define EXPORT_INTEGERS_H
#include "export/program.h"

/* Inputs of which magnitudes are learned: [steps, rows, width] and tokens [steps, rows, columns], NULL where the model
 * reads none of them; each row from zero states. */
struct calibration {
    const float *frames;
    const int32_t *tokens;
    size_t steps, rows;
};

/* Runs the program in double precision over the inputs (NULL: noise, see calibrate.c) and notes the largest
 * magnitude of each vector and node. */
unroll_status program_calibrate(struct program *, const struct calibration *);

/* Certain bounds of nodes, from the records alone (bounds.c). */
void program_bound(struct program *);

/* program_new, bound, calibrate and quantize. */
unroll_status program_new_integer(const struct unroll_model *model, const struct calibration *, struct program **);

/* value 2^fraction rounded half up, within 16 bits. */
int32_t quantize_number(double value, int fraction);

/* The number of fraction bits that 16 bits have room for; a magnitude of a power of two itself saturates by
 * one. */
int fraction_for(double largest);

enum {
    MIN_FRACTION = -14,
    MAX_FRACTION = 24,
    SIGMOID_MIN = 11,
    SIGMOID_MAX = 17,      /* fractions that sigmoid_of takes; tanh_of one more */
    FUNCTION_FRACTION = 15 /* of what they give */
};

/* Reference: what integer_functions.h says of a number at the lowest level, for tests. */
int32_t fixed_function(enum node_kind kind, int32_t x, int fraction, int out);

#endif
