/* unroll.h: recurrent networks, trained and run at the speed of the hardware.
 *
 * This header uses a model: load, import, export, run over files, stream, sample text. unroll_train.h adds sessions and
 * training, unroll_advanced.h adds ranks, plans, integers and the library's own checks.
 *
 *     unroll_model *model;
 *     unroll_stream *stream;
 *     unroll_stream_config config = unroll_stream_default();
 *     float frame[40] = { 0 }, output[8];                      // the widths of the model's input and output
 *     if (unroll_model_load("model.safetensors", &model) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     size_t bytes = unroll_stream_bytes(model, &config);
 *     if (unroll_stream_init(malloc(bytes), bytes, model, &config, &stream) == UNROLL_OK &&
 *         unroll_stream_step(stream, frame, output) == UNROLL_OK)      // one time step; call it for each frame
 *         printf("%.4f %.4f\n", output[0], output[7]);
 *
 * Arrays are time-major: [T, B, F] is T steps of B rows (the batch) of F features.
 * One object may be used by one thread at a time. Different threads may use different objects, except that sessions of
 * one model share its weights. No function ends the process or prints. A pointer may be NULL only where its comment
 * allows it; every *_free accepts NULL.
 * Every call needs at most 256 KB of stack, apart from what drivers, plugins and MPI use and in debug builds.
 * After fork() the child can use and free models, streams and sessions. A call returns UNROLL_UNSUPPORTED there for
 * sessions on other devices than the CPU, of several ranks, or that another thread was using at the fork.
 */
#ifndef UNROLL_H
#define UNROLL_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNROLL_VERSION_MAJOR 0
#define UNROLL_VERSION_MINOR 1
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
/* What the last call of this thread that read data left out or decided, such as series that are too short to predict: a
 * line each; "" if nothing. */
UNROLL_API const char *unroll_last_notes(void);

/* Where a message comes from. */
typedef enum unroll_log_kind {
    UNROLL_LOG_NOTE, /* a decision that a user may want to change, as in unroll_last_notes */
    UNROLL_LOG_ERROR /* a message as in unroll_last_error, where it is found; the library may try another way after it
                      */
} unroll_log_kind;

/* Receives a message in one line of UTF-8 without line end, valid until it returns. arg: as passed to unroll_set_log.
 */
typedef void unroll_log(void *arg, unroll_log_kind kind, const char *line);

/* Sets the function that receives all notes and errors of this process; NULL: none, the default. It runs on the thread
 * that found the message, possibly on several at a time, and must not call the library. A message that gets more words
 * on its way to the caller is passed on again. Call this before other threads use the library. */
UNROLL_API void unroll_set_log(unroll_log *log, void *arg);

/* Returns the version of the library, "0.1.0". Static text. */
UNROLL_API const char *unroll_version(void);
/* Checks that this library can run a program that was compiled with headers of that version: pass UNROLL_VERSION_MAJOR
 * and UNROLL_VERSION_MINOR. Returns UNROLL_UNSUPPORTED if the major versions differ or the library is older. */
UNROLL_API unroll_status unroll_version_check(int major, int minor);

/* ---- structs with a size ---------------------------------------------------------------- */

/* Configurations and results begin with their size, sizeof in the caller's headers, so that programs run with earlier
 * and later versions of the library. Begin with NAME_default(), or with { .size = sizeof x }, where all other fields
 * are 0 and an inner struct of zeros has its defaults. Fields that the caller's headers do not have yet keep their
 * defaults. Newer fields must be 0 for an older library, otherwise it returns UNROLL_UNSUPPORTED.
 *
 * Declares NAME_begin(), which writes the defaults of that many bytes, and defines NAME_default(), which returns them.
 */
#define UNROLL_DEFAULT(type, name)                           \
    UNROLL_API void name##_begin(type *config, size_t size); \
    static inline type name##_default(void)                  \
    {                                                        \
        type config;                                         \
        name##_begin(&config, sizeof config);                \
        return config;                                       \
    }

