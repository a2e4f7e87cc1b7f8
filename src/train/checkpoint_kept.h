/* What a checkpoint keeps of a session, and of the exchange between workers, beside the weights. Files are
 * checkpoint.c's. No counter is here. */
#ifndef TRAIN_CHECKPOINT_KEPT_H
#define TRAIN_CHECKPOINT_KEPT_H
#include "train/trainer.h"

enum { BUFFER_NAME_SIZE = 128 }; /* a parameter's is below 96 */

/* Everything that the session, and the exchange between workers, keep from step to step beside the weights. What is
 * each worker's own is there as often as there are workers, one after the other. */
struct kept {
    int count;
    char (*name)[BUFFER_NAME_SIZE]; /* [count] */
    size_t *size;                   /* [count] numbers, of all copies */
    struct kept_from {
        int vector;       /* of the exchange; -1: of the session */
        int parameter;    /* -1: of none */
        int copies, kind; /* kind: of kept_vector */
    } *from;              /* [count] */
    size_t total;
    float *numbers; /* [total] one buffer after the other */
};

/* Without the numbers; kept_new: with memory for them. own_alone: of what is each worker's own that of one. The caller
 * gives it to kept_free, also after a failure. */
unroll_status kept_list(const unroll_trainer *, bool own_alone, struct kept *);
unroll_status kept_new(const unroll_trainer *, bool own_alone, struct kept *);
void kept_free(struct kept *);

/* From the session, collectively; what is of workers comes to rank 0, which writes. And back. */
unroll_status kept_read(const unroll_trainer *, struct kept *);
unroll_status kept_write(const unroll_trainer *, const struct kept *);

#endif
