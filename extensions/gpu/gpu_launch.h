/* How operations reach the GPU: each kind is one function that launches kernels and products on a stream. The same
 * function is walked in three modes, so that its needs are written down once: to measure its scratch (without a
 * GPU), to prepare (find kernels, plan products), and to launch, once into a graph or each time. */
#ifndef DEVICE_GPU_LAUNCH_H
#define DEVICE_GPU_LAUNCH_H
#include "extensions/gpu/gpu_driver.h"
#include "extensions/gpu/gpu_kernels.h"
#include "plan/ir/plan.h"

enum walk { MEASURE, PREPARE, LAUNCH };

enum { SCRATCH_ALIGNMENT = 256 };

/* A view with an address: element (i, j, ..) is at at[i * stride[0] + j * stride[1] + ..]; the last stride is 1. */
struct gpu_view {
    char *at; /* on the device; NULL: absent */
    int rank;
    uint32_t count[BUFFER_AXES], origin[BUFFER_AXES];
    size_t stride[BUFFER_AXES];
    enum dtype dtype;
    enum segment segment;
};

/* A matrix stored by rows: element (i, j) is at at[i * row + j]; or transposed where noted. */
struct matrix {
    char *at;
    size_t row;
};

/* The gradient that products of a queue read last, in low precision, shared by the products for a layer's weights
 * and inputs. buffer -1: none. */
struct kept {
    int buffer;
    uint32_t rows, width;
    struct matrix from, lowp;
};

/* The matrix b of a product in panels, until the operation ends. */
struct packed {
    struct matrix from;
    uint32_t columns, depth;
    bool by_columns;
    char *to;
};
enum { PACKED_MAX = 16 };

struct recorder {
    enum walk walk;
    const struct plan *plan;
    const struct gpu_driver *driver;
    struct gpu *gpu; /* NULL when measuring */
    gpu_stream stream;
    char *base[SEG_N]; /* of segments; placeholder addresses when measuring */
    char *scratch;     /* of the queue */
    uint64_t scratch_used, scratch_max;
    struct kept *kept; /* of the queue, in its own memory */
    char *kept_at;
    uint64_t kept_max;
    char *workspace; /* for products, of the queue */
    char *fixed;     /* tables that are made once: see gpu_tables_fill */
    struct products *products;
    struct packed packed[PACKED_MAX]; /* for drivers with panels */
    int packs;
    struct gpu_comm *device_comm; /* with other ranks; NULL: no other ranks, or measuring */
    bool staged;                  /* the host exchanges data: operations that communicate launch no kernels */
    uint64_t launches;
    int recurrences, persistent; /* prepared: all, and those that need one launch */
};

struct gpu_call {
    const struct op *op;
    struct gpu_view view[OP_VIEWS];
};

/* Reserves room at *end, aligned; returns its offset. */
uint64_t place_after(uint64_t *end, uint64_t bytes);

/* Returns whether the view has no gaps; view_numbers returns its number of elements. */
bool view_is_whole(const struct gpu_view *);
uint64_t view_numbers(const struct gpu_view *);
struct gpu_view view_at(const struct recorder *, const struct view *);
void call_at(const struct recorder *, const struct op *, struct gpu_call *);

/* ---- launching ---------------------------------------------------------------------------- */

/* A kernel's argument struct: ARGS(&args). */
struct gpu_args {
    const void *at;
    size_t bytes;
};
#define ARGS(...) (struct gpu_args){ (__VA_ARGS__), sizeof *(__VA_ARGS__) }

/* Launches `blocks` blocks of `threads` threads. */
unroll_status launch(struct recorder *, const char *kernel, uint64_t blocks, unsigned threads, struct gpu_args);
/* Launches a thread for each element of `rows` rows of `width`. */
unroll_status launch_each(struct recorder *, const char *kernel, uint64_t rows, uint64_t width, struct gpu_args);
/* Launches a block for each row of `width` elements; the number of threads is a power of two. */
unroll_status launch_rows(struct recorder *, const char *kernel, uint64_t rows, uint32_t width, struct gpu_args);
/* For kernels with blocks along two axes, clusters or their own shared memory. */
unroll_status launch_shaped(struct recorder *, const char *kernel, const struct launch_shape *, struct gpu_args);

