/* A training in the command: cmd_train.c prepares it, train_loop.c runs it. */
#pragma once
#include <stdint.h>

#include "cli/options/options.h"
#include "cli/run/ranks.h"
#include "cli/run/run.h"
#include "unroll_ranks.h"

struct training {
    struct settings *settings;
    struct ranks ranks;
    bool is_training; /* the loop has begun: a failure may now affect one rank alone */
    struct run run;
    unroll_dataset *data;
    unroll_dataset *validation_file, *test_file; /* of --val FILE and --test FILE, otherwise NULL */
    unroll_held_out validation, test;
    char task_options[2048]; /* data.h */
    unroll_model *model;
    unroll_trainer *trainer;
    enum option_id limit; /* --epochs, --steps or --for, the one that counts */
    int64_t steps_of_epoch;
    int64_t end_step;           /* INT64_MAX: the time decides */
    double end_seconds;         /* INFINITY: the steps decide */
    bool schedule_by_clock;     /* the schedule follows the time of the run */
    bool strays;                /* its world cannot begin */
    unroll_replica *replica[2]; /* of ranks that meet again, written alternately; NULL for others */
    double began;               /* clock time at which the run would have begun without interruption */
};

/* train_worlds.c. Restores the newest replica that all ranks with replicas have, on all ranks, and into the trainer.
 * *step is -1 if no rank has one. */
unroll_status training_take_replica(struct training *training, int64_t *step);
/* Copies the trainer's state over the older replica. */
unroll_status training_replicate(struct training *training);

/* Trains until the end or a signal, including all output and files. */
unroll_status training_run(struct training *training);
