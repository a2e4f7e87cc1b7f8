/* Tests the import and export of PyTorch's state_dicts. The networks of tests/vectors/import give PyTorch's values,
 * also after a round trip through our own file, and their tensors are exported bit for bit. Each kind of invalid
 * state_dict is refused with the tensor's name. Loading our files in PyTorch is tested in test_interchange.sh. */
/* test: kinds=check-plain,memory */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "io/npy.h"
#include "convert/tensor_set.h"
#include "unroll_advanced.h"

static char folder[] = "/tmp/unroll_test_XXXXXX", path[PATH_MAX];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static unroll_status import(const char *file, const char *prefix, const char *order, const char *nonlinearity,
                            unroll_model **model)
{
    unroll_import_config config = unroll_import_config_default();
    config.prefix = prefix;
    config.order = order;
    config.nonlinearity = nonlinearity;
    return unroll_model_import(file, &config, model);
}

/* ---- PyTorch's own --------------------------------------------------------------------- */

static const struct vector {
    const char *name, *prefix, *order, *nonlinearity;
    int batch_first, layers;
} vectors[] = {{"tagger.safetensors", .layers = 3},
               {"tagger.safetensors", .order = "encoder.embed,encoder.lstm,fc", .layers = 3},
               {"bare-gru.safetensors", .batch_first = 1, .layers = 3},
               {"relu-rnn.safetensors", .nonlinearity = "relu", .layers = 3},
               {"tanh-rnn.safetensors", .layers = 2},
               {"projected.safetensors", .layers = 2},
               {"two-stacks.safetensors", .layers = 4},
               {"deep-head.safetensors", .order = "lstm,fc1:relu,fc2", .layers = 3},
               {"half.safetensors", .layers = 2},
               {"brain.safetensors", .layers = 2},
               {"sharded.safetensors.index.json", .layers = 3},
               {"classifier.safetensors", .layers = 2},
               {"tied.safetensors", .layers = 3}};
enum { VECTORS = sizeof vectors / sizeof *vectors };

/* Within 1e-6 of the scale in fp32. */
static void check_parity(const struct vector *v, unroll_model *m, const char *what)
{
    unroll_run_config config = unroll_run_config_default();
    unroll_difference difference = {.size = sizeof difference, .relative = INFINITY};
    char reference[PATH_MAX];
    snprintf(reference, sizeof reference, "tests/vectors/import/%.*s.npz", (int)strcspn(v->name, "."), v->name);
    config.batch_first = v->batch_first;
    MUST(unroll_model_verify(m, reference, &config, &difference));
    CHECK(difference.relative <= 1e-6, "%s, %s: %s differs by %g", v->name, what, difference.array,
          difference.relative);
}

/* The export has exactly the tensors of the file, bit for bit if the file has F32. */
static void check_tensors(const struct vector *v, const char *file, const char *exported)
{
    struct tensor_set from, to;
    const char *bare = strncmp(v->name, "bare", 4) ? "" : "rnn.";
    if (!MUST(tensor_set_open(file, &from)))
        return;
    if (MUST(tensor_set_open(exported, &to))) {
        CHECK(from.count == to.count, "%s: %d tensors became %d", v->name, from.count, to.count);
        for (int i = 0; i < from.count; i++) {
            const struct tensor_view *a = from.tensor[i];
            char name[200];
            snprintf(name, sizeof name, "%s%s", bare, a->name);
            const struct tensor_view *b = tensor_set_find(&to, name);
            float x[2000], y[2000];
            if (!CHECK(b && b->rank == a->rank && b->shape[0] == a->shape[0] && tensor_view_count(a) < 2000, "%s: '%s'",
                       v->name, name))
                continue;
            MUST(tensor_view_to_floats(a, x));
            MUST(tensor_view_to_floats(b, y));
            CHECK(!memcmp(x, y, tensor_view_count(a) * sizeof *x), "%s: '%s' changed", v->name, name);
        }
        tensor_set_close(&to);
    }
    tensor_set_close(&from);
}

