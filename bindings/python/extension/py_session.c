/* Session: a model ready to run, for one shape of batches. Checks the shapes of arrays, which unroll.h cannot check. */
#include "py_core.h"
#include <stdlib.h>
#include <string.h>

typedef struct session_object {
    PyObject_HEAD
    model_object *model;
    unroll_session *session;
    unroll_session_config config; /* without its strings, which were the caller's */
    const char *optimizer;        /* one of the library's names */
    int inputs, tokens, targets;  /* of a row: numeric inputs, token columns, targets */
    bool columns;                 /* tokens have an axis of their own */
    bool pooled;                  /* one output for each sequence: z and its targets have no time axis */
} session_object;

#define LOCK(s) (&(s)->model->lock)

/* ---- making ------------------------------------------------------------------------------- */

static const char *const modes[] = {"infer", "eval", "train", "module", NULL};

static const struct field config_fields[] = {
#define C(member, kind) FIELD(unroll_session_config, member, kind)
    {"mode", FIELD_CHOICE, offsetof(unroll_session_config, mode), modes},
    C(steps, FIELD_INT),
    C(rows, FIELD_INT),
    C(lengths, FIELD_INT),
    C(resets, FIELD_INT),
    C(results, FIELD_INT),
    C(stateful, FIELD_INT),
    C(input_gradient, FIELD_INT),
    C(no_dropout, FIELD_INT),
    C(updates, FIELD_INT),
    C(label_smoothing, FIELD_FLOAT),
    C(optimizer, FIELD_TEXT),
    C(seed, FIELD_UNSIGNED),
    C(shards, FIELD_INT),
    C(raw, FIELD_INT),
    C(series, FIELD_TEXT),
    MACHINE_FIELDS(unroll_session_config),
    {NULL, 0, 0, NULL},
#undef C
};

bool class_weights_take(const model_object *m, PyObject *keywords, struct view *v)
{
    const struct wanted wanted = {"class_weights", NUMBER_F32, 1, {unroll_model_outputs(m->model)}, false};
    PyObject *given = keyword_take(keywords, wanted.name);
    bool taken = !given || given == Py_None || view_take(given, &wanted, v);
    Py_XDECREF(given);
    return taken;
}

/* Session(model, **fields) keeps a reference to the model. */
static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session = NULL;
    unroll_network network = {.size = sizeof network};
    unroll_status status;
    PyObject *model;
    struct view weights = {0};
    if (!PyArg_ParseTuple(args, "O!:Session", model_type, &model))
        return NULL;
    model_object *m = (model_object *)model;
    if (!class_weights_take(m, keywords, &weights))
        return NULL;
    config.class_weights = weights.data;
    if (!fields_take("a session", config_fields, keywords, &config)) {
        view_release(&weights);
        return NULL;
    }
    UNLOCKED(&m->lock, status = unroll_session_new(m->model, &config, &session));
    view_release(&weights);
    if (status != UNROLL_OK)
        return raise_status(status);
    session_object *s = (session_object *)object_new(type);
    if (!s) {
        UNLOCKED(&m->lock, unroll_session_free(session));
        return NULL;
    }
    s->session = session;
    s->model = (model_object *)Py_NewRef(model);
    s->model->sessions++;
    s->config = config;
    s->optimizer = optimizer_name(config.optimizer);
    s->config.optimizer = s->config.series = NULL;
    s->config.machine = unroll_machine_default();
    unroll_model_network(unroll_session_model(session), &network);
    s->inputs = network.input;
    s->columns = network.n_inputs > 0;
    for (int i = 0; i < network.n_inputs; i++) {
        s->tokens += network.inputs[i].tokens > 0;
        s->inputs += network.inputs[i].tokens ? 0 : network.inputs[i].width;
    }
    s->targets = unroll_model_targets(unroll_session_model(session));
    unroll_buffer z = {.size = sizeof z};
    s->pooled = unroll_session_find(session, "z", &z) && z.rank == 2;
    return (PyObject *)s;
}

/* A model may refer to its sessions: lets the garbage collector traverse the way back. */
static int session_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((session_object *)self)->model);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void session_dealloc(PyObject *self)
{
    session_object *s = (session_object *)self;
    PyObject_GC_UnTrack(self);
    if (s->session) {
        UNLOCKED(LOCK(s), unroll_session_free(s->session));
        s->model->sessions--;
    }
    Py_XDECREF((PyObject *)s->model);
    object_free(self);
}

