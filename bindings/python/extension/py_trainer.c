/* Trainer: training on data as in the command; also evaluation, prediction and sampling. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

/* Returns an evaluation as a dict. details: JSON or NULL; freed here. */
static PyObject *measured(const unroll_evaluation *e, char *details)
{
    PyObject *found =
        Py_BuildValue("{s:d,s:d,s:z,s:L,s:z,s:N}", "loss", e->loss, "floor", e->floor, "naive", e->naive, "examples",
                      (long long)e->examples, "metric", e->metrics ? e->metric[e->compared].name : NULL, "higher",
                      PyBool_FromLong(e->higher));
    PyObject *told = found && details ? json_parse(details, strlen(details)) : NULL;
    if (details && (!told || PyDict_SetItemString(found, "details", told)))
        Py_CLEAR(found);
    Py_XDECREF(told);
    free(details);
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
    PyObject *dataset, *validation, *test; /* data sets in use; the last two may be NULL */
} trainer_object;

static const struct field config_fields[] = {
#define C(member, kind) FIELD(unroll_trainer_config, member, kind)
#define S(axis)         { "split_" #axis, FIELD_INT, offsetof(unroll_trainer_config, machine.split.axis), NULL }
    C(task, FIELD_TEXT),
    C(batch, FIELD_INT),
    C(bptt, FIELD_INT),
    C(stateful, FIELD_INT),
    {"optimizer", FIELD_TEXT, offsetof(unroll_trainer_config, rates.optimizer), NULL},
    C(schedule, FIELD_TEXT),
    C(divide_by, FIELD_TEXT),
    C(augment, FIELD_TEXT),
    C(sync, FIELD_TEXT),
    C(compress, FIELD_TEXT),
    C(arrivals, FIELD_TEXT),
    C(replay, FIELD_TEXT),
    MACHINE_FIELD(unroll_trainer_config, workers, FIELD_INT),
    S(batch),
    S(layer),
    S(hidden),
    S(time),
    MACHINE_FIELD(unroll_trainer_config, sum, FIELD_TEXT),
    C(warmup, FIELD_LONG),
    C(total_steps, FIELD_LONG),
    C(accumulate, FIELD_INT),
    C(label_smoothing, FIELD_FLOAT),
    C(balanced_classes, FIELD_INT),
    C(batch_tokens, FIELD_LONG),
    C(prefetch, FIELD_INT),
    C(seed, FIELD_UNSIGNED),
    C(log_interval, FIELD_INT),
    C(new_hyperparameters, FIELD_INT),
    MACHINE_FIELDS(unroll_trainer_config),
#undef C
#undef S
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
    P(met, FIELD_INT),
    {NULL, 0, 0, NULL},
#undef P
};

/* Another optimizer has its own defaults for the rates that are not given. */
static bool take_config(PyObject *keywords, unroll_trainer_config *config)
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
    rates_fields(name, offsetof(unroll_trainer_config, rates), fields + CONFIG_FIELDS);
    bool taken = fields_take("a trainer", fields, keywords, config);
    config->rates.optimizer = name; /* the library's own string */
    return taken;
}

/* Reads "groups:0.2", "groups:5", or "groups" for a fifth of them. */
static bool groups_take(const char *name, PyObject *given, unroll_held_out *part)
{
    const char *text = PyUnicode_AsUTF8AndSize(given, NULL);
    if (!text)
        return false;
    const bool counted = strncmp(text, "groups:", 7) == 0;
    const double number = counted ? PyOS_string_to_double(text + 7, NULL, NULL) : 0.2;
    if (PyErr_Occurred() || (!counted && strcmp(text, "groups") != 0)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: expected a share (0.1), a number of examples (500), 'groups:0.2' or a Dataset, not '%s'",
                     name, text);
        return false;
    }
    part->groups = 1;
    part->share = number < 1 ? number : 0;
    part->count = number < 1 ? 0 : (int64_t)number;
    return true;
}

