/* The interface of CPU kernels. A kernel runs one operation of the plan together with the other threads of its team. It
 * uses only views of memory and parameters, filled in by executable_bind.c, not the plan or the model. */
#pragma once
#include "base/system/processor.h"
#include "base/team.h"
#include "nn/cells/cell.h"
#include "nn/cells/step/bf16x3.h"
#include "comm/comm.h"
#include "comm/poll.h"
#include "base/share.h"
#include "device/cpu/recurrent/division.h"
#include "device/cpu/kernels/layouts.h"
#include "device/cpu/kernels/workspace.h"
#include "plan/ir/op.h"

/* A view with an address: element (i, j, ..) is at[i * stride[0] + j * stride[1] + ..]. */
struct tensor {
    void *at; /* NULL: the view is absent */
    int rank;
    uint32_t count[BUFFER_AXES];
    size_t stride[BUFFER_AXES]; /* in elements; the last is 1. LAYOUT_PANELS: see panels() */
    enum layout layout;
    enum access access;
    uint32_t origin[BUFFER_AXES]; /* global index of element (0, 0, ..), for masks, labels and lengths */
    enum dtype dtype;
};

/* Panels of LAYOUT_PANELS [.., U, K]: panel p of first index g starts panel_bytes * (g * panels(U) + p) after the
 * first; these views are whole in U and K. Panel p of LAYOUT_COLUMNS [(G), U, K] starts G * U * PANEL * p elements
 * after the first; these views are whole. */
static inline size_t panels(size_t units) { return (units + PANEL - 1) / PANEL; }

static inline size_t panel_bytes(enum dtype dtype, size_t k) { return words_of(dtype, k) * PANEL * word_bytes(dtype); }

/* Words of 4 bytes of a row of k floats as an operand of int8 weights: bytes q + 128, padded with 128, then the row's
 * scale. */
static inline size_t operand_words(size_t k) { return (k + 3) / 4 + 1; }

/* Work of a kernel: flops by the standard count, and bytes of its views, each once (twice if updated or added to). A
 * view that the team divides is counted in shares; one that all threads read is counted by thread 0. */
struct work {
    double flops, bytes;
};

struct rank_group {
    const int *rank;
    int size;
}; /* a group of ranks; size 0: none */

struct call {
    const struct cpu_isa *isa;
    struct tensor view[OP_VIEWS];
    struct barrier *barrier; /* of the team, for kernels that need one internally */

    int direction, choice, shift, stream; /* as in struct op */
    float probability;
    struct activation activation;

    uint32_t steps;                      /* of the whole sequence */
    uint32_t batch, shards, block_steps; /* of sums of weights' gradients (acc_blocks.h) */
    bool by_tiles;                       /* steps of an rnn, or a product for weight gradients, use tiles */

    const struct cell_kernels *cell; /* the following fields are for rnn only */
    struct cell_options options;
    uint32_t all_units;     /* of all ranks */
    bool saves;             /* saves values for backward .. */
    bool saves_far;         /* .. too many to stay in caches until then */
    bool int8;              /* int8 weights */
    enum division division; /* forced division of steps over the team */
    size_t pieces;          /* of time, that run in parallel (rnn_pieces.h); 0 or 1: one */
    float tolerance;        /* of their states; 0: the same bits */
    struct piece_counts *counts;

    struct unroll_comm *comm; /* the following fields are for operations that communicate; else NULL */
    uint32_t tag;
    struct rank_group group, times; /* ranks that share units, or are summed over; ranks along time, for rnn */

    enum op_kind kind; /* the following fields are for pure communication (exchange.c) */
    int peer, views;
    bool contiguous;   /* the first view has no gaps */
    size_t elements;   /* of a sum over all of its views */
    struct sum sum;    /* without data and count; COMM_AUTO: the algorithm is chosen by size */
    uint32_t sum_each; /* elements for one of sum.count */
    bool ordered;      /* as in algorithm_choose */
};

