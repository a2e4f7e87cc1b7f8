/* Arrays as arguments: NumPy's, array.array, memoryview and other objects with the buffer protocol; tensors through
 * DLPack. They are used in place. Arrays created here are in py_array.c. */
#include "py_core.h"
#include "dlpack.h"
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------- */

static const struct {
    const char *name, *format;
    size_t size;
    struct dlpack_dtype dtype;
} numbers[] = {
    [NUMBER_F32] = {"float32", "f", 4, {DLPACK_FLOAT, 32, 1}},
    [NUMBER_I32] = {"int32", "i", 4, {DLPACK_INT, 32, 1}},
    [NUMBER_U8] = {"uint8", "B", 1, {DLPACK_UINT, 8, 1}},
};

bool number_of(const char *name, enum number *number)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i].name)) {
            *number = (enum number)i;
            return true;
        }
    return false;
}

size_t number_size(enum number n) { return numbers[n].size; }
const char *number_name(enum number n) { return numbers[n].name; }
const char *number_format(enum number n) { return numbers[n].format; }

/* The native formats of struct "f", "@f", "=f" and "<f" are equivalent here. */
static bool format_is(const char *format, Py_ssize_t size, enum number number)
{
    if (!format)
        format = "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!*format || format[1] || size != (Py_ssize_t)number_size(number))
        return false;
    static const char *const letters[] = {[NUMBER_F32] = "f", [NUMBER_I32] = "il", [NUMBER_U8] = "B?"};
    return strchr(letters[number], *format) != NULL;
}

/* ---- refusing ---------------------------------------------------------------------------- */

static bool refuse_number(const struct wanted *w, const char *got)
{
    const char *name = number_name(w->number);
    PyErr_Format(PyExc_TypeError, "%s: expected values of %s, not %s; fix: %s.astype('%s') of NumPy, .to(torch.%s)",
                 w->name, name, got, w->name, name, name);
    return false;
}

static bool refuse_layout(const struct wanted *w)
{
    PyErr_Format(PyExc_ValueError,
                 "%s: the array is not contiguous (row by row); fix: numpy.ascontiguousarray(..), "
                 "or .contiguous() of a tensor",
                 w->name);
    return false;
}

static bool refuse_readonly(const struct wanted *w)
{
    PyErr_Format(PyExc_ValueError, "%s: results cannot be written to a read-only array", w->name);
    return false;
}

static PyObject *shape_text(int rank, const Py_ssize_t *shape)
{
    PyObject *text = PyUnicode_FromString("[");
    for (int i = 0; i < rank && text; i++) {
        PyObject *longer = shape[i] == ANY ? PyUnicode_FromFormat("%U%s..", text, i ? ", " : "")
                                           : PyUnicode_FromFormat("%U%s%zd", text, i ? ", " : "", shape[i]);
        Py_DECREF(text);
        text = longer;
    }
    PyObject *whole = text ? PyUnicode_FromFormat("%U]", text) : NULL;
    Py_XDECREF(text);
    return whole;
}

bool view_fits(const struct wanted *w, const struct view *v)
{
    bool fits = w->rank == ANY || w->rank == v->rank;
    for (int i = 0; fits && w->rank != ANY && i < v->rank; i++) fits = w->shape[i] == ANY || w->shape[i] == v->shape[i];
    if (fits)
        return true;
    PyObject *wanted = shape_text(w->rank, w->shape), *got = shape_text(v->rank, v->shape);
    if (wanted && got)
        PyErr_Format(PyExc_ValueError, "%s: expected the shape %U, not %U", w->name, wanted, got);
    Py_XDECREF(wanted);
    Py_XDECREF(got);
    return false;
}

static bool refuse_rank(const struct wanted *w, int rank)
{
    PyErr_Format(PyExc_ValueError, "%s: the array has %d axes, more than %d", w->name, rank, AXES_MAX);
    return false;
}

/* ---- the buffer protocol ------------------------------------------------------------------ */

