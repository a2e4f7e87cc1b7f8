/* unroll_ranks.h: training on many processes (ranks): messages, replicas, comparison of ranks.
 *
 *     unroll_comm *comm;
 *     double sum[2] = { 1, 2 };
 *     if (unroll_comm_open("self", 60, &comm) != UNROLL_OK || unroll_comm_sum(comm, sum, 2) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     printf("rank %d of %d: %g %g\n", unroll_comm_rank(comm), unroll_comm_ranks(comm), sum[0], sum[1]);
 *     unroll_comm_close(comm);           // before that: config.machine.comm = comm, for a trainer
 */
#ifndef UNROLL_RANKS_H
#define UNROLL_RANKS_H
#include "unroll_train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ranks: one model on many processes ------------------------------------------------- */

/* Each process of a parallel run is a rank, started by mpirun or srun (docs/howto/parallel.md). All ranks make calls
 * with a comm in the same order with the same arguments and get the same status. No call waits longer than the timeout:
 * after UNROLL_COMMUNICATION the other ranks are lost, and only unroll_comm_abort may be called. One thread of a rank
 * makes these calls. */

/* Opens the comm, once per process. transport: "mpi", an MPI library loaded now; "self", this process alone; NULL: mpi
 * if this process was started as one of several ranks. timeout: seconds that a wait may last. */
UNROLL_API unroll_status unroll_comm_open(const char *transport, double timeout, unroll_comm **comm);
/* Worlds of processes that join and leave, over UCX (libucx0). Each process publishes its address, and the members of
 * world `number`, which rises from 1, receive all addresses. A process is in one world at a time and closes it before
 * the next. */
enum { UNROLL_ADDRESS = 4096 }; /* bytes of an address as text, including the final zero */
UNROLL_API unroll_status unroll_comm_address(char text[UNROLL_ADDRESS]);
UNROLL_API unroll_status unroll_comm_open_world(int64_t number, int rank, int ranks, const char *const *addresses,
                                                double timeout, unroll_comm **comm);
/* Makes all waits of an open comm fail from now on, because a rank was lost or joined. From any thread. */
UNROLL_API void unroll_comm_interrupt(unroll_comm *comm);
UNROLL_API void unroll_comm_close(unroll_comm *comm);
UNROLL_API int unroll_comm_rank(const unroll_comm *comm);
UNROLL_API int unroll_comm_ranks(const unroll_comm *comm);
/* Returns the number of ranks according to the launcher's environment; 1 without one. */
UNROLL_API int unroll_comm_launched(void);
/* Collective: all ranks return the first failure of any of them. */
UNROLL_API unroll_status unroll_comm_agree(unroll_comm *comm, unroll_status mine);
/* Sums values over all ranks, in place. */
UNROLL_API unroll_status unroll_comm_sum(unroll_comm *comm, double *numbers, int count);
/* Sets the seconds of this rank with sums or messages under way (communication), and those in which it only waited
 * (exposed). */
UNROLL_API void unroll_comm_seconds(const unroll_comm *comm, double *communication, double *exposed);
/* Returns the bytes that this rank has sent, without MPI's own sums (sum = "native"). */
UNROLL_API uint64_t unroll_comm_sent(const unroll_comm *comm);
/* After a failed wait: returns the first rank that still answers, which may report for all; before, -1. */
UNROLL_API int unroll_comm_first(const unroll_comm *comm);
/* Ends all ranks with this exit code. */
UNROLL_API void unroll_comm_abort(unroll_comm *comm, int code);

/* ---- trainers of many ranks -------------------------------------------------------------- */

/* Sets the step at which workers that do not wait meet for collective work, such as a validation: late workers skip
 * what they missed. Call it after each meeting with a later step, on all ranks. */
UNROLL_API void unroll_trainer_meet_at(unroll_trainer *trainer, int64_t step);
/* A checkpoint in the memory of each rank, from which a trainer of the same training resumes to the same bits, on any
 * number of ranks and any mesh; not supported with workers (UNROLL_UNSUPPORTED). Replicating is collective; if it fails
 * because a rank is lost, the replica is empty, so use two in turn. Restoring is local to a rank. Sharing copies that
 * of rank `from` to all. unroll_replica_step returns the step of its content, -1: empty. */
typedef struct unroll_replica unroll_replica;
UNROLL_API unroll_status unroll_replica_new(unroll_replica **replica);
UNROLL_API void unroll_replica_free(unroll_replica *replica); /* NULL is allowed */
UNROLL_API unroll_status unroll_trainer_replicate(unroll_trainer *trainer, unroll_replica *replica);
UNROLL_API int64_t unroll_replica_step(const unroll_replica *replica);
UNROLL_API unroll_status unroll_replica_share(unroll_replica *replica, unroll_comm *comm, int from);
UNROLL_API unroll_status unroll_trainer_restore(unroll_trainer *trainer, unroll_replica *replica);
/* Compares weights and optimizer states of the replicas of the batch bit by bit. Collective. Sets *rank to the first
 * one that differs from most of its replicas, -1: none; *ranks to their number. If only two differ, both count. */
UNROLL_API unroll_status unroll_trainer_compare(unroll_trainer *trainer, int *rank, int *ranks);
/* In the next step each rank also computes the gradients of the rank before it, from the same weights, states and rows,
 * and compares both bit by bit before the sum. This finds a rank that computes wrong results, which replicas after the
 * sum cannot show. For ranks on processors that divide only the batch, with checks_gradients; otherwise it has no
 * effect. Collective. It does not change the weights. unroll_trainer_checked returns the result of the last such step,
 * as unroll_trainer_compare; that step's update used the wrong gradients. */
UNROLL_API void unroll_trainer_check_next(unroll_trainer *trainer);
UNROLL_API void unroll_trainer_checked(const unroll_trainer *trainer, int *rank, int *ranks);

#ifdef __cplusplus
}
#endif
#endif
