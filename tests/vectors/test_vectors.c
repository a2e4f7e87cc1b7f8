/* Compares with PyTorch: the files in this folder contain random weights, lengths and states, and PyTorch's results
 * (README.md). Outputs agree within 1e-6 of the scale, gradients within 1e-5, on every ISA; in double precision both
 * agree within the precision of float files. Usage: test_vectors FILE... */
/* test: kinds=plain,long-memory; args=tests/vectors/?*.safetensors */
#include "base/json.h"
#include "base/memory.h"
#include "check.h"
#include "io/safetensors.h"
#include "unroll_train.h"
#include "listed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct vector {
    const char *path;
    struct safetensors *file;
    json_t *about;
    unroll_model_config spec;
    unroll_input inputs[UNROLL_INPUTS_MAX];
    unroll_session_config config;
    unroll_model *model;
    unroll_session *session;
    const char *prefix; /* of recurrent parameters in the file */
    float unit;         /* numeric targets are counted one by one there, by row here */
};

static int64_t number(const struct vector *v, const char *key)
{
    return json_integer_value(json_object_get(v->about, key));
}

static const void *data_of(const struct vector *v, const char *name)
{
    const struct tensor_view *t = safetensors_find(v->file, name);
    return t ? t->data : NULL;
}

static size_t count_of(const struct vector *v, const char *name)
{
    const struct tensor_view *t = safetensors_find(v->file, name);
    return t ? t->bytes / dtype_size(t->dtype) : 0;
}

/* ---- the model of a file --------------------------------------------------------------- */

/* Reads [["word", 11, 6], ["numbers", 0, 3], ..]; if absent, there is a single column. */
static void read_columns(struct vector *v)
{
    const json_t *columns = json_object_get(v->about, "columns");
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const json_t *column = json_array_get(columns, i);
        v->inputs[i] = (unroll_input){.size = sizeof *v->inputs,
                                      .name = json_string_value(json_array_get(column, 0)),
                                      .tokens = (int)json_integer_value(json_array_get(column, 1)),
                                      .width = (int)json_integer_value(json_array_get(column, 2))};
    }
    v->spec.inputs = v->inputs;
    v->spec.n_inputs = (int)json_array_size(columns);
    if (v->spec.n_inputs)
        v->spec.input = 0;
}

static void read_spec(struct vector *v)
{
    const char *loss = json_string_value(json_object_get(v->about, "loss"));
    int vocab = (int)number(v, "vocab");
    v->spec = unroll_model_config_default();
    v->spec.cell = json_string_value(json_object_get(v->about, "cell"));
    v->spec.layers = (int)number(v, "layers");
    v->spec.hidden = (int)number(v, "hidden");
    v->spec.bidirectional = json_is_true(json_object_get(v->about, "bidirectional"));
    v->spec.projection = (int)number(v, "projection");
    v->spec.bias = json_is_true(json_object_get(v->about, "bias"));
    v->spec.peephole = json_is_true(json_object_get(v->about, "peephole"));
    v->spec.clip = (float)json_number_value(json_object_get(v->about, "clip"));
    v->spec.tokens = vocab > 0;
    v->spec.input = vocab ? vocab : (int)number(v, "input");
    v->spec.embed = vocab ? (int)number(v, "embed") : 0;
    read_columns(v);
    v->spec.tied = json_is_true(json_object_get(v->about, "tied"));
    v->spec.output = (int)number(v, "outputs");
    v->spec.loss = loss;
    v->spec.pool = json_string_value(json_object_get(v->about, "pool"));
    v->prefix = v->spec.output ? "rnn." : "";
}

/* Returns a parameter's name in the file: without a head it has no "rnn." prefix. */
static const char *file_name(const struct vector *v, const char *name)
{
    return strncmp(name, "rnn.", 4) || *v->prefix ? name : name + 4;
}

