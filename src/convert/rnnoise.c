/* Imports RNNoise's models in text form ("rnnoise-nu model file version 1", xiph/rnnoise and GregorR/rnnoise-models):
 * six layers with integer weights, scaled by 256, in Keras' layout. Each layer consists of inputs, units, activation (0
 * tanh, 1 sigmoid, 2 relu), weights, recurrent weights of a GRU, and a bias. The GRU applies its reset before the
 * product with h. The filter bank is not included: the network reads 42 features of a frame and outputs a gain for each
 * of 22 bands and the probability of voice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "convert/file_table.h"
#include "convert/keras.h"
#include "model/model.h"

#define MAGIC "rnnoise-nu model file version 1\n"

enum { LARGEST_FILE = 1 << 24, WIDEST = 128, LAYERS = 6 };

/* ---- the text -------------------------------------------------------------------------- */

struct scanner {
    const char *at;
};

static unroll_status read_integer(struct scanner *s, const char *where, int min, int max, int *number)
{
    const char *begin = s->at += strspn(s->at, " \t\r\n");
    int64_t value;
    enum number_state state = number_integer(&s->at, NULL, min, max, &value);
    if (state == NUMBER_NONE)
        return fail(UNROLL_DATA, "%s: a number is missing; fix: " EXPORT_WEIGHTS, where);
    if (state == NUMBER_OUTSIDE)
        return fail(UNROLL_DATA, "%s: %.*s is outside %d .. %d; fix: " EXPORT_WEIGHTS, where,
                    (int)(s->at - begin < 24 ? s->at - begin : 24), begin, min, max);
    *number = (int)value;
    return UNROLL_OK;
}

/* Reads 8-bit integers with a scale of 1/256. */
static unroll_status read_weights(struct scanner *s, const char *where, size_t count, float *to)
{
    int number;
    for (size_t i = 0; i < count; i++) {
        TRY(read_integer(s, where, INT8_MIN, INT8_MAX, &number));
        to[i] = (float)number / 256;
    }
    return UNROLL_OK;
}

/* ---- layers ---------------------------------------------------------------------------- */

enum rnnoise_layer { INPUT_DENSE, VAD_GRU, NOISE_GRU, DENOISE_GRU, DENOISE_OUTPUT, VAD_OUTPUT };

/* In the order of the file. */
static const struct {
    const char *name;
    bool gru;
} places[LAYERS] = {
    [INPUT_DENSE] = {"input_dense", false},
    [VAD_GRU] = {"vad_gru", true},
    [NOISE_GRU] = {"noise_gru", true},
    [DENOISE_GRU] = {"denoise_gru", true},
    [DENOISE_OUTPUT] = {"denoise_output", false},
    [VAD_OUTPUT] = {"vad_output", false},
};

/* In the order of the model, whose last layer outputs the gains. Sources are indices into this list; -1: the input. */
static const struct {
    enum rnnoise_layer place;
    int sources, source[3];
} wiring[LAYERS] = {{INPUT_DENSE, 1, {-1}},       {VAD_GRU, 1, {0}},
                    {VAD_OUTPUT, 1, {1}},         {NOISE_GRU, 3, {0, 1, -1}},
                    {DENOISE_GRU, 3, {1, 3, -1}}, {DENOISE_OUTPUT, 1, {4}}};

struct read_layer {
    int inputs, units, activation;
    float *kernel, *recurrent, *bias;
};

static unroll_status read_layer(struct scanner *s, enum rnnoise_layer place, struct read_layer *l)
{
    const char *where = places[place].name;
    TRY(read_integer(s, where, 1, 3 * WIDEST, &l->inputs));
    TRY(read_integer(s, where, 1, WIDEST, &l->units));
    TRY(read_integer(s, where, 0, 2, &l->activation));
    size_t columns = (size_t)l->units * (places[place].gru ? 3 : 1), inputs = (size_t)l->inputs;
    size_t states = places[place].gru ? (size_t)l->units : 0;
    TRY(ALLOCATE(l->kernel, inputs * columns, "for %s", where));
    TRY(ALLOCATE(l->recurrent, states * columns, "for %s", where));
    TRY(ALLOCATE(l->bias, columns, "for %s", where));
    TRY(read_weights(s, where, inputs * columns, l->kernel));
    TRY(read_weights(s, where, states * columns, l->recurrent));
    return read_weights(s, where, columns, l->bias);
}

