/* A cell as shared code sees it: its declaration, and its pointwise steps as functions. Nothing here
 * depends on a number's type, so that one program holds tables of floats and of doubles. A matrix
 * product, a loop over time and a cell's name are all foreign to this file. */
#ifndef CELLS_CELL_H
#define CELLS_CELL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cells/activation.h"
#include "cells/cell_source.h"

enum { CELL_TILE = 16 }; /* units of which packed weights lie side by side (struct fused_weights) */

struct cell_input {
    const char *name;
    unsigned from; /* of enum cell_source; inputs FROM_X come before all others */
    int phase;     /* 0 or 1: the phase that reads it */
};

/* How other tools have a cell. Gate k of ours, in the order of the rows of weights, is number NAME_gates[k] there. */
enum { CELL_ACTIVATIONS = 3, CELL_GATES = 4 };

struct cell_foreign {
    const char *name;           /* of the module of torch.nn and of ONNX's operator, "GRU"; NULL: they have none */
    const char *kind;           /* which cell of that name: a GRU resets "after" or "before" the product with h */
    bool in_torch;              /* PyTorch computes it; its order of gates is ours */
    const char *onnx_attribute; /* by which ONNX tells cells of one operator apart, and its value here */
    int onnx_value;
    int onnx_gates[CELL_GATES], onnx_vectors[CELL_GATES];
    int keras_gates[CELL_GATES];
    int keras_biases; /* of each gate: 1: of x and h together, 2: of x, then of h; 0: Keras has it not, or
                         nobody reads it */
};

struct cell_declaration {
    const char *name;                                /* of this variant: "lstm_clip" */
    const char *called;                              /* by users: "lstm" */
    const char *formula;                             /* cells that differ in their functions alone share it */
    bool chooses;                                    /* functions of the user's choice, clipped or not */
    bool projects;                                   /* h may be projected: nothing reads it unit by unit */
    bool couples;                                    /* if it chooses: the forget gate may be 1 - the input gate */
    bool peepholes;                                  /* its vectors are an option; other cells always have theirs */
    int activations;                                 /* how many it has: of gates, candidate, output */
    enum activation_kind function[CELL_ACTIVATIONS]; /* its own, of which the user may choose others */
    struct cell_foreign foreign;
    int phases;
    int inputs, states, saved, intermediates, vectors, options; /* how many of each; saved <= inputs */
    const struct cell_input *input;                             /* [inputs] in the order of the weight rows */
    const char *const *state;                                   /* [states] names; the first is the output */
    const char *const *saved_value, *const *intermediate, *const *vector, *const *option; /* names */
};

/* A view of n fields of [rows, width] numbers, floats or doubles as the kernel's table says. Strides
 * count numbers: field f of row b, unit u lies at
 *     at[f * field + b * row + u]
 * row = 0 gives all rows the same numbers. No alignment is needed, and nothing outside the width units is read or
 * written. */
struct fields {
    void *at;
    size_t field, row;
};

/* What one time step reads and writes; the comment of cell_begin.h says when. Arrays of which a
 * cell has no field may be left zero. Memory may be shared, view by view with the same strides:
 *     value.in = value.saved = gradient.in     sums, then what backward needs, then their gradients
 *     value.next = value.state                 where no backward follows
 *     gradient.state = gradient.next           with gradient.state set, not added to
 * because a kernel loads all it reads of a block of units before it stores. gradient.vector gets the
 * share of each row: the caller adds up rows and steps. gradient.state is added to, all else is set.
 *
 * Backward alone looks at first_state and first_next. With an address they are where the first of the values'
 * states lies, and state and next begin with the second. gradient.first_next is what the output was given
 * beside, and is added to the first of gradient.next. */
struct cell_arrays {
    struct fields in, state, next, saved, intermediate, vector;
    struct fields first_state, first_next;
};

/* What a cell may have as an option: the same for all units. Cells of a table read the clip as a V; those of
 * any.h look at all of it. */
struct cell_options {
    float clip;        /* > 0: inputs of activation functions are kept within [-clip, clip] */
    bool input_forget; /* lstm: the forget gate is 1 - i */
    struct activation function[CELL_ACTIVATIONS]; /* of the gates, the candidate, the output */
};

/* A word of letters, digits and '_' for a cell with these options: of one that chooses nothing its name, else that and
 * all options. The other way round: false: it is no key of the cell of that name. */
enum { CELL_KEY = 112 };
void cell_key(const struct cell_declaration *, const struct cell_options *, char key[CELL_KEY]);
bool cell_key_read(const char *key, const char *name, struct cell_options *);

