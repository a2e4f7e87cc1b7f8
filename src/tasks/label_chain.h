/* The conditional random field of a model with the loss crf: the labels of all steps of a sequence are predicted
 * together. */
#pragma once
#include "nn/losses/chain.h"
#include "tasks/examples/examples.h"
#include "tasks/task.h"

struct label_chain {
    struct chain chain; /* labels 0: the model has none */
    double *weights;    /* of the moves, the starts and the ends, then the factors */
    double *z, *scratch;
    int32_t *room;
};

/* Allocates memory for sequences of up to `longest` steps, if the loss of the model is crf. The caller must call
 * label_chain_end, even after a failure. */
unroll_status label_chain_open(const unroll_model *model, size_t longest, struct label_chain *c);
void label_chain_end(struct label_chain *c);
/* Reads the weights of a session of the model. */
unroll_status label_chain_read(struct label_chain *c, unroll_session *session);
/* Finds the best labels of the scores in c->z, which it overwrites, and the probability of each, if likely is not
 * NULL. */
void label_chain_find(struct label_chain *c, size_t steps, int32_t *label, double *likely);

/* Forbids in a new model the moves between tags of spans that the scheme does not allow and the members do not make.
 * Refuses a member that lacks the label of a step. */
unroll_status label_chain_start(unroll_model *model, const struct members *members, const struct column *target);
/* Adds notes on a part: how many sequences make a move that BIO or IOBES does not allow, and which labels occur in it
 * but not in the training part. */
unroll_status label_chain_check(const struct task_request *request, const struct members *members,
                                const struct column *target, enum part_of which);
