/* Sessions for the shapes of a part's batches, one each. Training sessions share the optimizer and gradient of the
 * first. */
#pragma once
#include "tasks/task.h"

struct shaped {
    unroll_session *session[PART_SHAPES_MAX];
    int shapes;
};

/* Opens the sessions. config: everything except the shape; its memory limit applies to all of them together. The caller
 * must call shaped_close, even after a failure. */
unroll_status shaped_open(unroll_model *model, const struct part *part, unroll_session_config config,
                          struct shaped *shaped);
void shaped_close(struct shaped *shaped);                     /* a zeroed struct is allowed */
uint64_t shaped_memory_estimate(const struct shaped *shaped); /* bytes */
