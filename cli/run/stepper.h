/* Runs a model one time step at a time: as a stream on the CPU, which allocates nothing and has bounded latency, or
 * on other devices as a session of one step with carried states (docs/howto/realtime.md). */
#pragma once
#include "cli/options/options.h"
#include "unroll_train.h"

struct stepper {
    unroll_stream *stream; /* NULL: on a device */
    unroll_session *session;
    char output[32]; /* the session's array of outputs */
    int width;       /* of the outputs */
};

/* Opens it by --device, --isa and --dtype. Prints errors. */
unroll_status stepper_open(struct stepper *, unroll_model *, const struct settings *);
void stepper_close(struct stepper *);

/* Runs a step of one row: its token ids and its numbers, NULL where the model has none. */
unroll_status stepper_step(struct stepper *, const int32_t *tokens, const float *numbers, float *outputs);
/* Resets the states for a new sequence. Prints errors. */
unroll_status stepper_restart(struct stepper *);
