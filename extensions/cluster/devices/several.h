/* Several devices of one process as one device: "cpu,opencl". The session's plan is whole. Here it is cut, and rank
 * r of the mesh runs on entry r of the list, in its own thread. Arrays visible to the host are stored here once,
 * whole, divided among the ranks, and gathered again. Devices are used only through their table. */
#ifndef DEVICE_SEVERAL_SEVERAL_H
#define DEVICE_SEVERAL_SEVERAL_H
#include "base/team.h"
#include "device/device_list.h"
#include "plan/passes/rates.h"

/* One rank. */
struct member {
    const struct device *device;
    struct device_options options;
    struct plan *plan;
    void *executable;
    int *twin;      /* [buffers of the whole plan] index of the same buffer in this plan; -1: missing or unused */
    double seconds; /* computing time since the last update, without waiting */
    unroll_status status;
    char message[512];
};

/* Which side is newer: the array here, or the boxes of the ranks. */
enum newer_side { SIDE_BOTH, SIDE_HERE, SIDE_RANKS };

struct several;
struct several_store {
    struct entries entries;
    int mesh[M_N], ranks;         /* 0: no executable yet */
    double *rate;                 /* [ranks] */
    struct device_traits *traits; /* [ranks] traits of each rank's device */
    double *found;                /* [ranks] rates measured in the last updates */
    struct pace pace;             /* of the updates */
    bool divides;                 /* redivide before the next forward pass, by `found` */
    int moves;                    /* number of redivisions */
    struct several *first;        /* list of all executables */
    void **store;                 /* [ranks] */
};

struct several {
    const struct plan *plan; /* the whole plan of the session */
    struct several_store *store;
    struct member *member;     /* [ranks] */
    struct unroll_comm **comm; /* [ranks] threads of this process */
    struct team *team;
    char **host;            /* [buffers] whole arrays of IO and VALUES; NULL: another segment */
    unsigned char *newer;   /* [buffers] enum newer_side */
    unsigned *written;      /* [buffers] of IO and VALUES: bits 1 << phase in which some rank writes it */
    bool summed;            /* sums over ranks are complete: ranks no longer hold summands */
    bool lost;              /* a rank failed in a run: the data of the others are undefined */
    enum phase first, last; /* of the current run */
    char **kept;            /* [buffers] while ranks are rebuilt */
    struct several *next;   /* in the same store */
    char isa[96];
};

/* boxes.c: moves data between whole arrays and the ranks. `whole` has the buffer's size. */
unroll_status boxes_find(struct several *); /* fills twins, written */
/* Gathers the boxes of the ranks, or adds them if they are summands. */
unroll_status boxes_gather(struct several *, int buffer, void *whole);
/* as_summands: of values that are summed later, the first rank gets the values and the others zeros. */
unroll_status boxes_scatter(struct several *, int buffer, const void *whole, bool as_summands);
/* Returns whether each rank that has the buffer has all of it, so that its bytes are copied as they are. */
bool boxes_are_whole(const struct several *, int buffer);
/* Returns whether each rank holds a summand of the buffer before PHASE_SUM. */
bool boxes_are_summands(const struct several *, int buffer);

/* several.c: makes the ranks of an executable by the store's rates: plans, executables, boxes. */
unroll_status members_make(struct several *);
void members_drop(struct several *);
unroll_status members_run(struct several *, enum phase first, enum phase last);
struct plan_config member_config(const struct several *, int rank);
void several_drop_stores(struct several_store *);

/* `rebalance.c`: checks after an update whether ranks have been out of balance for long enough. */
void divide_watch(struct several *);
int several_divided(const void *executable, double *part, int room, int *ranks);
/* Redivides between two updates, together with all executables of the store. */
unroll_status several_rebalance(struct several *);

extern const struct device device_several;

#endif
