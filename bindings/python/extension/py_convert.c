/* Import and export of other tools' models, with the library's report. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

bool lines_add(struct lines *l, const char *text)
{
    size_t length = strlen(text);
    if (l->length + length > l->capacity) {
        char *larger = realloc(l->text, 2 * (l->length + length));
        if (!larger)
            return false;
        l->text = larger;
        l->capacity = 2 * (l->length + length);
    }
    memcpy(l->text + l->length, text, length);
    l->length += length;
    return true;
}

static void report(void *arg, const char *line)
{
    lines_add(arg, line);
    lines_add(arg, "\n");
}

static PyObject *lines_text(const struct lines *l)
{
    return PyUnicode_DecodeUTF8(l->text ? l->text : "", (Py_ssize_t)l->length, "replace");
}

static const struct field import_fields[] = {
#define I(member) FIELD(unroll_import_config, member, FIELD_TEXT)
    I(format), I(prefix), I(order), I(nonlinearity), I(gru_reset), {NULL, 0, 0, NULL},
#undef I
};

static const struct field export_fields[] = {FIELD(unroll_export_config, format, FIELD_TEXT),
                                             FIELD(unroll_export_config, prefix, FIELD_TEXT),
                                             FIELD(unroll_export_config, dtype, FIELD_TEXT),
                                             FIELD(unroll_export_config, opset, FIELD_INT),
                                             FIELD(unroll_export_config, calibration, FIELD_TEXT),
                                             FIELD(unroll_export_config, json, FIELD_INT),
                                             FIELD(unroll_export_config, raw, FIELD_INT),
                                             FIELD(unroll_export_config, series, FIELD_TEXT),
                                             {NULL, 0, 0, NULL}};

/* import_model(type, path, **fields) returns the model and the lines of the report. */
PyObject *import_model(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_import_config config = unroll_import_config_default();
    struct lines lines = {NULL, 0, 0};
    unroll_model *model = NULL;
    unroll_status status;
    PyObject *type, *path;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O&:import_model", &PyType_Type, &type, PyUnicode_FSConverter, &path))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)type, model_type) ||
        !fields_take("an import", import_fields, keywords, &config)) {
        Py_DECREF(path);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "import_model: expected the type of a Model");
    }
    const char *name = PyBytes_AsString(path);
    config.report = report;
    config.arg = &lines;
    Py_BEGIN_ALLOW_THREADS
    status = unroll_model_import(name, &config, &model);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    PyObject *made = status == UNROLL_OK ? model_wrap((PyTypeObject *)type, model) : raise_status(status);
    PyObject *both = made ? Py_BuildValue("(NN)", made, lines_text(&lines)) : NULL;
    free(lines.text);
    return both;
}

/* export_model(model, path, **fields) returns the lines of the report. */
PyObject *export_model(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_export_config config = unroll_export_config_default();
    struct lines lines = {NULL, 0, 0};
    unroll_status status;
    PyObject *model, *path;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O&:export_model", model_type, &model, PyUnicode_FSConverter, &path))
        return NULL;
    if (!fields_take("an export", export_fields, keywords, &config)) {
        Py_DECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    model_object *m = (model_object *)model;
    config.report = report;
    config.arg = &lines;
    UNLOCKED(&m->lock, status = unroll_model_export(m->model, name, &config));
    Py_DECREF(path);
    PyObject *text = status == UNROLL_OK ? lines_text(&lines) : raise_status(status);
    free(lines.text);
    return text;
}

PyObject *formats(PyObject *module, PyObject *unused)
{
    PyObject *dict = PyDict_New();
    unroll_entry entry = {.size = sizeof entry};
    (void)module, (void)unused;
    for (int i = 0; dict && unroll_list(UNROLL_LIST_FORMATS, i, &entry); i++) {
        PyObject *value =
            Py_BuildValue("(NNs)", PyBool_FromLong(entry.can_import), PyBool_FromLong(entry.can_export), entry.about);
        if (!value || PyDict_SetItemString(dict, entry.name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}
