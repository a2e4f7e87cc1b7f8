/* Shared by the files of the extension: errors, locks, arrays, tables of keywords, types. Uses only Python's limited
 * API of 3.11 and the headers of include/, so one build works with every later Python; and of that, only functions that
 * Python 3.9 and 3.10 export, too (buffers were stable before they were declared so). */
#ifndef CORE_H
#define CORE_H
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "unroll_advanced.h"

/* Sets the exception for the status of this thread's last call. Returns NULL. */
PyObject *raise_status(unroll_status status);

/* A mutex that is reinitialized in a child created by os.fork(), where the thread that may have held it does not
 * exist. */
struct lock {
    pthread_mutex_t mutex;
    unsigned forks; /* forks before it was created or used in a child */
};

void lock_init(struct lock *);
pthread_mutex_t *lock_here(struct lock *); /* returns the mutex of this process; requires the GIL */

/* Runs a statement without the GIL while holding the lock. To avoid deadlocks, no thread waits for the GIL while it
 * holds a lock, or waits for a lock while it holds the GIL. */
#define UNLOCKED(lock, statement)                       \
    do {                                                \
        pthread_mutex_t *mutex = lock_here(lock);       \
        PyThreadState *saved = PyEval_SaveThread();     \
        pthread_mutex_lock(mutex);                      \
        statement;                                      \
        pthread_mutex_unlock(mutex);                    \
        PyEval_RestoreThread(saved);                    \
    } while (0)

/* ---- numbers in arrays (py_view.c, py_array.c) ------------------------------------------------- */

enum { AXES_MAX = 4 };
enum number { NUMBER_F32, NUMBER_I32, NUMBER_U8 };

bool number_of(const char *name, enum number *); /* false: unknown name */
size_t number_size(enum number);
const char *number_name(enum number);   /* "float32" */
const char *number_format(enum number); /* "f", as in struct and memoryview */

/* Another object's array while it is in use: C-contiguous, on the CPU. */
struct view {
    void *data;
    int rank;
    Py_ssize_t shape[AXES_MAX];
    Py_ssize_t count; /* of values */
    Py_buffer buffer;
    bool has_buffer;
    PyObject *capsule; /* DLPack's: held here, freed by its creator */
};

enum { ANY = -1 };

/* Requirements on an argument. */
struct wanted {
    const char *name;
    enum number number;
    int rank;                   /* ANY: up to AXES_MAX */
    Py_ssize_t shape[AXES_MAX]; /* ANY: any */
    bool writable;
};

/* Gets a view through the buffer protocol or DLPack, without a copy. Returns false with an exception that explains the
 * error. */
bool view_take(PyObject *from, const struct wanted *wanted, struct view *view);
void view_release(struct view *view);

/* Checks the shape of a view. Returns false with an exception. */
bool view_fits(const struct wanted *wanted, const struct view *view);

/* Reads a pair (first, second) of integers. Returns false with an exception that names it. */
bool pair_take(PyObject *pair, const char *name, int *first, int *second);

/* shape(array, name, "float32" or "int32"): returns a tuple. */
PyObject *view_shape(PyObject *module, PyObject *args);

/* Creates an uninitialized array; or one in the memory of `base`, to which it holds a reference. */
PyObject *array_new(enum number, int rank, const Py_ssize_t *shape);
PyObject *array_inside(PyObject *base, void *data, enum number, int rank, const Py_ssize_t *shape, bool readonly);
void *array_data(PyObject *array);

/* array(bytes, shape, dtype): returns an Array with a copy of the bytes. */
PyObject *array_of(PyObject *module, PyObject *args);

/* Uses `out` for results, or a new array if it is NULL or None. Returns false with an exception. */
bool result_take(PyObject *out, const struct wanted *wanted, struct view *view, PyObject **array);

/* ---- keywords and configurations (py_fields.c) ---------------------------------------------- */

enum field_kind { FIELD_INT, FIELD_LONG, FIELD_UNSIGNED, FIELD_FLOAT, FIELD_DOUBLE, FIELD_TEXT, FIELD_CHOICE };

/* A member of a configuration struct. A table ends with a field without a name. */
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    const char *const *choice; /* FIELD_CHOICE: names of an enum's values, terminated by NULL */
};

#define FIELD(type, member, kind)   { #member, kind, offsetof(type, member), NULL }

