/* unroll bench: measures the time of a network on random numbers, and its fraction of the machine's peak. Everything
 * uses the public sessions, as users' programs do. On the CPU this includes copying the inputs. Other devices hold
 * the inputs before the first run that counts, and are timed by their own clock if they have one, like the peers of
 * bench/gpu.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/bench_profile.h"
#include "cli/run/bench_stream.h"
#include "cli/show/stopwatch.h"
#include "cli/show/console.h"
#include "cli/run/member.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "cli/run/ranks.h"
#include "unroll_advanced.h"

enum { MIN_RUNS = 1, MAX_RUNS = 100000 };

struct bench {
    const struct settings *settings;
    struct ranks ranks; /* the ranks of --split; the first one's clock counts */
    int layers, steps, rows, input, hidden;
    int directions;
    unroll_model *model;
    unroll_session *session;
    float *inputs;          /* [steps, rows, input] */
    float *output_gradient; /* [steps, rows, directions x hidden] */
    int32_t *lengths;       /* [rows]; NULL: all steps */
    bool by_device;         /* the device's clock counts, not the host's */
    bool on_device;         /* the device has its own memory, which already holds the batch */
    double peak;            /* GFLOP/s of the CPU; 0: not measured on other devices */
    double *ms;             /* [runs] */
    int runs;
    uint64_t state;       /* of the random inputs */
    unroll_pieces pieces; /* pieces of time of the runs */
    double off;           /* difference of their outputs from those of one piece, divided by max(1, |y|) */
};

/* ---- the request ---- */

static bool is_pass(const struct bench *bench, const char *pass)
{
    return strcmp(text_of(bench->settings, OPTION_PASS), pass) == 0;
}

static unroll_status check_request(const struct bench *bench)
{
    const char *dtype = text_of(bench->settings, OPTION_DTYPE);
    if (split_is_auto(bench->settings))
        return complain(UNROLL_USAGE,
                        "--split auto: bench does not choose a split; fix: use --split batch=2 or time=2");
    if (is_pass(bench, "stream") && bench->ranks.comm)
        return complain(UNROLL_USAGE, "--pass stream measures one process; fix: start it without mpirun");
    if (is_pass(bench, "stream") && (bench->steps != 1 || is_on(bench->settings, OPTION_RAGGED)))
        return complain(UNROLL_USAGE,
                        "--pass stream measures single steps; fix: use --shape L,1,B,I,H without --ragged");
    if (strcmp(dtype, "fp32") != 0 && !is_pass(bench, "infer") && !is_pass(bench, "stream"))
        return complain(UNROLL_UNSUPPORTED, "--dtype %s: gradients need fp32 weights; fix: measure --pass infer",
                        dtype);
    return UNROLL_OK;
}

/* ---- what is measured ---- */

static float random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) * 0x1p-23f - 1; /* -1 .. 1 */
}

static void draw_numbers(float *numbers, size_t count, uint64_t *state)
{
    for (size_t i = 0; numbers && i < count; i++) numbers[i] = random_number(state);
}

static float *random_numbers(size_t count, uint64_t *state)
{
    bool fits = count <= unroll_memory_limit() / sizeof(float);
    float *numbers = fits ? malloc(count * sizeof *numbers) : NULL;
    draw_numbers(numbers, count, state);
    return numbers;
}

/* Returns lengths uniform in 1 .. steps, from a random sequence of their own; bench/peer.py draws the same lengths. */
static int32_t *random_lengths(const struct bench *bench)
{
    uint64_t state = 2;
    int32_t *lengths = malloc((size_t)bench->rows * sizeof *lengths);
    for (int row = 0; lengths && row < bench->rows; row++) {
        double unit = 0.5 * ((double)random_number(&state) + 1);
        lengths[row] = 1 + (int32_t)(unit * (bench->steps - 1) + 0.5);
    }
    return lengths;
}

static unroll_status make_arrays(struct bench *bench)
{
    size_t places = (size_t)bench->steps * (size_t)bench->rows;
    bool ragged = is_on(bench->settings, OPTION_RAGGED);
    bench->state = 1;
    bench->inputs = random_numbers(places * (size_t)bench->input, &bench->state);
    bench->output_gradient = random_numbers(places * (size_t)(bench->directions * bench->hidden), &bench->state);
    bench->lengths = ragged ? random_lengths(bench) : NULL;
    bench->ms = malloc(MAX_RUNS * sizeof *bench->ms);
    if (bench->inputs && bench->output_gradient && bench->ms && (bench->lengths || !ragged))
        return UNROLL_OK;
    return complain(UNROLL_RESOURCE, "no memory for the inputs; fix: use a smaller --shape");
}

