/* A plan ready to run on a GPU: memory, streams, one graph for each part. Its functions, and those of stores, are
 * what cuda.c puts behind device.h. */
#ifndef DEVICE_CUDA_INSTANCE_H
#define DEVICE_CUDA_INSTANCE_H
#include "device/cuda/launch.h"
#include "device/device.h"

/* PARAM, OPT and GRAD of a model, for all its instances, which run one after the other on one stream. */
struct cuda_store {
    struct cuda_context *context;       /* NULL: no instance yet */
    const struct unroll_model *model;
    cu_stream stream;
    cu_ptr    base[SEG_N];
    uint64_t  bytes[SEG_N];
};

/* Where an instance's memory on the device begins with what. */
struct cuda_layout {
    uint64_t segment[SEG_N], tables, lane[LANES_MAX], scratch, kept, total, host;     /* lane: a workspace, scratch, a kept gradient */
};

/* Which side has the newer contents of a buffer of IO; VALUES are one. */
enum newer { BOTH, ON_HOST, ON_DEVICE };

struct cuda_instance {
    const struct plan   *plan;
    struct cuda_store   *store;
    struct cuda_context *context;
    struct cuda_layout   layout;
    struct walker        walker;
    struct kept          kept[LANES_MAX];
    cu_ptr    arena;
    char     *mirror;                   /* IO, then VALUES, in pinned memory of the host */
    unsigned char *newer;               /* enum newer of each buffer of IO; after the last one that of VALUES */
    int       lanes;
    cu_stream stream[LANES_MAX];        /* the first is the store's */
    cu_event  fork, join[LANES_MAX], *ended;    /* ended[op]: where another lane waits for it */
    uint64_t  launches[PART_N];
    cu_exec   graph[PART_N];            /* NULL: nothing to do, or too long: launched each time */
    bool      captures;                 /* what is launched now goes into a graph */
    struct cuda_profile *profile;       /* of each operation; NULL: not asked for */
    bool      waiting;                  /* something was launched that nobody waited for */
    char      isa[32];
};

void cuda_lay_out(const struct plan *, struct cuda_layout *);

unroll_status cuda_store_new(const struct plan *, void **store);
void          cuda_store_free(void *store);
unroll_status cuda_instance_new(const struct plan *, void *store, const struct device_options *, void **instance);
void          cuda_instance_free(void *instance);

struct json_t;
unroll_status cuda_explain(const struct plan *, const char *which, FILE *, struct json_t *);    /* device.h */

/* What VALUES hold at first. */
void cuda_begin_values(struct cuda_instance *);
/* All operations of a part, in order, over lanes. */
unroll_status cuda_walk(struct cuda_instance *, enum part, enum walk);
unroll_status cuda_run(void *instance, enum part first, enum part last);
void         *cuda_host(void *instance, const char *buffer);
unroll_status cuda_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to);
unroll_status cuda_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes, const void *from);

/* profile.c: before and after what an operation launches, and when a part has ended. */
unroll_status cuda_profile_new(struct cuda_instance *);
void          cuda_profile_free(struct cuda_instance *);
unroll_status cuda_profile_prepare(struct cuda_instance *, int op, bool launches);
unroll_status cuda_profile_mark(struct cuda_instance *, int op, bool ends);
unroll_status cuda_profile_collect(struct cuda_instance *, enum part);
const struct op_time *cuda_time(const void *instance, int op);

/* What a process has done so far, for tests: graphs made and launched, parts that were too long for one. */
struct cuda_counts { uint64_t graphs, graph_launches, plain_runs; };
struct cuda_counts cuda_counts(void);
void cuda_count(uint64_t graphs, uint64_t graph_launches, uint64_t plain_runs);

#endif