/* me is 0 .. team-1. All threads of the team call the kernel; the executor adds a barrier after it. The team divides
 * only axes whose elements are independent, so no sum depends on it. The rank's executor stores errors
 * (communication). */
typedef unroll_status kernel(const struct call *call, int me, int team, struct work *work);

/* Initial value of a product's chains: the value in c; zero; or zero, with the ends of chains added to c. */
enum start { AS_IS, ZERO, ZERO_THEN_ADD };

/* c[m][n] = start + bias[n] + a[m][0] b[0][n] + a[m][1] b[1][n] + ..: one chain of fused multiply-adds in rising k per
 * output. The bits are therefore independent of tiling, blocking and the ISA. bias may be NULL.
 *      a[m][k] = a[m * a_row + k * a_col]; or with a_strip, rows in strips of STRIP, which tiles read without
 *      gaps:
 *      a[m][k] = a[m / STRIP * a_strip + m % STRIP * a_row + k * a_col]
 *      b[k][n] = b[(n / PANEL) * b_panel + k * b_row + n % PANEL]; a dense matrix has b_panel = PANEL
 *      c[m][n] = c[m * c_row + n]
 * Only existing panels are read: a dense b is never read beyond column n - 1; packed panels are PANEL wide, padded with
 * zeros. Elements have the ISA's real type. ZERO_THEN_ADD may use several chains, each from zero (the first with the
 * bias), added to c in turn: chain i ends before k = end[i]. `wanted` is prefetched: wanted_bytes, or with wanted_row
 * that many in each of k rows that are wanted_row bytes apart. */
enum { STRIP = 12 };

struct product {
    size_t m, n, k;
    const void *a;
    size_t a_row, a_strip;
    ptrdiff_t a_col; /* negative: rows of a^T in falling order of memory */
    const void *b;
    size_t b_row, b_panel;
    void *c;
    size_t c_row;
    const void *bias;
    enum start start;
    const size_t *end;
    size_t chains; /* 0: one chain of all k */
    const void *wanted;
    size_t wanted_bytes, wanted_row; /* NULL: nothing */
};

/* The product with low-precision weights, for start AS_IS or ZERO. b is always in panels, b_panel counts words, and
 * b_row is PANEL. With bf16 it has the bits of the product with the same weights as floats. With int8 the rows of a are
 * created by `quantize`, a_row counts words, and
 *      c[m][n] = fma((float)(sum of q_a[m][k] q_b[k][n]), scale_b[n] * scale_a[m], start + bias[n])
 * where the sum is exact. */
typedef void product_kernel(const struct product *);

/* Words of quantized operand rows that a kernel holds at a time: enough for a row of the largest k. */
enum { OPERAND_SCRATCH = 32768 };

/* bf16x3 splits of operand rows that a step holds at a time. */
enum { SPLIT_SCRATCH = 384 << 10 }; /* bytes */
struct split_scratch {
    _Alignas(64) char at[SPLIT_SCRATCH];
};

/* Converts rows of k floats to the left factor of bf16x3 splits (nn/cells/step/bf16x3.h): rows of blocks of length
 * `steps`, starting at step `first`. Row i is at at + i * row, or at at + list[i] * row; `row` counts elements. */
struct left_rows {
    char *to;
    bool of_bf16; /* for bf16 weights: blocks of BF16_ROWS, and steps as tiles_add_bf16 reads them */
    size_t steps, first;
    const void *at;
    size_t row;
    const uint32_t *list;    /* NULL: all rows in order */
    const void *const *each; /* or the address of each row; NULL: see above */
    size_t rows, k;
    size_t from; /* elements skipped at the start of each row */
};

enum { WANTED_PIECE = 128 }; /* bytes */

/* c[m][n] = start or bias[n] + left x right, summed one step of k after the other for any blocking. The left factor has
 * blocks of `left_steps`, of which `steps` from left_first on are multiplied; the right one likewise. `start` is not
 * ZERO_THEN_ADD. */
