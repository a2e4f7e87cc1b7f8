/* What a CPU kernel is given and what it gives back. A kernel does one operation of the plan,
 * together with the other threads of its team; it knows views of memory and a few numbers, no plan and no model:
 * executable_bind.c makes these of an operation. */
#ifndef DEVICE_CPU_KERNEL_H
#define DEVICE_CPU_KERNEL_H
#include "base/processor.h"
#include "base/team.h"
#include "cells/cell.h"
#include "cells/bf16x3.h"
#include "comm/comm.h"
#include "comm/poll.h"
#include "base/share.h"
#include "device/cpu/division.h"
#include "device/cpu/layouts.h"
#include "device/cpu/workspace.h"
#include "plan/op.h"

/* A view with an address: element (i, j, ..) lies at at[i * stride[0] + j * stride[1] + ..]. */
struct tensor {
    void *at; /* NULL: the view is absent */
    int rank;
    uint32_t count[BUFFER_AXES];
    size_t stride[BUFFER_AXES]; /* in elements; the last is 1. LAYOUT_PANELS: see panels() */
    enum layout layout;
    enum access access;
    uint32_t origin[BUFFER_AXES]; /* global index of element (0, 0, ..): for masks, labels, lengths */
    enum dtype dtype;
};

/* Panels of one first index of LAYOUT_PANELS [.., U, K]: panel p of index g begins
 * panel_bytes * (g * panels(U) + p) after the first. Such views are whole in U and K. Panel p of
 * LAYOUT_COLUMNS [(G), U, K] begins G * U * PANEL * p elements after the first; such views are whole. */
static inline size_t panels(size_t units) { return (units + PANEL - 1) / PANEL; }

static inline size_t panel_bytes(enum dtype dtype, size_t k) { return words_of(dtype, k) * PANEL * word_bytes(dtype); }

/* Numbers in memory of a row of k floats as an operand of int8 weights: bytes q + 128, 128 where k ends, then the
 * row's scale; in words of 4 bytes. */
static inline size_t operand_words(size_t k) { return (k + 3) / 4 + 1; }

/* What a kernel has done, counted where it is done: products by the standard count, and the bytes
 * of its views, each once (twice if updated or added to). A view that the team divides counts with
 * each thread's share, one that all threads read counts for thread 0. */
struct work {
    double flops, bytes;
};

struct members {
    const int *rank;
    int size;
}; /* of a group of ranks; size 0: there is none */

struct call {
    const struct cpu_isa *isa;
    struct tensor view[OP_VIEWS];
    struct barrier *barrier; /* of the team, for kernels that need one inside */

    int direction, choice, shift, stream; /* as in struct op */
    float probability;
    struct activation activation;

    uint32_t steps;                      /* of the whole sequence */
    uint32_t batch, shards, block_steps; /* of sums of weights' gradients (acc_blocks.h) */
    bool by_tiles;                       /* steps of an rnn, or a product for gradients of weights, multiply by tiles */

    const struct cell_kernels *cell; /* of an rnn, what follows */
    struct cell_options options;
    uint32_t all_units;     /* of all ranks */
    bool saves;             /* values for a backward .. */
    bool saves_far;         /* .. so many that caches hold none of them when it comes */
    bool int8;              /* weights */
    enum division division; /* of steps over the team, where it is forced */
    size_t pieces;          /* of time, that run at once (rnn_pieces.h); 0 or 1: one */
    float tolerance;        /* of their states; 0: the same bits */
    struct piece_counts *counts;

    struct unroll_comm *comm; /* of an operation that exchanges, what follows; else NULL */
    uint32_t tag;
    struct members group, times; /* ranks that share units, or add up; ranks along time, of an rnn */
    const struct op *op;         /* of what does nothing but exchange (exchange.c) */
    const struct plan *plan;
};

/* me is 0 .. team-1. All threads of the team call it; the executor puts a barrier after it.
 * The team divides only axes whose elements are computed alone, so that no sum depends on it.
 * An error (communication) is remembered by the executor of the rank. */
typedef unroll_status kernel(const struct call *call, int me, int team, struct work *work);

/* What the chains of a product begin with: what is in c; zero; or zero, and their ends are added to c. */
enum start { AS_IS, ZERO, ZERO_THEN_ADD };

/* c[m][n] = start + bias[n] + a[m][0] b[0][n] + a[m][1] b[1][n] + ..: one chain of fused multiply-adds in
 * rising k for each output, so that tiling, blocking of k and the ISA do not show in the bits.
 * bias may be NULL. a[m][k] = a[m * a_row + k * a_col]; or, with an a_strip, rows in strips of STRIP:
 * a[m][k] = a[m / STRIP * a_strip + m % STRIP * a_row + k * a_col], which tiles read without gaps.
 * b[k][n] = b[(n / PANEL) * b_panel + k * b_row + n % PANEL]: rows of a dense matrix have b_panel = PANEL.
 * Only panels of n that exist are read: a dense b is never read beyond column n - 1, packed panels are
 * PANEL wide with zeros at the end. c[m][n] = c[m * c_row + n]. Numbers are of the ISA's real type.
 * ZERO_THEN_ADD may go in several chains, each from zero (the first with the bias), added to c in turn:
 * chain i ends before k = end[i].
 * What the caller works on next is brought nearer: wanted_bytes, or, with a wanted_row, as many in each
 * of k rows that lie wanted_row bytes apart. */
enum { STRIP = 12 };