static void check_vector(const struct vector *v)
{
    char file[PATH_MAX];
    unroll_model *m, *again;
    unroll_export_config config = unroll_export_config_default();
    snprintf(file, sizeof file, "tests/vectors/import/%s", v->name);
    if (!MUST(import(file, v->prefix, v->order, v->nonlinearity, &m)))
        return;
    CHECK(unroll_model_layers(m) == v->layers, "%s: %d layers", v->name, unroll_model_layers(m));
    check_parity(v, m, "imported");
    MUST(unroll_model_save(m, in_folder("model.safetensors")));
    if (MUST(unroll_model_load(in_folder("model.safetensors"), &again))) {
        check_parity(v, again, "saved and loaded");
        config.format = "torch";
        MUST(unroll_model_export(again, in_folder("exported.safetensors"), &config));
        check_tensors(v, file, in_folder("exported.safetensors"));
        unroll_model_free(again);
    }
    unroll_model_free(m);
}

/* The same model with other values must be detected. */
static void check_that_parity_can_fail(void)
{
    unroll_run_config config = unroll_run_config_default();
    unroll_difference difference = {.size = sizeof difference, .relative = 0};
    unroll_parameter p = {.size = sizeof p};
    unroll_model *m;
    if (!MUST(import("tests/vectors/import/two-stacks.safetensors", NULL, NULL, NULL, &m)))
        return;
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        float kept = p.data[0];
        p.data[0] += 0.25f;
        MUST(unroll_model_verify(m, "tests/vectors/import/two-stacks.npz", &config, &difference));
        CHECK(difference.relative > 1e-4, "a change of '%s' is not noticed", p.name);
        p.data[0] = kept;
    }
    unroll_model_free(m);
}

/* ---- arrays with wrong values ----------------------------------------------------------- */

/* Copies deep-head.npz to in_folder("changed.npz") with `number` as the second value of `array`; only this array if
 * `alone`. */
static void change_array(const char *array, float number, bool alone)
{
    struct tensor_view views[16];
    struct npz *file;
    int count = 0;
    if (!MUST(npz_open("tests/vectors/import/deep-head.npz", &file)))
        return;
    for (int i = 0; i < npz_count(file); i++) {
        struct tensor_view *v = &views[count];
        *v = *npz_at(file, i);
        if (strcmp(v->name, array) == 0)
            memcpy((char *)(uintptr_t)v->data + sizeof number, &number, sizeof number);
        if (!alone || strcmp(v->name, array) == 0)
            count++;
    }
    MUST(npz_write(in_folder("changed.npz"), views, count));
    npz_close(file);
}

static void test_wrong_numbers(void)
{
    unroll_run_config config = unroll_run_config_default();
    const float bad[] = {INFINITY, -INFINITY, NAN};
    unroll_model *m;
    if (!MUST(import("tests/vectors/import/deep-head.safetensors", NULL, "lstm,fc1:relu,fc2", NULL, &m)))
        return;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unroll_difference difference = {.size = sizeof difference, .relative = 0};
        change_array("y", bad[i], false);
        MUST(unroll_model_verify(m, in_folder("changed.npz"), &config, &difference));
        CHECK(isinf(difference.relative) && !strcmp(difference.array, "y"), "%g in the reference is not noticed: %g",
              (double)bad[i], difference.relative);
        change_array("h0", bad[i], false);
        CHECK_REFUSED(unroll_model_verify(m, in_folder("changed.npz"), &config, &difference), UNROLL_DATA,
                      "changed.npz': 'h0' contains NaN or infinity at index 1");
        change_array("x", bad[i], true);
        CHECK_REFUSED(unroll_model_run(m, in_folder("changed.npz"), "unwritten.npz", &config), UNROLL_DATA,
                      "changed.npz': inputs[t=0, row=0, 1] is ");
    }
    unroll_model_free(m);
}

