/* Data sets of series in memory, as readers would create them. */
#ifndef TASKS_MADE_SERIES_H
#define TASKS_MADE_SERIES_H
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "data/dataset.h"

enum { MADE_STEPS = 4096, MADE_COLUMNS = 6, MADE_SEQUENCES = 8 };

struct made {
    unroll_dataset data;
    struct column column[MADE_COLUMNS];
    size_t begin[MADE_SEQUENCES + 1];
    float number[MADE_COLUMNS][MADE_STEPS];
    double time[MADE_STEPS];
    int32_t id[MADE_STEPS];
};

/* Begins one sequence without columns. */
static inline void made_begin(struct made *made, size_t steps)
{
    memset(made, 0, sizeof *made);
    made->begin[1] = steps;
    made->data = (unroll_dataset){.name = "made.csv",
                                  .column = made->column,
                                  .steps = steps,
                                  .sequences = 1,
                                  .begin = made->begin,
                                  .rows_are_steps = true,
                                  .group = -1,
                                  .time = -1};
}

static inline struct column *made_column(struct made *made, const char *name, enum column_type type)
{
    struct column *column = &made->column[made->data.columns];
    *column = (struct column){.type = type, .width = 1, .place = made->data.columns};
    snprintf(column->name, sizeof column->name, "%s", name);
    if (type == COLUMN_NUMBERS)
        column->numbers = made->number[made->data.columns];
    if (type == COLUMN_TIME)
        column->times = made->time, made->data.time = made->data.columns;
    if (type == COLUMN_CATEGORY)
        column->ids = made->id, column->id_bytes = 4;
    made->data.columns++;
    return column;
}

static inline float *made_numbers(struct made *made, const char *name)
{
    int index = made->data.columns;
    made_column(made, name, COLUMN_NUMBERS);
    return made->number[index];
}

static inline void made_times(struct made *made, double from, double step)
{
    made_column(made, "when", COLUMN_TIME);
    for (size_t i = 0; i < made->data.steps; i++) made->time[i] = from + step * (double)i;
}

/* Returns a value in -1 .. 1, the same in each run. */
static inline double made_noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / (1u << 30) - 1;
}

#endif