/* The fields of unroll_machine in a struct that contains it as `machine`; ranks are not available. */
#define MACHINE_FIELD(type, member, kind)  { #member, kind, offsetof(type, machine.member), NULL }
#define MACHINE_FIELDS(type)                                                                              \
    MACHINE_FIELD(type, device, FIELD_TEXT), MACHINE_FIELD(type, isa, FIELD_TEXT),                        \
    MACHINE_FIELD(type, precision, FIELD_TEXT), MACHINE_FIELD(type, dtype, FIELD_TEXT),                   \
    MACHINE_FIELD(type, threads, FIELD_INT), MACHINE_FIELD(type, queues, FIELD_INT),                       \
    MACHINE_FIELD(type, chunks, FIELD_INT), MACHINE_FIELD(type, checkpoint_time, FIELD_INT),              \
    MACHINE_FIELD(type, pieces, FIELD_INT), MACHINE_FIELD(type, time_tolerance, FIELD_FLOAT),             \
    MACHINE_FIELD(type, memory, FIELD_UNSIGNED), MACHINE_FIELD(type, exact, FIELD_INT)

/* Reads an integer in the range of int. Returns false with an exception that names it and the range. */
bool int_take(const char *name, PyObject *value, int *to);

/* Stores keywords in a struct; strings remain owned by the keywords. `what` is for messages: "a session". */
bool fields_take(const char *what, const struct field *fields, PyObject *keywords, void *config);
PyObject *fields_give(const struct field *fields, const void *config); /* returns a dict */

/* Returns a repr "<Stream rows=1, ..>" from a dict, whose reference it consumes; NULL if that is NULL. */
PyObject *described(const char *type, PyObject *facts);

/* Fields for learning_rate, clip and the optimizer's hyperparameters, in unroll_hyperparameters at `offset`. */
enum { RATES_FIELDS = 3 + UNROLL_HYPERPARAMETERS };
void rates_fields(const char *optimizer, size_t offset, struct field fields[RATES_FIELDS]);

/* optimizer_name returns the library's own string with this name, or NULL if there is no such optimizer.
 * refuse_optimizer returns false with an exception about it. */
const char *optimizer_name(const char *name);
bool refuse_optimizer(const char *name);

/* Removes a keyword and returns a new reference, or NULL if it is absent. */
PyObject *keyword_take(PyObject *keywords, const char *name);

/* Removes options, a str or a dict, from the keywords and converts them as unroll._data.options_text does
 * ("key=value,.."). *text, NULL if absent, is valid as long as *kept. */
bool options_take(PyObject *keywords, const char *name, PyObject **kept, const char **text);
bool options_text(PyObject *options, PyObject **kept, const char **text); /* the same for a given object; NULL: none */

/* Parses a JSON text. */
PyObject *json_parse(const char *text, size_t length);

/* ---- types ------------------------------------------------------------------------------- */

typedef struct model_object {
    PyObject_HEAD
    unroll_model *model;
    struct lock lock; /* protects the model and all its sessions */
    int sessions;     /* number of sessions and trainers held by Python */
} model_object;

typedef struct dataset_object {
    PyObject_HEAD
    unroll_dataset *dataset;
} dataset_object;

/* Removes class_weights from a session's or a trainer's keywords. It is not a field but an array with one value for
 * each output. If absent, data remains NULL. */
bool class_weights_take(const model_object *m, PyObject *keywords, struct view *v);

extern PyType_Spec array_spec, model_spec, session_spec, stream_spec, pool_spec, dataset_spec, trainer_spec;
extern PyTypeObject *array_type, *model_type, *dataset_type;

PyObject *dataset_wrap(PyTypeObject *type, unroll_dataset *dataset); /* takes ownership, even on failure */

/* Keywords on how data is read: model, reader, and the reader's options. The references that keep their strings must be
 * released, even on failure. */
struct dataset_keywords {
    PyObject *model, *reader, *options;
};
bool dataset_config_take(PyObject *keywords, struct dataset_keywords *kept, unroll_dataset_config *config);
void dataset_keywords_end(struct dataset_keywords *kept);
PyObject *dataset_of_table(PyObject *type, PyObject *args, PyObject *keywords);

/* Returns the rank, shape and size of a parameter as an array. */
int parameter_shape(const unroll_parameter *p, Py_ssize_t shape[2], Py_ssize_t *count);

PyObject *evaluate(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *predict(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *notes(PyObject *module, PyObject *unused);
PyObject *task_defaults(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *sample(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *sampler_order(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *plan(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *import_model(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *export_model(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *formats(PyObject *module, PyObject *unused);

/* Wraps a model in an object of this type. Takes ownership, even on failure. */
PyObject *model_wrap(PyTypeObject *type, unroll_model *model);

/* Text that the library passes in pieces while the GIL is released, so Python objects are not used. */
struct lines {
    char *text;
    size_t length, capacity;
};
bool lines_add(struct lines *lines, const char *text);

/* object_new creates an object of any type, filled with zeros; object_free destroys it. */
PyObject *object_new(PyTypeObject *type);
void object_free(PyObject *self);

static inline PyObject *none(void) { return Py_NewRef(Py_None); }

#endif
