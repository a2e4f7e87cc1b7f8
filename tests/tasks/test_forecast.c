/* The task forecast: detection of seasons and times; windows, scales and metrics compared with hand calculations; a
 * small example that learns; predictions in units with later times; a stream that equals predict; refusals. */
/* test: seconds=5 */
#include "tasks/forecast_run.h"
#include "tasks/quantiles.h"

static struct made made, other; /* too large for the stack */

/* ---- seasons and times ---- */

static int season_of(struct made *from)
{
    struct channel channel = {&from->column[from->data.columns - 1], 0};
    struct interval interval;
    int season = 0;
    MUST(series_interval(&from->data, &interval));
    MUST(series_season(&from->data, &channel, 1, &interval, &season));
    return season;
}

static void check_seasons(void)
{
    uint64_t state = 3;
    make_days(&made, 600, 4);
    CHECK(season_of(&made) == 24, "days in hours: %d", season_of(&made));
    made.data.time = -1;
    CHECK(season_of(&made) == 24, "days in hours without times: %d", season_of(&made));
    made_begin(&made, 600);
    float *walk = made_numbers(&made, "walk");
    for (size_t i = 1; i < 600; i++) walk[i] = walk[i - 1] + (float)made_noise(&state);
    CHECK(season_of(&made) == 1, "a random walk: %d", season_of(&made));
    for (size_t i = 0; i < 600; i++) walk[i] = (float)made_noise(&state);
    CHECK(season_of(&made) == 1, "noise: %d", season_of(&made));
    for (size_t i = 0; i < 600; i++) walk[i] = (float)(i * 0.01 + ((i % 7) == 3) + 0.2 * made_noise(&state));
    CHECK(season_of(&made) == 7, "a week with a trend: %d", season_of(&made));
}

static int calendar_weekday(double time) /* 1: Monday; 1970-01-01 was a Thursday */
{
    return (int)fmod(time / day + 4, 7);
}

static void check_times(void)
{
    struct interval interval;
    char text[TIME_TEXT];
    make_days(&made, 100, 0);
    MUST(series_interval(&made.data, &interval));
    CHECK(interval.seconds == hour && interval.months == 0, "%g s, %d months", interval.seconds, interval.months);
    for (size_t i = 0; i < 100; i++) { /* the last day of each month from January 2020 on */
        struct interval months = {.months = 1};
        made.time[i] = interval_after(&months, begin_2020 + 30 * day, (int)i);
    }
    interval_format(&(struct interval){.months = 1}, made.time[1], text);
    CHECK(strcmp(text, "2020-02-29") == 0, "a month after 2020-01-31: %s", text);
    MUST(series_interval(&made.data, &interval));
    CHECK(interval.months == 1, "ends of months: %d", interval.months);
    interval_format(&interval, interval_after(&interval, made.time[1], 12), text);
    CHECK(strcmp(text, "2021-02-28") == 0, "a year after 2020-02-29: %s", text);
    for (size_t i = 0; i < 100; i++) /* the 28th of each month */
        made.time[i] = interval_after(&(struct interval){.months = 1}, begin_2020 + 27 * day, (int)i);
    MUST(series_interval(&made.data, &interval));
    interval_format(&interval, interval_after(&interval, made.time[13], 1), text);
    CHECK(strcmp(text, "2021-03-28") == 0, "a month after 2021-02-28, which is the last of February: %s", text);
    make_days(&made, 100, 0);
    for (int i = 0; i < 100; i++) /* Wednesday 2020-01-01, then all days except Saturdays, Sundays and a holiday */
        made.time[i] = interval_after(&(struct interval){.seconds = day, .weekdays = true}, begin_2020, i + (i > 70));
    MUST(series_interval(&made.data, &interval));
    CHECK(interval.weekdays && interval.seconds == day, "%g s, weekdays %d", interval.seconds, interval.weekdays);
    interval_format(&interval, interval_after(&interval, begin_2020 + 2 * day, 6), text);
    CHECK(strcmp(text, "2020-01-13") == 0, "six weekdays after Friday 2020-01-03: %s", text);
    float *load = made_numbers(&made, "load");
    for (size_t i = 0; i < 100; i++) load[i] = calendar_weekday(made.time[i]) == 1 ? 5 : (float)(i % 3) * 0.1f;
    CHECK(season_of(&made) == 5, "Mondays: %d", season_of(&made));
    made.time[2] += day; /* a Saturday: then gaps are gaps */
    CHECK_REFUSED(series_interval(&made.data, &interval), UNROLL_DATA, "are not as far apart as the others");
    make_days(&made, 100, 0);
    made.time[60] = made.time[59];
    CHECK_REFUSED(
        series_interval(&made.data, &interval), UNROLL_DATA,
        "'made.csv', rows 60 and 61: the time 2020-01-03 11:00:00 occurs twice in a series; fix: name the column that "
        "divides the rows into series");
    make_days(&made, 100, 0);
    made.time[60] = (double)NAN;
    CHECK_REFUSED(series_interval(&made.data, &interval), UNROLL_DATA, "row 61 has no time in column 'when'; fix: ");
    make_days(&made, 100, 0);
    for (size_t i = 80; i < 100; i++) made.time[i] += (double)(i * i - 79 * 79) * 600;
    CHECK_REFUSED(series_interval(&made.data, &interval), UNROLL_DATA,
                  "20 of 99 steps are not as far apart as the others, first those of rows 80 and 81");
    make_days(&made, 100, 0);
    for (size_t i = 50; i < 100; i++) made.time[i] += 5 * hour;
    MUST(series_interval(&made.data, &interval)); /* one gap */
}

