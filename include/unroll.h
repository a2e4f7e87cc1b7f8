/* unroll.h: recurrent networks, trained and run at the speed of the hardware.
 *
 * This header uses a model: load, run over files, sample text. unroll_stream.h runs it step by step in real time,
 * unroll_network.h describes, imports and exports networks, unroll_train.h trains, unroll_advanced.h plans and checks,
 * unroll_ranks.h trains on many processes. unroll.hpp is for C++.
 *
 *     unroll_model *model;
 *     unroll_run_config config = unroll_run_config_default();
 *     if (unroll_model_load("model.safetensors", &model) != UNROLL_OK ||
 *         unroll_model_run(model, "x.npy", "y.npy", &config) != UNROLL_OK)   // x [T, B, input], y [T, B, output]
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     printf("%d outputs per step\n", unroll_model_outputs(model));
 *     unroll_model_free(model);
 *
 * Arrays are time-major: [T, B, F] is T steps of B rows (the batch) of F features.
 * One object may be used by one thread at a time. Different threads may use different objects, except that sessions of
 * one model share its weights. No function ends the process or prints. A pointer may be NULL only where its comment
 * allows it; every *_free accepts NULL. Outputs are the last parameters.
 * Every call needs at most 256 KB of stack, apart from what drivers, plugins and MPI use and in debug builds.
 * After fork() the child can use and free models, streams and sessions. A call returns UNROLL_UNSUPPORTED there for
 * sessions on other devices than the CPU, of several ranks, or that another thread was using at the fork.
 */
#ifndef UNROLL_H
#define UNROLL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNROLL_VERSION_MAJOR 0
#define UNROLL_VERSION_MINOR 2
#define UNROLL_VERSION_PATCH 0

#if defined(__GNUC__)
#define UNROLL_API __attribute__((visibility("default")))
#else
#define UNROLL_API
#endif

/* ---- errors ---------------------------------------------------------------------------- */

/* The values are the exit codes of the command. */
typedef enum unroll_status {
    UNROLL_OK = 0,
    UNROLL_FAILURE = 1,
    UNROLL_USAGE = 2, /* an invalid argument or combination of arguments */
    UNROLL_DATA = 3,  /* a file or an input array is missing, damaged or of the wrong kind */
    UNROLL_UNSUPPORTED = 4,
    UNROLL_RESOURCE = 5, /* memory or device */
    UNROLL_DIVERGED = 6, /* a loss or a gradient is NaN or infinite */
    UNROLL_COMMUNICATION = 7,
    UNROLL_PREEMPTED = 75, /* stopped by a signal after writing a checkpoint */
} unroll_status;

/* Returns the name of a status: "ok", "usage", "data", ..; NULL if there is no status of that value. Static text. */
UNROLL_API const char *unroll_status_name(unroll_status status);
/* Returns the message of this thread's last failed call: what, where, why, and how to fix it. */
UNROLL_API const char *unroll_last_error(void);
/* Returns what the last call of this thread that read data left out or decided, such as series that are too short to
 * predict: a line each; "" if nothing. */
UNROLL_API const char *unroll_last_notes(void);

typedef enum unroll_log_kind {
    UNROLL_LOG_NOTE, /* a decision that a user may want to change, as in unroll_last_notes */
    UNROLL_LOG_ERROR /* an error where it is found; the library may then try another way */
} unroll_log_kind;

/* Receives a message in one line of UTF-8 without line end, valid until it returns. arg: as passed to unroll_set_log.
 */
typedef void unroll_log(void *arg, unroll_log_kind kind, const char *line);

/* Sets the function that receives all notes and errors of this process; NULL: none, the default. It runs on the thread
 * that found the message, possibly on several at a time, and must not call the library. A message that gets more words
 * on its way to the caller is passed on again. Call this before other threads use the library. */
UNROLL_API void unroll_set_log(unroll_log *log, void *arg);

/* Returns the version of the library, "0.2.0". Static text. */
UNROLL_API const char *unroll_version(void);
/* Checks that this library can run a program that was compiled with headers of that version: pass UNROLL_VERSION_MAJOR
 * and UNROLL_VERSION_MINOR. Returns UNROLL_UNSUPPORTED if the major versions differ, the library is older, or the
 * headers are older than 0.2, since which the interface is frozen. */
UNROLL_API unroll_status unroll_version_check(int major, int minor);

/* ---- structs with a size ---------------------------------------------------------------- */

