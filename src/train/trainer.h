/* The struct of a trainer, shared by trainer.c, which creates it, steps.c, which runs it, and checkpoint.c, which saves
 * it. The public interface is unroll_train.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "train/workers_door.h"
#include "session/session.h"
#include "apply/evaluate.h"
#include "apply/feed.h"
#include "train/schedule.h"
#include "apply/shapes.h"

/* The next batch. */
struct cursor {
    int64_t epoch, window; /* 0 <= window < the part's batches */
};

/* Everything outside the session that changes from step to step. */
struct trainer_state {
    int64_t step;         /* updates made */
    int64_t items;        /* items used for training so far */
    struct cursor cursor; /* the next batch */
    struct plateau plateau;
    int64_t best_step;    /* of the best validation; 0: none, or not in the checkpoint */
    double best_loss;     /* its loss; infinite before the first */
    double best_metric;   /* its main metric; infinite: unknown */
    int64_t since_best;   /* validations since then */
    double learning_rate; /* of the last update; 0: not in the checkpoint */
};

struct unroll_trainer {
    unroll_model *model;
    const unroll_dataset *data;
    const struct task *task;
    unroll_trainer_config config; /* its strings belong to the caller and are used only during creation */
    const struct schedule *schedule;
    int64_t total_steps;
    uint64_t data_hash;    /* of all data, including validation data: a cursor refers to these */
    char division[64];     /* of sequences among ranks, as in checkpoints */
    uint64_t options_hash; /* of the task's options; 0: none */
    uint64_t weights_hash; /* of class weights; 0: none */
    float *class_weights;  /* balanced weights; NULL: the caller's, or none */
    struct part *part;     /* the training part */
    struct feed feed;
    struct shaped sessions;
    struct twice *twice[PART_SHAPES_MAX]; /* of each session; NULL: gradients are computed once */
    struct balance *balance;              /* NULL: the division is fixed */
    double pretended;                 /* seconds that replace the measured ones of each update, for tests; 0: none */
    bool checks;                      /* the next step computes gradients twice */
    int wrong, suspects;              /* result of the last such step: a rank, or -1; number of suspects */
    unroll_session *session;          /* the first session, which has the optimizer and carried states */
    struct exchange *exchange;        /* between workers; NULL: only that of the plan */
    struct evaluator *evaluator;      /* NULL: no validation */
    struct part *test;                /* NULL: none */
    char *details;                    /* of the best validation; NULL: none */
    double stepping, waited;          /* seconds of all steps; of waits for batches in them */
    struct unroll_snapshot *snapshot; /* NULL before the first checkpoint */
    struct trainer_state state;
    unroll_result result; /* of the last synchronization */
    int sync_interval;    /* steps */
    bool synced;
    int unseen;  /* steps since then */
    bool agreed; /* all ranks started with the same weights */
};

/* Checks the steps since the last synchronization, before a checkpoint. */
unroll_status trainer_sync(unroll_trainer *trainer);
unroll_status trainer_open_test(const unroll_trainer *trainer, struct part **part);

/* Recreates the sessions, which divide rows by the ranks' current rates. Collective, between updates. */
unroll_status trainer_rebalance(unroll_trainer *trainer);

int64_t trainer_steps_per_epoch(const unroll_trainer *trainer);

void snapshot_free(struct unroll_snapshot *snapshot);
uint64_t snapshot_bytes(const unroll_trainer *trainer); /* size of the first checkpoint's snapshot */
