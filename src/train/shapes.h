/* Sessions for the shapes that the batches of a part have, one each. Those that train are beside the first: one
 * optimizer, one gradient, whichever runs. */
#ifndef TRAIN_SHAPES_H
#define TRAIN_SHAPES_H
#include "tasks/task.h"

struct shaped {
    unroll_session *session[PART_SHAPES_MAX];
    int shapes;
};

/* config: all but the shape; its memory is that of all of them. The caller gives it to shaped_close, also after a
 * failure. */
unroll_status shaped_open(unroll_model *model, const struct part *part, unroll_session_config config,
                          struct shaped *shaped);
void shaped_close(struct shaped *shaped);                     /* zeros are allowed */
uint64_t shaped_memory_estimate(const struct shaped *shaped); /* bytes */

#endif
