/* A plan ready to run on this machine: memory, addresses, kernels, threads. An executable runs one plan of one rank.
 * Executables of one (model, mesh coordinate) share the weights in a store. The caller decides which phases run
 * when. */
#pragma once
#include "device/cpu/kernels/kernel.h"
#include "device/device.h"

/* The segments PARAM, COPY, OPT and GRAD. Each is allocated with zeros when the first executable needs it, and kept.
 * The store must outlive its executables; only one may use it at a time. */
struct store;
unroll_status store_new(const struct plan *plan, struct store **store); /* for this model and coordinate */
void store_free(struct store *store);                                   /* NULL is allowed */

struct executable_config {
    const struct cpu_isa *isa;
    int threads;
    bool chooses;             /* `threads` is a maximum: each phase runs on all or on the caller's, whichever is
                               * faster */
    struct unroll_comm *comm; /* NULL: a single rank */
    bool silent;              /* as in struct device_options */
    bool profile;             /* measure the time of each operation */
    const unroll_allocator *allocator; /* copied; NULL: none */
};

struct executable;
/* Creates an executable; later calls do not allocate. The plan must outlive the executable. */
unroll_status executable_new(const struct plan *plan, struct store *store, const struct executable_config *config,
                             struct executable **executable);
void executable_free(struct executable *executable); /* NULL is allowed */

/* Runs all operations of the phase. After an error the contents of buffers are undefined. */
unroll_status executable_run(struct executable *executable, enum phase phase);

/* For tests: runs one operation of the plan on the caller's thread. The caller must respect the order of operations.
 * executable_work() then counts this operation. */
unroll_status executable_run_op(struct executable *executable, int op);

/* Returns the address of a buffer. NULL: the plan has none of that name, or no operation of this rank uses it. */
void *executable_buffer(struct executable *executable, const char *name);

struct work executable_work(const struct executable *executable);          /* counted by the kernels in the last run */
uint64_t executable_memory_estimate(const struct plan *plan, int threads); /* bytes of an executable for this plan */
