/* Array: values computed by the library, exposed through the buffer protocol and DLPack without a copy. It computes
 * nothing: use numpy.asarray(y) or torch.from_dlpack(y). */
#include "py_core.h"
#include "dlpack.h"
#include <stdlib.h>
#include <string.h>

PyTypeObject *array_type;

typedef struct array_object {
    PyObject_HEAD
    void *data;
    PyObject *base; /* owner of the memory; NULL: its own */
    enum number number;
    int rank;
    bool readonly;
    Py_ssize_t count;
    Py_ssize_t shape[AXES_MAX], strides[AXES_MAX]; /* strides in bytes, row-major */
} array_object;

/* ---- making ------------------------------------------------------------------------------- */

static array_object *array_head(enum number number, int rank, const Py_ssize_t *shape)
{
    array_object *a = PyObject_New(array_object, array_type);
    if (!a)
        return NULL;
    a->data = a->base = NULL;
    a->number = number;
    a->rank = rank;
    a->readonly = false;
    a->count = 1;
    for (int i = rank; i-- > 0;) {
        a->shape[i] = shape[i];
        a->strides[i] = a->count * (Py_ssize_t)number_size(number);
        a->count *= shape[i];
    }
    return a;
}

PyObject *array_new(enum number number, int rank, const Py_ssize_t *shape)
{
    array_object *a = array_head(number, rank, shape);
    size_t bytes = a ? (size_t)a->count * number_size(number) : 0;
    if (a && posix_memalign(&a->data, 64, bytes ? bytes : 1)) {
        a->data = NULL;
        Py_DECREF(a);
        return PyErr_NoMemory();
    }
    return (PyObject *)a;
}

PyObject *array_inside(PyObject *base, void *data, enum number number, int rank, const Py_ssize_t *shape, bool readonly)
{
    array_object *a = array_head(number, rank, shape);
    if (a) {
        a->data = data;
        a->base = Py_NewRef(base);
        a->readonly = readonly;
    }
    return (PyObject *)a;
}

void *array_data(PyObject *array) { return ((array_object *)array)->data; }

bool result_take(PyObject *out, const struct wanted *wanted, struct view *view, PyObject **array)
{
    struct wanted w = *wanted;
    w.writable = true;
    *array = out && out != Py_None ? Py_NewRef(out) : array_new(w.number, w.rank, w.shape);
    if (*array && !view_take(*array, &w, view))
        Py_CLEAR(*array);
    return *array != NULL;
}

static void array_dealloc(PyObject *self)
{
    array_object *a = (array_object *)self;
    if (!a->base)
        free(a->data);
    Py_XDECREF(a->base);
    object_free(self);
}

/* ---- the buffer protocol ------------------------------------------------------------------- */

/* Exports the array by the buffer protocol; refuses a writable view of a read-only array, and Fortran order. */
static int array_getbuffer(PyObject *self, Py_buffer *b, int flags)
{
    array_object *a = (array_object *)self;
    b->obj = NULL;
    if ((flags & PyBUF_WRITABLE) && a->readonly) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only");
        return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && a->rank > 1) {
        PyErr_SetString(PyExc_BufferError, "the array is stored row by row, not column by column");
        return -1;
    }
    *b = (Py_buffer){.buf = a->data,
                     .obj = Py_NewRef(self),
                     .len = a->count * (Py_ssize_t)number_size(a->number),
                     .itemsize = (Py_ssize_t)number_size(a->number),
                     .readonly = a->readonly,
                     .ndim = a->rank,
                     .format = flags & PyBUF_FORMAT ? (char *)number_format(a->number) : NULL,
                     .shape = flags & PyBUF_ND ? a->shape : NULL,
                     .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL};
    return 0;
}

/* ---- DLPack -------------------------------------------------------------------------------- */

/* Keeps what a capsule needs after the array is gone: it holds a reference to the array. */
struct export {
    union {
        struct dlpack_managed plain;
        struct dlpack_versioned versioned;
    } tensor;
    int64_t shape[AXES_MAX], strides[AXES_MAX];
};

static void export_free(struct export *e, PyObject *array)
{
    PyGILState_STATE state = PyGILState_Ensure(); /* the caller may not hold the GIL */
    Py_DECREF(array);
    free(e);
    PyGILState_Release(state);
}

