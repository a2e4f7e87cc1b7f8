/* How operations reach the GPU: each kind is one function that launches kernels and products on a stream. The same
 * function is walked in three ways, so that what it needs is written once: to measure its scratch (no GPU is there),
 * to prepare (kernels are found, products planned), and to launch, once into a graph or each time. */
#ifndef DEVICE_GPU_LAUNCH_H
#define DEVICE_GPU_LAUNCH_H
#include "device/gpu/gpu_driver.h"
#include "device/gpu/gpu_kernels.h"
#include "plan/plan.h"

enum walk { MEASURE, PREPARE, LAUNCH };

enum { SCRATCH_ALIGNMENT = 256 };

/* A view with an address: element (i, j, ..) lies at at[i * stride[0] + j * stride[1] + ..], the last stride is 1. */
struct gpu_view {
    char *at; /* of the device; NULL: absent */
    int rank;
    uint32_t count[BUFFER_AXES], origin[BUFFER_AXES];
    size_t stride[BUFFER_AXES];
    enum dtype dtype;
    enum segment segment;
};

/* A matrix by rows: element (i, j) at at[i * row + j]; stored transposed where said. */
struct matrix {
    char *at;
    size_t row;
};

/* The gradient that products of a queue read last, as narrow numbers: those of a layer's weights and inputs share it.
 * buffer: -1: there is none. */
struct kept {
    int buffer;
    uint32_t rows, width;
    struct matrix from, lowp;
};

/* What b of a product looks like in panels, until the operation ends. */
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
    char *base[SEG_N]; /* of segments; when measuring, addresses that nobody follows */
    char *scratch;     /* of the queue */
    uint64_t scratch_used, scratch_max;
    struct kept *kept; /* of the queue, in memory of its own */
    char *kept_at;
    uint64_t kept_max;
    char *workspace; /* of products, of the queue */
    char *fixed;     /* tables that were made once: see fixed_* */
    struct products *products;
    struct packed packed[PACKED_MAX]; /* of drivers with panels */
    int packs;
    struct gpu_comm *device_comm; /* with other ranks; NULL: there are none, or measuring */
    bool staged;                  /* the host does what is exchanged: no kernels of it */
    uint64_t launches;
    int recurrences, persistent; /* prepared: all, and those that take one launch */
};

struct gpu_call {
    const struct op *op;
    struct gpu_view view[OP_VIEWS];
};

/* Room behind what a piece of memory has: where it begins. */
uint64_t place_behind(uint64_t *end, uint64_t bytes);

/* Without gaps from the first number to the last? And how many there are. */
bool view_is_whole(const struct gpu_view *);
uint64_t view_numbers(const struct gpu_view *);
struct gpu_view view_at(const struct recorder *, const struct view *);
void call_at(const struct recorder *, const struct op *, struct gpu_call *);

/* ---- launching ---------------------------------------------------------------------------- */

/* A kernel's struct of arguments: ARGS(&args). */
struct gpu_args {
    const void *at;
    size_t bytes;
};
#define ARGS(...) (struct gpu_args){ (__VA_ARGS__), sizeof *(__VA_ARGS__) }

/* blocks of `threads`. */
unroll_status launch(struct recorder *, const char *kernel, uint64_t blocks, unsigned threads, struct gpu_args);
/* A thread for each of `count` elements. */
unroll_status launch_each(struct recorder *, const char *kernel, uint64_t count, struct gpu_args);
/* A block for each row of so many numbers; its threads are a power of two. */
unroll_status launch_rows(struct recorder *, const char *kernel, uint64_t rows, uint32_t width, struct gpu_args);
/* Two axes of blocks. */
unroll_status launch_grid(struct recorder *, const char *kernel, uint64_t x, uint64_t y, struct gpu_args);
/* For kernels with clusters or shared memory of their own. */
unroll_status launch_shaped(struct recorder *, const char *kernel, const struct launch_shape *, struct gpu_args);

