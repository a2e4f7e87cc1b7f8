/* One device of OpenCL, opened once in a process: its facts, its context, its one piece of memory, its kernels by name;
 * and what the driver gives the common module (src/device/gpu). */
#ifndef DEVICE_OPENCL_CONTEXT_H
#define DEVICE_OPENCL_CONTEXT_H
#include "device/gpu/gpu_launch.h"
#include "device/opencl/opencl_api.h"
#include <pthread.h>

enum { OPENCL_QUEUES_MAX = 256, OPENCL_LIBRARY_NAME = 96 };

/* How kernels are written for a device: numbers of a vector, rows and vectors that an item of a product sums, items
 * that share a panel, items of a group, and numbers that an item goes over where it makes each by itself. */
struct opencl_form {
    uint32_t width, rows, vectors, lanes, group, run;
    bool has_fp64, fuses, divides; /* doubles; fma in hardware; exact division and root */
};

/* A stretch of memory, in the order of addresses. */
struct opencl_block {
    struct opencl_block *next;
    uint64_t at, bytes;
    bool used;
};

/* All memory of the device is one object, so that an address is an offset in it. */
struct opencl_heap {
    cl_mem memory;
    uint64_t bytes; /* of the object */
    struct opencl_block *first;
};

struct opencl_context {
    struct gpu gpu; /* first: what the common module knows of it */
    struct opencl_context *next;
    cl_device_id device;
    cl_context context;
    char name[OPENCL_LIBRARY_NAME], driver[OPENCL_LIBRARY_NAME], platform[OPENCL_LIBRARY_NAME];
    uint64_t memory, piece_max; /* bytes: all, and of one object */
    uint32_t units, group_max, argument_max;
    struct opencl_form form;
    pthread_mutex_t lock; /* of all below, and of setting arguments and launching */
    struct opencl_heap heap;
    cl_command_queue queue[OPENCL_QUEUES_MAX]; /* all that are open; the first is ours, for memory */
    int queues;
    struct gpu_kernel_handle *kernels; /* found so far */
    struct opencl_program *programs;   /* opencl_program.c */
};

/* which: "1" for the second device of this machine; NULL: the first. It stays open. */
unroll_status opencl_context_open(const char *which, struct opencl_context **);

/* What there is, for people, without opening it. */
unroll_status opencl_describe(char *text, size_t size);

static inline struct opencl_context *opencl_of(struct gpu *gpu) { return (struct opencl_context *)gpu; }

/* ---- opencl_memory.c: under the lock -------------------------------------------------------- */

/* Zeroed. what: "activations", for the sentence. */
unroll_status opencl_take(struct opencl_context *, uint64_t bytes, const char *what, const char *fix, gpu_address *);
void opencl_give(struct opencl_context *, gpu_address);

/* ---- opencl_program.c ----------------------------------------------------------------------- */

enum { OPENCL_KERNEL_NAME = 128 }; /* a cell's has its functions */
struct gpu_kernel_handle {
    struct gpu_kernel_handle *next;
    const struct opencl_items *items; /* opencl_kernels.h */
    struct opencl_context *context;
    cl_kernel kernel;
    char name[OPENCL_KERNEL_NAME];
};

/* A kernel by its name: its program is printed, and taken from the cache or built. Refused as UNROLL_UNSUPPORTED: there
 * is none of that name. */
unroll_status opencl_find_kernel(struct opencl_context *, const char *name, gpu_kernel *);

/* For tests: programs that were built from text, and taken from the cache, in this process. */
struct opencl_counts {
    uint64_t built, cached;
};
struct opencl_counts opencl_counts(void);

/* ---- the driver ------------------------------------------------------------------------------ */

extern const struct gpu_driver gpu_driver_opencl;
unroll_status opencl_product(struct recorder *, const struct gpu_product *);

struct gpu_stream_handle {
    struct opencl_context *context;
    cl_command_queue queue;
};
/* Under the device's lock: sets the arguments, and enqueues so many items along three axes in groups of so many. */
unroll_status opencl_enqueue(gpu_stream, gpu_kernel, const size_t items[3], const size_t group[3], const void *args,
                             size_t bytes);

#endif
