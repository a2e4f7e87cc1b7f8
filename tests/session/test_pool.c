/* Pools over time from the user's side: outputs for ragged rows compared with a plain formula, targets without a time
 * axis, the step that gets the gradient among equal ones, files, specifications, and refusals. Their gradients and bits
 * are tested in tests/cases, PyTorch's values in tests/vectors. */
/* test: kinds=plain,long-memory */
#include "fixture.h"
#include "io/npy.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { UNITS = 4, WIDTH = 2 * UNITS, T = 9, B = 5, CLASSES = 3 };
static const char *const pools[] = {"last", "mean", "max"};
static const int32_t lengths[B] = {T, 0, 1, 4, 7};

/* A bidirectional gru, all pools of it, and a head over them. */
static unroll_model *pooled_network(void)
{
    unroll_layer layer[5];
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    for (int i = 0; i < 5; i++) layer[i] = unroll_layer_default();
    layer[0].kind = "gru", layer[0].name = "rnn", layer[0].width = UNITS, layer[0].bidirectional = layer[0].output = 1;
    for (int i = 1; i < 4; i++) {
        layer[i].kind = "pool", layer[i].name = layer[i].pool = pools[i - 1];
        layer[i].sources = layer[i].output = 1, layer[i].source[0] = 0;
    }
    layer[4].name = "head", layer[4].width = CLASSES, layer[4].sources = 3;
    for (int i = 0; i < 3; i++) layer[4].source[i] = 1 + i;
    network.input = INPUT, network.layer = layer, network.layers = 5, network.loss = "xent";
    if (!MUST(unroll_model_from_network(&network, 5, &m)))
        abort();
    return m;
}

static void draw_inputs(float *x, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) x[i] = (float)random_number(&seed);
}

/* ---- values ---------------------------------------------------------------------------- */

/* Computes unit k of row b in double. */
static double plain(float y[T][B][WIDTH], int pool, int b, int k)
{
    double sum = 0, max = -INFINITY;
    const int n = lengths[b], last = k < UNITS ? n - 1 : 0; /* the reverse direction of a row ends at its first step */
    for (int t = 0; t < n; t++) {
        sum += (double)y[t][b][k];
        max = fmax(max, (double)y[t][b][k]);
    }
    return n == 0 ? 0 : pool == 0 ? (double)y[last][b][k] : pool == 1 ? sum / n : max;
}

static void test_values(void)
{
    unroll_model *m = pooled_network();
    float x[T * B * INPUT], y[T][B][WIDTH], given[B][WIDTH], z[B][CLASSES];
    unroll_batch batch = {.size = sizeof batch, .inputs = x, .lengths = lengths};
    draw_inputs(x, T * B * INPUT, 1);
    for (int b = 0; b < B; b++) /* steps beyond a length are not read */
        for (int t = lengths[b]; t < T; t++) x[(t * B + b) * INPUT] = NAN;
    for (int chunks = 1; chunks <= 3; chunks++) {
        unroll_session_config c = config_of(UNROLL_INFER, T, B);
        c.lengths = 1, c.machine.chunks = chunks;
        unroll_session *s = open_with(m, c);
        unroll_buffer buffer = {.size = sizeof buffer};
        MUST(unroll_session_forward(s, &batch));
        MUST(unroll_session_read(s, "y.l0", &y[0][0][0], T * B * WIDTH));
        for (int pool = 0; pool < 3; pool++) {
            char name[8];
            double worst = 0;
            snprintf(name, sizeof name, "y.l%d", pool + 1);
            MUST(unroll_session_read(s, name, &given[0][0], B * WIDTH));
            for (int b = 0; b < B; b++)
                for (int k = 0; k < WIDTH; k++) worst = fmax(worst, fabs((double)given[b][k] - plain(y, pool, b, k)));
            CHECK(worst <= (pool == 1 ? 1e-7 : 0), "%s, %d chunks: off by %g", pools[pool], chunks, worst);
        }
        CHECK(unroll_session_find(s, "z", &buffer) && buffer.rank == 2 && buffer.shape[0] == B &&
                  buffer.shape[1] == CLASSES,
              "of z");
        MUST(unroll_session_read(s, "z", &z[0][0], B * CLASSES));
        unroll_session_free(s);
    }
    unroll_model_free(m);
}

/* ---- targets, counts ------------------------------------------------------------------- */

