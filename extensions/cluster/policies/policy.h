/* Policies: what workers, each with its own mesh, exchange between updates. A policy is one file and a row of
 * policy_table.c; a worker's plan is independent of it. Ranks at the same position in their workers' meshes form a
 * group that exchanges its share of the weights (plan/ir/update_vector.h). Traffic within a step belongs to the plan.
 */
#ifndef PARALLEL_POLICY_H
#define PARALLEL_POLICY_H
#include "train/workers_door.h"

enum { TAG_POLICY = TAG_CONTROL | 1 << 8 };

const struct policy *policy_at(int index); /* NULL after the last */
/* Parses "local:32,rate=0.7": the policy and its options. NULL: every. */
unroll_status policy_read(const char *text, const struct policy **, struct sync_options *);
/* Returns whether the plan alone does all sums. */
bool policy_is_plans(const struct policy *, const char *compress);

/* The maximum that a rank sends between updates: bytes, each `every` updates; delay: as in sync_options; numbers:
 * elements of the rank. 0 bytes if the plan itself does the sums. */
struct sync_cost {
    const struct policy *policy;
    double bytes, every, delay;
    bool asynchronous;
    size_t numbers;
};
unroll_status sync_bytes_of(const struct update_vector *, const char *sync, const char *compress, struct sync_cost *);

unroll_status workers_open(unroll_session *, const unroll_trainer_config *, struct exchange **);
void workers_join(struct exchange *, unroll_session *);
void workers_close(struct exchange *);
unroll_status workers_enter_mean(struct exchange *, bool states);
unroll_status workers_leave_mean(struct exchange *);
unroll_status workers_resume(struct exchange *, int64_t step, const int64_t integer[POLICY_INTEGERS]);
const char *sync_name(int index, const char **about);
unroll_status sync_bytes(const unroll_plan_config *, const char *sync, const char *compress, double *bytes,
                         double *every);

/* ---- for policies ------------------------------------------------------------------------- */

/* Allocates a zeroed vector that checkpoints keep. */
unroll_status exchange_keep(struct exchange *, const char *name, int kind, float **numbers);
/* Sums a vector, and the value after it, over the group in place; compressed if requested. */
unroll_status exchange_sum_begin(struct exchange *, float *vector);
unroll_status exchange_sum_end(struct exchange *, float *vector);
double sum_bytes(int workers, size_t count); /* of floats: maximum that a rank sends */

/* Computes the squares of the rows of a gradient vector, [rows] of all its matrices, in the plan's order of
 * summation; and their sums by parameter. from, to: rows. */
void exchange_square_rows(const struct exchange *, const float *gradients, size_t from, size_t to, double *squares);
void exchange_sum_squares(const struct exchange *, const double *squares, double *norms);

extern const struct policy policy_every, policy_local, policy_server, policy_gossip;

#endif
