/* Reads the serialized module of a compiled program (xla/service/hlo.proto, openxla/xla): the compiler's cost
 * estimate of each operation, the turns of loops, and the arguments whose memory is reused for results. Independent
 * of plugins and plans. Any input is safe to read; invalid input gives an error. */
#ifndef DEVICE_XLA_COMPILED_H
#define DEVICE_XLA_COMPILED_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { COMPILED_COSTLIEST = 8, COMPILED_ARGUMENTS = 2048 };

/* An operation; inside a loop, all turns together. */
struct compiled_cost {
    char name[64];
    double cycles, turns;
};

struct compiled {
    double cycles;                                      /* the compiler's estimate for one run */
    double loop_cycles;                                 /* of these, inside loops */
    double turns;                                       /* of all loops together */
    int priced, loops;                                  /* operations with an estimate, each counted once; loops */
    struct compiled_cost costliest[COMPILED_COSTLIEST]; /* highest first; an empty name ends the list */
    int aliases;                                        /* arguments whose memory a result reuses */
    bool aliased[COMPILED_ARGUMENTS];
};

/* format: the plugin's name for it, "hlo" or "hlo_with_config". */
unroll_status read_compiled(const void *bytes, size_t size, const char *format, struct compiled *);

#endif
