/* The arguments of the portable kernels, one plain struct each: filled in by the host (gpu_ops_*.c) and read by a
 * driver's kernels. Addresses are device addresses (gpu_address). C and nvcc both include this file, which contains
 * no code. Structs have no padding (`none` fills gaps), because stray bytes could look like addresses to tools that
 * check arguments. */
#ifndef DEVICE_GPU_KERNELS_H
#define DEVICE_GPU_KERNELS_H
#include "nn/cells/cell.h"
#include <stddef.h>
#include <stdint.h>

/* clang-format off */     /* tables and small structs, a line each */

enum { GPU_THREADS = 256, GPU_CHUNK = 4096 };       /* threads of a block; elements of one tensor that a block handles */

/* Rows of `width` contiguous floats: row (step, b) begins at at[step * t + b * row]. */
struct gpu_rows { float *at; size_t t, row; uint32_t steps, batch, width, none; };

/* Row b takes part in step t if there are no lengths, or if origin + t < lengths[b]. */
struct gpu_ends { const int32_t *lengths; uint32_t origin, none; };

/* The state of a row is reset at step t where at[t * step + b] is not 0; at NULL: never. */
struct gpu_resets { const uint8_t *at; size_t step; };

/* ---- rows.inc, activations.inc ------------------------------------------------------------ */

/* to = from, or to += from; from.at NULL: zeros. Boxes of up to 4 axes, in 4-byte words. */
struct copy_args {
    uint32_t count[4];
    size_t from_stride[4], to_stride[4];
    const uint32_t *from;
    uint32_t *to;
    int adds, none;
};
struct clear_ended_args { struct gpu_rows x; struct gpu_ends ends; };

/* Packs rows of x, or with `shift` the states that enter the steps: to[step][b - first][width]. */
struct gather_args {
    struct gpu_rows x;
    struct gpu_ends ends;
    struct gpu_resets resets;
    const float *init;                  /* [batch], rows `init_row` apart; NULL: zeros */
    size_t init_row;
    uint32_t first, rows;               /* of the batch */
    int shift, direction;
    float *to;
};
struct lowp_args { const float *from; size_t from_row; uint16_t *to; size_t to_row; uint32_t rows, width; int is_fp16, none; };
struct embed_args { const int32_t *tokens; size_t step; const float *table; size_t table_row; struct gpu_rows y; };
struct dropout_args {
    struct gpu_rows x, y;
    struct gpu_ends ends;
    const int64_t *run;                 /* seed and number of the forward pass */
    uint32_t first_row, first_unit, stream;
    float probability;
    int adds, none;
};
struct activate_args { struct activation function; int none; struct gpu_rows x, y; };
struct activate_back_args { struct activation function; int adds; struct gpu_rows x, dy, dx; };
/* One thread for each unit of a row, over the steps from ends.origin; `steps` counts those of the whole sequence. */
struct pool_args {
    struct gpu_rows x, y;               /* y: of one step */
    int32_t *at;                        /* [batch], rows `at_row` apart; NULL: not needed */
    size_t at_row;
    struct gpu_ends ends;
    uint32_t steps, pool;
    int begins, none;
};
struct pool_back_args {
    struct gpu_rows dx, dy;
    const int32_t *at;
    size_t at_row;
    struct gpu_ends ends;
    uint32_t steps, pool;
    int adds, none;
};
struct tree_args { float *x; size_t shard, count; uint32_t shards, none; };

/* Packs b of products into panels of GPU_PANEL columns, with zeros after the last column: b[k][n] is stored at to[(n
 * / GPU_PANEL * depth + k) * GPU_PANEL + n % GPU_PANEL]. by_columns: b is stored as [n][k]. Only for drivers that
 * use panels. */
enum { GPU_PANEL = 32 };
struct pack_args { const float *b; size_t b_row; float *to; uint32_t columns, depth; int by_columns, rounds; };

/* c[m][n] = a[m][k] b[k][n] (+ c if adds) (+ bias): one chain of fused multiply-adds for each element, with k
 * rising, that starts at c + bias. a[m][k] is at a[m * a_row + k * a_next]; the panels of b are b_panel floats
 * apart. */
struct panels_args {
    const float *a, *b, *bias;
    float *c;
    size_t a_row, a_next, b_panel, c_row;
    uint32_t rows, columns, depth;
    int adds;
};

/* ---- sums.inc, losses.inc ----------------------------------------------------------------- */

/* Sums columns over rows [first, first + rows) of the batch and all steps: partial sums, then their total. */
struct sum_parts_args { struct gpu_rows x; struct gpu_ends ends; uint32_t first, rows, parts, none; float *part; };
struct sum_args { const float *part; uint32_t parts, width; float *sum, *twin; };

/* One block for each symbol: steps descending, rows ascending. */
struct embed_grad_args {
    const int32_t *tokens;
    size_t step;
    struct gpu_rows dy;
    uint32_t first, rows;
    float *table;
    size_t table_row;
};

