/* Cost of an exported program on a small processor: counted bytes and operations, estimated cycles. */
#pragma once
#include "stream/program/program.h"

enum core { CORE_M4F, CORE_M7, CORE_M0, CORES };

struct estimate {
    uint64_t weights, tables, code; /* bytes of flash; code is a rough estimate */
    uint64_t state, work;           /* bytes of RAM */
    uint64_t products;              /* multiply-accumulates in a step */
    uint64_t rows;                  /* finished sums: a bias, in integers also a rescaling */
    uint64_t operations;            /* pointwise operations other than functions */
    uint64_t functions;             /* sigmoid, tanh, exp, log */
    uint64_t conversions;           /* in integer programs: floats converted at inputs and outputs */
    double cycles[CORES];           /* for a step */
};

extern const char *const core_names[CORES];

struct estimate program_estimate(const struct program *);
