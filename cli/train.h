/* One training as the command sees it: what cmd_train.c prepares and train_loop.c runs. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H
#include <stdint.h>

#include "options.h"
#include "ranks.h"
#include "run.h"

struct training {
    struct settings *settings;
    struct ranks ranks;
    bool is_training; /* the loop has begun: what fails now may fail on one rank alone */
    struct run run;
    unroll_dataset *data;
    unroll_dataset *validation_file, *test_file; /* of --val FILE, --test FILE; NULL: others */
    unroll_held_out validation, test;
    char task_options[2048]; /* data.h */
    unroll_model *model;
    unroll_trainer *trainer;
    enum option_id limit; /* --epochs, --steps or --for, whichever counts */
    int64_t steps_of_epoch;
    int64_t end_step;           /* INT64_MAX: time decides */
    double end_seconds;         /* INFINITY: steps decide */
    bool schedule_by_clock;     /* the schedule has come as far as the time of the run */
    bool strays;                /* from a world that can't begin */
    unroll_replica *replica[2]; /* of ranks that meet anew, in turn; NULL: of others */
    double began;               /* of the clock: when the run would have begun, had it not been interrupted */
};

/* train_worlds.c. The newest replica that all have who have any, to all, and into the trainer; -1: nobody has one. */
unroll_status training_take_replica(struct training *training, int64_t *step);
/* Of the trainer as it is, in the place of the older one. */
unroll_status training_replicate(struct training *training);

/* Trains until the end or a signal, with everything that people see and that is kept. */
unroll_status training_run(struct training *training);

#endif
