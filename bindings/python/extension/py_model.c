/* Model: a network and its weights. Sessions and streams run it. */
#include "py_core.h"
#include <stdlib.h>

PyTypeObject *model_type;

static const struct field spec_fields[] = {
#define S(member, kind) FIELD(unroll_model_config, member, kind)
    S(cell, FIELD_TEXT),
    S(layers, FIELD_INT),
    S(hidden, FIELD_INT),
    S(bidirectional, FIELD_INT),
    S(projection, FIELD_INT),
    S(peephole, FIELD_INT),
    S(clip, FIELD_FLOAT),
    S(bias, FIELD_INT),
    S(dropout, FIELD_FLOAT),
    S(tokens, FIELD_INT),
    S(input, FIELD_INT),
    S(embed, FIELD_INT),
    S(tied, FIELD_INT),
    S(pool, FIELD_TEXT),
    S(output, FIELD_INT),
    S(loss, FIELD_TEXT),
    S(input_dropout, FIELD_FLOAT),
    S(init, FIELD_TEXT),
    S(forget_bias, FIELD_FLOAT),
    {NULL, 0, 0, NULL},
#undef S
};

static const struct field network_fields[] = {
#define N(member, kind) FIELD(unroll_network, member, kind)
    N(tokens, FIELD_INT),        N(input, FIELD_INT), N(embed, FIELD_INT),           N(tied, FIELD_INT),
    N(embedding, FIELD_TEXT),    N(loss, FIELD_TEXT), N(input_dropout, FIELD_FLOAT), N(init, FIELD_TEXT),
    N(forget_bias, FIELD_FLOAT), {NULL, 0, 0, NULL},
#undef N
};

static const struct field input_fields[] = {{"name", FIELD_TEXT, offsetof(unroll_input, name), NULL},
                                            {"tokens", FIELD_INT, offsetof(unroll_input, tokens), NULL},
                                            {"width", FIELD_INT, offsetof(unroll_input, width), NULL},
                                            {NULL, 0, 0, NULL}};

static const struct field layer_fields[] = {
#define L(member, kind) FIELD(unroll_layer, member, kind)
    L(kind, FIELD_TEXT),      L(name, FIELD_TEXT),       L(width, FIELD_INT),   L(bidirectional, FIELD_INT),
    L(projection, FIELD_INT), L(peephole, FIELD_INT),    L(clip, FIELD_FLOAT),  L(bias, FIELD_INT),
    L(dropout, FIELD_FLOAT),  L(activation, FIELD_TEXT), L(alpha, FIELD_FLOAT), L(beta, FIELD_FLOAT),
    L(pool, FIELD_TEXT),      L(output, FIELD_INT),      {NULL, 0, 0, NULL},
#undef L
};

/* ---- making -------------------------------------------------------------------------------- */

PyObject *model_wrap(PyTypeObject *type, unroll_model *model)
{
    model_object *self = (model_object *)object_new(type);
    if (!self) {
        unroll_model_free(model);
        return NULL;
    }
    self->model = model;
    lock_init(&self->lock);
    return (PyObject *)self;
}

/* Removes seed=N from the keywords. */
static bool take_seed(PyObject *keywords, uint64_t *seed)
{
    static const struct field field[] = {{"seed", FIELD_UNSIGNED, 0, NULL}, {NULL, 0, 0, NULL}};
    PyObject *value = keyword_take(keywords, "seed"), *dict = value ? Py_BuildValue("{s:O}", "seed", value) : NULL;
    bool taken = !value || (dict && fields_take("a model", field, dict, seed));
    Py_XDECREF(value);
    Py_XDECREF(dict);
    return taken;
}

static PyObject *copy_dicts(PyObject *list)
{
    PyObject *copies = PySequence_List(list);
    for (Py_ssize_t i = 0; copies && i < PyList_Size(copies); i++) {
        PyObject *item = PyList_GetItem(copies, i), *copy = PyDict_Check(item) ? PyDict_Copy(item) : Py_NewRef(item);
        if (!copy || PyList_SetItem(copies, i, copy) < 0)
            Py_CLEAR(copies);
    }
    return copies;
}

