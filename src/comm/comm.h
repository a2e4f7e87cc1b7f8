/* Communication between the ranks of a mesh. Engines (self, threads; later mpi, nccl) give
 * point-to-point messages; the collectives here are schedules over them, the same for all engines. */
#ifndef COMM_COMM_H
#define COMM_COMM_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct comm;

/* All ranks of a world inside this process: comm[r] is for rank r's threads. A receive that waits
 * longer than the deadline fails with UNROLL_COMMUNICATION and names rank, peer and tag. */
unroll_status comm_threads_new(int ranks, double deadline_seconds, struct comm **comm);
void comm_threads_free(struct comm **comm, int ranks);

int comm_rank(const struct comm *);

/* Buffered: returns when the data may be changed. Messages between two ranks are matched by tag,
 * among equal tags in order. */
unroll_status comm_send(struct comm *, int to, uint32_t tag, const void *data, size_t bytes);
unroll_status comm_recv(struct comm *, int from, uint32_t tag, void *data, size_t bytes);

/* ranks[size] is the group in rank order and holds the caller. */

/* In place: the sum over the group, added in a binary tree in the order of the group (distance 1, 2, 4 ..),
 * whatever the arrival order; all members get the same bits. real: DTYPE_F32 or DTYPE_F64 elements. */
unroll_status comm_all_reduce(struct comm *, const int *ranks, int size, uint32_t tag, void *data,
                              size_t count, int is_double);
/* mine[bytes] of each member, one after the other in group order, into all[size * bytes]. */
unroll_status comm_all_gather(struct comm *, const int *ranks, int size, uint32_t tag, const void *mine,
                              void *all, size_t bytes);

#endif
