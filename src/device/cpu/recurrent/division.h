/* Divides the steps of a recurrence among a team of threads: by rows, by units, or both. The choice depends on the
 * shape and the caches. Outputs are computed independently, so the bits do not change. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* Values that can be forced for tests and measurements: UNROLL_DIVISION=rows, units or one. */
enum division { DIVISION_CHOSEN, DIVISION_ROWS, DIVISION_UNITS, DIVISION_ONE };

unroll_status division_parse(const char *name, enum division *division); /* NULL: chosen */

/* The shape of a step. */
struct division_shape {
    size_t rows, units, gates, width; /* products [rows, width] x [width, gates * units] */
    double taking_part;               /* the fraction of active rows in a step: 1 except in ragged batches */
    size_t number;                    /* bytes of a weight */
    size_t handed;                    /* bytes of a row that all units write and the products of all read */
    bool tiles;                       /* multiplied by tiles; weights of 4 bytes are split while they are read */
    int barriers;                     /* per step if units are divided */
    bool rows_only;                   /* an operation of the step needs all units of a row */
};

/* Thread `me` processes part me / units of the rows and part me % units of the units; threads from rows * units on are
 * idle. If units > 1, all threads of the team wait at the barriers. */
struct division_parts {
    int rows, units;
};

struct division_parts division_of(const struct division_shape *shape, int team, enum division forced);
