/* What XLA's compiler made of a program, read from its serialized module (xla/service/hlo.proto, openxla/xla): what
 * the compiler expects each operation to take, how often loops turn, which arguments give their memory to results.
 * Knows no plugin and no plan. Whatever lies in the bytes, reading ends, with a sentence where they make no sense. */
#ifndef DEVICE_XLA_COMPILED_H
#define DEVICE_XLA_COMPILED_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { COMPILED_COSTLIEST = 8, COMPILED_ARGUMENTS = 2048 };

/* Of an operation in a loop: of all its turns. */
struct compiled_cost {
    char name[64];
    double cycles, turns;
};

struct compiled {
    double cycles;                                      /* the compiler's estimate for one run */
    double loop_cycles;                                 /* of these: inside loops */
    double turns;                                       /* of all loops together */
    int priced, loops;                                  /* operations that have an estimate, each counted once; loops */
    struct compiled_cost costliest[COMPILED_COSTLIEST]; /* the highest first; no name: there are no more */
    int aliases;                                        /* arguments whose memory a result takes */
    bool aliased[COMPILED_ARGUMENTS];
};

/* format: as the plugin calls it, "hlo" or "hlo_with_config". */
unroll_status read_compiled(const void *bytes, size_t size, const char *format, struct compiled *);

#endif
