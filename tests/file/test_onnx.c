/* ONNX graphs as networks. Values of ONNX Runtime and PyTorch for the graphs in tests/vectors/onnx agree within 1e-5,
 * and those of mutated graphs differ. Also onnx's own node tests, the messages of refusals, and export and import of
 * models of all kinds. tools/make_onnx_vectors.py creates the vectors.
 *     test_onnx [VECTORS [NODE_TESTS]] */
/* test: kinds=check-plain,memory */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check.h"
#include "convert/file_table.h"
#include "onnx_run.h"

static const double TOLERANCE = 1e-5;

static const struct tensor_view *find_in_npz(void *arg, const char *name) { return npz_find(arg, name); }

/* ---- vectors --------------------------------------------------------------------------- */

/* Changes the meaning of a graph; returns false if there is nothing to change. */
typedef bool change_graph(struct onnx_file *);

static struct onnx_attribute *find_attribute(struct onnx_file *o, const char *name)
{
    return o->nodes == 1 ? (struct onnx_attribute *)onnx_attribute(&o->node[0], name) : NULL;
}

static bool swap_gates(struct onnx_file *o)
{
    for (int i = 0; i < o->tensors; i++) {
        struct onnx_tensor *t = &o->tensor[i];
        size_t gates = !strcmp(o->node[0].op, "LSTM") ? 4 : 3, block = t->count / (size_t)t->dim[0] / gates;
        if (o->nodes != 1 || !strcmp(o->node[0].op, "RNN") || (strcmp(t->name, "W") && strcmp(t->name, "R")))
            continue;
        for (size_t k = 0; k < block; k++) {
            float kept = t->f[k];
            t->f[k] = t->f[block + k];
            t->f[block + k] = kept;
        }
    }
    return o->nodes == 1 && strcmp(o->node[0].op, "RNN");
}

/* Removes an attribute by renaming it to another one that is accepted and has no effect. */
static bool drop(struct onnx_file *o, const char *name)
{
    struct onnx_attribute *a = find_attribute(o, name);
    if (!a)
        return false;
    *a = o->node[0].attribute[--o->node[0].attributes];
    return true;
}

static bool ignore_clip(struct onnx_file *o) { return drop(o, "clip"); }
static bool ignore_forget(struct onnx_file *o) { return drop(o, "input_forget"); }
static bool ignore_activations(struct onnx_file *o)
{
    drop(o, "activation_alpha"), drop(o, "activation_beta");
    return drop(o, "activations");
}

/* Changes the values in the file, because not all functions have defaults. */
static bool move_numbers(struct onnx_file *o, const char *name)
{
    static float moved[8];
    struct onnx_attribute *a = find_attribute(o, name);
    for (int k = 0; a && k < a->count; k++) moved[k] = a->floats[k] + 0.5f;
    if (a)
        a->floats = moved;
    return a != NULL;
}

static bool move_alpha(struct onnx_file *o) { return move_numbers(o, "activation_alpha"); }
static bool move_beta(struct onnx_file *o) { return move_numbers(o, "activation_beta"); }

static bool ignore_direction(struct onnx_file *o)
{
    struct onnx_attribute *a = find_attribute(o, "direction");
    if (!a || strcmp(a->s, "reverse"))
        return false;
    a->s = "forward";
    return true;
}

static bool swap_directions(struct onnx_file *o)
{
    struct onnx_attribute *a = find_attribute(o, "direction");
    if (!a || strcmp(a->s, "bidirectional"))
        return false;
    for (int i = 0; i < o->tensors; i++)
        for (size_t k = 0, half = o->tensor[i].count / 2; k < half; k++) {
            float kept = o->tensor[i].f[k];
            o->tensor[i].f[k] = o->tensor[i].f[half + k];
            o->tensor[i].f[half + k] = kept;
        }
    return true;
}

static bool turn_reset(struct onnx_file *o)
{
    struct onnx_attribute *a = find_attribute(o, "linear_before_reset");
    if (a)
        a->i = !a->i;
    return a != NULL;
}

static bool ignore_peepholes(struct onnx_file *o)
{
    if (o->nodes != 1 || o->node[0].inputs < 8)
        return false;
    o->node[0].inputs = 7;
    return true;
}

