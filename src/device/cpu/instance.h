/* A plan made ready to run on this machine: memory, addresses, kernels, threads. One instance runs one plan
 * of one rank; instances of all plans of a (model, mesh coordinate) share the weights in one store.
 * It decides nothing about training: parts run when the caller says so. */
#ifndef DEVICE_CPU_INSTANCE_H
#define DEVICE_CPU_INSTANCE_H
#include "device/cpu/kernel.h"
#include "device/device.h"

/* The segments PARAM, COPY, OPT and GRAD. Each is made, as zeros, when the first instance needs it, and
 * stays. It outlives its instances and is used by one of them at a time. */
struct store;
unroll_status store_new(const struct plan *plan, struct store **store);    /* for this model and coordinate */
void store_free(struct store *store);                                       /* NULL is allowed */

struct instance_config {
    const struct cpu_isa *isa;
    int threads;
    bool chooses;               /* threads is the most: each part runs on all or on the caller's, as is faster */
    struct unroll_comm *comm;          /* NULL: alone */
    bool profile;               /* the time of each operation is taken */
};

struct instance;
/* After this nothing allocates. The plan outlives the instance. */
unroll_status instance_new(const struct plan *plan, struct store *store, const struct instance_config *config,
                           struct instance **instance);
void instance_free(struct instance *instance);                              /* NULL is allowed */

/* Returns when all operations of the part have ended, or with the first error: buffers then hold anything. */
unroll_status instance_run(struct instance *instance, enum part part);

/* For tests: one operation of the plan on the caller's thread alone, a team of one. Its place in the order is
 * the caller's business. instance_work() then tells of this operation. */
unroll_status instance_run_op(struct instance *instance, int op);

/* NULL: the plan has no buffer of that name, or none of its operations needs it here. */
void *instance_buffer(struct instance *instance, const char *name);

struct work instance_work(const struct instance *instance);     /* counted by the kernels of the last run */
uint64_t instance_forecast(const struct plan *plan, int threads);   /* what the next will be */
uint64_t instance_bytes(const struct instance *instance);       /* memory of its own, without the store's */

const struct plan    *instance_plan(const struct instance *instance);
const struct cpu_isa *instance_isa(const struct instance *instance);
int                   instance_threads(const struct instance *instance);
const struct op_time *instance_time(const struct instance *instance, int op);   /* NULL: not taken */

#endif
