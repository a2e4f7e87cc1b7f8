/* The extension unroll._core: types, functions, and errors as exceptions. */
#include "py_core.h"
#include <string.h>

static PyObject *make_error; /* unroll._errors.make(status, sentence) */

PyObject *raise_status(unroll_status status)
{
    const char *last = unroll_last_error();
    PyObject *sentence = PyUnicode_DecodeUTF8(last, (Py_ssize_t)strlen(last), "backslashreplace"); /* with any path */
    PyObject *error = sentence ? PyObject_CallFunction(make_error, "iO", (int)status, sentence) : NULL;
    Py_XDECREF(sentence);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

PyObject *object_new(PyTypeObject *type) { return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); }

void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* A list of the names of the entries that are available here. */
static PyObject *names(unroll_list_kind kind)
{
    PyObject *list = PyList_New(0);
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; list && unroll_list(kind, i, &entry); i++) {
        PyObject *text = entry.available ? PyUnicode_FromString(entry.name) : NULL;
        if (entry.available && (!text || PyList_Append(list, text) < 0))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *isas(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return names(UNROLL_LIST_ISAS);
}

static PyObject *cells(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return names(UNROLL_LIST_CELLS);
}

static PyObject *optimizers(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return names(UNROLL_LIST_OPTIMIZERS);
}

static PyObject *status_name(PyObject *module, PyObject *args)
{
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "i:status_name", &status))
        return NULL;
    return Py_BuildValue("z", unroll_status_name((unroll_status)status));
}

static PyMethodDef methods[] = {
    {"evaluate", (PyCFunction)(void (*)(void))evaluate, METH_VARARGS | METH_KEYWORDS,
     "evaluate(model, dataset, *, threads=0, dtype=None): a dict of the loss, a naive baseline, the task's "
     "metrics, and details."},
    {"notes", notes, METH_NOARGS, "The notes of this thread's last call that read data: a list of messages."},
    {"predict", (PyCFunction)(void (*)(void))predict, METH_VARARGS | METH_KEYWORDS,
     "predict(model, dataset, *, threads=0, dtype=None): a list of predictions, each a dict."},
    {"task_defaults", (PyCFunction)(void (*)(void))task_defaults, METH_VARARGS | METH_KEYWORDS,
     "task_defaults(dataset, task=None, *, task_options=None): the task that suits the data, the reason, and the "
     "defaults of its training."},
    {"sample", (PyCFunction)(void (*)(void))sample, METH_VARARGS | METH_KEYWORDS,
     "sample(model, *, prompt, length, temperature, top_k, seed, weights): text sampled from the model."},
    {"sampler_order", (PyCFunction)(void (*)(void))sampler_order, METH_VARARGS | METH_KEYWORDS,
     "sampler_order(*, rows, count=, lengths=, classes=, how='shuffle', replicas=1, seed=0, epoch=0): the sequences "
     "of an epoch as an array [batches, rows];\neach occurs once, -1 is an empty row. how: 'shuffle', in random order; "
     "'length', sequences of similar length\nin a batch, and equal steps in each replica's rows; 'stratified', equally "
     "many of each class. lengths, classes: [count] of int32."},
    {"plan", (PyCFunction)(void (*)(void))plan, METH_VARARGS | METH_KEYWORDS, "plan(model, **config): JSON."},
    {"import_model", (PyCFunction)(void (*)(void))import_model, METH_VARARGS | METH_KEYWORDS,
     "import_model(type, path, **config): a model from another tool's file, and the lines of the report."},
    {"export_model", (PyCFunction)(void (*)(void))export_model, METH_VARARGS | METH_KEYWORDS,
     "export_model(model, path, **config): a file for another tool; the lines of the report."},
    {"formats", formats, METH_NOARGS, "The other tools' formats: name -> (can import, can export, about)."},
    {"shape", view_shape, METH_VARARGS,
     "shape(array, name, dtype): the shape of the array, or an exception that explains the error."},
    {"array", array_of, METH_VARARGS, "array(data, shape, dtype): an Array with a copy of these bytes."},
    {"status_name", status_name, METH_VARARGS, "status_name(status): 'usage' for 2; None if there is no such status."},
    {"isas", isas, METH_NOARGS, "The instruction sets that this build and this machine have."},
    {"cells", cells, METH_NOARGS, "The cells by name."},
    {"optimizers", optimizers, METH_NOARGS, "The optimizers by name."},
    {NULL, NULL, 0, NULL}};

/* ---- locks and forks ----------------------------------------------------------------------- */

static unsigned forks;

static void count_fork(void) { forks++; }

void lock_init(struct lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->forks = forks;
}

pthread_mutex_t *lock_here(struct lock *lock)
{
    if (lock->forks != forks)
        lock_init(lock);
    return &lock->mutex;
}

/* ---- the module ---------------------------------------------------------------------------- */

static bool add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **kept)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type && kept)
        *kept = (PyTypeObject *)Py_NewRef(type);
    bool added = type && PyModule_AddObject(module, name, type) == 0; /* takes the reference */
    if (!added)
        Py_XDECREF(type);
    return added;
}

static bool add_all(PyObject *module)
{
    PyObject *errors = PyImport_ImportModule("unroll._errors");
    make_error = errors ? PyObject_GetAttrString(errors, "make") : NULL;
    Py_XDECREF(errors);
    if (make_error && unroll_version_check(UNROLL_VERSION_MAJOR, UNROLL_VERSION_MINOR) != UNROLL_OK)
        return raise_status(UNROLL_UNSUPPORTED) != NULL;
    return make_error && PyModule_AddStringConstant(module, "version", unroll_version()) == 0 &&
           add_type(module, &array_spec, "Array", &array_type) && add_type(module, &model_spec, "Model", &model_type) &&
           add_type(module, &session_spec, "Session", NULL) && add_type(module, &stream_spec, "Stream", NULL) &&
           add_type(module, &pool_spec, "StreamPool", NULL) &&
           add_type(module, &dataset_spec, "Dataset", &dataset_type) &&
           add_type(module, &trainer_spec, "Trainer", NULL);
}

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "unroll._core",
                                        .m_doc =
                                            "The interface of unroll.h for Python. Use it through the package unroll.",
                                        .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit__core(void)
{
    if (pthread_atfork(NULL, NULL, count_fork) != 0)
        return PyErr_NoMemory();
    PyObject *module = PyModule_Create(&definition);
    if (module && !add_all(module))
        Py_CLEAR(module);
    return module;
}
