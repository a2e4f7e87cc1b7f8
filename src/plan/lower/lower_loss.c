/* Lowering of the loss: the targets, the sums of losses, and what a loss of sequences needs. */
#include "plan/lower/lower.h"
#include "nn/losses/chain.h"
#include "nn/losses/lattice.h"
#include "nn/losses/loss.h"
#include "nn/losses/signal_error.h"
#include <stdio.h>

struct buffer_shape lower_steps(const struct plan *p, bool pooled, uint32_t width)
{
    const struct plan_config *c = &p->config;
    return (struct buffer_shape){width ? 3 : 2, {pooled ? AX_ONE : AX_T, AX_B, AX_K}, {pooled ? 1 : c->T, c->B, width}};
}

/* Adds a gradient of a parameter by each row, [1, B, sizes of the parameter]. */
static int add_row_slopes(struct plan *p, int master)
{
    const struct buffer *of = &p->buffer[master];
    char name[sizeof of->name + 8];
    struct buffer_shape s = {of->rank + 2, {AX_ONE, AX_B, AX_K, AX_K}, {1, p->config.B, of->size[0], of->size[1]}};
    snprintf(name, sizeof name, "rows.%s", of->name);
    return plan_add(p, name, p->config.real, SEG_STEP, s);
}

/* Sets the views of the parameters of crf, and of their gradients in a training. */
static unroll_status lower_chain(struct plan *p, struct op *op)
{
    static const enum parameter_role role[] = {PARAM_MOVE, PARAM_START, PARAM_END};
    for (int i = 0; i < 3; i++) {
        const int master = lower_master(p, role[i], p->model->layers - 1, 0);
        op->view[SEQUENCE_MOVE + i] = view_of(p, master, READ);
        if (p->config.mode != MODE_TRAIN)
            continue;
        const int slopes = add_row_slopes(p, master);
        if (slopes < 0)
            return UNROLL_RESOURCE;
        op->view[SEQUENCE_DMOVE + i] = view_of(p, slopes, WRITE);
    }
    return UNROLL_OK;
}

static unroll_status check_sequence_loss(const struct plan *p)
{
    const char *loss = p->model->loss.text;
    if (!p->config.traits.sequence_losses)
        return fail(UNROLL_UNSUPPORTED, "`loss` = '%s' is computed on the CPU only; fix: use the device cpu", loss);
    if (model_is_pooled(p->model))
        return fail(UNROLL_USAGE,
                    "`loss` = '%s' needs the steps of a sequence, of which a pool leaves one; fix: leave out `pool`",
                    loss);
    if (p->config.resets && loss_at(p->model->loss.index)->of_classes)
        return fail(UNROLL_UNSUPPORTED,
                    "`loss` = '%s' is one of whole rows, but `resets` start new sequences in the row; fix: use one row "
                    "per sequence, with `lengths`",
                    loss);
    return UNROLL_OK;
}

/* Returns the number of doubles with which a thread computes a row. */
static size_t sequence_row_doubles(const struct plan *p)
{
    const size_t classes = (size_t)unroll_model_outputs(p->model), steps = p->config.T;
    if (!loss_at(p->model->loss.index)->of_classes)
        return signal_row_doubles(steps);
    return model_has_chain(p->model) ? chain_row_doubles(classes, steps) : lattice_row_doubles(classes, steps);
}

/* Sets the kind and the views of a loss of whole sequences. Each thread has scratch memory for a row. */
static unroll_status lower_sequence_loss(struct plan *p, struct op *op)
{
    const struct plan_config *c = &p->config;
    const uint32_t threads = c->threads > 1 ? (uint32_t)c->threads : 1;
    TRY(check_sequence_loss(p));
    const size_t each = sequence_row_doubles(p);
    if (each > UINT32_MAX)
        return fail(
            UNROLL_UNSUPPORTED,
            "`loss` = '%s': rows of %u steps are too long to align; fix: divide them into rows of at most 40000 "
            "steps",
            p->model->loss.text, c->T);
    const int scratch = plan_add(p, "sequence.scratch", DTYPE_F64, SEG_SCRATCH,
                                 SHAPE2(AX_G, threads < c->B ? threads : c->B, AX_K, (uint32_t)each));
    const int rows = plan_add(p, "sequence.rows", DTYPE_F64, SEG_SCRATCH, SHAPE2(AX_G, c->B, AX_K, 2));
    if (scratch < 0 || rows < 0)
        return UNROLL_RESOURCE;
    op->kind = OP_SEQUENCE_LOSS;
    op->view[SEQUENCE_SCRATCH] = view_of(p, scratch, WRITE);
    op->view[SEQUENCE_ROWS] = view_of(p, rows, WRITE);
    return model_has_chain(p->model) ? lower_chain(p, op) : UNROLL_OK;
}

/* Returns the number of constants of the loss: levels of quantiles, or weights of classes. */
static uint32_t loss_constants(const struct plan *p, const struct loss *loss)
{
    if (!loss->of_classes)
        return (uint32_t)p->model->loss.levels;
    return p->config.mode == MODE_TRAIN && p->config.class_weights ? (uint32_t)unroll_model_outputs(p->model) : 0;
}

/* The loss overwrites z: if the host reads the results, the loss gets a copy. */
static unroll_status keep_results(struct plan *p, int *z)
{
    int copy = plan_add_like(p, "z.loss", SEG_STEP, *z);
    struct op op = op_new(OP_COPY, PHASE_FORWARD, p->model->layers);
    if (copy < 0)
        return UNROLL_RESOURCE;
    op.view[COPY_FROM] = view_of(p, *z, READ);
    op.view[COPY_TO] = view_of(p, copy, WRITE);
    *z = copy;
    return plan_push(p, &op);
}

unroll_status lower_loss(struct plan *p, int z)
{
    const struct plan_config *c = &p->config;
    const struct loss *loss = loss_at(p->model->loss.index);
    if (c->mode == MODE_INFER || c->mode == MODE_MODULE)
        return UNROLL_OK;
    if (!loss)
        return fail(UNROLL_USAGE,
                    "the model has no loss (loss, output), so it can be run but not trained or evaluated; fix: give "
                    "it an output width and a loss");
    const uint32_t width = loss->of_classes ? 0 : (uint32_t)unroll_model_targets(p->model);
    int target = plan_add(p, "targets", loss->of_classes ? DTYPE_I32 : c->real, SEG_IO,
                          lower_steps(p, model_is_pooled(p->model), width));
    const uint32_t constants = loss_constants(p, loss);
    if (target < 0 || (constants && plan_add(p, "loss_constants", c->real, SEG_IO, SHAPE1(AX_K, constants)) < 0))
        return UNROLL_RESOURCE;
    if (c->mode == MODE_EVAL && c->results)
        TRY(keep_results(p, &z));
    struct op op = op_new(OP_LOSS, PHASE_FORWARD, p->model->layers);
    op.choice = p->model->loss.index;
    op.probability = c->mode == MODE_TRAIN ? c->label_smoothing : 0;
    op.view[LOSS_CONSTANTS] = lower_named(p, "loss_constants");
    op.view[LOSS_Z] = view_of(p, z, UPDATE);
    op.view[LOSS_TARGET] = view_of(p, target, READ);
    op.view[LOSS_LENGTHS] = lower_named(p, "lengths");
    op.view[LOSS_SUM] = view_of(p, plan_find_buffer(p, "loss_sum"), ADD);
    op.view[LOSS_WEIGHT] = view_of(p, plan_find_buffer(p, "weight_sum"), ADD);
    if (loss->of_sequences)
        TRY(lower_sequence_loss(p, &op));
    return plan_push(p, &op);
}
