/* What the files of this room share of a session. Not for users, who know it from unroll.h alone. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "device/device.h"
#include <stdbool.h>

struct unroll_session {
    struct unroll_model  *model;
    unroll_session_config config;
    struct plan          *plan;
    const struct device  *device;
    void                 *instance;
    bool                  has_batch;        /* it was given one, which a forward without one runs again */
    bool                  forwarded;        /* a forward ran that no backward has used yet */
    bool                  summing;          /* backwards ran that no update has used yet */
    double                loss, weight, norm;       /* of updates whose result nobody has asked for yet: sums, of the last */
    double                last_weight;      /* of the last whole step; 0: there is none since the host looked */
    uint64_t              packed;           /* the change of the model's weights that its own copies are of */
};

/* A buffer of the segments IO and VALUES, where the host can use it between two runs; NULL: there is none. */
void *session_host(const unroll_session *, const char *name);

/* batch.c. Does the row take part in the step? */
bool batch_counts(const unroll_session *, const unroll_batch *, int t, int row);
unroll_status batch_check(const unroll_session *, const unroll_batch *);
void batch_take(unroll_session *, const unroll_batch *);

unroll_status session_run(unroll_session *, enum part);
/* The copies that a backward reads are a session's own: another session may have changed the weights. */
unroll_status session_keep_up(unroll_session *);

/* All bytes of a segment become zero. */
unroll_status session_clear(unroll_session *, enum segment);

/* After the weights changed in this session: the copies that products read are made anew. */
unroll_status session_pack(unroll_session *);

#endif