/* ---- windows, metrics ---- */

/* Steps of 2 with horizon 2 and no season in 1 2 3 .. 20, with the last 6 as validation: scale and level are calculated
 * by hand. */
static void check_windows(void)
{
    made_begin(&made, 20);
    float *x = made_numbers(&made, "x");
    for (size_t i = 0; i < 20; i++) x[i] = (float)(i + 1);
    struct run run = run_new(&made, "horizon=2,season=1,context=4", "mse", 6);
    struct part *part = open_part(&run, PART_VALIDATION);
    const struct windows *w = (const struct windows *)part;
    struct task_batch batch = new_batch(part);
    CHECK(w->recipe.patch == 2 && w->recipe.patches == 2 && recipe_inputs(&w->recipe) == 4, "patch %d, patches %d, %d",
          w->recipe.patch, w->recipe.patches, recipe_inputs(&w->recipe));
    CHECK(part->examples == 5 && part->batches == 1, "%zu windows", part->examples); /* origins 14 .. 18 */
    part->fill(part, 0, 0, &batch);
    double deviation = sqrt((14.0 * 14 - 1) / 12), unit = 1 / deviation; /* of 1 .. 14, mean 7.5 */
    size_t rows = (size_t)part->shape->rows;
    const float *first = batch.inputs, *second = batch.inputs + rows * 4; /* 11 12 and 13 14 */
    double level = (14 - 7.5) * unit;
    CHECK(fabs((double)first[0] + unit) < 1e-6 && first[1] == 0 && first[2] == 0, "%g %g %g", (double)first[0],
          (double)first[1], (double)first[2]);
    CHECK(fabs((double)second[0] + unit) < 1e-6 && fabs((double)second[2] - 2 * unit) < 1e-6 &&
              fabs((double)second[3] - level) < 1e-6,
          "%g %g %g", (double)second[0], (double)second[2], (double)second[3]);
    CHECK(isnan(batch.values[0]) && fabs((double)batch.values[rows * 2] - unit) < 1e-6 &&
              fabs((double)batch.values[rows * 2 + 1] - 2 * unit) < 1e-6,
          "values %g, %g", (double)batch.values[rows * 2], (double)batch.values[rows * 2 + 1]);
    CHECK(batch.lengths[4] == 2 && batch.lengths[5] == 0, "rows after the last window have %d steps", batch.lengths[5]);

    /* outputs of 0 repeat the level: errors of 1 and 2 in units; MASE's are those of a step, 1 each */
    float *z = allocate_zeroed(2 * rows * 2, sizeof(float));
    unroll_evaluation e = {.size = sizeof e};
    task_forecast.observe(part, 0, &batch, z);
    task_forecast.score(part, 1, true, &e);
    CHECK(fabs(e.metric[0].value - 2.5 * unit * unit) < 1e-6, "mse %g", e.metric[0].value);
    CHECK(fabs(e.metric[1].value - 1.5 * unit) < 1e-6, "mae %g", e.metric[1].value);
    CHECK(fabs(e.metric[2].value - 2.5) < 1e-5 && fabs(e.metric[3].value - 1.5) < 1e-5, "in units %g, %g",
          e.metric[2].value, e.metric[3].value);
    CHECK(fabs(e.metric[4].value - 1.5) < 1e-5, "mase %g", e.metric[4].value);
    CHECK(fabs(e.floor - 2.5 * unit * unit) < 1e-6 && strcmp(e.naive, "persistence") == 0, "floor %g", e.floor);
    CHECK(e.metrics == 5 && e.examples == 5, "%d metrics", e.metrics);
    release(z);
    free_batch(&batch);
    part_free(part);
    unroll_model_free(run.model);
}