static bool swap_peepholes(struct onnx_file *o)
{
    for (int i = 0; i < o->tensors; i++)
        for (size_t k = 0; !strcmp(o->tensor[i].name, "P") && k < o->tensor[i].count / 3; k++) {
            float *p = o->tensor[i].f, kept = p[k];
            p[k] = p[o->tensor[i].count / 3 + k];
            p[o->tensor[i].count / 3 + k] = kept;
        }
    return ignore_peepholes(o) && ++o->node[0].inputs;
}

static const struct {
    const char *name;
    change_graph *change;
    struct onnx_mutation run;
    int seen;
} mutants[] = {{"swap gates", swap_gates, {0, 0}, 1},
               {"ignore clip", ignore_clip, {0, 0}, 1},
               {"ignore input_forget", ignore_forget, {0, 0}, 1},
               {"ignore activations", ignore_activations, {0, 0}, 1},
               {"move alpha", move_alpha, {0, 0}, 1},
               {"move beta", move_beta, {0, 0}, 1},
               {"ignore direction", ignore_direction, {0, 0}, 1},
               {"swap directions", swap_directions, {0, 0}, 1},
               {"turn linear_before_reset", turn_reset, {0, 0}, 1},
               {"ignore peepholes", ignore_peepholes, {0, 0}, 1},
               {"swap peepholes", swap_peepholes, {0, 0}, 1},
               {"ignore lengths", NULL, {.no_lengths = true}, 1},
               {"ignore states", NULL, {.no_states = true}, 1}};
enum { MUTANTS = sizeof mutants / sizeof *mutants };
static int mutants_tried[MUTANTS];

/* Returns the difference for one graph, changed or not; -1: not imported; -2: nothing to change. */
static double difference_of(const char *path, struct npz *arrays, int mutant, int *compared)
{
    struct onnx_file *file;
    struct onnx_import *im;
    unroll_import_config config = unroll_import_config_default();
    double difference = -1;
    if (onnx_open(path, &file) != UNROLL_OK)
        return -1;
    bool applies = mutant < 0 || !mutants[mutant].change || mutants[mutant].change(file);
    if (applies && onnx_import_graph(file, &config, &im) == UNROLL_OK) {
        struct onnx_run run = {.im = im, .find = find_in_npz, .arg = arrays};
        if (mutant >= 0) {
            run.mutation = mutants[mutant].run;
            applies = !(run.mutation.no_lengths && im->lengths < 0) && !(run.mutation.no_states && !im->states);
        }
        difference = applies ? onnx_run_and_compare(&run, compared) : -2;
        onnx_import_free(im);
    }
    onnx_close(file);
    return applies ? difference : -2;
}

static void check_mutants(const char *path, struct npz *arrays)
{
    for (int m = 0; m < MUTANTS; m++) {
        int compared;
        double difference = difference_of(path, arrays, m, &compared);
        if (difference == -2)
            continue;
        mutants_tried[m]++;
        CHECK(difference > 100 * TOLERANCE, "%s: the mutant '%s' differs by %g only: %s", path, mutants[m].name,
              difference, unroll_last_error());
    }
}

static void check_vector(const char *folder, const char *name)
{
    char path[PATH_MAX], data[PATH_MAX];
    struct npz *arrays;
    int compared = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(data, sizeof data, "%.*s.npz", (int)strlen(path) - 5, path);
    if (!CHECK(npz_open(data, &arrays) == UNROLL_OK, "%s: %s", data, unroll_last_error()))
        return;
    double difference = difference_of(path, arrays, -1, &compared);
    CHECK(difference >= 0 && difference <= TOLERANCE && compared > 0, "%s: %d outputs, difference %g: %s", name,
          compared, difference, difference < 0 ? unroll_last_error() : "");
    if (!strncmp(name, "lstm", 4) || !strncmp(name, "gru", 3) || !strncmp(name, "rnn", 3))
        check_mutants(path, arrays);
    npz_close(arrays);
}

static void check_vectors(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    if (!CHECK(directory != NULL, "there is no folder '%s'", folder))
        return;
    while ((entry = readdir(directory)))
        if (path_ends_in(entry->d_name, ".onnx"))
            check_vector(folder, entry->d_name);
    closedir(directory);
    for (int m = 0; m < MUTANTS; m++)
        CHECK(mutants_tried[m] > 0, "no vector has what the mutant '%s' changes", mutants[m].name);
}

/* ---- onnx's node tests ----------------------------------------------------------------- */

enum { ARRAYS = 16 };
struct node_test {
    struct onnx_file *file;
    struct tensor_view array[ARRAYS];
    int count;
};

