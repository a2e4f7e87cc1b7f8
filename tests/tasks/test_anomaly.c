/* The task anomaly: parameters learned from a validation, compared with hand calculations; metrics with labels; a small
 * example that finds inserted anomalies; predictions for every row; refusals. */
/* test: seconds=5 */
#include <stdlib.h>
#include <unistd.h>

#include "apply/evaluate.h"
#include "base/memory.h"
#include "tasks/made_series.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"
#include "tasks/examples/windows.h"

static struct made made, other; /* too large for the stack */

static const double pi = 3.14159265358979323846;

static void make_days(struct made *to, size_t steps, uint64_t seed)
{
    made_begin(to, steps);
    made_times(to, 1577836800, 3600);
    float *load = made_numbers(to, "load"), *heat = made_numbers(to, "heat"), *label = made_numbers(to, "odd");
    for (size_t i = 0; i < steps; i++) {
        load[i] = (float)(50 + 10 * sin(2 * pi * (double)i / 24) + made_noise(&seed));
        heat[i] = (float)(5 + cos(2 * pi * (double)i / 24) + 0.1 * made_noise(&seed));
        label[i] = 0;
    }
}

static unroll_model *new_model(const struct made *from, const char *options)
{
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_model *model;
    spec.hidden = 16;
    MUST(unroll_task_configure("anomaly", options, &from->data, &spec, &defaults));
    MUST(unroll_model_new(&spec, 1, &model));
    return model;
}

/* ---- hand calculations ---- */

/* Outputs of 0 repeat the step before: residuals are 1, and 4 where x jumps back, in values with a known deviation. */
static void check_learned(void)
{
    unroll_evaluation e = {.size = sizeof e};
    made_begin(&made, 100);
    float *x = made_numbers(&made, "x"), *label = made_numbers(&made, "odd");
    for (size_t i = 0; i < 100; i++) x[i] = (float)(i % 5), label[i] = i == 99;
    unroll_model *model = new_model(&made, "season=1,context=8,label=odd,quantile=0.5");
    struct task_request request = {.data = &made.data,
                                   .validation.count = 20, /* the last one is labeled */
                                   .rows = 4,
                                   .ranks = 1,
                                   .options = "season=1,context=8,label=odd,quantile=0.5",
                                   .model = model};
    MUST(schema_fit(model, &task_anomaly, &request));
    struct part *part = NULL;
    MUST(task_anomaly.open(&request, PART_VALIDATION, &part));
    CHECK(part->examples == 20, "%zu steps", part->examples);
    float *z = allocate_zeroed((size_t)part->shape->rows * (size_t)part->shape->steps, sizeof *z);
    task_anomaly.observe(part, 0, NULL, z);
    task_anomaly.score(part, 1, true, &e);
    CHECK(e.metrics == 1 && fabs(e.metric[0].value - e.floor) < 1e-6, "repeating the step before is the floor: %g, %g",
          e.metric[0].value, e.floor);
    MUST(schema_learn(model, &task_anomaly, part));
    part_free(part);
    json_t *kept;
    MUST(schema_task(model, &kept));
    double deviation = json_number_value(json_array_get(json_object_get(kept, "deviations"), 0)), unit = sqrt(2);
    double threshold = json_number_value(json_object_get(kept, "threshold"));
    json_decref(kept);
    /* of 19 unlabeled steps, 4 jump back by 4 and 15 rise by 1, in the deviation of 0 1 2 3 4 */
    CHECK(fabs(deviation - sqrt((4 * 16 + 15) / 19.0) / unit) < 1e-5, "deviation %g", deviation);
    CHECK(fabs(threshold - 1 / sqrt(79 / 19.0)) < 1e-5, "the median score is of a rise: %g", threshold);

    /* with labels at steps 81 and 99: a jump, and a rise that does not exceed the threshold */
    for (size_t i = 0; i < 100; i++) label[i] = i == 80 || i == 99;
    MUST(task_anomaly.open(&request, PART_VALIDATION, &part));
    task_anomaly.observe(part, 0, NULL, z);
    task_anomaly.score(part, 1, true, &e);
    CHECK(e.metrics == 6, "%d metrics with labels", e.metrics);
    double auc = (0.5 * 3 + 15 + 0.5 * 15) / 2 / 18; /* a jump among 3 jumps and 15 rises; a rise among them */
    CHECK(fabs(e.metric[2].value - auc) < 1e-6, "auc %g, not %g", e.metric[2].value, auc);
    CHECK(fabs(e.metric[1].value - 3.0 / 18) < 1e-6, "false alarms %g", e.metric[1].value);
    CHECK(fabs(e.metric[4].value - 0.25) < 1e-6 && fabs(e.metric[5].value - 0.5) < 1e-6 &&
              fabs(e.metric[3].value - 1.0 / 3) < 1e-6,
          "precision %g, recall %g, f1 %g", e.metric[4].value, e.metric[5].value, e.metric[3].value);
    json_t *details = task_anomaly.details(part);
    const json_t *pairs = json_object_get(details, "pairs"), *truth = json_object_get(pairs, "truth");
    CHECK(json_array_size(truth) == 20 && json_array_size(json_object_get(pairs, "answer")) == 20 &&
              fabs(json_number_value(json_array_get(truth, 3)) - 3) < 1e-5 &&
              fabs(json_number_value(json_array_get(json_object_get(pairs, "answer"), 3)) - 2) < 1e-5,
          "what came and what was forecast, in units");
    json_decref(details);
    part_free(part);
    release(z);
    unroll_model_free(model);
}

