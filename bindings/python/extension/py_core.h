/* What the files of the extension share: errors, the lock, numbers in arrays, tables of keywords, types.
 * Only Python's limited API of 3.11 and the headers of include/ are used, so one build serves every later Python.
 * Not a layer with ideas of its own: it says in Python what they say in C. */
#ifndef CORE_H
#define CORE_H
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "unroll_advanced.h"

/* Sets the exception that stands for the status of this thread's last call; NULL, to be returned. */
PyObject *raise_status(unroll_status status);

/* In a child that os.fork() made, nobody holds it: the thread of the parent that did is not there. */
struct lock {
    pthread_mutex_t mutex;
    unsigned forks; /* before it was made or found in a child */
};

void lock_init(struct lock *);
pthread_mutex_t *lock_here(struct lock *); /* with the GIL: the mutex of this process */

/* Runs a statement without the GIL, alone on what the lock guards. Whoever holds a lock never waits for the
 * GIL before it lets go, and nobody waits for a lock with the GIL. */
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

bool number_of(const char *name, enum number *); /* false: there are none of that name */
size_t number_size(enum number);
const char *number_name(enum number);   /* "float32" */
const char *number_format(enum number); /* "f", as struct and memoryview say */

/* Somebody else's array while we use it: C-contiguous, on the CPU. */
struct view {
    void *data;
    int rank;
    Py_ssize_t shape[AXES_MAX];
    Py_ssize_t count; /* of numbers */
    Py_buffer buffer;
    bool has_buffer;
    PyObject *capsule; /* DLPack's: it is ours to hold, its maker's to free */
};

enum { ANY = -1 };

/* What an argument should be. */
struct wanted {
    const char *name;
    enum number number;
    int rank;                   /* ANY: any up to AXES_MAX */
    Py_ssize_t shape[AXES_MAX]; /* ANY: any */
    bool writable;
};

/* By the buffer protocol, or else DLPack; false with an exception that says what is wrong.
 * Nothing is copied. */
bool view_take(PyObject *from, const struct wanted *wanted, struct view *view);
void view_release(struct view *view);

/* Has the view this shape? False with an exception. */
bool view_fits(const struct wanted *wanted, const struct view *view);

/* (first, second) of whole numbers; false with an exception that names it. */
bool pair_take(PyObject *pair, const char *name, int *first, int *second);

/* shape(array, name, "float32" or "int32"): a tuple. */
PyObject *view_shape(PyObject *module, PyObject *args);

/* A new array, not filled; or one in the memory of `base`, which it keeps alive. */
PyObject *array_new(enum number, int rank, const Py_ssize_t *shape);
PyObject *array_inside(PyObject *base, void *data, enum number, int rank, const Py_ssize_t *shape, bool readonly);
void *array_data(PyObject *array);

/* array(bytes, shape, dtype): an Array with a copy of them. */
PyObject *array_of(PyObject *module, PyObject *args);

/* `out` as it is, or a new array if it is NULL or None: where results go. False with an exception. */
bool result_take(PyObject *out, const struct wanted *wanted, struct view *view, PyObject **array);

/* ---- keywords and configurations (py_fields.c) ---------------------------------------------- */

enum field_kind { FIELD_INT, FIELD_LONG, FIELD_UNSIGNED, FIELD_FLOAT, FIELD_DOUBLE, FIELD_TEXT, FIELD_CHOICE };

/* A member of a configuration struct; a table ends with a field without a name. */
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    const char *const *choice; /* FIELD_CHOICE: the names of an enum's values; NULL ends */
};

#define FIELD(type, member, kind)   { #member, kind, offsetof(type, member), NULL }

/* Those of unroll_machine, of a struct that has one as `machine`; one process has no ranks. */
#define MACHINE_FIELD(type, member, kind)  { #member, kind, offsetof(type, machine.member), NULL }
#define MACHINE_FIELDS(type)                                                                              \
    MACHINE_FIELD(type, device, FIELD_TEXT), MACHINE_FIELD(type, isa, FIELD_TEXT),                        \
    MACHINE_FIELD(type, precision, FIELD_TEXT), MACHINE_FIELD(type, dtype, FIELD_TEXT),                   \
    MACHINE_FIELD(type, threads, FIELD_INT), MACHINE_FIELD(type, queues, FIELD_INT),                       \
    MACHINE_FIELD(type, chunks, FIELD_INT), MACHINE_FIELD(type, checkpoint_time, FIELD_INT),              \
    MACHINE_FIELD(type, pieces, FIELD_INT), MACHINE_FIELD(type, time_tolerance, FIELD_FLOAT),             \
    MACHINE_FIELD(type, memory, FIELD_UNSIGNED), MACHINE_FIELD(type, exact, FIELD_INT)

