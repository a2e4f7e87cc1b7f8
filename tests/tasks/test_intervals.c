/* Checks the calibration of intervals by a validation. Quantiles that are too narrow or too wide cover their share of
 * later numbers. A few numbers change little, quantiles stay in order, and levels without a pair do not change. */
/* test: seconds=1 */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "tasks/intervals.h"

enum { LEVELS = 5 };
static const double level[LEVELS] = {0.1, 0.25, 0.5, 0.75, 0.9};

static double draw(void) { return (double)rand() / RAND_MAX; }

/* Uniform numbers in 0 .. 1 with stated quantiles that are `wide` times as far from the median as the true ones. */
static void say(double wide, double quantile[LEVELS])
{
    for (int i = 0; i < LEVELS; i++) quantile[i] = 0.5 + wide * (level[i] - 0.5);
}

static json_t *learn(double wide, size_t count)
{
    struct calibration c;
    double quantile[LEVELS];
    json_t *schema = json_object();
    calibration_begin(&c, level, LEVELS, NULL);
    calibration_measure(&c, count, count);
    say(wide, quantile);
    for (size_t i = 0; i < count; i++) calibration_observe(&c, quantile, LEVELS, draw());
    CHECK(calibration_learn(&c, level, schema) == UNROLL_OK, "%s", unroll_last_error());
    calibration_end(&c);
    return schema;
}

/* Returns the coverage of an interval after calibration. */
static double coverage(double wide, const json_t *schema, int pair)
{
    struct calibration c;
    double quantile[LEVELS], covered = 0;
    calibration_begin(&c, level, LEVELS, schema);
    for (int i = 0; i < 20000; i++) {
        const double truth = draw();
        say(wide, quantile);
        calibration_apply(&c, quantile, LEVELS);
        for (int k = 1; k < LEVELS; k++) CHECK(quantile[k] >= quantile[k - 1], "level %d is not in order", k);
        covered += truth >= quantile[pair] && truth <= quantile[LEVELS - 1 - pair];
    }
    CHECK(fabs(quantile[2] - 0.5) < 1e-12, "the median has moved to %g", quantile[2]);
    return covered / 20000;
}

int main(void)
{
    static const double wide[] = {0.3, 1, 1.2}, odd[3] = {0.1, 0.5, 0.7};
    srand(7);
    for (int i = 0; i < 3; i++) {
        json_t *many = learn(wide[i], 100000), *few = learn(wide[i], 3);
        CHECK(fabs(coverage(wide[i], many, 0) - 0.8) < 0.03, "80%% cover %g", coverage(wide[i], many, 0));
        CHECK(fabs(coverage(wide[i], many, 1) - 0.5) < 0.03, "50%% cover %g", coverage(wide[i], many, 1));
        CHECK(json_number_value(json_array_get(json_object_get(few, "calibration"), 0)) < 0.25, "three move little");
        json_decref(many);
        json_decref(few);
    }
    struct calibration c;
    double quantile[3] = {1, 2, 3};
    json_t *schema = json_pack("{s:[f]}", "calibration", 5.0);
    calibration_begin(&c, odd, 3, schema);
    calibration_apply(&c, quantile, 3);
    CHECK(quantile[0] == 1 && quantile[2] == 3, "levels without a pair were moved");
    json_decref(schema);
    return check_finish("intervals");
}
