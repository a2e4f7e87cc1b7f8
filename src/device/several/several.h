/* Several devices of one process as one device: "cpu,opencl". The session's plan is whole; here it is cut, and rank r
 * of the mesh runs on entry r of the list, in a thread of its own. What the host sees lies here once, whole, and is
 * divided among the ranks and put together again. Knows devices by their table alone. */
#ifndef DEVICE_SEVERAL_SEVERAL_H
#define DEVICE_SEVERAL_SEVERAL_H
#include "base/team.h"
#include "device/device_list.h"
#include "plan/rates.h"

/* One rank. */
struct member {
    const struct device *device;
    struct device_options options;
    struct plan *plan;
    void *executable;
    int *twin;      /* [buffers of the whole plan] the same buffer in this one's; -1: it has none, or does not use it */
    double seconds; /* that it computed since the last update: without what it waited for others */
    unroll_status status;
    char message[512];
};

/* What is newer: the array here, or what ranks have. */
enum newer_side { SIDE_BOTH, SIDE_HERE, SIDE_RANKS };

struct several;
struct several_store {
    struct entries entries;
    int mesh[M_N], ranks;         /* 0: no executable yet */
    double *rate;                 /* [ranks] */
    struct device_traits *traits; /* [ranks] of each one's device */
    double *found;                /* [ranks] rates that the last updates had */
    struct pace pace;             /* of the updates */
    bool divides;                 /* before the next forward: by what was found */
    int moves;                    /* how often that was done */
    struct several *first;        /* all executables */
    void **store;                 /* [ranks] */
};

struct several {
    const struct plan *plan; /* whole: what the session sees */
    struct several_store *store;
    struct member *member;     /* [ranks] */
    struct unroll_comm **comm; /* [ranks] threads of this process */
    struct team *team;
    char **host;            /* [buffers] of IO and VALUES: whole; NULL: of another segment */
    unsigned char *newer;   /* [buffers] enum newer_side */
    unsigned *written;      /* [buffers] of IO and VALUES: 1 << phase that writes it on some rank */
    bool summed;            /* sums over ranks are made: what ranks hold are not summands any more */
    bool lost;              /* a rank failed in a run: nobody knows what the others hold */
    enum phase first, last; /* of the run that is under way */
    char **kept;            /* [buffers] while ranks are made anew */
    struct several *next;   /* of the same store */
    char isa[96];
};

/* boxes.c. Between an array of the whole and the ranks. `whole` has the buffer's bytes. */
unroll_status boxes_find(struct several *); /* fills twins, written */
/* Of the ranks' boxes or, of what is not summed yet, their sum. */
unroll_status boxes_gather(struct several *, int buffer, void *whole);
/* as_summands: the first rank gets the numbers of what is summed later, the others zeros. */
unroll_status boxes_scatter(struct several *, int buffer, const void *whole, bool as_summands);
/* Is the buffer whole on each rank that has it? Then bytes of it are moved as they are. */
bool boxes_are_whole(const struct several *, int buffer);
/* Does each rank hold a summand of it before the part "sum"? */
bool boxes_are_summands(const struct several *, int buffer);

/* several.c. The ranks of an executable, by the store's rates: plans, executables, boxes. */
unroll_status members_make(struct several *);
void members_drop(struct several *);
unroll_status members_run(struct several *, enum phase first, enum phase last);
struct plan_config member_config(const struct several *, int rank);
void several_drop_stores(struct several_store *);

/* divide_anew.c. After an update: were ranks out of balance for long enough? */
void divide_watch(struct several *);
int several_divided(const void *executable, double *part, int room, int *ranks);
/* Between two updates. Other executables of the store go along. */
unroll_status divide_anew(struct several *);

#endif
