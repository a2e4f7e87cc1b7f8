/* The interface between cells and shared code: a cell's declaration, and its pointwise steps as functions. Independent
 * of the element type, so that one program holds tables of floats and of doubles. It contains no matrix product, no
 * loop over time and no cell's name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/cells/activation.h"
#include "nn/cells/cell_source.h"

enum { CELL_TILE = 16 }; /* units whose packed weights are interleaved (struct fused_weights) */

struct cell_input {
    const char *name;
    unsigned from; /* a set of enum cell_source; inputs FROM_X precede all others */
    int phase;     /* 0 or 1: the phase that reads it */
};

/* The cell in other tools. Gate k here, in the order of the weight rows, is number NAME_gates[k] there. */
enum { CELL_ACTIVATIONS = 3, CELL_GATES = 4 };

struct cell_foreign {
    const char *name;           /* name in torch.nn and of ONNX's operator, "GRU"; NULL: unsupported by both */
    const char *kind;           /* variant of that name: a GRU's reset gate acts "after" or "before" the product
                                 * with h */
    bool in_torch;              /* PyTorch implements it, with the same order of gates */
    const char *onnx_attribute; /* distinguishes the cells of an ONNX operator, with its value for this cell */
    int onnx_value;
    int onnx_gates[CELL_GATES], onnx_vectors[CELL_GATES];
    int keras_gates[CELL_GATES];
    int keras_biases; /* per gate: 1: sum of the biases of x and h; 2: of x, then of h; 0: not in Keras, or unused */
};

struct cell_declaration {
    const char *name;                                /* of this variant: "lstm_clip" */
    const char *called;                              /* name in the user interface: "lstm" */
    const char *formula;                             /* shared by cells that differ only in their functions */
    bool chooses;                                    /* its functions are configurable, with an optional clip */
    bool projects;                                   /* h may be projected: no gate reads it elementwise */
    bool couples;                                    /* if it chooses: the forget gate may be 1 - the input gate */
    bool peepholes;                                  /* its vectors are optional; other cells always have theirs */
    int activations;                                 /* number of functions: gates, candidate, output */
    enum activation_kind function[CELL_ACTIVATIONS]; /* the defaults */
    struct cell_foreign foreign;
    int phases;
    int inputs, states, saved, intermediates, vectors, options; /* the number of each; saved <= inputs */
    const struct cell_input *input;                             /* [inputs] in the order of the weight rows */
    const char *const *state;                                   /* [states] names; the first is the output */
    const char *const *saved_value, *const *intermediate, *const *vector, *const *option; /* names */
};

/* A view of n fields of [rows, width] floats or doubles, depending on the kernel's table. Strides count elements: field
 * f of row b, unit u is
 *      at[f * field + b * row + u]
 * row = 0 gives all rows the same values. No alignment is needed. Nothing outside the width units is read or
 * written. */
struct fields {
    void *at;
    size_t field, row;
};

/* The arrays of one time step; the comment of cell_begin.h lists when each is read and written. Arrays of absent fields
 * may be zero. Memory may be shared, view by view with the same strides:
 *      value.in = value.saved = gradient.in     sums, then the values for backward, then their gradients
 *      value.next = value.state                 if no backward follows
 *      gradient.state = gradient.next           if gradient.state is set, not added to
 * because a kernel loads all inputs of a block of units before it stores. gradient.vector gets each row's contribution;
 * the caller adds rows and steps. gradient.state is added to; everything else is set.
 *
 * Only backward uses first_state and first_next. If set, they contain the first of the values' states, and state and
 * next start with the second. gradient.first_next is an additional gradient of the output, added to the first of
 * gradient.next. */
struct cell_arrays {
    struct fields in, state, next, saved, intermediate, vector;
    struct fields first_state, first_next;
};

/* Options of a cell, the same for all units. Cells with fixed functions read the clip as a V; those of any.h use all
 * fields. */
struct cell_options {
    float clip;                                   /* > 0: inputs of activation functions are clipped to [-clip, clip] */
    bool input_forget;                            /* lstm: the forget gate is 1 - i */
    struct activation function[CELL_ACTIVATIONS]; /* of the gates, the candidate, the output */
};

/* Converts a cell and its options to a key of letters, digits and '_': the name, followed by all options if the cell
 * chooses functions. cell_key_read is the inverse and returns false if the key is not of the cell of that name. */
enum { CELL_KEY = 112 };
void cell_key(const struct cell_declaration *, const struct cell_options *, char key[CELL_KEY]);
bool cell_key_read(const char *key, const char *name, struct cell_options *);

