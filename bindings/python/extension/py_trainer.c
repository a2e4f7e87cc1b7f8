/* Dataset and Trainer: training on data as the command does it; evaluating and sampling. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

PyTypeObject *dataset_type;

/* ---- data sets ------------------------------------------------------------------------------ */

/* "key=value,key=value" of the keywords that are the reader's. NULL with an exception. */
static PyObject *reader_options(PyObject *keywords)
{
    PyObject *pairs = PyList_New(0), *comma = PyUnicode_FromString(","), *joined = NULL, *key, *value;
    Py_ssize_t at = 0;
    bool good = pairs && comma;
    while (good && keywords && PyDict_Next(keywords, &at, &key, &value)) {
        PyObject *pair = PyUnicode_FromFormat("%U=%S", key, value);
        good = pair && PyList_Append(pairs, pair) == 0;
        Py_XDECREF(pair);
    }
    if (good)
        joined = PyUnicode_Join(comma, pairs);
    Py_XDECREF(pairs);
    Py_XDECREF(comma);
    return joined;
}

static PyObject *dataset_wrap(PyTypeObject *type, unroll_dataset *dataset)
{
    dataset_object *self = (dataset_object *)object_new(type);
    if (self)
        self->dataset = dataset;
    else
        unroll_dataset_free(dataset);
    return (PyObject *)self;
}

static PyObject *dataset_open(PyTypeObject *type, PyObject *path, PyObject *reader, PyObject *model, PyObject *options)
{
    unroll_dataset_config config = unroll_dataset_default();
    unroll_dataset *dataset = NULL;
    unroll_status status;
    const char *name = PyBytes_AsString(path);
    if (model && model != Py_None && !PyObject_TypeCheck(model, model_type))
        return PyErr_Format(PyExc_TypeError, "model: a Model is wanted, that the data are to be read for");
    config.model = model && model != Py_None ? ((model_object *)model)->model : NULL;
    if (!(config.options = PyUnicode_AsUTF8AndSize(options, NULL)) ||
        (reader && reader != Py_None && !(config.reader = PyUnicode_AsUTF8AndSize(reader, NULL))))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = unroll_dataset_open(name, &config, &dataset);
    Py_END_ALLOW_THREADS
    return status == UNROLL_OK ? dataset_wrap(type, dataset) : raise_status(status);
}

static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *reader = keyword_take(keywords, "reader"), *model = keyword_take(keywords, "model"), *path = NULL,
             *made = NULL, *options = reader_options(keywords);
    if (options && PyArg_ParseTuple(args, "O&:Dataset", PyUnicode_FSConverter, &path))
        made = dataset_open(type, path, reader, model, options);
    Py_XDECREF(path);
    Py_XDECREF(options);
    Py_XDECREF(model);
    Py_XDECREF(reader);
    return made;
}

static void dataset_dealloc(PyObject *self)
{
    unroll_dataset_free(((dataset_object *)self)->dataset);
    object_free(self);
}

static PyObject *dataset_tokens(PyObject *self, void *unused)
{
    const unroll_dataset *dataset = ((dataset_object *)self)->dataset;
    size_t count = unroll_dataset_tokens(dataset, 0, 0, NULL);
    Py_ssize_t shape[1] = {(Py_ssize_t)count};
    (void)unused;
    if (!count)
        return none();
    PyObject *array = array_new(NUMBER_I32, 1, shape);
    if (array)
        unroll_dataset_tokens(dataset, 0, count, array_data(array));
    return array;
}

static PyObject *dataset_vocabulary(PyObject *self, void *unused)
{
    int count;
    const char *const *vocabulary = unroll_dataset_vocabulary(((dataset_object *)self)->dataset, &count);
    PyObject *list = PyList_New(count);
    (void)unused;
    for (int i = 0; list && i < count; i++) PyList_SetItem(list, i, PyUnicode_FromString(vocabulary[i]));
    return list;
}

static PyObject *dataset_notes(PyObject *self, void *unused)
{
    PyObject *text = PyUnicode_FromString(unroll_dataset_notes(((dataset_object *)self)->dataset));
    PyObject *lines = text ? PyUnicode_Splitlines(text, 0) : NULL;
    (void)unused;
    Py_XDECREF(text);
    return lines;
}

