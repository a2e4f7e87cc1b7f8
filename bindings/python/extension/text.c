/* Text and Trainer: training on a text as the command does it; evaluating and sampling. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

PyTypeObject *text_type;

/* ---- texts ---------------------------------------------------------------------------------- */

/* Strings of a sequence; the list keeps them. */
struct strings { PyObject *list; const char **string; int count; };

static void strings_release(struct strings *s)
{
    Py_XDECREF(s->list);
    free(s->string);
}

static bool strings_take(PyObject *from, struct strings *s)
{
    *s = (struct strings){ NULL, NULL, 0 };
    if (!from || from == Py_None)
        return true;
    s->list = PySequence_List(from);
    s->count = s->list ? (int)PyList_Size(s->list) : 0;
    s->string = calloc((size_t)s->count + 1, sizeof *s->string);
    for (int i = 0; s->list && s->string && i < s->count; i++)
        if (!(s->string[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(s->list, i), NULL)))
            break;
    if (s->list && s->string && !PyErr_Occurred())
        return true;
    strings_release(s);
    return PyErr_Occurred() ? false : (PyErr_NoMemory(), false);
}

static unroll_status open_text(const char *path, const struct strings *symbols, int words, int vocabulary,
                               const unroll_model *model, unroll_text **text)
{
    if (model)
        return unroll_text_open_for(path, model, text);
    return words ? unroll_text_open_words(path, symbols->string, symbols->count, vocabulary, text)
                 : unroll_text_open(path, symbols->string, symbols->count, text);
}

static PyObject *text_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path", "words", "vocabulary", "symbols", "model", NULL };
    PyObject *path, *size = NULL, *given = NULL, *model = Py_None;
    int words = 0, vocabulary = 10000;
    struct strings symbols;
    unroll_text *text = NULL;
    unroll_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|$pOOO:Text", names, PyUnicode_FSConverter, &path,
                                     &words, &size, &given, &model))
        return NULL;
    bool known = model == Py_None || PyObject_TypeCheck(model, model_type);
    if (!known)
        PyErr_SetString(PyExc_TypeError, "model: a Model is wanted, that the text is to be read for");
    if (!known || (size && !int_take("vocabulary", size, &vocabulary)) || !strings_take(given, &symbols)) {
        Py_DECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    const unroll_model *reader = model == Py_None ? NULL : ((model_object *)model)->model;
    Py_BEGIN_ALLOW_THREADS
    status = open_text(name, &symbols, words, vocabulary, reader, &text);
    Py_END_ALLOW_THREADS
    strings_release(&symbols);
    Py_DECREF(path);
    if (status != UNROLL_OK)
        return raise_status(status);
    text_object *self = (text_object *)object_new(type);
    if (self)
        self->text = text;
    else
        unroll_text_free(text);
    return (PyObject *)self;
}

static void text_dealloc(PyObject *self)
{
    unroll_text_free(((text_object *)self)->text);
    object_free(self);
}

static PyObject *text_tokens(PyObject *self, void *unused)
{
    size_t count;
    const int32_t *tokens = unroll_text_tokens(((text_object *)self)->text, &count);
    Py_ssize_t shape[1] = { (Py_ssize_t)count };
    (void)unused;
    return array_inside(self, (void *)tokens, NUMBER_I32, 1, shape, true);     /* which only readers get */
}

static PyObject *text_symbols(PyObject *self, void *unused)
{
    int count;
    const char *const *symbols = unroll_text_symbols(((text_object *)self)->text, &count);
    PyObject *list = PyList_New(count);
    (void)unused;
    for (int i = 0; list && i < count; i++)
        PyList_SetItem(list, i, PyUnicode_FromString(symbols[i]));
    return list;
}