/* ---- a toy ---- */

struct table {
    int count;
    char first[80], last[80];
};

static int take_text(void *arg, const char *text)
{
    struct table *table = arg;
    snprintf(table->count++ ? table->last : table->first, sizeof table->last, "%s", text);
    return 0;
}

/* Returns the memory of the sessions that predict, or of those that also compute a loss. */
static double bytes_of(unroll_model *model, bool answers)
{
    const unroll_machine machine = unroll_machine_default();
    const struct task_request request = {.data = &other.data, .model = model, .ranks = 1};
    struct part *part = NULL;
    struct evaluator *evaluator;
    MUST(task_anomaly.open(&request, PART_PREDICTED, &part));
    MUST(evaluator_new(model, &task_anomaly, part, &machine, answers, &evaluator));
    const double bytes = (double)evaluator_memory_estimate(evaluator);
    evaluator_free(evaluator);
    return bytes;
}

struct rows {
    int count, scored, flagged, first;
    char line[80], column[16];
};

static int take(void *arg, const char *json, const char *line)
{
    struct rows *rows = arg;
    const char *column = strstr(json, "\"column\":\"");
    rows->scored += strstr(json, "\"score\":null") == NULL;
    if (strstr(json, "\"anomaly\":true") && rows->flagged++ == 0) {
        rows->first = rows->count;
        snprintf(rows->line, sizeof rows->line, "%s", line);
        sscanf(column, "\"column\":\"%15[^\"]", rows->column);
    }
    rows->count++;
    return 0;
}