static PyObject *dataset_describe(PyObject *self, PyObject *unused)
{
    char *text;
    unroll_status status;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    status = unroll_dataset_describe(((dataset_object *)self)->dataset, &text);
    Py_END_ALLOW_THREADS
    if (status != UNROLL_OK)
        return raise_status(status);
    PyObject *json = PyImport_ImportModule("json");
    PyObject *described = json ? PyObject_CallMethod(json, "loads", "s", text) : NULL;
    Py_XDECREF(json);
    free(text);
    return described;
}

static PyMethodDef dataset_methods[] = {
    {"describe", dataset_describe, METH_NOARGS,
     "What it is, as a dict: columns, their types, what is missing, ranges, lengths, first rows."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef dataset_members[] = {
    {"tokens", dataset_tokens, NULL, "The numbers of its tokens, a new Array of int32, or None.", NULL},
    {"vocabulary", dataset_vocabulary, NULL, "What the numbers stand for: a list of str.", NULL},
    {"notes", dataset_notes, NULL, "What was decided about the data: a list of sentences.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot dataset_slots[] = {
    {Py_tp_doc,
     "Dataset(path, *, reader=None, model=None, ...): data of a file, with the reader of that name or the one that\n"
     "recognises it; other keywords are the reader's: of a text tokens='words', vocab=5000. With a model: as that\n"
     "model reads, with its vocabulary."},
    {Py_tp_new, dataset_new},
    {Py_tp_dealloc, dataset_dealloc},
    {Py_tp_methods, dataset_methods},
    {Py_tp_getset, dataset_members},
    {0, NULL}};

PyType_Spec dataset_spec = {"unroll._core.Dataset", sizeof(dataset_object), 0, Py_TPFLAGS_DEFAULT, dataset_slots};

/* An evaluation as a dict. */
static PyObject *measured(const unroll_evaluation *e)
{
    PyObject *found = Py_BuildValue("{s:d,s:d}", "loss", e->loss, "floor", e->floor);
    for (int i = 0; found && i < e->metrics; i++) {
        const unroll_metric *m = &e->metric[i];
        PyObject *value = m->digits ? PyFloat_FromDouble(m->value) : PyLong_FromDouble(m->value);
        if (!value || PyDict_SetItemString(found, m->name, value))
            Py_CLEAR(found);
        Py_XDECREF(value);
    }
    return found;
}

/* ---- the trainer ----------------------------------------------------------------------------- */

typedef struct trainer_object {
    PyObject_HEAD
    unroll_trainer *trainer;
    model_object *model;
    PyObject *dataset, *validation; /* which it reads; validation may be NULL */
} trainer_object;

static const struct field config_fields[] = {
#define C(member, kind) FIELD(unroll_train_config, member, kind)
    C(task, FIELD_TEXT),
    C(batch, FIELD_INT),
    C(bptt, FIELD_INT),
    C(stateful, FIELD_INT),
    {"optimizer", FIELD_TEXT, offsetof(unroll_train_config, rates.optimizer), NULL},
    C(schedule, FIELD_TEXT),
    C(warmup, FIELD_LONG),
    C(total_steps, FIELD_LONG),
    C(accumulate, FIELD_INT),
    C(label_smoothing, FIELD_FLOAT),
    C(balanced_classes, FIELD_INT),
    C(batch_tokens, FIELD_LONG),
    C(prefetch, FIELD_INT),
    {"validation", FIELD_DOUBLE, offsetof(unroll_train_config, validation.share), NULL},
    {"test", FIELD_DOUBLE, offsetof(unroll_train_config, test.share), NULL},
    C(seed, FIELD_UNSIGNED),
    C(log_interval, FIELD_INT),
    C(new_hyperparameters, FIELD_INT),
    MACHINE_FIELDS(unroll_train_config),
#undef C
};
enum { CONFIG_FIELDS = sizeof config_fields / sizeof *config_fields };

static const struct field progress_fields[] = {
#define P(member, kind) FIELD(unroll_progress, member, kind)
    P(step, FIELD_LONG),
    P(epoch, FIELD_DOUBLE),
    P(loss, FIELD_DOUBLE),
    P(norm, FIELD_DOUBLE),
    P(learning_rate, FIELD_DOUBLE),
    P(items, FIELD_LONG),
    P(item, FIELD_TEXT),
    P(steps_per_epoch, FIELD_LONG),
    P(synced, FIELD_INT),
    P(best_validation, FIELD_DOUBLE),
    P(best_metric, FIELD_DOUBLE),
    P(waited, FIELD_DOUBLE),
    P(best_step, FIELD_LONG),
    P(since_best, FIELD_LONG),
    {NULL, 0, 0, NULL},
#undef P
};

/* Another optimizer brings its own rates, those that were not given. */
static bool take_config(PyObject *keywords, unroll_train_config *config)
{
    PyObject *optimizer = keywords ? PyDict_GetItemString(keywords, "optimizer") : NULL;
    const char *asked = optimizer && PyUnicode_Check(optimizer) ? PyUnicode_AsUTF8AndSize(optimizer, NULL) : NULL;
    const char *name = asked ? optimizer_name(asked) : config->rates.optimizer;
    struct field fields[CONFIG_FIELDS + RATES_FIELDS];
    double clip = config->rates.clip;
    if (PyErr_Occurred() || !name)
        return PyErr_Occurred() ? false : refuse_optimizer(asked);
    if (strcmp(name, config->rates.optimizer))
        config->rates = unroll_hyperparameters_default(name);
    config->rates.clip = clip;
    memcpy(fields, config_fields, sizeof config_fields);
    rates_fields(name, offsetof(unroll_train_config, rates), fields + CONFIG_FIELDS);
    bool taken = fields_take("a trainer", fields, keywords, config);
    config->rates.optimizer = name; /* the library's own text */
    return taken;
}

static PyObject *wrap_trainer(PyTypeObject *type, unroll_trainer *trainer, PyObject *model, PyObject *dataset,
                              PyObject *validation)
{
    model_object *m = (model_object *)model;
    trainer_object *self = (trainer_object *)object_new(type);
    if (!self) {
        UNLOCKED(&m->lock, unroll_trainer_free(trainer));
        return NULL;
    }
    self->trainer = trainer;
    self->model = (model_object *)Py_NewRef(model);
    self->model->sessions++;
    self->dataset = Py_NewRef(dataset);
    self->validation = Py_XNewRef(validation);
    return (PyObject *)self;
}

static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_train_config config = unroll_train_default();
    unroll_trainer *trainer = NULL;
    unroll_status status;
    PyObject *model, *dataset, *validation = keyword_take(keywords, "validation_data"), *made = NULL;
    bool taken = PyArg_ParseTuple(args, "O!O!:Trainer", model_type, &model, dataset_type, &dataset) &&
                 take_config(keywords, &config);
    if (taken && validation && !PyObject_TypeCheck(validation, dataset_type)) {
        PyErr_SetString(PyExc_TypeError, "validation_data: a Dataset is wanted");
        taken = false;
    }
    if (taken) {
        model_object *m = (model_object *)model;
        config.validation.data = validation ? ((dataset_object *)validation)->dataset : NULL;
        UNLOCKED(&m->lock,
                 status = unroll_trainer_new(m->model, ((dataset_object *)dataset)->dataset, &config, &trainer));
        made = status == UNROLL_OK ? wrap_trainer(type, trainer, model, dataset, validation) : raise_status(status);
    }
    Py_XDECREF(validation);
    return made;
}

static int trainer_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((trainer_object *)self)->model);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void trainer_dealloc(PyObject *self)
{
    trainer_object *t = (trainer_object *)self;
    PyObject_GC_UnTrack(self);
    if (t->trainer) {
        UNLOCKED(&t->model->lock, unroll_trainer_free(t->trainer));
        t->model->sessions--;
    }
    Py_XDECREF((PyObject *)t->model);
    Py_XDECREF(t->dataset);
    Py_XDECREF(t->validation);
    object_free(self);
}

static PyObject *trainer_step(PyObject *self, PyObject *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_progress progress = {.size = sizeof progress};
    unroll_status status;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_step(t->trainer, &progress));
    return status == UNROLL_OK ? fields_give(progress_fields, &progress) : raise_status(status);
}

