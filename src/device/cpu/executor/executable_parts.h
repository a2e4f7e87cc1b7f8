/* The struct of an executable, shared by binding (executable_bind.c) and running (executable_run.c). Others include
 * executable.h. */
#pragma once
#include "device/cpu/executor/executable.h"
#include "device/cpu/executor/adaptive_threads.h"
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

/* Threads [first, first + size) of the executable. Team i runs the queues l with l % teams == i. */
struct queue_team {
    struct barrier barrier;
    int first, size;
    bool goes_on; /* set by thread 0 before a barrier, read by all after it */
};

/* Each thread counts on its own cache line. */
struct thread_work {
    alignas(64) struct work work;
};

/* The last finished operation of a queue, on its own cache line. */
struct queue_end {
    alignas(64) atomic_int op;
};

struct executable {
    const struct plan *plan;
    const struct cpu_isa *isa;
    struct unroll_comm *comm;
    unroll_allocator allocator; /* of the segments that the store has not */
    void *base[SEG_N];
    struct call *call; /* [ops] */
    int threads, teams;
    struct queue_team *team;     /* [teams] */
    struct thread_work *work;    /* [threads] */
    char **workspace;            /* [threads] */
    struct op_time *time;        /* [ops]; NULL: not measured */
    struct piece_counts *pieces; /* [ops]; NULL: all run in one piece */
    unsigned process;            /* the process that created it */
    struct team *all;            /* NULL: only the caller's thread */
    bool chooses;                /* chooses between all threads and the caller's (adaptive) */
    struct adaptive adaptive[PHASE_N];
    uint64_t bytes;

    enum phase phase; /* of the current run */
    struct queue_end ended[QUEUES_MAX];
    alignas(64) atomic_int error; /* the first status that is not UNROLL_OK */
    char message[1024];           /* its message, written by the thread that set error */

    atomic_int sleepers; /* threads waiting for a change of ended or error */
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool has_lock, has_new_weights;
};

/* Implemented in executable_bind.c. Tests that build their own views call bind_numbers, which sets only the parameters
 * and the access of views. */
unroll_status bind_op(struct executable *, const struct op *, enum division, struct call *);
void bind_numbers(const struct plan *, const struct op *, struct call *);