/* Returns scratch that is valid until the end of the operation. */
void *scratch_take(struct recorder *, uint64_t bytes);

/* ---- products ----------------------------------------------------------------------------- */

/* c[m][n] = a[m][k] b[k][n] (+ c if adds) (+ bias[n]). a_by_columns: a is stored as [k][m]; b_by_columns: b is
 * stored as [n][k], as weights are. Either may already be in low precision. Products of one shape are planned once:
 * a and c move from one product to the next by multiples of a_moves and c_moves elements. b_stays: b holds weights
 * that do not change before the operation ends. */
struct gpu_product {
    uint32_t m, n, k;
    struct matrix a, b, c;
    bool a_by_columns, b_by_columns, a_is_lowp, b_is_lowp, b_stays, adds;
    const float *bias;
    size_t a_moves, c_moves;
};
unroll_status product(struct recorder *, const struct gpu_product *);

/* lowp_matrix converts a matrix of floats to the plan's low precision, in scratch, with rows aligned to 16 bytes. It
 * leaves the matrix as it is for other plans, and for drivers with panels, whose products round their operands. */
bool products_are_lowp(const struct recorder *);
/* Takes scratch for rows of `fields` low-precision fields that kernels write themselves; none for other plans. */
struct gpu_lowp lowp_rows(struct recorder *, uint32_t rows, size_t fields, size_t width);
unroll_status lowp_matrix(struct recorder *, struct matrix *, uint32_t rows, uint32_t width);
/* Like lowp_matrix, but the queue keeps the result for `buffer` until an operation writes it (lowp_forget) or
 * another matrix is kept. */
unroll_status lowp_kept(struct recorder *, int buffer, struct matrix *, uint32_t rows, uint32_t width);
void lowp_forget(struct kept *, const struct op *written);

/* ---- rows --------------------------------------------------------------------------------- */

/* The rows of the batch in x, [T, B, ..], that belong to a shard of the sum, relative to its first row. */
struct shard_rows {
    uint32_t first, count;
};
struct shard_rows shard_of(const struct recorder *, const struct gpu_view *x, const struct gpu_view *sum, size_t shard);

struct gpu_rows rows_of(const struct gpu_view *); /* of a [T, B, ..] view of floats */
struct gpu_ends ends_of(const struct gpu_view *x, const struct gpu_view *lengths);
struct gpu_resets resets_of(const struct gpu_view *reset);
uint64_t count_rows(const struct gpu_rows *);

/* ---- the kinds ---------------------------------------------------------------------------- */

typedef unroll_status gpu_op_function(struct recorder *, const struct gpu_call *);
gpu_op_function gpu_op_embed, gpu_op_embed_grad, gpu_op_gemm, gpu_op_gemm_dx, gpu_op_gemm_dw, gpu_op_bias_grad,
    gpu_op_rnn, gpu_op_rnn_back, gpu_op_dropout, gpu_op_activate, gpu_op_activate_back, gpu_op_pool, gpu_op_pool_back,
    gpu_op_loss, gpu_op_copy, gpu_op_fill, gpu_op_tree, gpu_op_send, gpu_op_recv, gpu_op_all_reduce, gpu_op_sum_begin,
    gpu_op_sum_end;

/* Copies or adds a view; writes zeros where `from` is absent. */
unroll_status gpu_move(struct recorder *, const struct gpu_view *from, const struct gpu_view *to, bool adds);

/* Launches all norms, or the updates of all parameters (op is one of them), at once. */
unroll_status gpu_norms(struct recorder *);
unroll_status gpu_updates(struct recorder *, const struct op *);
/* Called around a whole step: keeps its loss sums separate. */
unroll_status gpu_step(struct recorder *, bool begins);
/* Size and contents of the tables of norms and updates. */
uint64_t gpu_tables_bytes(const struct plan *);
unroll_status gpu_tables_fill(const struct recorder *, char *host);

#endif
