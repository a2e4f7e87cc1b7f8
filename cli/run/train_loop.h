/* Shared by the files of the training loop: train_loop.c runs the steps, train_show.c displays them, train_result.c
 * measures and prints the result. */
#pragma once
#include "cli/run/energy.h"
#include "cli/run/saver.h"
#include "cli/run/train.h"

enum { LOSSES = 100, ROOM = 256 };

struct loop {
    struct training *t;
    unroll_progress progress; /* of the newest step; before the first one, of the checkpoint */
    double losses[LOSSES];    /* ring buffer of the newest */
    int64_t steps_here;       /* made by this process */
    double stepping;          /* seconds in steps, from which the speed is computed */
    struct rank_time mine,
        *all; /* times of this process, and [RANKS_MAX]: in steps and in communication between ranks */
    struct energy energy;
    int64_t first_item;          /* the first one of this process */
    double agreed, gathered;     /* seconds of the run at the last exchange between ranks, and when `all` was filled, by
                                    rank 0's clock */
    int64_t validated, reported; /* the steps of the newest ones; -1: none */
    unroll_evaluation best;      /* the best validation; metrics 0: none in this process */
    unroll_evaluation test;      /* metrics 0: none */
    struct saver saver;          /* of rank 0 */
    int divided;                 /* how often a new division of work among devices was reported */
    int64_t verified;            /* the step at which replicas were compared; -1: none */
    int64_t saved;               /* the step of the newest save, which may still be in progress; -1: none */
    bool finishes;               /* all ranks have written their shards, and rank 0 finishes the checkpoint */
    bool shards;                 /* a checkpoint in shards is not finished; the same on all ranks */
    bool stops, saves;           /* requested by a signal; the same on all ranks */
    struct {
        double at, waited; /* seconds of the run at the newest save, and how long training waited for it */
        bool is_due;       /* the same on all ranks */
        bool said;
    } auto_save;
    struct {
        double at, cost; /* seconds of the run at the newest replica, and its cost */
        bool is_due;     /* the same on all ranks */
    } replica;
    unroll_status synced; /* result of the exchange during a validation */
    struct {
        double drawn, reported, printed, sampled;
    } at; /* seconds of the run */
    struct {
        int64_t steps;
        double stepping;
    } then; /* at the newest report */
};

/* ---- train_show.c ---- */

double loop_seconds(const struct loop *);                               /* of the run */
double loop_loss(const struct loop *);                                  /* mean over the newest tenth of the steps */
double loop_speed(const struct loop *, int64_t steps, double stepping); /* items per second */
double loop_part_done(const struct loop *);                             /* 0 to 1 */
/* Writes the progress in at most `width` columns, such as "step 1,240  loss 1.720  val 1.790  lr 0.0018  71.2k
 * char/s  ETA 0:37", with epoch and gradient if there is room. The least important fields are left out. */
enum { LINE_WIDTH = 80 };
void loop_describe(const struct loop *, int width, char line[ROOM]);
/* Call after the numbers were recorded. */
unroll_status loop_show(struct loop *, double now);

/* ---- train_result.c ---- */

/* Returns {"joules", "joules_per_item", "source"} of all ranks since this process began to train; NULL if there is
 * no source. */
json_t *loop_energy(const struct loop *);

bool loop_validates(const struct loop *);
bool loop_is_out_of_patience(const struct loop *);
/* Measures the final weights on all ranks together: the validation, if this process has not measured it, and the
 * test. Afterwards the trainer has these weights. */
unroll_status loop_measure_kept(struct loop *);
/* Prints the result for people and as JSON. */
unroll_status loop_tell(const struct loop *);
unroll_status loop_explain_divergence(const struct loop *);
