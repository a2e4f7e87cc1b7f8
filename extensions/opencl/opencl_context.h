/* An OpenCL device, opened once in a process: its properties, its context, its single buffer of memory, and its
 * kernels by name. Also the driver's side of the common code in extensions/gpu. */
#ifndef DEVICE_OPENCL_CONTEXT_H
#define DEVICE_OPENCL_CONTEXT_H
#include "extensions/gpu/gpu_launch.h"
#include "extensions/opencl/opencl_api.h"
#include <pthread.h>

enum { OPENCL_QUEUES_MAX = 256, OPENCL_LIBRARY_NAME = 96 };

/* The form of kernels for a device: elements of a vector; rows and vectors that an item of a product sums; items
 * that share a panel; items of a group; and elements that an item of an elementwise kernel handles. */
struct opencl_form {
    uint32_t width, rows, vectors, lanes, group, run;
    bool has_fp64, fuses, divides; /* doubles; hardware fma; correctly rounded division and square root */
};

/* A block of memory; blocks are listed by address. */
struct opencl_block {
    struct opencl_block *next;
    uint64_t at, bytes;
    bool used;
};

/* All memory of the device is one buffer object, so that an address is an offset into it. */
struct opencl_heap {
    cl_mem memory;
    uint64_t bytes; /* of the object */
    struct opencl_block *first;
};

struct opencl_context {
    struct gpu gpu; /* first: the part that the common code uses */
    struct opencl_context *next;
    cl_device_id device;
    cl_context context;
    char name[OPENCL_LIBRARY_NAME], driver[OPENCL_LIBRARY_NAME], platform[OPENCL_LIBRARY_NAME];
    uint64_t memory, piece_max; /* bytes: total, and maximum of an object */
    uint32_t units, group_max, argument_max;
    struct opencl_form form;
    pthread_mutex_t lock; /* guards all members below, and setting arguments and launching */
    struct opencl_heap heap;
    cl_command_queue queue[OPENCL_QUEUES_MAX]; /* all open queues; the first is ours, for memory */
    int queues;
    struct gpu_kernel_handle *kernels; /* found so far */
    struct opencl_program *programs;   /* opencl_program.c */
};

/* Opens the device and keeps it open. which: "1" for the second device of this machine; NULL: the first. */
unroll_status opencl_context_open(const char *which, struct opencl_context **);

/* Describes the devices without opening them. */
unroll_status opencl_describe(char *text, size_t size);

static inline struct opencl_context *opencl_of(struct gpu *gpu) { return (struct opencl_context *)gpu; }

/* ---- opencl_memory.c: the caller holds the lock -------------------------------------------- */

/* Allocates zeroed memory. what: "activations", for the message. */
unroll_status opencl_take(struct opencl_context *, uint64_t bytes, const char *what, const char *fix, gpu_address *);
void opencl_give(struct opencl_context *, gpu_address);

/* ---- opencl_program.c ----------------------------------------------------------------------- */

enum { OPENCL_KERNEL_NAME = 128 }; /* a cell's name includes its functions */
struct gpu_kernel_handle {
    struct gpu_kernel_handle *next;
    const struct opencl_kernel *items; /* opencl_kernels.h */
    struct opencl_context *context;
    cl_kernel kernel;
    char name[OPENCL_KERNEL_NAME];
};

/* Finds a kernel by name; prints its program and loads it from the cache or builds it if necessary. Returns
 * UNROLL_UNSUPPORTED if there is no such kernel. */
unroll_status opencl_find_kernel(struct opencl_context *, const char *name, gpu_kernel *);

/* Programs built from text, and loaded from the cache, in this process. For tests. */
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
/* Sets the arguments and enqueues `items` items along three axes, in groups of `group`, under the device's lock. */
unroll_status opencl_enqueue(gpu_stream, gpu_kernel, const size_t items[3], const size_t group[3], const void *args,
                             size_t bytes);

#endif
