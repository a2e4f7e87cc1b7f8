/* A model one time step at a time: a stream on the processor, which allocates nothing and has a timeout; on any other
 * device a session of one step whose states are carried on (docs/howto/realtime.md). */
#ifndef CLI_STEPPER_H
#define CLI_STEPPER_H
#include "options.h"
#include "unroll_train.h"

struct stepper {
    void *memory;          /* the stream's */
    unroll_stream *stream; /* NULL: on a device */
    unroll_session *session;
    char output[32]; /* the session's array of outputs */
    int width;       /* of the outputs */
};

/* By --device, --isa and --dtype. Prints what is wrong. */
unroll_status stepper_open(struct stepper *, unroll_model *, const struct settings *);
void stepper_close(struct stepper *);

/* One row: its tokens' ids and its numbers, NULL where the model has none. */
unroll_status stepper_step(struct stepper *, const int32_t *tokens, const float *numbers, float *outputs);
/* The states begin anew: what comes is another sequence. Prints what is wrong. */
unroll_status stepper_restart(struct stepper *);

#endif
