/* How operations reach the GPU: each kind is one function that launches kernels and products on a stream. The same
 * function is walked in three ways, so that what it needs is written once: to measure its scratch (no GPU is there),
 * to prepare (kernels are found, products planned), and to launch, once into a graph or each time. */
#ifndef DEVICE_CUDA_LAUNCH_H
#define DEVICE_CUDA_LAUNCH_H
#include "device/cuda/context.h"
#include "device/cuda/kernels.h"
#include "plan/plan.h"

enum walk { MEASURE, PREPARE, LAUNCH };

enum { SCRATCH_ALIGNMENT = 256 };

/* A view with an address: element (i, j, ..) lies at at[i * stride[0] + j * stride[1] + ..], the last stride is 1. */
struct cuda_view {
    char      *at;                      /* of the device; NULL: absent */
    int        rank;
    uint32_t   count[BUFFER_AXES], origin[BUFFER_AXES];
    size_t     stride[BUFFER_AXES];
    enum dtype dtype;
    enum segment segment;
};

/* A matrix by rows: element (i, j) at at[i * row + j]; stored transposed where said. */
struct matrix { char *at; size_t row; };

/* The gradient that products of a lane read last, as narrow numbers: those of a layer's weights and inputs share it.
 * buffer: -1: there is none. */
struct kept { int buffer; uint32_t rows, width; struct matrix from, narrow; };

struct walker {
    enum walk walk;
    const struct plan *plan;
    struct cuda_context *context;       /* NULL when measuring */
    cu_stream stream;
    char     *base[SEG_N];              /* of segments; when measuring, addresses that nobody follows */
    char     *scratch;                  /* of the lane */
    uint64_t  scratch_used, scratch_most;
    struct kept *kept;                  /* of the lane, in memory of its own */
    char     *kept_at;
    uint64_t  kept_most;
    char     *workspace;                /* of cuBLASLt, of the lane */
    char     *fixed;                    /* tables that were made once: see fixed_* */
    struct products *products;
    uint64_t  launches;
    int       recurrences, persistent;  /* prepared: all, and those that take one launch */
};

struct cuda_call {
    const struct op *op;
    struct cuda_view view[OP_VIEWS];
};

struct cuda_view view_at(const struct walker *, const struct view *);
void call_at(const struct walker *, const struct op *, struct cuda_call *);

/* ---- launching ---------------------------------------------------------------------------- */

/* blocks of `threads`; args: the kernel's struct. */
unroll_status launch(struct walker *, const char *kernel, uint64_t blocks, unsigned threads, const void *args);
/* A thread for each of `count` elements. */
unroll_status launch_each(struct walker *, const char *kernel, uint64_t count, const void *args);
/* A block for each row of so many numbers; its threads are a power of two. */
unroll_status launch_rows(struct walker *, const char *kernel, uint64_t rows, uint32_t width, const void *args);
/* Two axes of blocks. */
unroll_status launch_grid(struct walker *, const char *kernel, uint64_t x, uint64_t y, const void *args);
/* All that a launch may have, for kernels with clusters or shared memory of their own. */
struct launch_shape {
    uint64_t x, y;
    unsigned threads, shared_bytes, cluster;            /* cluster: blocks, 0 or 1: none */
    bool     cooperative;
};
unroll_status launch_shaped(struct walker *, const char *kernel, const struct launch_shape *, const void *args);

/* Scratch until the end of the operation; scratch_reset between operations. */
void *scratch_take(struct walker *, uint64_t bytes);

/* ---- products ----------------------------------------------------------------------------- */

/* c[m][n] = a[m][k] b[k][n] (+ c where adds) (+ bias[n]). a_by_columns: a is stored as [k][m]; b_by_columns: b is
 * stored as [n][k], as weights are. Either may be narrow already. Products of one shape are planned once: a and c move
 * from one to the next by multiples of so many numbers. */
struct cuda_product {
    uint32_t m, n, k;
    struct matrix a, b, c;
    bool a_by_columns, b_by_columns, a_is_narrow, b_is_narrow, adds;
    const float *bias;
    size_t a_moves, c_moves;
};
unroll_status product(struct walker *, const struct cuda_product *);

/* A matrix of floats as the plan's narrow numbers, in scratch, with rows at multiples of 16 bytes; of other plans the
 * matrix itself. */
bool products_are_narrow(const struct plan *);
unroll_status narrow_matrix(struct walker *, struct matrix *, uint32_t rows, uint32_t width);
/* The same of numbers of that buffer, which the lane keeps until an operation writes it (narrow_forget) or another
 * matrix is kept. */
unroll_status narrow_kept(struct walker *, int buffer, struct matrix *, uint32_t rows, uint32_t width);
void narrow_forget(struct kept *, const struct op *written);

enum { WORKSPACE_BYTES = 32 << 20 };    /* of cuBLASLt on each lane, what NVIDIA recommends for sm_90 */

struct products;                        /* planned products by shape */
void products_free(struct products *);

/* ---- rows --------------------------------------------------------------------------------- */

struct gpu_rows   rows_of(const struct cuda_view *);            /* of a [T, B, ..] of floats */
struct gpu_ends   ends_of(const struct cuda_view *x, const struct cuda_view *lengths);
struct gpu_resets resets_of(const struct cuda_view *reset);
size_t count_of(const struct gpu_rows *);                       /* numbers */

/* ---- the kinds ---------------------------------------------------------------------------- */

typedef unroll_status cuda_kind(struct walker *, const struct cuda_call *);
cuda_kind cuda_embed, cuda_embed_grad, cuda_gemm, cuda_gemm_dx, cuda_gemm_dw, cuda_sum_rows, cuda_rnn,
          cuda_rnn_back, cuda_dropout, cuda_activate, cuda_activate_back, cuda_loss, cuda_copy, cuda_fill, cuda_tree;

/* All norms, and all updates (of which this is one), of all parameters in one launch. */
unroll_status cuda_norms(struct walker *);
unroll_status cuda_updates(struct walker *, const struct op *);
/* Around a whole step: keeps the sums of losses apart. */
unroll_status cuda_step(struct walker *, bool begins);
/* Their tables: how large, and what is in them. */
uint64_t cuda_tables_bytes(const struct plan *);
unroll_status cuda_tables_fill(const struct walker *, char *host);

#endif
