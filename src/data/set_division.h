/* A data set divided among ranks for each epoch, as specified by unroll_sampler_config, with results kept between
 * calls. It does not depend on who trains on it. */
#pragma once
#include "unroll_train.h"

struct sampler_division;

/* Creates a division; copies what the config points to and ignores its epoch. `kept`: how many epochs' orders are kept
 * at a time. */
unroll_status division_new(const unroll_sampler_config *config, int kept, struct sampler_division **division);
void division_free(struct sampler_division *); /* NULL is allowed */

int64_t division_batches(const struct sampler_division *);
/* Returns the part with a sequence, if divided by a column or by parts. */
int division_part(const struct sampler_division *, int64_t sequence);
/* Returns the sequence in a row of a batch of an epoch, -1: none. Any thread may call it; the first caller of an epoch
 * waits until its order has been computed. */
int64_t division_at(struct sampler_division *, int64_t epoch, int64_t batch, int row);