static bool fill_weights(struct vector *v)
{
    bool all = true;
    for (int i = 0; i < unroll_model_parameters(v->model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(v->model, i, &p);
        size_t count = (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1);
        const void *data = data_of(v, file_name(v, p.name));
        all &= CHECK(data && count_of(v, file_name(v, p.name)) == count, "%s: %s", v->path, p.name);
        if (data)
            memcpy(p.data, data, count * sizeof(float));
    }
    return all;
}

static bool open_vector(struct vector *v, const char *path, const char *isa)
{
    memset(v, 0, sizeof *v);
    v->path = path;
    if (!CHECK(safetensors_open(path, &v->file) == UNROLL_OK, "%s: %s", path, unroll_last_error()))
        return false;
    const char *text = safetensors_metadata(v->file, "case");
    if (!CHECK(text && parse_json(text, strlen(text), path, &v->about) == UNROLL_OK, "%s has a case", path))
        return false;
    read_spec(v);
    v->config = unroll_session_config_default();
    v->config.mode = v->spec.output ? UNROLL_TRAIN : UNROLL_MODULE;
    v->config.steps = (int)number(v, "T");
    v->config.rows = (int)number(v, "B");
    v->config.lengths = 1;
    v->config.input_gradient = !v->spec.tokens;
    v->config.machine.checkpoint_time = (v->config.steps + 1) / 2; /* two chunks; the first one is recomputed */
    v->config.machine.threads = 2;
    v->config.machine.precision = !isa ? "fp64" : NULL;
    v->config.machine.isa = isa;
    v->config.class_weights = data_of(v, "class_weights");
    v->config.label_smoothing = (float)json_number_value(json_object_get(v->about, "smoothing"));
    if (!CHECK(unroll_model_new(&v->spec, 1, &v->model) == UNROLL_OK, "%s: %s", path, unroll_last_error()))
        return false;
    v->unit = v->spec.output ? (float)unroll_model_targets(v->model) : 1;
    return fill_weights(v) && CHECK(unroll_session_new(v->model, &v->config, &v->session) == UNROLL_OK, "%s: %s", path,
                                    unroll_last_error());
}

static void close_vector(struct vector *v)
{
    unroll_session_free(v->session);
    unroll_model_free(v->model);
    json_decref(v->about);
    safetensors_close(v->file);
}

/* ---- comparing ------------------------------------------------------------------------- */

static void compare(const struct vector *v, const char *name, const float *got, const float *expected, size_t count,
                    double tolerance)
{
    double scale = 0, worst = 0;
    for (size_t i = 0; i < count; i++) scale = fmax(scale, fabs((double)expected[i]));
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - (double)expected[i]) / (scale > 1e-3 ? scale : 1e-3);
        if (!(error <= worst))
            worst = error;
    }
    CHECK(worst <= tolerance, "%s on %s: %s is off by %.2e", v->path, unroll_session_isa(v->session), name, worst);
}

/* Compares a buffer of the session with `count` values from `first` on of a tensor of the file. */
static void compare_buffer(const struct vector *v, const char *buffer, const char *tensor, size_t first,
                           double tolerance)
{
    bool of_loss = v->spec.output && !strncmp(buffer, "d.", 2);
    size_t count = unroll_session_count(v->session, buffer);
    const float *expected = data_of(v, tensor);
    float *got = calloc(count + 1, sizeof *got);
    bool there = count && expected && first + count <= count_of(v, tensor);
    if (CHECK(there && unroll_session_read(v->session, buffer, got, count) == UNROLL_OK, "%s: %s and %s", v->path,
              buffer, tensor)) {
        for (size_t i = 0; i < count && of_loss; i++) got[i] *= v->unit;
        compare(v, tensor, got, expected + first, count, tolerance);
    }
    free(got);
}

/* States are stored as [layers x directions, B, width] in the file, and in one buffer each in the session. */
static void each_state(const struct vector *v, const char *buffer, const char *tensor, bool write, double tolerance)
{
    int directions = v->spec.bidirectional ? 2 : 1;
    for (int k = 0; k < v->spec.layers * directions && data_of(v, tensor); k++) {
        char name[48];
        snprintf(name, sizeof name, "%s.l%d%s", buffer, k / directions, k % directions ? ".reverse" : "");
        size_t count = unroll_session_count(v->session, name), first = (size_t)k * count;
        if (!write)
            compare_buffer(v, name, tensor, first, tolerance);
        else
            CHECK(unroll_session_write(v->session, name, (const float *)data_of(v, tensor) + first, count) == UNROLL_OK,
                  "%s: %s", v->path, unroll_last_error());
    }
}

