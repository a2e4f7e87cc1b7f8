/* Tests the import of RTNeural's JSON: files with random weights in Keras' layout compared with Keras' formulas in
 * plain double code, a state_dict as JSON, refusals, and RTNeural's own models if ../shared/data has them. */
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

enum { T = 9, IN = 2, H = 3, OUT = 2, MAX = 16 };

static char folder[] = "/tmp/unroll_test_XXXXXX", path[128], arrays[128];
static struct rng rng;

static double draw(void) { return (double)rng_uniform(&rng) * 2 - 1; }

/* ---- a file with random weights, in Keras' layout -------------------------------------- */

struct weights {
    double kernel[MAX][4 * H], recurrent[H][4 * H], bias[2][4 * H];
};

static void print_rows(FILE *file, const char *before, double rows[][4 * H], int count, int columns, const char *after)
{
    fprintf(file, "%s", before);
    for (int r = 0; r < count; r++)
        for (int c = 0; c < columns; c++) {
            rows[r][c] = (double)(float)draw();
            fprintf(file, "%s%.9g%s", c ? "," : r ? ",[" : "[", rows[r][c], c + 1 == columns ? "]" : "");
        }
    fprintf(file, "%s", after);
}

static void print_layer(FILE *file, const char *type, const char *activation, int in, int out, int gates, int biases,
                        struct weights *w)
{
    fprintf(file, "{\"type\":\"%s\",\"activation\":\"%s\",\"shape\":[null,null,%d],\"weights\":[", type, activation,
            out);
    print_rows(file, "[", w->kernel, in, gates * out, "]");
    if (gates > 1)
        print_rows(file, ",[", w->recurrent, out, gates * out, "]");
    if (biases == 2)
        print_rows(file, ",[", w->bias, 2, gates * out, "]");
    else
        print_rows(file, ",", w->bias, 1, gates * out, "");
    fprintf(file, "]}");
}

/* ---- Keras' formulas ------------------------------------------------------------------- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Returns bias + x W or h U of one column; b NULL: none. */
static double sum(const double *x, int n, double w[][4 * H], const double *b, int column)
{
    double s = b ? b[column] : 0;
    for (int i = 0; i < n; i++) s += x[i] * w[i][column];
    return s;
}

/* keras.io/api/layers/recurrent_layers/lstm: i f c o. */
static void lstm_step(struct weights *w, int in, const double *x, double *h, double *c)
{
    double next[H];
    for (int u = 0; u < H; u++) {
        double a[4];
        for (int g = 0; g < 4; g++)
            a[g] = sum(x, in, w->kernel, w->bias[0], g * H + u) + sum(h, H, w->recurrent, NULL, g * H + u);
        c[u] = sigmoid(a[1]) * c[u] + sigmoid(a[0]) * tanh(a[2]);
        next[u] = sigmoid(a[3]) * tanh(c[u]);
    }
    memcpy(h, next, sizeof next);
}

/* reset_after=True: z r h, h' = z h + (1 - z) tanh(x W + b + r (h U + b')). */
static void gru_step(struct weights *w, int in, const double *x, double *h)
{
    double next[H];
    for (int u = 0; u < H; u++) {
        double xs[3], hs[3];
        for (int g = 0; g < 3; g++) {
            xs[g] = sum(x, in, w->kernel, w->bias[0], g * H + u);
            hs[g] = sum(h, H, w->recurrent, w->bias[1], g * H + u);
        }
        double z = sigmoid(xs[0] + hs[0]), r = sigmoid(xs[1] + hs[1]);
        next[u] = z * h[u] + (1 - z) * tanh(xs[2] + r * hs[2]);
    }
    memcpy(h, next, sizeof next);
}

/* ---- dense relu, recurrent, dense ------------------------------------------------------ */

static struct weights front, middle, back;

static void write_model(bool lstm)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "{\"in_shape\":[null,null,%d],\"layers\":[", IN);
    print_layer(file, "time-distributed-dense", "", IN, H, 1, 1, &front);
    fprintf(file, ",{\"type\":\"activation\",\"activation\":\"relu\",\"shape\":[null,null,%d],\"weights\":[]},", H);
    print_layer(file, lstm ? "lstm" : "gru", "tanh", H, H, lstm ? 4 : 3, lstm ? 1 : 2, &middle);
    fprintf(file, ",");
    print_layer(file, "dense", "sigmoid", H, OUT, 1, 1, &back);
    fprintf(file, "]}");
    fclose(file);
}

/* Writes random inputs, and the outputs computed in double. */
static void write_arrays(bool lstm)
{
    float x[T][IN], y[T][OUT];
    double h[H] = {0}, c[H] = {0};
    for (int t = 0; t < T; t++) {
        double in[IN], first[H];
        for (int i = 0; i < IN; i++) in[i] = (double)(x[t][i] = (float)(2 * draw()));
        for (int u = 0; u < H; u++) first[u] = fmax(0, sum(in, IN, front.kernel, front.bias[0], u));
        if (lstm)
            lstm_step(&middle, H, first, h, c);
        else
            gru_step(&middle, H, first, h);
        for (int o = 0; o < OUT; o++) y[t][o] = (float)sigmoid(sum(h, H, back.kernel, back.bias[0], o));
    }
    const struct tensor_view views[] = {
        {.name = "x", .dtype = DTYPE_F32, .rank = 2, .shape = {T, IN}, .data = x, .bytes = sizeof x},
        {.name = "y", .dtype = DTYPE_F32, .rank = 2, .shape = {T, OUT}, .data = y, .bytes = sizeof y}};
    MUST(npz_write(arrays, views, 2));
}