/* Converts a list of dicts to input columns; false: with an exception. */
static bool take_columns(PyObject *dicts, unroll_input inputs[UNROLL_INPUTS_MAX], int *n_inputs)
{
    *n_inputs = (int)PyList_Size(dicts);
    if (*n_inputs < 1 || *n_inputs > UNROLL_INPUTS_MAX) {
        PyErr_Format(PyExc_ValueError, "inputs: %d columns are outside 1..%d", *n_inputs, UNROLL_INPUTS_MAX);
        return false;
    }
    for (int i = 0; i < *n_inputs; i++) {
        PyObject *dict = PyList_GetItem(dicts, i);
        inputs[i] = (unroll_input){.size = sizeof *inputs};
        if (!PyDict_Check(dict)) {
            PyErr_SetString(PyExc_TypeError, "inputs: each is a dict: {'name': 'word', 'tokens': 100, 'width': 16}");
            return false;
        }
        if (!fields_take("an input", input_fields, dict, &inputs[i]))
            return false;
    }
    return true;
}

/* Removes inputs=[..] from the keywords. *kept holds the strings used by the columns, or is NULL; the caller releases
 * it. */
static bool take_inputs(PyObject *keywords, unroll_input inputs[UNROLL_INPUTS_MAX], int *n_inputs, PyObject **kept)
{
    PyObject *given = keyword_take(keywords, "inputs");
    *n_inputs = 0;
    *kept = NULL;
    if (!given || given == Py_None) {
        Py_XDECREF(given);
        return true;
    }
    *kept = copy_dicts(given);
    Py_DECREF(given);
    return *kept && take_columns(*kept, inputs, n_inputs);
}

/* Model(dataset=None, task=None, **fields): with a dataset, the task sets fields that are not given, and the schema. */
static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_model *model = NULL;
    unroll_status status = UNROLL_OK;
    uint64_t seed = 1;
    PyObject *dataset = NULL, *kept = NULL, *options = NULL;
    const char *task = NULL, *text = NULL;
    unroll_input inputs[UNROLL_INPUTS_MAX];
    if (!PyArg_ParseTuple(args, "|O!z:Model", dataset_type, &dataset, &task))
        return NULL;
    unroll_model_config spec = dataset ? unroll_model_config_auto() : unroll_model_config_default();
    spec.inputs = inputs;
    if (!take_seed(keywords, &seed) || !take_inputs(keywords, inputs, &spec.n_inputs, &kept) ||
        !options_take(keywords, "task_options", &options, &text) ||
        !fields_take("a model", spec_fields, keywords, &spec)) {
        Py_XDECREF(kept);
        Py_XDECREF(options);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    if (dataset)
        status = unroll_task_configure(task, text, ((dataset_object *)dataset)->dataset, &spec, NULL);
    if (status == UNROLL_OK)
        status = unroll_model_new(&spec, seed, &model);
    if (status == UNROLL_OK && dataset)
        status = unroll_model_set_schema(model, task, text, ((dataset_object *)dataset)->dataset);
    Py_END_ALLOW_THREADS
    Py_XDECREF(kept);
    Py_XDECREF(options);
    if (status == UNROLL_OK)
        return model_wrap(type, model);
    unroll_model_free(model);
    return raise_status(status);
}

/* Reads sources=[..] of a layer: its earlier layers. */
static bool take_sources(PyObject *dict, unroll_layer *layer)
{
    PyObject *sources = keyword_take(dict, "sources");
    Py_ssize_t n = sources ? PySequence_Size(sources) : 0;
    for (Py_ssize_t i = 0; i < n && n <= UNROLL_SOURCES_MAX && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(sources, i);
        if (item)
            int_take("sources", item, &layer->source[i]);
        Py_XDECREF(item);
    }
    Py_XDECREF(sources);
    layer->sources = (int)(n < INT16_MAX ? n : INT16_MAX);
    return n >= 0 && !PyErr_Occurred();
}