/* Exchanged rows and steps are detected by lengths and states, which are never exchanged. */
static void test_batch_first_is_told(void)
{
    unroll_run_config config = unroll_run_config_default();
    unroll_difference difference = {.size = sizeof difference};
    unroll_model *m;
    if (!MUST(import("tests/vectors/import/bare-gru.safetensors", NULL, NULL, NULL, &m)))
        return;
    CHECK_REFUSED(unroll_model_verify(m, "tests/vectors/import/bare-gru.npz", &config, &difference), UNROLL_DATA,
                  "there are 6 rows; fix: set `batch_first` if x is [rows, steps, ..]");
    unroll_model_free(m);
    if (!MUST(import("tests/vectors/import/tagger.safetensors", NULL, NULL, NULL, &m)))
        return;
    config.batch_first = 1;
    CHECK_REFUSED(unroll_model_verify(m, "tests/vectors/import/tagger.npz", &config, &difference), UNROLL_DATA,
                  "fix: leave out `batch_first` if x is [steps, rows, ..]");
    unroll_model_free(m);
}

/* Another width is not reported as exchanged rows and steps; with two inputs, one would not be read. */
static void test_hints_lead_somewhere(void)
{
    unroll_run_config config = unroll_run_config_default();
    unroll_difference difference = {.size = sizeof difference};
    struct npz *file;
    unroll_model *m;
    if (!MUST(import("tests/vectors/import/deep-head.safetensors", NULL, "lstm,fc1:relu,fc2", NULL, &m)))
        return;
    if (!MUST(npz_open("tests/vectors/import/deep-head.npz", &file)))
        return;
    struct tensor_view x = *npz_find(file, "x"), views[] = {x, x};
    views[1].name = "y";
    MUST(npz_write(in_folder("changed.npz"), views, 2));
    CHECK(unroll_model_verify(m, in_folder("changed.npz"), &config, &difference) == UNROLL_DATA &&
              strstr(unroll_last_error(), "'y' has the shape [6, 3, 5], but the model returns [6, 3, 8]") &&
              !strstr(unroll_last_error(), "batch_first"),
          "y of another width: %s", unroll_last_error());
    views[1].name = "tokens";
    MUST(npz_write(in_folder("changed.npz"), views, 2));
    CHECK_REFUSED(unroll_model_verify(m, in_folder("changed.npz"), &config, &difference), UNROLL_DATA,
                  "changed.npz' has both x and tokens; fix: leave out 'tokens', because the model reads 'x'");
    npz_close(file);
    unroll_model_free(m);
}

/* ---- invalid state_dicts --------------------------------------------------------------- */

enum { MAX_TENSORS = 16 };

struct dict {
    struct tensor_view tensor[MAX_TENSORS];
    int count;
};

static float numbers[4096];

static void add(struct dict *d, const char *name, uint64_t rows, uint64_t columns)
{
    struct tensor_view *t = &d->tensor[d->count++];
    *t = (struct tensor_view){.name = name,
                              .dtype = DTYPE_F32,
                              .rank = columns ? 2 : 1,
                              .shape = {rows, columns},
                              .data = numbers,
                              .bytes = rows * (columns ? columns : 1) * sizeof(float)};
}

/* lstm 3 -> 4, fc 4 -> 2 */
static struct dict lstm_and_linear(void)
{
    struct dict d = {.count = 0};
    add(&d, "net.lstm.weight_ih_l0", 16, 3);
    add(&d, "net.lstm.weight_hh_l0", 16, 4);
    add(&d, "net.lstm.bias_ih_l0", 16, 0);
    add(&d, "net.lstm.bias_hh_l0", 16, 0);
    add(&d, "net.fc.weight", 2, 4);
    add(&d, "net.fc.bias", 2, 0);
    return d;
}

static unroll_status import_dict(const struct dict *d, const char *prefix, const char *order)
{
    unroll_model *m = NULL;
    const char *file = in_folder("dict.safetensors");
    if (!MUST(safetensors_write(file, d->tensor, d->count, NULL, 0)))
        return UNROLL_FAILURE;
    unroll_status status = import(file, prefix, order, NULL, &m);
    unroll_model_free(m);
    return status;
}

