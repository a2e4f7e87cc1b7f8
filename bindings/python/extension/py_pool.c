/* StreamPool: the states of many sequences, any of which step together. A step uses only the pool's lock. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

typedef struct pool_object {
    PyObject_HEAD
    void *memory;
    unroll_stream_pool *pool;
    struct lock lock;
} pool_object;

static const struct field config_fields[] = {FIELD(unroll_stream_pool_config, slots, FIELD_INT),
                                             MACHINE_FIELD(unroll_stream_pool_config, dtype, FIELD_TEXT),
                                             MACHINE_FIELD(unroll_stream_pool_config, isa, FIELD_TEXT),
                                             FIELD(unroll_stream_pool_config, raw, FIELD_INT),
                                             FIELD(unroll_stream_pool_config, series, FIELD_TEXT),
                                             {NULL, 0, 0, NULL}};

/* StreamPool(model, **fields) allocates the memory of the pool. */
static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_stream_pool_config config = unroll_stream_pool_config_default();
    PyObject *model;
    if (!PyArg_ParseTuple(args, "O!:StreamPool", model_type, &model) ||
        !fields_take("a pool", config_fields, keywords, &config))
        return NULL;
    model_object *m = (model_object *)model;
    pool_object *p = (pool_object *)object_new(type);
    unroll_status status;
    size_t bytes;
    if (!p)
        return NULL;
    lock_init(&p->lock);
    UNLOCKED(&m->lock, bytes = unroll_stream_pool_bytes(m->model, &config));
    if (bytes && posix_memalign(&p->memory, 64, bytes)) {
        p->memory = NULL;
        Py_DECREF(p);
        return PyErr_NoMemory();
    }
    UNLOCKED(&m->lock, status = unroll_stream_pool_init(p->memory, bytes, m->model, &config, &p->pool));
    if (status == UNROLL_OK)
        return (PyObject *)p;
    Py_DECREF(p);
    return raise_status(status);
}

static void pool_dealloc(PyObject *self)
{
    pool_object *p = (pool_object *)self;
    free(p->memory);
    pthread_mutex_destroy(&p->lock.mutex);
    object_free(self);
}

/* ---- a step -------------------------------------------------------------------------------- */

enum { SLOTS, TOKENS, INPUTS, ARRAYS };

/* Reads slots [n], then tokens [n, columns] and inputs [n, numbers]; arrays that the model does not read are None. */
static bool take_views(const pool_object *p, PyObject *const given[ARRAYS], struct view view[ARRAYS])
{
    static const char *const names[ARRAYS] = {"slots", "tokens", "inputs"};
    const int width[ARRAYS] = {1, unroll_stream_pool_tokens(p->pool), unroll_stream_pool_inputs(p->pool)};
    for (int i = 0; i < ARRAYS; i++) {
        struct wanted in = {.name = names[i],
                            .number = i == INPUTS ? NUMBER_F32 : NUMBER_I32,
                            .rank = i == SLOTS || (i == TOKENS && width[i] == 1) ? 1 : 2,
                            .shape = {i == SLOTS ? ANY : view[SLOTS].shape[0], width[i]}};
        if ((given[i] != NULL && given[i] != Py_None) != (width[i] > 0)) {
            PyErr_Format(PyExc_TypeError, width[i] ? "the model reads %s: give them" : "the model does not read %s",
                         names[i]);
            return false;
        }
        if (width[i] && !view_take(given[i], &in, &view[i]))
            return false;
    }
    return true;
}

/* StreamPool.step(slots, inputs, tokens=, out=) returns the outputs [slots, outputs]. */
static PyObject *pool_step(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "inputs", "tokens", "out", NULL};
    pool_object *p = (pool_object *)self;
    PyObject *given[ARRAYS] = {NULL}, *out = NULL, *array = NULL;
    struct wanted to = {.name = "out", .number = NUMBER_F32, .rank = 2};
    struct view view[ARRAYS], result;
    unroll_status status = UNROLL_OK;
    memset(view, 0, sizeof view);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$OO", names, &given[SLOTS], &given[INPUTS], &given[TOKENS],
                                     &out))
        return NULL;
    if (take_views(p, given, view)) {
        to.shape[0] = view[SLOTS].shape[0];
        to.shape[1] = unroll_stream_pool_outputs(p->pool);
        if (result_take(out, &to, &result, &array)) {
            UNLOCKED(&p->lock, status = unroll_stream_pool_step(p->pool, (int)view[SLOTS].shape[0], view[SLOTS].data,
                                                                view[TOKENS].data, view[INPUTS].data, result.data));
            view_release(&result);
        }
    }
    for (int i = 0; i < ARRAYS; i++) view_release(&view[i]);
    if (status == UNROLL_OK)
        return array; /* NULL: with an exception */
    Py_DECREF(array);
    return raise_status(status);
}

