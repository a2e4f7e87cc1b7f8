/* Writes checkpoints during training, one at a time, in a thread that only uses a snapshot and the files of the run.
 * Each rank writes its own shard of a checkpoint; rank 0 completes the checkpoint when all have. train_loop.c decides
 * when to save. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "cli/run/run.h"

struct saver {
    pthread_t thread;
    bool is_writing;     /* its result has not been taken */
    bool has_thread;     /* there is a thread to join */
    bool is_shard;       /* it writes this rank's shard; the others then wait for `has_shard` */
    bool has_shard;      /* the shard is written, and the checkpoint is not finished */
    atomic_bool is_done; /* the thread has nothing left to do */
    struct run run;      /* its state with the new checkpoint */
    unroll_snapshot *snapshot;
    unroll_progress progress;
    int64_t keep;
    double cost;          /* CPU seconds of the newest one written */
    unroll_status status; /* of all that have ended; a failure is kept */
    char error[2048];     /* the library's message for it */
};

/* Starts writing, after the previous one has ended; does nothing after a failure. */
void saver_start(struct saver *, const struct run *, unroll_snapshot *, const unroll_progress *, int64_t keep);
/* Finishes a checkpoint on rank 0, when all ranks have written their shards. */
void saver_finish(struct saver *);
/* Waits for the checkpoint being written. Updates the run, or prints the error (except for divergence). */
unroll_status saver_wait(struct saver *, struct run *);
/* The same without waiting: a checkpoint still being written has not failed. */
unroll_status saver_look(struct saver *, struct run *);
