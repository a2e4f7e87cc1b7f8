/* Difficult cases of exported integers: huge, tiny or zero weights, wide rows, inputs of any scale, all compared with
 * the compiled export bit by bit. Also calibration from files, reproducible files, and two models in one program, which
 * is C++. */
/* test: kinds=plain,long-memory; seconds=40 */
#include "export/loaded.h"
#include "io/npy.h"
#include "unroll_advanced.h"
#include "listed.h"
#include <math.h>

/* ---- difficult models ------------------------------------------------------------------ */

static void scale_weights(unroll_model *model, float scale, int every)
{
    for (int i = 0; i < unroll_model_parameters(model); i += every) {
        unroll_parameter q = {.size = sizeof q};
        unroll_model_parameter(model, i, &q);
        for (int k = 0; k < q.shape[0] * (q.rank == 2 ? q.shape[1] : 1); k++) q.data[k] *= scale;
    }
}

static bool export_integers(const unroll_model *model, const char *name, const char *calibration)
{
    unroll_export_config config = unroll_export_config_default();
    config.format = "c99";
    config.dtype = "int8";
    config.prefix = name;
    config.calibration = calibration;
    return unroll_model_export(model, folder, &config) == UNROLL_OK;
}

/* Compares the steps of the export with the reference's, whose outputs are numbers. */
static void compare(const unroll_model *model, const char *name, unroll_integer *integer, float scale)
{
    enum { STEPS = 60, WIDEST = 1024 };
    static float x[WIDEST], y[WIDEST], expected[WIDEST];
    struct exported e;
    unroll_network network = {.size = sizeof network};
    int bad = 0, wild = 0;
    unroll_model_network(model, &network);
    const int n = unroll_model_outputs(model);
    if (!load(name, &e))
        return;
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < network.input; i++) x[i] = scale * (float)uniform();
        unroll_integer_step(integer, NULL, x, expected);
        e.step(e.state, x, y);
        bad += !same(y, expected, n);
        for (int i = 0; i < n; i++) wild += !isfinite(y[i]);
    }
    CHECK(bad == 0 && wild == 0, "%s: %d of %d steps have other bits, %d outputs are no numbers", name, bad, STEPS,
          wild);
    unload(&e);
}

