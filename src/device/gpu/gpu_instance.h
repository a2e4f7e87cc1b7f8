/* A plan ready to run on a GPU: memory, streams, one graph for each part. Its functions, and those of stores, are
 * what a driver's struct device is made of. */
#ifndef DEVICE_GPU_INSTANCE_H
#define DEVICE_GPU_INSTANCE_H
#include "device/device.h"
#include "device/gpu/gpu_launch.h"
#include "device/gpu/gpu_ranks.h"

/* PARAM, OPT and GRAD of a model, for all its instances, which run one after the other on one stream. */
struct gpu_store {
    const struct gpu_driver *driver;
    struct gpu *gpu;                    /* NULL: no instance yet */
    struct ranks *ranks;                /* NULL: alone */
    const struct unroll_model *model;
    gpu_stream  stream;
    gpu_address base[SEG_N];
    uint64_t    bytes[SEG_N];
};

/* What runs as one: a part, or PART_BACKWARD_SUM. */
enum { RUNS = PART_N + 1 };

/* Where an instance's memory on the device begins with what. */
struct gpu_layout {
    uint64_t segment[SEG_N], tables, numbers;
    uint64_t lane[LANES_MAX], scratch, kept, total;     /* lane: a workspace, scratch, a kept gradient */
    uint64_t values, under_way, host;   /* in pinned memory: after IO */
};

/* Which side has the newer contents of a buffer of IO; VALUES are one. */
enum newer { BOTH, ON_HOST, ON_DEVICE };

struct gpu_instance {
    const struct gpu_driver *driver;
    const struct plan *plan;
    struct gpu_store  *store;
    struct gpu        *gpu;
    struct gpu_layout  layout;
    struct walker      walker;
    struct gpu_talk    talk;            /* if there are other ranks */
    struct kept        kept[LANES_MAX];
    gpu_address arena;
    char     *mirror;                   /* IO, then VALUES, in pinned memory of the host */
    unsigned char *newer;               /* enum newer of each buffer of IO; after the last one that of VALUES */
    int       lanes;
    gpu_stream stream[LANES_MAX];       /* the first is the store's */
    gpu_event fork, join[LANES_MAX], *ended;    /* ended[op]: where another lane waits for it */
    uint64_t  launches[RUNS];
    gpu_graph graph[RUNS];              /* NULL: nothing to do, too long, or no graphs: launched each time */
    bool      captures;                 /* what is launched now goes into a graph */
    struct gpu_profile *profile;       /* of each operation; NULL: not asked for */
    bool      waiting;                  /* something was launched that nobody waited for */
    char      isa[40];
};

void gpu_lay_out(const struct gpu_driver *, const struct plan *, struct gpu_layout *);
uint64_t gpu_forecast(const struct gpu_driver *, const struct plan *);

unroll_status gpu_store_new(const struct gpu_driver *, const struct plan *, void **store);
void          gpu_store_free(void *store);
unroll_status gpu_instance_new(const struct plan *, void *store, const struct device_options *, void **instance);
void          gpu_instance_free(void *instance);
uint64_t      gpu_bytes(const void *instance);
const char   *gpu_isa(const void *instance);
int           gpu_threads(const void *instance);

/* What VALUES hold at first. */
void gpu_begin_values(struct gpu_instance *);
/* Of several ranks, after all have made their instance: finds the others, then captures. */
unroll_status gpu_join(void *instance);
/* All operations of a part, in order, over lanes. */
unroll_status gpu_walk(struct gpu_instance *, enum part, enum walk);
unroll_status gpu_wait(void *instance);
/* Prepares what exchanges something, which does so once. */
unroll_status gpu_greet(struct gpu_instance *);
unroll_status gpu_run(void *instance, enum part first, enum part last);
void         *gpu_host(void *instance, const char *buffer);
unroll_status gpu_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to);
unroll_status gpu_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes, const void *from);

/* gpu_profile.c: before and after what an operation launches, and when a part has ended. */
unroll_status gpu_profile_new(struct gpu_instance *);
void          gpu_profile_free(struct gpu_instance *);
unroll_status gpu_profile_prepare(struct gpu_instance *, int op, bool launches);
unroll_status gpu_profile_mark(struct gpu_instance *, int op, bool ends);
unroll_status gpu_profile_collect(struct gpu_instance *, enum part);
const struct op_time *gpu_time(const void *instance, int op);

/* What a process has done so far, for tests: graphs made and launched, parts that were too long for one. */
struct gpu_counts { uint64_t graphs, graph_launches, plain_runs; };
struct gpu_counts gpu_counts(void);
void gpu_count(uint64_t graphs, uint64_t graph_launches, uint64_t plain_runs);

#endif