static const struct tensor_view *find_in_test(void *arg, const char *name)
{
    struct node_test *t = arg;
    for (int i = 0; i < t->count; i++)
        if (!strcmp(t->array[i].name, name))
            return &t->array[i];
    return NULL;
}

/* Reads one .pb: an array of the run; weights become constants of the graph. */
static bool read_array(struct node_test *t, const char *folder, const char *kind, int index, const char *name)
{
    char path[PATH_MAX];
    void *bytes;
    size_t size;
    struct onnx_tensor *tensor = onnx_allocate(t->file, 1, sizeof *tensor);
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%d.pb", folder, kind, index);
    if (read_whole_file(path, 1 << 20, &bytes, &size) != UNROLL_OK)
        return false;
    bool good = onnx_parse_tensor(t->file, bytes, size, tensor) == UNROLL_OK;
    release(bytes);
    if (!good)
        return false;
    tensor->name = name;
    struct tensor_view *a = &t->array[t->count++];
    *a = (struct tensor_view){.name = name,
                              .dtype = tensor->f ? DTYPE_F32 : DTYPE_I64,
                              .rank = tensor->rank,
                              .data = tensor->f ? (void *)tensor->f : (void *)tensor->i};
    for (int k = 0; k < tensor->rank; k++) a->shape[k] = (uint64_t)tensor->dim[k];
    if (!strcmp(kind, "input") && strchr("WRBP", name[0]) && !name[1])
        t->file->tensor[t->file->tensors++] = *tensor;
    return true;
}

/* Returns the difference for a single onnx node, whose inputs, including the weights, are all data. */
static double node_difference(const char *folder)
{
    char path[PATH_MAX + 16];
    struct node_test t = {.count = 0};
    struct onnx_import *im;
    unroll_import_config config = unroll_import_config_default();
    double difference = -1;
    int compared = 0, data = 0;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (onnx_open(path, &t.file) != UNROLL_OK)
        return -1;
    t.file->tensor = onnx_allocate(t.file, ARRAYS, sizeof *t.file->tensor);
    bool good = true;
    for (int i = 0; i < t.file->inputs && good; i++)
        good = read_array(&t, folder, "input", data++, t.file->input[i].name);
    for (int i = 0; i < t.file->outputs && good; i++)
        good = read_array(&t, folder, "output", i, t.file->output[i].name);
    if (good && onnx_import_graph(t.file, &config, &im) == UNROLL_OK) {
        struct onnx_run run = {.im = im, .find = find_in_test, .arg = &t};
        difference = onnx_run_and_compare(&run, &compared);
        onnx_import_free(im);
    }
    onnx_close(t.file);
    return compared ? difference : -1;
}

static void check_node_tests(const char *folder)
{
    static const char *const tests[] = {
        "gru_batchwise",  "gru_defaults",         "gru_seq_length",         "gru_with_initial_bias",
        "lstm_batchwise", "lstm_defaults",        "lstm_with_initial_bias", "lstm_with_peepholes",
        "rnn_seq_length", "simple_rnn_batchwise", "simple_rnn_defaults",    "simple_rnn_with_initial_bias"};
    if (access(folder, R_OK)) {
        check_skip("onnx's node tests are not here");
        return;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/test_%s", folder, tests[i]);
        double difference = node_difference(path);
        CHECK(difference >= 0 && difference <= TOLERANCE, "%s: difference %g: %s", tests[i], difference,
              difference < 0 ? unroll_last_error() : "");
    }
}

/* ---- the signature --------------------------------------------------------------------- */

/* The description of the graph's inputs and outputs is saved with the model. */
static void check_signature(const char *folder, const char *name, const char *const lines[], int count)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_run_config arrays = unroll_run_config_default();
    unroll_model *model = NULL, *again = NULL;
    const char *line;
    char path[PATH_MAX], saved[] = "/tmp/test_onnx_XXXXXX";
    int file = mkstemp(saved), n = 0;
    close(file);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    if (CHECK(unroll_model_import(path, &config, &model) == UNROLL_OK && unroll_model_save(model, saved) == UNROLL_OK &&
                  unroll_model_load(saved, &again) == UNROLL_OK,
              "%s: %s", name, unroll_last_error())) {
        for (; (line = unroll_model_signature(again, n)); n++)
            CHECK(n < count && !strcmp(line, lines[n]), "%s: entry %d is %s", name, n, line);
        CHECK(n == count, "%s: its signature has %d entries, not %d", name, n, count);
        if (strstr(lines[count - 1], "cn"))
            CHECK_REFUSED(unroll_model_run(again, "nothing.npz", "y.npy", &arrays), UNROLL_USAGE, "can store only y");
    }
    unroll_model_free(model);
    unroll_model_free(again);
    remove(saved);
}