/* ---- models ---------------------------------------------------------------------------- */

/* An input column of a network: categories (words, suffixes, weekdays), each with a row of an embedding, or numbers.
 * The columns are concatenated in x in the order of the list. */
enum { UNROLL_INPUTS_MAX = 16 };

typedef struct unroll_input {
    size_t size;      /* sizeof(unroll_input) */
    const char *name; /* unique, up to 31 bytes of UTF-8: its parameter is embedding.NAME.weight; may be NULL for
                         numbers or a single column */
    int tokens;       /* number of categories; 0: numbers */
    int width;        /* width of the embedding, or number of values; 0: one-hot, for a single column only */
} unroll_input;

/* A stack: layers of one cell and an optional linear head. Start from unroll_spec_default(). */
typedef struct unroll_spec {
    size_t size;      /* sizeof(unroll_spec) */
    const char *cell; /* "rnn", "rnn-relu", "lstm", "gru", "gru-before", "mingru", .. (unroll_cell_name) */
    int layers;       /* 1 .. 64 */
    int hidden;       /* units per layer and direction */
    int bidirectional;
    int projection;   /* lstm: width of h; 0: none */
    int peephole;     /* lstm */
    float clip;       /* limit of the inputs of the gates' activations; 0: none */
    int bias;         /* 1: as in PyTorch, one for x and one for h */
    float dropout;    /* between layers, in training */
    int tokens;       /* 1: inputs are token ids, 0: vectors of floats */
    int input;        /* vocabulary size, or width of the vectors */
    int embed;        /* with tokens: width of the embedding; 0: one-hot */
    int tied;         /* 1: the head uses the embedding's weights */
    const char *pool; /* between the layers and the head, for one output per sequence: "last", "mean", "max", as in
                         unroll_layer, or "mean+max", concatenated; NULL: one output per step */
    int output;       /* width of the linear head; 0: no head, the outputs are those of the last layer */
    const char *loss; /* a name of unroll_loss_name, optionally with levels; NULL or "none": none */
    /* Input columns, an array of n_inputs entries owned by the caller. If n_inputs is 0, tokens, input and embed
     * describe a single column; otherwise these are 0. */
    const unroll_input *inputs;
    int n_inputs;
    float input_dropout; /* dropout of the first layer's input, in training; not for one-hot tokens */
    const char *init;    /* as in unroll_network, like forget_bias; not stored in models */
    float forget_bias;
} unroll_spec;

/* Return the name of the cell or optimizer with that index; NULL after the last. */
UNROLL_API const char *unroll_cell_name(int index);
UNROLL_API const char *unroll_optimizer_name(int index);

/* Returns the name of the loss with that index; NULL after the last. Sets *about (a short description) and *of_classes
 * (1: targets are classes) unless they are NULL.
 *
 * "xent" is softmax cross-entropy; targets are class indices, -1 is not counted. The other losses have numbers as
 * targets and are means over the counted ones: those before the length of their row that are not NaN.
 * "mse" squared error; "mae" absolute error; "huber" as in PyTorch with delta 1; "bce" binary cross-entropy of logits
 * with targets 0..1; "poisson" negative log-likelihood of counts (0 or more), where outputs are the logarithms of the
 * rates. Three need several outputs per target, concatenated (unroll_model_targets): "quantile:0.1,0.5,0.9" pinball
 * loss with one output per level, averaged over up to 32 rising levels between 0 and 1 ("quantile" has these three);
 * "gaussian" negative log-likelihood of a mean and a raw scale r, where softplus(r) + 0.001 is the standard deviation;
 * "student-t" that of a location, a scale as before, and a raw d, where 2 + softplus(d) are the degrees of freedom. */
UNROLL_API const char *unroll_loss_name(int index, const char **about, int *of_classes);

UNROLL_DEFAULT(unroll_spec, unroll_spec) /* lstm, 1 layer, hidden 128, bias, no head */