static unroll_status open_model(const struct bench *bench, unroll_model **model)
{
    const struct settings *s = bench->settings;
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = text_of(s, OPTION_CELL);
    spec.layers = bench->layers;
    spec.hidden = bench->hidden;
    spec.input = bench->input;
    spec.bidirectional = is_on(s, OPTION_BIDIRECTIONAL);
    return complain_library(unroll_model_new(&spec, 1, model));
}

/* Opens a session with the pieces of time and the ranks of the options, or in one piece on this rank alone. */
static unroll_status open_session(const struct bench *bench, unroll_model *model, bool in_order,
                                  unroll_session **session)
{
    const struct settings *s = bench->settings;
    unroll_session_config config = unroll_session_config_default();
    config.mode = is_pass(bench, "infer") ? UNROLL_INFER : UNROLL_MODULE;
    config.steps = bench->steps;
    config.rows = bench->rows;
    config.lengths = is_on(s, OPTION_RAGGED);
    config.input_gradient = is_pass(bench, "train");
    config.machine = machine_of(s, in_order ? &(struct ranks){0} : &bench->ranks);
    config.machine.pieces = in_order ? 1 : config.machine.pieces;
    config.profile = is_on(s, OPTION_PROFILE) && !in_order;
    return complain_library(unroll_session_new(model, &config, session));
}

/* Writes the gradient of the outputs once: no run overwrites it. */
static unroll_status write_output_gradient(struct bench *bench)
{
    char name[32];
    snprintf(name, sizeof name, "d.y.l%d", bench->layers - 1);
    size_t count = (size_t)bench->steps * (size_t)bench->rows * (size_t)(bench->directions * bench->hidden);
    return unroll_session_write(bench->session, name, bench->output_gradient, count);
}

static bool is_on_cpu(const struct bench *bench)
{
    const char *device = text_of(bench->settings, OPTION_DEVICE);
    return !device || strcmp(device, "cpu") == 0;
}

/* Reads the last result of a run, because other devices may still be at work when the run returns. */
static unroll_status wait_for(struct bench *bench, const char *states)
{
    size_t count = (size_t)bench->rows * (size_t)bench->hidden;
    float *room = is_on_cpu(bench) || bench->by_device ? NULL : malloc(count * sizeof *room);
    unroll_status status = room ? unroll_session_read(bench->session, states, room, count) : UNROLL_OK;
    free(room);
    return status;
}

static unroll_status run_once(struct bench *bench)
{
    unroll_batch batch = {.size = sizeof batch, .inputs = bench->inputs, .lengths = bench->lengths};
    TRY(unroll_session_forward(bench->session, bench->on_device ? NULL : &batch));
    bench->on_device = !is_on_cpu(bench);
    if (is_pass(bench, "train"))
        TRY(unroll_session_backward(bench->session));
    return wait_for(bench, is_pass(bench, "train") ? "d.h0.l0" : "hn.l0");
}

/* ---- measuring ---- */

/* Keeps the larger of two measurements, one before and one after the runs, because clock rates change. */
static unroll_status measure_peak(struct bench *bench)
{
    double found;
    if (!is_on_cpu(bench))
        return UNROLL_OK;
    TRY(unroll_measure_peak(unroll_session_isa(bench->session), unroll_session_threads(bench->session), &found));
    bench->peak = fmax(bench->peak, found * unroll_comm_ranks(bench->ranks.comm));
    return UNROLL_OK;
}

static bool runs_from_guesses(const struct bench *bench)
{
    return bench->pieces.pieces > 1 || bench->ranks.split.time > 1;
}

/* Draws new inputs for each run, because states of pieces may be guessed from earlier runs. */
static void draw_inputs(struct bench *bench)
{
    if (runs_from_guesses(bench))
        draw_numbers(bench->inputs, (size_t)bench->steps * (size_t)bench->rows * (size_t)bench->input, &bench->state);
}

/* Measures a run in milliseconds, by the device's or the host's clock. */
static unroll_status time_run(struct bench *bench, double *ms)
{
    double from = seconds_now(), seconds;
    TRY(run_once(bench));
    if (bench->by_device)
        TRY(unroll_session_seconds(bench->session, &seconds));
    else
        seconds = seconds_now() - from;
    *ms = 1e3 * seconds;
    return UNROLL_OK;
}