/* Removes a fraction, a count, groups or a Dataset from the keywords; *data keeps a reference to the Dataset. */
static bool take_held_out(PyObject *keywords, const char *name, unroll_held_out *part, PyObject **data)
{
    PyObject *given = keyword_take(keywords, name);
    bool taken = true;
    *data = NULL;
    if (!given)
        return true;
    *part = (unroll_held_out){0};
    if (PyObject_TypeCheck(given, dataset_type)) {
        *data = Py_NewRef(given);
        part->data = ((dataset_object *)given)->dataset;
    } else if (PyFloat_Check(given)) {
        part->share = PyFloat_AsDouble(given);
    } else if (PyUnicode_Check(given)) {
        taken = groups_take(name, given, part);
    } else if (given != Py_None) {
        int count = 0;
        taken = PyIndex_Check(given) ? int_take(name, given, &count) : false;
        part->count = count;
        if (!taken && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s: expected a share (0.1), a number of examples (500) or a Dataset", name);
    }
    Py_DECREF(given);
    return taken;
}

/* Keyword values that a trainer needs while it is created, and keeps afterwards. */
struct taken {
    PyObject *validation, *test, *options;
    struct view weights;
};

static void taken_end(struct taken *taken)
{
    Py_XDECREF(taken->validation);
    Py_XDECREF(taken->test);
    Py_XDECREF(taken->options);
    view_release(&taken->weights);
}

static bool take_all(PyObject *keywords, const model_object *m, unroll_trainer_config *config, struct taken *taken)
{
    if (!take_held_out(keywords, "validation", &config->validation, &taken->validation) ||
        !take_held_out(keywords, "test", &config->test, &taken->test) ||
        !options_take(keywords, "task_options", &taken->options, &config->task_options) ||
        !class_weights_take(m, keywords, &taken->weights))
        return false;
    config->class_weights = taken->weights.data;
    return take_config(keywords, config);
}

/* The ranks started by mpirun, including this process; never closed. */
static unroll_comm *ranks;

static void close_ranks(void) { unroll_comm_close(ranks); }

/* For trainers with a mesh or workers; the library checks whether they fit the ranks. Returns false with an
 * exception. */
static bool take_ranks(unroll_trainer_config *config, double timeout)
{
    const unroll_machine *m = &config->machine;
    const bool alone =
        m->workers <= 1 && m->split.batch <= 1 && m->split.layer <= 1 && m->split.hidden <= 1 && m->split.time <= 1;
    if (alone || unroll_comm_launched() == 1)
        return true;
    if (!ranks && Py_AtExit(close_ranks))
        return PyErr_NoMemory() != NULL;
    unroll_status status = ranks ? UNROLL_OK : unroll_comm_open("mpi", timeout, &ranks);
    config->machine.comm = ranks;
    return status == UNROLL_OK || raise_status(status);
}

static PyObject *wrap_trainer(PyTypeObject *type, unroll_trainer *trainer, PyObject *model, PyObject *dataset,
                              const struct taken *taken)
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
    self->validation = Py_XNewRef(taken->validation);
    self->test = Py_XNewRef(taken->test);
    return (PyObject *)self;
}

/* Reads the timeout for waits for other ranks, in seconds; that of the first trainer with ranks applies. */
static bool take_timeout(PyObject *keywords, double *timeout)
{
    PyObject *given = keyword_take(keywords, "timeout");
    if (given)
        *timeout = PyFloat_AsDouble(given);
    Py_XDECREF(given);
    return !PyErr_Occurred();
}

/* Trainer(model, dataset, **fields) keeps references to both. */
static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_trainer *trainer = NULL;
    unroll_status status;
    struct taken taken = {0};
    PyObject *model, *dataset, *made = NULL;
    double timeout = 60;
    if (!PyArg_ParseTuple(args, "O!O!:Trainer", model_type, &model, dataset_type, &dataset))
        return NULL;
    model_object *m = (model_object *)model;
    if (take_timeout(keywords, &timeout) && take_all(keywords, m, &config, &taken) && take_ranks(&config, timeout)) {
        UNLOCKED(&m->lock,
                 status = unroll_trainer_new(m->model, ((dataset_object *)dataset)->dataset, &config, &trainer));
        made = status == UNROLL_OK ? wrap_trainer(type, trainer, model, dataset, &taken) : raise_status(status);
    }
    taken_end(&taken);
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
    Py_XDECREF(t->test);
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
    unroll_evaluation found = {.size = sizeof found};
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_validate(t->trainer, &found));
    return status == UNROLL_OK ? measured(&found, NULL) : raise_status(status);
}

