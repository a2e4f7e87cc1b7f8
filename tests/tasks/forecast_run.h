/* Generated data sets for forecasts, a model fitted to one, and a batch of a part of it: shared by the tests of
 * forecasts. */
#ifndef TESTS_TASKS_FORECAST_RUN_H
#define TESTS_TASKS_FORECAST_RUN_H
#include <stdlib.h>

#include "base/memory.h"
#include "tasks/made_series.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"
#include "tasks/examples/windows.h"

/* ---- data ---- */

static const double hour = 3600, day = 86400, begin_2020 = 1577836800;

static const double pi = 3.14159265358979323846;

/* Days in hourly steps, with noise. */
static inline void make_days(struct made *to, size_t steps, double noise)
{
    uint64_t state = 7;
    made_begin(to, steps);
    made_times(to, begin_2020, hour);
    float *load = made_numbers(to, "load");
    for (size_t i = 0; i < steps; i++)
        load[i] = (float)(50 + 10 * sin(2 * pi * (double)i / 24) + noise * made_noise(&state));
}

/* Two stores, one a hundred times as large, one without its last 30 rows; their names are in the data. Each has its own
 * predictions in its own units, and later times. */
static inline void make_stores(struct made *to, size_t steps)
{
    static const char *names[] = {"small", "large"};
    make_days(to, 2 * steps, 1);
    struct column *store = made_column(to, "store", COLUMN_CATEGORY);
    store->vocabulary = names, store->vocabulary_size = 2;
    to->data.group = to->data.columns - 1;
    to->data.sequences = 2;
    to->begin[1] = steps, to->begin[2] = 2 * steps;
    for (size_t i = 0; i < 2 * steps; i++) {
        bool large = i >= steps;
        to->id[i] = large;
        to->number[1][i] *= large ? 100 : 1;
        to->time[i] = begin_2020 + hour * (double)(i % steps);
    }
}

/* ---- a model of a data set ---- */

struct run {
    unroll_model *model;
    struct task_request request;
    unroll_task_defaults defaults;
};

static inline struct run run_new(struct made *from, const char *options, const char *loss, int64_t validation)
{
    struct run run = {.defaults = unroll_task_defaults_default()};
    unroll_model_config spec = unroll_model_config_auto();
    spec.hidden = 8;
    spec.loss = loss;
    MUST(unroll_task_configure("forecast", options, &from->data, &spec, &run.defaults));
    MUST(unroll_model_new(&spec, 1, &run.model));
    run.request = (struct task_request){.data = &from->data,
                                        .validation.count = validation,
                                        .rows = 4,
                                        .seed = 1,
                                        .ranks = 1,
                                        .options = options,
                                        .model = run.model};
    MUST(schema_fit(run.model, &task_forecast, &run.request));
    return run;
}

static inline struct part *open_part(const struct run *run, enum part_of which)
{
    struct part *part = NULL;
    if (!MUST(task_forecast.open(&run->request, which, &part)) || part == NULL)
        abort();
    return part;
}

static inline struct task_batch new_batch(const struct part *part)
{
    const struct windows *w = (const struct windows *)part;
    size_t entries = (size_t)part->shape->steps * (size_t)part->shape->rows;
    return (struct task_batch){.inputs = allocate_zeroed(entries * (size_t)recipe_inputs(&w->recipe), sizeof(float)),
                               .values = allocate_zeroed(entries * (size_t)w->recipe.horizon, sizeof(float)),
                               .lengths = allocate_zeroed((size_t)part->shape->rows, sizeof(int32_t))};
}

static inline void free_batch(struct task_batch *batch)
{
    release(batch->inputs);
    release(batch->values);
    release(batch->lengths);
}

#endif
