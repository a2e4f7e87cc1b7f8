/* What reduce_gradients.c and gradient_buckets.c share: which axes a gradient is partial along, and how its sum over
 * them is made. */
#ifndef PLAN_REDUCE_GRADIENTS_H
#define PLAN_REDUCE_GRADIENTS_H
#include "plan/plan.h"

/* The mesh axes along which a buffer holds a summand: 1 << M_... */
unsigned partial_axes(const struct buffer *);
/* Of a gradient [S, ..] shard 0, which gets the sum. */
struct view sum_of(const struct plan *, int gradient, enum access);
bool is_written(const struct plan *, int buffer);

/* How one use of a weight is summed: over the shards here, then over ranks. */
struct reduction {
    bool tree;           /* over the shards that are here */
    bool by_shards;      /* over ranks in the tree of shards, of which no rank holds a whole part */
    unsigned axes, left; /* of the mesh: of the sum over ranks; of another after it */
};
/* Products of weight gradients that take long become several, whose results are summed one by one. */
unroll_status divide_products(struct plan *);
struct reduction reduction_of(const struct plan *, int gradient);

#endif