/* Replaces z by its gradient and writes the loss of each row to loss[row]; the weights of the rows follow. */
struct loss_args {
    struct gpu_rows z;
    struct gpu_ends ends;
    const int32_t *class_of;            /* [step * class_step + b] */
    size_t class_step;
    struct gpu_rows values;
    const float *constants;             /* [levels] of quantiles, or class weights; NULL: none */
    uint32_t levels;                    /* of a regression loss; 1: none */
    float smoothing;                    /* label smoothing: part of a row's target that is spread over all classes */
    double *loss;                       /* [rows] losses, then [rows] weights */
    const double *scale;                /* of gradients; NULL: 1 */
};
struct loss_total_args { const double *loss; size_t rows; double *sum, *weight; };

/* Work on many tensors at once. Chunk i is GPU_CHUNK elements of tensor chunk[i].tensor, starting at chunk number
 * chunk[i].number. */
struct gpu_chunk { uint32_t tensor, number; };
struct norm_tensor { const float *x; size_t count; double *out; uint32_t first_chunk, chunks; };
/* Divides the norms of scaled gradients by the scale; all norms become 0 if one is not finite. rates: see
 * nn/optim/optim.h. */
struct unscale_args { double *norms, *rates; uint32_t norm_count, none; };
struct norm_args { const struct norm_tensor *tensor; const struct gpu_chunk *chunk; double *part; uint32_t tensors, chunks; };

/* ---- updates.inc -------------------------------------------------------------------------- */

enum { UPDATE_STATES_MAX = 8 };
struct update_tensor { float *w, *g, *state[UPDATE_STATES_MAX]; size_t count; };
struct update_begin_args { double *rates; const double *norms, *weight; int is_scaled; uint32_t norm_count; void *shared; float *scale; };
struct update_args { const struct update_tensor *tensor; const struct gpu_chunk *chunk; const void *shared; const float *scale; };
enum { UPDATE_RATES_BYTES = 128 };      /* room for the rates that update_begin computes */

/* Gives a whole step its own loss sums: the previous sums are set aside in `kept` and added at the end. One thread. */
struct step_args { double *loss, *weight, *kept; int begins, none; };

/* ---- cells.inc ---------------------------------------------------------------------------- */

/* Arrays of the fields of one step: field f of row b, unit u is at at[f * field + b * row + u]. */
struct gpu_fields { float *at; size_t field, row; };

/* Low-precision operands of products, for plans that use them: contiguous rows of fields; at NULL: none. Rows that
 * take no part are zeros. */
struct gpu_lowp { uint16_t *at; size_t field, row; int is_fp16, none; };

struct cell_forward_args {
    uint32_t rows, units, t, none;
    int64_t next_t;                     /* the next step, or -1 */
    struct gpu_ends ends;
    struct gpu_resets resets;
    struct gpu_fields g, state, next, intermediate;
    struct gpu_fields y, s, kept_intermediate;  /* copies of the first next state, of the other states and of the intermediates; at NULL: none */
    const float *vector;
    size_t vector_field;
    int projected;                      /* the first next state is the output before the projection */
    struct gpu_lowp next_lowp, intermediate_lowp;       /* copies of the first next state and intermediate */
    struct cell_options options;
};

struct cell_backward_args {
    uint32_t rows, units, t, none;
    int64_t before, done;               /* the step before this one in forward order; the step processed last here; or -1 */
    struct gpu_ends ends;
    struct gpu_resets resets;
    struct gpu_fields g, d_state, d_intermediate, dv;
    struct gpu_fields y, s, y_before, s_before, h0, s0;     /* y: output of the cell: the output of the layer, or m */
    const float *dy;
    size_t dy_row;
    const float *vector, *zeros;        /* zeros: [units] */
    size_t vector_field;
    int projected;
    struct gpu_lowp g_lowp;             /* gradients of all inputs */
    struct cell_options options;
};

/* Copies states from views to planes and back: the first [rows, width], the others [others][rows, units]. */
struct states_args {
    uint32_t rows, width, units, others;
    struct gpu_ends ends;
    struct gpu_resets resets;
    int64_t forget;                     /* rows that are reset at this step get zeros; -1: none */
    struct gpu_fields first, rest, plane;                   /* at NULL: zeros are read, or nothing is stored */
    struct gpu_lowp lowp;                                   /* copy of the first state that enters */
    int adds[2];
};

/* After h = P m, in `made`: completes h of the next step. */
struct projected_args {
    uint32_t rows, width, t, none;
    int64_t next_t;
    struct gpu_ends ends;
    struct gpu_resets resets;
    struct gpu_fields made, state, next, y;
    struct gpu_lowp next_lowp;
};

/* Before dm = dh P: completes the gradient of h, including the result of the last product, in `made`. */
struct receive_args {
    uint32_t rows, width, t, none;
    int64_t done;
    struct gpu_ends ends;
    struct gpu_resets resets;
    struct gpu_fields made, whole, dy, dp;
    struct gpu_lowp whole_lowp;
    int ends_here, none_after;         /* after the last step: there is no step t */
};

#endif