/* ---- batches ------------------------------------------------------------------------------ */

enum { INPUTS, TOKENS, TARGETS, TARGET_VALUES, LENGTHS, RESET, ARRAYS };

static char *array_names[] = {"inputs", "tokens", "targets", "target_values", "lengths", "reset", NULL};

struct batch {
    struct view view[ARRAYS];
    unroll_batch batch;
};

static void batch_release(struct batch *b)
{
    for (int i = 0; i < ARRAYS; i++) view_release(&b->view[i]);
}

/* With lengths, arrays may have fewer steps than the session if no row is longer than them. */
static bool check_steps(const session_object *s, const struct batch *b)
{
    const int32_t *lengths = b->view[LENGTHS].data;
    for (int i = INPUTS; i < LENGTHS; i++) {
        Py_ssize_t steps = b->view[i].shape[0];
        if (!b->view[i].data || steps == s->config.steps || (s->pooled && (i == TARGETS || i == TARGET_VALUES)))
            continue;
        bool enough = lengths && steps < s->config.steps;
        for (int row = 0; enough && row < s->config.rows; row++) enough = lengths[row] <= steps;
        if (enough)
            continue;
        PyErr_Format(PyExc_ValueError,
                     "%s: the array has %zd steps; the session has %d, and fewer need rows with lengths up to that",
                     array_names[i], steps, s->config.steps);
        return false;
    }
    return true;
}

/* Takes the arrays of a batch and checks their types and shapes; false: with an exception. End it with
 * batch_release. */
static bool batch_take(const session_object *s, PyObject *const given[ARRAYS], struct batch *b)
{
    Py_ssize_t T = s->config.steps, B = s->config.rows;
    const struct wanted wanted[ARRAYS] = {
        [INPUTS] = {"inputs", NUMBER_F32, 3, {ANY, B, s->inputs}, false},
        [TOKENS] = {"tokens", NUMBER_I32, s->columns ? 3 : 2, {ANY, B, s->tokens}, false},
        [TARGETS] = s->pooled ? (struct wanted){"targets", NUMBER_I32, 1, {B}, false}
                              : (struct wanted){"targets", NUMBER_I32, 2, {ANY, B}, false},
        [TARGET_VALUES] = s->pooled ? (struct wanted){"target_values", NUMBER_F32, 2, {B, s->targets}, false}
                                    : (struct wanted){"target_values", NUMBER_F32, 3, {ANY, B, s->targets}, false},
        [LENGTHS] = {"lengths", NUMBER_I32, 1, {B}, false},
        [RESET] = {"reset", NUMBER_U8, 2, {T, B}, false},
    };
    memset(b, 0, sizeof *b);
    bool taken = true;
    for (int i = 0; i < ARRAYS && taken; i++)
        taken = !given[i] || given[i] == Py_None || view_take(given[i], &wanted[i], &b->view[i]);
    if (!taken || !check_steps(s, b)) {
        batch_release(b);
        return false;
    }
    b->batch = (unroll_batch){.size = sizeof(unroll_batch),
                              .inputs = b->view[INPUTS].data,
                              .tokens = b->view[TOKENS].data,
                              .targets = b->view[TARGETS].data,
                              .target_values = b->view[TARGET_VALUES].data,
                              .lengths = b->view[LENGTHS].data,
                              .reset = b->view[RESET].data};
    return true;
}

static PyObject *session_forward(PyObject *self, PyObject *args, PyObject *keywords)
{
    session_object *s = (session_object *)self;
    PyObject *given[ARRAYS] = {NULL};
    struct batch b;
    unroll_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOOOO:forward", array_names, &given[INPUTS], &given[TOKENS],
                                     &given[TARGETS], &given[TARGET_VALUES], &given[LENGTHS], &given[RESET]) ||
        !batch_take(s, given, &b))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_forward(s->session, &b.batch));
    batch_release(&b);
    return status == UNROLL_OK ? none() : raise_status(status);
}

/* ---- losses and updates -------------------------------------------------------------------- */

