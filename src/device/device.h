/* The interface of a device, a row of device_table.c. A device allocates the segments of a finished plan, binds kernels
 * to its operations and runs its phases. It uses plans and cells (through their table), but not models or sessions. */
#pragma once
#include "comm/comm.h"
#include "plan/ir/plan.h"
#include <stdio.h>

struct json_t;
struct outside_update; /* nn/optim/optim.h */

struct device_options {
    const char *which;        /* the text after "NAME:" in the device's name, or NULL */
    const char *isa;          /* NULL: the best available */
    int threads;              /* maximum; 0: one per processor that may be used */
    struct unroll_comm *comm; /* NULL: a single rank */
    bool silent;              /* no phase with messages will run: the plan may be another rank's and needs no comm */
    bool staged;              /* ranks are on devices of different kinds: the host sends messages (staged.h) */
    bool profile;             /* measure the time of each operation */
    int mesh[M_N];            /* for a device with `cuts`: how it divides the whole plan; 0: not divided */
    const unroll_allocator *allocator; /* for the arrays of a plan, on the CPU only; NULL: none */
};

/* Times of the runs of an operation. */
struct op_time {
    double min, seconds;
    long runs;
};

/* A store contains PARAM, COPY, OPT and GRAD of one model and mesh coordinate, for all its executables. An executable
 * is a plan ready to run: after executable_new nothing allocates. Both are opaque structs of the device. */
struct device {
    const char *name;
    const char *short_name;                          /* a name that means NAME:SHORT_NAME; NULL: none */
    unroll_status (*about)(char *text, size_t size); /* describes the hardware found, or fails with the reason why none
                                                      * was */
    struct device_traits (*traits)(const char *isa); /* traits for plans with this ISA; NULL: none */
    bool cuts;           /* one process drives several devices: the plan is whole, and the device cuts it */
    unsigned precisions; /* supported by its products: a set of 1 << PRECISION_.. */
    int workers;         /* number of workers that queues are made for; 0: the threads of the session */
    bool skips_ended;    /* inputs beyond the lengths of their rows are never read and may have any value */
    bool whole_steps;    /* whole steps are faster in one call, with the loss read later (run) */
    bool forks;          /* its executables remain usable in a forked child */

    unroll_status (*store_new)(const struct plan *, void **store);
    void (*store_free)(void *store);
    unroll_status (*executable_new)(const struct plan *, void *store, const struct device_options *, void **executable);
    void (*executable_free)(void *executable);

    /* Collective: called once all ranks have created their executables, before the first run, so that ranks that
     * communicate can connect. NULL: not needed. */
    unroll_status (*join)(void *executable);

    /* Runs the phases first .. last in order; BACKWARD and SUM run together if they overlap. After an error the
     * contents of buffers are undefined. Later reads by the host wait for completion; run itself need not. FORWARD to
     * UPDATE is a whole step: it starts with zero gradients, divides by its own weight, and adds its sums of losses to
     * those in VALUES. Only devices with whole_steps get such calls. */
    unroll_status (*run)(void *executable, enum phase first, enum phase last);

    /* Returns the seconds of runs since the last call, by the device's own clock. NULL: the caller times its runs. */
    double (*seconds)(void *executable);

    /* Measures from the start of the first run since the last call to the end of the last run, by the device's clock,
     * excluding host time. Waits. The first call starts the measurement; then, and without a run, *seconds is 0. NULL:
     * the device has no such clock. */
    unroll_status (*span)(void *executable, double *seconds);

    /* Waits for the end of all runs and returns their error. NULL: a run itself waits. */
    unroll_status (*wait)(void *executable);

    /* Returns the host address of a buffer of the segments IO and VALUES, valid between two runs. NULL: the plan has no
     * such buffer, or this rank does not use it. */
    void *(*host)(void *executable, const char *buffer);

    /* Transfers bytes [first, first + bytes) of any buffer. */
    unroll_status (*read)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
    unroll_status (*write)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);

    /* Updates weights outside of the plan in the caller's thread, with the bits of the plan's updates. NULL: not
     * supported. */
    void (*update)(void *executable, const struct outside_update *);

    uint64_t (*memory_estimate)(const struct plan *, int threads); /* memory of an executable, within 2% */
    uint64_t (*bytes)(const void *executable);                     /* memory of the executable without the store */
    const char *(*isa)(const void *executable);                    /* the instruction set in use: "avx512" */
    int (*threads)(const void *executable);
    /* Prints the predicted time of a step on hardware that is not present. NULL: not supported. */
    unroll_status (*estimate)(const struct plan *const *plan, int ranks, const char *which, const char *topology,
                              FILE *, bool json);
    /* Adds this device's execution to a printed plan, as lines or as members of `json` if given. NULL: nothing to
     * add. */
    unroll_status (*explain)(const struct plan *, const char *which, FILE *, struct json_t *json);
    /* Returns how often the work was divided again among its ranks during runs; part[room] are the shares of an
     * update's FLOPs, *ranks their number. NULL: it has no ranks. */
    int (*divided)(const void *executable, double *part, int room, int *ranks);
    const struct piece_counts *(*pieces)(const void *executable, int op); /* NULL: it runs no pieces of time */
    const struct op_time *(*time)(const void *executable, int op); /* returns NULL if times are not measured; NULL:
                                                                    * never */
};

const struct device *device_at(int index);       /* NULL after the last */
unroll_status device_add(const struct device *); /* for tests: adds a device */
/* Finds "cpu", or a name with an option for the device: "xla:/path/plugin.so"; or a short name. Returns NULL for an
 * unknown name. */
const struct device *device_find(const char *name, const char **which);
/* Does the same, and fails with the list of names. */
unroll_status device_choose(const char *name, const struct device **, const char **which);
/* Parses a precision of products: "bf16". NULL means fp32, also if the plan computes in fp64. Fails if the device does
 * not support it. */
unroll_status device_precision(const struct device *, const char *name, enum precision *);