static void delete_plain(struct dlpack_managed *m) { export_free((struct export *)m, m->owner); }
static void delete_versioned(struct dlpack_versioned *m) { export_free((struct export *)m, m->owner); }

/* Frees a capsule that was not consumed: consumers rename it. */
static void capsule_end(PyObject *capsule)
{
    struct export *e = NULL;
    if (PyCapsule_IsValid(capsule, "dltensor") && (e = PyCapsule_GetPointer(capsule, "dltensor")))
        delete_plain(&e->tensor.plain);
    else if (PyCapsule_IsValid(capsule, "dltensor_versioned") &&
             (e = PyCapsule_GetPointer(capsule, "dltensor_versioned")))
        delete_versioned(&e->tensor.versioned);
}

static struct dlpack_tensor describe_array(const array_object *a, struct export *e)
{
    static const struct dlpack_dtype dtypes[] = {
        [NUMBER_F32] = {DLPACK_FLOAT, 32, 1},
        [NUMBER_I32] = {DLPACK_INT, 32, 1},
        [NUMBER_U8] = {DLPACK_UINT, 8, 1},
    };
    for (int i = 0; i < a->rank; i++) {
        e->shape[i] = a->shape[i];
        e->strides[i] = a->strides[i] / (Py_ssize_t)number_size(a->number);
    }
    return (struct dlpack_tensor){.data = a->data,
                                  .device = {DLPACK_CPU, 0},
                                  .rank = a->rank,
                                  .dtype = dtypes[a->number],
                                  .shape = e->shape,
                                  .strides = e->strides};
}

/* Exports the array as a DLPack capsule that references `self`. */
static PyObject *export_array(PyObject *self, bool versioned, bool copied)
{
    array_object *a = (array_object *)self;
    struct export *e = calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    struct dlpack_tensor tensor = describe_array(a, e);
    if (versioned)
        e->tensor.versioned =
            (struct dlpack_versioned){.version = {1, 0},
                                      .owner = self,
                                      .deleter = delete_versioned,
                                      .tensor = tensor,
                                      .flags = (a->readonly ? DLPACK_READ_ONLY : 0) | (copied ? 2 : 0)};
    else
        e->tensor.plain = (struct dlpack_managed){.tensor = tensor, .owner = self, .deleter = delete_plain};
    PyObject *capsule = PyCapsule_New(e, versioned ? "dltensor_versioned" : "dltensor", capsule_end);
    if (!capsule) {
        free(e);
        return NULL;
    }
    Py_INCREF(self);
    return capsule;
}

static bool device_is_ours(PyObject *device)
{
    int type = DLPACK_CPU, index = 0;
    if (device == Py_None)
        return true;
    if (!pair_take(device, "dl_device", &type, &index))
        return false;
    if (type != DLPACK_CPU)
        PyErr_Format(PyExc_BufferError, "the array is on the CPU and is not copied to DLPack's device type %d", type);
    return type == DLPACK_CPU;
}

/* Implements __dlpack__ for the CPU; copies only if `copy` is true. */
static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    array_object *a = (array_object *)self;
    int major = 0, minor = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy) ||
        !device_is_ours(device) || (version != Py_None && !pair_take(version, "max_version", &major, &minor)))
        return NULL;
    if (stream != Py_None)
        return PyErr_Format(PyExc_BufferError, "an array on the CPU has no stream");
    if (copy == Py_True) {
        PyObject *other = array_new(a->number, a->rank, a->shape), *capsule = NULL;
        if (other) {
            memcpy(array_data(other), a->data, (size_t)a->count * number_size(a->number));
            capsule = export_array(other, major >= 1, true);
        }
        Py_XDECREF(other);
        return capsule;
    }
    if (a->readonly && major < 1)
        return PyErr_Format(PyExc_BufferError, "the array is read-only, which DLPack supports from version 1");
    return export_array(self, major >= 1, false);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}

/* ---- inspecting ------------------------------------------------------------------------------ */

static PyObject *array_shape(PyObject *self, void *unused)
{
    array_object *a = (array_object *)self;
    PyObject *shape = PyTuple_New(a->rank);
    (void)unused;
    for (int i = 0; shape && i < a->rank; i++) PyTuple_SetItem(shape, i, PyLong_FromSsize_t(a->shape[i]));
    return shape;
}