/* A whole number that is an int; false with an exception that names it and the range. */
bool int_take(const char *name, PyObject *value, int *to);

/* Keywords into a struct; texts stay the keywords'. `what` is for the sentence: "a session". */
bool fields_take(const char *what, const struct field *fields, PyObject *keywords, void *config);
PyObject *fields_give(const struct field *fields, const void *config); /* a dict */

/* A repr: "<Stream rows=1, ..>" of a dict, which it takes over; NULL if that is NULL. */
PyObject *described(const char *type, PyObject *facts);

/* learning_rate, clip and the optimizer's hyperparameters, of unroll_hyperparameters that lie at `offset`. */
enum { RATES_FIELDS = 3 + UNROLL_HYPERPARAMETERS };
void rates_fields(const char *optimizer, size_t offset, struct field fields[RATES_FIELDS]);

/* The library's own text of this name, NULL: there is no such optimizer, which a false with an exception says. */
const char *optimizer_name(const char *name);
bool refuse_optimizer(const char *name);

/* Takes a keyword out of the keywords: a new reference, NULL if it is not there. */
PyObject *keyword_take(PyObject *keywords, const char *name);

/* Options as unroll._data.options_text has them ("key=value,.."), of a str or a dict, out of the keywords: *text, which
 * lives as long as *kept; NULL if it is not there. */
bool options_take(PyObject *keywords, const char *name, PyObject **kept, const char **text);
bool options_text(PyObject *options, PyObject **kept, const char **text); /* of them; NULL: there are none */

/* What a JSON text says. */
PyObject *json_parse(const char *text, size_t length);

/* ---- types ------------------------------------------------------------------------------- */

typedef struct model_object {
    PyObject_HEAD
    unroll_model *model;
    struct lock lock; /* of the model and all its sessions */
    int sessions;     /* and trainers, that Python has of it */
} model_object;

typedef struct dataset_object {
    PyObject_HEAD
    unroll_dataset *dataset;
} dataset_object;

/* class_weights out of a session's or a trainer's keywords. They are no field: an array, as long as the model has
 * outputs. Absent: data stays NULL. */
bool class_weights_take(const model_object *m, PyObject *keywords, struct view *v);

extern PyType_Spec array_spec, model_spec, session_spec, stream_spec, dataset_spec, trainer_spec;
extern PyTypeObject *array_type, *model_type, *dataset_type;

PyObject *dataset_wrap(PyTypeObject *type, unroll_dataset *dataset); /* takes it over, also where it fails */

/* How data are read: model, reader, and options for the reader, out of the keywords. What keeps their texts is to be
 * ended, also where it fails. */
struct dataset_keywords {
    PyObject *model, *reader, *options;
};
bool dataset_config_take(PyObject *keywords, struct dataset_keywords *kept, unroll_dataset_config *config);
void dataset_keywords_end(struct dataset_keywords *kept);
PyObject *dataset_of_table(PyObject *type, PyObject *args, PyObject *keywords);

/* Names, shapes and sizes of a parameter as an array has them. */
int parameter_shape(const unroll_parameter *p, Py_ssize_t shape[2], Py_ssize_t *count);

PyObject *evaluate(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *predict(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *task_defaults(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *sample(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *sample_order(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *plan(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *import_model(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *export_model(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *formats(PyObject *module, PyObject *unused);

/* A model as an object of this type; takes the model over, also where it fails. */
PyObject *model_wrap(PyTypeObject *type, unroll_model *model);

/* Text that the library gives piece by piece while the GIL is released: nothing of Python is touched. */
struct lines {
    char *text;
    size_t length, capacity;
};
bool lines_add(struct lines *lines, const char *text);

/* How every type begins, with zeros, and what it does at its end. */
PyObject *object_new(PyTypeObject *type);
void object_free(PyObject *self);

static inline PyObject *none(void) { return Py_NewRef(Py_None); }

#endif