/* Scratch until the end of the operation; scratch_reset between operations. */
void *scratch_take(struct recorder *, uint64_t bytes);

/* ---- products ----------------------------------------------------------------------------- */

/* c[m][n] = a[m][k] b[k][n] (+ c where adds) (+ bias[n]). a_by_columns: a is stored as [k][m]; b_by_columns: b is
 * stored as [n][k], as weights are. Either may be narrow already. Products of one shape are planned once: a and c move
 * from one to the next by multiples of so many numbers. b_stays: weights, which nothing changes before the operation
 * ends. */
struct gpu_product {
    uint32_t m, n, k;
    struct matrix a, b, c;
    bool a_by_columns, b_by_columns, a_is_lowp, b_is_lowp, b_stays, adds;
    const float *bias;
    size_t a_moves, c_moves;
};
unroll_status product(struct recorder *, const struct gpu_product *);

/* A matrix of floats as the plan's narrow numbers, in scratch, with rows at multiples of 16 bytes; of other plans the
 * matrix itself, and of drivers with panels, whose products round what they read. */
bool products_are_lowp(const struct recorder *);
/* Scratch for rows of so many fields of narrow numbers that kernels write themselves; of other plans none. */
struct gpu_lowp lowp_rows(struct recorder *, uint32_t rows, size_t fields, size_t width);
unroll_status lowp_matrix(struct recorder *, struct matrix *, uint32_t rows, uint32_t width);
/* The same of numbers of that buffer, which the queue keeps until an operation writes it (lowp_forget) or another
 * matrix is kept. */
unroll_status lowp_kept(struct recorder *, int buffer, struct matrix *, uint32_t rows, uint32_t width);
void lowp_forget(struct kept *, const struct op *written);

/* ---- rows --------------------------------------------------------------------------------- */

/* Rows of the batch that a shard of the sum has in x: [T, B, ..], counted from its first. */
struct shard_rows {
    uint32_t first, count;
};
struct shard_rows shard_of(const struct recorder *, const struct gpu_view *x, const struct gpu_view *sum, size_t shard);

struct gpu_rows rows_of(const struct gpu_view *); /* of a [T, B, ..] of floats */
struct gpu_ends ends_of(const struct gpu_view *x, const struct gpu_view *lengths);
struct gpu_resets resets_of(const struct gpu_view *reset);
size_t count_of(const struct gpu_rows *); /* numbers */

/* ---- the kinds ---------------------------------------------------------------------------- */

typedef unroll_status gpu_op_function(struct recorder *, const struct gpu_call *);
gpu_op_function gpu_op_embed, gpu_op_embed_grad, gpu_op_gemm, gpu_op_gemm_dx, gpu_op_gemm_dw, gpu_op_bias_grad,
    gpu_op_rnn, gpu_op_rnn_back, gpu_op_dropout, gpu_op_activate, gpu_op_activate_back, gpu_op_pool, gpu_op_pool_back,
    gpu_op_loss, gpu_op_copy, gpu_op_fill, gpu_op_tree, gpu_op_send, gpu_op_recv, gpu_op_all_reduce, gpu_op_sum_begin,
    gpu_op_sum_end;

/* Copies a view, or zeros where `from` is absent; adds. */
unroll_status gpu_move(struct recorder *, const struct gpu_view *from, const struct gpu_view *to, bool adds);

/* All norms, and all updates (of which this is one), of all parameters in one launch. */
unroll_status gpu_norms(struct recorder *);
unroll_status gpu_updates(struct recorder *, const struct op *);
/* Around a whole step: keeps the sums of losses apart. */
unroll_status gpu_step(struct recorder *, bool begins);
/* Their tables: how large, and what is in them. */
uint64_t gpu_tables_bytes(const struct plan *);
unroll_status gpu_tables_fill(const struct recorder *, char *host);

#endif
