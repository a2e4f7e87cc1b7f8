/* Runs kernels on the host. The threads of a block are fibers of one thread of the process; blocks of a cluster and of
 * a cooperative grid run together. The next thread to run is drawn at random from a seed. This finds missing barriers
 * and waits, deadlocks, races (with ThreadSanitizer) and wrong addresses; time is not simulated here. */
#ifndef FAKE_CUDA_RUNTIME_H
#define FAKE_CUDA_RUNTIME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

struct fake_index {
    unsigned x, y, z;
};

/* A kernel, as KERNEL declares it. */
struct fake_kernel {
    const char *name;
    void (*run)(const void *args);
    size_t args;              /* size of its argument in bytes */
    unsigned threads, blocks; /* its launch bounds */
    struct fake_kernel *next;
};
void fake_kernel_add(struct fake_kernel *);
struct fake_kernel *fake_kernel_find(const char *name);

struct fake_launch {
    struct fake_index grid, block, cluster;
    bool cooperative, clustered; /* clustered: has the attribute, even if a cluster is one block */
    size_t shared;               /* bytes of dynamic shared memory */
    const void *args;
};

/* Runs a kernel. Returns NULL or an error, valid until the next launch. The caller ensures that only one runs at a
 * time. */
const char *fake_run(const struct fake_kernel *, const struct fake_launch *);

/* Sets the order of all later launches. 0: threads in turn, nothing late; others: random, with four kinds of
 * schedules. */
void fake_seed(uint64_t seed);

/* The running thread. */
struct fake_thread {
    struct fake_index index;
    unsigned number, lane; /* in the block, in the warp */
    const struct fake_launch *launch;
    struct fake_block *block;
};
extern struct fake_thread *fake_current;
const struct fake_index *fake_block_index(void);

/* Ends the launch with an error of the running thread. */
__attribute__((noreturn, format(printf, 1, 2))) void fake_fail(const char *format, ...);

/* ---- primitives of kernels; file and line tell where a thread waits ----------------------- */

void fake_barrier(int id, unsigned threads, bool wait, const char *file, int line); /* 0 threads: all */
void fake_fence(void);

typedef void fake_warp_function(void *const slot[32], uint32_t mask);
/* Waits for the lanes of the mask; the last one calls f with the arguments of all. ordered: also a memory barrier. */
void fake_warp(uint32_t mask, fake_warp_function *f, void *mine, bool ordered, const char *file, int line);

void *fake_shared(const void *key, size_t bytes); /* returns a SHARED array of this block */
void *fake_dynamic_shared(void);
void fake_check_shared(const void *p, size_t bytes, const char *what); /* within this block, aligned to bytes */

void fake_copy_async(void *shared, const void *global);
void fake_copy_async_commit(void);
void fake_copy_async_wait(int left);

void fake_flags_changed(void);   /* a word that others may wait for has changed */
void fake_packets_changed(void); /* data that others poll for has changed */
void fake_wait_at_least(const uint32_t *flag, uint32_t value, const char *file, int line);
void fake_poll(const char *file, int line); /* lets other threads run */

/* Time that kernels read; it passes only while no thread makes progress. */
uint32_t fake_milliseconds(void);
/* Ends the launch as the instruction trap does; fake_stopped: the last launch ended like this. */
__attribute__((noreturn)) void fake_stop(void);
bool fake_stopped(void);

/* What happens to the nth packet or asynchronous store from now on, counted over launches: nothing, it is lost, it
 * arrives after the next one, or it arrives that many milliseconds later. */
enum fake_disturbance { FAKE_UNDISTURBED, FAKE_DROP, FAKE_SWAP, FAKE_DELAY };
void fake_disturb(enum fake_disturbance, unsigned nth, unsigned milliseconds);
const void *fake_disturbed(void); /* where it was to be stored; NULL: nothing was disturbed */
bool fake_hold_packet(void *packet, const uint32_t words[4]); /* true: the caller does not store it */
void fake_packet_stored(void);

unsigned fake_cluster_rank(void), fake_cluster_size(void);
void fake_cluster_arrive(const char *file, int line);
void fake_cluster_wait(const char *file, int line);
uintptr_t fake_cluster_map(uintptr_t at, unsigned rank);

void fake_mbarrier_init(uint64_t *, unsigned count);
void fake_mbarrier_arrive(uintptr_t barrier, unsigned bytes);
bool fake_mbarrier_done(uint64_t *, unsigned parity);
void fake_mbarrier_wait(uint64_t *, unsigned parity, const char *file, int line);
bool fake_mbarrier_try_wait(uint64_t *, unsigned parity, const char *file, int line); /* waits for a limited time */
void fake_store_async(uintptr_t to, const void *value, unsigned bytes, uintptr_t barrier);
void fake_copy_bulk(uintptr_t to, const void *from, unsigned bytes, uintptr_t barrier, bool from_shared);

#ifdef __cplusplus
}
#endif
#endif