static void test_missing_and_unknown(void)
{
    for (int gone = 0; gone < 4; gone++) {
        struct dict d = lstm_and_linear();
        const char *name = d.tensor[gone].name;
        d.tensor[gone] = d.tensor[--d.count];
        CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_DATA, name);
    }
    struct dict d = lstm_and_linear();
    CHECK(import_dict(&d, NULL, NULL) == UNROLL_OK, "%s", unroll_last_error());
    add(&d, "net.norm.running_mean", 4, 0);
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_UNSUPPORTED, "net.norm.running_mean");
    CHECK_REFUSED(import_dict(&d, "other", NULL), UNROLL_DATA, "begins with 'other'");
    CHECK(import_dict(&d, "net.lstm.", NULL) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(import_dict(&d, "net.lstm", NULL) == UNROLL_OK, "%s", unroll_last_error());
    d = lstm_and_linear();
    add(&d, "net.lstm.weight_ih_l2", 16, 4);
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_DATA, "net.lstm.weight_ih_l1");
    d = lstm_and_linear();
    add(&d, "net.lstm.weight_ih_l0_reverse", 16, 3);
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_DATA, "net.lstm.weight_hh_l0_reverse");
    d = lstm_and_linear();
    add(&d, "net.lstm.weight_ih_l01", 16, 3);
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_UNSUPPORTED, "weight_ih_l01");
}

static void test_shapes(void)
{
    static const struct {
        int tensor;
        uint64_t rows, columns;
    } wrong[] = {{0, 12, 3}, {1, 20, 4}, {1, 16, 5}, {2, 15, 0}, {3, 16, 1}, {4, 2, 5}, {5, 3, 0}, {0, 0, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct dict d = lstm_and_linear(), one = {.count = 0};
        add(&one, d.tensor[wrong[i].tensor].name, wrong[i].rows, wrong[i].columns);
        if (wrong[i].rows == 0)
            one.tensor[0].rank = 2, one.tensor[0].bytes = 0;
        d.tensor[wrong[i].tensor] = one.tensor[0];
        unroll_status status = import_dict(&d, NULL, NULL);
        CHECK((status == UNROLL_DATA || status == UNROLL_UNSUPPORTED) && strstr(unroll_last_error(), "net."),
              "shape %zu: %d '%s'", i, (int)status, unroll_last_error());
    }
    struct dict d = lstm_and_linear();
    d.tensor[2].dtype = DTYPE_I32;
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_UNSUPPORTED, "contains I32");
    d = lstm_and_linear();
    numbers[7] = NAN;
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_DATA, "NaN or infinity at index 7");
    numbers[7] = 0.5f;
}

static void test_order(void)
{
    struct dict d = lstm_and_linear();
    add(&d, "net.out.weight", 5, 2);
    add(&d, "net.out.bias", 5, 0);
    CHECK_REFUSED(import_dict(&d, NULL, NULL), UNROLL_DATA, "the order of these modules is ambiguous");
    CHECK(import_dict(&d, NULL, "net.lstm,net.fc:relu,net.out") == UNROLL_OK, "%s", unroll_last_error());
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm,net.out,net.fc"), UNROLL_DATA, "reads 2 values");
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm,net.fc"), UNROLL_USAGE, "'net.out' is left out");
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm,net.fc,net.fc"), UNROLL_USAGE, "named twice");
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm,,"), UNROLL_USAGE, "no module ''");
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm:relu,net.fc,net.out"), UNROLL_USAGE, "cannot have 'relu'");
    CHECK_REFUSED(import_dict(&d, NULL, "net.lstm,net.fc:gelu,net.out"), UNROLL_USAGE, "cannot have 'gelu'");
    d = lstm_and_linear(); /* 3 -> 4 -> 3 fits both ways round: the linear layer is last */
    d.count = 4;
    add(&d, "net.fc.weight", 3, 4);
    add(&d, "net.fc.bias", 3, 0);
    unroll_model *m = NULL;
    unroll_layer layer = unroll_layer_default();
    MUST(safetensors_write(in_folder("dict.safetensors"), d.tensor, d.count, NULL, 0));
    if (MUST(import(in_folder("dict.safetensors"), NULL, NULL, NULL, &m))) {
        unroll_model_layer(m, 1, &layer);
        CHECK(!strcmp(layer.kind, "dense"), "the second layer is %s", layer.kind);
        unroll_model_free(m);
    }
    struct dict twins = {.count = 0}; /* two rnn of the same widths */
    add(&twins, "a.weight_ih_l0", 4, 4);
    add(&twins, "a.weight_hh_l0", 4, 4);
    add(&twins, "b.weight_ih_l0", 4, 4);
    add(&twins, "b.weight_hh_l0", 4, 4);
    CHECK_REFUSED(import_dict(&twins, NULL, NULL), UNROLL_DATA, "allow several orders");
    CHECK(import_dict(&twins, NULL, "b,a") == UNROLL_OK, "%s", unroll_last_error());
}