static PyObject *trainer_test(PyObject *self, PyObject *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_status status;
    unroll_evaluation found = {.size = sizeof found};
    char *details = NULL;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_test(t->trainer, &found, &details));
    return status == UNROLL_OK ? measured(&found, details) : raise_status(status);
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

static PyObject *trainer_meet_at(PyObject *self, PyObject *args)
{
    trainer_object *t = (trainer_object *)self;
    long long steps;
    if (!PyArg_ParseTuple(args, "L:set_total_steps", &steps))
        return NULL;
    UNLOCKED(&t->model->lock, unroll_trainer_meet_at(t->trainer, steps));
    return none();
}

static PyObject *trainer_rank(PyObject *self, void *closure)
{
    (void)self, (void)closure;
    return PyLong_FromLong(ranks ? unroll_comm_rank(ranks) : 0);
}

static PyObject *trainer_memory_estimate(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(unroll_trainer_memory_estimate(((trainer_object *)self)->trainer));
}

static PyMethodDef trainer_methods[] = {
    {"step", trainer_step, METH_NOARGS, "One update: a dict, as `progress`."},
    {"validate", trainer_validate, METH_NOARGS,
     "A dict of the loss of the validation part, a naive baseline, and the task's metrics."},
    {"test", trainer_test, METH_NOARGS,
     "The same for the test part, with the current weights; details: further results of the task."},
    {"save", trainer_save, METH_VARARGS, "save(directory): writes a checkpoint atomically."},
    {"load", trainer_load, METH_VARARGS, "load(directory): loads a checkpoint; the next step continues from it."},
    {"meet_at", trainer_meet_at, METH_VARARGS,
     "meet_at(step): asynchronous workers synchronize at that step, to validate or save; call it again after each."},
    {"set_total_steps", trainer_set_total_steps, METH_VARARGS, "Sets the number of steps for the schedule."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef trainer_members[] = {
    {"rank", trainer_rank, NULL, "The rank of this process; 0 if it is the only one.", NULL},
    {"memory_estimate", trainer_memory_estimate, NULL, "Bytes of its plans.", NULL},
    {"progress", trainer_progress, NULL,
     "The current state: a dict of step, epoch, loss, norm, learning_rate, items, item, steps_per_epoch, synced, "
     "best_validation, best_step, since_best, met.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot trainer_slots[] = {
    {Py_tp_doc,
     "Trainer(model, dataset, *, task=None, batch=32, bptt=64, optimizer='adam', ...): training as in the command."},
    {Py_tp_new, trainer_new},
    {Py_tp_dealloc, trainer_dealloc},
    {Py_tp_traverse, trainer_traverse},
    {Py_tp_methods, trainer_methods},
    {Py_tp_getset, trainer_members},
    {0, NULL}};

PyType_Spec trainer_spec = {"unroll._core.Trainer", sizeof(trainer_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, trainer_slots};

/* ---- evaluating and sampling ------------------------------------------------------------------ */

struct on {
    unroll_machine machine;
};

/* Reads the model, the data set and the machine of a call. */
static bool take_call(const char *what, const char *format, PyObject *args, PyObject *keywords, model_object **model,
                      const unroll_dataset **dataset, struct on *on)
{
    static const struct field fields[] = {MACHINE_FIELDS(struct on), {NULL, 0, 0, NULL}};
    PyObject *data;
    on->machine = unroll_machine_default();
    if (!PyArg_ParseTuple(args, format, model_type, model, dataset_type, &data))
        return false;
    *dataset = ((dataset_object *)data)->dataset;
    return fields_take(what, fields, keywords, on);
}

PyObject *evaluate(PyObject *module, PyObject *args, PyObject *keywords)
{
    const unroll_dataset *dataset;
    unroll_evaluation found = {.size = sizeof found};
    unroll_status status;
    model_object *m;
    char *details = NULL;
    struct on on;
    (void)module;
    if (!take_call("an evaluation", "O!O!:evaluate", args, keywords, &m, &dataset, &on))
        return NULL;
    UNLOCKED(&m->lock, status = unroll_model_evaluate(m->model, dataset, &on.machine, &found, &details));
    return status == UNROLL_OK ? measured(&found, details) : raise_status(status);
}

/* Predictions as one JSON array. */
struct answers {
    struct lines lines;
    bool failed;
};

static int add_answer(void *arg, const char *json, const char *line)
{
    struct answers *a = arg;
    (void)line;
    a->failed = !lines_add(&a->lines, a->lines.length ? "," : "[") || !lines_add(&a->lines, json);
    return a->failed;
}

/* predict(model, dataset, **fields) returns a list of predictions, parsed from their JSON. */
PyObject *predict(PyObject *module, PyObject *args, PyObject *keywords)
{
    struct answers answers = {{NULL, 0, 0}, false};
    const unroll_dataset *dataset;
    PyObject *list = NULL;
    unroll_status status;
    model_object *m;
    struct on on;
    (void)module;
    if (!take_call("a prediction", "O!O!:predict", args, keywords, &m, &dataset, &on))
        return NULL;
    UNLOCKED(&m->lock, status = unroll_model_predict(m->model, dataset, &on.machine, add_answer, &answers));
    if (status != UNROLL_OK)
        raise_status(status);
    else if (answers.failed || !lines_add(&answers.lines, answers.lines.length ? "]" : "[]"))
        PyErr_NoMemory();
    else
        list = json_parse(answers.lines.text, answers.lines.length);
    free(answers.lines.text);
    return list;
}

/* task_defaults(dataset, task=None, task_options=) returns a dict; the task defaults to the suggested one. */
PyObject *task_defaults(PyObject *module, PyObject *args, PyObject *keywords)
{
    static const struct field fields[] = {
#define D(member, kind) FIELD(unroll_task_defaults, member, kind)
        D(batch, FIELD_INT),    D(bptt, FIELD_INT),      D(epochs, FIELD_DOUBLE),     D(learning_rate, FIELD_DOUBLE),
        D(warmup, FIELD_LONG),  D(schedule, FIELD_TEXT), D(validation, FIELD_DOUBLE), D(groups, FIELD_INT),
        D(patience, FIELD_INT), D(augment, FIELD_TEXT),  {NULL, 0, 0, NULL},
#undef D
    };
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_model_config spec = unroll_model_config_auto();
    const char *task = NULL, *why = "", *text = NULL;
    PyObject *dataset, *kept, *given = NULL;
    unroll_status status;
    (void)module;
    if (!options_take(keywords, "task_options", &kept, &text))
        return NULL;
    if (PyArg_ParseTuple(args, "O!|z:task_defaults", dataset_type, &dataset, &task) &&
        fields_take("task_defaults", &fields[sizeof fields / sizeof *fields - 1], keywords, NULL)) {
        const unroll_dataset *data = ((dataset_object *)dataset)->dataset;
        if (!task || !strcmp(task, "auto"))
            task = unroll_task_suggest(data, &why);
        status = unroll_task_configure(task, text, data, &spec, &defaults);
        given = status == UNROLL_OK ? fields_give(fields, &defaults) : raise_status(status);
    }
    Py_XDECREF(kept);
    PyObject *named = given ? Py_BuildValue("{s:z,s:s}", "task", task, "why", why) : NULL;
    if (given && (!named || PyDict_Update(given, named) < 0))
        Py_CLEAR(given);
    Py_XDECREF(named);
    return given;
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
    unroll_sample_config config = unroll_sample_config_default();
    struct lines w = {NULL, 0, 0};
    unroll_status status;
    PyObject *model;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:sample", model_type, &model) ||
        !fields_take("a sample", sample_fields, keywords, &config))
        return NULL;
    model_object *m = (model_object *)model;
    UNLOCKED(&m->lock, status = unroll_model_sample(m->model, &config, keep, &w));
    PyObject *text = status == UNROLL_OK ? PyUnicode_DecodeUTF8(w.text ? w.text : "", (Py_ssize_t)w.length, NULL)
                                         : raise_status(status);
    free(w.text);
    return text;
}