static void compare(const char *file, const char *what, double limit)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_run_config run = unroll_run_config_default();
    unroll_difference difference = {.size = sizeof difference, .absolute = INFINITY, .relative = INFINITY};
    unroll_model *m;
    if (!MUST(unroll_model_import(file, &config, &m)))
        return;
    MUST(unroll_model_verify(m, arrays, &run, &difference));
    CHECK(difference.absolute <= limit, "%s: the largest difference is %g", what, difference.absolute);
    unroll_model_free(m);
}

static void test_formulas(void)
{
    for (int i = 0; i < 6; i++) {
        write_model(i % 2);
        write_arrays(i % 2);
        compare(path, i % 2 ? "lstm" : "gru", 1e-6);
    }
}

/* ---- refusals -------------------------------------------------------------------------- */

static void test_refusals(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"[]", "JSON object"},
        {"{", "json"},
        {"{\"layers\":[]}", "in_shape"},
        {"{\"in_shape\":[1],\"layers\":[]}", "no layers"},
        {"{\"in_shape\":[],\"layers\":[]}", "in_shape[0] is not an integer in 1 .. 65536"},
        {"{\"in_shape\":[1],\"layers\":[3]}", "type"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"conv1d\",\"shape\":[1],\"weights\":[]}]}", "conv1d"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"activation\",\"activation\":\"relu\"}]}", "must follow"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"activation\":\"prelu\",\"shape\":[1],\"weights\":[]}]}",
         "'prelu'"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"lstm\",\"activation\":\"relu\",\"shape\":[1],\"weights\":[]}]}",
         "computes tanh"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[1],\"weights\":[]}]}", "0 arrays"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[1],\"weights\":[[[1,2]]]}]}", "1 x 1"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[2],\"weights\":[[[1,2],[3]]]}]}", "equal"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[1],\"weights\":[[[\"1\"]]]}]}",
         "is not a number"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[1],\"weights\":[[[1e39]]]}]}", "too large"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[99999999],\"weights\":[[[1]]]}]}",
         "shape[0] is not an integer in 1 .. 65536"},
        {"{\"in_shape\":[1],\"layers\":[{\"type\":\"dense\",\"shape\":[4294967297],\"weights\":[[[1]]]}]}", "shape[0]"},
        {"{\"a.weight_ih_l0\":3}", "a.weight_ih_l0"},
        {"{\"a.weight_ih_l0\":[[1],[2]],\"a.weight_hh_l0\":[[1],[2]]}", "an RNN has one gate"}};
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m;
    config.format = "rtneural";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(path, "w");
        fputs(wrong[i].text, file);
        fclose(file);
        unroll_status status = unroll_model_import(path, &config, &m);
        CHECK((status == UNROLL_DATA || status == UNROLL_UNSUPPORTED) && strstr(unroll_last_error(), wrong[i].says),
              "%s: %d '%s'", wrong[i].text, (int)status, unroll_last_error());
    }
}

/* Keras' layers are completely described, so options are refused; a state_dict needs some. */
static void test_wishes(void)
{
    static const char *const files[] = {"{\"in_shape\":[1],\"layers\":[]}", "{\"a.weight_ih_l0\":3}"};
    static const char *const says[] = {"leave them out", "choose one of tanh, relu"};
    static const char *const nonlinearity[] = {"relu", "sine"};
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m;

    config.format = "rtneural";
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "w");
        fputs(files[i], file);
        fclose(file);
        config.nonlinearity = nonlinearity[i];
        CHECK_REFUSED(unroll_model_import(path, &config, &m), i ? UNROLL_USAGE : UNROLL_UNSUPPORTED, says[i]);
    }
}

/* ---- RTNeural's own models ------------------------------------------------------------- */

static int read_csv(const char *name, const char *what, float *to, int max)
{
    char file[200];
    snprintf(file, sizeof file, "../shared/data/rtneural/test_data/%s_%s_python.csv", name, what);
    FILE *csv = fopen(file, "r");
    int n = 0;
    while (csv && n < max && fscanf(csv, "%f", &to[n]) == 1) n++;
    if (csv)
        fclose(csv);
    return n;
}

static void test_originals(void)
{
    static const char *const names[] = {"gru", "gru_1d", "lstm", "lstm_1d", "dense", "gru_torch", "lstm_torch"};
    enum { MAX_STEPS = 2000 };
    static float x[MAX_STEPS], y[MAX_STEPS];
    char file[200];

    if (access("../shared/data/rtneural/models", R_OK)) {
        check_skip("RTNeural's own models: ../shared/data/rtneural is not there");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int n = read_csv(names[i], "x", x, MAX_STEPS);
        if (!CHECK(n > 0 && read_csv(names[i], "y", y, MAX_STEPS) == n, "%s has %d steps", names[i], n))
            continue;
        const struct tensor_view views[] = {
            {.name = "x", .rank = 1, .dtype = DTYPE_F32, .shape = {(uint64_t)n}, .data = x, .bytes = 4 * (uint64_t)n},
            {.name = "y",
             .rank = 2,
             .dtype = DTYPE_F32,
             .shape = {(uint64_t)n, 1},
             .data = y,
             .bytes = 4 * (uint64_t)n}};
        MUST(npz_write(arrays, views, 2));
        snprintf(file, sizeof file, "../shared/data/rtneural/models/%s.json", names[i]);
        compare(file, names[i], 1e-6);
    }
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    rng = rng_new(11, 0);
    snprintf(path, sizeof path, "%s/model.json", folder);
    snprintf(arrays, sizeof arrays, "%s/arrays.npz", folder);
    test_formulas();
    test_refusals();
    test_wishes();
    test_originals();
    unlink(path);
    unlink(arrays);
    rmdir(folder);
    return check_finish("test_rtneural");
}
