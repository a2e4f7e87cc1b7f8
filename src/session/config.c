/* Converts a session's configuration to that of its plan: checks, and the device's traits. No plan is made here. */
#include "base/system/processor.h"
#include "base/status.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include "session/mesh.h"
#include <math.h>
#include <string.h>

unroll_status session_plan_config(const unroll_session_config *c, int ranks, struct plan_config *p)
{
    static const enum plan_mode modes[] = {[UNROLL_INFER] = MODE_INFER,
                                           [UNROLL_EVAL] = MODE_EVAL,
                                           [UNROLL_TRAIN] = MODE_TRAIN,
                                           [UNROLL_MODULE] = MODE_MODULE};
    const unroll_machine *m = &c->machine;
    if (c->steps < 1 || c->rows < 1 || c->shards < 1)
        return fail(UNROLL_USAGE,
                    "`steps` = %d, `rows` = %d and shards = %d must be 1 or more; fix: use values of 1 or more",
                    c->steps, c->rows, c->shards);
    if (m->exact < 0 || (m->exact && c->shards != 1 && c->shards != m->exact))
        return fail(UNROLL_USAGE,
                    "`exact` = %d and shards = %d disagree; fix: set only exact, to at most the number of rows",
                    m->exact, c->shards);
    if (c->mode < UNROLL_INFER || c->mode > UNROLL_MODULE)
        return fail(UNROLL_USAGE,
                    "mode = %d is unknown; fix: choose one of UNROLL_INFER, UNROLL_EVAL, UNROLL_TRAIN or UNROLL_MODULE",
                    (int)c->mode);
    if (c->mode == UNROLL_MODULE && c->stateful)
        return fail(UNROLL_UNSUPPORTED,
                    "mode = UNROLL_MODULE cannot be stateful; fix: set stateful = 0, then read \"hn..\" and write "
                    "\"h0..\"");
    if (c->updates && c->mode != UNROLL_MODULE)
        return fail(
            UNROLL_USAGE,
            "updates = 1 requires mode = UNROLL_MODULE; other sessions update if they train; fix: set updates = 0");
    *p = plan_config_default();
    p->mode = modes[c->mode];
    p->real = m->precision && !strcmp(m->precision, "fp64") ? DTYPE_F64 : DTYPE_F32;
    TRY(weights_choose(m->dtype, &p->weights));
    if (p->weights != DTYPE_F32 && (c->mode == UNROLL_TRAIN || c->mode == UNROLL_MODULE))
        return fail(UNROLL_UNSUPPORTED,
                    "`dtype` = %s: gradients require fp32 weights; fix: train in fp32, and run or evaluate the model "
                    "in %s",
                    m->dtype, m->dtype);
    p->T = (uint32_t)c->steps;
    p->B = (uint32_t)c->rows;
    p->chunks = m->chunks;
    p->queues = m->queues;
    p->shards = (uint32_t)(m->exact ? m->exact : c->shards);
    p->lengths = c->lengths;
    p->resets = c->resets;
    p->results = c->results;
    p->stateful = c->stateful;
    p->input_gradient = c->input_gradient;
    p->updates = c->updates;
    p->no_dropout = c->no_dropout;
    p->label_smoothing = c->label_smoothing;
    p->class_weights = c->class_weights != NULL;
    p->pieces = m->pieces == UNROLL_AUTO ? PIECES_AUTO : m->pieces ? m->pieces : 1;
    p->time_tolerance = m->time_tolerance;
    TRY(plan_set_checkpoint(p, m->checkpoint_time));
    TRY(mesh_place(m, ranks, p));
    if (c->mode != UNROLL_TRAIN && !c->updates)
        return UNROLL_OK;
    TRY(optimizer_find(c->optimizer, &p->optimizer));
    p->optimizer_states = optimizer_at(p->optimizer)->states;
    return UNROLL_OK;
}

unroll_status session_check_loss(const struct unroll_model *m, const unroll_session_config *c)
{
    const struct loss *loss = loss_at(m->loss.index);
    double sum = 0;
    if (c->label_smoothing == 0 && !c->class_weights)
        return UNROLL_OK;
    if (c->mode != UNROLL_TRAIN || !loss || !loss->of_classes || loss->of_sequences)
        return fail(UNROLL_USAGE,
                    "label_smoothing and class_weights require training with a classification loss, not %s with loss "
                    "= '%s'; fix: leave them out",
                    c->mode == UNROLL_TRAIN ? "training" : "mode infer, eval or module", m->loss.text);
    if (!(c->label_smoothing >= 0 && c->label_smoothing < 1))
        return fail(UNROLL_USAGE, "`label_smoothing` = %g is outside 0 <= e < 1; fix: choose a value from 0 to 0.9",
                    (double)c->label_smoothing);
    for (int i = 0; c->class_weights && i < unroll_model_outputs(m); i++) {
        const float w = c->class_weights[i];
        if (!(w >= 0 && isfinite(w)))
            return fail(
                UNROLL_USAGE,
                "class_weights[%d] = %g must be finite and 0 or more; fix: use weights of 0 or more, at least one "
                "above 0",
                i, (double)w);
        sum += (double)w;
    }
    return !c->class_weights || sum > 0
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "class_weights are all 0; fix: use weights of 0 or more, at least one above 0");
}

void session_suit_device(const struct device *device, const char *isa, int threads, const struct unroll_model *model,
                         struct plan_config *p)
{
    if (device->traits)
        p->traits = device->traits(isa);
    p->threads = threads ? threads : cpu_count();
    if (p->queues == 0)
        p->queues = plan_queues_for(model, p, device->workers ? device->workers : p->threads);
}