static void check_signatures(const char *folder)
{
    static const char *const tagger[] = {"input 'tokens': tokens as [batch time]",
                                         "output 'out': y as [batch time features]"};
    static const char *const activations[] = {
        "input 'X': x as [time batch features]",
        "input 'lens': lengths as [batch]",
        "input 'h0': h0.rnn[0] + h0.rnn1[0] as [2 batch features]",
        "input 'c0': c0.rnn[0] + c0.rnn1[0] as [2 batch features]",
        "output 'Y': y as [time 2 batch features]",
        "output 'Y_h': hn.rnn[0] + hn.rnn1[0] as [2 batch features]",
        "output 'Y_c': cn.rnn[0] + cn.rnn1[0] as [2 batch features]",
    };
    check_signature(folder, "torch-script-tagger", tagger, 2);
    check_signature(folder, "lstm-functions-bi", activations, 7);
}

/* ---- export, and back ------------------------------------------------------------------ */

/* Two models must give the same values for random inputs and first states. */
static double compare_models(unroll_model *a, unroll_model *b)
{
    enum { T = 4, B = 3 };
    unroll_session_config config = unroll_session_config_default();
    unroll_model *model[2] = {a, b};
    float *out[2] = {NULL, NULL}, x[T * B * 16];
    int32_t tokens[T * B];
    size_t count = 0;
    double worst = 0;
    config.steps = T;
    config.rows = B;
    config.machine.threads = 1;
    config.machine.isa = "scalar";
    for (int i = 0; i < T * B * 16; i++) x[i] = (float)((i * 37 % 101) - 50) / 40;
    for (int i = 0; i < T * B; i++) tokens[i] = i * 5 % 7;
    for (int k = 0; k < 2; k++) {
        unroll_session *s;
        char last[16];
        snprintf(last, sizeof last, "y.l%d", model[k]->layers - 1);
        if (unroll_session_new(model[k], &config, &s) != UNROLL_OK)
            return -1;
        bool symbols = model[k]->tokens;
        unroll_batch batch = {.size = sizeof batch, .inputs = symbols ? NULL : x, .tokens = symbols ? tokens : NULL};
        float h0[B * 8];
        for (int i = 0; i < B * 8; i++) h0[i] = (float)(i % 9 - 4) / 7;
        const char *first = model[k]->layer[0].first_direction ? "h0.l0.reverse" : "h0.l0";
        unroll_session_write(s, first, h0, unroll_session_count(s, first));
        unroll_status status = unroll_session_forward(s, &batch);
        const char *name = unroll_session_count(s, "z") ? "z" : last;
        count = unroll_session_count(s, name);
        out[k] = calloc(count + 1, sizeof **out);
        if (status != UNROLL_OK || !count || unroll_session_read(s, name, out[k], count) != UNROLL_OK)
            worst = INFINITY;
        unroll_session_free(s);
    }
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)out[0][i] - (double)out[1][i]));
    free(out[0]);
    free(out[1]);
    return worst;
}

static void check_export(const char *what, unroll_model *m)
{
    char path[] = "/tmp/test_onnx_XXXXXX";
    int file = mkstemp(path);
    unroll_export_config to = unroll_export_config_default();
    unroll_import_config from = unroll_import_config_default();
    unroll_model *back = NULL;
    close(file);
    to.format = from.format = "onnx";
    bool good = CHECK(unroll_model_export(m, path, &to) == UNROLL_OK, "%s: %s", what, unroll_last_error()) &&
                CHECK(unroll_model_import(path, &from, &back) == UNROLL_OK, "%s back: %s", what, unroll_last_error());
    if (good) {
        double difference = compare_models(m, back);
        CHECK(difference == 0, "%s: export and import change it by %g: %s", what, difference,
              difference < 0 ? unroll_last_error() : "");
    }
    unroll_model_free(back);
    remove(path);
}