/* A validation of quantiles has windows before and after those that are whole, for the calibration alone. */
static void check_partial(void)
{
    made_begin(&made, 20);
    float *x = made_numbers(&made, "x");
    for (size_t i = 0; i < 20; i++) x[i] = (float)(i + 1);
    struct run run = run_new(&made, "horizon=3,season=1,context=4", "quantile", 6);
    struct part *part = open_part(&run, PART_VALIDATION);
    const struct windows *w = (const struct windows *)part;
    struct task_batch batch = new_batch(part);
    const size_t rows = (size_t)part->shape->rows, last = (size_t)(part->shape->steps - 1) * rows;
    CHECK(part->examples == 4 && w->partials == 4, "%zu windows, %zu partial", part->examples, w->partials);
    CHECK(w->partial[0].origin == 12 && w->partial[2].origin == 18, "origins %zu .. %zu", w->partial[0].origin,
          w->partial[2].origin); /* 12 13, whole ones from 14 on, 18 19 */
    part->fill(part, 0, 0, &batch);
    CHECK(!isnan(batch.values[(last + 3) * 3]) && batch.lengths[7] > 0 && batch.lengths[8] == 0, "8 rows");
    for (size_t row = 4; row < 8; row++) CHECK(isnan(batch.values[(last + row) * 3]), "a partial window has values");
    free_batch(&batch);
    part_free(part);
    unroll_model_free(run.model);
}

