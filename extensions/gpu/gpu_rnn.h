/* Shared host code of rnn and rnn_back: the operation as one struct, planes of scratch, products with the recurrent
 * weights, and the step-by-step form. */
#ifndef DEVICE_GPU_RNN_H
#define DEVICE_GPU_RNN_H
#include "extensions/gpu/gpu_launch.h"

struct rnn {
    struct recorder *w;
    const struct gpu_call *call;
    const struct gpu_view *view; /* indexed by enum RNN_.. */
    const struct cell_declaration *cell;
    const struct cell_options *options;
    size_t states, intermediates, units, width; /* units: U; width: K, of the whole h */
    uint32_t steps, batch;
    bool projected, reverse;
    struct gpu_ends ends;
    struct gpu_resets resets;
    size_t plane, row;                 /* elements of a scratch plane and of its rows */
    struct matrix weights, projection; /* as products need them: rnn_weights converts to low precision once */
    size_t weight_bytes;
    /* Low-precision copies that the kernels of a step write for the next product: h (backward: its whole gradient if
     * there is a projection), the input of the projection, the intermediates, and the gradients of the gates. */
    struct gpu_lowp h, made, intermediate, gates;
};

struct rnn rnn_of(struct recorder *, const struct gpu_call *);
/* Prepares the weights for forms that use rnn_product. */
unroll_status rnn_weights(struct rnn *);

/* Returns the step that is i-th in forward order, or -1 outside the sequence. */
int64_t rnn_step(const struct rnn *, int64_t i);

/* Views: consecutive planes of scratch; one step of a [T, B, (F), U] view (at NULL if absent); [S, B, U]. */
struct gpu_fields rnn_plane(const struct rnn *, size_t plane);
struct gpu_fields rnn_at(const struct rnn *, int slot, int64_t step);
struct gpu_fields rnn_states(const struct rnn *, int slot);
struct gpu_fields rnn_output(const struct rnn *, int slot); /* [B, K] */
/* The same, as a matrix that begins at a field. */
struct matrix matrix_at(struct gpu_fields f, size_t field);
/* Sets the first operand of a product: the low-precision copy, from `field` on, if there is one. */
void rnn_operand(struct gpu_product *, struct gpu_fields, const struct gpu_lowp *, size_t field);

/* g[step] += operand U^T + bias over the gates that come from `source`; or operand (+)= dg U, for their gradients.
 * lowp: the low-precision operand, if any. */
unroll_status rnn_product(const struct rnn *, int64_t step, unsigned source, struct gpu_fields operand,
                          const struct gpu_lowp *lowp);
unroll_status rnn_product_back(const struct rnn *, int64_t step, unsigned source, struct gpu_fields gradient,
                               bool adds);

/* Writes the name of the cell's kernel, such as "lstm_gpu_forward". */
void rnn_kernel(const struct rnn *, const char *suffix, char *name, size_t size);
enum { GPU_CELL_KERNEL = CELL_KEY + 16 };
void gpu_cell_kernel(const struct cell_declaration *, const struct cell_options *, const char *suffix, char *name,
                     size_t size);

/* The step-by-step form, on any GPU. */
unroll_status rnn_portable(struct rnn *), rnn_back_portable(struct rnn *);

#endif
