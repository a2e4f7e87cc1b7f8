/* Rows of the batch and layers for ranks that are not equally fast: seconds that each rank computed become rates, by
 * which sessions that are made from then on divide. Making them anew is the trainer's; no clock is here. */
#ifndef SESSION_BALANCE_H
#define SESSION_BALANCE_H
#include <stdbool.h>

#include "unroll_train.h"

struct balance;

/* Of a session whose ranks divide batch and layers, without exact sums and workers; others are refused. *balance stays
 * NULL of one rank. */
unroll_status balance_new(unroll_session *, struct balance **balance);
void balance_free(struct balance *); /* before the model; sessions made later divide evenly */

/* After each update of the session: seconds that this rank computed in it. Collective, though most calls send nothing.
 * *divides: some rank had become slower or faster for some windows (rates.h), and with other shares an update would
 * take 5% less. The same on all ranks; sessions made from now on have those shares. */
unroll_status balance_update(struct balance *, const unroll_session *, double seconds, bool *divides);

/* How often *divides was true; of [*ranks] each one's part of the work since the last time. */
int balance_divided(const struct balance *, double *part, int room, int *ranks);

#endif
