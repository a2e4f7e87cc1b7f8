/* What an exported program costs on a small processor: bytes and operations counted, cycles estimated. */
#ifndef EXPORT_ESTIMATE_H
#define EXPORT_ESTIMATE_H
#include "export/program.h"

enum core { CORE_M4F, CORE_M7, CORE_M0, CORES };

struct estimate {
    uint64_t weights, tables, code; /* bytes of flash; code is a guess */
    uint64_t state, work;           /* bytes of RAM */
    uint64_t products;              /* multiply-accumulates of a step */
    uint64_t rows;                  /* sums that are ended: a bias, in integers a rescaling */
    uint64_t operations;            /* pointwise ones, functions not counted */
    uint64_t functions;             /* sigmoid, tanh, exp, log */
    uint64_t conversions;           /* of integers: floats that enter and leave */
    double cycles[CORES];           /* of a step */
};

extern const char *const core_names[CORES];

struct estimate program_estimate(const struct program *);

#endif
