/* Seconds of a plan on a cluster: of a single operation, of a sum over ranks, and of a step of all ranks of a mesh,
 * including waits for messages. Modeled from a file (cluster.h); nothing runs. */
#ifndef PLAN_PRICE_H
#define PLAN_PRICE_H
#include "extensions/cluster/planner/cluster.h"
#include "plan/ir/traffic.h"

/* Returns the computing time of an operation in a rank; 0 for exchanges between ranks. */
double op_seconds(const struct plan *, const struct op *, const struct cluster *);

/* Returns the time of a sum after all members have arrived. Does not read sum->data. together: similar sums of other
 * ranks of a unit that run at the same time. */
double sum_seconds(const struct sum *, const struct cluster *, int together);

/* The same for sums of a plan, whose time is nearly linear in their size: each shape is priced once. */
enum { PRICE_CURVES = 256 };
struct sum_curve {
    int size, first, last, together;
    enum algorithm algorithm;
    double begin, each;
};
struct prices {
    const struct cluster *cluster;
    struct sum_curve curve[PRICE_CURVES];
    int curves;
};
double sum_seconds_of(struct prices *, const struct sum *, int together);

/* Returns the time of a message of `bytes` bytes between two ranks. */
double message_seconds(const struct cluster *, int from, int to, double bytes);

/* ---- a step of a mesh ------------------------------------------------------------------ */

/* Phases of a training step with separate clock rates. */
enum { MESH_CLOCKS = 3 }; /* forward; backward and sums; update */

/* One stage of a mesh; its ranks, which differ along batch and hidden, behave alike. */
struct stage_time {
    double busy[MESH_CLOCKS]; /* seconds of computation, at the given clocks */
    double waits;             /* in the whole step */
    double sent;              /* bytes per rank */
    int clock[MESH_CLOCKS];   /* input: index in cluster->clock; 0 if there are none */
    double memory;            /* bytes per rank */
};

struct mesh_time {
    double seconds;
    struct stage_time stage[DEPTHS];
    int stages;
};

/* Computes the time of a step. plans: [stages], those of the ranks at 0 along batch and hidden; time->stage[].clock
 * is an input. */
unroll_status mesh_seconds(struct plan *const *plans, int stages, struct prices *, struct mesh_time *time);

/* Returns the energy of all ranks in a step, from the clocks and watts of the cluster; 0 if unknown. ranks: per
 * stage. */
double mesh_joules(const struct mesh_time *, const struct cluster *, int ranks);

/* Lowers the clocks of stages for which others wait anyway, while the step takes at most `longer` times as long and
 * energy decreases. */
unroll_status mesh_lower_clocks(struct plan *const *plans, int stages, struct prices *, double longer, int ranks,
                                struct mesh_time *time);

#endif