/* Each sequence counts once, except those of length 0 and those with the target -1; without lengths, the whole batch
 * counts. */
static void test_targets(void)
{
    static const int32_t targets[B] = {0, 1, 2, -1, 1};
    unroll_model *m = pooled_network();
    float x[T * B * INPUT];
    unroll_result result = {.size = sizeof result};
    draw_inputs(x, T * B * INPUT, 2);
    for (int ragged = 0; ragged < 2; ragged++) {
        unroll_batch batch = {.size = sizeof batch, .inputs = x, .targets = targets};
        unroll_session_config c = config_of(UNROLL_TRAIN, T, B);
        unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
        c.lengths = ragged, batch.lengths = ragged ? lengths : NULL;
        rates.learning_rate = 0.03;
        unroll_session *s = open_with(m, c);
        double first = 0;
        for (int i = 0; i < 60; i++) {
            MUST(unroll_session_step(s, &batch, &rates, &result));
            first = i ? first : result.loss;
        }
        CHECK(result.weight == (ragged ? 3 : 4), "%g sequences count", result.weight);
        CHECK(result.loss < first / 2, "the loss went from %g to %g", first, result.loss);
        int32_t wrong[B] = {0, 7, 0, 0, CLASSES};
        batch.targets = wrong;
        CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_DATA,
                      ragged ? "targets[t=0, row=4] = 3 is outside -1..2" : "targets[t=0, row=1] = 7");
        unroll_session_free(s);
    }
    unroll_model_free(m);
}

/* ---- gradients ------------------------------------------------------------------------- */

static unroll_model *lone_pool(const char *pool)
{
    unroll_layer layer = unroll_layer_default();
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    layer.kind = "pool", layer.name = "answer", layer.pool = pool;
    network.input = 2, network.layer = &layer, network.layers = 1;
    if (!MUST(unroll_model_from_network(&network, 1, &m)))
        abort();
    return m;
}

/* Among equal maxima the first step has the gradient; steps beyond the length have none. */
static void test_ties(void)
{
    enum { STEPS_ = 6, ROWS_ = 2 };
    static const float x[STEPS_][ROWS_][2] = {{{-1, -3}, {0, 5}}, {{2, -3}, {0, 5}}, {{2, -4}, {0, 9}},
                                              {{1, -3}, {0, 9}},  {{2, 0}, {7, 9}},  {{0, -9}, {7, 9}}};
    static const int32_t ends[ROWS_] = {4, 2};
    static const float dz[ROWS_ * 2] = {3, 5, 7, 11};
    static const float want[3][STEPS_][ROWS_][2] = {
        {[1] = {{0, 0}, {7, 11}}, [3] = {{3, 5}, {0, 0}}},
        {{{.75f, 1.25f}, {3.5f, 5.5f}}, {{.75f, 1.25f}, {3.5f, 5.5f}}, {{.75f, 1.25f}}, {{.75f, 1.25f}}},
        {{{0, 5}, {7, 11}}, {{3, 0}}}};
    for (int pool = 0; pool < 3; pool++)
        for (int chunks = 1; chunks <= 3; chunks += 2) {
            unroll_model *m = lone_pool(pools[pool]);
            unroll_session_config c = config_of(UNROLL_MODULE, STEPS_, ROWS_);
            unroll_batch batch = {.size = sizeof batch, .inputs = &x[0][0][0], .lengths = ends};
            float dx[STEPS_][ROWS_][2];
            c.lengths = c.input_gradient = 1, c.machine.chunks = chunks;
            unroll_session *s = open_with(m, c);
            MUST(unroll_session_forward(s, &batch));
            MUST(unroll_session_write(s, "d.z", dz, ROWS_ * 2));
            MUST(unroll_session_backward(s));
            MUST(unroll_session_read(s, "d.x", &dx[0][0][0], STEPS_ * ROWS_ * 2));
            CHECK(!memcmp(dx, want[pool], sizeof dx), "%s, %d chunks: the gradient", pools[pool], chunks);
            unroll_session_free(s);
            unroll_model_free(m);
        }
}