static const struct field result_fields[] = {FIELD(unroll_result, loss, FIELD_DOUBLE),
                                             FIELD(unroll_result, weight, FIELD_DOUBLE),
                                             FIELD(unroll_result, norm, FIELD_DOUBLE),
                                             {NULL, 0, 0, NULL}};

static PyObject *session_result(PyObject *self, PyObject *unused)
{
    session_object *s = (session_object *)self;
    unroll_result result = {.size = sizeof result};
    unroll_status status;
    (void)unused;
    UNLOCKED(LOCK(s), status = unroll_session_result(s->session, &result));
    return status == UNROLL_OK ? fields_give(result_fields, &result) : raise_status(status);
}

/* Rates that are not given are the defaults of the session's optimizer or of the one named in the call. */
static bool take_rates(const session_object *s, const char *what, const char *optimizer, PyObject *keywords,
                       unroll_hyperparameters *rates)
{
    const char *known = optimizer_name(optimizer);
    struct field fields[RATES_FIELDS];
    if (!known)
        return refuse_optimizer(optimizer);
    if ((s->config.mode == UNROLL_TRAIN || s->config.updates) && strcmp(known, s->optimizer)) {
        PyErr_Format(PyExc_ValueError,
                     "the session was created to train with '%s', not '%s'; fix: session('train', optimizer='%s')",
                     s->optimizer, known, known);
        return false;
    }
    *rates = unroll_hyperparameters_default(known);
    rates_fields(known, 0, fields);
    return fields_take(what, fields, keywords, rates);
}

static PyObject *session_update(PyObject *self, PyObject *args, PyObject *keywords)
{
    session_object *s = (session_object *)self;
    unroll_result result = {.size = sizeof result};
    unroll_status status;
    const char *optimizer;
    unroll_hyperparameters rates;
    if (!PyArg_ParseTuple(args, "s:update", &optimizer) || !take_rates(s, "an update", optimizer, keywords, &rates))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_update(s->session, &rates, &result));
    return status == UNROLL_OK ? fields_give(result_fields, &result) : raise_status(status);
}

/* The arrays of a batch, the rates and "sync" are keywords of one call. */
static PyObject *session_step(PyObject *self, PyObject *args, PyObject *keywords)
{
    session_object *s = (session_object *)self;
    PyObject *given[ARRAYS], *look;
    struct batch b;
    unroll_result result = {.size = sizeof result};
    unroll_status status = UNROLL_OK;
    const char *optimizer;
    if (!PyArg_ParseTuple(args, "s:step", &optimizer))
        return NULL;
    unroll_hyperparameters rates;
    for (int i = 0; i < ARRAYS; i++) given[i] = keyword_take(keywords, array_names[i]);
    look = keyword_take(keywords, "sync");
    int looks = look ? PyObject_IsTrue(look) : 1;
    bool taken = looks >= 0 && take_rates(s, "a step", optimizer, keywords, &rates) && batch_take(s, given, &b);
    if (taken) {
        UNLOCKED(LOCK(s), status = unroll_session_step(s->session, &b.batch, &rates, looks ? &result : NULL));
        batch_release(&b);
    }
    for (int i = 0; i < ARRAYS; i++) Py_XDECREF(given[i]);
    Py_XDECREF(look);
    if (!taken)
        return NULL;
    if (status != UNROLL_OK)
        return raise_status(status);
    return looks ? fields_give(result_fields, &result) : none();
}

/* ---- arrays of the session ------------------------------------------------------------------ */

/* Returns the shape of an array; rank 0 if there is no such array. */
static struct wanted shape_of(session_object *s, const char *name)
{
    unroll_buffer b = {.size = sizeof b};
    bool found;
    UNLOCKED(LOCK(s), found = unroll_session_find(s->session, name, &b));
    struct wanted w = {.name = name, .number = NUMBER_F32, .rank = found ? b.rank : 0};
    for (int i = 0; i < w.rank; i++) w.shape[i] = b.shape[i];
    return w;
}

static PyObject *new_array(session_object *s, const char *name)
{
    const struct wanted w = shape_of(s, name);
    return w.rank ? array_new(w.number, w.rank, w.shape)
                  : PyErr_Format(PyExc_KeyError, "the session has no array '%s'", name);
}

