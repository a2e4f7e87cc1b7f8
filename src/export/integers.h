/* Programs in integers: how they are made of a model and of inputs that are like those to come, and the
 * reference that runs them with the functions that the printed C has. Not printing: c99_fixed.c. */
#ifndef EXPORT_INTEGERS_H
#define EXPORT_INTEGERS_H
#include "export/program.h"
#include <jansson.h>

/* Inputs of which magnitudes are learned: [steps, rows, width] and tokens [steps, rows, columns], NULL where the model
 * reads none of them; each row from zero states. */
struct calibration {
    const float *frames;
    const int32_t *tokens;
    size_t steps, rows;
};

/* Inputs from an .npy of T x input, T x B x input numbers, T or T x B tokens, of columns from an .npz of `tokens` and
 * `x`. path NULL: there are none, steps is 0. */
struct calibration_file {
    struct calibration c;
    void *room[2];
};
unroll_status calibration_open(const char *path, const struct unroll_model *, struct calibration_file *);
void calibration_close(struct calibration_file *);

/* Runs the program in double precision over the inputs (NULL: noise, see calibrate.c) and notes the largest
 * magnitude of each vector and node. */
unroll_status program_calibrate(struct program *, const struct calibration *);

/* Certain bounds of nodes, from the records alone (bounds.c). */
void program_bound(struct program *);

/* Bits of operands (8 or 16) and of multipliers: C for small processors has OPERAND_BITS, hardware mostly 8, whose
 * multipliers are of 15 bits: a DSP's. */
enum { OPERAND_BITS = 16, MULTIPLIER_BITS = 30, MULTIPLIER_BITS_OF_8 = 15 };

/* program_new, bound, calibrate and quantize. */
unroll_status program_new_integer(const struct unroll_model *model, const struct calibration *, int operand_bits,
                                  struct program **);

/* Number i of what a token becomes (ACT_EMBED); of no token 0. */
int16_t embedded_number(const struct program *, const struct act *, int token, uint32_t i);

/* The reference of a program, which it owns from then on. */
struct unroll_integer;
unroll_status integer_new(struct program *, struct unroll_integer **);

/* Differences of an operand's integers up to which it stays (program.delta). */
int32_t operand_threshold(const struct program *, int vector);

/* How many elements of a vector that products read were not as they stood the step before: of the last step. */
uint32_t integer_moved(const struct unroll_integer *, int vector);

/* What they cost over a calibration's inputs (integer_cost.c): powers of the results and of their difference from
 * floats, steps in which the largest is the same one, and of tokens the loss of the next. */
struct integer_cost {
    double power, noise, nats, nats_of_integers;
    size_t steps, same, targets;
    int outputs;
};
unroll_status integer_cost(struct unroll_integer *, const struct program *, const struct calibration *,
                           struct integer_cost *);
void tell_integer_cost(const struct integer_cost *, char line[static 256]);
json_t *integer_cost_as_json(const struct integer_cost *); /* of at least 1 step; the caller owns it */

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