static PyGetSetDef text_members[] = {
    { "tokens", text_tokens, NULL, "The text as symbol numbers, an Array of int32 in the text's own memory.",
      NULL },
    { "symbols", text_symbols, NULL, "What the numbers stand for: a list of str.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot text_slots[] = {
    { Py_tp_doc,
      "Text(path, *, words=False, vocabulary=10000, symbols=None, model=None): a UTF-8 text as numbers, one\n"
      "for each character or word; with a model, as that model reads it." },
    { Py_tp_new, text_new },
    { Py_tp_dealloc, text_dealloc },
    { Py_tp_getset, text_members },
    { 0, NULL },
};

PyType_Spec text_spec = { "unroll._core.Text", sizeof(text_object), 0, Py_TPFLAGS_DEFAULT, text_slots };

/* ---- the trainer ----------------------------------------------------------------------------- */

typedef struct trainer_object {
    PyObject_HEAD
    unroll_trainer *trainer;
    model_object   *model;
    PyObject       *text, *validation;          /* which it reads; validation may be NULL */
} trainer_object;

static const struct field config_fields[] = {
#define C(member, kind) FIELD(unroll_train_config, member, kind)
#define R(member)       { #member, FIELD_DOUBLE, offsetof(unroll_train_config, rates.member), NULL }
    C(batch, FIELD_INT), C(bptt, FIELD_INT), C(carry, FIELD_INT), C(optimizer, FIELD_TEXT),
    C(schedule, FIELD_TEXT), C(warmup, FIELD_LONG), C(total_steps, FIELD_LONG), C(validation, FIELD_DOUBLE),
    C(seed, FIELD_UNSIGNED), C(loss_every, FIELD_INT), C(new_rates, FIELD_INT), MACHINE_FIELDS(unroll_train_config),
    R(learning_rate), R(momentum), R(beta1), R(beta2), R(epsilon), R(decay), R(clip), { NULL, 0, 0, NULL },
#undef C
#undef R
};

static const struct field progress_fields[] = {
#define P(member, kind) FIELD(unroll_progress, member, kind)
    P(step, FIELD_LONG), P(epoch, FIELD_DOUBLE), P(loss, FIELD_DOUBLE), P(norm, FIELD_DOUBLE),
    P(learning_rate, FIELD_DOUBLE), P(symbols, FIELD_LONG), P(steps_per_epoch, FIELD_LONG), P(looked, FIELD_INT),
    P(best_validation, FIELD_DOUBLE), P(best_step, FIELD_LONG), P(since_best, FIELD_LONG),
    { NULL, 0, 0, NULL },
#undef P
};

/* Another optimizer brings its own rates, those that were not given. */
static bool take_config(PyObject *keywords, unroll_train_config *config)
{
    PyObject *optimizer = keywords ? PyDict_GetItemString(keywords, "optimizer") : NULL;
    double clip = config->rates.clip;
    if (optimizer && PyUnicode_Check(optimizer)) {
        const char *name = PyUnicode_AsUTF8AndSize(optimizer, NULL);
        if (!name)
            return false;
        if (strcmp(name, config->optimizer))
            config->rates = unroll_rates_default(name);
        config->rates.clip = clip;
    }
    return fields_take("a trainer", config_fields, keywords, config);
}

static PyObject *wrap_trainer(PyTypeObject *type, unroll_trainer *trainer, PyObject *model, PyObject *text,
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
    self->text = Py_NewRef(text);
    self->validation = Py_XNewRef(validation);
    return (PyObject *)self;
}

static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_train_config config = unroll_train_default();
    unroll_trainer *trainer = NULL;
    unroll_status status;
    PyObject *model, *text, *validation = keyword_take(keywords, "validation_text"), *made = NULL;
    bool taken = PyArg_ParseTuple(args, "O!O!:Trainer", model_type, &model, text_type, &text) &&
                 take_config(keywords, &config);
    if (taken && validation && !PyObject_TypeCheck(validation, text_type)) {
        PyErr_SetString(PyExc_TypeError, "validation_text: a Text is wanted");
        taken = false;
    }
    if (taken) {
        model_object *m = (model_object *)model;
        config.validation_text = validation ? ((text_object *)validation)->text : NULL;
        UNLOCKED(&m->lock,
                 status = unroll_trainer_new(m->model, ((text_object *)text)->text, &config, &trainer));
        made = status == UNROLL_OK ? wrap_trainer(type, trainer, model, text, validation)
                                   : raise_status(status);
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
    Py_XDECREF(t->text);
    Py_XDECREF(t->validation);
    object_free(self);
}

static PyObject *trainer_step(PyObject *self, PyObject *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_progress progress = { 0 };
    unroll_status status;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_step(t->trainer, &progress));
    return status == UNROLL_OK ? fields_give(progress_fields, &progress) : raise_status(status);
}

static PyObject *trainer_progress(PyObject *self, void *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_progress progress;
    (void)unused;
    UNLOCKED(&t->model->lock, unroll_trainer_progress(t->trainer, &progress));
    return fields_give(progress_fields, &progress);
}

static PyObject *trainer_validate(PyObject *self, PyObject *unused)
{
    trainer_object *t = (trainer_object *)self;
    unroll_status status;
    double nats = 0;
    (void)unused;
    UNLOCKED(&t->model->lock, status = unroll_trainer_validate(t->trainer, &nats));
    return status == UNROLL_OK ? PyFloat_FromDouble(nats) : raise_status(status);
}