struct product {
    size_t m, n, k;
    const void *a;
    size_t a_row, a_strip;
    ptrdiff_t a_col; /* below zero: rows of a^T that fall in memory */
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

/* The product with weights of low precision, for start AS_IS or ZERO: b is always in panels, b_panel counts words, and
 * b_row is PANEL. With bf16 it has the bits of the product with the same weights as floats. With int8 the rows of
 * a are what `quantize` makes, a_row counts words, and
 *     c[m][n] = fma((float)(sum of q_a[m][k] q_b[k][n]), scale_b[n] * scale_a[m], start + bias[n])
 * where the sum is exact. */
typedef void product_kernel(const struct product *);

/* Words of the rows of operands that a kernel keeps at a time: a row of the largest k of int8 has room. */
enum { OPERAND_SCRATCH = 32768 };

/* bf16x3 splits of rows of operands that a step keeps at a time. */
enum { SPLIT_SCRATCH = 384 << 10 }; /* bytes */
struct split_scratch {
    _Alignas(64) char at[SPLIT_SCRATCH];
};

/* Rows of k floats become bf16x3 splits of the left factor (cells/bf16x3.h): rows of blocks that are `steps` long, from
 * the step `first` on. Row i lies at at + i * row, or at + list[i] * row; `row` counts numbers. */
struct left_rows {
    char *to;
    bool of_bf16; /* for bf16 weights: blocks of BF16_ROWS, and steps as tiles_add_bf16 reads them */
    size_t steps, first;
    const void *at;
    size_t row;
    const uint32_t *list;    /* NULL: all, one after the other */
    const void *const *each; /* or where each begins; NULL: as said */
    size_t rows, k;
    size_t from; /* numbers of each row that are passed over */
};

enum { WANTED_PIECE = 128 }; /* bytes */

/* c[m][n] = start or bias[n] + left x right: each sum of one step of k after the other, whatever the blocks are. The
 * left factor has blocks of `left_steps`, of which `steps` from left_first on are multiplied; the right one likewise.
 * ZERO_THEN_ADD is not among the starts. */
struct product_bf16x3 {
    size_t m, n, steps;
    const char *left;
    size_t left_first, left_steps;
    const char *right;
    size_t right_first, right_steps;
    float *c;
    size_t c_row;
    void *const *each; /* or rows of c that lie anywhere: where each begins */
    const float *bias; /* in place of ZERO; NULL: none */
    enum start start;
    bool reverse; /* columns from the last to the first */
    bool whole;   /* the right factor, which is split on the way */
    const char *wanted;
    size_t wanted_pieces, wanted_distance; /* WANTED_PIECE each, that are brought nearer */
};

/* An instruction set: what its kernels and the drivers of the larger kernels are made of.
 * cpu_scalar and cpu_double are the reference; the others overlay its entries, and must give
 * the same bits as cpu_scalar. */
struct outside_update; /* optim/optim.h */

struct cpu_isa {
    const char *name;
    enum isa isa;
    enum dtype real;
    const struct cell_kernels *const *cells;
    const struct cell_kernels *const *int8_words;             /* for steps with int8 weights; NULL: the same */
    product_kernel *product, *product_bf16, *product_int8;    /* the last two: of floats only */
    void (*quantize)(const void *row, size_t k, void *words); /* a row of floats for product_int8 */
    /* A row of weights into its words, `row` words apart: of bf16 or int8. Not in double. */
    void (*pack_lowp)(enum dtype dtype, void *word, size_t row, const float *weights, size_t k);
    void (*activate)(const struct activation *, const void *x, void *y, size_t n); /* a row; x may be y */
    void (*update_outside)(const struct outside_update *);
    uint64_t (*peak)(uint64_t rounds, void *sink); /* see peak.h */
    /* Of an ISA whose products may multiply bf16x3 splits, or floats rounded to bf16: in how many parts; else 0, NULL.
     */
    int parts;
    void (*left_rows)(const struct left_rows *);
    void (*product_bf16x3)(const struct product_bf16x3 *);
    const struct cell_kernels *const *tiled_cells; /* of steps whose weights tiles multiply */
    kernel *kernel[OP_KIND_MAX];
};

/* By the type of the weights in panels. */
static inline product_kernel *product_with(const struct cpu_isa *isa, enum dtype weights)
{
    return weights == DTYPE_I8 ? isa->product_int8 : weights == DTYPE_BF16 ? isa->product_bf16 : isa->product;
}

/* The tables, with every kind filled in. NULL: this build or machine has no such ISA. */
const struct cpu_isa *cpu_isa_find(enum isa isa, enum dtype real);

/* The cell of that name for steps with weights of this type, or by tiles; NULL: there is none. */
const struct cell_kernels *cpu_isa_cell(const struct cpu_isa *, const char *name, enum dtype weights, bool by_tiles);

/* Will the ISA that is chosen by this name have bf16x3 products? One that is drawn by lot: no. */
bool cpu_isa_has_bf16x3(const char *name);

/* The table that multiplies floats rounded to bf16 where `isa` multiplies floats; NULL: there is none. */
const struct cpu_isa *cpu_isa_with_bf16(const struct cpu_isa *isa);

/* By the name of a table, as sessions say it: also of those for bf16. NULL: the best for floats. */
unroll_status cpu_isa_of_kernels(const char *name, const struct cpu_isa **found);

/* What multiplies as this ISA does where it has no use for tiles. */
const struct cpu_isa *cpu_isa_without_tiles(const struct cpu_isa *);

/* By its name, which users give; NULL: the best there is. */
unroll_status cpu_isa_choose(const char *name, enum dtype real, const struct cpu_isa **chosen);

#endif
