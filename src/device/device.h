/* What a device is to the rest of the library: a row of device_table.c. A device takes a finished plan,
 * gives memory to its segments, binds kernels to its operations and runs its parts. It knows plans and
 * cells (through their table), but no model, no session and no strategy. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H
#include "comm/comm.h"
#include "plan/plan.h"
#include <stdio.h>

struct json_t;
struct outside_update; /* optim/optim.h */

struct device_options {
    const char *which;        /* what follows "NAME:" in the name of the device, or NULL */
    const char *isa;          /* NULL: the best there is */
    int threads;              /* at most so many; 0: one for each processor that may be used */
    struct unroll_comm *comm; /* NULL: alone */
    bool silent;              /* no phase with messages will be run: the plan may be another rank's, without a comm */
    bool staged;              /* other ranks are on devices of other kinds: the host sends messages (staged.h) */
    bool profile;             /* the time of each operation is taken */
    int mesh[M_N];            /* of a device with `cuts`: how it divides the plan, which is whole; 0: not */
};

/* What the runs of an operation took. */
struct op_time {
    double min, seconds;
    long runs;
};

/* A store holds PARAM, COPY, OPT and GRAD of one model and mesh coordinate, for all its executables. An executable
 * is a plan ready to run: after executable_new nothing allocates. Both are the device's own structs. */
struct device {
    const char *name;
    unroll_status (*about)(char *text, size_t size); /* what it found on this machine; refused: why nothing */
    struct device_traits (*traits)(const char *isa); /* as plans see it, with this ISA; NULL: there are none */
    bool cuts;           /* one process drives many: the plan is whole, and the device cuts it */
    unsigned precisions; /* that its products have: 1 << PRECISION_.. */
    int workers;         /* that queues are made for; 0: the threads of the session */
    bool skips_ended;    /* nothing reads inputs beyond the lengths of their rows: they may be anything */
    bool whole_steps;    /* a step is best run as one, its loss read later (run) */
    bool forks;          /* what it made goes on in a child that fork() made */

    unroll_status (*store_new)(const struct plan *, void **store);
    void (*store_free)(void *store);
    unroll_status (*executable_new)(const struct plan *, void *store, const struct device_options *, void **executable);
    void (*executable_free)(void *executable);

    /* Of several ranks: after all have made their executables, before the first run. Collective: ranks that exchange
     * something find each other. NULL: they need not. */
    unroll_status (*join)(void *executable);

    /* Runs the phases from first to last, one after the other, but BACKWARD and SUM together if they overlap; on an
     * error buffers hold anything. What the host then asks for is waited for, and nothing else need be. From FORWARD
     * to UPDATE is a whole step: it begins with no gradients, divides by its own weight, and its sums of losses are
     * added to those that VALUES holds. Devices without whole_steps are not asked for one. */
    unroll_status (*run)(void *executable, enum phase first, enum phase last);

    /* Seconds that its runs took since this was last asked, by a clock of the device's own. NULL: whoever runs it looks
     * at theirs. */
    double (*seconds)(void *executable);

    /* From the beginning of the first run since this was last asked to the end of the last one, by the clock of the
     * device, whatever the host did meanwhile. Waits. The first call begins it: then and without a run *seconds is 0.
     * NULL: the device has no such clock. */
    unroll_status (*span)(void *executable, double *seconds);

    /* What runs has ended; what it met is told here. NULL: a run itself ends. */
    unroll_status (*wait)(void *executable);

    /* Buffers of the segments IO and VALUES lie where the host can use them, between two runs. NULL: the plan
     * has no such buffer, or does not use it on this rank. */
    void *(*host)(void *executable, const char *buffer);

    /* Bytes [first, first + bytes) of any buffer. */
    unroll_status (*read)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
    unroll_status (*write)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);

    /* In the caller's thread, with the bits of the plan's updates. NULL: of numbers in plans alone. */
    void (*update)(void *executable, const struct outside_update *);

    uint64_t (*memory_estimate)(const struct plan *, int threads); /* memory that an executable will take, within 2% */
    uint64_t (*bytes)(const void *executable);                     /* memory of its own, without the store's */
    const char *(*isa)(const void *executable);                    /* what it runs on: "avx512" */
    int (*threads)(const void *executable);
    /* Prints what a step would take on devices that are not here (src/device/xla/tpu.h); NULL: it has no such
     * compiler. */
    unroll_status (*estimate)(const struct plan *const *plan, int ranks, const char *which, const char *topology,
                              FILE *, bool json);
    /* Adds to a print of the plan how this device would run it: lines, or members of the JSON object where there is
     * one. NULL: the plan says it all. */
    unroll_status (*explain)(const struct plan *, const char *which, FILE *, struct json_t *json);
    /* How often its ranks got other shares of the work while runs went on; part[room]: of an update's FLOPs, of each of
     * *ranks. NULL: it has no ranks. */
    int (*divided)(const void *executable, double *part, int room, int *ranks);
    const struct piece_counts *(*pieces)(const void *executable, int op); /* NULL: it runs no pieces of time */
    const struct op_time *(*time)(const void *executable, int op); /* NULL: not asked for; or the device takes none */
};

const struct device *device_at(int index);       /* NULL after the last */
unroll_status device_add(const struct device *); /* for tests: one more */
/* "cpu", or with what the device is told beside: "xla:/path/plugin.so"; "tpu" is "xla:tpu". NULL: there is none of that
 * name. */
const struct device *device_find(const char *name, const char **which);
/* The same, refused with the names that there are. */
unroll_status device_choose(const char *name, const struct device **, const char **which);
/* "bf16" as what a device's products multiply; NULL, and where the plan computes in fp64: fp32. Refused where it does
 * not. */
unroll_status device_precision(const struct device *, const char *name, enum precision *);

#endif
