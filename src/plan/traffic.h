/* What the operations of a plan send to other ranks: which algorithm a sum takes, as devices do it, and how many bytes
 * all of it is. No message is sent here. */
#ifndef PLAN_TRAFFIC_H
#define PLAN_TRAFFIC_H
#include "comm/all_reduce.h"
#include "plan/plan.h"

/* A view that does not lie in one piece travels in messages of so many bytes, in row order; its sum is one of each. */
enum { PIECE_BYTES = 1 << 15 };

bool view_is_contiguous(const struct plan *, const struct view *);

/* An all_reduce or a bucket: how many numbers lie between its ends, the gaps between the views of a bucket included.
 * After place. */
size_t sum_numbers(const struct plan *, const struct op *);

/* The sum of so many numbers as this operation does it: the fewest messages of few, the fewest bytes of many, or
 * what the user chose; data is left to the caller. */
struct sum sum_of_numbers(const struct plan *, const struct op *, size_t count);

/* Bytes that this rank gives to its transport in one run of the operation; of ragged rows at the most, as if all had
 * all steps. A native sum counts with the least that any sum sends. After place. */
double op_sends(const struct plan *, const struct op *);

#endif