/* Most structs begin with their size, sizeof in the caller's headers, so that programs run with earlier and later
 * versions of the library (docs/reference/api-stability.md). Begin a configuration with NAME_default(), or with
 * { .size = sizeof x }, where all other fields are 0 and an inner struct of zeros has its defaults. Begin a struct that
 * a call fills with { .size = sizeof x }. Fields that the caller's headers do not have yet keep their defaults. Newer
 * fields must be 0 for an older library, otherwise it returns UNROLL_UNSUPPORTED. Flags are 0 or 1.
 *
 * Declares NAME_begin(), which writes the defaults of that many bytes, and defines NAME_default(), which returns them.
 */
#define UNROLL_DEFAULT(type)                                 \
    UNROLL_API void type##_begin(type *config, size_t size); \
    static inline type type##_default(void)                  \
    {                                                        \
        type config;                                         \
        type##_begin(&config, sizeof config);                \
        return config;                                       \
    }

/* ---- models ---------------------------------------------------------------------------- */

typedef struct unroll_model unroll_model;

/* Read and write a safetensors file with PyTorch's names; its metadata hold the network and the vocabulary. The caller
 * frees the model, after all its sessions. */
UNROLL_API unroll_status unroll_model_load(const char *path, unroll_model **model);
UNROLL_API unroll_status unroll_model_save(const unroll_model *model, const char *path);
UNROLL_API void unroll_model_free(unroll_model *model);

/* Returns the width of the last layer's output. */
UNROLL_API int unroll_model_outputs(const unroll_model *model);
/* Returns the number of target values per step: outputs divided by the outputs that the loss needs for each. Classes:
 * 1. */
UNROLL_API int unroll_model_targets(const unroll_model *model);
/* Returns the vocabulary: [input] tokens as UTF-8 strings, owned by the model; NULL if it has none. */
UNROLL_API const char *const *unroll_model_vocabulary(const unroll_model *model);
/* Returns what a text is cut into: "chars", "words" (unroll_dataset_open) or "blanks", text between white space, and
 * line ends. */
UNROLL_API const char *unroll_model_tokens(const unroll_model *model);
/* Returns a description of the training data (columns, vocabularies, scales) as a JSON object, owned by the model; NULL
 * if it has none. */
UNROLL_API const char *unroll_model_schema(const unroll_model *model);
/* For a model imported from a graph: returns the array in unroll_model_run and the order of axes of the graph's input
 * or output with that index: "output 'logits': y as [batch features time]" (docs/reference/formats.md). NULL after the
 * last. */
UNROLL_API const char *unroll_model_signature(const unroll_model *model, int index);

/* Makes a model whose weights contain the scales of the schema: inputs are numbers as in the data, outputs of a
 * regression are in the target's unit, to the last bits of a float. Streams, sessions, unroll_model_run and exports do
 * this themselves unless `raw` is set. A forecast or anomaly model becomes a network of a single series without a
 * schema: a step reads the numbers of a period, [masks,] those of the other columns (docs/guide/tasks.md), and predicts
 * the next ones. series: its name, "load", with groups "north" or "north:load"; NULL: the only one. The caller frees
 * *in_units. Returns UNROLL_USAGE if there are several series and none is given. */
UNROLL_API unroll_status unroll_model_to_units(const unroll_model *model, const char *series, unroll_model **in_units);

/* ---- where and how to run --------------------------------------------------------------- */

typedef struct unroll_comm unroll_comm; /* unroll_ranks.h */

/* How ranks share a model: the product is the number of ranks. All 0 or 1: not at all. */
typedef struct unroll_split {
    int batch;  /* each rank has some rows of every batch */
    int layer;  /* each rank has some layers; chunks let them work at the same time */
    int hidden; /* each rank has some units of every layer */
    int time;   /* each rank has some steps, run from guessed states that are repaired (docs/internals/time.md) */
} unroll_split;

enum { UNROLL_AUTO = -1 };        /* the library chooses */
enum { UNROLL_PIECE_STEPS = 64 }; /* minimum steps of a piece of time */

/* Execution settings, embedded in every configuration. Start from unroll_machine_default(). Only precision, dtype,
 * exact, the isa "amx", and pieces for cells that multiply their state change bits of the results. A call that does not
 * use a field returns an error if it is set. */
