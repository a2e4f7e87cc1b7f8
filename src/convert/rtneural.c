/* Imports RTNeural's model files (github.com/jatinchowdhury18/RTNeural) and those of AIDA-X: JSON with Keras' weights
 * layer by layer, or a PyTorch state_dict as nested arrays. Keras kernels are [inputs, gates x units], with LSTM gates
 * i f c o and GRU gates z r h. Two biases, [2, 3 units], mean that the GRU applies its reset after the product.
 * RTNeural's convolutions and norms are refused by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/memory.h"
#include "convert/amp/amp.h"
#include "convert/file_table.h"
#include "convert/keras.h"
#include "convert/torch/torch.h"

enum { LARGEST_FILE = 1 << 28, WIDEST = 1 << 16 };

/* ---- arrays of numbers ----------------------------------------------------------------- */

struct json_matrix {
    float *data;
    int rank;
    size_t rows, columns;
}; /* rank 1: [rows] */

static unroll_status read_row(const json_t *json, const char *where, size_t count, float *to)
{
    if (!json_is_array(json) || json_array_size(json) != count)
        return fail(UNROLL_DATA, "%s: its rows are not arrays of equal length; fix: " EXPORT_WEIGHTS, where);
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(json, i);
        to[i] = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(to[i]))
            return fail(UNROLL_DATA, "%s: value %zu of a row is not a number, or is too large; fix: " EXPORT_WEIGHTS,
                        where, i);
    }
    return UNROLL_OK;
}

/* Reads [numbers] or [[numbers], ...]. The caller must release(matrix->data). */
static unroll_status read_matrix(const json_t *json, const char *where, struct json_matrix *matrix)
{
    const json_t *first = json_array_get(json, 0);
    struct json_matrix m = {.rank = json_is_array(first) ? 2 : 1, .rows = json_array_size(json), .columns = 1};
    unroll_status status = UNROLL_OK;
    if (m.rank == 2)
        m.columns = json_array_size(first);
    if (m.rows < 1 || m.rows > WIDEST || m.columns < 1 || m.columns > WIDEST)
        return fail(UNROLL_DATA, "%s: must be an array of 1 to %d rows and columns; fix: " EXPORT_WEIGHTS, where,
                    WIDEST);
    TRY(ALLOCATE(m.data, m.rows * m.columns, "for %s", where));
    for (size_t r = 0; r < m.rows && m.rank == 2 && status == UNROLL_OK; r++)
        status = read_row(json_array_get(json, r), where, m.columns, m.data + r * m.columns);
    if (m.rank == 1)
        status = read_row(json, where, m.rows, m.data);
    if (status != UNROLL_OK) {
        release(m.data);
        return status;
    }
    *matrix = m;
    return UNROLL_OK;
}

/* ---- a state_dict as JSON -------------------------------------------------------------- */

/* Makes a tensor of the matrix, whose data it takes over. */
static void take_tensor(const char *name, const struct json_matrix *m, struct tensor_view *t)
{
    *t = (struct tensor_view){.name = name,
                              .dtype = DTYPE_F32,
                              .rank = m->rank,
                              .shape = {m->rows, m->columns},
                              .data = m->data,
                              .bytes = m->rows * m->columns * sizeof(float)};
    if (m->rank == 1)
        t->shape[1] = 0;
}

static unroll_status read_tensors(json_t *json, struct tensor_view *tensor, struct tensor_set *set)
{
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        struct json_matrix m;
        char where[200];
        snprintf(where, sizeof where, "tensor '%.160s'", name);
        TRY(read_matrix(value, where, &m));
        take_tensor(name, &m, &tensor[set->count]);
        set->tensor[set->count] = &tensor[set->count];
        set->count++;
    }
    tensor_set_sort(set);
    return UNROLL_OK;
}

static unroll_status import_tensors(json_t *json, const unroll_import_config *config, unroll_model **model)
{
    size_t count = json_object_size(json);
    struct tensor_view *tensor = allocate_zeroed(count, sizeof *tensor);
    struct tensor_set set = {.tensor = allocate_zeroed(count, sizeof *set.tensor)};
    unroll_status status = tensor && set.tensor ? read_tensors(json, tensor, &set)
                                                : fail(UNROLL_RESOURCE, "no memory for %zu tensors", count);
    if (status == UNROLL_OK)
        status = import_state_dict(&set, config, model);
    for (int i = 0; i < set.count; i++) release((void *)tensor[i].data);
    release(tensor);
    release(set.tensor);
    return status;
}

