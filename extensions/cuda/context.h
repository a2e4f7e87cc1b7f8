/* A GPU of this machine, opened once in a process: its context, its kernels by name, and cuBLASLt. Also the driver's
 * side of the common code in extensions/gpu. */
#ifndef DEVICE_CUDA_CONTEXT_H
#define DEVICE_CUDA_CONTEXT_H
#include "extensions/cuda/driver.h"
#include "extensions/gpu/gpu_launch.h"

enum { CUDA_KERNEL_NAME = 64, CUDA_CLUSTER_SIZES = 5, CUDA_PORTABLE_CLUSTER = 8 }; /* some GPUs allow larger clusters */

struct cuda_context {
    struct gpu gpu; /* first: the part that the common code uses */
    struct cuda_context *next;
    cu_device device;
    cu_context context;
    lt_handle lt;
    char name[96];
    int capability;       /* 90: sm_90 */
    int processors;       /* multiprocessors */
    int shared_per_block; /* maximum that a launch may request */
    int registers;        /* of a multiprocessor */
    size_t memory, l2;
    bool clusters, cooperative;
    bool clusters_known; /* number of clusters of 1, 2, .. 16 blocks, each on its own multiprocessor, that run at once:
                          */
    int clusters_at_once[CUDA_CLUSTER_SIZES];
    struct cuda_kernel *kernels; /* found so far */
    cu_module *module;
    int modules;
};

/* Finds the index of a GPU among those visible to the process. which: "1" for the second, NULL for the first, or a
 * UUID: "GPU-..", or "MIG-.." for an instance. Loads the driver. */
unroll_status cuda_find_gpu(const char *which, int *index);

/* Opens the GPU and keeps it open. which: see cuda_find_gpu. */
unroll_status cuda_context_open(const char *which, struct cuda_context **);

/* Fills in the properties of an H200, for planning without a GPU. Such a context cannot be used for anything else. */
void cuda_context_known(struct cuda_context *);

/* Describes the GPUs without opening them: "NVIDIA H200 (sm_90, 132 processors, 150.1 GB), CUDA 13.0, ..". */
unroll_status cuda_describe(char *text, size_t size);

/* Returns the GPU of a walk. */
static inline struct cuda_context *cuda_of(const struct recorder *w) { return (struct cuda_context *)w->gpu; }

/* Makes the context current for this thread; cuda_leave restores the previous one. */
unroll_status cuda_enter(struct cuda_context *);
void cuda_leave(void);

extern const struct gpu_driver gpu_driver_cuda;  /* cuda_driver.c */
extern const struct gpu_ranks_driver nccl_ranks; /* cuda_ranks.c */

/* Finds a kernel by name, in any module. */
unroll_status cuda_find_kernel(struct cuda_context *, const char *name, cu_function *);

/* Loads an image and registers its kernel under another name for cuda_find_kernel. Returns UNROLL_UNSUPPORTED if the
 * driver rejects the image. The name is truncated to CUDA_KERNEL_NAME - 1 bytes. */
unroll_status cuda_add_kernel(struct cuda_context *, const void *image, const char *kernel, const char *name);
bool cuda_has_kernel(struct cuda_context *, const char *name);

/* Allocates zeroed device memory; bytes 0: none. what: "activations", for the message. */
unroll_status cuda_take(struct cuda_context *, uint64_t bytes, const char *what, const char *fix, cu_ptr *);

#endif