/* A validation by a share has 24 numbers of all series, but at most a quarter of them; a count is what it says. */
static void check_validation_share(void)
{
    static const struct {
        size_t length, validation;
        int64_t count;
    } rows[] = {{120, 24, 0}, {60, 15, 0}, {600, 60, 0}, {120, 6, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made_begin(&made, rows[i].length);
        float *x = made_numbers(&made, "x");
        for (size_t k = 0; k < rows[i].length; k++) x[k] = (float)(k % 7);
        struct run run = run_new(&made, "horizon=2,season=1,context=4", "mse", 6);
        run.request.validation = (unroll_held_out){.count = rows[i].count, .share = rows[i].count ? 0 : 0.1};
        struct part *part = open_part(&run, PART_VALIDATION);
        CHECK(part->examples == rows[i].validation - 1, "%zu windows of %zu rows", part->examples, rows[i].length);
        part_free(part);
        unroll_model_free(run.model);
    }
}

/* Quantiles 0 1 2 at the levels 0.25 0.5 0.75 and the truth 2: 0.25 x 2, 0.5 x 1, 0, twice their mean. */
static void check_crps(void)
{
    const double quantile[] = {0, 1, 2}, level[] = {0.25, 0.5, 0.75};
    CHECK(fabs(crps_of_quantiles(quantile, level, 3, 2) - 2.0 / 3) < 1e-12, "%g",
          crps_of_quantiles(quantile, level, 3, 2));
    CHECK(fabs(crps_of_quantiles(quantile, level, 3, -1) - 2 * (0.75 + 0.5 * 2 + 0.25 * 3) / 3) < 1e-12, "below: %g",
          crps_of_quantiles(quantile, level, 3, -1));
    CHECK(fabs(crps_of_quantiles(&(double){4}, &(double){0.5}, 1, 1) - 3) < 1e-12, "of a median it is the error");
}

/* Each epoch draws from all windows of the training part and only from its values; the same epoch is the same. */
static void check_epochs(void)
{
    make_days(&made, 300, 1);
    struct run run = run_new(&made, "horizon=6", NULL, 60);
    run.request.rows = 8;
    struct part *part = open_part(&run, PART_TRAINING);
    const struct windows *w = (const struct windows *)part;
    struct window window, again;
    size_t seen[300] = {0}, different = 0, latest = 0;
    CHECK(part->batches == 32, "short series have epochs of %d batches", (int)part->batches);
    for (int64_t batch = 0; batch < part->batches; batch++)
        for (int row = 0; row < part->shape->rows; row++) {
            if (!windows_at(w, 0, batch, row, &window) || !windows_at(w, 1, batch, row, &again))
                abort();
            seen[window.origin]++;
            different += window.origin != again.origin;
            latest = window.origin > latest ? window.origin : latest;
        }
    CHECK(latest == 234, "the last origin of 240 steps with a horizon of 6 is %zu", latest);
    size_t drawn = 0, most = 0;
    for (size_t i = 0; i < 300; i++) {
        drawn += seen[i] > 0;
        most = seen[i] > most ? seen[i] : most;
    }
    CHECK(drawn == w->origins && most == 2, "%zu of %zu origins, one %zu times", drawn, w->origins, most);
    CHECK(different > 200, "another epoch has another order: %zu of 256", different);
    part_free(part);
    unroll_model_free(run.model);
}

/* ---- learning ---- */

/* Trains a small forecast and returns its validation. */
static unroll_evaluation train(struct made *from, const char *options, const char *loss, int epochs,
                               unroll_model **model)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation found = {.size = sizeof found};
    unroll_trainer *trainer;
    spec.hidden = 16;
    spec.loss = loss;
    config.task = "forecast";
    config.task_options = options;
    config.batch = 16;
    config.bptt = 0;
    config.warmup = 10;
    config.rates.learning_rate = 0.01;
    config.total_steps = epochs * 32;
    config.machine.threads = 1;
    MUST(unroll_task_configure("forecast", options, &from->data, &spec, &defaults));
    MUST(unroll_model_new(&spec, 1, model));
    if (!MUST(unroll_trainer_new(*model, &from->data, &config, &trainer)))
        abort();
    for (int i = 0; i < config.total_steps; i++) MUST(unroll_trainer_step(trainer, &progress));
    MUST(unroll_trainer_validate(trainer, &found));
    unroll_trainer_free(trainer);
    return found;
}

static void check_learning(void)
{
    static const char *const losses[] = {NULL, "mse", "student-t"};
    for (int i = 0; i < 3; i++) {
        unroll_model *model;
        make_days(&made, 600, 4);
        unroll_evaluation e = train(&made, "horizon=12", losses[i], 6, &model);
        CHECK(e.metric[0].value < 0.7 * e.floor, "loss %s: mse %g, seasonal naive %g",
              losses[i] ? losses[i] : "of the task", e.metric[0].value, e.floor); /* doubled noise against noise */
        if (i != 1)
            CHECK(strcmp(e.metric[6].name, "coverage") == 0 && e.metric[6].value > 0.6 && e.metric[6].value < 0.95,
                  "80%% interval: %g", e.metric[6].value);
        unroll_model_free(model);
    }
}

/* Known future values determine it: x is the sign of the future `promo`. */
static void check_known(void)
{
    uint64_t state = 5;
    unroll_model *model;
    made_begin(&made, 500);
    float *x = made_numbers(&made, "x"), *promo = made_numbers(&made, "promo");
    for (size_t i = 0; i < 500; i++) {
        promo[i] = made_noise(&state) > 0;
        x[i] = 3 * promo[i] + 0.1f * (float)made_noise(&state);
    }
    unroll_evaluation known = train(&made, "horizon=4,season=1,target=x,known=promo", "mse", 10, &model);
    CHECK(known.metric[0].value < 0.2, "with what is known mse %g of 1", known.metric[0].value);
    unroll_model_free(model);
    unroll_evaluation past = train(&made, "horizon=4,season=1,target=x", "mse", 10, &model);
    CHECK(past.metric[0].value > 0.8, "without it %g", past.metric[0].value);
    unroll_model_free(model);
}

/* ---- predictions, streams ---- */

