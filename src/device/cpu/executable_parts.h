/* What binding (executable_bind.c) and running (executable_run.c) both know of an executable.
 * Not for others: they use executable.h. */
#ifndef DEVICE_CPU_EXECUTABLE_PARTS_H
#define DEVICE_CPU_EXECUTABLE_PARTS_H
#include "device/cpu/executable.h"
#include "device/cpu/adaptive_threads.h"
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

/* Threads [first, first + size) of the executable. Team i does the queues l with l % teams == i. */
struct queue_team {
    struct barrier barrier;
    int first, size;
    bool goes_on; /* thread 0 decides it before a barrier, all read it after */
};

/* Each thread counts on its own cache line. */
struct thread_work {
    alignas(64) struct work work;
};

/* The last operation of a queue that has ended, on a cache line that only those read who wait for it. */
struct queue_end {
    alignas(64) atomic_int op;
};

struct executable {
    const struct plan *plan;
    const struct cpu_isa *isa;
    struct unroll_comm *comm;
    void *base[SEG_N];
    struct call *call; /* [ops] */
    int threads, teams;
    struct queue_team *team;     /* [teams] */
    struct thread_work *work;    /* [threads] */
    char **workspace;            /* [threads] */
    struct op_time *time;        /* [ops]; NULL: not taken */
    struct piece_counts *pieces; /* [ops]; NULL: all run in one piece */
    unsigned process;            /* that made it */
    struct team *all;            /* NULL: one thread, the caller's */
    bool chooses;                /* between all threads and the caller's, by pace */
    struct adaptive adaptive[PHASE_N];
    uint64_t bytes;

    enum phase phase; /* what runs now */
    struct queue_end ended[QUEUES_MAX];
    alignas(64) atomic_int error; /* the first status that is not UNROLL_OK */
    char message[1024];           /* and its words; written by the thread that set error */

    atomic_int sleepers; /* threads that wait for a change of ended or error */
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool has_lock, has_new_weights;
};

/* executable_bind.c. Of tests, which make their own views: only the numbers, and how views are accessed. */
unroll_status bind_op(struct executable *, const struct op *, enum division, struct call *);
void bind_numbers(const struct plan *, const struct op *, struct call *);

#endif