static void check_toy(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation e = {.size = sizeof e};
    unroll_trainer *trainer;
    char folder[] = "/tmp/unroll_anomaly_XXXXXX", path[64];
    make_days(&made, 800, 3);
    const char *options = "label=odd,quantile=0.99";
    unroll_model *model = new_model(&made, options), *kept = NULL;
    config.task = "anomaly";
    config.task_options = options;
    config.batch = 32;
    config.bptt = 0;
    config.validation.share = 0.25;
    config.rates.learning_rate = 0.01;
    config.total_steps = 200;
    config.machine.threads = 1;
    if (!MUST(unroll_trainer_new(model, &made.data, &config, &trainer)))
        abort();
    for (int i = 0; i < 200; i++) MUST(unroll_trainer_step(trainer, &progress));
    struct rows rows = {0};
    struct table table = {0};
    CHECK_REFUSED(unroll_model_predict(model, &made.data, NULL, take, &rows), UNROLL_USAGE,
                  "the model has no threshold; fix: train it with a validation");
    MUST(unroll_trainer_validate(trainer, &e));
    CHECK(e.metric[0].value < 0.5 * e.floor, "mse %g, of the step before %g", e.metric[0].value, e.floor);
    if (!mkdtemp(folder))
        abort();
    MUST(unroll_trainer_save(trainer, folder));
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    MUST(unroll_model_load(path, &kept));

    make_days(&other, 300, 11);
    static const size_t odd[] = {120, 200, 201, 260};
    for (size_t i = 0; i < 4; i++)
        other.number[i == 3 ? 2 : 1][odd[i]] += i == 3 ? 1.5f : 12, other.number[3][odd[i]] = 1;
    MUST(unroll_model_evaluate(kept, &other.data, NULL, &e, NULL));
    CHECK(e.metrics == 6 && e.metric[2].value > 0.97 && e.metric[5].value == 1, "auc %g, recall %g", e.metric[2].value,
          e.metric[5].value);
    CHECK(e.metric[1].value < 0.1, "false alarms %g", e.metric[1].value);
    CHECK(bytes_of(kept, true) < bytes_of(kept, false), "predictions need the memory of a loss: %g bytes",
          bytes_of(kept, true));
    CHECK_REFUSED(unroll_model_print_predictions(kept, &other.data, NULL, "xml", 0, take_text, &table), UNROLL_USAGE,
                  "predictions have no format 'xml'; fix: use json, csv or text");
    CHECK_REFUSED(unroll_model_print_predictions(kept, &other.data, NULL, "csv", -1, take_text, &table), UNROLL_USAGE,
                  "top = -1 is negative; fix: use 0 for all");
    MUST(unroll_model_print_predictions(kept, &other.data, NULL, "csv", 0, take_text, &table));
    CHECK(table.count == 300 && strncmp(table.last, "2020-01-13 11:00:00,300,", 24) == 0, "%d rows, the last '%s'",
          table.count, table.last);
    CHECK(strcmp(table.first, "when,row,score,anomaly,column\n2020-01-01 00:00:00,1,,,") == 0, "'%s'", table.first);
    MUST(unroll_model_predict(kept, &other.data, NULL, take, &rows));
    CHECK(rows.count == 300 && rows.scored == 276, "%d rows, %d with a score", rows.count, rows.scored);
    CHECK(rows.flagged >= 4 && rows.flagged < 30, "%d rows are anomalies", rows.flagged);
    for (size_t i = 24; i < 300; i++)
        if (i < 110 || i > 290)
            other.number[1][i] = made.number[1][i];
    rows = (struct rows){0};
    MUST(unroll_model_predict(kept, &other.data, NULL, take, &rows));
    CHECK(rows.first <= 120 && (rows.first < 120 || strcmp(rows.column, "load") == 0), "row %d, column %s", rows.first,
          rows.column);
    CHECK(strncmp(rows.line, "2020-01-0", 9) == 0 && strstr(rows.line, "\tanomaly "), "'%s'", rows.line);
    unroll_model_free(kept);
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0, "%s", path);
}

static void check_refusals(void)
{
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    make_days(&made, 200, 1);
    CHECK_REFUSED(unroll_task_configure("anomaly", "label=strange", &made.data, &spec, &defaults), UNROLL_USAGE,
                  "'made.csv' has no column 'strange'; fix: use one of when");
    CHECK_REFUSED(unroll_task_configure("anomaly", "quantile=2", &made.data, &spec, &defaults), UNROLL_USAGE,
                  "quantile");
    CHECK_REFUSED(unroll_task_configure("anomaly", "horizon=2", &made.data, &spec, &defaults), UNROLL_USAGE, "horizon");
    spec.loss = "gaussian";
    CHECK_REFUSED(
        unroll_task_configure("anomaly", NULL, &made.data, &spec, &defaults), UNROLL_USAGE,
        "`loss` = 'gaussian' is not supported by the task anomaly for these data; fix: use huber, mse or mae");
}

int main(void)
{
    check_learned();
    check_toy();
    check_refusals();
    return check_finish("anomaly");
}
