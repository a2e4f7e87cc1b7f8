/* What runs kernels on the host: threads of a block are fibres of one thread of the process, blocks of a cluster
 * and of a cooperative grid live together, and who goes on is drawn from a seed. Not a simulator of time: it finds
 * missing barriers and waits, deadlocks, races (under ThreadSanitizer) and wrong addresses. */
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
    size_t args;              /* bytes of its argument */
    unsigned threads, blocks; /* its launch bounds */
    struct fake_kernel *next;
};
void fake_kernel_add(struct fake_kernel *);
struct fake_kernel *fake_kernel_find(const char *name);

struct fake_launch {
    struct fake_index grid, block, cluster;
    bool cooperative, clustered; /* clustered: with the attribute, even if a cluster is one block */
    size_t shared;               /* dynamic */
    const void *args;
};

/* NULL, or what went wrong; until the next launch. One at a time: the caller sees to it. */
const char *fake_run(const struct fake_kernel *, const struct fake_launch *);

/* The order of all that follows. 0: threads in turn, nothing late; others: drawn, with four temperaments. */
void fake_seed(uint64_t seed);

/* What the thread that runs is. */
struct fake_thread {
    struct fake_index index;
    unsigned number, lane; /* in the block, in the warp */
    const struct fake_launch *launch;
    struct fake_block *block;
};
extern struct fake_thread *fake_current;
const struct fake_index *fake_block_index(void);

/* An error of the thread that runs: ends the launch. */
__attribute__((noreturn, format(printf, 1, 2))) void fake_fail(const char *format, ...);

/* ---- what kernels' words are made of: file and line say where a thread waits -------------- */

void fake_barrier(int id, unsigned threads, bool wait, const char *file, int line); /* 0 threads: all */
void fake_fence(void);

typedef void fake_warp_function(void *const slot[32], uint32_t mask);
/* Waits for the lanes of the mask; the last calls f with what each brought. ordered: as a barrier of memory, too. */
void fake_warp(uint32_t mask, fake_warp_function *f, void *mine, bool ordered, const char *file, int line);

void *fake_shared(const void *key, size_t bytes); /* a SHARED array of this block */
void *fake_dynamic_shared(void);
void fake_check_shared(const void *p, size_t bytes, const char *what); /* within this block's, aligned to bytes */

void fake_copy_async(void *shared, const void *global);
void fake_copy_async_commit(void);
void fake_copy_async_wait(int left);

void fake_flags_changed(void);   /* a word that others may wait for */
void fake_packets_changed(void); /* what others poll for */
void fake_wait_at_least(const uint32_t *flag, uint32_t value, const char *file, int line);
void fake_poll(const char *file, int line); /* lets others go on */

unsigned fake_cluster_rank(void), fake_cluster_size(void);
void fake_cluster_arrive(const char *file, int line);
void fake_cluster_wait(const char *file, int line);
uintptr_t fake_cluster_map(uintptr_t at, unsigned rank);

void fake_mbarrier_init(uint64_t *, unsigned count);
void fake_mbarrier_arrive(uintptr_t barrier, unsigned bytes);
bool fake_mbarrier_done(uint64_t *, unsigned parity);
void fake_mbarrier_wait(uint64_t *, unsigned parity, const char *file, int line);
void fake_store_async(uintptr_t to, const void *value, unsigned bytes, uintptr_t barrier);
void fake_copy_bulk(uintptr_t to, const void *from, unsigned bytes, uintptr_t barrier, bool from_shared);

#ifdef __cplusplus
}
#endif
#endif