/* ---- shards ---------------------------------------------------------------------------- */

static unroll_status import_index(const char *text)
{
    const char *file = in_folder("x.safetensors.index.json");
    struct piece piece = {text, strlen(text)};
    unroll_model *m = NULL;
    MUST(write_file_atomically(file, &piece, 1));
    unroll_status status = import(file, NULL, NULL, NULL, &m);
    unroll_model_free(m);
    return status;
}

static void test_shards(void)
{
    struct dict d = lstm_and_linear();
    MUST(safetensors_write(in_folder("one.safetensors"), d.tensor, 4, NULL, 0));
    MUST(safetensors_write(in_folder("two.safetensors"), d.tensor + 4, 2, NULL, 0));
    MUST(safetensors_write(in_folder("overlap.safetensors"), d.tensor + 3, 3, NULL, 0));
#define LSTM "\"net.lstm.weight_ih_l0\":\"one.safetensors\",\"net.lstm.weight_hh_l0\":\"one.safetensors\"," \
             "\"net.lstm.bias_ih_l0\":\"one.safetensors\",\"net.lstm.bias_hh_l0\":\"one.safetensors\""
    CHECK(import_index("{\"weight_map\":{" LSTM
                       ",\"net.fc.weight\":\"two.safetensors\",\"net.fc.bias\":\"two.safetensors\"}}") == UNROLL_OK,
          "%s", unroll_last_error());
    CHECK_REFUSED(import_index("{\"weight_map\":{" LSTM ",\"net.fc.weight\":\"two.safetensors\"}}"), UNROLL_DATA,
                  "'net.fc.bias', which is not in the index");
    CHECK_REFUSED(import_index("{\"weight_map\":{" LSTM ",\"net.fc.bias\":\"one.safetensors\"}}"), UNROLL_DATA,
                  "'net.fc.bias' is not in 'one.safetensors'");
    CHECK_REFUSED(
        import_index(
            "{\"weight_map\":{\"net.fc.weight\":\"overlap.safetensors\",\"net.fc.bias\":\"overlap.safetensors\"," LSTM
            "}}"),
        UNROLL_DATA, "net.lstm.bias_hh_l0");
    CHECK_REFUSED(import_index("{\"weight_map\":{\"a\":\"../one.safetensors\"}}"), UNROLL_DATA, "next to the index");
    CHECK_REFUSED(import_index("{\"weight_map\":{\"a\":\"gone.safetensors\"}}"), UNROLL_DATA, "gone.safetensors");
    CHECK_REFUSED(import_index("{\"weight_map\":{\"a\":3}}"), UNROLL_DATA, "next to the index");
    CHECK_REFUSED(import_index("{\"weight_map\":{}}"), UNROLL_DATA, "no tensor");
    CHECK_REFUSED(import_index("{\"weight_map\":[]}"), UNROLL_DATA, "weight_map");
    CHECK_REFUSED(import_index("{\"weights\":{}}"), UNROLL_DATA, "weights");
    CHECK_REFUSED(import_index("{"), UNROLL_DATA, "index.json");
}

/* ---- export ---------------------------------------------------------------------------- */