struct taken {
    json_t *answer[MADE_SEQUENCES];
    int count;
    char text[8192];
};

static unroll_status take(void *arg, json_t *answer)
{
    struct taken *taken = arg;
    FILE *to = fmemopen(taken->text + strlen(taken->text), sizeof taken->text - strlen(taken->text), "w");
    taken->answer[taken->count++] = json_incref(answer);
    task_forecast.line(answer, to);
    fclose(to);
    return UNROLL_OK;
}

/* Runs the same inputs step by step through a stream and compares the outputs after the last step of each row. */
static void compare_stream(const struct run *run, const struct part *part, const struct task_batch *batch,
                           const float *z)
{
    unroll_stream_config config = unroll_stream_config_default();
    config.raw = 1;
    size_t bytes = unroll_stream_bytes(run->model, &config), rows = (size_t)part->shape->rows;
    size_t wide = (size_t)run->model->input, results = (size_t)unroll_model_outputs(run->model);
    void *memory = allocate(bytes);
    float *answer = allocate_zeroed(results, sizeof *answer);
    for (size_t row = 0; batch->lengths[row] > 0; row++) {
        size_t last = (size_t)batch->lengths[row] - 1;
        unroll_stream *stream;
        MUST(unroll_stream_init(memory, bytes, run->model, &config, &stream));
        for (size_t t = 0; t <= last; t++)
            MUST(unroll_stream_step(stream, NULL, batch->inputs + (t * rows + row) * wide, answer));
        double off = 0;
        for (size_t k = 0; k < results; k++)
            off = fmax(off, fabs((double)answer[k] - (double)z[(last * rows + row) * results + k]));
        CHECK(off < 1e-5, "row %zu: a stream is off by %g", row, off);
    }
    release(answer);
    release(memory);
}

/* Predicts, stores the answers and compares them with a stream. */
static void predict(const struct run *run, struct taken *taken)
{
    struct part *part = open_part(run, PART_PREDICTED);
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session;
    struct task_batch arrays = new_batch(part);
    *taken = (struct taken){0};
    config.mode = UNROLL_INFER;
    config.steps = part->shape->steps;
    config.rows = part->shape->rows;
    config.lengths = 1;
    config.machine.threads = 1;
    config.raw = 1;
    MUST(unroll_session_new(run->model, &config, &session));
    size_t count = unroll_session_count(session, "z");
    float *z = allocate_zeroed(count, sizeof *z);
    for (int64_t number = 0; number < part->batches; number++) {
        part->fill(part, 0, number, &arrays);
        unroll_batch batch = {.size = sizeof batch, .inputs = arrays.inputs, .lengths = arrays.lengths};
        MUST(unroll_session_forward(session, &batch));
        MUST(unroll_session_read(session, "z", z, count));
        MUST(task_forecast.answer(part, number, &arrays, z, take, taken));
    }
    compare_stream(run, part, &arrays, z);
    release(z);
    free_batch(&arrays);
    unroll_session_free(session);
    part_free(part);
}

static void forget(struct taken *taken)
{
    for (int i = 0; i < taken->count; i++) json_decref(taken->answer[i]);
}

