/* What a session asks of its plan: the checks of a configuration, and the facts of a device that the plan is made for.
 * No plan is made here. */
#include "base/processor.h"
#include "base/status.h"
#include "optim/optim.h"
#include "session/mesh.h"
#include <string.h>

unroll_status session_plan_config(const unroll_session_config *c, int ranks, struct plan_config *p)
{
    static const enum plan_mode modes[] = {[UNROLL_INFER] = MODE_INFER,
                                           [UNROLL_EVAL] = MODE_EVAL,
                                           [UNROLL_TRAIN] = MODE_TRAIN,
                                           [UNROLL_MODULE] = MODE_MODULE};
    const unroll_machine *m = &c->machine;
    CHECK_BEGUN(m, unroll_machine, "unroll_machine_default()");
    if (c->steps < 1 || c->rows < 1 || c->shards < 1)
        return fail(UNROLL_USAGE, "steps = %d, rows = %d and shards = %d must be 1 or more", c->steps, c->rows,
                    c->shards);
    if (m->exact < 0 || (m->exact && c->shards != 1 && c->shards != m->exact))
        return fail(UNROLL_USAGE, "exact = %d and shards = %d; fix: exact alone, 1 to as many as there are rows",
                    m->exact, c->shards);
    if (c->mode < UNROLL_INFER || c->mode > UNROLL_MODULE)
        return fail(UNROLL_USAGE, "mode = %d is none of the modes", (int)c->mode);
    if (c->mode == UNROLL_MODULE && c->stateful)
        return fail(UNROLL_UNSUPPORTED, "a module does not carry states: read \"hn..\" and write \"h0..\"");
    *p = plan_config_default();
    p->mode = modes[c->mode];
    p->real = m->precision && !strcmp(m->precision, "fp64") ? DTYPE_F64 : DTYPE_F32;
    TRY(weights_choose(m->dtype, &p->weights));
    if (p->weights != DTYPE_F32 && (c->mode == UNROLL_TRAIN || c->mode == UNROLL_MODULE))
        return fail(UNROLL_UNSUPPORTED,
                    "dtype = %s: gradients are computed with fp32 weights alone; fix: train in "
                    "fp32, and run or evaluate the model in %s",
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
    p->no_dropout = c->no_dropout;
    TRY(plan_set_checkpoint(p, m->checkpoint_time));
    TRY(mesh_place(m, ranks, p));
    if (c->mode != UNROLL_TRAIN)
        return UNROLL_OK;
    TRY(optimizer_find(c->optimizer, &p->optimizer));
    p->optimizer_states = optimizer_at(p->optimizer)->states;
    return UNROLL_OK;
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
