/* Rows of the batch for ranks that are not equally fast: seconds that each rank computed become rates, by which
 * sessions that are made from then on divide. Making them anew is the trainer's; no clock is here. */
#ifndef SESSION_BALANCE_H
#define SESSION_BALANCE_H
#include <stdbool.h>

#include "unroll_train.h"

struct balance;

/* Of a session whose ranks divide the batch alone, without exact sums, workers and devices of several kinds; others are
 * refused. *balance stays NULL of one rank. */
unroll_status balance_new(unroll_session *, struct balance **balance);
void balance_free(struct balance *); /* before the model; sessions made later divide evenly */

/* After each update: seconds that this rank computed in it. Collective, though most calls send nothing. *divides: some
 * rank had become slower or faster for some windows (rates.h), and with other shares an update would take 5% less. The
 * same on all ranks; sessions made from now on have those shares. */
unroll_status balance_update(struct balance *, double seconds, bool *divides);

#endif
