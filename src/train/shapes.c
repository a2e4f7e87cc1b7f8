#include "train/shapes.h"

unroll_status shaped_open(unroll_model *model, const struct part *part, unroll_session_config config,
                          struct shaped *shaped)
{
    uint64_t memory = config.machine.memory ? config.machine.memory : unroll_memory_limit();
    config.lengths = part->lengths;
    config.resets = part->resets;
    for (*shaped = (struct shaped){.shapes = 0}; shaped->shapes < part->shapes; shaped->shapes++) {
        unroll_session **session = &shaped->session[shaped->shapes];
        uint64_t used = shaped_memory_estimate(shaped);
        config.steps = part->shape[shaped->shapes].steps;
        config.rows = part->shape[shaped->shapes].rows;
        config.machine.memory = memory > used ? memory - used : 1;
        if (config.mode == UNROLL_TRAIN)
            config.beside = shaped->shapes > 0 ? shaped->session[0] : NULL;
        TRY(unroll_session_new(model, &config, session));
    }
    return UNROLL_OK;
}

/* The first comes last: the others are beside it. */
void shaped_close(struct shaped *shaped)
{
    while (shaped->shapes > 0) unroll_session_free(shaped->session[--shaped->shapes]);
}

uint64_t shaped_memory_estimate(const struct shaped *shaped)
{
    uint64_t bytes = 0;
    for (int i = 0; i < shaped->shapes; i++) bytes += unroll_session_memory_estimate(shaped->session[i]);
    return bytes;
}
