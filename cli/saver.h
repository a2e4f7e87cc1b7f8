/* Checkpoints written beside training: one at a time, by a thread that sees a snapshot and the files of the run alone.
 * Of shards each rank writes its own, and when all have rank 0 finishes. Not when, which train_loop.c knows. */
#ifndef CLI_SAVER_H
#define CLI_SAVER_H
#include <pthread.h>
#include <stdatomic.h>

#include "run.h"

struct saver {
    pthread_t thread;
    bool is_writing;     /* there is a thread to be joined */
    bool is_shard;       /* it writes this rank's shard; then others wait for `has_shard` */
    bool has_shard;      /* written, and the checkpoint is not finished yet */
    atomic_bool is_done; /* it has nothing to do any more */
    struct run run;      /* as it is with the new checkpoint */
    unroll_snapshot *snapshot;
    unroll_progress progress;
    int64_t keep;
    double cost;          /* processor seconds of the newest one that was written */
    unroll_status status; /* of all that ended; a failure stays */
    char error[2048];     /* the library's sentence about it */
};

/* Begins to write, after the one before was waited for; nothing after a failure. */
void saver_start(struct saver *, const struct run *, unroll_snapshot *, const unroll_progress *, int64_t keep);
/* Rank 0, when all ranks have their shards. */
void saver_finish(struct saver *);
/* Waits for what is being written. Then the run has that checkpoint, or what went wrong is said (but a divergence). */
unroll_status saver_wait(struct saver *, struct run *);
/* The same without waiting: what is still being written has not failed. */
unroll_status saver_look(struct saver *, struct run *);

#endif
