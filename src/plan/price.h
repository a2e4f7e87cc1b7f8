/* Seconds of a plan on a cluster: of an operation alone, of a sum over ranks, of a step of all ranks of a mesh, who
 * wait for each other's messages. Modelled from a file (cluster.h); nothing runs. */
#ifndef PLAN_PRICE_H
#define PLAN_PRICE_H
#include "plan/cluster.h"
#include "plan/traffic.h"

/* What a rank computes in it; of an exchange between ranks 0. */
double op_seconds(const struct plan *, const struct op *, const struct cluster *);

/* From the begin of a sum, with all members there, to its end. sum->data is not looked at. `together`: as many such
 * sums of other ranks of a unit go on at once. */
double sum_seconds(const struct sum *, const struct cluster *, int together);

/* The same for sums of a plan, whose seconds are nearly linear in their numbers: each shape is priced once. */
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

/* A message of so many bytes between two ranks. */
double message_seconds(const struct cluster *, int from, int to, double bytes);

/* ---- a step of a mesh ------------------------------------------------------------------ */

/* Phases of a training step that have a clock of their own. */
enum { MESH_CLOCKS = 3 }; /* forward; backward and sums; update */

/* One stage of a mesh: ranks that differ along batch and hidden do alike. */
struct stage_time {
    double busy[MESH_CLOCKS]; /* seconds in which it computes, with its clocks */
    double waits;             /* of the whole step */
    double sent;              /* bytes of a rank */
    int clock[MESH_CLOCKS];   /* given: index in cluster->clock; 0 where there are none */
    double memory;            /* bytes of a rank */
};

struct mesh_time {
    double seconds;
    struct stage_time stage[DEPTHS];
    int stages;
};

/* plans: [stages] of the ranks at 0 along batch and hidden, stage by stage; time->stage[].clock is given. */
unroll_status mesh_seconds(struct plan *const *plans, int stages, struct prices *, struct mesh_time *time);

/* Of all ranks in a step, from the clocks and watts of the cluster; 0: it knows none. ranks: of each stage. */
double mesh_joules(const struct mesh_time *, const struct cluster *, int ranks);

/* Lowers the clocks of stages that others wait for anyway, as far as the step takes no longer than `longer` times as
 * long and energy falls. */
unroll_status mesh_lower_clocks(struct plan *const *plans, int stages, struct prices *, double longer, int ranks,
                                struct mesh_time *time);

#endif
