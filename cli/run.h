/* The directory of a run: config.json, metrics.jsonl and the same for TensorBoard (events.h), ckpt/step-N/
 * (the newest ones and the best), and at the end model.safetensors.
 * Not what is in a checkpoint: the library writes that. */
#ifndef CLI_RUN_H
#define CLI_RUN_H
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "events.h"
#include "options.h"
#include "unroll_train.h"

struct run {
    char directory[PATH_MAX];
    bool watches;            /* another rank keeps the files: nothing is written here */
    FILE *metrics;           /* locked: one process trains a run */
    struct events events;    /* open from the first report on */
    bool overwrites;         /* what an earlier run left is removed */
    int64_t newest, best;    /* steps of the checkpoints; -1: none */
    double loss, validation; /* the last that were measured, nats; NAN: none */
    double seconds;          /* trained up to the newest checkpoint */
    off_t kept;              /* bytes of the metrics that reach up to it */
    bool had_checkpoint;     /* so the metrics say */
};

#define RUN_MODEL   "model.safetensors"
#define RUN_DETAILS "details.json" /* what the task tells beside the metrics, for `unroll plot` */

/* One line of metrics.jsonl, and one event. */
struct report {
    int64_t step;
    double epoch, loss, norm, rate;
    double validation; /* NAN: not measured now */
    double speed;      /* characters or words per second */
    double seconds;
    double sent;     /* bytes of the first of several ranks, so far; of curves alone */
    json_t *divided; /* how work is divided among devices, where it was divided anew since the last one; or NULL */
    json_t *energy;  /* joules so far, and where they are from (energy.h); or NULL */
    json_t *ranks;   /* what each of several did with its seconds; NULL: alone */
};

/* The numbers of a report, and what they are called in metrics.jsonl. */
#define REPORT_NUMBERS(NUMBER) \
    NUMBER(epoch, "epoch") NUMBER(loss, "loss") NUMBER(validation, "val_loss") NUMBER(norm, "norm") NUMBER(rate, "lr") \
    NUMBER(speed, "items_per_second") NUMBER(seconds, "seconds")

/* As run_open without looking at what is there. */
unroll_status run_name(struct run *run, const char *directory);
void run_path(const struct run *run, const char *name, char path[PATH_MAX]);
/* The step of a checkpoint by the name of its directory; -1: it is no name of one. */
int64_t run_step_of(const char *name);
bool run_has_checkpoint(const struct run *run); /* whole or not */
/* The newest checkpoint that is whole: where it stands, and how many newer ones are damaged; each is said, and what is
 * taken instead. found->step -1: there is none. */
unroll_status run_find_checkpoint(const struct run *run, unroll_progress *found, int *damaged);
/* UNROLL_DATA: of its checkpoints none is whole. */
unroll_status run_refuse_damaged(const struct run *run);

/* Where a new run will be: --out, which must be new or empty, or a run with --overwrite; or runs/NAME-OF-DATA.
 * Creates nothing. */
unroll_status run_choose(struct run *run, const struct settings *settings);
/* Makes the directories, removes an earlier run, writes the settings, opens the metrics. */
unroll_status run_create(struct run *run, const struct settings *settings);
/* A run to go on with from its newest checkpoint that is whole. Changes nothing. */
unroll_status run_open(struct run *run, const char *directory);
/* Removes what an interrupted write left and the metrics that came after that checkpoint; writes the settings. */
unroll_status run_go_on(struct run *run, const struct settings *settings);
/* Of ranks of which one was lost: this one keeps the files from now on, if another did, and forgets what was reported
 * after the step that all go on from. */
unroll_status run_take_over(struct run *run, int64_t step);
/* As a rank that watches: what is there is told by the rank that opened it. */
unroll_status run_follow(struct run *run, const char *directory);
void run_close(struct run *run);

unroll_status run_report(struct run *run, const struct report *report);
/* Writes a checkpoint, and removes those that are neither among the `keep` newest nor the best. Prints nothing: the
 * library knows what went wrong. */
unroll_status run_save(struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress, int64_t keep);
/* Of a checkpoint in shards what this rank writes; run_save follows when all have. */
unroll_status run_save_shard(const struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress);
/* Refuses a run whose best weights, with which it may end, are damaged. */
unroll_status run_check_best(const struct run *run, const unroll_progress *newest);
/* The best checkpoint is the one that the trainer knows as such, if it is there. */
void run_mark_best(struct run *run, const unroll_progress *progress);
/* Writes model.safetensors: the weights of the best checkpoint, or the model's own if none is marked. */
unroll_status run_save_model(const struct run *run, const unroll_model *model);
void run_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX]);
/* "resume: unroll train --resume DIR" */
enum { RESUME_LONGEST = PATH_MAX + 64 };
void run_resume(const struct run *run, char line[RESUME_LONGEST]);
void run_say_resume(const struct run *run);

/* The model file of a run or of a checkpoint; other paths stay as they are. `which` weights of a run: "best", or the
 * newest where nothing was validated, "newest", or the number of an update whose checkpoint was kept. Which they are is
 * said. */
unroll_status run_weights(const char *path, const char *which, char file[PATH_MAX]);

#endif