/* One layer of a network. Start from unroll_layer_default(). */
enum { UNROLL_SOURCES_MAX = 8 };

typedef struct unroll_layer {
    size_t size;      /* sizeof(unroll_layer) */
    const char *kind; /* a cell ("lstm", "gru", ...), "dense": y = activation(W x + b), or "pool":
                         reduces all steps of a sequence to one */
    const char *name; /* prefix of its parameters, up to 63 bytes of UTF-8: NAME.weight_ih_l0, NAME.weight */
    int level;        /* recurrent: N of NAME.weight_ih_lN; layers of one stack share a name */
    int width;        /* units per direction; outputs of a dense layer; 0 for a pool (that of its input) */
    int sources;      /* number of entries of `source`; 0: the layer before, or the input */
    int source[UNROLL_SOURCES_MAX]; /* indices of earlier layers, concatenated; -1: the network's input */
    int bidirectional;
    int projection;          /* lstm: width of h; 0: none */
    int peephole;            /* lstm */
    float clip;              /* cells with gates: limit of the inputs of their activations; 0: none */
    int reverse;             /* 1: a single direction, backward in time */
    int input_forget;        /* lstm: the forget gate is 1 - the input gate */
    const char *activations; /* of a cell's gates, candidate and output: three for an lstm ("sigmoid tanh tanh"), two
                              for a gru, one for an rnn, each as in `activation`; NULL: the cell's own */
    int bias;
    float dropout;          /* of the layer's output, in training */
    const char *activation; /* dense: "relu", "softmax", "hard_sigmoid(0.2,0.5)", ...; NULL: linear */
    float alpha, beta;      /* of the activation; 0: ONNX's default */
    const char *pool;       /* pool: "mean" or "max" over the steps before a sequence's length, per unit, or "last": the
                               output of each direction at its end (the last step, backward in time the first), which
                               is PyTorch's h_n. [B, width], zeros for length 0. Only dense layers may follow */
    int output;             /* 1: the host can read its output ("y.lN"); the last layer's always */
} unroll_layer;

/* A network: up to 65 layers, ordered so that each reads earlier ones. */
typedef struct unroll_network {
    size_t size;              /* sizeof(unroll_network) */
    int tokens, input, embed; /* as in unroll_spec */
    int tied;                 /* 1: the last layer, dense and linear, uses the embedding's weights */
    const char *embedding;    /* with embed: the prefix of its parameter, NAME.weight; NULL: "embedding" */
    const char
        *loss; /* of the last layer, which must be dense, and linear for xent, bce, poisson, gaussian, student-t */
    const unroll_layer *layer; /* [layers], owned by the caller */
    int layers;
    const unroll_input *inputs; /* as in unroll_spec */
    int n_inputs;
    float input_dropout; /* dropout of the input, wherever it is read */
    const char *init; /* initial weights: "uniform" as in PyTorch; "xavier", +-sqrt(6 / (inputs + units)) for each gate;
                         or "orthogonal", xavier with orthogonal recurrent matrices. The last two have zero biases and
                         leave embeddings and peepholes uniform. NULL: uniform */
    float forget_bias; /* lstm: added to the forget gate's initial biases of x (bias_ih) */
} unroll_network;

UNROLL_DEFAULT(unroll_layer, unroll_layer) /* dense, bias */
UNROLL_DEFAULT(unroll_network, unroll_network)

typedef struct unroll_model unroll_model;

/* Makes a model with random weights: uniform in +-1/sqrt(hidden) as in PyTorch (`init`), a function of the seed only.
 * The caller frees it, after all its sessions. */
UNROLL_API unroll_status unroll_model_new(const unroll_spec *spec, uint64_t seed, unroll_model **model);
UNROLL_API void unroll_model_free(unroll_model *model);
UNROLL_API unroll_status unroll_network_new(const unroll_network *network, uint64_t seed, unroll_model **model);

/* Read and write a safetensors file with PyTorch's names; its metadata hold the network and the vocabulary. */
UNROLL_API unroll_status unroll_model_load(const char *path, unroll_model **model);
UNROLL_API unroll_status unroll_model_save(const unroll_model *model, const char *path);

