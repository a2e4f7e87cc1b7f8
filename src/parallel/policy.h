/* Policies: what workers, meshes of their own, tell each other between updates. A policy is one file and a row of
 * policy_table.c; the plan of a worker knows nothing of it. Ranks at the same place in their workers' meshes are a
 * group that exchanges its share of the weights (session/shares.h). What a cut sends inside a step is the plan's. */
#ifndef PARALLEL_POLICY_H
#define PARALLEL_POLICY_H
#include "comm/comm.h"
#include "session/shares.h"
#include "unroll_train.h"

enum { POLICY_VECTORS = 8, POLICY_INTEGERS = 5, TAG_POLICY = TAG_CONTROL | 1 << 8 };

/* What a policy keeps from update to update, of as many numbers as the rank has weights. */
struct kept_vector {
    const char *name; /* in checkpoints: "PARAMETER.name" */
    enum {
        KEPT_ALIKE, /* the same on all workers */
        KEPT_APART, /* each worker's own; the mean of them where there are others than were saved */
        KEPT_SUMMED /* each worker's own, whose sum counts */
    } kind;
    float *numbers;
};

enum { BOUND_NONE = -1 };

/* What --sync says. */
struct sync_options {
    double interval;       /* updates between two exchanges; 0: the policy chooses */
    double rate, momentum; /* of the outer step */
    double delay;          /* updates that an exchange may take; -1: half of the interval */
    bool pairs;            /* gossip: with anybody, in the place of a ring */
    bool asynchronous;     /* what happens depends on the clock: workers wait for nobody, or not for all */
    int64_t bound;         /* server: updates that may lack in the weights of a step; BOUND_NONE: any */
};

struct codes;
struct exchange {
    const struct policy *policy;
    struct sync_options options;
    unroll_session *session; /* the first of the trainer's */
    struct unroll_comm *comm;
    int rank[RANKS_MAX], size, place; /* the group */
    struct share *share;
    int shares;
    size_t count, rows; /* numbers of a vector; rows of its matrices */
    struct kept_vector kept[POLICY_VECTORS];
    int vectors;
    int64_t integer[POLICY_INTEGERS]; /* what the policy counts, the same on all workers; kept in checkpoints */
    float *own, *mean;                /* of the mean of all workers: what this one has beside it; memory for one */
    bool is_mean;                     /* the session has the mean now */
    bool states;                      /* what settles now wants states */
    uint64_t seed;
    const char *arrivals, *replay; /* paths, of policies that depend on the clock; NULL: none */
    int64_t step, meet, jump; /* the last update; the next at which all meet, 0: not said; where this worker, who is
                                 behind, must go: the step of a meeting */
    int64_t joined;           /* the last step in which workers waited for each other */
    void *state;              /* the policy's */
    struct codes *codes;      /* what is summed goes compressed; NULL: as it is */
    struct sum sum;           /* under way */
    bool sums;
};

struct policy {
    const char *name, *about;
    const char *argument;   /* behind a colon, for help: "H"; NULL: it takes none */
    const struct key *keys; /* its options of struct sync_options; NULL: none */
    bool diverges;          /* workers have weights and optimizers of their own between exchanges */
    bool codes;             /* what it sends may be compressed */
    unroll_status (*read)(const char *argument, struct sync_options *); /* NULL: no argument */
    unroll_status (*open)(struct exchange *);                           /* its vectors; NULL: none */
    void (*close)(struct exchange *);                                   /* its state; NULL: none */
    between_sum_and_update *between;                                    /* of an exchange; NULL: nothing */
    unroll_status (*after)(struct exchange *, int64_t step);            /* that was done; NULL: nothing */
    bool (*met)(const struct exchange *, int64_t step);                 /* do workers wait for each other? NULL: yes */
    unroll_status (*settle)(struct exchange *); /* what is under way ends, before a checkpoint; NULL: nothing is */
    /* From weights that all have alike; anew, or with integers that a checkpoint kept; NULL: nothing. */
    unroll_status (*begin)(struct exchange *, int64_t step, bool anew);
    double (*bytes)(const struct sync_options *, const struct plan *, double *every); /* of a rank, each so many
                                                                                         updates */
};

const struct policy *policy_at(int index); /* NULL after the last */
/* "local:32,rate=0.7": the policy and what it is told. NULL: every. */
unroll_status policy_read(const char *text, const struct policy **, struct sync_options *);
/* Is all added by the plan alone? */
bool policy_is_plans(const struct policy *, const char *compress);

/* What a rank of such a plan's workers sends between updates, at most: bytes, each so many updates; delay: as in
 * sync_options; numbers: that it has. Of what the plan itself sends 0. */
struct sync_cost {
    const struct policy *policy;
    double bytes, every, delay;
    bool asynchronous;
    size_t numbers;
};
unroll_status sync_bytes_of(const struct plan *, const char *sync, const char *compress, struct sync_cost *);

/* ---- an exchange, for the trainer --------------------------------------------------------- */

/* Collective, as all that sends. session: of a worker's mesh, with the comm of all. */
unroll_status exchange_new(unroll_session *, const unroll_train_config *, struct exchange **);
/* A policy that exchanges gradients does so in this session, too: one of the trainer's. */
void exchange_join(struct exchange *, unroll_session *);
void exchange_free(struct exchange *);
unroll_status exchange_after(struct exchange *, int64_t step);
bool exchange_met(const struct exchange *, int64_t step); /* do all workers come to this step together? NULL: yes */
/* The session has the mean of all workers, until it gets its own weights back; `states`: and of a server the
 * optimizer's states, which then all have. */
unroll_status exchange_enter_mean(struct exchange *, bool states);
unroll_status exchange_leave_mean(struct exchange *);
/* At a step that a checkpoint says, from its vectors and integers; NULL: it knew no such policy, or other workers, who
 * begin anew from the weights that the session has. */
unroll_status exchange_resume(struct exchange *, int64_t step, const int64_t integer[POLICY_INTEGERS]);
extern const char *const exchange_names[]; /* of vectors of all policies; NULL ends */

/* ---- for policies ------------------------------------------------------------------------- */

/* A vector of zeros that checkpoints keep. */
unroll_status exchange_keep(struct exchange *, const char *name, int kind, float **numbers);
/* Sums over the group, in place, of a vector and the number behind it; compressed, if that was asked for. */
unroll_status exchange_sum_begin(struct exchange *, float *vector);
unroll_status exchange_sum_end(struct exchange *, float *vector);
double sum_bytes(int workers, size_t count); /* of floats, that a rank sends at most */
size_t plan_numbers(const struct plan *);    /* of a vector */

/* Squares of the rows of a vector of gradients, [rows] of all its matrices, each as the plan's norms have them; and
 * their sums by parameter. From and to: rows. */
void exchange_square_rows(const struct exchange *, const float *gradients, size_t from, size_t to, double *squares);
void exchange_sum_squares(const struct exchange *, const double *squares, double *norms);

extern const struct policy policy_every, policy_local, policy_server, policy_gossip;

#endif