/* An array from the caller has the shape of ours. One with a time axis, which has three axes, may hold only the first
 * steps: unroll_session_read and unroll_session_write check the number of values and the name. */
static bool take_numbers(session_object *s, PyObject *array, const char *name, bool writable, struct view *v)
{
    struct wanted wanted = shape_of(s, name);
    wanted.writable = writable;
    if (wanted.rank == 3)
        wanted.shape[0] = ANY;
    else if (!wanted.rank)
        wanted.rank = ANY;
    return view_take(array, &wanted, v);
}

/* Session.read(name, out=None) returns an array with the numbers of that name. */
static PyObject *session_read(PyObject *self, PyObject *args)
{
    session_object *s = (session_object *)self;
    const char *name;
    PyObject *out = Py_None;
    struct view v;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "s|O:read", &name, &out))
        return NULL;
    PyObject *array = out == Py_None ? new_array(s, name) : Py_NewRef(out);
    if (!array || !take_numbers(s, array, name, true, &v)) {
        Py_XDECREF(array);
        return NULL;
    }
    UNLOCKED(LOCK(s), status = unroll_session_read(s->session, name, v.data, (size_t)v.count));
    view_release(&v);
    if (status == UNROLL_OK)
        return array;
    Py_DECREF(array);
    return raise_status(status);
}

static PyObject *session_write(PyObject *self, PyObject *args)
{
    session_object *s = (session_object *)self;
    const char *name;
    PyObject *array;
    struct view v;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "sO:write", &name, &array) || !take_numbers(s, array, name, false, &v))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_write(s->session, name, v.data, (size_t)v.count));
    view_release(&v);
    return status == UNROLL_OK ? none() : raise_status(status);
}

/* Writes the gradient of a module's outputs, those of a head or of the last layer. */
static bool write_slopes(session_object *s, PyObject *slopes)
{
    char name[32] = "d.z";
    struct view v;
    unroll_status status;
    int headless;
    UNLOCKED(LOCK(s), headless = unroll_session_count(s->session, name) == 0);
    if (headless)
        snprintf(name, sizeof name, "d.y.l%d", unroll_model_layers(unroll_session_model(s->session)) - 1);
    if (!take_numbers(s, slopes, name, false, &v))
        return false;
    UNLOCKED(LOCK(s), status = unroll_session_write(s->session, name, v.data, (size_t)v.count));
    view_release(&v);
    if (status != UNROLL_OK)
        raise_status(status);
    return status == UNROLL_OK;
}

static PyObject *session_backward(PyObject *self, PyObject *args)
{
    session_object *s = (session_object *)self;
    PyObject *slopes = Py_None;
    unroll_status status;
    if (!PyArg_ParseTuple(args, "|O:backward", &slopes) || (slopes != Py_None && !write_slopes(s, slopes)))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_backward(s->session));
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *session_has(PyObject *self, PyObject *args)
{
    session_object *s = (session_object *)self;
    unroll_buffer b = {.size = sizeof b};
    bool found;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:has", &name))
        return NULL;
    UNLOCKED(LOCK(s), found = unroll_session_find(s->session, name, &b));
    return PyBool_FromLong(found);
}

static PyObject *describe(const unroll_buffer *b)
{
    PyObject *shape = PyTuple_New(b->rank);
    for (int i = 0; shape && i < b->rank; i++)
        if (PyTuple_SetItem(shape, i, PyLong_FromLong(b->shape[i])) < 0)
            Py_CLEAR(shape);
    return shape ? Py_BuildValue("(sNs)", b->name, shape, b->type) : NULL;
}