/* Describe a model. `layer` stays NULL: unroll_model_layer returns them one by one. Strings and inputs belong to the
 * model, or are valid until this thread's next call. A single column is described by tokens, input and embed.
 * unroll_model_outputs returns the width of the last layer's output. */
UNROLL_API void unroll_model_describe(const unroll_model *model, unroll_network *network); /* network->size is set */
static inline void unroll_model_network(const unroll_model *model, unroll_network *network)
{
    network->size = sizeof *network;
    unroll_model_describe(model, network);
}
UNROLL_API int unroll_model_layers(const unroll_model *model);
UNROLL_API unroll_status unroll_model_describe_layer(const unroll_model *model, int index, unroll_layer *layer);
static inline unroll_status unroll_model_layer(const unroll_model *model, int index, unroll_layer *layer)
{
    layer->size = sizeof *layer;
    return unroll_model_describe_layer(model, index, layer);
}
UNROLL_API int unroll_model_outputs(const unroll_model *model);
/* Returns the number of target values per step: outputs divided by the outputs that the loss needs for each.
 * Classes: 1. */
UNROLL_API int unroll_model_targets(const unroll_model *model);
/* Returns 1 and sets *spec if the model is a stack, whatever its layers are named; otherwise 0. */
UNROLL_API int unroll_model_describe_spec(const unroll_model *model, unroll_spec *spec);
static inline int unroll_model_spec(const unroll_model *model, unroll_spec *spec)
{
    spec->size = sizeof *spec;
    return unroll_model_describe_spec(model, spec);
}

/* A parameter. data is the model's own memory, [shape] in row-major order. Sessions that are made later use values
 * written there; existing sessions need unroll_session_push. */
typedef struct unroll_parameter {
    const char *name; /* "rnn.weight_ih_l0" */
    int rank;         /* 1 or 2 */
    int shape[2];
    float *data;
} unroll_parameter;

UNROLL_API int unroll_model_parameters(const unroll_model *model);
UNROLL_API unroll_status unroll_model_parameter(unroll_model *model, int index, unroll_parameter *parameter);

/* The unit of a text. */
typedef enum unroll_token_kind {
    UNROLL_CHARACTERS,
    UNROLL_WORDS, /* see unroll_data_open */
    UNROLL_BLANKS /* text between white space, and line ends */
} unroll_token_kind;

/* Returns the vocabulary: [input] tokens as UTF-8 strings, owned by the model; NULL if it has none.
 * unroll_model_set_schema sets that of a data set. */
UNROLL_API const char *const *unroll_model_vocabulary(const unroll_model *model);
UNROLL_API unroll_token_kind unroll_model_token_kind(const unroll_model *model);

/* Returns a description of the training data (columns, vocabularies, scales) as a JSON object, owned by the model; NULL
 * if it has none. */
UNROLL_API const char *unroll_model_schema(const unroll_model *model);

/* For a model imported from a graph: returns the array in unroll_run and the order of axes of the graph's input or
 * output with that index: "output 'logits': y as [batch features time]" (docs/reference/formats.md). NULL after the
 * last. */
UNROLL_API const char *unroll_model_signature(const unroll_model *model, int index);

/* ---- where and how to run --------------------------------------------------------------- */

