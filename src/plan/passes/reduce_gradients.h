/* Shared by reduce_gradients.c and gradient_buckets.c: the axes along which a gradient is partial, and how it is summed
 * over them. */
#pragma once
#include "plan/ir/plan.h"

/* Returns the mesh axes along which a buffer is a partial sum: 1 << M_... */
unsigned partial_axes(const struct buffer *);
/* Returns shard 0 of a gradient [S, ..], which gets the sum. */
struct view sum_of(const struct plan *, int gradient, enum access);
bool is_written(const struct plan *, int buffer);

/* How one use of a weight is summed: over local shards, then over ranks. */
struct reduction {
    bool tree;           /* over the local shards */
    bool by_shards;      /* over ranks in the tree of shards, of which no rank holds whole subtrees */
    unsigned axes, left; /* mesh axes: of the sum over ranks; of a second one after it */
};
/* Splits expensive products of weight gradients into several, whose results are summed separately. */
unroll_status divide_products(struct plan *);
struct reduction reduction_of(const struct plan *, int gradient);