/* Takes an array by the buffer protocol; it must have the wanted type and C order. The view holds the buffer. */
static bool take_buffer(PyObject *from, const struct wanted *w, struct view *v)
{
    if (PyObject_GetBuffer(from, &v->buffer, PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return false;
    v->has_buffer = true;
    const Py_buffer *b = &v->buffer;
    if (!format_is(b->format, b->itemsize, w->number))
        return refuse_number(w, b->format ? b->format : "bytes");
    if (w->writable && b->readonly)
        return refuse_readonly(w);
    if (b->ndim > AXES_MAX)
        return refuse_rank(w, b->ndim);
    if (!PyBuffer_IsContiguous(b, 'C'))
        return refuse_layout(w);
    v->data = b->buf;
    v->rank = b->ndim;
    for (int i = 0; i < b->ndim; i++) v->shape[i] = b->shape[i];
    return true;
}

/* ---- DLPack ------------------------------------------------------------------------------- */

/* Requests a versioned capsule if the producer supports it. */
static PyObject *ask_for_capsule(PyObject *from)
{
    PyObject *method = PyObject_GetAttrString(from, "__dlpack__");
    PyObject *none_given = PyTuple_New(0), *keywords = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
    PyObject *capsule = method && none_given && keywords ? PyObject_Call(method, none_given, keywords) : NULL;
    if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(method);
    Py_XDECREF(none_given);
    Py_XDECREF(keywords);
    return capsule;
}

bool pair_take(PyObject *pair, const char *name, int *first, int *second)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
        return PyErr_Format(PyExc_TypeError, "%s: expected a pair of whole numbers", name), false;
    return int_take(name, PyTuple_GetItem(pair, 0), first) && int_take(name, PyTuple_GetItem(pair, 1), second);
}

static bool on_cpu(PyObject *from, const struct wanted *w)
{
    PyObject *device = PyObject_CallMethod(from, "__dlpack_device__", NULL);
    int type = 0, index = 0;
    bool parsed = device && pair_take(device, "__dlpack_device__", &type, &index);
    Py_XDECREF(device);
    if (parsed && type != DLPACK_CPU)
        PyErr_Format(PyExc_ValueError, "%s: the array is on another device (DLPack's type %d); fix: .cpu()", w->name,
                     type);
    return parsed && type == DLPACK_CPU;
}

static const struct dlpack_tensor *open_capsule(PyObject *capsule, bool *readonly)
{
    *readonly = false;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const struct dlpack_versioned *v = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        *readonly = (v->flags & DLPACK_READ_ONLY) != 0;
        if (v->version.major == 1)
            return &v->tensor;
        PyErr_Format(PyExc_TypeError, "DLPack version %u is not supported; version 1 is", v->version.major);
        return NULL;
    }
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return &((const struct dlpack_managed *)PyCapsule_GetPointer(capsule, "dltensor"))->tensor;
    PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no DLPack capsule");
    return NULL;
}