/* A row that starts from the states of the last run is pooled only over the steps of its own run. */
static void test_stateful(void)
{
    unroll_model *m = lone_pool("mean");
    unroll_session_config c = config_of(UNROLL_INFER, 2, 1);
    static const float x[4] = {1, 2, 3, 6}, more[4] = {10, 0, 20, 0};
    unroll_batch batch = {.size = sizeof batch, .inputs = x};
    float z[2];
    c.stateful = 1;
    unroll_session *s = open_with(m, c);
    MUST(unroll_session_forward(s, &batch));
    batch.inputs = more;
    MUST(unroll_session_forward(s, &batch));
    MUST(unroll_session_read(s, "z", z, 2));
    CHECK(z[0] == 15 && z[1] == 0, "%g %g", (double)z[0], (double)z[1]);
    unroll_session_free(s);
    unroll_model_free(m);
}

/* ---- descriptions ---------------------------------------------------------------------- */

/* Files of other tools: ONNX has pools (its values: tests/file/check_onnx_live.py), a state_dict does not contain
 * them. */
static void check_exports(unroll_model *m, const char *folder, const char *pool)
{
    static const char *const formats[] = {"onnx", "torch"};
    char path[300];
    for (int i = 0; i < 2; i++) {
        unroll_export_config config = unroll_export_config_default();
        config.format = formats[i];
        snprintf(path, sizeof path, "%s/x.%s", folder, i ? "safetensors" : "onnx");
        CHECK(unroll_model_export(m, path, &config) == UNROLL_OK, "%s, %s: %s", pool ? pool : "none", formats[i],
              unroll_last_error());
    }
}

static void test_specs(const char *folder)
{
    static const char *const all[] = {"last", "mean", "max", "mean+max", NULL};
    char path[300];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    for (int i = 0; i < 5; i++)
        for (int headed = 0; headed < 2; headed++) {
            unroll_model_config spec = vectors_spec(), found = {.size = sizeof found};
            unroll_model *m = NULL, *loaded = NULL;
            spec.pool = all[i], spec.bidirectional = 1, spec.dropout = 0.5f;
            if (!headed)
                spec.output = 0, spec.loss = NULL;
            if (all[i] && strchr(all[i], '+') && !headed) {
                CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE, "makes 2 outputs");
                continue;
            }
            m = new_model(spec);
            MUST(unroll_model_save(m, path));
            check_exports(m, folder, all[i]);
            MUST(unroll_model_load(path, &loaded));
            for (int k = 0; k < 2; k++)
                CHECK(unroll_model_stack(k ? loaded : m, &found) && found.output == spec.output && found.layers == 2 &&
                          !strcmp(found.pool ? found.pool : "none", all[i] ? all[i] : "none"),
                      "%s comes back", all[i] ? all[i] : "none");
            unroll_model_free(loaded);
            unroll_model_free(m);
        }
    unroll_model *m = pooled_network();
    unroll_model_config found = {.size = sizeof found};
    unroll_layer layer = {.size = sizeof layer};
    CHECK(!unroll_model_stack(m, &found), "three pools are no stack");
    MUST(unroll_model_layer(m, 2, &layer));
    CHECK(!strcmp(layer.kind, "pool") && !strcmp(layer.pool, "mean") && layer.width == WIDTH, "a layer comes back");
    unroll_model_free(m);
}

/* The output array has no time axis. */
static void test_arrays(const char *folder)
{
    unroll_model *m = pooled_network();
    char from[300], to[300];
    float x[T * INPUT];
    struct npz *file = NULL;
    unroll_run_config config = unroll_run_config_default();
    snprintf(from, sizeof from, "%s/x.npy", folder);
    snprintf(to, sizeof to, "%s/y.npz", folder);
    draw_inputs(x, T * INPUT, 3);
    for (int single = 0; single < 2; single++) {
        struct tensor_view v = {
            .name = "x", .dtype = DTYPE_F32, .rank = 3, .shape = {T, 1, INPUT}, .data = x, .bytes = sizeof x};
        if (single)
            v.rank = 2, v.shape[1] = INPUT;
        MUST(npy_write(from, &v));
        MUST(unroll_model_run(m, from, to, &config));
        MUST(npz_open(to, &file));
        const struct tensor_view *y = npz_find(file, "y"), *pooled = npz_find(file, "y.mean");
        CHECK(y && y->rank == 2 - single && y->shape[0] == (single ? CLASSES : 1) && y->shape[!single] == CLASSES,
              "of y");
        CHECK(pooled && pooled->rank == 2 - single && pooled->shape[!single] == WIDTH, "of the mean");
        npz_close(file);
    }
    unroll_model_free(m);
}