/* Reads the layers. The dicts are our copies, which keep the strings used by the layers. */
static bool take_layers(PyObject *dicts, unroll_layer *layers, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *dict = PyList_GetItem(dicts, i);
        layers[i] = unroll_layer_default();
        if (!PyDict_Check(dict)) {
            PyErr_SetString(PyExc_TypeError, "layers: each is a dict: {'kind': 'gru', 'name': 'a', 'width': 8}");
            return false;
        }
        if (!take_sources(dict, &layers[i]) || !fields_take("a layer", layer_fields, dict, &layers[i]))
            return false;
    }
    return true;
}

/* Creates a model from a list of dicts, one per layer. */
static PyObject *make_network(PyTypeObject *type, PyObject *dicts, PyObject *keywords)
{
    unroll_network network = unroll_network_default();
    unroll_input inputs[UNROLL_INPUTS_MAX];
    unroll_model *model = NULL;
    PyObject *kept = NULL;
    uint64_t seed = 1;
    unroll_layer *layers = calloc((size_t)PyList_Size(dicts) + 1, sizeof *layers);
    if (!layers)
        return PyErr_NoMemory();
    network.layer = layers;
    network.layers = (int)PyList_Size(dicts);
    network.inputs = inputs;
    bool taken = take_seed(keywords, &seed) && take_inputs(keywords, inputs, &network.n_inputs, &kept) &&
                 fields_take("a network", network_fields, keywords, &network) &&
                 take_layers(dicts, layers, network.layers);
    unroll_status status = taken ? unroll_model_from_network(&network, seed, &model) : UNROLL_OK;
    Py_XDECREF(kept);
    free(layers);
    if (!taken)
        return NULL;
    return status == UNROLL_OK ? model_wrap(type, model) : raise_status(status);
}

static PyObject *model_network(PyObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *layers, *dicts, *made = NULL;
    if (!PyArg_ParseTuple(args, "O:network", &layers) || !(dicts = copy_dicts(layers)))
        return NULL;
    made = make_network((PyTypeObject *)type, dicts, keywords);
    Py_DECREF(dicts);
    return made;
}

static PyObject *model_load(PyObject *type, PyObject *args)
{
    PyObject *path;
    unroll_model *model = NULL;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "O&:load", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = unroll_model_load(name, &model);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return status == UNROLL_OK ? model_wrap((PyTypeObject *)type, model) : raise_status(status);
}

static void model_dealloc(PyObject *self)
{
    model_object *m = (model_object *)self;
    unroll_model_free(m->model);
    pthread_mutex_destroy(&m->lock.mutex);
    object_free(self);
}

/* ---- methods -------------------------------------------------------------------------------- */

static PyObject *model_save(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    PyObject *path;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "O&:save", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    UNLOCKED(&m->lock, status = unroll_model_save(m->model, name));
    Py_DECREF(path);
    return status == UNROLL_OK ? none() : raise_status(status);
}

/* Adds several input columns. */
static bool give_inputs(PyObject *dict, const unroll_network *network)
{
    PyObject *list = network->n_inputs ? PyList_New(network->n_inputs) : Py_NewRef(Py_None);
    for (int i = 0; list && i < network->n_inputs; i++) {
        PyObject *column = fields_give(input_fields, &network->inputs[i]);
        if (!column)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, column);
    }
    const bool given = list && PyDict_SetItemString(dict, "inputs", list) == 0;
    Py_XDECREF(list);
    return given;
}

/* Returns a stack as the keywords of Model(), and any other network as those of Model.from_network() without its
 * layers. */
