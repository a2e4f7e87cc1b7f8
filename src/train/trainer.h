/* What a trainer is made of, for trainer.c, which makes it, steps.c, which runs it, and checkpoint.c, which keeps it.
 * Not the public interface: that is unroll.h. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H
#include <stdbool.h>
#include <stdint.h>

#include "parallel/policy.h"
#include "session/balance.h"
#include "session/twice.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/schedule.h"
#include "train/shapes.h"

/* The next batch. */
struct cursor {
    int64_t epoch, window; /* 0 <= window < the part's batches */
};

/* All that changes from step to step outside the session. */
struct trainer_state {
    int64_t step;         /* updates done */
    int64_t items;        /* trained on so far */
    struct cursor cursor; /* the next batch */
    struct plateau plateau;
    int64_t best_step;    /* of the best validation; 0: before the first, or of a checkpoint that does not say it */
    double best_loss;     /* its loss; infinite before the first */
    double best_metric;   /* its compared metric; infinite: not known */
    int64_t since_best;   /* validations */
    double learning_rate; /* of the last update; 0: as best_step */
};

struct unroll_trainer {
    unroll_model *model;
    const unroll_dataset *data;
    const struct task *task;
    unroll_train_config config; /* its strings belong to the caller and are not used after new */
    const struct schedule *schedule;
    int64_t total_steps;
    uint64_t data_hash;    /* of all data, those to validate on too: a cursor is of these */
    char division[64];     /* of sequences among ranks, as checkpoints tell it */
    uint64_t options_hash; /* of the task's options; 0: there are none */
    uint64_t weights_hash; /* of class weights; 0: there are none */
    float *class_weights;  /* balanced ones; NULL: the caller's, or none */
    struct part *part;     /* that is trained on */
    struct feed feed;
    struct shaped sessions;
    struct twice *twice[PART_SHAPES_MAX]; /* of each session; NULL: its gradients are computed once */
    struct balance *balance;              /* NULL: rows stay where they are */
    bool checks;                          /* the next step computes them twice */
    int wrong, suspects;                  /* what the last such step found: a rank, or -1; how many it may be */
    unroll_session *session;              /* the first of them: what optimizers and carried states are asked of */
    struct exchange *exchange;            /* between workers; NULL: there is none beside the plan's */
    struct evaluator *evaluator;          /* NULL: nothing is validated on */
    struct part *test;                    /* NULL: there is none */
    char *details;                        /* of the best validation; NULL: the task tells none */
    double stepping, waited;              /* seconds of all steps; of these waiting for batches */
    struct unroll_snapshot *snapshot;     /* NULL before the first checkpoint */
    struct trainer_state state;
    unroll_result result; /* of the last look */
    int sync_interval;    /* steps */
    bool synced;
    int unseen;  /* steps since */
    bool agreed; /* all ranks begin with the same weights */
};

/* Are the steps that nobody looked at sound? Before a checkpoint. */
unroll_status trainer_sync(unroll_trainer *trainer);

/* Makes its sessions anew, which divide rows as the ranks' rates are now; collective, between updates. */
unroll_status trainer_divide_anew(unroll_trainer *trainer);

int64_t trainer_steps_per_epoch(const unroll_trainer *trainer);

void snapshot_free(struct unroll_snapshot *snapshot);
uint64_t snapshot_bytes(const unroll_trainer *trainer); /* that its first checkpoint takes */

#endif