/* values, gradients: backward only reads the values; forward ignores the gradients. */
struct cell_step {
    size_t rows, width; /* width >= 1 */
    struct cell_arrays value, gradient;
    struct fields copy; /* backward: gradient.in once more, dense; or absent */
    struct cell_options options;
    bool sets_state;               /* backward: gradient.state is set, not added to */
    const struct cell_step *ahead; /* backward: asked for from memory on the way, or NULL */
};

typedef void cell_kernel(const struct cell_step *step);

/* What multiplies weights: k numbers of row b at at + b * row; of int8 weights the row's cells, of which `row`
 * counts 4 bytes. Of what tiles multiply the left factor (cells/bf16x3.h), whose rows are in the order of places: place
 * 0, 1, 2, .. */
struct fused_operand {
    const void *at;
    size_t row;
};

/* A cell of weights: a number of the kernel's type; or 4 bytes that hold two bf16, or four int8, of consecutive k.
 * plan.h and device/cpu/kernel.h say more: what ends the cells of int8 and of their operand, what they sum up to. */
enum fused_word { FUSED_REAL, FUSED_BF16, FUSED_INT8, FUSED_BF16X3, FUSED_WHOLE };

/* Weights [gates, U, k] in tiles of units, zeros after the last unit: cell i of gate g and unit u is
 *     at[((u / CELL_TILE * cells + i) * gates + g) * CELL_TILE + u % CELL_TILE]
 * and biases: of gate g, unit u at bias[g * bias_gate + u]. Either may be NULL. bf16x3 splits are no cells in tiles
 * but, for each gate, the right factor of its `units` columns (cells/bf16x3.h), split or whole. */
struct fused_weights {
    const void *at;
    size_t k, gates;
    const void *bias;
    size_t bias_gate;
    enum fused_word cell;
    size_t units; /* U: of bf16x3 splits alone */
};

/* How many cells of a unit there are. */
static inline size_t fused_words(const struct fused_weights *w)
{
    return w->cell == FUSED_REAL ? w->k : w->cell == FUSED_BF16 ? (w->k + 1) / 2 : (w->k + 3) / 4 + 2;
}

/* One phase of a step of units [unit, unit_end) of some rows, its products included. A sum is
 *     (((b_x + W x) + b_h) + U h)
 * each product one chain of fused multiply-adds in rising k, with int8 weights a single one, of their sum; with tiles
 * both are one chain of steps of k (tiles_add in v/v_tiles.h), added to the rest at the end. Only FROM_X
 * inputs have the first two terms, which value.in holds already if of_x is absent, only FROM_H and FROM_INTERMEDIATE
 * inputs the others. With of_x value.in is a place where sums may wait. Where it is absent sums begin with zero. Row b
 * means the same in all arrays and operands. h is read whole while next is written: they must not share memory, as
 * other states may. What cell_begin.h says of saved and vector holds; saved may be absent. */
struct fused_step {
    size_t rows;
    const uint32_t *row;   /* [rows] numbers of the rows; NULL: 0, 1, 2, .. */
    size_t unit, unit_end; /* the first is a multiple of CELL_TILE */
    bool reverse;          /* goes through the units from the last to the first */
    bool keeps_sums;       /* value.in is read alone: no sums wait there */
    bool far;              /* saved values of whole tiles are lines of memory that nobody wants soon */
    struct fused_operand x, h, intermediate;
    struct fused_weights of_x, of_h; /* of_h has the gates FROM_H and FROM_INTERMEDIATE, of_x those FROM_X */
    struct cell_arrays value;
    struct fields output, others; /* copies of the next states: the first, and from the second on */
    struct cell_options options;
};

typedef void fused_kernel(const struct fused_step *step);

struct cell_kernels {
    const struct cell_declaration *declaration;
    cell_kernel *forward[2], *backward[2]; /* [phase]; NULL where the cell has one phase */
    fused_kernel *fused[2];                /* likewise; NULL in tables that are pointwise only */
};

/* One table per kind of number and instruction set, ended by NULL, all in the same order. Tables of
 * floats give the same bits. */
extern const struct cell_kernels *const cells_scalar[];
extern const struct cell_kernels *const cells_f64[];
extern const struct cell_kernels *const cells_avx2[];
extern const struct cell_kernels *const cells_avx512[];
extern const struct cell_kernels *const cells_avx512_vnni[];
extern const struct cell_kernels *const cells_amx[];
extern const struct cell_kernels *const cells_avx512_bf16[];
extern const struct cell_kernels *const cells_amx_bf16[];
extern const struct cell_kernels *const cells_neon[];

/* The cell of that name, or NULL. */
const struct cell_kernels *cell_find(const struct cell_kernels *const *table, const char *name);

/* How many inputs have one of these sources. */
int cell_inputs_from(const struct cell_declaration *cell, unsigned sources);

#endif
