/* Shared code of rnn and rnn_back (gpu_rnn.h), and the choice of the form. */
#include "extensions/gpu/gpu_rnn.h"
#include <stdio.h>

struct rnn rnn_of(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *v = call->view;
    const struct layer *layer = &w->plan->model->layer[call->op->depth - 1];
    return (struct rnn){.w = w,
                        .call = call,
                        .view = v,
                        .cell = layer->cell,
                        .options = &layer->options,
                        .states = (size_t)layer->cell->states,
                        .intermediates = (size_t)layer->cell->intermediates,
                        .units = v[RNN_G].count[3],
                        .width = v[RNN_Y].count[2],
                        .steps = v[RNN_G].count[0],
                        .batch = v[RNN_G].count[1],
                        .projected = v[RNN_PROJ].at != NULL,
                        .reverse = call->op->direction,
                        .ends = ends_of(&v[RNN_G], &v[RNN_LENGTHS]),
                        .resets = resets_of(&v[RNN_RESET]),
                        .plane = v[RNN_SCRATCH].stride[0],
                        .row = v[RNN_SCRATCH].stride[1],
                        .weights = {v[RNN_W].at, v[RNN_Y].count[2]},
                        .projection = {v[RNN_PROJ].at, v[RNN_G].count[3]},
                        .weight_bytes = sizeof(float)};
}

unroll_status rnn_weights(struct rnn *r)
{
    const struct gpu_view *w = &r->view[RNN_W];
    if (!products_are_lowp(r->w))
        return UNROLL_OK;
    r->weight_bytes = sizeof(uint16_t);
    if (w->at)
        TRY(lowp_matrix(r->w, &r->weights, w->count[0] * w->count[1], (uint32_t)r->width));
    return r->projected ? lowp_matrix(r->w, &r->projection, (uint32_t)r->width, (uint32_t)r->units) : UNROLL_OK;
}

int64_t rnn_step(const struct rnn *r, int64_t i)
{
    if (i < 0 || i >= (int64_t)r->steps)
        return -1;
    return r->reverse ? (int64_t)r->steps - 1 - i : i;
}

struct gpu_fields rnn_plane(const struct rnn *r, size_t plane)
{
    return (struct gpu_fields){(float *)(void *)r->view[RNN_SCRATCH].at + plane * r->plane, r->plane, r->row};
}

struct gpu_fields rnn_at(const struct rnn *r, int slot, int64_t step)
{
    const struct gpu_view *x = &r->view[slot];
    if (!x->at || step < 0)
        return (struct gpu_fields){NULL, 0, 0};
    return (struct gpu_fields){(float *)(void *)x->at + (size_t)step * x->stride[0], x->rank == 4 ? x->stride[2] : 0,
                               x->stride[1]};
}

struct gpu_fields rnn_states(const struct rnn *r, int slot)
{
    const struct gpu_view *x = &r->view[slot];
    return (struct gpu_fields){(float *)(void *)x->at, x->stride[0], x->stride[1]};
}

struct gpu_fields rnn_output(const struct rnn *r, int slot)
{
    const struct gpu_view *x = &r->view[slot];
    return (struct gpu_fields){(float *)(void *)x->at, 0, x->stride[0]};
}

struct matrix matrix_at(struct gpu_fields f, size_t field)
{
    return (struct matrix){(char *)(f.at + field * f.field), f.row};
}

void rnn_operand(struct gpu_product *p, struct gpu_fields f, const struct gpu_lowp *lowp, size_t field)
{
    p->a_is_lowp = lowp->at != NULL;
    p->a = lowp->at ? (struct matrix){(char *)(lowp->at + field * lowp->field), lowp->row} : matrix_at(f, field);
}

/* ---- products ----------------------------------------------------------------------------- */

/* The rows of a gate's recurrent weights. */
static struct matrix gate_weights(const struct rnn *r, size_t gate)
{
    return (struct matrix){r->weights.at + gate * r->units * r->weights.row * r->weight_bytes, r->weights.row};
}