/* ---- refusals -------------------------------------------------------------------------- */

static void test_refusals(void)
{
    unroll_layer layer[3] = {unroll_layer_default(), unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    unroll_session *s;
    network.input = INPUT, network.layer = layer, network.layers = 3;
    for (int i = 0; i < 3; i++) layer[i].name = i == 0 ? "a" : i == 1 ? "b" : "c";
    layer[0].kind = "gru", layer[0].width = UNITS, layer[2].width = 2;
    layer[1].kind = "pool";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "layer 1: there is no pool ''; fix: choose one of last, mean");
    layer[1].pool = "sum";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "no pool 'sum'");
    layer[1].pool = "max", layer[1].width = 3;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "fix: set width = 4, or 0");
    layer[1].width = 0, layer[1].activation = "relu";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "'activation' is supported only for dense layers");
    layer[1].activation = NULL, layer[1].bidirectional = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "'bidirectional' is supported only for recurrent layers");
    layer[1].bidirectional = 0, layer[2].kind = "lstm";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "fix: put the pool after the recurrent layers");
    layer[2].kind = "pool", layer[2].pool = "mean", layer[2].width = 0;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "an earlier pool has reduced them to one");
    layer[2].kind = "dense", layer[2].width = 2;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "'pool' is supported only for pool layers");
    layer[2].pool = NULL, layer[2].sources = 2, layer[2].source[0] = 0, layer[2].source[1] = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "layer 2 reads every step of layer 0 together");
    layer[2].source[0] = 1, layer[2].source[1] = -1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "layer 2 reads every step of layer -1 together");
    layer[0].pool = "max";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "layer 0: 'pool' is supported only for pool layers");
    unroll_model_config spec = vectors_spec();
    spec.pool = "median";
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE,
                  "no pool 'median'; fix: choose one of last, mean, max, mean+max");
    spec.pool = "mean+max", spec.layers = 64;
    CHECK_REFUSED(unroll_model_new(&spec, 1, &m), UNROLL_USAGE,
                  "this one has 67 with its pool and head; fix: set `layers` = 62");
    unroll_stream_config stream = unroll_stream_config_default();
    m = pooled_network();
    CHECK(!unroll_stream_bytes(m, &stream) && strstr(unroll_last_error(), "bidirectional"), "'%s'",
          unroll_last_error());
    unroll_session_config c = config_of(UNROLL_INFER, T, B);
    c.resets = 1;
    CHECK_REFUSED(unroll_session_new(m, &c, &s), UNROLL_UNSUPPORTED, "fix: use one row per sequence, with `lengths`");
    unroll_model_free(m);
}

/* Functions that need an output for each step. */
static void test_texts(const char *folder)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_dataset *text = NULL;
    unroll_model *m = NULL;
    unroll_evaluation found = {.size = sizeof found};
    char path[300];
    snprintf(path, sizeof path, "%s/text.txt", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < 50; i++) fputs("one answer for all of it\n", file);
    if (!CHECK(file && !fclose(file), "%s", path) || !MUST(unroll_dataset_open(path, NULL, &text)))
        return;
    spec.hidden = UNITS, spec.pool = "max";
    CHECK_REFUSED(unroll_task_configure("lm", NULL, text, &spec, NULL), UNROLL_USAGE, "pool");
    spec.pool = NULL;
    MUST(unroll_task_configure("lm", NULL, text, &spec, NULL));
    spec.pool = "max";
    m = new_model(spec);
    MUST(unroll_model_set_schema(m, "lm", NULL, text));
    CHECK_REFUSED(unroll_model_evaluate(m, text, NULL, &found, NULL), UNROLL_USAGE, "one prediction for each sequence");
    CHECK(!unroll_model_can_sample(m) && strstr(unroll_last_error(), "a model with a pool"), "'%s'",
          unroll_last_error());
    unroll_model_free(m);
    unroll_dataset_free(text);
}

int main(void)
{
    char folder[] = "/tmp/test_pool.XXXXXX", command[64];
    if (!CHECK(mkdtemp(folder) != NULL, "no folder"))
        return check_finish("pool");
    test_values();
    test_targets();
    test_ties();
    test_stateful();
    test_specs(folder);
    test_arrays(folder);
    test_refusals();
    test_texts(folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("pool");
}