static unroll_status measure_runs(struct bench *bench)
{
    double seconds = number_of(bench->settings, OPTION_SECONDS), begin = seconds_now();
    unroll_status status = UNROLL_OK;
    while (status == UNROLL_OK && bench->runs < MAX_RUNS) {
        double ends = bench->runs >= MIN_RUNS && seconds_now() - begin >= seconds && ranks_lead(&bench->ranks);
        draw_inputs(bench);
        status = unroll_comm_sum(bench->ranks.comm, &ends, 1); /* all ranks begin and end together */
        if (status != UNROLL_OK || ends > 0)
            break;
        status = time_run(bench, &bench->ms[bench->runs]);
        bench->runs += status == UNROLL_OK;
    }
    sort_numbers(bench->ms, bench->runs);
    return status;
}

/* Compares the outputs of two sessions on one batch; keeps the largest difference. */
static unroll_status compare_outputs(struct bench *bench, unroll_session *other, const char *name, size_t count,
                                     float *made, float *expected)
{
    unroll_batch batch = {.size = sizeof batch, .inputs = bench->inputs, .lengths = bench->lengths};
    TRY(unroll_session_forward(bench->session, &batch));
    TRY(unroll_session_forward(other, &batch));
    TRY(unroll_session_read(bench->session, name, made, count));
    TRY(unroll_session_read(other, name, expected, count));
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)made[i] - (double)expected[i]) / fmax(1, fabs((double)expected[i]));
        bench->off = off <= bench->off ? bench->off : off; /* a NaN replaces any number */
    }
    return UNROLL_OK;
}

/* Compares the outputs of pieces of time with those of one piece, on inputs that no run had. */
static unroll_status check_pieces(struct bench *bench)
{
    unroll_session *other = NULL;
    char name[32];
    snprintf(name, sizeof name, "y.l%d", bench->layers - 1);
    const size_t count = unroll_session_count(bench->session, name);
    if (!runs_from_guesses(bench))
        return UNROLL_OK;
    TRY(unroll_session_pieces(bench->session, &bench->pieces));
    double counts[] = {(double)bench->pieces.rounds, (double)bench->pieces.repaired};
    TRY(complain_library(unroll_comm_sum(bench->ranks.comm, counts, 2)));
    bench->pieces.rounds = (int64_t)counts[0], bench->pieces.repaired = (int64_t)counts[1];
    draw_inputs(bench);
    float *outputs = malloc(2 * count * sizeof *outputs);
    unroll_model *alone = NULL; /* a model's sessions belong either to one rank or to none */
    unroll_status status = outputs ? open_model(bench, &alone)
                                   : complain(UNROLL_RESOURCE, "no memory for the outputs; fix: use a smaller --shape");
    if (status == UNROLL_OK)
        status = open_session(bench, alone, true, &other);
    if (status == UNROLL_OK)
        status = complain_library(compare_outputs(bench, other, name, count, outputs, outputs + count));
    unroll_session_free(other);
    unroll_model_free(alone);
    free(outputs);
    return status;
}

static unroll_status measure(struct bench *bench)
{
    bench->pieces.size = sizeof bench->pieces;
    TRY(unroll_session_pieces(bench->session, &bench->pieces));
    TRY(measure_peak(bench));
    if (is_pass(bench, "train"))
        TRY(write_output_gradient(bench));
    TRY(run_once(bench)); /* warms up the caches and pages */
    double begun;
    bench->by_device = unroll_session_seconds(bench->session, &begun) == UNROLL_OK;
    TRY(measure_runs(bench));
    return measure_peak(bench);
}

/* ---- the result ---- */

/* Returns the floating-point operations of a run by the standard count: for each step and row, each element of the
 * recurrent layers' matrices is multiplied and added once. Backward costs twice as much. Steps beyond a row's length
 * do not count. */
static double operations(const struct bench *bench)
{
    double places = (double)bench->steps * bench->rows, sum = 0;
    for (int row = 0; bench->lengths && row < bench->rows; row++) places -= bench->steps - bench->lengths[row];
    for (int i = 0; i < unroll_model_parameters(bench->model); i++) {
        unroll_parameter p = {.size = sizeof p};
        if (unroll_model_parameter(bench->model, i, &p) == UNROLL_OK && p.rank == 2)
            sum += 2.0 * p.shape[0] * p.shape[1];
    }
    return places * sum * (is_pass(bench, "train") ? 3 : 1);
}

