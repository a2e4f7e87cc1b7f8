/* What rnn and rnn_back share on the host: the operation as one struct, planes of scratch, products with the
 * recurrent weights, and the way step by step. */
#ifndef DEVICE_GPU_RNN_H
#define DEVICE_GPU_RNN_H
#include "device/gpu/gpu_launch.h"

struct rnn {
    struct recorder *w;
    const struct gpu_call *call;
    const struct gpu_view *view; /* by enum RNN_.. */
    const struct cell_declaration *cell;
    const struct cell_options *options;
    size_t states, intermediates, units, width; /* U; K: width of the whole h */
    uint32_t steps, batch;
    bool projected, reverse;
    struct gpu_ends ends;
    struct gpu_resets resets;
    size_t plane, row;                 /* numbers in a plane of scratch, and in a row of one */
    struct matrix weights, projection; /* as products want them: narrow ones are made once, by rnn_weights */
    size_t weight_bytes;
    /* What the kernels of a step write for the next product of narrow numbers: h, or of gradients the whole one where
     * there is a projection; what is projected; the intermediates; the gradients of the gates. */
    struct gpu_lowp h, made, intermediate, gates;
};

struct rnn rnn_of(struct recorder *, const struct gpu_call *);
/* For the ways that multiply with rnn_product. */
unroll_status rnn_weights(struct rnn *);

/* The step that is done i-th in forward; -1 beyond the ends. */
int64_t rnn_step(const struct rnn *, int64_t i);

/* Consecutive planes of scratch; one step of a [T, B, (F), U] view (at NULL where it is absent); [S, B, U]. */
struct gpu_fields rnn_plane(const struct rnn *, size_t plane);
struct gpu_fields rnn_at(const struct rnn *, int slot, int64_t step);
struct gpu_fields rnn_states(const struct rnn *, int slot);
struct gpu_fields rnn_output(const struct rnn *, int slot); /* [B, K] */
/* The same from field f on, one number after the other. */
struct matrix matrix_at(struct gpu_fields f, size_t field);
/* The first operand of a product: the narrow numbers from field f on where there are such. */
void rnn_operand(struct gpu_product *, struct gpu_fields, const struct gpu_lowp *, size_t field);

/* g[step] += operand U^T + bias over the gates that come from `source`; or operand (+)= dg U, for their gradients.
 * lowp: the operand as narrow numbers, if there are such. */
unroll_status rnn_product(const struct rnn *, int64_t step, unsigned source, struct gpu_fields operand,
                          const struct gpu_lowp *lowp);
unroll_status rnn_product_back(const struct rnn *, int64_t step, unsigned source, struct gpu_fields gradient,
                               bool adds);

/* "lstm_gpu_forward": the kernel of the cell. */
void rnn_kernel(const struct rnn *, const char *suffix, char *name, size_t size);
enum { GPU_CELL_KERNEL = CELL_KEY + 16 };
void gpu_cell_kernel(const struct cell_declaration *, const struct cell_options *, const char *suffix, char *name,
                     size_t size);

/* Step by step, on any GPU. */
unroll_status rnn_portable(struct rnn *), rnn_back_portable(struct rnn *);

#endif
