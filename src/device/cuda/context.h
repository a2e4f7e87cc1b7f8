/* One GPU of this machine, opened once in a process: its context, its kernels by name, cuBLASLt; and what the driver
 * gives the common module (src/device/gpu). */
#ifndef DEVICE_CUDA_CONTEXT_H
#define DEVICE_CUDA_CONTEXT_H
#include "device/cuda/driver.h"
#include "device/gpu/gpu_launch.h"

enum {
    CUDA_KERNEL_NAME = 64,
    CUDA_CLUSTER_SIZES = 5,
    CUDA_PORTABLE_CLUSTER = 8
}; /* larger clusters exist on some GPUs */

struct cuda_context {
    struct gpu gpu; /* first: what the common module knows of it */
    struct cuda_context *next;
    cu_device device;
    cu_context context;
    lt_handle lt;
    char name[96];
    int capability;       /* 90: sm_90 */
    int processors;       /* multiprocessors */
    int shared_per_block; /* the most that a launch may ask for */
    int registers;        /* of a multiprocessor */
    size_t memory, l2;
    bool clusters, cooperative;
    bool clusters_known; /* of 1, 2, .. 16 blocks with a multiprocessor each, how many run at once: */
    int clusters_at_once[CUDA_CLUSTER_SIZES];
    struct cuda_kernel *kernels; /* found so far */
    cu_module *module;
    int modules;
};

/* The number of a GPU among those that the process sees: which is "1" for the second, NULL for the first, or its UUID:
 * "GPU-..", of an instance "MIG-..". Loads the driver. */
unroll_status cuda_find_gpu(const char *which, int *index);

/* which: as there. It stays open. */
unroll_status cuda_context_open(const char *which, struct cuda_context **);

/* Facts of an H200 where no GPU is: planning takes it for open, nothing else can. */
void cuda_context_known(struct cuda_context *);

/* What there is, for people, without opening it: "NVIDIA H200 (sm_90, 132 processors, 150.1 GB), CUDA 13.0, ..". */
unroll_status cuda_describe(char *text, size_t size);

/* The GPU that a walk is for. */
static inline struct cuda_context *cuda_of(const struct recorder *w) { return (struct cuda_context *)w->gpu; }

/* The context becomes that of this thread, and the one before comes back. */
unroll_status cuda_enter(struct cuda_context *);
void cuda_leave(void);

extern const struct gpu_driver gpu_driver_cuda;  /* cuda_driver.c */
extern const struct gpu_ranks_driver nccl_ranks; /* cuda_ranks.c */

/* A kernel by its name, of any module. */
unroll_status cuda_find_kernel(struct cuda_context *, const char *name, cu_function *);

/* Loads an image and keeps its kernel under another name, which cuda_find_kernel then finds. UNROLL_UNSUPPORTED: the
 * driver does not take the image. The name is cut at CUDA_KERNEL_NAME - 1 bytes. */
unroll_status cuda_add_kernel(struct cuda_context *, const void *image, const char *kernel, const char *name);
bool cuda_has_kernel(struct cuda_context *, const char *name);

/* Device memory, zeroed; bytes 0: no memory. what: "activations", for the sentence. */
unroll_status cuda_take(struct cuda_context *, uint64_t bytes, const char *what, const char *fix, cu_ptr *);

#endif
