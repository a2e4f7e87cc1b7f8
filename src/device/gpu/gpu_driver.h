/* What a GPU's driver gives to what all GPUs share (this folder): memory, streams, kernels, products, and where it has
 * them graphs, recurrences of its own and messages. One table for each kind of driver; knows no driver by name.
 *
 * Handles are the driver's: nobody here looks behind them. A stream is a queue that works in order; events order
 * streams. A device address is a number that only grows by offsets: a pointer of the device, or an offset in one piece
 * of memory where addresses do not exist. 0 is none. Structs of arguments (gpu_kernels.h) and views hold such numbers
 * as pointers, which the host never follows. */
#ifndef DEVICE_GPU_DRIVER_H
#define DEVICE_GPU_DRIVER_H
#include "comm/comm.h"
#include "plan/plan.h"

typedef uint64_t gpu_address;
typedef struct gpu_stream_handle *gpu_stream;
typedef struct gpu_event_handle *gpu_event;
typedef struct gpu_graph_handle *gpu_graph; /* launches that were recorded, to be launched as one */
typedef struct gpu_kernel_handle *gpu_kernel;

/* An open device, which stays open: the driver's own struct begins with it. */
struct gpu {
    const struct gpu_driver *driver;
    int index;    /* of this machine, in sentences */
    char isa[16]; /* "sm_90" */
};

/* All that a launch may have: blocks of threads along two axes; for kernels that want them memory shared by a block,
 * clusters of so many blocks (0 or 1: none), and blocks that all run at once. */
struct launch_shape {
    uint64_t x, y;
    unsigned threads, shared_bytes, cluster;
    bool cooperative;
};

struct recorder; /* gpu_launch.h */
struct gpu_product;
struct products; /* the driver's: planned products by shape */
struct rnn;      /* gpu_rnn.h */
struct gpu_comm; /* gpu_ranks.h */
struct ranks;    /* the driver's: who exchanges what with whom */

/* Several devices of one kind that exchange what lies in their memory. */
struct gpu_ranks_driver {
    unroll_status (*check)(const struct plan *); /* refuses what it can't exchange */
    /* The number of the device that a rank takes, if nobody says. */
    unroll_status (*choose)(const struct unroll_comm *, char *number, size_t size);
    /* let_go(owner) is called when somebody was lost, before what is under way is given up: it destroys the graphs that
     * hold messages. */
    unroll_status (*make)(struct unroll_comm *, void (*let_go)(void *), void *owner, struct ranks **);
    void (*free)(struct ranks *);
    /* Collective: connects the groups of the plan that are not connected yet. */
    unroll_status (*join)(struct ranks *, const struct plan *);
    /* Enqueues on the stream of the recorder's communicator: a message or a sum, of f32 or f64. */
    unroll_status (*exchange)(const struct recorder *, const struct op *, char *at, uint64_t count, enum dtype);
    /* Until the stream has done all; fails if somebody is lost, or silent for the timeout of the ranks. */
    unroll_status (*wait)(struct gpu_comm *, const struct plan *, gpu_stream);
};

/* Names for a profiler: what this thread launches between begin and end is inside a range. The text is copied. */
struct gpu_ranges {
    void (*begin)(const char *text);
    void (*end)(void);
};

/* Functions of memory, streams and kernels are called between enter and leave. `doing` and `what` are for sentences.
 * Those that free take NULL and 0, too. */
struct gpu_driver {
    uint64_t workspace_bytes;    /* of products, for each stream; 0: they take none */
    uint32_t bias_alignment;     /* bytes at multiples of which products read a bias; 1: anywhere */
    uint32_t panel;              /* columns of a product that read b side by side (gpu_pack); 0: b is read as it lies */
    uint64_t blocks_x, blocks_y; /* of a launch, at most */

    /* which: what follows "NAME:" in the name of the device; NULL: the first. */
    unroll_status (*open)(const char *which, struct gpu **);
    /* The device becomes that of this thread, and the one before comes back. */
    unroll_status (*enter)(struct gpu *);
    void (*leave)(struct gpu *);

    /* Zeroed device memory; bytes 0: none. Memory of the host that copies read and write while it works on. */
    unroll_status (*alloc)(struct gpu *, uint64_t bytes, const char *what, const char *fix, gpu_address *);
    void (*free)(struct gpu *, gpu_address);
    unroll_status (*host_alloc)(struct gpu *, uint64_t bytes, void **);
    void (*host_free)(struct gpu *, void *);
    unroll_status (*copy_in)(gpu_stream, gpu_address to, const void *from, uint64_t bytes, const char *doing);
    unroll_status (*copy_out)(gpu_stream, void *to, gpu_address from, uint64_t bytes, const char *doing);

    unroll_status (*stream_new)(struct gpu *, gpu_stream *);
    void (*stream_free)(gpu_stream);
    /* The host waits until it has done all; doing NULL: what went wrong is nobody's business any more. */
    unroll_status (*stream_wait)(gpu_stream, const char *doing);
    unroll_status (*event_new)(struct gpu *, bool timed, gpu_event *);
    void (*event_free)(gpu_event);
    unroll_status (*event_record)(gpu_event, gpu_stream);
    unroll_status (*event_time)(gpu_event, gpu_stream, bool recorded); /* of a timed one; recorded: into a graph */
    unroll_status (*event_seconds)(gpu_event first, gpu_event last, double *seconds);
    unroll_status (*stream_after)(gpu_stream, gpu_event); /* what comes next waits for the event */

    /* What is launched between begin and end, on this stream and on those that wait for its events, is recorded and not
     * run. NULL in the place of a graph: it is dropped, and nothing said. All four NULL: there are no graphs, and a run
     * launches each time. */
    unroll_status (*graph_begin)(gpu_stream);
    unroll_status (*graph_end)(gpu_stream, gpu_graph *);
    unroll_status (*graph_launch)(gpu_graph, gpu_stream);
    void (*graph_free)(gpu_graph);

    /* A kernel by name, which stays; prepared once for each shape, before launches of it. args: the kernel's struct. */
    unroll_status (*kernel_find)(struct gpu *, const char *name, gpu_kernel *);
    unroll_status (*kernel_prepare)(struct gpu *, gpu_kernel, const struct launch_shape *);
    unroll_status (*kernel_launch)(gpu_stream, gpu_kernel, const char *name, const struct launch_shape *,
                                   const void *args, size_t bytes);

    /* A product whose operands are as the plan's precision wants them: planned (PREPARE), then run (LAUNCH). */
    unroll_status (*product)(struct recorder *, const struct gpu_product *);
    void (*products_free)(struct products *);

    /* A recurrence in a way of its own; *done false: step by step is better. Measured, when no device is known, it
     * takes the scratch of any way and does nothing. NULL: always step by step. */
    unroll_status (*rnn)(const struct rnn *, bool back, bool *done);

    /* *ranges: stays NULL if no profiler asks for names. NULL: none can. */
    unroll_status (*ranges)(const struct gpu_ranges **ranges);

    const struct gpu_ranks_driver *ranks; /* NULL: one device alone */
};

#endif