static void check_exports_of_stacks(void)
{
    static const char *const cells[] = {"lstm", "gru", "gru-before", "rnn", "rnn-relu"};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int variant = 0; variant < 4; variant++) {
            unroll_model_config s = unroll_model_config_default();
            unroll_model *m;
            s.cell = cells[c];
            s.hidden = 8;
            s.layers = 1 + variant % 2;
            s.bidirectional = variant > 1;
            s.tokens = variant % 2;
            s.input = s.tokens ? 7 : 5;
            s.embed = variant == 3 ? 4 : 0;
            s.output = variant ? 3 : 0;
            s.clip = variant == 2 ? 0.4f : 0;
            s.peephole = variant == 2 && c == 0;
            if (CHECK(unroll_model_new(&s, 3, &m) == UNROLL_OK, "%s: %s", cells[c], unroll_last_error()))
                check_export(cells[c], m);
            unroll_model_free(m);
        }
}

static void check_export_of_network(void)
{
    unroll_layer layer[4];
    unroll_network n = unroll_network_default();
    unroll_model *m;
    for (int i = 0; i < 4; i++) layer[i] = unroll_layer_default();
    layer[0].kind = "lstm";
    layer[0].name = "a";
    layer[0].width = 8;
    layer[0].input_forget = 1;
    layer[0].activations = "hard_sigmoid(0.3,0) softsign elu(0.5,0)";
    layer[1].kind = "rnn";
    layer[1].name = "b";
    layer[1].width = 6;
    layer[1].reverse = 1;
    layer[1].activations = "leaky_relu(0.1)";
    layer[2].name = "c";
    layer[2].width = 5;
    layer[2].sources = 3;
    layer[2].source[0] = 1;
    layer[2].source[1] = 0;
    layer[2].source[2] = -1;
    layer[2].activation = "elu";
    layer[3].name = "d";
    layer[3].width = 4;
    layer[3].activation = "softmax";
    layer[3].bias = 0;
    n.input = 5;
    n.layer = layer;
    n.layers = 4;
    if (CHECK(unroll_model_from_network(&n, 9, &m) == UNROLL_OK, "%s", unroll_last_error()))
        check_export("a network", m);
    unroll_model_free(m);
}

static void check_refused_export(unroll_model_config s, const char *words)
{
    unroll_model *m;
    unroll_export_config to = unroll_export_config_default();
    to.format = "onnx";
    if (!CHECK(unroll_model_new(&s, 1, &m) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(unroll_model_export(m, "/nowhere/x.onnx", &to) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), words),
          "refused with '%s'", unroll_last_error());
    unroll_model_free(m);
}

static void check_refused_exports(void)
{
    unroll_model_config s = unroll_model_config_default();
    s.hidden = 8;
    s.input = 3;
    s.projection = 4;
    check_refused_export(s, "projection");
    s.projection = 0;
    s.cell = "mingru";
    check_refused_export(s, "mingru");
}

/* ---- refusals -------------------------------------------------------------------------- */