/* ---- layers ---------------------------------------------------------------------------- */

struct described {
    unroll_layer layer[MODEL_LAYERS_MAX];
    char name[MODEL_LAYERS_MAX][32];
    json_t *weights[MODEL_LAYERS_MAX];
    int count, input;
    bool skip; /* AIDA-X: the input is added to the output */
};

/* Converts Keras' name of an activation to ours; "" is linear. Returns false if it is unknown. */
static bool find_activation(const char *keras, const char **ours)
{
    struct activation known;
    *ours = !*keras || !strcmp(keras, "linear") ? NULL : keras;
    return !*ours || activation_parse(*ours, &known);
}

/* Appends a layer. Recurrent layers must use tanh. */
static unroll_status add_layer(struct described *d, const char *where, const char *kind, const char *activation,
                               int width, json_t *weights)
{
    bool dense = !strcmp(kind, "dense");
    unroll_layer *l = &d->layer[d->count];
    if (d->count == MODEL_LAYERS_MAX)
        return fail(UNROLL_UNSUPPORTED, "%s: more than %d layers; fix: use a model of fewer layers", where,
                    MODEL_LAYERS_MAX);
    if (!dense && *activation && strcmp(activation, "tanh"))
        return fail(UNROLL_UNSUPPORTED,
                    "%s: a %s has the activation '%.40s', but RTNeural computes tanh; fix: train the model with tanh",
                    where, kind, activation);
    *l = unroll_layer_default();
    l->kind = kind;
    l->width = width;
    if (dense && !find_activation(activation, &l->activation))
        return fail(
            UNROLL_UNSUPPORTED,
            "%s: the activation '%.40s' is unknown; fix: use one of tanh, relu, sigmoid, softmax, elu and prelu", where,
            activation);
    snprintf(d->name[d->count], sizeof *d->name, "%s%d", kind, d->count);
    l->name = d->name[d->count];
    d->weights[d->count++] = weights;
    return UNROLL_OK;
}

/* Merges a separate activation layer into the dense layer before it. */
static unroll_status join_activation(struct described *d, const char *where, const char *activation)
{
    unroll_layer *l = d->count ? &d->layer[d->count - 1] : NULL;
    if (!l || strcmp(l->kind, "dense") || l->activation)
        return fail(UNROLL_UNSUPPORTED,
                    "%s: an activation must follow a linear dense layer; fix: put it after a linear dense layer",
                    where);
    if (!find_activation(activation, &l->activation))
        return fail(
            UNROLL_UNSUPPORTED,
            "%s: the activation '%.40s' is unknown; fix: use one of tanh, relu, sigmoid, softmax, elu and prelu", where,
            activation);
    return UNROLL_OK;
}

static unroll_status width_of(json_t *json, const char *where, const char *key, int *width)
{
    json_t *shape;
    int64_t last;
    TRY(json_field_array(json, where, key, &shape));
    size_t axes = json_array_size(shape);
    TRY(json_item_integer(shape, where, key, axes ? axes - 1 : 0, 1, WIDEST, &last));
    *width = (int)last;
    return UNROLL_OK;
}

/* Reads one layer's description and appends it. */
static unroll_status describe_layer(json_t *json, const char *where, struct described *d)
{
    const char *type, *activation = "";
    json_t *weights;
    int width;
    TRY(json_field_string(json, where, "type", &type));
    if (json_object_get(json, "activation"))
        TRY(json_field_string(json, where, "activation", &activation));
    if (!strcmp(type, "activation"))
        return join_activation(d, where, activation);
    TRY(width_of(json, where, "shape", &width));
    TRY(json_field_array(json, where, "weights", &weights));
    if (!strcmp(type, "dense") || !strcmp(type, "time-distributed-dense"))
        return add_layer(d, where, "dense", activation, width, weights);
    for (int i = 0; cell_at(i); i++) /* Keras' class names in lower case */
        if (cell_at(i)->foreign.keras_biases && !strcasecmp(type, cell_at(i)->foreign.name))
            return add_layer(d, where, cell_at(i)->called, activation, width, weights);
    return fail(
        UNROLL_UNSUPPORTED,
        "%s: a layer has the type '%.40s'; dense, lstm, gru and activation can be imported; fix: use only these layers",
        where, type);
}