/* One step. Backward only reads the values; forward ignores the gradients. */
struct cell_step {
    size_t rows, width; /* width >= 1 */
    struct cell_arrays value, gradient;
    struct fields copy; /* backward: dense copy of gradient.in; may be absent */
    struct cell_options options;
    bool sets_state;               /* backward: gradient.state is set, not added to */
    const struct cell_step *ahead; /* backward: prefetched during this step, or NULL */
};

typedef void cell_kernel(const struct cell_step *step);

/* The left operand of weights: k elements of row b at at + b * row. For int8 weights the row's cells, with `row` in
 * units of 4 bytes. For weights multiplied by tiles, the left factor (nn/cells/step/bf16x3.h), whose rows are in the
 * order of places: 0, 1, 2, .. */
struct fused_operand {
    const void *at;
    size_t row;
};

/* A cell of weights: one element of the kernel's type, or 4 bytes with two bf16 or four int8 of consecutive k. plan.h
 * and device/cpu/kernels/kernel.h describe the end of int8 cells and of their operand. */
enum fused_word { FUSED_REAL, FUSED_BF16, FUSED_INT8, FUSED_BF16X3, FUSED_WHOLE };

/* Weights [gates, U, k] in tiles of units, with zeros after the last unit. Cell i of gate g and unit u is
 *      at[((u / CELL_TILE * cells + i) * gates + g) * CELL_TILE + u % CELL_TILE]
 * and its bias is bias[g * bias_gate + u]. Either may be NULL. bf16x3 splits do not use this layout: they store, for
 * each gate, the right factor of its `units` columns (nn/cells/step/bf16x3.h), split or whole. */
struct fused_weights {
    const void *at;
    size_t k, gates;
    const void *bias;
    size_t bias_gate;
    enum fused_word cell;
    size_t units; /* U, only for bf16x3 splits */
};

/* Returns the number of cells per unit. */
static inline size_t fused_words(const struct fused_weights *w)
{
    return w->cell == FUSED_REAL ? w->k : w->cell == FUSED_BF16 ? (w->k + 1) / 2 : (w->k + 3) / 4 + 2;
}

/* One phase of a step for units [unit, unit_end) of some rows, including its products. A sum is
 *      (((b_x + W x) + b_h) + U h)
 * Each product is one chain of fused multiply-adds in rising k; with int8 weights a single one, of the integer sum.
 * With tiles both products are one chain of steps of k (tiles_add in nn/vector/v_tiles.h), added to the rest at the
 * end.
 *
 * Only FROM_X inputs have the first two terms; if of_x is absent, value.in already contains them. Only FROM_H and
 * FROM_INTERMEDIATE inputs have the others. With of_x, value.in may hold unfinished sums; if it is absent, sums start
 * at zero. Row b is the same row in all arrays and operands. h is read while next is written: they must not share
 * memory; other states may. The rules of cell_begin.h for saved and vector apply; saved may be absent. */
struct fused_step {
    size_t rows;
    const uint32_t *row;   /* [rows] indices of the rows; NULL: 0, 1, 2, .. */
    size_t unit, unit_end; /* unit is a multiple of CELL_TILE */
    bool reverse;          /* processes the units from the last to the first */
    bool keeps_sums;       /* value.in is read-only: no unfinished sums are stored there */
    bool far;              /* saved values of whole tiles fill cache lines that are not used soon */
    struct fused_operand x, h, intermediate;
    struct fused_weights of_x, of_h; /* of_h has the gates FROM_H and FROM_INTERMEDIATE, of_x those FROM_X */
    struct cell_arrays value;
    struct fields output, others; /* copies of the next states: the first, and the remaining ones */
    struct cell_options options;
};

typedef void fused_kernel(const struct fused_step *step);

struct cell_kernels {
    const struct cell_declaration *declaration;
    cell_kernel *forward[2], *backward[2]; /* [phase]; NULL if the cell has one phase */
    fused_kernel *fused[2];                /* likewise; NULL in tables that are only pointwise */
};

/* One table per element type and instruction set, NULL-terminated, all in the same order. All tables of floats give the
 * same bits. */
extern const struct cell_kernels *const cells_scalar[];
extern const struct cell_kernels *const cells_f64[];
extern const struct cell_kernels *const cells_avx2[];
extern const struct cell_kernels *const cells_avx512[];
extern const struct cell_kernels *const cells_avx512_vnni[];
extern const struct cell_kernels *const cells_amx[];
extern const struct cell_kernels *const cells_avx512_bf16[];
extern const struct cell_kernels *const cells_amx_bf16[];
extern const struct cell_kernels *const cells_neon[];

/* Returns the cell of that name, or NULL. */
const struct cell_kernels *cell_find(const struct cell_kernels *const *table, const char *name);

/* Returns the number of inputs that have one of these sources. */
int cell_inputs_from(const struct cell_declaration *cell, unsigned sources);
