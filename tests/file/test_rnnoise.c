/* Tests the import of RNNoise's models: small files with random weights compared with the network's formulas in plain
 * double code, refusals, a stream compared with the whole sequence, and a real model if ../shared/data has one. */
/* test: kinds=plain,memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/philox.h"
#include "check.h"
#include "io/npy.h"
#include "unroll_advanced.h"

enum { T = 12, MAX = 64, LAYERS = 6 };
enum { INPUT_DENSE, VAD_GRU, NOISE_GRU, DENOISE_GRU, DENOISE_OUTPUT, VAD_OUTPUT };

static char folder[] = "/tmp/unroll_test_XXXXXX", path[128], arrays[128];
static struct rng rng;

/* ---- a file with random weights -------------------------------------------------------- */

/* Kernels [inputs, columns] and biases, scaled by 256. */
struct layer {
    int inputs, units, activation, columns;
    double kernel[MAX][3 * MAX], recurrent[MAX][3 * MAX], bias[3 * MAX];
};

static struct layer layers[LAYERS];

static double print_weight(FILE *file)
{
    int weight = (int)rng_below(&rng, 256) - 128;
    fprintf(file, "%d ", weight);
    return (double)weight / 256;
}

static void print_layer(FILE *file, struct layer *l, int inputs, int units, int gates, int activation)
{
    *l = (struct layer){.inputs = inputs, .units = units, .activation = activation, .columns = gates * units};
    fprintf(file, "%d %d %d\n", inputs, units, activation);
    for (int i = 0; i < inputs; i++)
        for (int c = 0; c < l->columns; c++) l->kernel[i][c] = print_weight(file);
    for (int i = 0; i < units && gates == 3; i++)
        for (int c = 0; c < l->columns; c++) l->recurrent[i][c] = print_weight(file);
    for (int c = 0; c < l->columns; c++) l->bias[c] = print_weight(file);
    fputc('\n', file);
}

enum { FEATURES = 5, DENSE = 4, VAD = 3, NOISE = 6, DENOISE = 7, BANDS = 2 };

static void write_model(int activation)
{
    FILE *file = fopen(path, "w");
    fputs("rnnoise-nu model file version 1\n", file);
    print_layer(file, &layers[INPUT_DENSE], FEATURES, DENSE, 1, activation);
    print_layer(file, &layers[VAD_GRU], DENSE, VAD, 3, 0);
    print_layer(file, &layers[NOISE_GRU], DENSE + VAD + FEATURES, NOISE, 3, activation);
    print_layer(file, &layers[DENOISE_GRU], VAD + NOISE + FEATURES, DENOISE, 3, 0);
    print_layer(file, &layers[DENOISE_OUTPUT], DENOISE, BANDS, 1, 1);
    print_layer(file, &layers[VAD_OUTPUT], VAD, 1, 1, 1);
    fclose(file);
}

/* ---- the formulas ---------------------------------------------------------------------- */

static double activate(int activation, double x)
{
    return activation == 0 ? tanh(x) : activation == 1 ? 1 / (1 + exp(-x)) : fmax(0, x);
}

static void dense(const struct layer *l, const double *x, double *y)
{
    for (int u = 0; u < l->units; u++) {
        double s = l->bias[u];
        for (int i = 0; i < l->inputs; i++) s += x[i] * l->kernel[i][u];
        y[u] = activate(l->activation, s);
    }
}

/* Columns z, r, h; the reset is applied before the product: tanh(b + x W + (r h) U). */
static void gru(const struct layer *l, const double *x, double *h)
{
    double gate[2][MAX], next[MAX];
    int n = l->units;
    for (int c = 0; c < 2 * n; c++) {
        double s = l->bias[c];
        for (int i = 0; i < l->inputs; i++) s += x[i] * l->kernel[i][c];
        for (int i = 0; i < n; i++) s += h[i] * l->recurrent[i][c];
        gate[c / n][c % n] = activate(1, s);
    }
    for (int u = 0; u < n; u++) {
        double s = l->bias[2 * n + u];
        for (int i = 0; i < l->inputs; i++) s += x[i] * l->kernel[i][2 * n + u];
        for (int i = 0; i < n; i++) s += gate[1][i] * h[i] * l->recurrent[i][2 * n + u];
        next[u] = gate[0][u] * h[u] + (1 - gate[0][u]) * activate(l->activation, s);
    }
    memcpy(h, next, (size_t)n * sizeof *h);
}

static void put(double *to, int *at, const double *from, int count)
{
    memcpy(to + *at, from, (size_t)count * sizeof *to);
    *at += count;
}

struct states {
    double vad[MAX], noise[MAX], denoise[MAX];
};

static void step(struct states *s, const double *x, double *gains, double *voice)
{
    double first[MAX], in[MAX];
    int at = 0;
    dense(&layers[INPUT_DENSE], x, first);
    gru(&layers[VAD_GRU], first, s->vad);
    dense(&layers[VAD_OUTPUT], s->vad, voice);
    put(in, &at, first, DENSE);
    put(in, &at, s->vad, VAD);
    put(in, &at, x, FEATURES);
    gru(&layers[NOISE_GRU], in, s->noise);
    at = 0;
    put(in, &at, s->vad, VAD);
    put(in, &at, s->noise, NOISE);
    put(in, &at, x, FEATURES);
    gru(&layers[DENOISE_GRU], in, s->denoise);
    dense(&layers[DENOISE_OUTPUT], s->denoise, gains);
}