/* Returns the fraction of the peak, or NULL if no peak was measured. */
static json_t *of_peak(const struct bench *bench, double gflops)
{
    return bench->peak > 0 ? json_real(gflops / bench->peak) : NULL;
}

/* Returns the mean of a count per run. */
static double each_run(const struct bench *bench, int64_t count)
{
    return bench->pieces.runs > 0 ? (double)count / (double)bench->pieces.runs : 0;
}

static json_t *pieces_to_json(const struct bench *bench)
{
    const unroll_pieces *p = &bench->pieces;
    if (!runs_from_guesses(bench))
        return NULL;
    return json_pack("{si si sf sf sf si}", "pieces", p->pieces, "ranks", bench->ranks.split.time, "rounds",
                     each_run(bench, p->rounds), "repaired_steps", each_run(bench, p->repaired), "off", bench->off,
                     "in_one_piece", p->in_order);
}

static void print_pieces(const struct bench *bench)
{
    const unroll_pieces *p = &bench->pieces;
    const int ranks = bench->ranks.split.time > 1 ? bench->ranks.split.time : 1;
    if (!runs_from_guesses(bench))
        return;
    if (ranks > 1)
        printf("%d ranks along time, each with ", ranks);
    printf("%d piece%s of %d steps, of which a recurrence ran %.0f again in %.1f rounds; outputs ", p->pieces,
           p->pieces > 1 ? "s" : "", bench->steps / p->pieces / ranks, each_run(bench, p->repaired),
           each_run(bench, p->rounds));
    printf(bench->off > 0 ? "within %.1g of those of one piece\n" : "bit-identical to those of one piece\n",
           bench->off);
    if (p->in_order)
        printf("note: %d of %d recurrences returned to one piece, because repairs took longer than a piece in several "
               "runs\n",
               p->in_order, p->recurrences);
}

/* Returns each device's share of an update's work, or NULL if there is no list of devices. */
static json_t *work_to_json(const struct bench *bench)
{
    double part[RANKS_MAX];
    int ranks;
    (void)unroll_session_shares(bench->session, part, RANKS_MAX, &ranks);
    json_t *parts = ranks ? json_array() : NULL;
    for (int i = 0; i < ranks; i++) json_array_append_new(parts, json_real(part[i]));
    return parts;
}

/* Prints the result of a session as text or JSON. */
static unroll_status print(const struct bench *bench)
{
    const struct settings *s = bench->settings;
    const char *cell = text_of(s, OPTION_CELL), *shape = text_of(s, OPTION_SHAPE), *pass = text_of(s, OPTION_PASS);
    const char *dtype = text_of(s, OPTION_DTYPE), *isa = unroll_session_isa(bench->session);
    const char *precision = text_of(s, OPTION_PRECISION);
    int threads = unroll_session_threads(bench->session);
    bool both_ways = bench->directions > 1, ragged = bench->lengths != NULL;
    double best = bench->ms[0], median = bench->ms[bench->runs / 2];
    double gflops = operations(bench) / best / 1e6;
    if (is_on(s, OPTION_JSON))
        return print_json(json_pack(
            "{ss ss sb sb ss ss ss ss si si ss sf sf sf so* so* so* so* so*}", "cell", cell, "shape", shape,
            "bidirectional", both_ways, "ragged", ragged, "pass", pass, "dtype", dtype, "precision", precision, "isa",
            isa, "threads", threads, "runs", bench->runs, "clock", bench->by_device ? "device" : "host", "ms", best,
            "ms_median", median, "gflops", gflops, "peak_gflops", bench->peak > 0 ? json_real(bench->peak) : NULL,
            "peak_fraction", of_peak(bench, gflops), "pieces", pieces_to_json(bench), "operations",
            profile_to_json(bench->session, bench->peak), "work", work_to_json(bench)));
    profile_print(bench->session, bench->peak);
    printf("%s %s%s%s, %s in %s on %s, %d thread%s: %.4g ms (median %.4g of %d runs), %.4g GFLOP/s", cell, shape,
           both_ways ? " bidirectional" : "", ragged ? " ragged" : "", pass,
           strcmp(precision, "fp32") ? precision : dtype, isa, threads, threads == 1 ? "" : "s", best, median,
           bench->runs, gflops);
    if (bench->peak > 0)
        printf(", %.1f%% of the peak of %.4g", 100 * gflops / bench->peak, bench->peak);
    puts(bench->by_device ? ", by the device's clock" : "");
    print_pieces(bench);
    return UNROLL_OK;
}