static PyObject *session_buffers(PyObject *self, PyObject *unused)
{
    session_object *s = (session_object *)self;
    unroll_buffer buffer = {.size = sizeof buffer};
    PyObject *list = PyList_New(0);
    int is_there = 1;
    (void)unused;
    for (int i = 0; list && is_there; i++) {
        UNLOCKED(LOCK(s), is_there = unroll_session_buffer(s->session, i, &buffer));
        PyObject *one = is_there ? describe(&buffer) : NULL;
        if (is_there && (!one || PyList_Append(list, one) < 0))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* ---- weights and gradients as a whole -------------------------------------------------------- */

struct views {
    struct view *view;
    void **data;
    int count;
};

static void views_release(struct views *v)
{
    for (int i = 0; v->view && i < v->count; i++) view_release(&v->view[i]);
    free(v->view);
    free(v->data);
}

static bool take_parameter(session_object *s, PyObject *array, int index, bool writable, struct view *v)
{
    unroll_parameter p = {.size = sizeof p};
    Py_ssize_t count;
    struct wanted w = {.number = NUMBER_F32, .writable = writable};
    unroll_status status = unroll_model_parameter((unroll_model *)unroll_session_model(s->session), index, &p);
    if (status != UNROLL_OK)
        return raise_status(status) != NULL;
    w.name = p.name;
    w.rank = parameter_shape(&p, w.shape, &count);
    return view_take(array, &w, v);
}

/* Reads a sequence of arrays in the order of the model's parameters, with None for omitted ones. */
static bool views_take(session_object *s, PyObject *arrays, bool writable, struct views *v)
{
    int count = unroll_model_parameters(unroll_session_model(s->session));
    Py_ssize_t given = PySequence_Size(arrays);
    *v = (struct views){calloc((size_t)count + 1, sizeof *v->view), calloc((size_t)count + 1, sizeof *v->data), count};
    bool taken = v->view && v->data && given == count;
    if (given >= 0 && given != count)
        PyErr_Format(PyExc_ValueError, "the model has %d parameters, %zd arrays were given", count, given);
    for (int i = 0; taken && i < count; i++) {
        PyObject *array = PySequence_GetItem(arrays, i);
        taken = array && (array == Py_None || take_parameter(s, array, i, writable, &v->view[i]));
        v->data[i] = v->view[i].data;
        Py_XDECREF(array);
    }
    if (!taken)
        views_release(v);
    return taken;
}

static PyObject *session_set_weights(PyObject *self, PyObject *arrays)
{
    session_object *s = (session_object *)self;
    struct views v;
    unroll_status status;
    if (!views_take(s, arrays, false, &v))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_set_weights(s->session, (const float *const *)v.data));
    views_release(&v);
    return status == UNROLL_OK ? none() : raise_status(status);
}

static PyObject *session_gradients(PyObject *self, PyObject *arrays)
{
    session_object *s = (session_object *)self;
    struct views v;
    unroll_status status;
    if (!views_take(s, arrays, true, &v))
        return NULL;
    UNLOCKED(LOCK(s), status = unroll_session_gradients(s->session, (float *const *)v.data));
    views_release(&v);
    return status == UNROLL_OK ? none() : raise_status(status);
}

/* ---- the rest -------------------------------------------------------------------------------- */

#define SIMPLE(name, call)                                          \
    static PyObject *session_##name(PyObject *self, PyObject *unused) \
    {                                                               \
        session_object *s = (session_object *)self;                 \
        unroll_status status;                                       \
        (void)unused;                                               \
        UNLOCKED(LOCK(s), status = call(s->session));               \
        return status == UNROLL_OK ? none() : raise_status(status); \
    }
SIMPLE(pull, unroll_session_pull)
SIMPLE(push, unroll_session_push)
SIMPLE(reset, unroll_session_reset)

static PyObject *session_counters(PyObject *self, void *unused)
{
    session_object *s = (session_object *)self;
    int64_t forwards, updates;
    (void)unused;
    UNLOCKED(LOCK(s), unroll_session_counters(s->session, &forwards, &updates));
    return Py_BuildValue("(LL)", (long long)forwards, (long long)updates);
}

static int session_set_counters(PyObject *self, PyObject *value, void *unused)
{
    session_object *s = (session_object *)self;
    long long forwards, updates;
    (void)unused;
    if (!value || !PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "counters is (forwards, updates)");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "LL;counters is (forwards, updates)", &forwards, &updates))
        return -1;
    UNLOCKED(LOCK(s), unroll_session_set_counters(s->session, forwards, updates));
    return 0;
}

static PyObject *session_loss_scale(PyObject *self, void *unused)
{
    session_object *s = (session_object *)self;
    double scale;
    int64_t updates;
    (void)unused;
    UNLOCKED(LOCK(s), unroll_session_loss_scale(s->session, &scale, &updates));
    return Py_BuildValue("(dL)", scale, (long long)updates);
}

