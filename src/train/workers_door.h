/* What workers (each a mesh) exchange between updates, as seen by the trainer and its checkpoints. Policies and
 * compressors are rows of an extension, which is connected by a struct exchange_row; without it the plan alone adds
 * gradients. Messages inside a step belong to the plan. */
#pragma once
#include "comm/comm.h"
#include "session/session.h"
#include "unroll_train.h"

enum { POLICY_VECTORS = 8, POLICY_INTEGERS = 5 };

/* A vector that a policy keeps between updates, with one element for each weight of the rank. */
struct kept_vector {
    const char *name; /* in checkpoints: "PARAMETER.name" */
    enum {
        KEPT_ALIKE, /* the same on all workers */
        KEPT_APART, /* separate for each worker; the mean if the number of workers differs from the checkpoint's */
        KEPT_SUMMED /* separate for each worker; only the sum matters */
    } kind;
    float *numbers;
};

enum { BOUND_NONE = -1 };

/* Parsed value of `sync`. */
struct sync_options {
    double interval;       /* updates between two exchanges; 0: the policy chooses */
    double rate, momentum; /* of the outer step */
    double delay;          /* updates that an exchange may overlap with; -1: half of the interval */
    bool pairs;            /* gossip: with any worker, instead of a ring */
    bool asynchronous;     /* results depend on timing: workers do not wait for others, or not for all */
    int64_t bound;         /* server: maximum updates missing from the weights of a step; BOUND_NONE: no limit */
};

struct codes;
struct exchange {
    const struct policy *policy;
    struct sync_options options;
    unroll_session *session; /* the first of the trainer's */
    struct unroll_comm *comm;
    struct update_vector vector; /* of this rank, and its group */
    struct kept_vector kept[POLICY_VECTORS];
    int vectors;
    int64_t integer[POLICY_INTEGERS]; /* counters of the policy, the same on all workers; kept in checkpoints */
    float *own, *mean; /* own: this worker's weights while the session has the mean; mean: memory for the mean */
    bool is_mean;      /* the session currently has the mean */
    bool states;       /* settle must also provide optimizer states */
    uint64_t seed;
    const char *arrivals, *replay; /* paths, for asynchronous policies; NULL: none */
    int64_t step, meet,
        jump;       /* last update; next meeting, 0: unknown; step of the meeting to which this late worker must jump */
    int64_t joined; /* last step at which workers waited for each other */
    void *state;    /* the policy's */
    struct codes *codes; /* compresses sums; NULL: uncompressed */
    struct sum sum;      /* in flight */
    bool sums;
};

struct policy {
    const char *name, *about;
    const char *argument;   /* after the colon, for help: "H"; NULL: none */
    const struct key *keys; /* options in struct sync_options; NULL: none */
    bool diverges;          /* workers have separate weights and optimizers between exchanges */
    bool codes;             /* its messages may be compressed */
    unroll_status (*read)(const char *argument, struct sync_options *); /* NULL: no argument */
    unroll_status (*open)(struct exchange *);                           /* allocates its vectors; NULL: none */
    void (*close)(struct exchange *);                                   /* frees its state; NULL: none */
    between_sum_and_update *between;                         /* called between sum and update; NULL: nothing */
    unroll_status (*after)(struct exchange *, int64_t step); /* called after an update; NULL: nothing */
    bool (*met)(const struct exchange *,
                int64_t step);                  /* whether workers wait for each other at this step; NULL: yes */
    unroll_status (*settle)(struct exchange *); /* completes what is in flight, before a checkpoint; NULL: nothing */
    /* Starts from weights that are the same on all workers, or from integers of a checkpoint (not `is_fresh`). NULL:
     * nothing to do. */
    unroll_status (*begin)(struct exchange *, int64_t step, bool is_fresh);
    double (*bytes)(const struct sync_options *, const struct update_vector *,
                    double *every); /* sent by a rank, each `every` updates */
};

/* Parsed values of `sync` and `compress` in a configuration. */
struct exchange_asked {
    const char *sync, *compress; /* names; compress "none" for none */
    bool by_plan;                /* gradients are added by the plan alone */
};

/* The row of the table "exchange". */
struct exchange_row {
    const char *name;
    const char *(*sync_name)(int index, const char **about);
    const char *(*compressor_name)(int index, const char **about);
    unroll_status (*read)(const char *sync, const char *compress, struct exchange_asked *);
    unroll_status (*bytes)(const unroll_plan_config *, const char *sync, const char *compress, double *bytes,
                           double *every);
    unroll_status (*open)(unroll_session *, const unroll_trainer_config *, struct exchange **);
    void (*join)(struct exchange *, unroll_session *);
    void (*close)(struct exchange *);
    unroll_status (*enter_mean)(struct exchange *, bool states);
    unroll_status (*leave_mean)(struct exchange *);
    unroll_status (*resume)(struct exchange *, int64_t step, const int64_t integer[POLICY_INTEGERS]);
};

/* The row of the table "planner": unroll_planner_choose. */
struct planner_row {
    const char *name;
    unroll_status (*choose)(const unroll_model *, const unroll_planner_config *, unroll_choice *, int count, int *found,
                            char *why, size_t size);
};

/* Return the name of the policy or compressor with that index and set *about; NULL after the last. */
const char *exchange_sync_name(int index, const char **about);
const char *exchange_compressor_name(int index, const char **about);
unroll_status exchange_read(const unroll_trainer_config *, struct exchange_asked *);
/* Collective, like all functions that send. session: of a worker's mesh, with a comm of all ranks. */
unroll_status exchange_new(unroll_session *, const unroll_trainer_config *, struct exchange **);
/* Also uses the policy in this session of the trainer, if it exchanges gradients. */
void exchange_join(struct exchange *, unroll_session *);
void exchange_free(struct exchange *);
unroll_status exchange_after(struct exchange *, int64_t step);
bool exchange_met(const struct exchange *, int64_t step); /* True if all workers reach this step together; NULL: yes */
/* Gives the session the mean of all workers, until exchange_leave_mean restores its own weights. `states`: with a
 * server, also the optimizer states, which are then the same on all workers. */
unroll_status exchange_enter_mean(struct exchange *, bool states);
unroll_status exchange_leave_mean(struct exchange *);
/* Resumes at the step of a checkpoint, from its vectors and integers. NULL: the checkpoint has another policy or
 * other workers, so the exchange starts from the session's weights. */
unroll_status exchange_resume(struct exchange *, int64_t step, const int64_t integer[POLICY_INTEGERS]);
extern const char *const exchange_names[]; /* vectors of all policies, terminated by NULL */
