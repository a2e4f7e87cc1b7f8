/* What the files of this module share of a session. Not for users, who know it from unroll.h alone. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "device/device_list.h"
#include "session/shares.h"
#include "unroll_advanced.h"
#include <stdbool.h>

/* The weights of a model on a device, which all of its sessions share: made by the first, freed by the last. */
struct shared_weights {
    const struct device *device;
    unsigned process; /* that made them (base/process.h) */
    double *rate;     /* [ranks] on devices of several kinds: how fast each is; NULL: not measured */
    void *store;
    enum dtype real, weights; /* what the store's numbers are; its packed copies, if they are narrower */
    uint64_t changes;         /* how often the weights changed */
    uint64_t pulled;          /* the change that the model's own memory has */
    int sessions;
    struct unroll_session *trainer; /* of those that train, beside each other, the one that ran last; NULL: none does */
};

struct unroll_session {
    struct unroll_model *model;
    unroll_session_config config; /* with class weights of its own */
    float *class_weights;         /* those; NULL: none */
    struct plan *plan;
    const struct device *device;
    char which[ENTRY_TEXT];       /* of an entry of a list */
    bool staged;                  /* the host sends what this rank's device and others exchange */
    struct device_traits *traits; /* then: [ranks] of each one's device */
    double *rate;                 /* and how fast each is; NULL: all alike */
    void *executable;
    unsigned process;                /* that made it (base/process.h) */
    bool runs;                       /* a run is under way */
    struct shared_weights *shared;   /* the model's; NULL: this session has not joined */
    bool has_batch;                  /* it was given one, which a forward without one runs again */
    bool forwarded;                  /* a forward ran that no backward has used yet */
    bool summing;                    /* backwards ran that no update has used yet */
    double loss, weight, norm;       /* collected, and nobody asked for yet: sums, of the last */
    double last_weight;              /* of the last update; 0: its norm is collected */
    between_sum_and_update *between; /* NULL: nobody */
    void *between_arg;
    uint64_t packed; /* the change of the model's weights that its own copies are of */
};

/* It trains, or it is a module that does. */
static inline bool session_updates(const struct unroll_session *s)
{
    return s->config.mode == UNROLL_TRAIN || s->config.updates;
}

/* A buffer of the segments IO and VALUES, where the host can use it between two runs; NULL: there is none. */
void *session_host(const unroll_session *, const char *name);

/* At most so many, or 0: as many as the device likes. */
int session_threads(const unroll_session *);

/* config.c. What a configuration asks of the plan; ranks: that share it, 0: as many as the mesh has. */
unroll_status session_plan_config(const unroll_session_config *, int ranks, struct plan_config *);
/* Has the model a loss that can be smoothed and weighted as the configuration says? */
unroll_status session_check_loss(const struct unroll_model *, const unroll_session_config *);
/* What the device asks of it, with so many threads (0: one for each processor); and queues that nobody chose. */
void session_suit_device(const struct device *, const char *isa, int threads, const struct unroll_model *,
                         struct plan_config *);

/* batch.c. Where the step of a row lies in arrays of the whole batch. Does it take part? */
size_t batch_place(const unroll_session *, int t, uint32_t row);
bool batch_counts(const unroll_session *, const unroll_batch *, int t, int row);
unroll_status batch_check(const unroll_session *, const unroll_batch *);
void batch_take(unroll_session *, const unroll_batch *);

/* Refuses a session of the process that this one was forked from, if a child can't use it. */
unroll_status session_check(const unroll_session *);
unroll_status session_run(unroll_session *, enum phase first, enum phase last);
/* The copies that a backward reads are a session's own: another session may have changed the weights. */
unroll_status session_keep_up(unroll_session *);

/* All bytes of a segment become zero. */
unroll_status session_clear(unroll_session *, enum segment);

/* Of sessions that train beside each other one is at work: what an update needs of the others, and what nobody asked
 * for yet, comes to this one from the one that ran last. */
unroll_status session_take_over(unroll_session *);

/* After the weights changed in this session: the copies that products read are made anew. */
unroll_status session_pack(unroll_session *);

#endif