typedef struct unroll_machine {
    size_t size;           /* sizeof(unroll_machine) */
    const char *device;    /* "cpu"; "cuda" or "cuda:1"; "xla" or "xla:PLUGIN"; "cpu,opencl" (docs/howto/devices.md);
                              NULL: that of the model's sessions, otherwise the cpu */
    const char *isa;       /* a name of UNROLL_LIST_ISAS; NULL: the best of this machine */
    const char *precision; /* factors of products: "fp32", "tf32", "bf16", "fp16", if the device supports it; sums,
                              states and the model's weights are always fp32. "fp64": everything in double, on the
                              reference kernels, for checks. NULL: fp32 */
    const char *dtype;     /* weights of products in inference: "fp32", "bf16", "int8"; NULL: fp32. The model's own
                              weights stay fp32. All sessions of a model at one time must agree. */
    int threads;           /* maximum; 0: one per available processor. A part of a run that is faster on the caller's
                              thread alone stays there */
    int queues;            /* operations that may run at the same time; 0: the library chooses */
    int chunks;            /* chunks of time that may run at the same time in different layers; 0: enough to keep a
                              chunk of a long training in the caches, otherwise 1 */
    int checkpoint_time;   /* steps between stored states: backward repeats the forward of the steps between them;
                              0: everything is stored, UNROLL_AUTO: about the square root of steps */
    int pieces;            /* pieces of time that each recurrent layer runs at once, like rows, from guessed states that
                              are repaired: 1, UNROLL_AUTO or at most 64, each of 64 steps or more */
    float time_tolerance;  /* pieces: allowed difference from the serial states, relative to max(1, |state|); 0: the
                              same bits, which cells whose gates do not multiply the state always have */
    uint64_t memory;       /* limit in bytes; a plan that needs more is an error. 0: unroll_memory_limit() */
    unroll_comm *comm;     /* NULL: this process alone. Batches and the arrays of unroll_session_read and
                              unroll_session_write are whole on every rank. */
    unroll_split split;
    int workers; /* training: number of meshes, each cut by split, that do not sum each other's gradients; the rows of
                    a batch are divided among all. 0: 1. Other calls treat them as ranks along batch */
    int exact;   /* V: batches are summed as V shards, with the bits of one process for any split with up to V
                    ranks along batch; 0: the fastest order */
    const char *sum;      /* how ranks sum gradients: a name of UNROLL_LIST_SUMS; "auto" or NULL: by size */
    uint64_t reserved[6]; /* 0: this struct is part of others, so its size stays, and new fields are put here */
} unroll_machine;

UNROLL_DEFAULT(unroll_machine) /* the library chooses everything */

/* Returns the bytes that this process may use: the minimum of the machine's memory and the limits of its control groups
 * and of the process. */
UNROLL_API uint64_t unroll_memory_limit(void);
/* Lowers that limit for this process: models, files and trainings that need more are refused before they take it. 0: no
 * limit of its own. Call it before other threads use the library. */
UNROLL_API void unroll_set_memory_limit(uint64_t bytes);

/* Provides the memory of a session or stream. `allocate` returns memory aligned to at least `alignment`, a power of
 * two, or NULL; `release` gets the same pointer and size back. Both may be called from any thread that calls the
 * library. The struct is copied; `arg` must outlive the object. */
typedef struct unroll_allocator {
    size_t size; /* initialize with { .size = sizeof(unroll_allocator) } */
    void *(*allocate)(void *arg, size_t bytes, size_t alignment);
    void (*release)(void *arg, void *memory, size_t bytes);
    void *arg;
} unroll_allocator;

/* ---- whole sequences in files ----------------------------------------------------------- */

/* Settings for running a model over the arrays of a NumPy file. A .npz has, with PyTorch's shapes, "x" [T, B, input] or
 * "tokens" [T, B] (one sequence: without B); for a model with columns "tokens" [T, B, token columns] and its numbers as
 * "x". Optional are "lengths" [B] (default T) and the initial states (default zero): "h0" and, for an lstm, "c0"
 * [layers x directions, B, width], for a network of several stacks "h0.NAME". A .npy is x or tokens. Start from
 * unroll_run_config_default(). */
typedef struct unroll_run_config {
    size_t size;     /* sizeof(unroll_run_config) */
    int batch_first; /* 1: x, tokens and y are [B, T, ..]; states are not, as in PyTorch */
    unroll_machine machine;
    void (*report)(void *arg, const char *line); /* receives one line per array compared or written; may be NULL */
    void *arg;
    int raw; /* 0: numbers in the units of the data that the model was trained on; 1: as the network reads and gives
                them, scaled as the schema describes. A model without scales: no difference */
    const char *series; /* of a forecast of several series in units: whose scale it has (unroll_model_to_units) */
} unroll_run_config;

