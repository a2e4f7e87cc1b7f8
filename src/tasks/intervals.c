#include "tasks/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/units.h"

enum { ROOM = 1 << 17, LEAST_ROWS = 64 };

static const char key[] = "calibration";

unroll_status calibration_begin(struct calibration *c, const double *level, int levels, int horizon,
                                const json_t *schema)
{
    const json_t *shifts = json_object_get(schema, key);
    *c = (struct calibration){.pairs = levels / 2, .horizon = horizon};
    for (int i = 0; i < levels / 2; i++)
        if (fabs(level[i] + level[levels - 1 - i] - 1) > 1e-6)
            c->pairs = 0;
    const size_t count = (size_t)horizon * (size_t)c->pairs;
    TRY(ALLOCATE(c->shift, count + 1, "for %zu shifts", count));
    for (int k = 0; k < horizon; k++)
        for (int i = 0; i < c->pairs; i++) c->shift[k * c->pairs + i] = units_interval_shift(shifts, i, k);
    return UNROLL_OK;
}

unroll_status calibration_measure(struct calibration *c, size_t windows)
{
    const size_t most = (size_t)(ROOM / c->horizon > LEAST_ROWS ? ROOM / c->horizon : LEAST_ROWS),
                 width = (size_t)c->horizon * (size_t)c->pairs;
    c->every = windows / most + 1;
    c->rows = windows / c->every + 1;
    return c->pairs ? ALLOCATE(c->score, c->rows * width, "for the scores of %zu forecasts", c->rows) : UNROLL_OK;
}

void calibration_clear(struct calibration *c)
{
    const size_t count = c->score ? c->rows * (size_t)c->horizon * (size_t)c->pairs : 0;
    for (size_t i = 0; i < count; i++) c->score[i] = NAN;
}

void calibration_end(struct calibration *c)
{
    release(c->shift);
    release(c->score);
    c->shift = c->score = NULL;
}

void calibration_observe(struct calibration *c, size_t window, int step, const double *quantile, int levels,
                         double truth)
{
    if (c->score == NULL || window % c->every != 0)
        return;
    double *score = c->score + (window / c->every * (size_t)c->horizon + (size_t)step) * (size_t)c->pairs;
    for (int i = 0; i < c->pairs; i++) score[i] = fmax(quantile[i] - truth, truth - quantile[levels - 1 - i]);
}

void calibration_apply(const struct calibration *c, int step, double *quantile, int levels)
{
    const double *shift = c->shift + step * c->pairs;
    for (int i = 0; i < c->pairs; i++) {
        quantile[i] -= shift[i];
        quantile[levels - 1 - i] += shift[i];
    }
    if (c->pairs && levels % 2) /* the median stays where it is */
        for (int i = levels / 2 - 1; i >= 0; i--) quantile[i] = fmin(quantile[i], quantile[i + 1]);
    for (int i = levels / 2 + levels % 2; i < levels && c->pairs; i++)
        quantile[i] = fmax(quantile[i], i > 0 ? quantile[i - 1] : quantile[i]);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the shift of a pair at a step: the quantile `nominal` of its scores, by the rank for one more observation
 * (the correction for finite samples). sorted [rows]: room. */
static double shift_of(const struct calibration *c, int step, int pair, double nominal, double *sorted)
{
    size_t n = 0;
    for (size_t row = 0; row < c->rows; row++) {
        const double score = c->score[(row * (size_t)c->horizon + (size_t)step) * (size_t)c->pairs + (size_t)pair];
        if (!isnan(score))
            sorted[n++] = score;
    }
    qsort(sorted, n, sizeof *sorted, by_number);
    const size_t rank = (size_t)ceil((double)(n + 1) * nominal);
    return n == 0 ? 0 : sorted[(rank > n ? n : rank) - 1];
}

unroll_status calibration_learn(const struct calibration *c, const double *level, json_t *schema)
{
    double *sorted;
    if (c->score == NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(sorted, c->rows, "for %zu scores", c->rows));
    json_t *shifts = json_array();
    for (int i = 0; i < c->pairs; i++) {
        json_t *steps = json_array();
        for (int k = 0; k < c->horizon; k++)
            json_array_append_new(steps, json_real(shift_of(c, k, i, 1 - 2 * level[i], sorted)));
        json_array_append_new(shifts, steps);
    }
    release(sorted);
    return json_object_set_new(schema, key, shifts) == 0 ? UNROLL_OK
                                                         : fail(UNROLL_RESOURCE, "no memory for a calibration");
}