static int session_set_loss_scale(PyObject *self, PyObject *value, void *unused)
{
    session_object *s = (session_object *)self;
    double scale;
    long long updates;
    (void)unused;
    if (!value || !PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "loss_scale is (scale, updates)");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "dL;loss_scale is (scale, updates)", &scale, &updates))
        return -1;
    UNLOCKED(LOCK(s), unroll_session_set_loss_scale(s->session, scale, updates));
    return 0;
}

static PyObject *session_info(PyObject *self, void *unused)
{
    session_object *s = (session_object *)self;
    (void)unused;
    return Py_BuildValue("{s:s,s:i,s:i,s:s,s:i,s:K,s:K}", "mode", modes[s->config.mode], "steps", s->config.steps,
                         "rows", s->config.rows, "isa", unroll_session_isa(s->session), "threads",
                         unroll_session_threads(s->session), "bytes",
                         (unsigned long long)unroll_session_bytes(s->session), "memory_estimate",
                         (unsigned long long)unroll_session_memory_estimate(s->session));
}

static PyObject *session_repr(PyObject *self) { return described("Session", session_info(self, NULL)); }

static PyObject *session_model(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef((PyObject *)((session_object *)self)->model);
}

static PyMethodDef methods[] = {
    {"forward", (PyCFunction)(void (*)(void))session_forward, METH_VARARGS | METH_KEYWORDS,
     "forward(*, inputs, tokens, classes, values, lengths, reset): one batch, time-major."},
    {"backward", session_backward, METH_VARARGS,
     "After a forward. Training: adds to the gradients. Module: computes the gradients, or adds to them if it has\n"
     "updates; backward(d) first writes the gradient of its outputs (\"d.z\", without a head \"d.y.lN\")."},
    {"result", session_result, METH_NOARGS,
     "The mean loss since the last result, as a dict; after steps also the norm of the last one."},
    {"update", (PyCFunction)(void (*)(void))session_update, METH_VARARGS | METH_KEYWORDS,
     "update(optimizer, *, learning_rate, ..., clip): updates the weights; returns a dict of loss, weight and norm."},
    {"step", (PyCFunction)(void (*)(void))session_step, METH_VARARGS | METH_KEYWORDS,
     "step(optimizer, *, inputs, ..., reset, learning_rate, ..., clip, look=True): forward, backward and update of "
     "one batch, as a single program if the device supports it; returns a dict of loss, weight and norm. "
     "look=False: returns None without waiting; loss() reports it later."},
    {"read", session_read, METH_VARARGS,
     "read(name, out=None): returns an array of the session (see unroll_session_read)."},
    {"write", session_write, METH_VARARGS, "write(name, array): writes an array of the session."},
    {"has", session_has, METH_VARARGS, "has(name): True if the session has this array."},
    {"buffers", session_buffers, METH_NOARGS, "The arrays that read() reads: a list of (name, shape, type)."},
    {"set_weights", session_set_weights, METH_O,
     "set_weights(arrays): one for each parameter of the model, None: unchanged."},
    {"gradients", session_gradients, METH_O,
     "gradients(outs): of a module after a backward, written into one array for each parameter, None: not copied."},
    {"pull", session_pull, METH_NOARGS, "Copies the weights to the model's own memory."},
    {"push", session_push, METH_NOARGS, "Copies the weights from the model's own memory to the session."},
    {"reset", session_reset, METH_NOARGS, "Sets the initial states, including carried ones, to zero."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"counters", session_counters, session_set_counters,
     "(forwards, updates) so far: dropout masks and optimizers count by them.", NULL},
    {"loss_scale", session_loss_scale, session_set_loss_scale,
     "(scale, updates since it changed) of training with fp16, for a checkpoint; (0.0, 0) without.", NULL},
    {"info", session_info, NULL, "Mode, steps, rows, isa, threads, bytes and memory_estimate: a dict.", NULL},
    {"model", session_model, NULL, "The model.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Session(model, *, mode='infer', steps=1, rows=1, ...): a model ready to run. All memory is\n"
                "allocated here. Calls of sessions of one model wait for each other; the GIL is released meanwhile."},
    {Py_tp_new, session_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_repr, session_repr},
    {Py_tp_traverse, session_traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL}};

PyType_Spec session_spec = {"unroll._core.Session", sizeof(session_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                            slots};