static void check_refused_graph(const char *path, change_graph *change, const char *words)
{
    struct onnx_file *file;
    struct onnx_import *im;
    unroll_import_config config = unroll_import_config_default();
    if (!CHECK(onnx_open(path, &file) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    change(file);
    unroll_status status = onnx_import_graph(file, &config, &im);
    CHECK(status != UNROLL_OK && strstr(unroll_last_error(), words), "'%s' is not refused with '%s' but '%s'", path,
          words, status == UNROLL_OK ? "taken" : unroll_last_error());
    if (status == UNROLL_OK)
        onnx_import_free(im);
    onnx_close(file);
}

static bool other_operator(struct onnx_file *o)
{
    o->node[0].op = "Conv";
    return true;
}
static bool other_domain(struct onnx_file *o)
{
    o->node[0].domain = "com.microsoft";
    return true;
}
static bool other_attribute(struct onnx_file *o)
{
    o->node[0].attribute[0].name = "dropout";
    return true;
}
static bool old_opset(struct onnx_file *o)
{
    o->opset = 6;
    return true;
}
static bool nan_weight(struct onnx_file *o)
{
    o->tensor[0].f[1] = NAN;
    return true;
}
static bool narrow_weight(struct onnx_file *o)
{
    o->tensor[0].dim[1]--;
    return true;
}
static bool no_such_input(struct onnx_file *o)
{
    o->node[0].input[0] = "Q";
    return true;
}
static bool from_pytorch(struct onnx_file *o)
{
    o->producer = "pytorch";
    return true;
}
static bool constant_state(struct onnx_file *o)
{
    o->node[0].input[5] = "W";
    return true;
}
static bool many_activations(struct onnx_file *o)
{
    find_attribute(o, "activations")->count--;
    return true;
}
static bool no_alpha(struct onnx_file *o)
{
    find_attribute(o, "activation_alpha")->count = 0;
    return true;
}
static bool no_beta(struct onnx_file *o)
{
    find_attribute(o, "activation_beta")->count = 0;
    return true;
}
static bool twice(struct onnx_file *o)
{
    o->node[0].output[1] = o->node[0].output[0];
    return true;
}

static void check_refusals(const char *folder)
{
    static const struct {
        const char *file;
        change_graph *change;
        const char *words;
    } refusals[] = {{"lstm-reverse", other_operator, "node 'node' (Conv): this operator is not supported"},
                    {"lstm-reverse", other_domain, "com.microsoft"},
                    {"lstm-reverse", other_attribute, "the attribute 'dropout' is not supported"},
                    {"lstm-reverse", old_opset, "opset 6"},
                    {"lstm-reverse", nan_weight, "NaN or infinity"},
                    {"lstm-reverse", narrow_weight, "does not have the shape"},
                    {"lstm-reverse", no_such_input, "no node computes 'Q'"},
                    {"gru-before", from_pytorch, "GRU reset convention is doubtful"},
                    {"lstm-reverse", constant_state, "a constant that is not zero"},
                    {"lstm-functions", many_activations, "2 activations, not 3"},
                    {"rnn-affine", no_alpha, "the activation 'Affine' needs an alpha or beta"},
                    {"rnn-scaledtanh", no_beta, "the activation 'ScaledTanh' needs an alpha or beta"},
                    {"lstm-reverse", twice, "occurs twice"}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s.onnx", folder, refusals[i].file);
        check_refused_graph(path, refusals[i].change, refusals[i].words);
    }
}

/* Options that only state_dicts have, and an opset for a state_dict. */
static void check_refused_wishes(const char *folder)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *m;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lstm-reverse.onnx", folder);
    config.order = "lstm";
    CHECK_REFUSED(unroll_model_import(path, &config, &m), UNROLL_UNSUPPORTED,
                  "'onnx' does not support an order of modules");
    config = unroll_import_config_default();
    config.nonlinearity = "relu";
    CHECK_REFUSED(unroll_model_import(path, &config, &m), UNROLL_UNSUPPORTED, "'onnx' does not support a nonlinearity");
    config.nonlinearity = "sine";
    CHECK_REFUSED(unroll_model_import(path, &config, &m), UNROLL_USAGE, "choose one of tanh, relu");
    spec.input = spec.hidden = 2;
    if (!CHECK(unroll_model_new(&spec, 1, &m) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    unroll_export_config export = unroll_export_config_default();
    export.format = "torch";
    export.opset = 17;
    CHECK_REFUSED(unroll_model_export(m, "unwritten.safetensors", &export), UNROLL_UNSUPPORTED,
                  "'torch' does not support an opset");
    unroll_model_free(m);
}

/* Every prefix of a file is refused with a message, or imported, and nothing leaks. */
static void check_cut_files(const char *folder)
{
    char path[PATH_MAX];
    void *bytes;
    size_t size;
    int refused = 0;
    snprintf(path, sizeof path, "%s/keras-gru.onnx", folder);
    if (!CHECK(read_whole_file(path, 1 << 20, &bytes, &size) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    uint64_t live = memory_live();
    for (size_t cut = 0; cut < size; cut++) {
        struct onnx_file *file;
        struct onnx_import *im;
        unroll_import_config config = unroll_import_config_default();
        if (onnx_parse(bytes, cut, "cut", &file) != UNROLL_OK) {
            refused++;
            continue;
        }
        if (onnx_import_graph(file, &config, &im) == UNROLL_OK)
            onnx_import_free(im);
        else
            refused++;
        onnx_close(file);
    }
    CHECK((size_t)refused == size, "of %zu cut files %d are refused", size, refused);
    CHECK(memory_live() == live, "%llu blocks are not released", (unsigned long long)(memory_live() - live));
    release(bytes);
}

int main(int argc, char **argv)
{
    const char *vectors = argc > 1 ? argv[1] : "tests/vectors/onnx";
    const char *node_tests = argc > 2 ? argv[2] : "../shared/data/onnx_node_rnn";
    check_vectors(vectors);
    check_node_tests(node_tests);
    check_signatures(vectors);
    check_exports_of_stacks();
    check_export_of_network();
    check_refused_exports();
    check_refusals(vectors);
    check_refused_wishes(vectors);
    check_cut_files(vectors);
    return check_finish("test_onnx");
}
