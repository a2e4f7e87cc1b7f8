/* The directory of a run: config.json, metrics.jsonl and the same for TensorBoard (events.h), ckpt/step-N/ (the
 * newest and the best), and finally model.safetensors. The library writes the contents of a checkpoint. */
#pragma once
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/run/events.h"
#include "cli/options/options.h"
#include "unroll_train.h"

struct run {
    char directory[PATH_MAX];
    bool watches;            /* another rank keeps the files: this one writes nothing */
    FILE *metrics;           /* locked: only one process trains a run */
    struct events events;    /* opened at the first report */
    bool overwrites;         /* an earlier run's files are removed */
    int64_t newest, best;    /* steps of the checkpoints; -1: none */
    double loss, validation; /* the last measured values, in nats; NAN: none */
    struct {
        char name[32]; /* "": unknown */
        double value;
    } metric;            /* of that validation, the metric that is compared */
    double seconds;      /* trained up to the newest checkpoint */
    off_t kept;          /* bytes of the metrics up to it */
    bool had_checkpoint; /* according to the metrics */
};

#define RUN_MODEL   "model.safetensors"
#define RUN_DETAILS "details.json" /* the task's details besides the metrics, for `unroll plot` */

/* One line of metrics.jsonl and one event. */
struct report {
    int64_t step;
    double epoch, loss, norm, rate;
    double validation;       /* NAN: not measured now */
    double metric;           /* of the validation: the metric that is compared */
    const char *metric_name; /* its name; NULL: there is none */
    bool is_best;            /* the validation is the best so far */
    double speed;            /* characters or words per second */
    double seconds;
    double sent;     /* bytes sent so far by the first of several ranks; only in curves */
    json_t *divided; /* how work is divided among devices, if that changed since the last report; or NULL */
    json_t *energy;  /* joules so far and their source (energy.h); or NULL */
    json_t *ranks;   /* how each of several ranks spent its seconds; NULL: one process */
};

/* The numbers of a report and their names in metrics.jsonl. */
#define REPORT_NUMBERS(NUMBER) \
    NUMBER(epoch, "epoch") NUMBER(loss, "loss") NUMBER(validation, "val_loss") NUMBER(metric, "val_metric") NUMBER(norm, "norm") NUMBER(rate, "lr") \
    NUMBER(speed, "items_per_second") NUMBER(seconds, "seconds")

/* Sets the directory without reading it. */
unroll_status run_name(struct run *run, const char *directory);
void run_path(const struct run *run, const char *name, char path[PATH_MAX]);
/* Returns the step in the name of a checkpoint's directory, or -1 if it is not such a name. */
int64_t run_step_of(const char *name);
bool run_has_checkpoint(const struct run *run); /* intact or not */
/* Finds the newest intact checkpoint, its progress, and the number of newer ones that are damaged; prints each of
 * these, and which is used instead. found->step is -1 if there is none. */
unroll_status run_find_checkpoint(const struct run *run, unroll_progress *found, int *damaged);
/* Returns UNROLL_DATA with a message: none of its checkpoints is intact. */
unroll_status run_refuse_damaged(const struct run *run);

/* Chooses the directory of a new run: --out, which must be new or empty, or a run with --overwrite; or
 * runs/NAME-OF-DATA. Creates nothing. */
unroll_status run_choose(struct run *run, const struct settings *settings);
/* Makes the directories, removes an earlier run, writes the settings and opens the metrics. */
unroll_status run_create(struct run *run, const struct settings *settings);
/* Writes how people read the name of a metric: "bits" for bits_per_character, "macro f1" for macro_f1. */
void run_metric_name(const char *key, char *name, size_t size);

/* Opens a run to resume from its newest intact checkpoint. Changes nothing. */
unroll_status run_open(struct run *run, const char *directory);
/* Removes the remains of an interrupted write, and metrics after that checkpoint; writes the settings. */
unroll_status run_go_on(struct run *run, const struct settings *settings);
/* After a rank was lost: this rank keeps the files from now on, if another did, and drops reports after the step
 * from which all ranks continue. */
unroll_status run_take_over(struct run *run, int64_t step);
/* Opens a run on a rank that does not keep its files; the rank that keeps them provides its state. */
unroll_status run_follow(struct run *run, const char *directory);
void run_close(struct run *run);

unroll_status run_report(struct run *run, const struct report *report);
/* Writes a checkpoint, and removes those that are neither among the `keep` newest nor the best. Prints nothing; the
 * library holds the error. */
unroll_status run_save(struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress, int64_t keep);
/* Writes this rank's shard of a checkpoint. run_save follows when all shards are written. */
unroll_status run_save_shard(const struct run *run, unroll_snapshot *snapshot, const unroll_progress *progress);
/* Refuses a run whose best weights, which it may end with, are damaged. */
unroll_status run_check_best(const struct run *run, const unroll_progress *newest);
/* Marks the trainer's best checkpoint, if it exists. */
void run_mark_best(struct run *run, const unroll_progress *progress);
/* Writes model.safetensors: the weights of the best checkpoint, or the model's own if none is marked. */
unroll_status run_save_model(const struct run *run, const unroll_model *model);
void run_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX]);
/* Writes "resume: unroll train --resume DIR". */
enum { RESUME_LONGEST = PATH_MAX + 64 };
void run_resume(const struct run *run, char line[RESUME_LONGEST]);
void run_say_resume(const struct run *run);

/* Finds the model file of a run or of a checkpoint; other paths stay unchanged. `which` selects the weights of a
 * run: "best" (the newest if nothing was validated), "newest", or the number of an update whose checkpoint was kept.
 * Prints which were chosen. */
unroll_status run_weights(const char *path, const char *which, char file[PATH_MAX]);