static PyObject *model_config_of(PyObject *self, void *unused)
{
    const unroll_model *model = ((model_object *)self)->model;
    unroll_network network = {.size = sizeof network};
    unroll_model_config spec = {.size = sizeof spec};
    (void)unused;
    unroll_model_network(model, &network);
    PyObject *dict =
        unroll_model_stack(model, &spec) ? fields_give(spec_fields, &spec) : fields_give(network_fields, &network);
    if (dict && !give_inputs(dict, &network))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *layer_dict(const unroll_layer *layer)
{
    PyObject *dict = fields_give(layer_fields, layer), *sources = PyList_New(layer->sources);
    for (int i = 0; sources && i < layer->sources; i++) PyList_SetItem(sources, i, PyLong_FromLong(layer->source[i]));
    if (!dict || !sources || PyDict_SetItemString(dict, "sources", sources) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(sources);
    return dict;
}

static PyObject *model_layers(PyObject *self, void *unused)
{
    const unroll_model *model = ((model_object *)self)->model;
    int count = unroll_model_layers(model);
    PyObject *list = PyList_New(count);
    (void)unused;
    for (int i = 0; list && i < count; i++) {
        unroll_layer layer = {.size = sizeof layer};
        unroll_status status = unroll_model_layer(model, i, &layer);
        PyObject *dict = status == UNROLL_OK ? layer_dict(&layer) : raise_status(status);
        if (!dict)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, dict);
    }
    return list;
}

int parameter_shape(const unroll_parameter *p, Py_ssize_t shape[2], Py_ssize_t *count)
{
    *count = 1;
    for (int i = 0; i < p->rank; i++) {
        shape[i] = p->shape[i];
        *count *= p->shape[i];
    }
    return p->rank;
}

static PyObject *model_parameters(PyObject *self, PyObject *unused)
{
    unroll_model *model = ((model_object *)self)->model;
    PyObject *dict = PyDict_New();
    (void)unused;
    for (int i = 0; dict && i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        Py_ssize_t shape[2], count;
        unroll_status status = unroll_model_parameter(model, i, &p);
        int rank = status == UNROLL_OK ? parameter_shape(&p, shape, &count) : 0;
        PyObject *array =
            status == UNROLL_OK ? array_inside(self, p.data, NUMBER_F32, rank, shape, false) : raise_status(status);
        if (!array || PyDict_SetItemString(dict, p.name, array) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(array);
    }
    return dict;
}

static PyObject *model_sessions(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((model_object *)self)->sessions);
}

static PyObject *model_symbols(PyObject *self, void *unused)
{
    const unroll_model *model = ((model_object *)self)->model;
    const char *const *symbols = unroll_model_vocabulary(model);
    unroll_network network = {.size = sizeof network};
    (void)unused;
    unroll_model_network(model, &network);
    if (!symbols)
        return none();
    PyObject *list = PyList_New(network.input);
    for (int i = 0; list && i < network.input; i++) PyList_SetItem(list, i, PyUnicode_FromString(symbols[i]));
    return list;
}

static PyObject *model_schema(PyObject *self, void *unused)
{
    const char *schema = unroll_model_schema(((model_object *)self)->model);
    (void)unused;
    return schema ? PyUnicode_FromString(schema) : none();
}

static PyObject *model_signature(PyObject *self, void *unused)
{
    const unroll_model *model = ((model_object *)self)->model;
    PyObject *list = PyList_New(0);
    (void)unused;
    for (int i = 0; list && unroll_model_signature(model, i); i++) {
        PyObject *line = PyUnicode_FromString(unroll_model_signature(model, i));
        if (!line || PyList_Append(list, line))
            Py_CLEAR(list);
        Py_XDECREF(line);
    }
    return list;
}

static PyObject *model_set_schema(PyObject *self, PyObject *args, PyObject *keywords)
{
    static const struct field none_left[] = {{NULL, 0, 0, NULL}};
    model_object *m = (model_object *)self;
    const char *task = NULL, *text = NULL;
    PyObject *dataset, *options = NULL, *given = NULL;
    unroll_status status;
    if (PyArg_ParseTuple(args, "O!|z:set_schema", dataset_type, &dataset, &task) &&
        options_take(keywords, "task_options", &options, &text) &&
        fields_take("set_schema", none_left, keywords, NULL)) {
        const unroll_dataset *data = ((dataset_object *)dataset)->dataset;
        UNLOCKED(&m->lock, status = unroll_model_set_schema(m->model, task, text, data));
        given = status == UNROLL_OK ? none() : raise_status(status);
    }
    Py_XDECREF(options);
    return given;
}

static PyObject *model_to_units(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *series = NULL;
    unroll_model *made = NULL;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "|z:_to_units", &series))
        return NULL;
    UNLOCKED(&m->lock, status = unroll_model_to_units(m->model, series, &made));
    return status == UNROLL_OK ? model_wrap(Py_TYPE(self), made) : raise_status(status);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static const char *const modes[] = {"infer", "eval", "train", "module", NULL};