/* Lets the last layer read the input, too. */
static unroll_status add_skip(json_t *json, struct described *d)
{
    const json_t *skip = json_object_get(json, "in_skip");
    unroll_layer *last = &d->layer[d->count - 1];
    d->skip = json_is_true(skip) || json_number_value(skip) != 0;
    if (!d->skip)
        return UNROLL_OK;
    if (d->count < 2 || strcmp(last->kind, "dense") || last->width != 1 || d->input != 1 || last->activation)
        return fail(UNROLL_UNSUPPORTED, "\"in_skip\" needs one input and a last layer that is dense, linear and of "
                                        "one output; fix: leave out \"in_skip\"");
    last->sources = 2;
    last->source[0] = d->count - 2;
    last->source[1] = SOURCE_INPUT;
    return UNROLL_OK;
}

static unroll_status describe_layers(json_t *json, struct described *d)
{
    json_t *layers;
    TRY(width_of(json, "the model", "in_shape", &d->input));
    TRY(json_field_array(json, "the model", "layers", &layers));
    for (size_t i = 0; i < json_array_size(layers); i++) {
        char where[32];
        snprintf(where, sizeof where, "layer %zu", i);
        TRY(describe_layer(json_array_get(layers, i), where, d));
    }
    for (int i = 0; i < d->count; i++) /* without a bias array the layer has no bias */
        if (!strcmp(d->layer[i].kind, "dense"))
            d->layer[i].bias = json_array_size(d->weights[i]) > 1;
    return d->count ? add_skip(json, d) : fail(UNROLL_DATA, "the model has no layers; fix: " EXPORT_WEIGHTS);
}

/* ---- weights --------------------------------------------------------------------------- */

/* Reads a matrix and checks its shape; a bias [gates x units] has rank 1. `parameter`: its destination. */
static unroll_status read_weights(const json_t *json, const char *where, const struct parameter *parameter,
                                  const struct json_matrix *wanted, struct json_matrix *m)
{
    TRY(read_matrix(json, where, m));
    if (m->rank == wanted->rank && m->rows == wanted->rows && m->columns == wanted->columns)
        return UNROLL_OK;
    char columns[32] = "";
    if (wanted->rank == 2)
        snprintf(columns, sizeof columns, " x %zu", wanted->columns);
    return fail(UNROLL_DATA, "%s: '%s' must have %zu%s values, not %zu x %zu; fix: " EXPORT_WEIGHTS, where,
                parameter->name, wanted->rows, columns, m->rows, m->columns);
}

/* Appends the weight of a skip to a column. */
static unroll_status add_one(struct json_matrix *m)
{
    if (!enlarge(&m->data, m->rows * sizeof *m->data, (m->rows + 1) * sizeof *m->data))
        return fail(UNROLL_RESOURCE, "no memory for a layer");
    m->data[m->rows++] = 1;
    return UNROLL_OK;
}

