/* Stream: a model step by step, in memory of its own. A step uses only the stream's lock. */
#include "py_core.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream_object {
    PyObject_HEAD
    void *memory;
    size_t bytes;
    unroll_stream *stream;
    int rows;
    int tokens, inputs; /* of a row: token columns, numeric inputs */
    bool columns;       /* tokens have an axis of their own */
    struct lock lock;
} stream_object;

static const struct field config_fields[] = {
    FIELD(unroll_stream_config, rows, FIELD_INT),         MACHINE_FIELD(unroll_stream_config, dtype, FIELD_TEXT),
    MACHINE_FIELD(unroll_stream_config, isa, FIELD_TEXT), FIELD(unroll_stream_config, raw, FIELD_INT),
    FIELD(unroll_stream_config, series, FIELD_TEXT),      {NULL, 0, 0, NULL}};

/* ---- making -------------------------------------------------------------------------------- */

static stream_object *stream_empty(PyTypeObject *type, size_t bytes, int rows)
{
    stream_object *s = (stream_object *)object_new(type);
    if (!s)
        return NULL;
    lock_init(&s->lock);
    s->bytes = bytes;
    s->rows = rows;
    if (posix_memalign(&s->memory, 64, bytes)) {
        s->memory = NULL;
        Py_DECREF(s);
        PyErr_NoMemory();
        return NULL;
    }
    return s;
}

static int numbers_of(const unroll_network *network)
{
    int numbers = network->tokens ? 0 : network->input;
    for (int i = 0; i < network->n_inputs; i++) numbers += network->inputs[i].tokens ? 0 : network->inputs[i].width;
    return numbers;
}

/* Stream(model, **fields) allocates the memory of the stream. */
static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_stream_config config = unroll_stream_config_default();
    PyObject *model;
    unroll_network network = {.size = sizeof network};
    if (!PyArg_ParseTuple(args, "O!:Stream", model_type, &model) ||
        !fields_take("a stream", config_fields, keywords, &config))
        return NULL;
    model_object *m = (model_object *)model;
    unroll_status status;
    size_t bytes;
    UNLOCKED(&m->lock, bytes = unroll_stream_bytes(m->model, &config));
    if (!bytes) /* init reports the reason */
        UNLOCKED(&m->lock, status = unroll_stream_init(NULL, 0, m->model, &config, NULL));
    if (!bytes)
        return raise_status(status);
    unroll_model_network(m->model, &network);
    stream_object *s = stream_empty(type, bytes, config.rows);
    if (!s)
        return NULL;
    UNLOCKED(&m->lock, status = unroll_stream_init(s->memory, bytes, m->model, &config, &s->stream));
    if (status == UNROLL_OK) {
        s->columns = network.n_inputs > 0;
        s->tokens = unroll_stream_tokens(s->stream);
        s->inputs = numbers_of(&network) ? unroll_stream_inputs(s->stream) : 0; /* with units it may read fewer */
        return (PyObject *)s;
    }
    Py_DECREF(s);
    return raise_status(status);
}

/* A stream has no pointers to itself: a copy of its bytes is another stream. */
static PyObject *stream_copy(PyObject *self, PyObject *unused)
{
    stream_object *s = (stream_object *)self, *other = stream_empty(Py_TYPE(self), s->bytes, s->rows);
    (void)unused;
    if (!other)
        return NULL;
    other->columns = s->columns;
    other->tokens = s->tokens;
    other->inputs = s->inputs;
    UNLOCKED(&s->lock, memcpy(other->memory, s->memory, s->bytes));
    other->stream = (unroll_stream *)((char *)other->memory + ((char *)s->stream - (char *)s->memory));
    return (PyObject *)other;
}