typedef struct unroll_comm unroll_comm; /* ranks: unroll_advanced.h */

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
    const char *device;    /* "cpu"; "cuda" or "cuda:1": docs/howto/cuda.md; "xla" or "xla:PLUGIN": docs/howto/xla.md;
                              "cpu,opencl": docs/howto/devices.md;
                              NULL: that of the model's sessions, otherwise the cpu */
    const char *isa;       /* a name of unroll_isa_name; NULL: the best of this machine */
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
                              are repaired: 1, UNROLL_AUTO or at most 64, each of 64 steps or more
                              (docs/internals/time.md) */
    float time_tolerance; /* pieces: allowed difference from the serial states, relative to max(1, |state|); 0: the same
                             bits, which cells whose gates do not multiply the state always have */
    uint64_t memory;      /* limit in bytes; a plan that needs more is an error. 0: unroll_memory_limit() */
    unroll_comm *comm;    /* NULL: this process alone. Batches and the arrays of unroll_read and unroll_write are
                             whole on every rank. */
    unroll_split split;
    int workers; /* training: number of meshes, each cut by split, that do not sum each other's gradients; the rows of
                    a batch are divided among all. 0: 1. Other calls treat them as ranks along batch */
    int exact;   /* V: batches are summed as V shards, with the bits of one process for any split with up to V
                    ranks along batch; 0: the fastest order */
    const char *sum;      /* how ranks sum gradients: a name of unroll_sum_name; "auto" or NULL: by size */
    uint64_t reserved[6]; /* 0: this struct is part of others, so its size stays, and new fields are put here */
} unroll_machine;

UNROLL_DEFAULT(unroll_machine, unroll_machine) /* the library chooses everything */

/* ---- models of other tools ------------------------------------------------------------- */

/* Returns the name of the format with that index, such as "torch"; NULL after the last. Sets its directions and a short
 * description unless they are NULL. */
UNROLL_API const char *unroll_format_name(int index, int *can_import, int *can_export, const char **about);

/* Start from unroll_import_default(), which leaves everything to the file. */
typedef struct unroll_import_config {
    size_t size;              /* sizeof(unroll_import_config) */
    const char *format;       /* NULL: found from the file's name and content */
    const char *prefix;       /* torch: reads only tensors with this prefix */
    const char *order;        /* torch: modules from the input on, "embed,gru:before,fc:relu,out", with the activations
                                 of linear layers, the reset of a GRU, the nonlinearity of an RNN; NULL: the file's, or
                                 the only order that the shapes allow */
    const char *nonlinearity; /* torch: "tanh" or "relu" of an RNN whose file does not contain it; NULL: tanh */
    const char *gru_reset;    /* "after" or "before", for a GRU whose file is ambiguous; NULL: an error */
    void (*report)(void *arg, const char *line); /* receives one line per finding; may be NULL */
    void *arg;
} unroll_import_config;

UNROLL_DEFAULT(unroll_import_config, unroll_import)

/* Strict: whatever a model cannot represent, and what is unknown, unused or missing, is an error that names it. */
UNROLL_API unroll_status unroll_import(const char *path, const unroll_import_config *config, unroll_model **model);

/* Start from unroll_export_default() and choose a format. */
typedef struct unroll_export_config {
    size_t size; /* sizeof(unroll_export_config) */
    const char *format;
    const char *prefix; /* torch: prefix of all tensor names; NULL: none. c99: name of the files, the struct and the
                           functions; NULL: "unroll_model" */
    const char *dtype;  /* type of weights, if the format has a choice: "fp32", "fp16", "bf16", for c99 "fp32",
                           "int8"; NULL: fp32 */
    const char *calibration; /* c99 in int8: typical inputs, .npy [T, input], [T, B, input] or tokens [T], [T, B] (with
                                columns .npz of tokens [T, B, token columns] and x); NULL: noise of variance 1, tokens
                                of equal probability */
    int json;                /* 1: the report is one JSON object, if the format supports it */
    int opset;               /* ONNX; 0: the format's default */
    int steps, rows;         /* stablehlo: fixed shape of the program */
    int lanes, operand_bits; /* verilog: products per clock, 0: the useful number; bits of the operand: 8 or 16 */
    double delta;            /* verilog: products skip inputs that moved by no more than this; -1: never */
    const char *target;      /* verilog: "generic" (NULL), "ice40", "ecp5", "gowin", "xilinx" */
    const char *store; /* verilog: memory of weights: "rom" (NULL), "ram", which can be loaded, "spram" of an ice40 */
    const char *head;  /* verilog: "linear" (NULL), the results; "class", the index of the largest */
    void (*report)(void *arg, const char *line); /* receives one line per note; may be NULL */
    void *arg;
} unroll_export_config;

