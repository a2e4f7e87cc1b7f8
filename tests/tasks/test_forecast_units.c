/* Forecast models in the units of the data (unroll_model_to_units): a stream reads raw numbers and gives a session's
 * results for windows, with missing numbers, past and known columns, groups and several targets; refusals. Predictions
 * are tested in test_forecast.c. */
/* test: seconds=5 */
#include "tasks/forecast_run.h"

static struct made made; /* too large for the stack */

/* Writes the inputs of a step of a stream: the numbers of the period, with the last one for missing ones; masks; the
 * other columns, including the horizon of those known in advance. */
static void write_frame(const struct recipe *recipe, const struct window *window, size_t step, float *level, float *to)
{
    const size_t begin = recipe->data->begin[window->sequence] + step, patch = (size_t)recipe->patch;
    const struct channel *channel = &recipe->channel[window->target].in;
    for (size_t k = 0; k < patch; k++) {
        float number = channel_at(channel, window->sequence, begin + k);
        to[k] = number;
        if (recipe->masks)
            to[patch + k] = isnan(number);
        if (!isnan(number))
            *level = number;
    }
    for (size_t k = 0; k < patch; k++) to[k] = isnan(to[k]) ? *level : to[k];
    to += recipe->masks ? 2 * patch : patch;
    for (int c = recipe->targets; c < recipe->targets + recipe->past + recipe->known; c++)
        for (size_t k = 0; k < patch + (size_t)(c < recipe->targets + recipe->past ? 0 : recipe->horizon); k++)
            *to++ = channel_at(&recipe->channel[c].in, window->sequence, begin + k);
}

/* Compares a stream of a model in units with results z [steps, rows, results] of one window. */
static void compare_units(const struct run *run, const struct windows *w, const struct window *window, const float *z)
{
    const struct recipe *recipe = &w->recipe;
    const struct scale *scale = recipe_scale(recipe, window->sequence, window->target);
    const double level = recipe_level(recipe, window);
    unroll_stream_config config = unroll_stream_config_default();
    size_t bytes = unroll_stream_bytes(run->model, &config), results = (size_t)unroll_model_outputs(run->model);
    void *memory = allocate(bytes);
    float *answer = allocate_zeroed(results, sizeof *answer), *frame = allocate_zeroed(4096, sizeof *frame), last = 0;
    unroll_stream *stream;
    MUST(unroll_stream_init(memory, bytes, run->model, &config, &stream));
    CHECK(run->model->input == recipe_inputs(recipe) - 2, "a step reads %d numbers", run->model->input);
    for (int t = window->steps; t > 0; t--) {
        write_frame(recipe, window, window->origin - (size_t)t * (size_t)recipe->patch, &last, frame);
        MUST(unroll_stream_step(stream, NULL, frame, answer));
    }
    double off = 0;
    for (size_t k = 0; k < results; k++)
        off = fmax(off, fabs(((double)answer[k] - scale->mean) / scale->deviation - ((double)z[k] + level)));
    CHECK(off < 2e-5, "a stream in units is off by %g deviations", off);
    release(frame);
    release(answer);
    release(memory);
}

/* Predicts the last window of a sequence and target with a session and with a stream in units. */
static void check_in_units(struct made *from, const char *options, const char *loss, const char *series,
                           size_t sequence, int target)
{
    struct run run = run_new(from, options, loss, 0);
    struct part *part = open_part(&run, PART_PREDICTED);
    struct windows *w = (struct windows *)part;
    struct task_batch arrays = new_batch(part);
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session;
    struct window window = {0};
    unroll_model *in_units;
    int row = 0;
    config.raw = 1;
    config.mode = UNROLL_INFER;
    config.steps = part->shape->steps;
    config.rows = part->shape->rows;
    config.lengths = config.machine.threads = 1;
    MUST(unroll_session_new(run.model, &config, &session));
    size_t count = unroll_session_count(session, "z"), results = (size_t)unroll_model_outputs(run.model);
    float *z = allocate_zeroed(count, sizeof *z);
    part->fill(part, 0, 0, &arrays);
    unroll_batch batch = {.size = sizeof batch, .inputs = arrays.inputs, .lengths = arrays.lengths};
    MUST(unroll_session_forward(session, &batch));
    MUST(unroll_session_read(session, "z", z, count));
    unroll_session_free(session);
    while (windows_at(w, 0, 0, row, &window) && (window.sequence != sequence || window.target != target)) row++;
    MUST(unroll_model_to_units(run.model, series, &in_units));
    unroll_model_free(run.model);
    run.model = in_units;
    CHECK(unroll_model_schema(run.model) == NULL, "it only streams");
    compare_units(&run, w, &window,
                  z + ((size_t)(window.steps - 1) * (size_t)part->shape->rows + (size_t)row) * results);
    release(z);
    free_batch(&arrays);
    part_free(part);
    unroll_model_free(run.model);
}

static void check_units(void)
{
    make_stores(&made, 300);
    check_in_units(&made, "horizon=3,season=24", "quantile:0.2,0.5,0.8", "large", 1, 0);
    float *heat = made_numbers(&made, "heat"), *plan = made_numbers(&made, "plan");
    for (size_t i = 0; i < 600; i++) heat[i] = 900 + (float)(i % 31), plan[i] = (float)(i % 7);
    for (size_t i = 290; i < 300; i++) made.number[1][i] = heat[i] = NAN;
    for (size_t i = 590; i < 600; i++) made.number[1][i] = heat[i] = NAN;
    check_in_units(&made, "horizon=3,season=24,target=load,known=plan", "mse", "small", 0, 0);
    check_in_units(&made, "horizon=3,season=24,target=load;heat,known=plan", "huber", "small:heat", 0, 1);
    make_days(&made, 600, 2);
    for (size_t i = 0; i < 600; i += 5) made.number[1][i] = NAN;
    check_in_units(&made, "horizon=6", "mse", NULL, 0, 0);
}

static void check_units_refused(void)
{
    make_stores(&made, 300);
    struct run run = run_new(&made, "horizon=3,season=24", "mse", 0);
    unroll_model *in_units;
    unroll_stream_config config = unroll_stream_config_default();
    CHECK_REFUSED(unroll_model_to_units(run.model, NULL, &in_units), UNROLL_USAGE,
                  "the model forecasts 2 series with different scales, and a stream needs one of them; fix: "
                  "set `series`, for example 'large'");
    CHECK_REFUSED(unroll_model_to_units(run.model, "huge", &in_units), UNROLL_USAGE,
                  "the model does not forecast the series 'huge'; fix: choose one of its 2, such as 'large'");
    CHECK(unroll_stream_bytes(run.model, &config) == 0, "a stream of no series");
    config.series = "small";
    config.machine.dtype = "bf16";
    CHECK(unroll_stream_bytes(run.model, &config) == 0, "a stream of differences in bf16");
    CHECK(strstr(unroll_last_error(), "weights in bf16 are too coarse"), "%s", unroll_last_error());
    config.raw = 1;
    CHECK(unroll_stream_bytes(run.model, &config) == 0, "a series of raw numbers");
    config.series = NULL;
    CHECK(unroll_stream_bytes(run.model, &config) > 0, "raw numbers in bf16");
    unroll_model_free(run.model);
    run = run_new(&made, "horizon=3,season=24", "gaussian", 0);
    CHECK_REFUSED(unroll_model_to_units(run.model, "small", &in_units), UNROLL_UNSUPPORTED,
                  "the spread that the loss 'gaussian' learns is not a linear output");
    unroll_model_free(run.model);
}

int main(void)
{
    check_units();
    check_units_refused();
    return check_finish("forecast in units");
}
