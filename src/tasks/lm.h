/* The training and evaluation parts of a text for the task lm, and for tasks that learn in the same way. */
#pragma once
#include "tasks/task.h"

struct lm_part {
    struct part part;
    const struct column *text;
    const size_t *begin; /* [documents] entries of the text */
    size_t documents;
    size_t first; /* entries of the part begin here */
    enum token_kind kind;
    size_t piece;            /* distance of the rows in the text */
    uint64_t seed;           /* of the shifts */
    size_t context, reading; /* of an evaluation: row r < reading reads piece + context pairs from r * piece on */
    double floor;            /* the entropy of the predicted tokens by their frequencies alone */
};

/* Opens a part of a text. bytes: the size of a struct that begins with an lm_part; the rest is zero. *part stays NULL
 * if there is none. */
unroll_status lm_part_open(const struct task_request *request, enum part_of which, size_t bytes, struct part **part);
/* Sets the spec and the defaults for a text; the caller reads its own options. */
unroll_status lm_text_network(const struct task *task, const unroll_dataset *data, unroll_model_config *spec,
                              unroll_task_defaults *defaults);
/* Returns which token of the part, from 0 on, a row of an evaluation batch predicts at a step. */
size_t lm_predicted(const struct lm_part *lm, int64_t batch, size_t step, size_t row);