UNROLL_DEFAULT(unroll_export_config, unroll_export)

/* Whatever the format cannot represent is an error. Files appear whole or not at all. */
UNROLL_API unroll_status unroll_export(const unroll_model *model, const char *path, const unroll_export_config *config);

/* ---- whole sequences in files ----------------------------------------------------------- */

/* Settings for running a model over the arrays of a NumPy file. A .npz has, with PyTorch's shapes, "x" [T, B, input] or
 * "tokens" [T, B] (one sequence: without B); for a model with columns "tokens" [T, B, token columns] and its numbers as
 * "x". Optional are "lengths" [B] (default T) and the initial states (default zero): "h0" and, for an lstm, "c0"
 * [layers x directions, B, width], for a network of several stacks "h0.NAME". A .npy is x or tokens. Start from
 * unroll_arrays_default(). */
typedef struct unroll_arrays_config {
    size_t size;     /* sizeof(unroll_arrays_config) */
    int batch_first; /* 1: x, tokens and y are [B, T, ..]; states are not, as in PyTorch */
    unroll_machine machine;
    void (*report)(void *arg, const char *line); /* receives one line per array compared or written; may be NULL */
    void *arg;
} unroll_arrays_config;

UNROLL_DEFAULT(unroll_arrays_config, unroll_arrays)

/* Writes "y" [T, B, output], zero after the end of a row, to a .npy, or for one sequence to a .csv with a line per
 * step. A .npz also gets the final states "hn" and "cn" in the shape of h0 and c0, and "y.NAME" of inner layers that
 * are outputs; models with such layers need a .npz. Reports the shapes and the signature. */
UNROLL_API unroll_status unroll_run(unroll_model *model, const char *inputs, const char *outputs,
                                    const unroll_arrays_config *config);

/* ---- streams: one time step at a time, in the caller's memory --------------------------- */

/* A stream runs a unidirectional model step by step, for real time: a step computes on the caller's thread and makes no
 * allocation, lock, system call or page fault (docs/howto/realtime.md). Its outputs have the bits of unroll_forward
 * over the whole sequence, in a session with weights of the same dtype. Start from unroll_stream_default(). */
typedef struct unroll_stream_weights unroll_stream_weights;

typedef struct unroll_stream_config {
    size_t size;                          /* sizeof(unroll_stream_config) */
    int rows;                             /* B: independent sequences that step together */
    unroll_machine machine;               /* only isa and dtype are used */
    const unroll_stream_weights *weights; /* shared with other streams; NULL: packed inside the stream */
} unroll_stream_config;

UNROLL_DEFAULT(unroll_stream_config, unroll_stream) /* 1 row, fp32, weights of its own */

typedef struct unroll_stream unroll_stream;

/* Returns the number of bytes a stream needs, or 0 if the configuration is invalid (see unroll_last_error). */
UNROLL_API size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config);
/* Makes a stream with zero states in the caller's memory, which is all that it uses; the caller frees that memory. It
 * must be aligned as by malloc, best to 64 bytes. The model may be freed afterwards, shared weights must stay. A stream
 * has no pointer into itself: memcpy of its bytes makes an independent copy. It uses the weights in the model's own
 * memory (unroll_session_pull copies trained weights there). Its numbers are the network's own: call
 * unroll_model_in_units() first for a model that was trained on data whose columns were scaled. */
UNROLL_API unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                            const unroll_stream_config *config, unroll_stream **stream);

/* Packed weights for any number of streams on any threads, which only read them. rows and weights of the configuration
 * are ignored. */
UNROLL_API size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *config);
UNROLL_API unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                                    const unroll_stream_config *config,
                                                    unroll_stream_weights **weights);

/* Computes one step: inputs [B, input]; outputs [B, output], for a model without head [B, width of h], for a model with
 * a pool those of the sequences so far. If an input is not finite, it returns an error and changes nothing. */
