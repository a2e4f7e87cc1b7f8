/* A rank's gradients computed by two ranks, and compared: what is wrong before ranks add up is the same in all replicas
 * afterwards. Not what is done about it. */
#ifndef SESSION_TWICE_H
#define SESSION_TWICE_H
#include "unroll_train.h"

struct twice;

/* The plan and the memory with which this rank computes the gradients of the rank before it (0: of the last one), with
 * weights of its own. *twice stays NULL where that can't be compared: of one rank; of ranks that divide more than the
 * batch; of workers; of devices whose bits may be others on another machine. The session outlives it. */
unroll_status twice_new(unroll_session *, struct twice **twice);
void twice_free(struct twice *);
uint64_t twice_memory_estimate(const struct twice *); /* bytes */

/* Collective, before a forward of a batch that finds no gradients: the rank before tells its carried states. The batch
 * stays as it is until the gradients were compared. */
unroll_status twice_begin(struct twice *, const unroll_batch *);
/* Collective, after its backward, before ranks add up: bits of both. *rank: whose arithmetic was wrong, the first; -1:
 * nobody's. Of three or more ranks it is the one that differs with both its neighbours; where two differ alone, the one
 * that computed again does so once more: if that differs from what it had, it is wrong itself, else the other. *ranks:
 * how many it may be: 2 where two ranks differ in both shares. */
unroll_status twice_compare(struct twice *, int *rank, int *ranks);

#endif