/* ---- slots --------------------------------------------------------------------------------- */

static PyObject *pool_reset(PyObject *self, PyObject *args)
{
    pool_object *p = (pool_object *)self;
    unroll_status status;
    int slot = -1;
    if (!PyArg_ParseTuple(args, "|i:reset", &slot))
        return NULL;
    UNLOCKED(&p->lock, status = unroll_stream_pool_reset(p->pool, slot));
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *pool_move(PyObject *self, PyObject *args)
{
    pool_object *p = (pool_object *)self;
    unroll_status status;
    int from, to;
    if (!PyArg_ParseTuple(args, "ii:move", &from, &to))
        return NULL;
    UNLOCKED(&p->lock, status = unroll_stream_pool_move(p->pool, from, to));
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *pool_save(PyObject *self, PyObject *args)
{
    pool_object *p = (pool_object *)self;
    const size_t bytes = unroll_stream_pool_state_bytes(p->pool);
    unroll_status status;
    int slot;
    if (!PyArg_ParseTuple(args, "i:save", &slot))
        return NULL;
    char *state = malloc(bytes);
    if (!state)
        return PyErr_NoMemory();
    UNLOCKED(&p->lock, status = unroll_stream_pool_save(p->pool, slot, state, bytes));
    PyObject *saved = status == UNROLL_OK ? PyBytes_FromStringAndSize(state, (Py_ssize_t)bytes) : raise_status(status);
    free(state);
    return saved;
}

static PyObject *pool_load(PyObject *self, PyObject *args)
{
    pool_object *p = (pool_object *)self;
    Py_buffer state;
    unroll_status status;
    int slot;
    if (!PyArg_ParseTuple(args, "iy*:load", &slot, &state))
        return NULL;
    UNLOCKED(&p->lock, status = unroll_stream_pool_load(p->pool, slot, state.buf, (size_t)state.len));
    PyBuffer_Release(&state);
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *pool_info(PyObject *self, void *unused)
{
    const unroll_stream_pool *p = ((pool_object *)self)->pool;
    (void)unused;
    return Py_BuildValue("{s:i,s:i,s:i,s:i,s:s}", "slots", unroll_stream_pool_slots(p), "inputs",
                         unroll_stream_pool_inputs(p), "tokens", unroll_stream_pool_tokens(p), "outputs",
                         unroll_stream_pool_outputs(p), "isa", unroll_stream_pool_isa(p));
}

static PyObject *pool_repr(PyObject *self) { return described("StreamPool", pool_info(self, NULL)); }

static PyMethodDef methods[] = {
    {"step", (PyCFunction)(void (*)(void))pool_step, METH_VARARGS | METH_KEYWORDS,
     "step(slots, inputs=None, *, tokens=None, out=None): one step of these slots, [n] of int32, each at most once, "
     "with inputs [n, input] of float32 and tokens [n] or [n, token columns] of int32; returns [n, output]."},
    {"reset", pool_reset, METH_VARARGS, "reset(slot=-1): sets the states of a slot, or of all, to zero."},
    {"move", pool_move, METH_VARARGS, "move(from, to): moves the states of a slot to another one."},
    {"save", pool_save, METH_VARARGS,
     "save(slot): returns the states of a slot as bytes, like those of a stream of one row."},
    {"load", pool_load, METH_VARARGS, "load(slot, state): loads states saved by a pool or by a stream of one row."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"info", pool_info, NULL, "Slots, widths of inputs and outputs, and isa: a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "StreamPool(model, *, slots=1, dtype='fp32', isa=None, raw=0, series=None): the states of many sequences, any of which step\n"
     "together. The outputs of a slot do not depend on which others step with it."},
    {Py_tp_new, pool_new},
    {Py_tp_dealloc, pool_dealloc},
    {Py_tp_repr, pool_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL}};

PyType_Spec pool_spec = {"unroll._core.StreamPool", sizeof(pool_object), 0, Py_TPFLAGS_DEFAULT, slots};
