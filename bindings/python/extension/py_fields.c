/* Converts keyword arguments to the configuration structs of unroll.h and back, by tables of their members. Only types
 * are checked here; the library checks values. */
#include "py_core.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static const struct field *find(const struct field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name))
            return fields;
    return NULL;
}

/* Appends a name to a list, whose reference it consumes. Starts with NULL; returns NULL with an exception. */
static PyObject *listed(PyObject *names, const char *name)
{
    PyObject *longer = names ? PyUnicode_FromFormat("%U, %s", names, name) : PyUnicode_FromString(name);
    Py_XDECREF(names);
    return longer;
}

static bool refuse_name(const char *what, const struct field *fields, const char *name)
{
    PyObject *known = NULL;
    for (const struct field *f = fields; f->name && (known || f == fields); f++) known = listed(known, f->name);
    if (known)
        PyErr_Format(PyExc_TypeError, "%s has no '%s'; it has %U", what, name, known);
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s has no '%s'", what, name);
    Py_XDECREF(known);
    return false;
}

static bool refuse_choice(const struct field *f, const char *text)
{
    PyObject *known = NULL;
    for (int i = 0; f->choice[i] && (known || !i); i++) known = listed(known, f->choice[i]);
    if (known)
        PyErr_Format(PyExc_ValueError, "%s = '%s': choose one of %U", f->name, text ? text : "None", known);
    Py_XDECREF(known);
    return false;
}

static bool refuse_size(const struct field *f, PyObject *number)
{
    static const char *const ranges[] = {[FIELD_INT] = "-2147483648..2147483647",
                                         [FIELD_LONG] = "-2^63..2^63 - 1",
                                         [FIELD_UNSIGNED] = "0..2^64 - 1",
                                         [FIELD_FLOAT] = "-3.4e38..3.4e38"};
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%s = %S is outside %s", f->name, number, ranges[f->kind]);
    return false;
}

static bool refuse_type(const char *name, const char *wanted, PyObject *value)
{
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
    if (type)
        PyErr_Format(PyExc_TypeError, "%s: expected %s, not %U", name, wanted, type);
    Py_XDECREF(type);
    return false;
}

/* Accepts integers of any type (bool, NumPy's). */
static bool take_integer(const struct field *f, PyObject *value, char *to)
{
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    if (!index)
        return PyErr_Occurred() ? false : refuse_type(f->name, "a whole number", value);
    long long n = 0;
    unsigned long long u = 0;
    if (f->kind == FIELD_UNSIGNED)
        u = PyLong_AsUnsignedLongLong(index);
    else
        n = PyLong_AsLongLong(index);
    bool fits = !PyErr_Occurred() && (f->kind != FIELD_INT || (n >= INT_MIN && n <= INT_MAX));
    if (!fits)
        refuse_size(f, index);
    Py_DECREF(index);
    if (!fits)
        return false;
    if (f->kind == FIELD_INT)
        *(int *)to = (int)n;
    else if (f->kind == FIELD_LONG)
        *(int64_t *)to = n;
    else
        *(uint64_t *)to = u;
    return true;
}

bool int_take(const char *name, PyObject *value, int *to)
{
    const struct field field = {name, FIELD_INT, 0, NULL};
    return take_integer(&field, value, (char *)to);
}

static bool take_real(const struct field *f, PyObject *value, char *to)
{
    double x = PyUnicode_Check(value) ? -1 : PyFloat_AsDouble(value);
    if (PyUnicode_Check(value) || PyErr_Occurred()) {
        PyErr_Clear();
        return refuse_type(f->name, "a number", value);
    }
    if (f->kind == FIELD_FLOAT && isfinite(x) && fabs(x) > FLT_MAX)
        return refuse_size(f, value);
    if (f->kind == FIELD_FLOAT)
        *(float *)to = (float)x;
    else
        *(double *)to = x;
    return true;
}

static bool take_text(const struct field *f, PyObject *value, char *to)
{
    Py_ssize_t length;
    if (value == Py_None) {
        *(const char **)to = NULL;
        return true;
    }
    if (!PyUnicode_Check(value))
        return refuse_type(f->name, "a str", value);
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    if (text && strlen(text) != (size_t)length)
        return PyErr_Format(PyExc_ValueError, "%s: contains a null character", f->name), false;
    *(const char **)to = text;
    return text != NULL;
}

static bool take_choice(const struct field *f, PyObject *value, char *to)
{
    const char *text = NULL;
    if (!take_text(f, value, (char *)&text))
        return false;
    for (int i = 0; text && f->choice[i]; i++)
        if (!strcmp(text, f->choice[i])) {
            *(int *)to = i;
            return true;
        }
    return refuse_choice(f, text);
}

static bool take(const struct field *f, PyObject *value, char *config)
{
    char *to = config + f->offset;
    switch (f->kind) {
    case FIELD_INT:
    case FIELD_LONG:
    case FIELD_UNSIGNED: return take_integer(f, value, to);
    case FIELD_FLOAT:
    case FIELD_DOUBLE: return take_real(f, value, to);
    case FIELD_TEXT: return take_text(f, value, to);
    case FIELD_CHOICE: return take_choice(f, value, to);
    }
    return false;
}

