/* What the operations of a plan send to other ranks: the algorithm of sums, as devices run them, and the number of
 * bytes. No message is sent here. */
#pragma once
#include "comm/all_reduce.h"
#include "plan/ir/plan.h"

bool view_is_contiguous(const struct plan *, const struct view *);

/* Returns the elements between the ends of an all_reduce or a bucket, including the gaps between views. Call it after
 * allocation. */
size_t sum_numbers(const struct plan *, const struct op *);

/* Returns whether algorithm_choose chooses the algorithm of a sum by its size. */
bool sum_is_by_size(const struct plan *, const struct op *);

/* Returns the sum of `count` elements as this operation runs it: with the fewest messages if small, the fewest bytes if
 * large, or the configured algorithm. The caller sets the data. */
struct sum sum_of_numbers(const struct plan *, const struct op *, size_t count);

/* Returns the bytes that this rank sends in one run of the operation; for ragged rows the maximum, as if all rows were
 * full. A native sum is counted with the minimum of all algorithms. Call it after allocation. */
double op_sends(const struct plan *, const struct op *);