/* ---- streams: many frames, so that the values change from step to step ---- */

enum { FRAMES = 64 };

/* Prints the result of a stream as text or JSON. */
static unroll_status print_steps(const struct bench *bench, const struct step_times *t)
{
    const struct settings *s = bench->settings;
    const char *cell = text_of(s, OPTION_CELL), *shape = text_of(s, OPTION_SHAPE);
    const char *dtype = text_of(s, OPTION_DTYPE);
    double gflops = operations(bench) / t->best / 1e9;
    if (is_on(s, OPTION_JSON))
        return print_json(json_pack("{ss ss ss ss ss si si sf sf sf sf sf sf sf sf sf sf}", "cell", cell, "shape",
                                    shape, "pass", "stream", "dtype", dtype, "isa", t->isa, "threads", 1, "runs",
                                    t->steps, "ms", 1e3 * t->best, "ms_median", 1e3 * t->median, "p50_ns", 1e9 * t->p50,
                                    "p99_ns", 1e9 * t->p99, "p999_ns", 1e9 * t->p999, "max_ns", 1e9 * t->max,
                                    "clock_ns", 1e9 * t->clock, "gflops", gflops, "peak_gflops", bench->peak,
                                    "peak_fraction", gflops / bench->peak));
    printf("%s %s, stream in %s on %s: %.4g us a step (median %.4g), %.4g GFLOP/s, %.1f%% of the peak of %.4g\nsingle "
           "steps, in ns: p50 %.0f, p99 %.0f, p99.9 %.0f, maximum %.0f of %d, %.0f of each for the clock\n",
           cell, shape, dtype, t->isa, 1e6 * t->best, 1e6 * t->median, gflops, 100 * gflops / bench->peak, bench->peak,
           1e9 * t->p50, 1e9 * t->p99, 1e9 * t->p999, 1e9 * t->max, t->steps, 1e9 * t->clock);
    return UNROLL_OK;
}

static unroll_status measure_stream(struct bench *bench)
{
    const struct settings *s = bench->settings;
    unroll_stream_config config = unroll_stream_config_default();
    struct step_times times;
    uint64_t state = 1;
    config.rows = bench->rows;
    config.machine.isa = text_of(s, OPTION_ISA);
    config.machine.dtype = text_of(s, OPTION_DTYPE);
    bench->inputs = random_numbers((size_t)FRAMES * (size_t)bench->rows * (size_t)bench->input, &state);
    if (bench->inputs == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the inputs; fix: use a smaller --shape");
    TRY(bench_stream(bench->model, &config, bench->inputs, FRAMES, number_of(s, OPTION_SECONDS), &times));
    TRY(complain_library(unroll_measure_peak(times.isa, 1, &bench->peak)));
    return print_steps(bench, &times);
}

static unroll_status measure_session(struct bench *bench)
{
    TRY(open_session(bench, bench->model, false, &bench->session)); /* fails if the memory is not enough */
    TRY(make_arrays(bench));
    TRY(complain_library(measure(bench)));
    TRY(check_pieces(bench));
    return ranks_lead(&bench->ranks) ? print(bench) : UNROLL_OK;
}

unroll_status cmd_bench(struct settings *settings)
{
    const int *shape = integers_of(settings, OPTION_SHAPE);
    struct bench bench = {.settings = settings,
                          .layers = shape[0],
                          .steps = shape[1],
                          .rows = shape[2],
                          .input = shape[3],
                          .hidden = shape[4],
                          .directions = is_on(settings, OPTION_BIDIRECTIONAL) ? 2 : 1};
    if (is_given(settings, OPTION_SERVE))
        return run_extension("load", "--serve", settings);
    unroll_status status = ranks_open(&bench.ranks, settings);
    if (status == UNROLL_OK)
        status = check_request(&bench);
    if (status == UNROLL_OK)
        status = open_model(&bench, &bench.model);
    if (status == UNROLL_OK)
        status = is_pass(&bench, "stream") ? measure_stream(&bench) : measure_session(&bench);
    member_close(status);
    ranks_close(&bench.ranks, status, false);
    unroll_session_free(bench.session);
    unroll_model_free(bench.model);
    free(bench.ms);
    free(bench.lengths);
    free(bench.output_gradient);
    free(bench.inputs);
    return status;
}