struct product_bf16x3 {
    size_t m, n, steps;
    const char *left;
    size_t left_first, left_steps;
    const char *right;
    size_t right_first, right_steps;
    float *c;
    size_t c_row;
    void *const *each; /* or the address of each row of c */
    const float *bias; /* initial value instead of ZERO; NULL: none */
    enum start start;
    bool reverse; /* columns from the last to the first */
    bool whole;   /* the right factor is whole, and is split on the way */
    const char *wanted;
    size_t wanted_pieces, wanted_distance; /* WANTED_PIECE bytes each, to prefetch */
};

/* An instruction set: the kernels, and the functions that larger kernels call. cpu_scalar and cpu_double are the
 * reference. The others override its entries and must give the same bits as cpu_scalar. */
struct outside_update; /* nn/optim/optim.h */

struct cpu_isa {
    const char *name;
    enum isa isa;
    enum dtype real;
    const struct cell_kernels *const *cells;
    const struct cell_kernels *const *int8_words;             /* for steps with int8 weights; NULL: the same */
    product_kernel *product, *product_bf16, *product_int8;    /* the last two only for floats */
    void (*quantize)(const void *row, size_t k, void *words); /* converts a row of floats for product_int8 */
    /* Converts a row of weights to words of bf16 or int8, `row` words apart. Not in double. */
    void (*pack_lowp)(enum dtype dtype, void *word, size_t row, const float *weights, size_t k);
    void (*activate)(const struct activation *, const void *x, void *y, size_t n); /* a row; x may be y */
    void (*update_outside)(const struct outside_update *);
    uint64_t (*peak)(uint64_t rounds, void *sink); /* see peak.h */
    /* Parts of a float, for an ISA whose products may multiply bf16x3 splits or floats rounded to bf16; otherwise 0 and
     * NULL. */
    int parts;
    void (*left_rows)(const struct left_rows *);
    void (*product_bf16x3)(const struct product_bf16x3 *);
    const struct cell_kernels *const *tiled_cells; /* for steps whose weights tiles multiply */
    const struct cpu_isa *others; /* has the kernels that are missing here, for the same V; NULL: none are missing */
    kernel *kernel[OP_KIND_MAX];
};

/* Returns the kernel of a kind of operation; NULL: the ISA does not support it. */
static inline kernel *isa_kernel(const struct cpu_isa *isa, enum op_kind kind)
{
    return isa->kernel[kind] || !isa->others ? isa->kernel[kind] : isa->others->kernel[kind];
}

/* Returns the product for the type of the weights in panels. */
static inline product_kernel *product_with(const struct cpu_isa *isa, enum dtype weights)
{
    return weights == DTYPE_I8 ? isa->product_int8 : weights == DTYPE_BF16 ? isa->product_bf16 : isa->product;
}

/* Returns a table, which implements every kind of operation. NULL: not in this build, or not supported by this
 * machine. */
const struct cpu_isa *cpu_isa_find(enum isa isa, enum dtype real);

/* Returns the cell of that name for steps with weights of this type, or by tiles; NULL: none. */
const struct cell_kernels *cpu_isa_cell(const struct cpu_isa *, const char *name, enum dtype weights, bool by_tiles);

/* Returns whether the ISA that this name selects has bf16x3 products. A randomly chosen one: false. */
bool cpu_isa_has_bf16x3(const char *name);

/* Returns the table that multiplies floats rounded to bf16 instead of floats; NULL: none. */
const struct cpu_isa *cpu_isa_with_bf16(const struct cpu_isa *isa);

/* Finds a table by name, including those for bf16. NULL: the best for floats. */
unroll_status cpu_isa_of_kernels(const char *name, const struct cpu_isa **found);

/* Returns the table to use instead of `isa` if tiles are not needed. */
const struct cpu_isa *cpu_isa_without_tiles(const struct cpu_isa *);

/* Finds an instruction set by its name in the user interface; NULL: the best available. */
unroll_status cpu_isa_choose(const char *name, enum dtype real, const struct cpu_isa **chosen);
