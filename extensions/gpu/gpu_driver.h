/* The interface between a GPU driver and the code that all GPUs share (this folder): memory, streams, kernels and
 * products, and, where the driver has them, graphs, its own recurrences and messages. Each kind of driver fills in
 * one table; the shared code names no driver.
 *
 * Handles belong to the driver and are opaque here. A stream is a queue that runs in order; events order streams. A
 * device address is a number that supports only offsets: a device pointer, or an offset into one allocation on
 * devices without addresses. 0 is no address. Argument structs (gpu_kernels.h) and views store these numbers as
 * pointers, which the host never dereferences. */
#ifndef DEVICE_GPU_DRIVER_H
#define DEVICE_GPU_DRIVER_H
#include "comm/comm.h"
#include "plan/ir/plan.h"

typedef uint64_t gpu_address;
typedef struct gpu_stream_handle *gpu_stream;
typedef struct gpu_event_handle *gpu_event;
typedef struct gpu_graph_handle *gpu_graph; /* recorded launches, launched as one */
typedef struct gpu_kernel_handle *gpu_kernel;

/* An open device, which stays open. The driver's own struct begins with it. */
struct gpu {
    const struct gpu_driver *driver;
    int index;    /* on this machine, for messages */
    char isa[16]; /* "sm_90" */
};

/* Everything a launch can specify: the kernel's rows of `width` elements, from which a driver may derive its own shape;
 * blocks of threads along two axes and, for kernels that need them, shared memory per block, the cluster size in blocks
 * (0 or 1: no clusters), and whether all blocks must be resident at once. */
struct launch_shape {
    uint64_t rows, width, x, y;
    unsigned threads, shared_bytes, cluster;
    bool cooperative;
};

struct recorder; /* gpu_launch.h */
struct gpu_product;
struct products; /* the driver's planned products, by shape */
struct rnn;      /* gpu_rnn.h */
struct gpu_comm; /* gpu_ranks.h */
struct ranks;    /* the driver's connections between ranks */

/* Several devices of one kind that exchange device memory. */
struct gpu_ranks_driver {
    unroll_status (*check)(const struct plan *); /* rejects what it cannot exchange */
    /* Chooses the device of a rank if the user did not. */
    unroll_status (*choose)(const struct unroll_comm *, char *number, size_t size);
    /* let_go(owner) is called after a rank was lost and before the work in flight is aborted. It destroys the graphs
     * that contain messages. */
    unroll_status (*make)(struct unroll_comm *, void (*let_go)(void *), void *owner, struct ranks **);
    void (*free)(struct ranks *);
    /* Collective: connects the groups of the plan that are not connected yet. */
    unroll_status (*join)(struct ranks *, const struct plan *);
    /* Enqueues a message or a sum of f32 or f64 on the stream of the recorder's communicator. */
    unroll_status (*exchange)(const struct recorder *, const struct op *, char *at, uint64_t count, enum dtype);
    /* Waits until the stream is idle. Fails if a rank is lost, or silent for longer than the timeout of the ranks. */
    unroll_status (*wait)(struct gpu_comm *, const struct plan *, gpu_stream);
};

/* Ranges for a profiler: launches of this thread between begin and end belong to a named range. The text is copied. */
struct gpu_ranges {
    void (*begin)(const char *text);
    void (*end)(void);
};

/* Functions for memory, streams and kernels are called between enter and leave. `doing` and `what` are used in
 * messages. Functions that free also accept NULL and 0. */
struct gpu_driver {
    uint64_t workspace_bytes;    /* workspace of products, for each stream; 0: none */
    uint32_t bias_alignment;     /* alignment in bytes at which products read a bias; 1: any */
    uint32_t panel;              /* columns of b that a product reads together (gpu_pack); 0: b is read as stored */
    uint64_t blocks_x, blocks_y; /* maximum blocks of a launch */

    /* which: the part after "NAME:" in the device name; NULL: the first device. */
    unroll_status (*open)(const char *which, struct gpu **);
    /* Makes the device current for this thread; leave restores the previous one. */
    unroll_status (*enter)(struct gpu *);
    void (*leave)(struct gpu *);

    /* alloc returns zeroed device memory (bytes 0: none). host_alloc returns host memory that copies may read and
     * write asynchronously. */
    unroll_status (*alloc)(struct gpu *, uint64_t bytes, const char *what, const char *fix, gpu_address *);
    void (*free)(struct gpu *, gpu_address);
    unroll_status (*host_alloc)(struct gpu *, uint64_t bytes, void **);
    void (*host_free)(struct gpu *, void *);
    unroll_status (*copy_in)(gpu_stream, gpu_address to, const void *from, uint64_t bytes, const char *doing);
    unroll_status (*copy_out)(gpu_stream, void *to, gpu_address from, uint64_t bytes, const char *doing);

    unroll_status (*stream_new)(struct gpu *, gpu_stream *);
    void (*stream_free)(gpu_stream);
    /* Blocks the host until the stream is idle. doing NULL: errors are ignored. */
    unroll_status (*stream_wait)(gpu_stream, const char *doing);
    unroll_status (*event_new)(struct gpu *, bool timed, gpu_event *);
    void (*event_free)(gpu_event);
    unroll_status (*event_record)(gpu_event, gpu_stream);
    unroll_status (*event_time)(gpu_event, gpu_stream,
                                bool recorded); /* records a timed event; recorded: into a graph */
    unroll_status (*event_seconds)(gpu_event first, gpu_event last, double *seconds);
    unroll_status (*stream_after)(gpu_stream, gpu_event); /* what follows on the stream waits for the event */

    /* Launches between begin and end, on this stream and on streams that wait for its events, are recorded instead
     * of run. If graph_end gets NULL, it discards the graph without an error. If all four are NULL, graphs are not
     * supported and each run launches its kernels. */
    unroll_status (*graph_begin)(gpu_stream);
    unroll_status (*graph_end)(gpu_stream, gpu_graph *);
    unroll_status (*graph_launch)(gpu_graph, gpu_stream);
    void (*graph_free)(gpu_graph);

    /* A kernel is found by name and stays loaded. It is prepared once for each shape before it is launched. args:
     * the kernel's struct. */
    unroll_status (*kernel_find)(struct gpu *, const char *name, gpu_kernel *);
    unroll_status (*kernel_prepare)(struct gpu *, gpu_kernel, const struct launch_shape *);
    unroll_status (*kernel_launch)(gpu_stream, gpu_kernel, const char *name, const struct launch_shape *,
                                   const void *args, size_t bytes);

    /* A product whose operands have the plan's precision: planned (PREPARE), then run (LAUNCH). */
    unroll_status (*product)(struct recorder *, const struct gpu_product *);
    void (*products_free)(struct products *);

    /* The driver's own recurrence; *done false: use the step-by-step form. While measuring, without a known device,
     * it takes enough scratch for any form and does nothing. NULL: always step by step. */
    unroll_status (*rnn)(const struct rnn *, bool back, bool *done);

    /* *ranges stays NULL if no profiler is attached. NULL: not supported. */
    unroll_status (*ranges)(const struct gpu_ranges **ranges);

    const struct gpu_ranks_driver *ranks; /* NULL: one device only */
};

#endif