static void compare_gradients(const struct vector *v, double tolerance)
{
    for (int i = 0; i < unroll_model_parameters(v->model); i++) {
        unroll_parameter p = {.size = sizeof p};
        char buffer[80], tensor[80];
        unroll_model_parameter(v->model, i, &p);
        snprintf(buffer, sizeof buffer, "d.%s", p.name);
        snprintf(tensor, sizeof tensor, "grad.%s", file_name(v, p.name));
        compare_buffer(v, buffer, tensor, 0, tolerance);
    }
    each_state(v, "d.h0", "grad.h0", false, tolerance);
    each_state(v, "d.s0", "grad.c0", false, tolerance);
    if (!v->spec.tokens)
        compare_buffer(v, "d.x", "grad.x", 0, tolerance);
}

/* ---- running --------------------------------------------------------------------------- */

static bool run_module(const struct vector *v, const unroll_batch *batch)
{
    char name[32];
    snprintf(name, sizeof name, "d.y.l%d", v->spec.layers - 1);
    each_state(v, "d.hn", "dhN", true, 0);
    each_state(v, "d.sn", "dcN", true, 0);
    return unroll_session_forward(v->session, batch) == UNROLL_OK &&
           unroll_session_write(v->session, name, data_of(v, "dy"), count_of(v, "dy")) == UNROLL_OK &&
           unroll_session_backward(v->session) == UNROLL_OK;
}

/* Sums the two gradients of a tied embedding, as the update would. */
static void join_tied(const struct vector *v)
{
    const char *both[] = {"d.embedding.weight", "d2.embedding.weight"};
    size_t count = unroll_session_count(v->session, both[1]);
    float *one = calloc(2 * count + 1, sizeof *one), *other = one + count;
    if (count && unroll_session_read(v->session, both[0], one, count) == UNROLL_OK &&
        unroll_session_read(v->session, both[1], other, count) == UNROLL_OK) {
        for (size_t i = 0; i < count; i++) one[i] += other[i];
        unroll_session_write(v->session, both[0], one, count);
    }
    free(one);
}

static bool run_training(const struct vector *v, const unroll_batch *batch, double tolerance)
{
    unroll_result result = {.size = sizeof result};
    if (unroll_session_forward(v->session, batch) != UNROLL_OK || unroll_session_backward(v->session) != UNROLL_OK ||
        unroll_session_result(v->session, &result) != UNROLL_OK)
        return false;
    double loss = *(const float *)data_of(v, "loss"), weight = *(const float *)data_of(v, "weight");
    CHECK(result.weight * (double)v->unit == weight, "%s: %g rows count, not %g", v->path, result.weight, weight);
    CHECK(fabs(result.loss * weight / loss - 1) <= tolerance, "%s: loss %g, not %g", v->path, result.loss * weight,
          loss);
    join_tied(v);
    return true;
}

static void test_file(const char *path, const char *isa)
{
    struct vector v;
    if (open_vector(&v, path, isa)) {
        double near = isa ? 1e-6 : 2e-7, far = isa ? 1e-5 : 2e-7;
        unroll_batch batch = {.size = sizeof batch, .lengths = data_of(&v, "lengths")};
        batch.tokens = data_of(&v, "tokens");
        batch.inputs = data_of(&v, "x");
        if (v.spec.loss && strstr("xent crf ctc", v.spec.loss))
            batch.targets = data_of(&v, "targets");
        else if (v.spec.loss)
            batch.target_values = data_of(&v, "targets");
        each_state(&v, "h0", "h0", true, 0);
        each_state(&v, "s0", "c0", true, 0);
        bool ran = v.spec.output ? run_training(&v, &batch, near) : run_module(&v, &batch);
        CHECK(ran, "%s: %s", path, unroll_last_error());
        char y[32];
        snprintf(y, sizeof y, "y.l%d", v.spec.layers - 1);
        if (!v.spec.output)
            compare_buffer(&v, y, "y", 0, near);
        each_state(&v, "hn", "hN", false, near);
        each_state(&v, "sn", "cN", false, near);
        compare_gradients(&v, far);
    }
    close_vector(&v);
}

int main(int argc, char **argv)
{
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    for (int i = 1; i < argc; i++) {
        check_next_case();
        test_file(argv[i], NULL);
        const char *isa;
        int available;
        for (int k = 0; (isa = listed_isa(k, &available)); k++)
            if (available)
                test_file(argv[i], isa);
    }
    return check_finish("vectors");
}
