/* The directory of a run: config.json, metrics.jsonl and the same for TensorBoard (events.h), ckpt/step-N/
 * (the newest ones and the best), best.json, which says which is the best, and at the end model.safetensors.
 * Not what is in a checkpoint: the library writes that. */
#ifndef CLI_RUN_H
#define CLI_RUN_H
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "events.h"
#include "options.h"

struct run {
    char    directory[PATH_MAX];
    bool    watches;            /* another rank keeps the files: nothing is written here */
    FILE   *metrics;            /* locked: one process trains a run */
    struct events events;       /* open from the first report on */
    bool    overwrites;         /* what an earlier run left is removed */
    int64_t newest, best;       /* steps of the checkpoints; -1: none */
    double  loss, validation;   /* the last that were measured, nats; NAN: none */
    double  seconds;            /* trained up to the newest checkpoint */
};

#define RUN_MODEL "model.safetensors"
#define RUN_BEST  "best.json"

/* One line of metrics.jsonl, and one event. */
struct report {
    int64_t step;
    double  epoch, loss, norm, rate;
    double  validation;         /* NAN: not measured now */
    double  speed;              /* characters or words per second */
    double  seconds;
    json_t *ranks;              /* what each of several did with its seconds; NULL: alone */
};

/* As run_open without looking at what is there. */
unroll_status run_name(struct run *run, const char *directory);
void run_path(const struct run *run, const char *name, char path[PATH_MAX]);
int64_t run_newest_checkpoint(const char *directory);      /* -1: none */

/* Where a new run will be: --out, which must be new or empty, or a run with --overwrite; or runs/NAME-OF-DATA.
 * Creates nothing. */
unroll_status run_choose(struct run *run, const struct settings *settings);
/* Makes the directories, removes an earlier run, writes the settings, opens the metrics. */
unroll_status run_create(struct run *run, const struct settings *settings);
/* A run to go on with: removes what an interrupted write left, and the metrics that came after the newest
 * checkpoint. */
unroll_status run_open(struct run *run, const char *directory);
/* As a rank that watches: what is there is told by the rank that opened it. */
unroll_status run_follow(struct run *run, const char *directory);
void run_close(struct run *run);

unroll_status run_write_settings(const struct run *run, const struct settings *settings);
unroll_status run_report(struct run *run, const struct report *report);
/* Writes a checkpoint, and removes those that are neither among the `keep` newest nor the best. */
unroll_status run_save(struct run *run, unroll_trainer *trainer, const unroll_progress *progress, int64_t keep);
/* The best checkpoint is the one that the trainer knows as such, if it is there. */
unroll_status run_mark_best(struct run *run, const unroll_progress *progress);
/* Writes model.safetensors: the weights of the best checkpoint, or the model's own if none is marked. */
unroll_status run_save_model(const struct run *run, const unroll_model *model);
void run_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX]);
/* "unroll train --resume DIR" */
void run_say_resume(const struct run *run);

/* The model file of a run (its best weights, or the newest where nothing was validated: which is said) or of a
 * checkpoint; other paths stay as they are. */
unroll_status run_weights(const char *path, char file[PATH_MAX]);

#endif
