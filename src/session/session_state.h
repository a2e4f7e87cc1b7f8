/* The parts of a session that the files of this module share. Users include only unroll.h. */
#pragma once
#include "device/device_list.h"
#include "model/model.h"
#include "plan/ir/plan.h"
#include "session/session.h"
#include "unroll_advanced.h"
#include <stdbool.h>

/* The weights of a model on a device, shared by all of its sessions. The first session creates them, and the last one
 * frees them. */
struct shared_weights {
    const struct device *device;
    unsigned process; /* the creating process (base/system/process.h) */
    double *rate;     /* [ranks] speeds, on devices of several kinds; NULL: not measured */
    void *store;
    enum dtype real, weights; /* type of the store's numbers; type of its packed copies, if narrower */
    uint64_t changes;         /* number of changes of the weights */
    uint64_t pulled;          /* the change that is copied to the model's own memory */
    int sessions;
    struct unroll_session *trainer; /* among the sessions that train together, the one that ran last; NULL: none
                                     * trains */
};

struct unroll_session {
    struct unroll_model *model, *own; /* own: the copy in units that `model` points to; NULL: `model` is the caller's */
    unroll_session_config config;     /* class_weights points to the copy below */
    float *class_weights;             /* NULL: none */
    struct plan *plan;
    const struct device *device;
    char which[ENTRY_TEXT];       /* its part of a device list's entry */
    bool staged;                  /* the host sends what this rank's device exchanges with others */
    struct device_traits *traits; /* if staged: [ranks] of each rank's device */
    double *rate;                 /* if staged: [ranks] their speeds; NULL: all equal */
    void *executable;
    unsigned process;                /* the creating process (base/system/process.h) */
    bool runs;                       /* a run is in progress */
    struct shared_weights *shared;   /* the model's; NULL: this session has not joined */
    bool has_batch;                  /* a forward pass without a batch runs the last one again */
    bool forwarded;                  /* a forward pass ran without its backward pass */
    bool summing;                    /* backward passes ran without their update */
    double loss, weight, norm;       /* collected, not yet returned: sums; norm of the last update */
    double last_weight;              /* of the last update; 0: its norm is collected */
    between_sum_and_update *between; /* NULL: none */
    void *between_arg;
    uint64_t packed; /* the change of the model's weights that its own copies contain */
};

/* Returns whether the session trains, or is a module with updates. */
static inline bool session_updates(const struct unroll_session *s)
{
    return s->config.mode == UNROLL_TRAIN || s->config.updates;
}

/* Returns the host's view of a buffer in the segments IO and VALUES, usable between runs, or NULL if there is none. */
void *session_host(const unroll_session *, const char *name);

/* Returns the maximum number of threads; 0: the device chooses. */
int session_threads(const unroll_session *);

/* config.c. Converts the configuration to that of the plan. ranks: their number in the mesh; 0: not checked. */
unroll_status session_plan_config(const unroll_session_config *, int ranks, struct plan_config *);
/* Checks that the model's loss supports the configured label smoothing and class weights. */
unroll_status session_check_loss(const struct unroll_model *, const unroll_session_config *);
/* Sets the device's traits, the threads (0: one per processor) and, if they were not chosen, the queues. */
void session_suit_device(const struct device *, const char *isa, int threads, const struct unroll_model *,
                         struct plan_config *);

/* batch.c. batch_place returns the index of a row's step in arrays of the whole batch. batch_counts returns whether the
 * step is within the row's length. */
size_t batch_place(const unroll_session *, int t, uint32_t row);
bool batch_counts(const unroll_session *, const unroll_batch *, int t, int row);
unroll_status batch_check(const unroll_session *, const unroll_batch *);
void batch_take(unroll_session *, const unroll_batch *);

/* Fails in a process forked from the session's one if it can't use the session. */
unroll_status session_check(const unroll_session *);
unroll_status session_run(unroll_session *, enum phase first, enum phase last);
/* Updates the session's own packed copies, which a backward pass reads, if another session changed the weights. */
unroll_status session_keep_up(unroll_session *);

/* Sets all bytes of a segment to zero. */
unroll_status session_clear(unroll_session *, enum segment);

/* Makes this session the active one of those that train together. It takes over counters, sums of the next update and
 * results not yet returned. */
unroll_status session_take_over(unroll_session *);

/* Call after changing the weights: renews the packed copies that products read. */
unroll_status session_pack(unroll_session *);
