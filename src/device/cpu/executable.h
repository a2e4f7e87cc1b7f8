/* A plan made ready to run on this machine: memory, addresses, kernels, threads. One executable runs one plan
 * of one rank; executables of all plans of a (model, mesh coordinate) share the weights in one store.
 * It decides nothing about training: parts run when the caller says so. */
#ifndef DEVICE_CPU_EXECUTABLE_H
#define DEVICE_CPU_EXECUTABLE_H
#include "device/cpu/kernel.h"
#include "device/device.h"

/* The segments PARAM, COPY, OPT and GRAD. Each is made, as zeros, when the first executable needs it, and
 * stays. It outlives its executables and is used by one of them at a time. */
struct store;
unroll_status store_new(const struct plan *plan, struct store **store); /* for this model and coordinate */
void store_free(struct store *store);                                   /* NULL is allowed */

struct executable_config {
    const struct cpu_isa *isa;
    int threads;
    bool chooses;             /* threads is the most: each phase runs on all or on the caller's, as is faster */
    struct unroll_comm *comm; /* NULL: alone */
    bool silent;              /* as in struct device_options */
    bool profile;             /* the time of each operation is taken */
};

struct executable;
/* After this nothing allocates. The plan outlives the executable. */
unroll_status executable_new(const struct plan *plan, struct store *store, const struct executable_config *config,
                             struct executable **executable);
void executable_free(struct executable *executable); /* NULL is allowed */

/* Returns when all operations of the phase have ended, or with the first error: buffers then hold anything. */
unroll_status executable_run(struct executable *executable, enum phase phase);

/* For tests: one operation of the plan on the caller's thread alone, a team of one. Its place in the order is
 * the caller's business. executable_work() then tells of this operation. */
unroll_status executable_run_op(struct executable *executable, int op);

/* NULL: the plan has no buffer of that name, or none of its operations needs it here. */
void *executable_buffer(struct executable *executable, const char *name);

struct work executable_work(const struct executable *executable);          /* counted by the kernels of the last run */
uint64_t executable_memory_estimate(const struct plan *plan, int threads); /* what the next will be */

#endif