static const struct field plan_fields[] = {
#define P(member) FIELD(unroll_plan_config, member, FIELD_INT)
#define S(axis)   { "split_" #axis, FIELD_INT, offsetof(unroll_plan_config, machine.split.axis), NULL }
    {"mode", FIELD_CHOICE, offsetof(unroll_plan_config, mode), modes},
    P(steps),
    P(rows),
    P(stateful),
    S(batch),
    S(layer),
    S(hidden),
    S(time),
    FIELD(unroll_plan_config, optimizer, FIELD_TEXT),
    MACHINE_FIELD(unroll_plan_config, sum, FIELD_TEXT),
    MACHINE_FIELDS(unroll_plan_config),
    {NULL, 0, 0, NULL},
#undef P
#undef S
};

/* plan(model, **fields) returns the text of unroll_plan_print. */
PyObject *plan(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_plan_config config = unroll_plan_config_default();
    PyObject *model, *text = NULL;
    char *printed = NULL;
    size_t bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:plan", model_type, &model) ||
        !fields_take("a plan", plan_fields, keywords, &config))
        return NULL;
    FILE *file = open_memstream(&printed, &bytes);
    if (!file)
        return PyErr_NoMemory();
    model_object *m = (model_object *)model;
    unroll_status status;
    UNLOCKED(&m->lock, status = unroll_plan_print(m->model, &config, file, 1));
    fclose(file);
    text = status == UNROLL_OK ? PyUnicode_FromStringAndSize(printed, (Py_ssize_t)bytes) : raise_status(status);
    free(printed);
    return text;
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"from_network", (PyCFunction)(void (*)(void))model_network, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_network(layers, *, input, tokens=0, embed=0, embedding=None, tied=0, inputs=None, input_dropout=0, loss='none', "
     "seed=1): a model of any layers, each a dict."},
    {"load", model_load, METH_VARARGS | METH_CLASS, "load(path): a model from a safetensors file."},
    {"save", model_save, METH_VARARGS, "save(path): a safetensors file with PyTorch's names."},
    {"parameters", model_parameters, METH_NOARGS,
     "Arrays in the model's own memory by name. While there are sessions of yours the weights are theirs: "
     "Session.push copies\n"
     "these to the session, Session.pull copies them back, and so does the end of a session that changed them."},
    {"set_schema", (PyCFunction)(void (*)(void))model_set_schema, METH_VARARGS | METH_KEYWORDS,
     "set_schema(dataset, task=None): stores what is needed to read such data again, such as the vocabulary."},
    {"_to_units", model_to_units, METH_VARARGS,
     "_to_units(series=None): a model whose weights contain the scales of the data."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"config", model_config_of, NULL, "The configuration of the network: a dict.", NULL},
    {"layers", model_layers, NULL, "Its layers: a list of dicts.", NULL},
    {"sessions", model_sessions, NULL, "The number of its sessions and trainers, including those of run.", NULL},
    {"vocabulary", model_symbols, NULL, "The symbols of its tokens: a list of str, or None.", NULL},
    {"schema", model_schema, NULL, "The schema of its data, as the text of a JSON object, or None.", NULL},
    {"signature", model_signature, NULL,
     "The inputs and outputs of the graph it was imported from, as arrays of `unroll run`: a list of str.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Model(dataset=None, task=None, /, *, cell='lstm', layers=1, hidden=128, ..., seed=1): a network with random\n"
     "weights; a dataset and its task decide its inputs and outputs, or input, output and loss do."},
    {Py_tp_new, model_new},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL}};

PyType_Spec model_spec = {"unroll._core.Model", sizeof(model_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          slots};
