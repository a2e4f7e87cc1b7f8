/* Integer programs: made from a model and inputs similar to future ones, and run by a reference with the functions of
 * the printed C. c99_fixed.c prints them. */
#pragma once
#include "stream/program/program.h"
#include "unroll_advanced.h"
#include <jansson.h>

/* Inputs for measuring magnitudes: frames [steps, rows, width] and tokens [steps, rows, columns], NULL if the model
 * reads none. Each row starts from zero states. */
struct calibration_data {
    const float *frames;
    const int32_t *tokens;
    size_t steps, rows;
};

/* Reads a .npy of T x input or T x B x input numbers, or of T or T x B tokens. For several columns, reads a .npz of
 * `tokens` and `x`. path NULL: no inputs, steps is 0. */
struct calibration_file {
    struct calibration_data c;
    void *room[2];
};
unroll_status calibration_open(const char *path, const struct unroll_model *, struct calibration_file *);
void calibration_close(struct calibration_file *);

/* Runs the program in double precision over the inputs (NULL: noise, see calibrate.c). Records the largest magnitude of
 * each vector and node. */
unroll_status program_calibrate(struct program *, const struct calibration_data *);

/* Computes certain bounds of nodes from the records alone (bounds.c). */
void program_bound(struct program *);

/* Bits of operands (8 or 16) and of multipliers. C for small processors uses OPERAND_BITS. Hardware mostly uses 8, with
 * multipliers of 15 bits for a DSP. */
enum { OPERAND_BITS = 16, MULTIPLIER_BITS = 30, MULTIPLIER_BITS_OF_8 = 15 };

/* Runs program_new, program_bound, program_calibrate and the quantization. */
unroll_status program_new_integer(const struct unroll_model *model, const struct calibration_data *, int operand_bits,
                                  struct program **);

/* Returns number i of a token's embedding (ACT_EMBED); 0 for an invalid token. */
int16_t embedded_number(const struct program *, const struct act *, int token, uint32_t i);

/* Creates the reference of a program and takes ownership of the program. */
struct unroll_integer;
unroll_status integer_new(struct program *, struct unroll_integer **);

/* Returns the change of an operand's integers up to which it keeps its value (program.delta). */
int32_t operand_threshold(const struct program *, int vector);

/* Returns how many operand elements of a vector changed in the last step. */
uint32_t integer_moved(const struct unroll_integer *, int vector);

/* The cost of integers over a calibration's inputs (integer_cost.c): powers of the results and of their difference from
 * floats; steps with the same largest result; the loss of the next token. */
struct integer_cost {
    double power, noise, nats, nats_of_integers;
    size_t steps, same, targets;
    int outputs;
};
unroll_status integer_cost(struct unroll_integer *, const struct program *, const struct calibration_data *,
                           struct integer_cost *);
void describe_integer_cost(const struct integer_cost *, char line[static 256]);
json_t *integer_cost_as_json(const struct integer_cost *); /* needs at least 1 step; the caller owns the result */

/* Returns value 2^fraction, rounded half up, within 16 bits. */
int32_t quantize_number(double value, int fraction);

/* Returns the number of fraction bits that fit in 16 bits. A power of two itself saturates by one. */
int fraction_for(double largest);

enum {
    MIN_FRACTION = -14,
    MAX_FRACTION = 24,
    SIGMOID_MIN = 11,
    SIGMOID_MAX = 17,      /* fractions that sigmoid_of takes; tanh_of takes one more */
    FUNCTION_FRACTION = 15 /* of their results */
};

/* Applies a function of integer_functions.h to a number, for tests. */
int32_t fixed_function(enum node_kind kind, int32_t x, int fraction, int out);