static unroll_status export_spec(const unroll_model_config *spec, const char *dtype, float weight)
{
    unroll_export_config config = unroll_export_config_default();
    unroll_model *m = NULL;
    unroll_parameter p = {.size = sizeof p};
    MUST(unroll_model_new(spec, 5, &m));
    unroll_model_parameter(m, 0, &p);
    p.data[0] = weight;
    config.format = "torch";
    config.dtype = dtype;
    config.prefix = "a.";
    unroll_status status = unroll_model_export(m, in_folder("exported.safetensors"), &config);
    unroll_model_free(m);
    return status;
}

static void test_export(void)
{
    static const struct {
        const char *cell;
        int peephole;
        float clip;
    } refused[] = {{"gru-before", 0, 0}, {"mingru", 0, 0}, {"lstm", 1, 0}, {"lstm", 0, 3}};
    unroll_model_config spec = unroll_model_config_default();
    struct tensor_set set;
    spec.hidden = spec.input = 3;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        unroll_model_config s = spec;
        s.cell = refused[i].cell, s.peephole = refused[i].peephole, s.clip = refused[i].clip;
        CHECK_REFUSED(export_spec(&s, NULL, 0), UNROLL_UNSUPPORTED, "torch.nn has no");
    }
    CHECK_REFUSED(export_spec(&spec, "int8", 0), UNROLL_USAGE, "choose one of fp32, fp16, bf16");
    CHECK_REFUSED(export_spec(&spec, "fp16", 65520), UNROLL_DATA, "is too large for fp16");
    MUST(export_spec(&spec, "fp16", 65519));
    if (MUST(tensor_set_open(in_folder("exported.safetensors"), &set))) {
        const struct tensor_view *t = tensor_set_find(&set, "a.rnn.weight_ih_l0");
        uint16_t half;
        CHECK(t && t->dtype == DTYPE_F16, "F16 under the prefix");
        memcpy(&half, t->data, sizeof half);
        CHECK(half == 0x7bff, "65519 rounds to 65504, not to 0x%x", (unsigned)half);
        tensor_set_close(&set);
    }
}

/* Files of other tools that no format reads: the message names what they are. */
static void test_foreign_files(void)
{
    static const struct {
        const char *name;
        size_t size;
        const char *bytes, *message;
    } foreign[] = {{"a.pt", 46, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0\0\0archive/data.pkl",
                    "pickled PyTorch file"},
                   {"b.pth", 4, "\200\2}q", "pickled PyTorch file"},
                   {"c.h5", 8, "\211HDF\r\n\32\n", "a Keras file"},
                   {"d.keras", 4, "PK\3\4", "a Keras file"},
                   {"e.npz", 35, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy", "not recognized"},
                   {"f.zip", 30, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\0\0", "not recognized"}};
    unroll_model *m;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        struct piece piece = {foreign[i].bytes, foreign[i].size};
        MUST(write_file_atomically(in_folder(foreign[i].name), &piece, 1));
        CHECK_REFUSED(import(path, NULL, NULL, NULL, &m), UNROLL_DATA, foreign[i].message);
    }
}

static void test_own_model(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *m = NULL, *other = NULL;
    spec.input = spec.hidden = 2;
    MUST(unroll_model_new(&spec, 1, &m));
    MUST(unroll_model_save(m, in_folder("own.safetensors")));
    CHECK_REFUSED(import(in_folder("own.safetensors"), NULL, NULL, NULL, &other), UNROLL_USAGE,
                  "already an Unroll model");
    CHECK_REFUSED(import(in_folder("nothing"), NULL, NULL, NULL, &other), UNROLL_DATA, "cannot open");
    unroll_import_config config = unroll_import_config_default();
    config.format = "none";
    CHECK_REFUSED(unroll_model_import("x", &config, &other), UNROLL_USAGE, "choose one of");
    unroll_model_free(m);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = (float)(i % 17) / 16;
    for (int i = 0; i < VECTORS; i++) check_vector(&vectors[i]);
    check_that_parity_can_fail();
    test_wrong_numbers();
    test_batch_first_is_told();
    test_hints_lead_somewhere();
    test_missing_and_unknown();
    test_shapes();
    test_order();
    test_shards();
    test_export();
    test_foreign_files();
    test_own_model();
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || check_finish("test_torch");
}
