/* How a team of threads divides the steps of a recurrence: its rows, its units, or both. Chosen from the shape
 * and the caches; every output is computed alone, so nothing of it shows in the bits. */
#ifndef DEVICE_CPU_DIVISION_H
#define DEVICE_CPU_DIVISION_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* What may be forced, for tests and measurements: UNROLL_DIVISION=rows, units or one in the environment. */
enum division { DIVISION_CHOSEN, DIVISION_ROWS, DIVISION_UNITS, DIVISION_ONE };

unroll_status division_parse(const char *name, enum division *division); /* NULL: chosen */

/* One step of one call. */
struct division_shape {
    size_t rows, units, gates, width; /* products [rows, width] x [width, gates * units] */
    double taking_part;               /* of the rows, in a step: 1 but of ragged batches */
    size_t number;                    /* bytes of a weight */
    size_t handed;                    /* bytes of a row that all units make and the products of all read */
    bool tiles;                       /* multiply: weights that are split on the way if a number has 4 bytes */
    int barriers;                     /* of a step whose units are divided */
    bool rows_only;                   /* something in the step needs all units of a row */
};

/* Thread `me` does part me / units of the rows and part me % units of the units, those from rows * units on
 * nothing. Where units > 1 all threads of the team take part, and meet at the barriers. */
struct division_parts {
    int rows, units;
};

struct division_parts division_of(const struct division_shape *shape, int team, enum division forced);

#endif
