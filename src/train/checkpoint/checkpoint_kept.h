/* The data that a checkpoint keeps of a session and of the exchange between workers, besides weights and counters.
 * Files are in checkpoint.c. */
#pragma once
#include "train/trainer.h"

enum { BUFFER_NAME_SIZE = 128 }; /* names of parameters are shorter than 96 */

/* Everything that the session and the exchange keep from step to step, besides the weights. Arrays that differ between
 * workers have one copy for each, one after the other. */
struct kept {
    int count;
    char (*name)[BUFFER_NAME_SIZE]; /* [count] */
    size_t *size;                   /* [count] values in all copies */
    struct kept_from {
        int vector;       /* of the exchange; -1: of the session */
        int parameter;    /* -1: not of a parameter */
        int copies, kind; /* kind: of kept_vector */
    } *from;              /* [count] */
    size_t total;
    float *numbers; /* [total], all buffers one after the other */
};

/* kept_list lists the arrays; kept_new also allocates memory for them. own_alone: only one worker's copy of those that
 * differ between workers. The caller must call kept_free, even after a failure. */
unroll_status kept_list(const unroll_trainer *, bool own_alone, struct kept *);
unroll_status kept_new(const unroll_trainer *, bool own_alone, struct kept *);
void kept_free(struct kept *);

/* Read the arrays from the session, with all workers' copies on rank 0, which writes them; and write them back.
 * Collective. */
unroll_status kept_read(const unroll_trainer *, struct kept *);
unroll_status kept_write(const unroll_trainer *, const struct kept *);