static PyObject *trainer_progress(PyObject *self, void *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_progress progress = {.size = sizeof progress};
    unroll_status status;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_progress(t->trainer, &progress));
    return status == UNROLL_OK ? fields_give(progress_fields, &progress) : raise_status(status);
}

static PyObject *trainer_validate(PyObject *self, PyObject *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_status status;
    unroll_evaluation found;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_validate(t->trainer, &found));
    return status == UNROLL_OK ? measured(&found) : raise_status(status);
}

static PyObject *checkpoint(PyObject *self, PyObject *args, unroll_status (*call)(unroll_trainer *, const char *))
{
    trainer_object *t = (trainer_object *)self;
    unroll_status status;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    UNLOCKED(&t->model->lock, status = call(t->trainer, name));
    Py_DECREF(path);
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *trainer_save(PyObject *self, PyObject *args) { return checkpoint(self, args, unroll_trainer_save); }

static PyObject *trainer_load(PyObject *self, PyObject *args) { return checkpoint(self, args, unroll_trainer_load); }

static PyObject *trainer_set_total_steps(PyObject *self, PyObject *args)
{
    trainer_object *t = (trainer_object *)self;
    long long steps;
    if (!PyArg_ParseTuple(args, "L:set_total_steps", &steps))
        return NULL;
    UNLOCKED(&t->model->lock, unroll_trainer_set_total_steps(t->trainer, steps));
    return none();
}

static PyObject *trainer_memory_estimate(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(unroll_trainer_memory_estimate(((trainer_object *)self)->trainer));
}

static PyMethodDef trainer_methods[] = {
    {"step", trainer_step, METH_NOARGS, "One update: a dict, as `progress`."},
    {"validate", trainer_validate, METH_NOARGS,
     "A dict of the loss of the validation part, the floor of a naive answer, and the task's metrics."},
    {"save", trainer_save, METH_VARARGS, "save(directory): a checkpoint, whole or not at all."},
    {"load", trainer_load, METH_VARARGS, "load(directory): the next step is the one that would have come."},
    {"set_total_steps", trainer_set_total_steps, METH_VARARGS, "What schedules count on from now on."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef trainer_members[] = {
    {"memory_estimate", trainer_memory_estimate, NULL, "Bytes of its plans.", NULL},
    {"progress", trainer_progress, NULL,
     "Where it stands: a dict of step, epoch, loss, norm, learning_rate, items, item, steps_per_epoch, synced, "
     "best_validation, best_step, since_best.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot trainer_slots[] = {
    {Py_tp_doc,
     "Trainer(model, dataset, *, task=None, batch=32, bptt=64, optimizer='adam', ...): training as the command does it."},
    {Py_tp_new, trainer_new},
    {Py_tp_dealloc, trainer_dealloc},
    {Py_tp_traverse, trainer_traverse},
    {Py_tp_methods, trainer_methods},
    {Py_tp_getset, trainer_members},
    {0, NULL}};

PyType_Spec trainer_spec = {"unroll._core.Trainer", sizeof(trainer_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, trainer_slots};

/* ---- evaluating and sampling ------------------------------------------------------------------ */

PyObject *evaluate(PyObject *module, PyObject *args, PyObject *keywords)
{
    struct on {
        unroll_machine machine;
    } on = {unroll_machine_default()};
    static const struct field fields[] = {MACHINE_FIELDS(struct on), {NULL, 0, 0, NULL}};
    PyObject *model, *dataset;
    unroll_evaluation found;
    unroll_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:evaluate", model_type, &model, dataset_type, &dataset) ||
        !fields_take("an evaluation", fields, keywords, &on))
        return NULL;
    model_object *m = (model_object *)model;
    UNLOCKED(&m->lock,
             status = unroll_evaluate(m->model, ((dataset_object *)dataset)->dataset, &on.machine, &found, NULL));
    return status == UNROLL_OK ? measured(&found) : raise_status(status);
}

static const struct field sample_fields[] = {
#define S(member, kind) FIELD(unroll_sample_config, member, kind)
    S(prompt, FIELD_TEXT),  S(length, FIELD_INT), S(temperature, FIELD_DOUBLE), S(top_k, FIELD_INT),
    S(top_p, FIELD_DOUBLE), S(beam, FIELD_INT),   S(seed, FIELD_UNSIGNED),      MACHINE_FIELDS(unroll_sample_config),
    {NULL, 0, 0, NULL},
#undef S
};

static int keep(void *arg, const char *symbol) { return !lines_add(arg, symbol); }

PyObject *sample(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_sample_config config = unroll_sample_default();
    struct lines w = {NULL, 0, 0};
    unroll_status status;
    PyObject *model;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:sample", model_type, &model) ||
        !fields_take("a sample", sample_fields, keywords, &config))
        return NULL;
    model_object *m = (model_object *)model;
    UNLOCKED(&m->lock, status = unroll_sample(m->model, &config, keep, &w));
    PyObject *text = status == UNROLL_OK ? PyUnicode_DecodeUTF8(w.text ? w.text : "", (Py_ssize_t)w.length, NULL)
                                         : raise_status(status);
    free(w.text);
    return text;
}
