#include "apply/shapes.h"

/* Limits the pieces of time: sequences shorter than those of the training have fewer. */
static int pieces_of(int asked, const unroll_session_config *config, int shape)
{
    const int most = config->steps >= 2 * UNROLL_PIECE_STEPS ? config->steps / UNROLL_PIECE_STEPS : 1;
    const bool is_first = shape == 0 && config->mode == UNROLL_TRAIN;
    return is_first || asked <= most ? asked : most;
}

/* Opens one session for each shape. Each may use the memory that the previous ones leave. */
unroll_status shaped_open(unroll_model *model, const struct part *part, unroll_session_config config,
                          struct shaped *shaped)
{
    uint64_t memory = config.machine.memory ? config.machine.memory : unroll_memory_limit();
    const int asked = config.machine.pieces;
    config.lengths = part->lengths;
    config.resets = part->resets;
    config.raw = 1; /* parts are scaled */
    for (*shaped = (struct shaped){.shapes = 0}; shaped->shapes < part->shapes; shaped->shapes++) {
        unroll_session **session = &shaped->session[shaped->shapes];
        uint64_t used = shaped_memory_estimate(shaped);
        config.steps = part->shape[shaped->shapes].steps;
        config.rows = part->shape[shaped->shapes].rows;
        config.machine.memory = memory > used ? memory - used : 1;
        config.machine.pieces = pieces_of(asked, &config, shaped->shapes);
        if (config.mode == UNROLL_TRAIN)
            config.partner = shaped->shapes > 0 ? shaped->session[0] : NULL;
        TRY(unroll_session_new(model, &config, session));
    }
    return UNROLL_OK;
}

/* Closes the first session last: the others depend on it. */
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