/* Reads the weights of a layer and copies them into the model. */
static unroll_status fill_layer(struct unroll_model *m, int layer, const struct described *d)
{
    static const enum parameter_role dense_roles[] = {PARAM_W_DENSE, PARAM_B_DENSE},
                                     roles[] = {PARAM_W_IH, PARAM_W_HH, PARAM_B_IH};
    const struct layer *l = &m->layer[layer];
    const bool dense = !l->cell, two = !dense && l->cell->foreign.keras_biases == 2;
    const size_t units = (size_t)d->layer[layer].width,
                 rows = dense ? units : units * (size_t)cell_inputs_from(l->cell, FROM_X);
    const size_t wanted = dense ? 1 + (size_t)l->bias : 3, given = json_array_size(d->weights[layer]);
    const struct json_matrix bias = {.rank = two ? 2 : 1, .rows = two ? 2 : rows, .columns = two ? rows : 1};
    const bool skips = d->skip && layer == m->layers - 1;
    const struct json_matrix shape[] = {{.rank = 2, .rows = l->input - skips, .columns = rows},
                                        dense ? bias : (struct json_matrix){.rank = 2, .rows = units, .columns = rows},
                                        bias};
    struct json_matrix w[3] = {{0}};
    unroll_status status = UNROLL_OK;
    if (given != wanted)
        return fail(UNROLL_DATA, "%s: has %zu arrays of weights, not %zu; fix: " EXPORT_WEIGHTS, d->name[layer], given,
                    wanted);
    for (size_t i = 0; i < wanted && status == UNROLL_OK; i++) {
        const int of = model_find(m, (dense ? dense_roles : roles)[i], layer, 0);
        status =
            read_weights(json_array_get(d->weights[layer], i), d->name[layer], &m->parameter[of], &shape[i], &w[i]);
    }
    if (status == UNROLL_OK && skips)
        status = add_one(&w[0]);
    if (status == UNROLL_OK)
        keras_fill(m, layer,
                   &(struct keras_weights){w[0].data, w[1].data, w[dense ? 1 : 2].data, two ? w[2].data + rows : NULL});
    for (int i = 0; i < 3; i++) release(w[i].data);
    return status;
}

/* ---- the model ------------------------------------------------------------------------- */

/* Builds the model and copies the weights. */
static unroll_status import_described(const struct described *d, const unroll_import_config *config,
                                      unroll_model **model)
{
    unroll_network network = unroll_network_default();
    struct unroll_model *made;
    network.input = d->input;
    network.layer = d->layer;
    network.layers = d->count;
    TRY(unroll_model_from_network(&network, 0, &made));
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < d->count && status == UNROLL_OK; i++) {
        const unroll_layer *l = &d->layer[i];
        report_import(config, "%s: %u -> %d%s%s", l->name, (unsigned)made->layer[i].input, l->width,
                      l->activation ? ", " : "", l->activation ? l->activation : "");
        status = fill_layer(made, i, d);
    }
    if (status == UNROLL_OK)
        *model = made;
    else
        unroll_model_free(made);
    return status;
}

static unroll_status import_layers(json_t *json, const unroll_import_config *config, unroll_model **model)
{
    if (config->prefix || config->order || config->nonlinearity || config->gru_reset)
        return fail(UNROLL_UNSUPPORTED,
                    "this file describes all of its layers, so `prefix`, `order`, `nonlinearity` and `gru_reset` are "
                    "not supported; fix: leave them out");
    struct described *d = allocate_zeroed(1, sizeof *d);
    unroll_status status = d ? describe_layers(json, d) : fail(UNROLL_RESOURCE, "no memory for the layers");

    if (status == UNROLL_OK)
        status = import_described(d, config, model);
    release(d);
    return status;
}

unroll_status import_rtneural(const char *path, const unroll_import_config *config, unroll_model **model)
{
    json_t *json;
    TRY(read_json_file(path, LARGEST_FILE, &json));
    unroll_status status = json_is_object(json)
                               ? (json_object_get(json, "layers") ? import_layers : import_tensors)(json, config, model)
                               : fail(UNROLL_DATA, "the file does not contain a JSON object; fix: " EXPORT_WEIGHTS);
    if (status != UNROLL_OK)
        status = fail(status == UNROLL_USAGE && !config->order ? UNROLL_DATA : status, "'%s': %s", path,
                      unroll_last_error());
    json_decref(json);
    return status;
}

static bool is_rtneural(const char *path, const char *head, size_t bytes)
{
    static const char *const marks[] = {"\"in_shape\"", "\"layers\"", "weight_ih_l0\""};

    if (!path_ends_in(path, ".json") || path_ends_in(path, ".index.json"))
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(head, bytes, marks[i], strlen(marks[i])))
            return true;
    return false;
}

const struct file_format format_rtneural = {.name = "rtneural",
                                            .about = "RTNeural JSON, from Keras or PyTorch",
                                            .recognizes = is_rtneural,
                                            .import = import_rtneural,
                                            .export = export_rtneural,
                                            .import_takes = IMPORT_STATE_DICT_TAKES};