static void check_answers(void)
{
    static struct taken taken;
    make_stores(&made, 300);
    struct run run = run_new(&made, "horizon=3,season=24", "quantile:0.2,0.5,0.8", 0);
    predict(&run, &taken);
    CHECK(taken.count == 2, "%d answers", taken.count);
    const json_t *large = taken.answer[1];
    CHECK(strcmp(json_string_value(json_object_get(large, "group")), "large") == 0, "the second store");
    CHECK(strcmp(json_string_value(json_array_get(json_object_get(large, "time"), 0)), "2020-01-13 12:00:00") == 0,
          "2020-01-13 11:00 is followed by %s", json_string_value(json_array_get(json_object_get(large, "time"), 0)));
    const json_t *forecast = json_object_get(json_object_get(large, "forecast"), "load");
    double first = json_number_value(json_array_get(forecast, 0));
    CHECK(json_array_size(forecast) == 3 && first > 2000 && first < 8000, "%zu steps, first %g",
          json_array_size(forecast), first);
    const json_t *quantiles = json_object_get(json_object_get(large, "quantiles"), "load");
    for (size_t k = 0; k < 3; k++)
        CHECK(json_number_value(json_array_get(json_array_get(quantiles, 0), k)) <=
                  json_number_value(json_array_get(json_array_get(quantiles, 2), k)),
              "quantiles in order");
    CHECK(strncmp(taken.text, "when,store,load,load_0.2,load_0.8\n2020-01-13 12:00:00,small,", 60) == 0, "'%.90s'",
          taken.text);
    int lines = 0;
    for (const char *at = taken.text; *at; at++) lines += *at == '\n';
    CHECK(lines == 7, "%d lines: a header and 3 for each store", lines);
    forget(&taken);

    /* a store that was not in the training has the scale of its inputs; rows without targets are the future */
    static const char *names[] = {"new", "large"};
    made.column[2].vocabulary = names;
    for (size_t i = 290; i < 300; i++) made.number[1][i] = NAN;
    predict(&run, &taken);
    const json_t *next = taken.answer[0];
    CHECK(strcmp(json_string_value(json_array_get(json_object_get(next, "time"), 0)), "2020-01-13 02:00:00") == 0,
          "the last target is followed by %s", json_string_value(json_array_get(json_object_get(next, "time"), 0)));
    first = json_number_value(json_array_get(json_object_get(json_object_get(next, "forecast"), "load"), 0));
    CHECK(first > 20 && first < 80, "the new store %g", first);
    forget(&taken);
    unroll_model_free(run.model);
}

/* Missing numbers: their masks are read, they do not count, and the level is the last value present. */
static void check_missing(void)
{
    unroll_model *model;
    make_days(&made, 600, 2);
    for (size_t i = 0; i < 600; i += 5) made.number[1][i] = NAN;
    unroll_evaluation e = train(&made, "horizon=6", "mse", 6, &model);
    CHECK(model->input == 2 * 24 + 2, "inputs with masks: %d", model->input);
    CHECK(e.metric[0].value < 0.2, "mse %g", e.metric[0].value);
    unroll_model_free(model);
}

/* ---- details ---- */

static void check_details(void)
{
    make_days(&made, 200, 1);
    struct run run = run_new(&made, "horizon=6", "quantile:0.1,0.5,0.9", 24);
    struct part *part = open_part(&run, PART_VALIDATION);
    struct task_batch batch = new_batch(part);
    float *z = allocate_zeroed((size_t)part->shape->steps * (size_t)part->shape->rows * 18, sizeof(float));
    part->fill(part, 0, 0, &batch);
    task_forecast.observe(part, 0, &batch, z);
    json_t *details = task_forecast.details(part);
    const json_t *one = json_array_get(json_object_get(details, "forecasts"), 0);
    CHECK(json_array_size(json_object_get(details, "mae_by_step")) == 6, "an error for each step ahead");
    CHECK(json_array_size(json_object_get(one, "forecast")) == 6 &&
              json_array_size(json_object_get(one, "truth")) == 6 &&
              json_array_size(json_object_get(one, "past")) == 18 && json_array_size(json_object_get(one, "low")) == 6,
          "a forecast against the truth");
    double truth = json_number_value(json_array_get(json_object_get(one, "truth"), 5));
    CHECK(fabs(truth - (double)made.number[1][199]) < 1e-5, "its last truth is the last number: %g", truth);
    double level = json_number_value(json_array_get(json_object_get(one, "forecast"), 0));
    CHECK(fabs(level - (double)made.number[1][193]) < 1e-3, "results 0 say the number before: %g", level);
    json_decref(details);
    release(z);
    free_batch(&batch);
    part_free(part);
    unroll_model_free(run.model);
}

/* ---- refusals ---- */

static void refuse_network(const char *options, const char *loss, unroll_status status, const char *part)
{
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_model_config spec = unroll_model_config_auto();
    spec.loss = loss;
    CHECK_REFUSED(unroll_task_configure("forecast", options, &made.data, &spec, &defaults), status, part);
}

