/* Dataset: data from files, read by their readers. Python objects become data sets in py_table.c. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

PyTypeObject *dataset_type;

PyObject *dataset_wrap(PyTypeObject *type, unroll_dataset *dataset)
{
    dataset_object *self = (dataset_object *)object_new(type);
    if (self)
        self->dataset = dataset;
    else
        unroll_dataset_free(dataset);
    return (PyObject *)self;
}

bool dataset_config_take(PyObject *keywords, struct dataset_keywords *k, unroll_dataset_config *config)
{
    *config = unroll_dataset_config_default();
    k->model = keyword_take(keywords, "model");
    k->reader = keyword_take(keywords, "reader");
    if (k->model && k->model != Py_None && !PyObject_TypeCheck(k->model, model_type))
        return PyErr_Format(PyExc_TypeError, "model: expected a Model to read the data for"), false;
    config->model = k->model && k->model != Py_None ? ((model_object *)k->model)->model : NULL;
    if (k->reader && k->reader != Py_None && !(config->reader = PyUnicode_AsUTF8AndSize(k->reader, NULL)))
        return false;
    return options_text(keywords, &k->options, &config->options); /* the remaining keywords are the reader's */
}

void dataset_keywords_end(struct dataset_keywords *k)
{
    Py_XDECREF(k->model);
    Py_XDECREF(k->reader);
    Py_XDECREF(k->options);
}

/* Dataset(path, **fields) opens a file without the GIL. */
static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct dataset_keywords kept = {NULL, NULL, NULL};
    unroll_dataset_config config;
    unroll_dataset *dataset = NULL;
    PyObject *path = NULL, *made = NULL;
    unroll_status status;
    if (PyArg_ParseTuple(args, "O&:Dataset", PyUnicode_FSConverter, &path) &&
        dataset_config_take(keywords, &kept, &config)) {
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS
        status = unroll_dataset_open(name, &config, &dataset);
        Py_END_ALLOW_THREADS
        made = status == UNROLL_OK ? dataset_wrap(type, dataset) : raise_status(status);
    }
    dataset_keywords_end(&kept);
    Py_XDECREF(path);
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

static PyObject *split_lines(const char *lines)
{
    PyObject *text = PyUnicode_FromString(lines), *list = text ? PyUnicode_Splitlines(text, 0) : NULL;
    Py_XDECREF(text);
    return list;
}

PyObject *notes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return split_lines(unroll_last_notes());
}

static PyObject *dataset_notes(PyObject *self, void *unused)
{
    (void)unused;
    return split_lines(unroll_dataset_notes(((dataset_object *)self)->dataset));
}

static PyObject *dataset_summary(PyObject *self, void *unused)
{
    char *text;
    (void)unused;
    unroll_status status = unroll_dataset_summary(((dataset_object *)self)->dataset, &text);
    if (status != UNROLL_OK)
        return raise_status(status);
    PyObject *list = split_lines(text);
    free(text);
    return list;
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
    PyObject *described = json_parse(text, strlen(text));
    free(text);
    return described;
}

static PyMethodDef dataset_methods[] = {
    {"_of_table", (PyCFunction)(void (*)(void))dataset_of_table, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "_of_table(frame, columns, rows, rows_are_steps, *, model=None, ...): see unroll.Dataset, which calls it."},
    {"describe", dataset_describe, METH_NOARGS,
     "Describes the data set as a dict: columns, their types, what is missing, ranges, lengths, first rows."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef dataset_members[] = {
    {"tokens", dataset_tokens, NULL, "The ids of its tokens, a new Array of int32, or None.", NULL},
    {"vocabulary", dataset_vocabulary, NULL, "The symbols of the ids: a list of str.", NULL},
    {"summary", dataset_summary, NULL, "The decisions made while it was read: a list of lines.", NULL},
    {"notes", dataset_notes, NULL, "Notes about the data: a list of messages.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot dataset_slots[] = {
    {Py_tp_doc,
     "Dataset(path, *, reader=None, model=None, ...): data from a file, with the named reader or the one that\n"
     "recognizes it; other keywords are the reader's: for texts tokens='words', vocab=5000. With a model: read like\n"
     "that model reads, with its vocabulary."},
    {Py_tp_new, dataset_new},
    {Py_tp_dealloc, dataset_dealloc},
    {Py_tp_methods, dataset_methods},
    {Py_tp_getset, dataset_members},
    {0, NULL}};

PyType_Spec dataset_spec = {"unroll._core.Dataset", sizeof(dataset_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                            dataset_slots};