static bool tensor_is_contiguous(const struct dlpack_tensor *t)
{
    int64_t step = 1;
    for (int i = t->rank; t->strides && i-- > 0;) {
        if (t->shape[i] == 0)
            return true;
        if (t->shape[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->shape[i];
    }
    return true;
}

/* Takes a DLPack tensor; it must have the wanted type and C order. */
static bool take_tensor(const struct dlpack_tensor *t, bool readonly, const struct wanted *w, struct view *v)
{
    struct dlpack_dtype d = numbers[w->number].dtype;
    bool truth = w->number == NUMBER_U8 && t->dtype.code == DLPACK_BOOL;
    if ((t->dtype.code != d.code && !truth) || t->dtype.bits != d.bits || t->dtype.lanes != 1) {
        static const char *const families[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
        char got[32];
        PyOS_snprintf(got, sizeof got, "%s%d", t->dtype.code < 7 ? families[t->dtype.code] : "type", t->dtype.bits);
        return refuse_number(w, got);
    }
    if (w->writable && readonly)
        return refuse_readonly(w);
    if (t->rank > AXES_MAX)
        return refuse_rank(w, t->rank);
    if (!tensor_is_contiguous(t))
        return refuse_layout(w);
    v->data = (char *)t->data + t->byte_offset;
    v->rank = t->rank;
    for (int i = 0; i < t->rank; i++) v->shape[i] = (Py_ssize_t)t->shape[i];
    return true;
}

/* Returns the functions of the object's type, or NULL; remembers those of the last type. */
static const struct dlpack_exchange *exchange_of(PyObject *from)
{
    static PyTypeObject *type;
    static const struct dlpack_exchange *found;
    if (Py_TYPE(from) == type)
        return found;
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(from), "__dlpack_c_exchange_api__");
    PyErr_Clear();
    const bool valid = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api");
    found = valid ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    if (found && found->version.major != 1)
        found = NULL;
    Py_XDECREF(capsule);
    Py_XDECREF((PyObject *)type);
    type = Py_TYPE(from);
    Py_INCREF((PyObject *)type); /* so that no other type gets its address */
    return found;
}

/* True for a tensor on the CPU that is described without the calls of Python, which take microseconds. Tensors with
 * gradients are left to __dlpack__, which refuses them. */
static bool describe(PyObject *from, struct dlpack_tensor *t)
{
    const struct dlpack_exchange *exchange = exchange_of(from);
    PyObject *gradient = exchange ? PyObject_GetAttrString(from, "requires_grad") : NULL;
    const bool fast =
        gradient && PyObject_IsTrue(gradient) == 0 && exchange->describe(from, t) == 0 && t->device.type == DLPACK_CPU;
    Py_XDECREF(gradient);
    PyErr_Clear();
    return fast;
}

static bool take_dlpack(PyObject *from, const struct wanted *w, struct view *v)
{
    bool readonly;
    struct dlpack_tensor fast;
    if (describe(from, &fast)) {
        Py_INCREF(from);
        v->capsule = from; /* owns the memory */
        return take_tensor(&fast, false, w, v);
    }
    if (!on_cpu(from, w) || !(v->capsule = ask_for_capsule(from)))
        return false;
    const struct dlpack_tensor *tensor = open_capsule(v->capsule, &readonly);
    return tensor && take_tensor(tensor, readonly, w, v);
}

/* ---- both --------------------------------------------------------------------------------- */

static bool refuse_object(PyObject *from, const struct wanted *w)
{
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(from), "__name__");
    if (type)
        PyErr_Format(PyExc_TypeError, "%s: expected an array of %s (buffer protocol or DLPack), not '%U'", w->name,
                     number_name(w->number), type);
    Py_XDECREF(type);
    return false;
}

static bool has_dlpack(PyObject *from)
{
    return PyObject_HasAttrString(from, "__dlpack__") && PyObject_HasAttrString(from, "__dlpack_device__");
}

bool view_take(PyObject *from, const struct wanted *w, struct view *v)
{
    *v = (struct view){.count = 1};
    bool taken = PyObject_CheckBuffer(from) ? take_buffer(from, w, v)
                 : has_dlpack(from)         ? take_dlpack(from, w, v)
                                            : refuse_object(from, w);
    if (!taken || !view_fits(w, v)) {
        view_release(v);
        return false;
    }
    for (int i = 0; i < v->rank; i++) v->count *= v->shape[i];
    return true;
}

void view_release(struct view *v)
{
    if (v->has_buffer)
        PyBuffer_Release(&v->buffer);
    v->has_buffer = false;
    Py_CLEAR(v->capsule);
}

static PyObject *shape_tuple(const struct view *v)
{
    PyObject *tuple = PyTuple_New(v->rank);
    for (int i = 0; tuple && i < v->rank; i++) PyTuple_SetItem(tuple, i, PyLong_FromSsize_t(v->shape[i]));
    return tuple;
}

PyObject *view_shape(PyObject *module, PyObject *args)
{
    PyObject *array;
    const char *name, *number;
    if (!PyArg_ParseTuple(args, "Oss:shape", &array, &name, &number))
        return NULL;
    struct wanted w = {.name = name, .rank = ANY, .number = strcmp(number, "int32") ? NUMBER_F32 : NUMBER_I32};
    struct view v;
    (void)module;
    if (!view_take(array, &w, &v))
        return NULL;
    PyObject *shape = shape_tuple(&v);
    view_release(&v);
    return shape;
}