static PyObject *checkpoint(PyObject *self, PyObject *args,
                            unroll_status (*call)(unroll_trainer *, const char *))
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

static PyObject *trainer_save(PyObject *self, PyObject *args)
{
    return checkpoint(self, args, unroll_trainer_save);
}

static PyObject *trainer_load(PyObject *self, PyObject *args)
{
    return checkpoint(self, args, unroll_trainer_load);
}

static PyObject *trainer_set_total_steps(PyObject *self, PyObject *args)
{
    trainer_object *t = (trainer_object *)self;
    long long steps;
    if (!PyArg_ParseTuple(args, "L:set_total_steps", &steps))
        return NULL;
    UNLOCKED(&t->model->lock, unroll_trainer_set_total_steps(t->trainer, steps));
    return none();
}

static PyObject *trainer_forecast(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(unroll_trainer_forecast(((trainer_object *)self)->trainer));
}

static PyMethodDef trainer_methods[] = {
    { "step", trainer_step, METH_NOARGS,
      "One update: a dict, as `progress`." },
    { "validate", trainer_validate, METH_NOARGS, "Nats per symbol of the validation part." },
    { "save", trainer_save, METH_VARARGS, "save(directory): a checkpoint, whole or not at all." },
    { "load", trainer_load, METH_VARARGS, "load(directory): the next step is the one that would have come." },
    { "set_total_steps", trainer_set_total_steps, METH_VARARGS, "What schedules count on from now on." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef trainer_members[] = {
    { "forecast", trainer_forecast, NULL, "Bytes of its plans.", NULL },
    { "progress", trainer_progress, NULL,
      "Where it stands: a dict of step, epoch, loss, norm, learning_rate, symbols, steps_per_epoch, looked, "
      "best_validation, best_step, since_best.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot trainer_slots[] = {
    { Py_tp_doc,
      "Trainer(model, text, *, batch=32, bptt=64, optimizer='adam', ...): training as the command does it." },
    { Py_tp_new, trainer_new },
    { Py_tp_dealloc, trainer_dealloc },
    { Py_tp_traverse, trainer_traverse },
    { Py_tp_methods, trainer_methods },
    { Py_tp_getset, trainer_members },
    { 0, NULL },
};

PyType_Spec trainer_spec = { "unroll._core.Trainer", sizeof(trainer_object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, trainer_slots };

/* ---- evaluating and sampling ------------------------------------------------------------------ */

PyObject *evaluate(PyObject *module, PyObject *args, PyObject *keywords)
{
    struct on { unroll_machine machine; } on = { unroll_machine_default() };
    static const struct field fields[] = { MACHINE_FIELDS(struct on), { NULL, 0, 0, NULL } };
    PyObject *model, *text;
    int64_t foretold = 0;
    double nats = 0;
    unroll_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:evaluate", model_type, &model, text_type, &text) ||
        !fields_take("an evaluation", fields, keywords, &on))
        return NULL;
    model_object *m = (model_object *)model;
    UNLOCKED(&m->lock,
             status = unroll_evaluate(m->model, ((text_object *)text)->text, &on.machine, &nats, &foretold));
    return status == UNROLL_OK ? Py_BuildValue("{s:d,s:L}", "nats", nats, "foretold", (long long)foretold)
                               : raise_status(status);
}

static const struct field sample_fields[] = {
#define S(member, kind) FIELD(unroll_sample_config, member, kind)
    S(prompt, FIELD_TEXT), S(length, FIELD_INT), S(temperature, FIELD_DOUBLE), S(top_k, FIELD_INT),
    S(seed, FIELD_UNSIGNED), MACHINE_FIELDS(unroll_sample_config), { NULL, 0, 0, NULL },
#undef S
};

static int keep(void *arg, const char *symbol)
{
    return !lines_add(arg, symbol);
}

PyObject *sample(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_sample_config config = unroll_sample_default();
    struct lines w = { NULL, 0, 0 };
    unroll_status status;
    PyObject *model;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:sample", model_type, &model) ||
        !fields_take("a sample", sample_fields, keywords, &config))
        return NULL;
    model_object *m = (model_object *)model;
    UNLOCKED(&m->lock, status = unroll_sample(m->model, &config, keep, &w));
    PyObject *text = status == UNROLL_OK
                         ? PyUnicode_DecodeUTF8(w.text ? w.text : "", (Py_ssize_t)w.length, NULL)
                         : raise_status(status);
    free(w.text);
    return text;
}