static void write_arrays(void)
{
    float x[T][FEATURES], y[T][BANDS], voice[T];
    struct states s = {{0}, {0}, {0}};
    for (int t = 0; t < T; t++) {
        double in[FEATURES], out[BANDS], probability;
        for (int i = 0; i < FEATURES; i++) in[i] = (double)(x[t][i] = 2 * rng_uniform(&rng) - 1);
        step(&s, in, out, &probability);
        for (int o = 0; o < BANDS; o++) y[t][o] = (float)out[o];
        voice[t] = (float)probability;
    }
    const struct tensor_view views[] = {
        {.name = "x", .rank = 2, .dtype = DTYPE_F32, .shape = {T, FEATURES}, .data = x, .bytes = sizeof x},
        {.name = "y", .rank = 2, .dtype = DTYPE_F32, .shape = {T, BANDS}, .data = y, .bytes = sizeof y},
        {.name = "y.vad_output", .rank = 2, .dtype = DTYPE_F32, .shape = {T, 1}, .data = voice, .bytes = sizeof voice}};
    MUST(npz_write(arrays, views, 3));
}

static unroll_model *import(const char *file)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m = NULL;
    MUST(unroll_model_import(file, &config, &m));
    return m;
}

static void count_line(void *arg, const char *line)
{
    (void)line;
    ++*(int *)arg;
}

static void test_formulas(void)
{
    for (int activation = 0; activation < 3; activation++) {
        unroll_run_config run = unroll_run_config_default();
        unroll_difference difference = {.size = sizeof difference, .relative = INFINITY};
        int compared = 0;
        write_model(activation);
        write_arrays();
        unroll_model *m = import(path);
        if (!m)
            continue;
        run.report = count_line;
        run.arg = &compared;
        MUST(unroll_model_verify(m, arrays, &run, &difference));
        CHECK(compared == 2 && difference.relative <= 1e-6, "activation %d: %s differs by %g, %d arrays", activation,
              difference.array, difference.relative, compared);
        unroll_model_free(m);
    }
}

/* ---- refusals -------------------------------------------------------------------------- */

static void refuse(const char *text, const char *says)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m;
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    config.format = "rnnoise";
    CHECK(unroll_model_import(path, &config, &m) == UNROLL_DATA && strstr(unroll_last_error(), says), "%.60s: '%s'",
          text, unroll_last_error());
}

static void test_refusals(void)
{
    refuse("", "does not begin");
    refuse("rnnoise-nu model file version 2\n1 1 0 1 1", "does not begin");
    refuse("rnnoise-nu model file version 1\n", "input_dense: a number is missing");
    refuse("rnnoise-nu model file version 1\n1 1 3 ", "3 is outside 0 .. 2");
    refuse("rnnoise-nu model file version 1\n1 0 0 ", "0 is outside 1 ..");
    refuse("rnnoise-nu model file version 1\n99999999999999999999999 1 0 ", "is outside 1 ..");
    refuse("rnnoise-nu model file version 1\n1 1 0 300 1", "300 is outside -128 .. 127");
    refuse("rnnoise-nu model file version 1\n1 1 0 1 x", "input_dense: a number is missing");
    refuse("rnnoise-nu model file version 1\n1 1 0 1 1  1 1 0 1 1 1 1 1 1 1 1 1  1 1 0 1 1 1 1 1 1 1 1 1"
           "  1 1 0 1 1 1 1 1 1 1 1 1  1 1 0 1 1  1 1 0 1 1",
           "noise_gru reads 1 values");
    write_model(0);
    FILE *file = fopen(path, "a");
    fputs("7\n", file);
    fclose(file);
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m;
    CHECK(unroll_model_import(path, &config, &m) == UNROLL_DATA &&
              strstr(unroll_last_error(), "data after the last layer"),
          "'%s'", unroll_last_error());
}

/* ---- a stream compared with the whole sequence ----------------------------------------- */

/* Compares a stream with a session, bit for bit. */
static void compare_stream(unroll_model *m, int steps, int features, int bands)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_stream_config stream_config = unroll_stream_config_default();
    size_t bytes = unroll_stream_bytes(m, &stream_config), in = (size_t)steps * (size_t)features;
    size_t out = (size_t)steps * (size_t)bands;
    float *x = malloc(in * sizeof *x), *whole = malloc(out * sizeof *whole), *streamed = malloc(out * sizeof *x);
    unroll_session *session;
    unroll_stream *stream;
    config.steps = steps;
    for (size_t i = 0; i < in; i++) x[i] = 2 * rng_uniform(&rng) - 1;
    MUST(unroll_session_new(m, &config, &session));
    MUST(unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}));
    MUST(unroll_session_read(session, "z", whole, out));
    unroll_session_free(session);
    if (CHECK(bytes > 0, "no stream: %s", unroll_last_error())) {
        void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
        MUST(unroll_stream_init(memory, bytes, m, &stream_config, &stream));
        MUST(unroll_stream_run(stream, steps, NULL, x, streamed));
        CHECK(!memcmp(whole, streamed, out * sizeof *whole), "the stream has other bits than the whole sequence");
        free(memory);
    }
    free(x);
    free(whole);
    free(streamed);
}

static void test_streams(void)
{
    write_model(2);
    unroll_model *m = import(path);
    if (m)
        compare_stream(m, 40, FEATURES, BANDS);
    unroll_model_free(m);
    if (access("../shared/data/rnnoise_models/bd.rnnn", R_OK)) {
        check_skip("a real model: ../shared/data/rnnoise_models is not there");
        return;
    }
    m = import("../shared/data/rnnoise_models/bd.rnnn");
    if (m)
        compare_stream(m, 300, 42, 22);
    unroll_model_free(m);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    rng = rng_new(7, 0);
    snprintf(path, sizeof path, "%s/model.rnnn", folder);
    snprintf(arrays, sizeof arrays, "%s/arrays.npz", folder);
    test_formulas();
    test_refusals();
    test_streams();
    unlink(path);
    unlink(arrays);
    rmdir(folder);
    return check_finish("test_rnnoise");
}
