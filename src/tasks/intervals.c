#include "tasks/intervals.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ROOM = 1 << 15 };

static const char key[] = "calibration";

void calibration_begin(struct calibration *c, const double *level, int levels, const json_t *schema)
{
    const json_t *shifts = json_object_get(schema, key);
    *c = (struct calibration){.pairs = levels / 2};
    for (int i = 0; i < levels / 2; i++)
        if (fabs(level[i] + level[levels - 1 - i] - 1) > 1e-6)
            c->pairs = 0;
    for (int i = 0; i < c->pairs; i++) c->shift[i] = json_number_value(json_array_get(shifts, (size_t)i));
}

unroll_status calibration_measure(struct calibration *c, size_t forecasts, size_t truths)
{
    c->truths = truths;
    c->every = forecasts / ROOM + 1;
    c->room = forecasts / c->every + 1;
    return c->pairs ? ALLOCATE(c->score, c->room * (size_t)c->pairs, "for %zu scores", c->room) : UNROLL_OK;
}

void calibration_clear(struct calibration *c) { c->count = c->seen = 0; }

void calibration_end(struct calibration *c)
{
    release(c->score);
    c->score = NULL;
}

void calibration_observe(struct calibration *c, const double *quantile, int levels, double truth)
{
    if (c->score == NULL || c->seen++ % c->every != 0 || c->count == c->room)
        return;
    double *score = c->score + c->count++ * (size_t)c->pairs;
    for (int i = 0; i < c->pairs; i++) score[i] = fmax(quantile[i] - truth, truth - quantile[levels - 1 - i]);
}

void calibration_apply(const struct calibration *c, double *quantile, int levels)
{
    for (int i = 0; i < c->pairs; i++) {
        quantile[i] -= c->shift[i];
        quantile[levels - 1 - i] += c->shift[i];
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

/* Returns the fraction of a shift that is applied, 0 to 1: small while the measured coverage may be chance. Its
 * standard deviation is that for `truths` independent numbers. */
static double trust(const struct calibration *c, const double *sorted, double nominal)
{
    enum { CHANCE = 6 };
    size_t covered = 0;
    while (covered < c->count && sorted[covered] <= 0) covered++;
    const double off = (double)covered / (double)c->count - nominal,
                 z2 = off * off * (double)c->truths / (nominal * (1 - nominal));
    return z2 / (z2 + CHANCE);
}

unroll_status calibration_learn(const struct calibration *c, const double *level, json_t *schema)
{
    double *sorted;
    if (c->score == NULL || c->count == 0)
        return UNROLL_OK;
    TRY(ALLOCATE(sorted, c->count, "for %zu scores", c->count));
    json_t *shifts = json_array();
    for (int i = 0; i < c->pairs; i++) {
        const size_t n = c->count, rank = (size_t)ceil((double)(n + 1) * (1 - 2 * level[i]));
        for (size_t k = 0; k < n; k++) sorted[k] = c->score[k * (size_t)c->pairs + (size_t)i];
        qsort(sorted, n, sizeof *sorted, by_number);
        json_array_append_new(shifts, json_real(trust(c, sorted, 1 - 2 * level[i]) * sorted[rank < 1   ? 0
                                                                                            : rank > n ? n - 1
                                                                                                       : rank - 1]));
    }
    release(sorted);
    return json_object_set_new(schema, key, shifts) == 0 ? UNROLL_OK
                                                         : fail(UNROLL_RESOURCE, "no memory for a calibration");
}
