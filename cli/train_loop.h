/* What the files of a training's loop share: train_loop.c goes from step to step, train_show.c shows it, train_result.c
 * measures and tells what came of it. */
#ifndef CLI_TRAIN_LOOP_H
#define CLI_TRAIN_LOOP_H
#include "energy.h"
#include "saver.h"
#include "train.h"

enum { LOSSES = 100, ROOM = 256 };

struct loop {
    struct training *t;
    unroll_progress progress;    /* of the newest step; its step is that of the checkpoint before */
    double losses[LOSSES];       /* ring of the newest */
    int64_t steps_here;          /* of this process */
    double stepping;             /* seconds inside steps: speed leaves out everything else */
    struct rank_time mine, *all; /* of this process, and [RANKS_MAX]: in steps and in what ranks tell each other */
    struct energy energy;
    int64_t first_item;          /* of this process */
    double agreed, gathered;     /* seconds of the run at the last look around, and when `all` was made, by rank
                                    0's clock */
    int64_t validated, reported; /* the steps of the newest ones; -1: none */
    unroll_evaluation best;      /* of the best validation; metrics 0: there was none in this process */
    unroll_evaluation test;      /* metrics 0: none */
    struct saver saver;          /* of rank 0 */
    int divided;                 /* how often work was divided anew among devices, as was said */
    int64_t verified;            /* the step at which replicas were compared; -1: none */
    int64_t saved;               /* the step of the newest save, which may still be under way; -1: none */
    bool finishes;               /* all ranks have theirs, and rank 0 writes the rest */
    bool shards;                 /* it has shards, and is not finished; likewise on all ranks */
    bool stops, saves;           /* a signal asks for it; all ranks think alike */
    struct {
        double at, waited; /* seconds of the run at the newest save, and for how long training waited for it */
        bool is_due;       /* likewise of all ranks */
        bool said;
    } auto_save;
    struct {
        double at, cost; /* seconds of the run at the newest copy in memory, and what it took */
        bool is_due;     /* likewise of all ranks */
    } replica;
    unroll_status synced; /* how looking around within a validation went */
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
double loop_loss(const struct loop *);                                  /* mean of the newest tenth of the steps */
double loop_speed(const struct loop *, int64_t steps, double stepping); /* items per second */
double loop_part_done(const struct loop *);                             /* 0 to 1 */
/* "step 1,240  loss 1.720  val 1.790  lr 0.0018  71.2k char/s  ETA 0:37", with epoch and gradient if there is room */
void loop_describe(const struct loop *, bool has_room, char line[ROOM]);
/* After the numbers are kept. */
unroll_status loop_show(struct loop *, double now);

/* ---- train_result.c ---- */

/* {"joules", "joules_per_item", "source"} of all ranks since this process began to train; NULL: nobody counts them. */
json_t *loop_energy(const struct loop *);

bool loop_validates(const struct loop *);
bool loop_is_out_of_patience(const struct loop *);
/* With the weights that the run keeps, all ranks together: the validation, if this process has not seen it, and the
 * test. Afterwards the trainer has these weights. */
unroll_status loop_measure_kept(struct loop *);
/* What came of it, for people and as JSON. */
unroll_status loop_tell(const struct loop *);
unroll_status loop_explain_divergence(const struct loop *);

#endif