UNROLL_API unroll_status unroll_stream_step(unroll_stream *stream, const float *inputs, float *outputs);
/* The same for a model of tokens: tokens [B], or [B, token columns]. */
UNROLL_API unroll_status unroll_stream_step_tokens(unroll_stream *stream, const int32_t *tokens, float *outputs);
/* The same for any model: tokens [B, token columns] and inputs [B, numbers]; NULL if it has none. */
UNROLL_API unroll_status unroll_stream_step_mixed(unroll_stream *stream, const int32_t *tokens, const float *inputs,
                                                  float *outputs);
/* Many steps: the arrays of a step with a leading axis of steps. After an error the stream is in the state before the
 * step that failed. */
UNROLL_API unroll_status unroll_stream_run(unroll_stream *stream, int steps, const float *inputs, float *outputs);
UNROLL_API unroll_status unroll_stream_run_tokens(unroll_stream *stream, int steps, const int32_t *tokens,
                                                  float *outputs);
UNROLL_API unroll_status unroll_stream_run_mixed(unroll_stream *stream, int steps, const int32_t *tokens,
                                                 const float *inputs, float *outputs);

/* Copies the output of an inner layer in the last step, [B, width], if it is marked as an output (unroll_layer). */
UNROLL_API unroll_status unroll_stream_read(const unroll_stream *stream, int layer, float *to);

/* Resets the states of a row to zero; row -1: of all rows. */
UNROLL_API unroll_status unroll_stream_reset(unroll_stream *stream, int row);

/* Save and load the states as bytes with a header, the same on every ISA. Load checks the header, a checksum and the
 * values before anything changes; the stream must have the same cell, layers, widths and rows. */
UNROLL_API size_t unroll_stream_state_bytes(const unroll_stream *stream);
UNROLL_API unroll_status unroll_stream_save(const unroll_stream *stream, void *state, size_t bytes);
UNROLL_API unroll_status unroll_stream_load(unroll_stream *stream, const void *state, size_t bytes);

UNROLL_API int unroll_stream_inputs(const unroll_stream *stream);  /* numbers per row; without numbers: its tokens */
UNROLL_API int unroll_stream_tokens(const unroll_stream *stream);  /* token columns per row, 0 or more */
UNROLL_API int unroll_stream_outputs(const unroll_stream *stream); /* outputs per row */
UNROLL_API const char *unroll_stream_isa(const unroll_stream *stream);

/* ---- sampling --------------------------------------------------------------------------- */

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

UNROLL_DEFAULT(unroll_sample_config, unroll_sample)

/* Returns 1 if the model predicts its own input tokens, so that it can write text. */
UNROLL_API int unroll_can_sample(const unroll_model *model);
/* Calls write with each sampled token in UTF-8, never "<unk>"; a non-zero return value stops it. */
UNROLL_API unroll_status unroll_sample(unroll_model *model, const unroll_sample_config *config,
                                       int (*write)(void *arg, const char *symbol), void *arg);

/* ---- this machine ----------------------------------------------------------------------- */

/* Returns the bytes that this process may use: the minimum of the machine's memory and the limits of its control groups
 * and of the process. */
UNROLL_API uint64_t unroll_memory_limit(void);
/* Lowers that limit for this process: models, files and trainings that need more are refused before they take it. 0: no
 * limit of its own. Call it before other threads use the library. */
UNROLL_API void unroll_set_memory_limit(uint64_t bytes);

/* Returns the name of the device with that index; NULL after the last. Sets *available (1: this machine has one) and
 * *about (what it is, or why there is none; valid until this thread's next call). */
UNROLL_API const char *unroll_device_name(int index, int *available, const char **about);

/* Returns the name of the ISA with that index; NULL after the last. Sets *available: this build and this machine have
 * it. */
UNROLL_API const char *unroll_isa_name(int index, int *available);

#ifdef __cplusplus
}
#endif
#endif