static PyObject *array_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(number_name(((array_object *)self)->number));
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    (void)unused;
    Py_XDECREF(view);
    return list;
}

static PyObject *array_repr(PyObject *self)
{
    PyObject *shape = array_shape(self, NULL);
    PyObject *text =
        shape ? PyUnicode_FromFormat("Array(shape=%R, dtype='%s')", shape, number_name(((array_object *)self)->number))
              : NULL;
    Py_XDECREF(shape);
    return text;
}

/* ---- pickles and copies --------------------------------------------------------------------- */

/* Reads the sizes, whose product must match the number of bytes. Returns false with an exception. */
static bool take_shape(PyObject *shape, enum number number, Py_ssize_t bytes, Py_ssize_t sizes[AXES_MAX])
{
    Py_ssize_t axes = PyTuple_Size(shape), count = bytes / (Py_ssize_t)number_size(number);
    bool fits = axes <= AXES_MAX;
    Py_ssize_t product = 1;
    for (Py_ssize_t i = 0; fits && i < axes; i++) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        fits = !PyErr_Occurred() && sizes[i] >= 0 && (!sizes[i] || product <= count / sizes[i]);
        product *= fits ? sizes[i] : 1;
    }
    if (!PyErr_Occurred() && (!fits || product * (Py_ssize_t)number_size(number) != bytes))
        PyErr_Format(PyExc_ValueError, "array: %zd bytes are not %R of %s", bytes, shape, number_name(number));
    return !PyErr_Occurred();
}

PyObject *array_of(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    PyObject *shape, *array = NULL;
    Py_ssize_t sizes[AXES_MAX];
    const char *name;
    enum number number;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*O!s:array", &bytes, &PyTuple_Type, &shape, &name))
        return NULL;
    if (!number_of(name, &number))
        PyErr_Format(PyExc_ValueError, "array: values are float32, int32 or uint8, not '%s'", name);
    else if (take_shape(shape, number, bytes.len, sizes) &&
             (array = array_new(number, (int)PyTuple_Size(shape), sizes)))
        memcpy(array_data(array), bytes.buf, (size_t)bytes.len);
    PyBuffer_Release(&bytes);
    return array;
}

static PyObject *array_reduce(PyObject *self, PyObject *unused)
{
    array_object *a = (array_object *)self;
    PyObject *core = PyImport_ImportModule("unroll._core"), *make = core ? PyObject_GetAttrString(core, "array") : NULL;
    (void)unused;
    Py_XDECREF(core);
    return make ? Py_BuildValue("N(y#Ns)", make, a->data, a->count * (Py_ssize_t)number_size(a->number),
                                array_shape(self, NULL), number_name(a->number))
                : NULL;
}

/* ---- as a sequence --------------------------------------------------------------------------- */

static Py_ssize_t array_length(PyObject *self)
{
    array_object *a = (array_object *)self;
    return a->rank ? a->shape[0] : 0;
}

static PyObject *array_item(PyObject *self, PyObject *key)
{
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *item = view ? PyObject_GetItem(view, key) : NULL;
    Py_XDECREF(view);
    return item;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "Returns the array as a DLPack capsule (versioned if max_version allows), without a copy unless copy=True."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "(1, 0): the CPU."},
    {"__reduce__", array_reduce, METH_NOARGS, "For pickle and copy: the copy has its own memory."},
    {"tolist", array_tolist, METH_NOARGS, "Returns the values as nested lists."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {{"shape", array_shape, NULL, "The sizes of the axes, a tuple.", NULL},
                                {"dtype", array_dtype, NULL, "'float32', 'int32' or 'uint8'.", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc,
                               "A row-major array that other objects can share: numpy.asarray(y), memoryview(y)\n"
                               "(buffer protocol) and torch.from_dlpack(y) (DLPack) do not copy it."},
                              {Py_tp_dealloc, array_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, members},
                              {Py_tp_repr, array_repr},
                              {Py_mp_length, array_length},
                              {Py_mp_subscript, array_item},
                              {Py_bf_getbuffer, array_getbuffer},
                              {0, NULL}};

PyType_Spec array_spec = {"unroll._core.Array", sizeof(array_object), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
