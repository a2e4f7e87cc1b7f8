/* Models in the units of the data: the scales of the schema merged into the weights (unroll_model_to_units). units.c
 * has models with scaled columns, units_series.c forecasts. */
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "unroll.h"
#include <stdbool.h>

enum { UNITS_NAME = 96 };       /* of a series */
enum { UNITS_LEVEL_LIMIT = 4 }; /* standard deviations: a trend leads far from what was trained on */

/* The same for one series of a forecast. */
struct scale {
    double mean, deviation;
    double naive; /* mean absolute error of repeating the last season, in units: MASE's; 0: not known */
};

struct scale scale_from_json(const json_t *json);

/* Returns how far a pair of quantiles is moved outward at a step ahead, in the scale of the target. shifts: [pairs,
 * steps] of a schema (tasks/intervals.h), or [pairs] of older models, the same at all steps; NULL: 0. */
double units_interval_shift(const json_t *shifts, int pair, int step);

/* Makes a network that reads and predicts one series, NULL: the only one, of a recipe (tasks/recipe.h) in units. `task`
 * belongs to the model's schema. The network has no schema. */
unroll_status series_in_units(const unroll_model *model, const json_t *task, const char *series,
                              unroll_model **in_units);

/* Sets *own to the model in units and *model to it, or *own to NULL if the numbers are raw or not scaled. The caller
 * frees *own, which has a vocabulary, a schema and a signature if `texts`. */
unroll_status units_take(unroll_model **model, bool raw, const char *series, bool texts, unroll_model **own);

/* Fails if the model has scales that are not in its weights, unless the caller's numbers are raw. */
unroll_status units_check_raw(const unroll_model *model, bool raw);

/* Fails if the weights of a model in units would lose their meaning in this dtype. */
unroll_status units_check_dtype(const unroll_model *model, const char *dtype);
