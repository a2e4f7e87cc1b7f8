/* Ranks with a GPU each: NCCL's communicators, one for each group of a plan and for the two ends of its messages, and
 * what one instance has to talk with. Waits have a deadline. What is said is in ops_ranks.c; knows no kernel. */
#ifndef DEVICE_CUDA_RANKS_H
#define DEVICE_CUDA_RANKS_H
#include "comm/comm.h"
#include "device/cuda/driver.h"
#include "plan/plan.h"

/* The communicators of a model, for all its instances. */
struct ranks {
    struct unroll_comm *comm;           /* hands NCCL's ids around, and counts the deadline */
    struct member { struct group group; nccl_comm comm; } *member;
    int members;
    bool lost;                          /* somebody is: the communicators were aborted */
    char words[512];
};

/* All that a rank exchanges goes through one stream, in list order: NCCL's communicators want one order on all. The
 * lanes wait for its events. */
struct talk {
    struct ranks *ranks;
    cu_stream stream;
    cu_event  asked, *said;             /* said[op]: that it is done, of operations that communicate */
    cu_ptr    number;                   /* on the device: 0, 1, .. operations, as uint32 */
    volatile uint32_t *under_way;       /* in pinned memory: 1 + the operation that exchanges now, or 0 */
};

bool op_talks(const struct op *);

/* The number of the GPU that a rank takes, if nobody says: its place among the ranks of the machine, going round. */
unroll_status ranks_gpu(const struct unroll_comm *, char *number, size_t size);

unroll_status ranks_new(struct unroll_comm *, struct ranks **);         /* fails where there is no NCCL */
void          ranks_free(struct ranks *);
/* Collective: makes the communicators that the plan's operations want and that are not there yet. */
unroll_status ranks_join(struct ranks *, const struct plan *);

/* The communicator of an operation, once it joined; *size, *place: of its group, and in it. */
nccl_comm ranks_of(const struct ranks *, const struct plan *, const struct op *, int *size, int *place);
/* What a call of NCCL on this communicator came to, however long it works on it. */
unroll_status ranks_called(struct ranks *, nccl_comm, int result, const char *doing);

/* Until the stream has done all; fails if nobody says a word for the deadline, or NCCL lost somebody. */
unroll_status ranks_wait(struct talk *, const struct plan *, cu_stream);

#endif
