/* A set divided among ranks, epoch by epoch: what unroll_sampler says, kept between calls. Not who trains on it. */
#ifndef DATA_SET_DIVISION_H
#define DATA_SET_DIVISION_H
#include "unroll_train.h"

struct division;

/* Copies what the config points to; its epoch does not count. `kept`: how many epochs' orders are kept at a time. */
unroll_status division_new(const unroll_sampler *config, int kept, struct division **division);
void division_free(struct division *); /* NULL is allowed */

int64_t division_batches(const struct division *);
/* Divided by a column, or by parts: the part that has a sequence. */
int division_part(const struct division *, int64_t sequence);
/* The sequence in a row of a batch of an epoch, -1: none. Any thread may ask; the first one of an epoch waits until its
 * order has been drawn. */
int64_t division_at(struct division *, int64_t epoch, int64_t batch, int row);

#endif