UNROLL_DEFAULT(unroll_run_config)

/* Writes "y" [T, B, output], zero after the end of a row, to a .npy, or for one sequence to a .csv with a line per
 * step. A .npz also gets the final states "hn" and "cn" in the shape of h0 and c0, and "y.NAME" of inner layers that
 * are outputs; models with such layers need a .npz. Reports the shapes and the signature. */
UNROLL_API unroll_status unroll_model_run(unroll_model *model, const char *inputs, const char *outputs,
                                          const unroll_run_config *config);

/* ---- sampling --------------------------------------------------------------------------- */

/* Start from unroll_sample_config_default(). */
typedef struct unroll_sample_config {
    size_t size;        /* sizeof(unroll_sample_config) */
    const char *prompt; /* UTF-8; NULL or "": a line end, or the first token if there is none */
    int length;         /* number of tokens */
    double temperature; /* 0: always the most probable token */
    int top_k;          /* samples from the k most probable tokens; 0: all */
    double top_p;       /* of these, the most probable with this total probability (nucleus sampling); 1: all */
    int beam;           /* 0: sampling; otherwise the width of a beam search, which writes the most probable text at the
                           end and uses no random numbers */
    uint64_t seed;
    unroll_machine machine; /* threads 0: one, because a step of one row is too small to share */
} unroll_sample_config;

UNROLL_DEFAULT(unroll_sample_config)

/* Returns whether the model predicts its own input tokens, so that it can write text. */
UNROLL_API bool unroll_model_can_sample(const unroll_model *model);
/* Calls write with each sampled token in UTF-8, never "<unk>"; a non-zero return value stops it. */
UNROLL_API unroll_status unroll_model_sample(unroll_model *model, const unroll_sample_config *config,
                                             int (*write)(void *arg, const char *symbol), void *arg);

/* ---- what the library has ---------------------------------------------------------------- */

typedef enum unroll_list_kind {
    UNROLL_LIST_CELLS, /* `cell` of a model, such as "lstm" */
    UNROLL_LIST_LOSSES,
    UNROLL_LIST_OPTIMIZERS,
    UNROLL_LIST_SCHEDULES, /* of the learning rate */
    UNROLL_LIST_TASKS,
    UNROLL_LIST_READERS, /* of data files, in the order in which they are tried */
    UNROLL_LIST_FORMATS, /* of models of other tools */
    UNROLL_LIST_DEVICES,
    UNROLL_LIST_ISAS,
    UNROLL_LIST_SUMS,        /* all-reduce algorithms: `sum` of unroll_machine */
    UNROLL_LIST_SYNCS,       /* synchronization of workers: `sync` */
    UNROLL_LIST_COMPRESSORS, /* of what workers send: `compress` */
    UNROLL_LIST_LIBRARIES    /* optional libraries */
} unroll_list_kind;

/* Fields without a meaning for a kind are 0. Texts that depend on this machine (devices, libraries) are valid until
 * this thread's next call. */
typedef struct unroll_entry {
    size_t size; /* initialize with { .size = sizeof(unroll_entry) } */
    const char *name;
    const char *about;           /* a short description, for devices what this machine has; NULL: none */
    bool available;              /* this build and this machine have it */
    bool can_import, can_export; /* formats */
    bool of_classes;             /* losses: targets are classes */
    bool has_length;             /* schedules: depend on the length of the run */
    const char *file, *fix;      /* libraries: its file, NULL if there is none, and how to install it */
} unroll_entry;

/* Sets *entry to the one with that index and returns true; false after the last one, and if entry->size is wrong (see
 * unroll_last_error). */
UNROLL_API bool unroll_list(unroll_list_kind kind, int index, unroll_entry *entry);

/* An option of a reader or a task, such as "header" of "csv", or a hyperparameter of an optimizer, "beta1" of "adam".
 */
typedef struct unroll_option {
    size_t size; /* initialize with { .size = sizeof(unroll_option) } */
    const char *name, *about;
    const char *choices; /* allowed values, separated by spaces; NULL: any text or number */
    bool is_text;        /* a text without commas, otherwise a number */
    double standard;     /* the default of a hyperparameter */
    double min, max;     /* limits of a number, which must be whole if both are */
} unroll_option;

/* Lists the options of the reader, task or optimizer of that name, like unroll_list. */
UNROLL_API bool unroll_list_option(unroll_list_kind kind, const char *name, int index, unroll_option *option);

#ifdef __cplusplus
}
#endif
#endif
