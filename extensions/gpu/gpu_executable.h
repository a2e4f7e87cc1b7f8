/* A plan ready to run on a GPU: memory, streams, and one graph for each phase. A driver fills its struct device with
 * these functions and those of stores. */
#ifndef DEVICE_GPU_GPU_EXECUTABLE_H
#define DEVICE_GPU_GPU_EXECUTABLE_H
#include "device/device.h"
#include "extensions/gpu/gpu_launch.h"
#include "extensions/gpu/gpu_ranks.h"
#include "device/staged.h"

/* PARAM, OPT and GRAD of a model, shared by all its executables, which run one after another on one stream. */
struct gpu_store {
    const struct gpu_driver *driver;
    struct gpu *gpu;     /* NULL: no executable yet */
    struct ranks *ranks; /* NULL: a single rank */
    const struct unroll_model *model;
    struct gpu_executable *executables; /* list of all executables, linked by `next` */
    gpu_stream stream;
    gpu_address base[SEG_N];
    uint64_t bytes[SEG_N];
};

/* Units of execution: the phases and PHASE_BACKWARD_SUM. */
enum { RUNS = PHASE_N + 1 };

/* Offsets in an executable's device memory. */
struct gpu_layout {
    uint64_t segment[SEG_N], tables, numbers;
    uint64_t queue[QUEUES_MAX], scratch, kept, total; /* queue: a workspace, scratch, a kept gradient */
    uint64_t values, under_way, host;                 /* offsets in pinned memory, after IO */
};

/* Which side has the newer contents of a buffer of IO. VALUES count as one buffer. */
enum newer { BOTH, ON_HOST, ON_DEVICE };

struct gpu_executable {
    const struct gpu_driver *driver;
    const struct plan *plan;
    struct gpu_store *store;
    struct gpu_executable *next;
    struct gpu *gpu;
    struct gpu_layout layout;
    struct recorder recorder;
    struct gpu_comm device_comm; /* if there are other ranks */
    struct kept kept[QUEUES_MAX];
    gpu_address arena;
    char *mirror;         /* IO, then VALUES, in pinned host memory */
    unsigned char *newer; /* enum newer of each buffer of IO, then of VALUES */
    int queues;
    gpu_stream stream[QUEUES_MAX];            /* the first is the store's */
    gpu_event fork, join[QUEUES_MAX], *ended; /* ended[op]: recorded where another queue waits for op */
    uint64_t launches[RUNS];
    gpu_graph graph[RUNS];           /* NULL: nothing to do, too long, or no graphs: kernels are launched each time */
    bool captures;                   /* launches are being captured into a graph */
    struct gpu_profile *profile;     /* for each operation; NULL: not requested */
    const struct gpu_ranges *ranges; /* named after operations; NULL: not requested */
    gpu_event span_begin, span_end;  /* around the runs since the last time request; NULL: never requested */
    bool in_span;                    /* a span has begun */
    bool waiting;                    /* there are launches that the host has not waited for */
    struct staged
        *staged; /* the host exchanges messages with other ranks; NULL: the driver does, or there are no other ranks */
    char isa[40];
};

void gpu_lay_out(const struct gpu_driver *, const struct plan *, struct gpu_layout *);
uint64_t gpu_memory_estimate(const struct gpu_driver *, const struct plan *);

unroll_status gpu_store_new(const struct gpu_driver *, const struct plan *, void **store);
void gpu_store_free(void *store);
unroll_status gpu_executable_new(const struct plan *, void *store, const struct device_options *, void **executable);
void gpu_executable_free(void *executable);
uint64_t gpu_bytes(const void *executable);
const char *gpu_isa(const void *executable);
int gpu_threads(const void *executable);

/* Writes the initial VALUES. */
void gpu_begin_values(struct gpu_executable *);
/* With several ranks: connects to the others, then captures the graphs. Called after all ranks have made their
 * executable. */
unroll_status gpu_join(void *executable);
/* Walks all operations of a phase in order, over the queues; gpu_walk_range walks only those in [first, end) of the
 * list. */
unroll_status gpu_walk(struct gpu_executable *, enum phase, enum walk);
unroll_status gpu_walk_range(struct gpu_executable *, enum phase, int first, int end, enum walk);
unroll_status gpu_wait(void *executable);
/* Prepares the operations that exchange data by running each once. */
unroll_status gpu_greet(struct gpu_executable *);
unroll_status gpu_run(void *executable, enum phase first, enum phase last);
unroll_status gpu_run_range(void *executable, enum phase, int first, int end); /* for staged executables */
void *gpu_host(void *executable, const char *buffer);
unroll_status gpu_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
unroll_status gpu_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);

/* gpu_profile.c: marks before and after the launches of an operation, and collects the times after a phase. */
unroll_status gpu_profile_new(struct gpu_executable *);
void gpu_profile_free(struct gpu_executable *);
unroll_status gpu_profile_prepare(struct gpu_executable *, int op, bool launches);
unroll_status gpu_profile_mark(struct gpu_executable *, int op, bool ends);
unroll_status gpu_profile_collect(struct gpu_executable *, enum phase);
/* The device's span (device.h). */
unroll_status gpu_span(void *executable, double *seconds);
unroll_status gpu_span_mark(struct gpu_executable *, bool ends);
const struct op_time *gpu_time(const void *executable, int op);

/* Counters of this process, for tests: graphs made and launched, and runs of phases without a graph. */
struct gpu_counts {
    uint64_t graphs, graph_launches, plain_runs, copied_in; /* bytes of inputs and values that the host had changed */
};
struct gpu_counts gpu_counts(void);
void gpu_count(uint64_t graphs, uint64_t graph_launches, uint64_t plain_runs);

#endif