static unroll_status read_layers(struct scanner *s, struct read_layer layers[LAYERS])
{
    for (int place = 0; place < LAYERS; place++) TRY(read_layer(s, (enum rnnoise_layer)place, &layers[place]));
    s->at += strspn(s->at, " \t\r\n");
    return *s->at ? fail(UNROLL_DATA, "there is data after the last layer: '%.20s'; fix: " EXPORT_WEIGHTS, s->at)
                  : UNROLL_OK;
}

/* ---- the model ------------------------------------------------------------------------- */

static const char *const of_dense[] = {"tanh", "sigmoid", "relu"};
static const char *const of_gru[] = {NULL, "sigmoid sigmoid", "sigmoid relu"}; /* NULL: the cell's default */

/* Describes the layers of the network. */
static void describe_layers(const struct read_layer *layers, unroll_layer layer[LAYERS])
{
    for (int i = 0; i < LAYERS; i++) {
        enum rnnoise_layer place = wiring[i].place;
        unroll_layer *l = &layer[i];
        *l = unroll_layer_default();
        l->name = places[place].name;
        l->width = layers[place].units;
        l->sources = wiring[i].sources;
        memcpy(l->source, wiring[i].source, sizeof wiring[i].source);
        if (places[place].gru) {
            l->kind = "gru-before";
            l->activations = of_gru[layers[place].activation];
        } else {
            l->activation = of_dense[layers[place].activation];
        }
        l->output = place == VAD_OUTPUT;
    }
}

/* Builds the model and copies the weights. */
static unroll_status build(const struct read_layer *layers, const unroll_import_config *config, unroll_model **model)
{
    unroll_layer layer[LAYERS];
    unroll_network network = unroll_network_default();
    struct unroll_model *m;
    describe_layers(layers, layer);
    network.input = layers[INPUT_DENSE].inputs;
    network.layer = layer;
    network.layers = LAYERS;
    TRY(unroll_model_from_network(&network, 0, &m));
    for (int i = 0; i < LAYERS; i++) {
        const struct read_layer *l = &layers[wiring[i].place];
        if (m->layer[i].input != (uint32_t)l->inputs) {
            unsigned given = m->layer[i].input;
            unroll_model_free(m);
            return fail(UNROLL_DATA,
                        "%s reads %d values, but the layers before it have %u outputs; fix: " EXPORT_WEIGHTS,
                        layer[i].name, l->inputs, given);
        }
        report_import(config, "%s: %s %d -> %d, %s", layer[i].name, layer[i].kind, l->inputs, l->units,
                      of_dense[l->activation]);
        keras_fill(m, i, &(struct keras_weights){l->kernel, l->recurrent, l->bias, NULL});
    }
    *model = m;
    return UNROLL_OK;
}

static unroll_status import_text(const char *text, const unroll_import_config *config, unroll_model **model)
{
    struct read_layer layers[LAYERS] = {{0}};
    struct scanner s = {text + strlen(MAGIC)};
    if (strncmp(text, MAGIC, strlen(MAGIC)))
        return fail(UNROLL_DATA, "the file does not begin with '%.*s'; fix: " EXPORT_WEIGHTS, (int)strlen(MAGIC) - 1,
                    MAGIC);
    unroll_status status = read_layers(&s, layers);
    if (status == UNROLL_OK)
        status = build(layers, config, model);
    for (int i = 0; i < LAYERS; i++) {
        release(layers[i].kernel);
        release(layers[i].recurrent);
        release(layers[i].bias);
    }
    return status;
}

static unroll_status import_rnnoise(const char *path, const unroll_import_config *config, unroll_model **model)
{
    void *text;
    size_t size;
    TRY(read_whole_file(path, LARGEST_FILE, &text, &size)); /* terminated by a zero byte */
    unroll_status status = import_text(text, config, model);
    if (status != UNROLL_OK)
        status = fail(status, "'%s': %s", path, unroll_last_error());
    release(text);
    return status;
}

static bool is_rnnoise(const char *path, const char *head, size_t bytes)
{
    (void)path;
    return bytes >= strlen(MAGIC) && !memcmp(head, MAGIC, strlen(MAGIC));
}

const struct file_format format_rnnoise = {
    .name = "rnnoise", .about = "RNNoise models as text", .recognizes = is_rnnoise, .import = import_rnnoise};
