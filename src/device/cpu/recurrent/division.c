/* Chooses how a team divides a step, by a model of the slowest thread. The model uses four speeds, of which only ratios
 * matter: multiply-adds, weights read from a core's own cache, weights read from elsewhere, and data just written by
 * another core. */
#include "device/cpu/recurrent/division.h"
#include "nn/cells/cell.h"
#include "base/system/processor.h"
#include "base/team.h"
#include <string.h>

/* Per nanosecond, for a server core with 512 or 256 bits; rough estimates. */
#define MULTIPLY_ADDS    35.0
#define CACHE_BYTES       50.0       /* weights that stay in the core's cache between two steps */
#define BYTES_FAR        14.0
#define TILES_ADDED      110.0      /* likewise with AMX, whose weights are read in long runs */
#define TILES_FAR        25.0
#define WHOLE_SPLIT      16.0       /* floats that are split to bf16x3 while they are read, from anywhere */
#define BYTES_HANDED     3.5        /* from another core's cache */
#define GATES_OF_A_TILE  25.0       /* nanoseconds: activations of CELL_TILE units of a row */
#define BARRIER          400.0      /* nanoseconds per level of a barrier's tree */

unroll_status division_parse(const char *name, enum division *division)
{
    static const char *const names[] = {"chosen", "rows", "units", "one"};
    *division = DIVISION_CHOSEN;
    for (int i = 0; name && i < 4; i++)
        if (!strcmp(name, names[i])) {
            *division = (enum division)i;
            return UNROLL_OK;
        }
    return !name ? UNROLL_OK
                 : fail(UNROLL_USAGE, "UNROLL_DIVISION is '%s'; fix: choose one of chosen, rows, units, one", name);
}

static size_t part_of(size_t n, int parts) { return (n + (size_t)parts - 1) / (size_t)parts; }

/* Returns the nanoseconds of a step for the largest part. */
static double step_time(const struct division_shape *s, struct division_parts parts)
{
    double rows = (double)part_of(s->rows, parts.rows) * s->taking_part;
    size_t tiles = part_of(part_of(s->units, CELL_TILE), parts.units);
    double weights = (double)(tiles * CELL_TILE * s->gates) * (double)s->width;
    double bytes = weights * (double)s->number;
    bool near = bytes <= 0.75 * (double)cpu_cache_bytes();
    double product = weights * rows / (s->tiles ? TILES_ADDED : MULTIPLY_ADDS);
    bool whole = s->tiles && s->number == sizeof(float);
    double reading = bytes / (whole ? WHOLE_SPLIT : near ? CACHE_BYTES : s->tiles ? TILES_FAR : BYTES_FAR);
    double barriers = parts.units > 1 ? s->barriers * BARRIER * barrier_depth(parts.rows * parts.units) : 0;
    double handed = rows * (double)s->handed * (1 - 1.0 / parts.units) / BYTES_HANDED;
    return (product > reading ? product : reading) + rows * (double)tiles * GATES_OF_A_TILE + barriers + handed;
}

static struct division_parts by_rows(const struct division_shape *s, int team)
{
    return (struct division_parts){s->rows < (size_t)team ? (int)s->rows : team, 1};
}

/* Additional threads must gain more than their barriers cost. */
static struct division_parts best_of(const struct division_shape *s, int team)
{
    const double enough = 0.9;
    struct division_parts best = by_rows(s, team);
    double min = step_time(s, best);
    for (int units = 2; units <= team && !s->rows_only; units++) {
        struct division_parts parts = {team / units, units};
        if (team % units || parts.rows > (int)s->rows || step_time(s, parts) > enough * min)
            continue;
        best = parts;
        min = step_time(s, parts);
    }
    return best;
}

struct division_parts division_of(const struct division_shape *s, int team, enum division forced)
{
    if (team == 1 || s->rows == 0 || forced == DIVISION_ONE)
        return (struct division_parts){1, 1};
    if (forced == DIVISION_UNITS && !s->rows_only)
        return (struct division_parts){1, team};
    return forced == DIVISION_CHOSEN ? best_of(s, team) : by_rows(s, team);
}
