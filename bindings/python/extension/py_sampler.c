/* sampler_order: assigns the sequences of a data set to rows of batches, as unroll_sampler_order does. */
#include "py_core.h"
#include <stdlib.h>

static const struct field fields[] = {
#define D(member, kind) FIELD(unroll_sampler_config, member, kind)
    D(how, FIELD_TEXT),      D(count, FIELD_LONG), D(rows, FIELD_INT), D(replicas, FIELD_INT),
    D(seed, FIELD_UNSIGNED), D(epoch, FIELD_LONG), {NULL, 0, 0, NULL},
#undef D
};

/* Reads [count] values, one for each sequence. The first array sets the count, unless it is known. */
static bool take_numbers(PyObject *given, const char *name, unroll_sampler_config *d, struct view *view,
                         const int32_t **to)
{
    struct wanted wanted = {name, NUMBER_I32, 1, {d->count ? (Py_ssize_t)d->count : ANY}, false};
    if (!given || given == Py_None)
        return true;
    if (!view_take(given, &wanted, view))
        return false;
    *to = view->data;
    d->count = view->count;
    return true;
}

/* Returns an array [batches, rows] of int32, which is wide enough: the library accepts at most as many sequences. */
static PyObject *batches_of(const unroll_sampler_config *d)
{
    Py_ssize_t shape[2] = {(Py_ssize_t)unroll_sampler_batches(d), d->rows};
    size_t count = d->count > 0 && d->rows > 0 ? (size_t)shape[0] * (size_t)shape[1] : 0;
    int64_t *order = calloc(count + 1, sizeof *order);
    unroll_status status;
    if (!order)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    status = unroll_sampler_order(d, order);
    Py_END_ALLOW_THREADS
    PyObject *array = status == UNROLL_OK ? array_new(NUMBER_I32, 2, shape) : raise_status(status);
    for (size_t i = 0; array && i < count; i++) ((int32_t *)array_data(array))[i] = (int32_t)order[i];
    free(order);
    return array;
}

PyObject *sampler_order(PyObject *module, PyObject *args, PyObject *keywords)
{
    unroll_sampler_config d = unroll_sampler_config_default();
    PyObject *lengths = keyword_take(keywords, "lengths"), *classes = keyword_take(keywords, "classes"), *order = NULL;
    struct view of_lengths = {0}, of_classes = {0};
    (void)module;
    if (PyArg_ParseTuple(args, ":sampler_order") && fields_take("a division", fields, keywords, &d) &&
        take_numbers(lengths, "lengths", &d, &of_lengths, &d.lengths) &&
        take_numbers(classes, "classes", &d, &of_classes, &d.classes))
        order = batches_of(&d);
    view_release(&of_lengths);
    view_release(&of_classes);
    Py_XDECREF(lengths);
    Py_XDECREF(classes);
    return order;
}