/* Either both refuse it with a message, or the bits are the same. */
static void check_hard(const unroll_model_config *spec, float weights, int every, float inputs)
{
    static int number;
    unroll_model *model;
    unroll_integer *integer;
    char name[32];
    snprintf(name, sizeof name, "hard_%d", number++);
    if (!CHECK(unroll_model_new(spec, 4, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    scale_weights(model, weights, every);
    unroll_status status = unroll_integer_new(model, NULL, &integer);
    bool is_exported = export_integers(model, name, NULL);
    CHECK((status == UNROLL_OK) == is_exported, "%s: refused by one of two", name);
    CHECK(status == UNROLL_OK || (status == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "fix:")), "%s: %s", name,
          unroll_last_error());
    if (status == UNROLL_OK) {
        compare(model, name, integer, inputs);
        unroll_integer_free(integer);
    }
    unroll_model_free(model);
}

static void check_hard_models(void)
{
    static const float scales[] = {0, 1e-30f, 1e-6f, 0.01f, 8, 300, 1e6f, 1e30f};
    for (int cell = 0; listed(UNROLL_LIST_CELLS, cell); cell++)
        for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
            unroll_model_config spec = unroll_model_config_default();
            spec.cell = listed(UNROLL_LIST_CELLS, cell);
            spec.hidden = 7;
            spec.input = 3;
            spec.output = 2;
            check_hard(&spec, scales[i], (int)(1 + i % 3), i % 2 ? 1e6f : 1);
        }
    unroll_model_config wide = unroll_model_config_default();
    wide.cell = "rnn";
    wide.hidden = 4;
    wide.input = 1000; /* the sums of |q| exceed 32 bits unless the scale is larger */
    wide.output = 1;
    check_hard(&wide, 1, 1, 100);
}

/* A state that must not change: the forget gate is open, and nothing is added. */
static void check_memory(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_integer *integer;
    unroll_parameter q = {.size = sizeof q};
    unroll_integer_config calibration = unroll_integer_config_default();
    float frames[40] = {1}, x = 1, first = 0, last = 0, nothing = 0;
    spec.cell = "gru";
    spec.hidden = spec.input = 1;
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    scale_weights(model, 0, 1);
    unroll_model_parameter(model, 0, &q); /* rows r, z, n of W: an input opens the update gate and gives n = 1 */
    q.data[1] = -40;
    q.data[2] = 3;
    unroll_model_parameter(model, 2, &q); /* its bias keeps it closed */
    q.data[1] = 20;
    calibration.inputs = frames;
    calibration.steps = 40;
    if (CHECK(unroll_integer_new(model, &calibration, &integer) == UNROLL_OK, "%s", unroll_last_error())) {
        unroll_integer_step(integer, NULL, &x, &first);
        for (int t = 0; t < 1000; t++) unroll_integer_step(integer, NULL, &nothing, &last);
        CHECK(first > 0.9f && fabsf(last - first) < 0.05f, "a GRU forgets: %g became %g", (double)first, (double)last);
        unroll_integer_free(integer);
    }
    unroll_model_free(model);
}

/* ---- calibration from a file ----------------------------------------------------------- */

static bool refused(const unroll_model *model, const char *path, const char *word)
{
    return !export_integers(model, "refused", path) && strstr(unroll_last_error(), word);
}

static void write_array(const char *path, int rank, const uint64_t *shape, const float *data)
{
    struct tensor_view view = {.name = "", .dtype = DTYPE_F32, .rank = rank, .data = data, .bytes = sizeof *data};
    for (int i = 0; i < rank; i++) {
        view.shape[i] = shape[i];
        view.bytes *= shape[i];
    }
    CHECK(npy_write(path, &view) == UNROLL_OK, "%s", unroll_last_error());
}

static void check_calibration(void)
{
    enum { T = 30, B = 2, I = 3 };
    static float frames[T * B * I];
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_integer *integer;
    unroll_integer_config calibration = unroll_integer_config_default();
    char path[128];
    spec.hidden = 6;
    spec.input = I;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    for (int i = 0; i < T * B * I; i++) frames[i] = (float)(50 * uniform());
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    write_array(path, 3, (uint64_t[]){T, B, I}, frames);
    calibration.inputs = frames;
    calibration.steps = T;
    calibration.rows = B;
    CHECK(export_integers(model, "calibrated", path), "%s", unroll_last_error());
    if (CHECK(unroll_integer_new(model, &calibration, &integer) == UNROLL_OK, "%s", unroll_last_error())) {
        compare(model, "calibrated", integer, 50);
        unroll_integer_free(integer);
    }
    write_array(path, 2, (uint64_t[]){T, B * I}, frames);
    CHECK(refused(model, path, "frames of 6"), "%s", unroll_last_error());
    write_array(path, 1, (uint64_t[]){T * B * I}, frames);
    CHECK(refused(model, path, "1 axes"), "%s", unroll_last_error());
    write_array(path, 2, (uint64_t[]){0, I}, frames);
    CHECK(refused(model, path, "no frame"), "%s", unroll_last_error());
    frames[4] = NAN;
    write_array(path, 2, (uint64_t[]){T, I}, frames);
    CHECK(refused(model, path, "not finite"), "%s", unroll_last_error());
    run("head -c 70 %s >%s/short.npy", path, folder);
    snprintf(path, sizeof path, "%s/short.npy", folder);
    CHECK(refused(model, path, "short.npy"), "%s", unroll_last_error());
    unroll_model_free(model);
    spec.tokens = 1;
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    write_array(path, 1, (uint64_t[]){4}, (float[]){0, 2, 1, 2});
    CHECK(export_integers(model, "tokens", path), "%s", unroll_last_error());
    write_array(path, 1, (uint64_t[]){4}, (float[]){0, 2, 1.5f, 2});
    CHECK(refused(model, path, "1.5"), "%s", unroll_last_error());
    write_array(path, 1, (uint64_t[]){4}, (float[]){0, 2, 3, 2});
    CHECK(refused(model, path, "not a token"), "%s", unroll_last_error());
    unroll_model_free(model);
}

/* ---- files ----------------------------------------------------------------------------- */

/* With a delta: 0 gives the same bits as without; 0.05 gives different, but near results; a reset clears the
 * products. */
static void check_delta(void)
{
    enum { STEPS = 60, INPUT = 5, OUTPUT = 4 };
    static const double deltas[] = {-1, 0, 0.05};
    unroll_model_config spec = unroll_model_config_default();
    unroll_integer_config calibration = unroll_integer_config_default();
    unroll_integer *r[3], *none;
    unroll_model *model;
    float y[3][OUTPUT], again[OUTPUT], first[OUTPUT] = {0}, most = 0;
    spec.cell = "gru";
    spec.layers = 2;
    spec.input = INPUT;
    spec.hidden = 12;
    spec.output = OUTPUT;
    if (!MUST(unroll_model_new(&spec, 3, &model)))
        return;
    calibration.operand_bits = 8;
    for (int i = 0; i < 3; i++) {
        calibration.delta = deltas[i];
        MUST(unroll_integer_new(model, &calibration, &r[i]));
    }
    for (int t = 0; t < STEPS; t++) {
        float x[INPUT];
        for (int k = 0; k < INPUT; k++) x[k] = sinf(0.05f * (float)(t * (k + 1)));
        for (int i = 0; i < 3; i++) MUST(unroll_integer_step(r[i], NULL, x, y[i]));
        CHECK(!memcmp(y[0], y[1], sizeof y[0]), "step %d: a delta of 0 changes results", t);
        for (int k = 0; k < OUTPUT; k++) most = fmaxf(most, fabsf(y[2][k] - y[0][k]));
        if (t == 0)
            memcpy(first, y[2], sizeof first);
    }
    CHECK(most > 0 && most < 0.2f, "a delta of 0.05 moves results by %g", (double)most);
    unroll_integer_reset(r[2]);
    MUST(unroll_integer_step(r[2], NULL, (float[INPUT]){0}, again));
    CHECK(!memcmp(again, first, sizeof first), "a reset leaves what products had");
    calibration.delta = 1e9;
    CHECK_REFUSED(unroll_integer_new(model, &calibration, &none), UNROLL_USAGE,
                  "`delta` = 1e+09 is not supported; fix:");
    for (int i = 0; i < 3; i++) unroll_integer_free(r[i]);
    unroll_model_free(model);
}

static void check_files(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    char path[128];
    spec.hidden = 5;
    spec.input = 3;
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(export_integers(model, "twice", NULL) && !run("cd %s && cp twice.c once.c && cp twice.h once.h", folder) &&
              export_integers(model, "twice", NULL) &&
              !run("cd %s && cmp twice.c once.c && cmp twice.h once.h", folder),
          "the same model gave other files");
    CHECK(export_integers(model, "other", NULL), "%s", unroll_last_error());
    snprintf(path, sizeof path, "%s/both.cc", folder);
    FILE *file = fopen(path, "w");
    fputs("#include \"twice.h\"\n#include \"other.h\"\nint main()\n{\n    static twice a;\n"
          "    static other b;\n"
          "    float x[TWICE_INPUTS] = { 1 }, y[TWICE_OUTPUTS], z[OTHER_OUTPUTS];\n"
          "    twice_init(&a);\n    other_init(&b);\n"
          "    twice_step(&a, x, y);\n    other_step(&b, x, z);\n    return y[0] != z[0];\n}\n",
          file);
    fclose(file);
    if (run("command -v g++ >%s/log", folder))
        check_skip("the header is read by g++, which is not here");
    else
        CHECK(!run("cd %s && gcc -std=c99 -O1 -c twice.c other.c && g++ -Wall -Wextra -Werror -O1 both.cc "
                   "twice.o other.o -o both && ./both",
                   folder),
              "two models in one program of C++");
    unroll_model_free(model);
}

int main(void)
{
    if (!make_folder())
        return check_finish("test_integers");
    if (run("command -v gcc >%s/log", folder)) {
        check_skip("exported C is compiled with gcc, which is not here");
    } else {
        check_hard_models();
        check_calibration();
        check_delta();
        check_files();
    }
    check_memory();
    run("rm -rf %s", folder);
    return check_finish("test_integers");
}