bool fields_take(const char *what, const struct field *fields, PyObject *keywords, void *config)
{
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (keywords && PyDict_Next(keywords, &position, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name)
            return false;
        const struct field *f = find(fields, name);
        if (!f)
            return refuse_name(what, fields, name);
        if (!take(f, value, config))
            return false;
    }
    return true;
}

static PyObject *give(const struct field *f, const char *from)
{
    switch (f->kind) {
    case FIELD_INT: return PyLong_FromLong(*(const int *)from);
    case FIELD_LONG: return PyLong_FromLongLong(*(const int64_t *)from);
    case FIELD_UNSIGNED: return PyLong_FromUnsignedLongLong(*(const uint64_t *)from);
    case FIELD_FLOAT: return PyFloat_FromDouble((double)*(const float *)from);
    case FIELD_DOUBLE: return PyFloat_FromDouble(*(const double *)from);
    case FIELD_TEXT: {
        const char *text = *(const char *const *)from;
        return text ? PyUnicode_FromString(text) : none();
    }
    case FIELD_CHOICE: return PyUnicode_FromString(f->choice[*(const int *)from]);
    }
    return NULL;
}

PyObject *fields_give(const struct field *fields, const void *config)
{
    PyObject *dict = PyDict_New();
    for (const struct field *f = fields; dict && f->name; f++) {
        PyObject *value = give(f, (const char *)config + f->offset);
        if (!value || PyDict_SetItemString(dict, f->name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

PyObject *described(const char *type, PyObject *facts)
{
    PyObject *text = PyUnicode_FromFormat("<%s", type), *key, *value;
    const char *between = " ";
    Py_ssize_t position = 0;
    while (facts && text && PyDict_Next(facts, &position, &key, &value)) {
        PyObject *longer = PyUnicode_FromFormat("%U%s%U=%R", text, between, key, value);
        Py_DECREF(text);
        text = longer;
        between = ", ";
    }
    PyObject *whole = facts && text ? PyUnicode_FromFormat("%U>", text) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(facts);
    return whole;
}

void rates_fields(const char *optimizer, size_t offset, struct field fields[RATES_FIELDS])
{
    unroll_option h = {.size = sizeof h};
    *fields++ =
        (struct field){"learning_rate", FIELD_DOUBLE, offset + offsetof(unroll_hyperparameters, learning_rate), NULL};
    *fields++ = (struct field){"clip", FIELD_DOUBLE, offset + offsetof(unroll_hyperparameters, clip), NULL};
    for (int i = 0; unroll_list_option(UNROLL_LIST_OPTIMIZERS, optimizer, i, &h); i++)
        *fields++ =
            (struct field){h.name, FIELD_DOUBLE, offset + offsetof(unroll_hyperparameters, hyperparameter[i]), NULL};
    *fields = (struct field){NULL, 0, 0, NULL};
}

const char *optimizer_name(const char *name)
{
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; name && unroll_list(UNROLL_LIST_OPTIMIZERS, i, &entry); i++)
        if (!strcmp(name, entry.name))
            return entry.name;
    return NULL;
}

bool refuse_optimizer(const char *name)
{
    PyObject *known = NULL;
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; (known || !i) && unroll_list(UNROLL_LIST_OPTIMIZERS, i, &entry); i++)
        known = listed(known, entry.name);
    if (known)
        PyErr_Format(PyExc_ValueError, "there is no optimizer '%s'; choose one of %U", name, known);
    Py_XDECREF(known);
    return false;
}

PyObject *keyword_take(PyObject *keywords, const char *name)
{
    PyObject *value = keywords ? PyDict_GetItemString(keywords, name) : NULL;
    Py_XINCREF(value);
    if (value)
        PyDict_DelItemString(keywords, name);
    return value;
}

bool options_text(PyObject *options, PyObject **kept, const char **text)
{
    PyObject *module = PyImport_ImportModule("unroll._data");
    *kept = module ? PyObject_CallMethod(module, "options_text", "(O)", options ? options : Py_None) : NULL;
    Py_XDECREF(module);
    *text = *kept ? PyUnicode_AsUTF8AndSize(*kept, NULL) : NULL;
    return *text != NULL;
}

bool options_take(PyObject *keywords, const char *name, PyObject **kept, const char **text)
{
    PyObject *given = keyword_take(keywords, name);
    *kept = NULL;
    *text = NULL;
    bool taken = !given || options_text(given, kept, text);
    Py_XDECREF(given);
    return taken;
}

PyObject *json_parse(const char *text, size_t length)
{
    PyObject *json = PyImport_ImportModule("json");
    PyObject *said = json ? PyObject_CallMethod(json, "loads", "s#", text, (Py_ssize_t)length) : NULL;
    Py_XDECREF(json);
    return said;
}