static void stream_dealloc(PyObject *self)
{
    stream_object *s = (stream_object *)self;
    free(s->memory);
    pthread_mutex_destroy(&s->lock.mutex);
    object_free(self);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Inputs of a step: tokens, numbers or both. */
enum { TOKENS, INPUTS, ARRAYS };

static bool is_read(const stream_object *s, int which) { return (which == TOKENS ? s->tokens : s->inputs) > 0; }

/* many: with a leading time axis. */
static struct wanted wanted_of(const stream_object *s, int which, bool many)
{
    struct wanted in = {.name = which == TOKENS ? "tokens" : "inputs",
                        .number = which == TOKENS ? NUMBER_I32 : NUMBER_F32};
    if (many)
        in.shape[in.rank++] = ANY;
    in.shape[in.rank++] = s->rows;
    if (which == INPUTS || s->columns)
        in.shape[in.rank++] = which == TOKENS ? s->tokens : s->inputs;
    return in;
}

static void release_views(struct view view[ARRAYS])
{
    for (int i = 0; i < ARRAYS; i++) view_release(&view[i]);
}

/* Reads the arrays, which must have the same number of steps; *steps is 1 for a single step. */
static bool take_views(const stream_object *s, PyObject *const given[ARRAYS], bool many, struct view view[ARRAYS],
                       Py_ssize_t *steps)
{
    *steps = -1;
    for (int i = 0; i < ARRAYS; i++) {
        const struct wanted in = wanted_of(s, i, many);
        if (!given[i])
            continue;
        if (!view_take(given[i], &in, &view[i]))
            return false;
        const Py_ssize_t here = many ? view[i].shape[0] : 1;
        if (here > INT_MAX)
            PyErr_Format(PyExc_OverflowError, "%s: %zd steps at once are outside 1..%d", in.name, here, INT_MAX);
        else if (*steps >= 0 && here != *steps)
            PyErr_Format(PyExc_ValueError, "tokens have %zd steps and inputs %zd", *steps, here);
        if (PyErr_Occurred())
            return false;
        *steps = here;
    }
    return true;
}

static unroll_status advance(const stream_object *s, int steps, const struct view view[ARRAYS], float *out)
{
    return unroll_stream_run(s->stream, steps, view[TOKENS].data, s->inputs ? view[INPUTS].data : NULL, out);
}

/* Advances the stream by one step, or by `many`, and returns the outputs in `out` or a new array. */
static PyObject *run(stream_object *s, PyObject *const given[ARRAYS], PyObject *out, bool many)
{
    struct wanted to = {.name = "out", .number = NUMBER_F32};
    struct view view[ARRAYS], result;
    PyObject *array;
    Py_ssize_t steps;
    unroll_status status;
    memset(view, 0, sizeof view);
    bool taken = take_views(s, given, many, view, &steps);
    if (many)
        to.shape[to.rank++] = steps;
    to.shape[to.rank++] = s->rows;
    to.shape[to.rank++] = unroll_stream_outputs(s->stream);
    if (!taken || !result_take(out, &to, &result, &array)) {
        release_views(view);
        return NULL;
    }
    UNLOCKED(&s->lock, status = advance(s, (int)steps, view, result.data));
    release_views(view);
    view_release(&result);
    if (status == UNROLL_OK)
        return array;
    Py_DECREF(array);
    return raise_status(status);
}

/* Reads the model's inputs by name or, if there is only one, by position; borrowed references. */
static bool take_input(const stream_object *s, PyObject *args, PyObject *keywords, PyObject *given[ARRAYS],
                       PyObject **out)
{
    static char *names[] = {"", "out", "inputs", "tokens", NULL};
    PyObject *x = Py_None;
    const int first = s->tokens ? TOKENS : INPUTS;
    *out = NULL;
    given[TOKENS] = given[INPUTS] = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO$OO", names, &x, out, &given[INPUTS], &given[TOKENS]))
        return false;
    const bool both = is_read(s, TOKENS) && is_read(s, INPUTS);
    bool fits = x == Py_None || (!both && given[first] == Py_None);
    if (x != Py_None && fits)
        given[first] = x;
    for (int i = 0; i < ARRAYS; i++) {
        fits &= (given[i] != Py_None) == is_read(s, i);
        given[i] = given[i] == Py_None ? NULL : given[i];
    }
    if (!fits && both)
        PyErr_SetString(PyExc_TypeError, "the model reads tokens and inputs: give both, as tokens= and inputs=");
    else if (!fits)
        PyErr_Format(PyExc_TypeError, "the model reads %s: expected one array of them, by position or as %s=",
                     first == TOKENS ? "tokens" : "inputs", first == TOKENS ? "tokens" : "inputs");
    return fits;
}

static PyObject *stream_step(PyObject *self, PyObject *args, PyObject *keywords)
{
    stream_object *s = (stream_object *)self;
    PyObject *out, *given[ARRAYS];
    return take_input(s, args, keywords, given, &out) ? run(s, given, out, false) : NULL;
}

static PyObject *stream_run(PyObject *self, PyObject *args, PyObject *keywords)
{
    stream_object *s = (stream_object *)self;
    PyObject *out, *given[ARRAYS];
    return take_input(s, args, keywords, given, &out) ? run(s, given, out, true) : NULL;
}

/* ---- states --------------------------------------------------------------------------------- */

static PyObject *stream_reset(PyObject *self, PyObject *args)
{
    stream_object *s = (stream_object *)self;
    unroll_status status;
    PyObject *given = NULL;
    int row = -1;
    if (!PyArg_ParseTuple(args, "|O:reset", &given) || (given && !int_take("row", given, &row)))
        return NULL;
    UNLOCKED(&s->lock, status = unroll_stream_reset(s->stream, row));
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *stream_save(PyObject *self, PyObject *unused)
{
    stream_object *s = (stream_object *)self;
    size_t bytes = unroll_stream_state_bytes(s->stream);
    unroll_status status;
    (void)unused;
    char *state = malloc(bytes ? bytes : 1);
    if (!state)
        return PyErr_NoMemory();
    UNLOCKED(&s->lock, status = unroll_stream_save(s->stream, state, bytes));
    PyObject *saved = status == UNROLL_OK ? PyBytes_FromStringAndSize(state, (Py_ssize_t)bytes) : raise_status(status);
    free(state);
    return saved;
}

static PyObject *stream_load(PyObject *self, PyObject *args)
{
    stream_object *s = (stream_object *)self;
    Py_buffer state;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "y*:load", &state))
        return NULL;
    UNLOCKED(&s->lock, status = unroll_stream_load(s->stream, state.buf, (size_t)state.len));
    PyBuffer_Release(&state);
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *stream_info(PyObject *self, void *unused)
{
    stream_object *s = (stream_object *)self;
    (void)unused;
    return Py_BuildValue("{s:i,s:i,s:i,s:s,s:n}", "rows", s->rows, "inputs", unroll_stream_inputs(s->stream), "outputs",
                         unroll_stream_outputs(s->stream), "isa", unroll_stream_isa(s->stream), "bytes",
                         (Py_ssize_t)s->bytes);
}

static PyObject *stream_repr(PyObject *self) { return described("Stream", stream_info(self, NULL)); }

static PyMethodDef methods[] = {
    {"step", (PyCFunction)(void (*)(void))stream_step, METH_VARARGS | METH_KEYWORDS,
     "step(x, out=None): inputs [rows, input] of float32, or tokens [rows] of int32, also as inputs= or tokens=, of a "
     "model with columns both: tokens= [rows, token columns], inputs= [rows, numbers]; gives [rows, output]."},
    {"run", (PyCFunction)(void (*)(void))stream_run, METH_VARARGS | METH_KEYWORDS,
     "run(x, out=None): many steps, with a leading time axis."},
    {"reset", stream_reset, METH_VARARGS, "reset(row=-1): sets the states of a row, or of all, to zero."},
    {"save", stream_save, METH_NOARGS, "The states as bytes."},
    {"load", stream_load, METH_VARARGS, "load(state): loads states saved by the same kind of stream."},
    {"copy", stream_copy, METH_NOARGS, "Returns an independent stream with the same states."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"info", stream_info, NULL, "Rows, widths of inputs and outputs, isa and bytes: a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Stream(model, *, rows=1, dtype='fp32', isa=None, raw=False, series=None): a model of one direction, step by "
     "step,\n"
     "in the units of the data unless raw, of a forecast of several series in those of `series`, with the\n"
     "model's weights as they are now. Streams of different threads run at the same time."},
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_repr, stream_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL}};

PyType_Spec stream_spec = {"unroll._core.Stream", sizeof(stream_object), 0, Py_TPFLAGS_DEFAULT, slots};