/* A model with a task does not use options any more, but they are still checked. */
static void check_options_of_fitted(void)
{
    unroll_model *model;
    unroll_trainer *trainer = NULL;
    unroll_trainer_config config = unroll_trainer_config_default();
    make_days(&made, 200, 1);
    train(&made, "horizon=6", "mse", 1, &model);
    config.task = "forecast";
    config.task_options = "targte=load";
    config.machine.threads = 1;
    CHECK_REFUSED(unroll_trainer_new(model, &made.data, &config, &trainer), UNROLL_USAGE,
                  "the task forecast has no option 'targte'; fix: its options are horizon, context, season, target");
    config.task_options = "horizon=x";
    CHECK_REFUSED(unroll_trainer_new(model, &made.data, &config, &trainer), UNROLL_USAGE,
                  "the task forecast: horizon = 'x'; fix: give a whole number from 1 to 65536");
    unroll_model_free(model);
}

static void check_refusals(void)
{
    static const char *winds[] = {"N", "S"};
    struct part *part = NULL;
    make_days(&made, 150, 1);
    float *still = made_numbers(&made, "still");
    for (size_t i = 0; i < 150; i++) still[i] = 5, made.id[i] = i % 3 == 0;
    struct column *wind = made_column(&made, "wind", COLUMN_CATEGORY);
    wind->vocabulary = winds, wind->vocabulary_size = 2;
    refuse_network("horizon=0", NULL, UNROLL_USAGE, "horizon");
    refuse_network("horizont=3", NULL, UNROLL_USAGE, "horizon");
    refuse_network("target=lod", NULL, UNROLL_USAGE,
                   "'made.csv' has no column 'lod'; fix: use one of when, load, still, wind");
    refuse_network(
        "season=150", NULL, UNROLL_DATA,
        "`season` = 150, and the longest series of 'made.csv' has 150 steps: none repeats; fix: use a season");
    refuse_network("known=x", NULL, UNROLL_USAGE, "has no column 'x'; fix: use one of");
    refuse_network("target=wind", NULL, UNROLL_DATA, "the column 'wind' has none; fix: use another column, or read it");
    refuse_network("target=still", NULL, UNROLL_DATA,
                   "column 'still' of 'made.csv' is constant: there is nothing to forecast; fix: use another target");
    refuse_network(NULL, "xent", UNROLL_USAGE,
                   "`loss` = 'xent' is not supported by the task forecast for these data; fix: use quantile, mse");
    struct run run = run_new(&made, "horizon=6", NULL, 0);
    CHECK(strstr(unroll_model_schema(run.model), "'still' is constant and left out"),
          "the schema says what is left out");
    run.request.validation.count = 4;
    CHECK_REFUSED(
        task_forecast.open(&run.request, PART_VALIDATION, &part), UNROLL_DATA,
        "the validation: no series has a horizon of 6 steps after a period of 24 (the longest has 4 steps); fix: ");
    CHECK(part == NULL, "no part is left");
    run.request.validation.count = 140;
    CHECK_REFUSED(
        schema_fit(run.model, &task_forecast, &run.request), UNROLL_DATA,
        "the training part of 'made.csv' has 10 steps in its longest series, too few for a period of 24 and a "
        "horizon of 6; fix: ");
    run.request.validation.count = 0;
    make_days(&other, 20, 1);
    run.request.data = &other.data;
    CHECK_REFUSED(task_forecast.open(&run.request, PART_PREDICTED, &part), UNROLL_DATA,
                  "'made.csv' has no column 'wind', which the model reads; fix: ");
    make_days(&other, 20, 1);
    made_numbers(&other, "still");
    wind = made_column(&other, "wind", COLUMN_CATEGORY);
    wind->vocabulary = winds, wind->vocabulary_size = 2;
    CHECK_REFUSED(task_forecast.open(&run.request, PART_PREDICTED, &part), UNROLL_DATA,
                  "'made.csv' has 20 steps, fewer than the 24 that a forecast needs; fix: give more of its past");
    unroll_model_free(run.model);
    make_days(&made, 100, 1);
    made.column[1].type = COLUMN_TIME;
    refuse_network(NULL, NULL, UNROLL_DATA, "has no column of numbers that change");
}

int main(void)
{
    check_seasons();
    check_times();
    check_windows();
    check_validation_share();
    check_partial();
    check_crps();
    check_epochs();
    check_learning();
    check_known();
    check_answers();
    check_missing();
    check_details();
    check_options_of_fitted();
    check_refusals();
    return check_finish("forecast");
}