/* Gates of the same sources, contiguous in g and in the recurrent weights. */
struct block {
    size_t input, count, weight;
};

static bool next_block(const struct rnn *r, unsigned source, struct block *k)
{
    const struct cell_input *input = r->cell->input;
    size_t inputs = (size_t)r->cell->inputs, i = k->input + k->count, weight = k->weight + k->count;
    for (; i < inputs && !(input[i].from & source); i++) weight += (input[i].from & (FROM_H | FROM_INTERMEDIATE)) != 0;
    if (i == inputs)
        return false;
    size_t end = i + 1;
    while (end < inputs && input[end].from == input[i].from) end++;
    *k = (struct block){i, end - i, weight};
    return true;
}

unroll_status rnn_product(const struct rnn *r, int64_t step, unsigned source, struct gpu_fields operand,
                          const struct gpu_lowp *lowp)
{
    const struct gpu_view *g = &r->view[RNN_G], *bias = &r->view[RNN_BIAS];
    for (struct block k = {0, 0, 0}; next_block(r, source, &k);) {
        struct gpu_product p = {
            .m = r->batch,
            .n = (uint32_t)(k.count * r->units),
            .k = (uint32_t)r->width,
            .c = matrix_at(rnn_at(r, RNN_G, step), k.input),
            .b = gate_weights(r, k.weight),
            .b_by_columns = true,
            .b_is_lowp = true,
            .b_stays = true,
            .bias = bias->at ? (const float *)(void *)bias->at + k.weight * r->units : NULL,
            .adds = r->cell->input[k.input].from & FROM_X, /* it already contains the product with x */
            .a_moves = r->plane,
            .c_moves = g->stride[0],
        };
        rnn_operand(&p, operand, lowp, 0);
        TRY(product(r->w, &p));
    }
    return UNROLL_OK;
}

unroll_status rnn_product_back(const struct rnn *r, int64_t step, unsigned source, struct gpu_fields gradient,
                               bool adds)
{
    const struct gpu_view *g = &r->view[RNN_G];
    for (struct block k = {0, 0, 0}; next_block(r, source, &k); adds = true) {
        struct gpu_product p = {
            .m = r->batch,
            .n = (uint32_t)r->width,
            .k = (uint32_t)(k.count * r->units),
            .c = matrix_at(gradient, 0),
            .b = gate_weights(r, k.weight),
            .b_is_lowp = true,
            .b_stays = true,
            .adds = adds,
            .a_moves = g->stride[0],
        };
        rnn_operand(&p, rnn_at(r, RNN_G, step), &r->gates, k.input);
        TRY(product(r->w, &p));
    }
    return UNROLL_OK;
}

void gpu_cell_kernel(const struct cell_declaration *cell, const struct cell_options *options, const char *suffix,
                     char *name, size_t size)
{
    char key[CELL_KEY];
    cell_key(cell, options, key);
    snprintf(name, size, "%s_gpu_%s", key, suffix);
}

void rnn_kernel(const struct rnn *r, const char *suffix, char *name, size_t size)
{
    gpu_cell_kernel(r->cell, r->options, suffix, name, size);
}

/* ---- choice of the form ------------------------------------------------------------------- */

/* Uses the driver's own form where it has one and prefers it. Measuring takes the maximum of both, because no GPU is
 * known yet. */
static unroll_status run_recurrence(struct recorder *w, const struct gpu_call *call, bool back)
{
    struct rnn r = rnn_of(w, call);
    bool done = false;
    if (w->driver->rnn)
        TRY(w->driver->rnn(&r, back, &done));
    if (w->walk == MEASURE)
        w->scratch_used = 0;
    if (w->walk == PREPARE) {
        w->recurrences++;
        w->persistent += done;
    }
    if (done)
        return UNROLL_OK;
    return back ? rnn_back_portable(&r) : rnn_portable(&r);
}

unroll_status gpu_op_rnn(struct recorder *w, const struct gpu_call *call) { return run_recurrence(w, call, false); }

unroll_status gpu_op_rnn_back(struct recorder *w, const struct gpu_call *call) { return run_recurrence(w, call, true); }
