/* Checks the calibration of intervals by a validation. Quantiles that are too narrow or too wide cover their share of
 * later numbers, at each step ahead by its own shift. Quantiles stay in order, and levels without a pair do not
 * change. Forecasts of short generated series cover about what their intervals promise. */
/* test: seconds=3 */
#include "tasks/forecast_run.h"
#include "tasks/intervals.h"

enum { LEVELS = 5, HORIZON = 2 };
static const double level[LEVELS] = {0.1, 0.25, 0.5, 0.75, 0.9};

static double draw(void) { return (double)rand() / RAND_MAX; }

/* Uniform numbers in 0 .. 1 with stated quantiles that are `wide` times as far from the median as the true ones. */
static void say(double wide, double quantile[LEVELS])
{
    for (int i = 0; i < LEVELS; i++) quantile[i] = 0.5 + wide * (level[i] - 0.5);
}

/* Learns from forecasts that are too narrow at the first step ahead, and too wide at the second. */
static json_t *learn(const double wide[HORIZON], size_t count)
{
    struct calibration c;
    double quantile[LEVELS];
    json_t *schema = json_object();
    CHECK(calibration_begin(&c, level, LEVELS, HORIZON, NULL) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(calibration_measure(&c, count) == UNROLL_OK, "%s", unroll_last_error());
    calibration_clear(&c);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < HORIZON; k++) {
            say(wide[k], quantile);
            calibration_observe(&c, i, k, quantile, LEVELS, draw());
        }
    CHECK(calibration_learn(&c, level, schema) == UNROLL_OK, "%s", unroll_last_error());
    calibration_end(&c);
    return schema;
}

/* Returns the coverage of an interval at a step ahead after calibration. */
static double coverage(const double wide[HORIZON], const json_t *schema, int pair, int step)
{
    struct calibration c;
    double quantile[LEVELS], covered = 0;
    CHECK(calibration_begin(&c, level, LEVELS, HORIZON, schema) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < 20000; i++) {
        const double truth = draw();
        say(wide[step], quantile);
        calibration_apply(&c, step, quantile, LEVELS);
        for (int k = 1; k < LEVELS; k++) CHECK(quantile[k] >= quantile[k - 1], "level %d is not in order", k);
        covered += truth >= quantile[pair] && truth <= quantile[LEVELS - 1 - pair];
    }
    CHECK(fabs(quantile[2] - 0.5) < 1e-12, "the median has moved to %g", quantile[2]);
    calibration_end(&c);
    return covered / 20000;
}

static void check_shifts(void)
{
    static const double wide[][HORIZON] = {{0.3, 1.2}, {1, 0.5}};
    for (int i = 0; i < 2; i++) {
        json_t *many = learn(wide[i], 200000);
        for (int k = 0; k < HORIZON; k++) {
            const double wider = coverage(wide[i], many, 0, k), narrower = coverage(wide[i], many, 1, k);
            CHECK(fabs(wider - 0.8) < 0.03, "80%% cover %g at step %d", wider, k);
            CHECK(fabs(narrower - 0.5) < 0.04, "50%% cover %g at step %d", narrower, k);
        }
        json_decref(many);
    }
}

/* With four numbers the widest shift is the largest score, because the rank is that for one more number. */
static void check_few(void)
{
    struct calibration c;
    const double quantile[LEVELS] = {-1, -0.5, 0, 0.5, 1};
    json_t *schema = json_object();
    MUST(calibration_begin(&c, level, LEVELS, 1, NULL));
    MUST(calibration_measure(&c, 4));
    calibration_clear(&c);
    for (size_t i = 0; i < 4; i++) calibration_observe(&c, i, 0, quantile, LEVELS, (double)i);
    MUST(calibration_learn(&c, level, schema));
    const json_t *shifts = json_object_get(schema, "calibration");
    CHECK(units_interval_shift(shifts, 0, 0) == 2, "the widest pair moves by %g", units_interval_shift(shifts, 0, 0));
    CHECK(units_interval_shift(shifts, 1, 0) == 1.5, "the other by %g", units_interval_shift(shifts, 1, 0));
    calibration_end(&c);
    json_decref(schema);
}

/* Schemas of older models have one shift for all steps. */
static void check_schemas(void)
{
    static const double odd[3] = {0.1, 0.5, 0.7}, even[3] = {0.1, 0.5, 0.9};
    struct calibration c;
    double quantile[3] = {1, 2, 3};
    json_t *schema = json_pack("{s:[f]}", "calibration", 5.0);
    MUST(calibration_begin(&c, odd, 3, HORIZON, schema));
    calibration_apply(&c, 1, quantile, 3);
    CHECK(quantile[0] == 1 && quantile[2] == 3, "levels without a pair were moved");
    calibration_end(&c);
    MUST(calibration_begin(&c, even, 3, HORIZON, schema));
    calibration_apply(&c, 1, quantile, 3);
    CHECK(quantile[0] == -4 && quantile[2] == 8, "a shift for all steps: %g, %g", quantile[0], quantile[2]);
    calibration_end(&c);
    json_decref(schema);
}

/* ---- forecasts of generated series ---- */

static struct made made; /* too large for the stack */

/* Trains on 72 of 120 steps of a sine with noise, with the default validation, and returns the coverage of the last
 * 24 steps. */
static double tested(uint64_t seed)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation found = {.size = sizeof found};
    unroll_trainer *trainer;
    unroll_model *model;
    uint64_t state = seed;
    made_begin(&made, 120);
    float *y = made_numbers(&made, "y");
    for (int i = 0; i < 120; i++)
        y[i] = (float)(sin(i / 4.0) + 0.2 * (made_noise(&state) + made_noise(&state) + made_noise(&state)));
    config.task = "forecast", config.task_options = "horizon=12,season=1";
    config.bptt = 0, config.batch = 64, config.total_steps = 384;
    config.validation.share = 0.1, config.test.count = 24;
    config.machine.threads = 1;
    MUST(unroll_task_configure("forecast", config.task_options, &made.data, &spec, &defaults));
    MUST(unroll_model_new(&spec, 1, &model));
    if (!MUST(unroll_trainer_new(model, &made.data, &config, &trainer)))
        abort();
    for (int i = 0; i < config.total_steps; i++) MUST(unroll_trainer_step(trainer, &progress));
    MUST(unroll_trainer_validate(trainer, &found));
    MUST(unroll_trainer_test(trainer, &found, NULL));
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    CHECK(strcmp(found.metric[6].name, "coverage") == 0, "metric '%s'", found.metric[6].name);
    return found.metric[6].value;
}

static void check_coverage(void)
{
    enum { SERIES = 8 };
    double mean = 0;
    for (uint64_t i = 1; i <= SERIES; i++) mean += tested(i) / SERIES;
    CHECK(mean > 0.7 && mean < 0.92, "intervals of 80%% cover %.3f of %d series", mean, SERIES);
}

int main(void)
{
    srand(7);
    check_shifts();
    check_few();
    check_schemas();
    check_coverage();
    return check_finish("intervals");
}
