/* unroll.h: recurrent networks, trained and run at the speed of the hardware.
 *
 * Read it top-down: what can go wrong, models, models of other tools, sessions (a model ready to run on a device),
 * text, training, the plan. Arrays are time-major: [T, B, F] is T steps of B rows of F numbers.
 * Nothing here is thread-safe on one object; different objects may be used by different threads,
 * except that sessions of one model share its weights. No function ends the process or prints. Pointers may be NULL
 * only where it is said; every *_free takes NULL.
 * 256 KB of stack are enough for any call (drivers, plugins and MPI take what they take; not in builds for debugging).
 * A child that fork() made goes on with models, streams and sessions, and may free them; sessions on other devices than
 * the CPU, of several ranks, or that another thread was in at the fork are refused there (UNROLL_UNSUPPORTED).
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

/* ---- what can go wrong ----------------------------------------------------------------- */

/* The values are the exit codes of the command. */
typedef enum unroll_status {
    UNROLL_OK            = 0,
    UNROLL_FAILURE       = 1,
    UNROLL_USAGE         = 2,      /* the caller asked for something that has no meaning */
    UNROLL_DATA          = 3,      /* a file or an input array is missing, damaged or of the wrong kind */
    UNROLL_UNSUPPORTED   = 4,
    UNROLL_RESOURCE      = 5,      /* memory or device */
    UNROLL_DIVERGED      = 6,      /* a loss or a gradient is NaN or infinite */
    UNROLL_COMMUNICATION = 7,
    UNROLL_PREEMPTED     = 75,     /* asked to stop; a checkpoint was written */
} unroll_status;

/* What, where, why and how to mend the last call of this thread that did not return UNROLL_OK. */
UNROLL_API const char *unroll_last_error(void);

UNROLL_API const char *unroll_version(void);        /* "0.1.0" */

/* ---- models ---------------------------------------------------------------------------- */

typedef enum unroll_loss {
    UNROLL_LOSS_NONE,
    UNROLL_LOSS_XENT,               /* softmax cross-entropy; targets are class numbers, -1 is not counted */
    UNROLL_LOSS_MSE                 /* squared error: mean over the outputs, then over the rows that count */
} unroll_loss;

/* A stack, layers of one cell and perhaps a linear head: the short way to write a network. Begin with the default. */
typedef struct unroll_spec {
    size_t      size;               /* sizeof(unroll_spec) */
    const char *cell;               /* "rnn", "rnn-relu", "lstm", "gru", "gru-before", "mingru" */
    int         layers;             /* 1 .. 64 */
    int         hidden;             /* units of a layer and direction */
    int         bidirectional;
    int         projection;         /* lstm: width of h; 0: none */
    int         peephole;           /* lstm */
    float       clip;               /* limit of what enters the gates' activations; 0: none */
    int         bias;               /* 1: as PyTorch, one for x and one for h */
    float       dropout;            /* between layers, in training */
    int         tokens;             /* 1: inputs are symbol numbers, 0: vectors of floats */
    int         input;              /* number of symbols, or width of the vectors */
    int         embed;              /* with tokens: width of the embedding; 0: one-hot */
    int         tied;               /* the head uses the embedding's weights */
    int         output;             /* width of the linear head; 0: none, the outputs are the last layer's */
    unroll_loss loss;
} unroll_spec;

/* The cells and the optimizers by name, in order; NULL after the last. */
UNROLL_API const char *unroll_cell_name(int index);
UNROLL_API const char *unroll_optimizer_name(int index);

UNROLL_API unroll_spec unroll_spec_default(void);   /* lstm, 1 layer, hidden 128, bias, no head */

/* One layer of a network. Begin with unroll_layer_default(). */
enum { UNROLL_SOURCES_MAX = 8 };

typedef struct unroll_layer {
    size_t      size;               /* sizeof(unroll_layer) */
    const char *kind;               /* a cell ("lstm", "gru", ...) or "dense": y = activation(W x + b) */
    const char *name;               /* of its parameters, to 63 bytes of UTF-8: NAME.weight_ih_l0, NAME.weight */
    int         level;              /* recurrent: N of NAME.weight_ih_lN; layers of one stack share a name */
    int         width;              /* units of a direction; outputs of a dense layer */
    int         sources;            /* how many of `source` it reads; 0: the layer before, or the input */
    int         source[UNROLL_SOURCES_MAX];     /* earlier layers, put side by side; -1: the network's input */
    int         bidirectional;
    int         projection;         /* lstm: width of h; 0: none */
    int         peephole;           /* lstm */
    float       clip;               /* of any cell with functions: limit of what enters those of the gates; 0: none */
    int         reverse;            /* one direction, backward in time */
    int         coupled;            /* lstm: the forget gate is 1 - the input gate */
    const char *functions;          /* of a cell's gates, candidate and output: "sigmoid tanh tanh" of the lstm, two
                                       of a gru, one of an rnn, each as in `activation`; NULL: its own */
    int         bias;
    float       dropout;            /* of what the layer gives, in training */
    const char *activation;         /* dense: "relu", "softmax", "hard_sigmoid(0.2,0.5)", ...; NULL: linear */
    float       alpha, beta;        /* of the activation; 0: ONNX's default */
    int         output;             /* 1: the host reads what it gives ("y.lN"); of the last always */
} unroll_layer;

/* A network: up to 65 layers, in an order in which each reads earlier ones. */
typedef struct unroll_network {
    size_t      size;               /* sizeof(unroll_network) */
    int         tokens, input, embed;           /* as in unroll_spec */
    int         tied;               /* the last layer, dense and linear, multiplies by the embedding's weights */
    const char *embedding;          /* with embed: the name of its parameter, NAME.weight; NULL: "embedding" */
    unroll_loss loss;               /* of the last layer, which must be dense; XENT wants it linear */
    const unroll_layer *layer;      /* [layers], the caller's */
    int         layers;
} unroll_network;

UNROLL_API unroll_layer unroll_layer_default(void);         /* dense, bias */
UNROLL_API unroll_network unroll_network_default(void);

typedef struct unroll_model unroll_model;

/* A model with random weights: uniform in +-1/sqrt(hidden) as in PyTorch, a function of the seed
 * alone. The caller frees it, after all sessions of it. */
UNROLL_API unroll_status unroll_model_new(const unroll_spec *spec, uint64_t seed, unroll_model **model);
UNROLL_API void unroll_model_free(unroll_model *model);
UNROLL_API unroll_status unroll_network_new(const unroll_network *network, uint64_t seed, unroll_model **model);

/* safetensors with PyTorch's names; the network and the symbols are in its metadata. */
UNROLL_API unroll_status unroll_model_load(const char *path, unroll_model **model);
UNROLL_API unroll_status unroll_model_save(const unroll_model *model, const char *path);

/* What a model is; `layer` stays NULL: they are asked for one by one. Strings belong to the model, or are good until
 * this thread's next call. Outputs: the width of what the last layer gives. */
UNROLL_API void unroll_model_network(const unroll_model *model, unroll_network *network);
UNROLL_API int unroll_model_layers(const unroll_model *model);
UNROLL_API unroll_status unroll_model_layer(const unroll_model *model, int index, unroll_layer *layer);
UNROLL_API int unroll_model_outputs(const unroll_model *model);
/* 1: it is a stack, and *spec says which, whatever its layers are named; 0: it is none. */
UNROLL_API int unroll_model_spec(const unroll_model *model, unroll_spec *spec);

/* A parameter by index; data is the model's own memory, [shape] row by row. What is written there reaches sessions
 * that are made when there is none, others by unroll_session_push. */
typedef struct unroll_parameter {
    const char *name;               /* "rnn.weight_ih_l0" */
    int         rank;               /* 1 or 2 */
    int         shape[2];
    float      *data;
} unroll_parameter;

UNROLL_API int unroll_model_parameters(const unroll_model *model);
UNROLL_API unroll_status unroll_model_parameter(unroll_model *model, int index, unroll_parameter *parameter);

/* What one symbol of a text is. */
typedef enum unroll_symbol_kind {
    UNROLL_CHARACTERS,
    UNROLL_WORDS                    /* see unroll_text_open_words */
} unroll_symbol_kind;

/* Symbols of the tokens as UTF-8 strings, [input] of them; NULL where the model has none.
 * Set copies characters, or the symbols of a text, whatever they are; the array belongs to the model. */
typedef struct unroll_text unroll_text;
UNROLL_API const char *const *unroll_model_symbols(const unroll_model *model);
UNROLL_API unroll_symbol_kind unroll_model_symbol_kind(const unroll_model *model);
UNROLL_API unroll_status unroll_model_set_symbols(unroll_model *model, const char *const *symbols, int count);
UNROLL_API unroll_status unroll_model_set_symbols_of(unroll_model *model, const unroll_text *text);

/* An input or output of the graph that a model was imported from, as an array of unroll_run. */
typedef struct unroll_signature {
    const char *name;               /* in the graph */
    int         output;             /* 0: an input */
    const char *array;              /* "x", "tokens", "lengths", "y", "y.NAME"; "y[-1]" the last step, "y[lengths-1]" the
                                       last of each row; "hn[0,1]" entries 0 and 1 of hn, side by side, or "h0[0]",
                                       with " + " between several arrays */
    const char *axes;               /* of the graph, in order: "batch time features"; "time*batch" two as one; a number: an
                                       axis of so many entries, which the features of `array` are in turn (or planes) */
} unroll_signature;

/* Entry `index`, which belongs to the model; 0: there are no more. */
UNROLL_API int unroll_model_signature(const unroll_model *model, int index, unroll_signature *entry);

/* ---- models of other tools ------------------------------------------------------------- */

/* Formats by name, "torch" and so on; NULL ends. What is not NULL is set: which ways it goes, and a few words
 * about it. */
UNROLL_API const char *unroll_format_name(int index, int *can_import, int *can_export, const char **about);

/* Begin with unroll_import_default(), which leaves all to the file. */
typedef struct unroll_import_config {
    size_t      size;               /* sizeof(unroll_import_config) */
    const char *format;             /* NULL: found from the file's name and content */
    const char *prefix;             /* torch: only the tensors whose names begin with it */
    const char *order;              /* torch: the modules from the input on, "embed,gru:before,fc:relu,out", with
                                       the activations of linear ones, the reset of a GRU, the nonlinearity of an RNN;
                                       NULL: the file's, or the one order that their shapes allow */
    const char *nonlinearity;       /* torch: "tanh" or "relu" of an RNN, whose file does not say; NULL: tanh */
    const char *gru_reset;          /* "after", "before": of a GRU whose file leaves it in doubt; NULL: refused */
    void      (*report)(void *arg, const char *line);   /* gets a line for each thing found; or NULL */
    void       *arg;
} unroll_import_config;

UNROLL_API unroll_import_config unroll_import_default(void);

/* Strict: what a file has and a model can't hold, what is unknown, unused or missing is an error that names it. */
UNROLL_API unroll_status unroll_import(const char *path, const unroll_import_config *config, unroll_model **model);

/* Begin with unroll_export_default() and choose a format. */
typedef struct unroll_export_config {
    size_t      size;               /* sizeof(unroll_export_config) */
    const char *format;
    const char *prefix;             /* torch: put before the names of all tensors; NULL: none. c99: the name of the
                                       files, the struct and the functions; NULL: "unroll_model" */
    const char *dtype;              /* of weights, where the format has a choice: "fp32", "fp16", "bf16", of c99 "fp32",
                                       "int8"; NULL: fp32 */
    const char *calibration;        /* c99 in int8: inputs like those to come, .npy [T, input], [T, B, input] or of tokens
                                       [T], [T, B]; NULL: noise of variance 1, tokens of equal probability */
    int         json;               /* 1: the format's report is one JSON object, where it has one */
    int         opset;              /* ONNX; 0: the format's default */
    int         steps, rows;        /* stablehlo: of the program, whose shapes are fixed */
    void      (*report)(void *arg, const char *line);   /* gets a line for each thing to know; or NULL */
    void       *arg;
} unroll_export_config;

UNROLL_API unroll_export_config unroll_export_default(void);

/* What the format can't say of the model is refused. Files appear whole or not at all. */
UNROLL_API unroll_status unroll_export(const unroll_model *model, const char *path,
                                       const unroll_export_config *config);

/* ---- integers: what exported C computes in int8 ------------------------------------------ */

/* The reference of `unroll export --to c99 --weights int8`: int8 weights, 16-bit fixed point, one row, step by step,
 * with the bits of the exported C (docs/microcontrollers.md). To measure what that costs; not fast. */
typedef struct unroll_integer unroll_integer;

/* Inputs like those to come: formats are chosen by the magnitudes that they cause. All NULL: noise. */
typedef struct unroll_calibration {
    size_t         size;            /* sizeof(unroll_calibration) */
    const float   *inputs;          /* [steps, rows, input], or .. */
    const int32_t *tokens;          /* .. [steps, rows]; each row begins with zero states */
    int            steps, rows;
} unroll_calibration;

UNROLL_API unroll_calibration unroll_calibration_default(void);

/* The model must outlive it. calibration may be NULL. */
UNROLL_API unroll_status unroll_integer_new(const unroll_model *model, const unroll_calibration *calibration,
                                            unroll_integer **integer);
UNROLL_API void unroll_integer_free(unroll_integer *integer);
/* Inputs beyond their format saturate, NaN counts as 0; a token that there is none of gives zeros. */
UNROLL_API unroll_status unroll_integer_step(unroll_integer *integer, const float *inputs, float *outputs);
UNROLL_API unroll_status unroll_integer_step_token(unroll_integer *integer, int32_t token, float *outputs);
UNROLL_API void unroll_integer_reset(unroll_integer *integer);

/* ---- ranks: one model on many processes ------------------------------------------------- */

/* Each process of a parallel run is a rank, started by mpirun or srun (docs/parallel.md). What takes a comm is called
 * by all ranks in the same order with the same arguments, gives all of them the same status, and waits for nobody
 * longer than the deadline: after UNROLL_COMMUNICATION the other ranks are lost, and only unroll_comm_abort is left
 * to do. One thread of a rank makes these calls. */
typedef struct unroll_comm unroll_comm;

/* engine: "mpi", an MPI library found now; "self", this process alone; NULL: mpi if we were started as one of several
 * ranks. Seconds that a wait may last. Once a process. */
UNROLL_API unroll_status unroll_comm_open(const char *engine, double deadline, unroll_comm **comm);
UNROLL_API void unroll_comm_close(unroll_comm *comm);
UNROLL_API int unroll_comm_rank(const unroll_comm *comm);
UNROLL_API int unroll_comm_ranks(const unroll_comm *comm);
/* How many ranks whatever started this process says that it started; 1 if nothing says so. */
UNROLL_API int unroll_comm_launched(void);
/* The first failure of a rank becomes everybody's. */
UNROLL_API unroll_status unroll_comm_agree(unroll_comm *comm, unroll_status mine);
/* Sums of all ranks, in place. */
UNROLL_API unroll_status unroll_comm_sum(unroll_comm *comm, double *numbers, int count);
/* Seconds of this rank so far in which sums were under way or a message was waited for; and of them those in which it
 * did nothing but wait: exposed. */
UNROLL_API void unroll_comm_seconds(const unroll_comm *comm, double *communication, double *exposed);
/* Bytes of all messages of this rank so far; what MPI's own sums (sum = "native") send is not known and not counted. */
UNROLL_API uint64_t unroll_comm_sent(const unroll_comm *comm);
/* After a wait that failed: the first rank that still answers, which may report for all; before, -1. */
UNROLL_API int unroll_comm_first(const unroll_comm *comm);
/* Ends all ranks with this exit code. */
UNROLL_API void unroll_comm_abort(unroll_comm *comm, int code);

/* How a model is cut over the ranks: their product is the number of ranks. All 0 or 1: not at all. */
typedef struct unroll_mesh {
    int batch;                      /* each has some rows of every batch */
    int layer;                      /* each has some layers; chunks let them work at the same time */
    int hidden;                     /* each has some units of every layer */
} unroll_mesh;

/* ---- sessions: a model ready to run on a device ---------------------------------------- */

typedef enum unroll_mode {
    UNROLL_INFER,                   /* outputs */
    UNROLL_EVAL,                    /* loss */
    UNROLL_TRAIN,                   /* loss, gradients, update */
    UNROLL_MODULE                   /* outputs, then gradients from the outputs' gradient */
} unroll_mode;

enum { UNROLL_AUTO = -1 };          /* the library chooses */

/* Begin with unroll_session_default(). Results do not depend on threads, lanes, chunks and checkpoints: not by a
 * bit. */
typedef struct unroll_session_config {
    size_t      size;               /* sizeof(unroll_session_config) */
    unroll_mode mode;
    int         steps, rows;        /* T and B of every batch */
    int         lengths;            /* 1: batches come with the length of each row, 0 .. steps */
    int         resets;             /* 1: batches say where rows start anew */
    int         carry;              /* 1: a run starts from the states the last one left */
    int         input_gradient;     /* 1: the gradient of float inputs is wanted */
    int         no_dropout;         /* 1: train, modules: nothing is dropped; infer and eval never drop */
    const char *optimizer;          /* "sgd", "momentum", "rmsprop", "adam", "adamw" */
    uint64_t    seed;               /* of dropout masks */
    int         threads;            /* at most so many, 0: one for each processor that we may use; a part of a
                                       run that is faster on the caller's thread alone stays there */
    int         lanes;              /* operations that may run side by side; 0: the library chooses */
    int         chunks;             /* pieces of time that may run side by side in different layers; 0: as many as
                                       keep a piece of a long training in the caches, otherwise 1 */
    int         checkpoint_time;    /* steps after which states are kept: backward makes what lies between them
                                       again; 0: all is kept, UNROLL_AUTO: about the square root of steps */
    int         shards;             /* of the batch, whose gradients are summed in a tree */
    const char *device;             /* "cpu"; "cuda" or "cuda:1": docs/cuda.md; "xla" or "xla:PLUGIN": docs/xla.md;
                                       NULL: the one that the model's sessions are on, else the cpu */
    const char *isa;                /* a name of unroll_isa_name; NULL: the best this machine has */
    const char *precision;          /* what products multiply: "fp32", "tf32", "bf16", "fp16", where the device does it;
                                       sums, states and the model's weights are fp32 in all of them. NULL: fp32 */
    const char *weights;            /* infer, eval: "fp32", "bf16", "int8" in products; NULL: fp32. The model's own
                                       weights stay fp32. All sessions of a model at one time are alike. */
    int         double_precision;   /* on the reference kernels: for checks */
    uint64_t    memory;             /* bytes; a plan that needs more is refused. 0: unroll_memory_limit() */
    int         profile;            /* 1: the time of each operation is taken, for unroll_session_operation */
    unroll_comm *comm;              /* NULL: this process alone. Batches and the arrays of unroll_read and
                                       unroll_write are the whole ones on every rank. */
    unroll_mesh mesh;
    int         exact;              /* 1: the bits of one process with as many shards, whatever the mesh; what can't
                                       have them is refused */
    const char *sum;                /* how ranks add up gradients: "ring", "halving", "tree", "star", "mesh"; "native":
                                       MPI's own; "auto" or NULL: by size */
} unroll_session_config;

UNROLL_API unroll_session_config unroll_session_default(void);  /* infer, 1 step, 1 row, adam */

typedef struct unroll_session unroll_session;

/* All memory is taken here: no later call allocates. Sessions of one model on one device share its
 * weights: what one trains the others use. The model must outlive the session. */
UNROLL_API unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config,
                                            unroll_session **session);
UNROLL_API void unroll_session_free(unroll_session *session);

/* Arrays of one batch, all time-major and owned by the caller; those that the model or the session does
 * not use are NULL. Where t >= lengths[b] their contents do not matter. */
typedef struct unroll_batch {
    const int32_t *tokens;          /* [T, B] symbol numbers */
    const float   *inputs;          /* [T, B, input] */
    const int32_t *classes;         /* [T, B] targets of cross-entropy, -1: not counted */
    const float   *values;          /* [T, B, output] targets of squared error */
    const int32_t *lengths;         /* [B] */
    const uint8_t *reset;           /* [T, B] 1: the states before this step are zero */
} unroll_batch;

/* Checks the batch (numbers in range, no NaN or infinity in inputs) before anything changes. NULL: the batch of the
 * forward before, which lies on the device. */
UNROLL_API unroll_status unroll_forward(unroll_session *session, const unroll_batch *batch);
/* After a forward; adds to the gradients, so that several batches may share one update. */
UNROLL_API unroll_status unroll_backward(unroll_session *session);

typedef struct unroll_rates {
    size_t size;                    /* sizeof(unroll_rates) */
    double learning_rate, momentum, beta1, beta2, epsilon, decay;   /* momentum and betas: 0 .. less than 1 */
    double clip;                    /* limit of the norm of the mean gradient; 0: none */
} unroll_rates;

UNROLL_API unroll_rates unroll_rates_default(const char *optimizer);

/* What a step found. The update is left out, and the gradients dropped, when the norm is not finite;
 * the status is then UNROLL_DIVERGED. */
typedef struct unroll_result {
    double loss;                    /* mean over what was counted, nats or squared error */
    double weight;                  /* how many were counted */
    double norm;                    /* of the mean gradient, before clipping; of an update only */
} unroll_result;

/* The mean loss of all forwards since a result was last given; after unroll_step the norm of the last step, too. */
UNROLL_API unroll_status unroll_loss_result(unroll_session *session, unroll_result *result);
/* result NULL: later, by unroll_loss_result. */
UNROLL_API unroll_status unroll_update(unroll_session *session, const unroll_rates *rates, unroll_result *result);
/* Forward, backward and update of one batch: the last, if others went before it without an update. Ranks add up
 * gradients while backward makes the next ones (apart, unroll_update adds them up). On devices that run a step as one
 * program nothing is waited for if result is NULL: unroll_loss_result then gives the mean since the last result, and
 * finds a step that diverged. */
UNROLL_API unroll_status unroll_step(unroll_session *session, const unroll_batch *batch, const unroll_rates *rates,
                                     unroll_result *result);

/* Reads or writes a buffer of the session's plan by name, as floats, whatever the session computes in:
 * "z" [T, B, output]; "y.l1" [T, B, directions x width] of a model without head; initial states "h0.l0",
 * "s0.l0", "h0.l0.reverse"; final states "hn.l0", "sn.l0"; of modules "d.y.l1" or "d.z" (write), "d.hn.l0"
 * (write), "d.x", "d.h0.l0" (read); gradients "d.rnn.weight_ih_l0" (of a
 * tied embedding "d2.embedding.weight" holds the head's part until the update). Weights may be written too.
 * count must be the buffer's, or that of the first steps of an array over time. Initial states that are NaN or
 * infinite are refused, as inputs are. */
UNROLL_API unroll_status unroll_read(unroll_session *session, const char *name, float *to, size_t count);
UNROLL_API unroll_status unroll_write(unroll_session *session, const char *name, const float *from, size_t count);
/* How many numbers a buffer holds; 0: there is none of that name. */
UNROLL_API size_t unroll_count(const unroll_session *session, const char *name);
enum { UNROLL_AXES = 4 };
/* The sizes of a buffer's axes; gives how many it has, 0: there is none of that name. States are [B, width], also the
 * lstm's "s0" and "sn"; gradients have the parameter's shape, behind the batch's shards where there are several. */
UNROLL_API int unroll_shape(const unroll_session *session, const char *name, int shape[UNROLL_AXES]);
UNROLL_API unroll_status unroll_clear_states(unroll_session *session);  /* all rows start from zero states */

/* Weights live on the device while sessions exist: brings them back into the model's own memory. So does the end of a
 * session after sessions changed them, but of one of several ranks. */
UNROLL_API unroll_status unroll_session_pull(unroll_session *session);
/* And from the model's memory to the device. */
UNROLL_API unroll_status unroll_session_push(unroll_session *session);

/* Weights that something else trains: weights[i] is an array of parameter i of the model, in its shape; NULL: that
 * one stays. Only if one has other bits than before are copies packed anew. They reach all sessions of the model,
 * and its own memory when they are pulled. Between a forward and its backward they should not change. */
UNROLL_API unroll_status unroll_session_set_weights(unroll_session *session, const float *const *weights);
/* Of a module after a backward: what that backward made of each parameter, NULL: not wanted. The next backward
 * of any module of the model overwrites it. */
UNROLL_API unroll_status unroll_session_gradients(unroll_session *session, float *const *gradients);

/* Forwards and updates so far: dropout masks and optimizers count by them, so a checkpoint keeps them. */
UNROLL_API void unroll_session_counters(const unroll_session *session, int64_t *forwards, int64_t *updates);
UNROLL_API void unroll_session_set_counters(unroll_session *session, int64_t forwards, int64_t updates);
/* What losses are multiplied with in training with fp16, and the updates since that changed: a checkpoint keeps them,
 * too. Without a scale both are 0, and nothing is set. */
UNROLL_API void unroll_session_loss_scale(const unroll_session *session, double *scale, int64_t *updates);
UNROLL_API void unroll_session_set_loss_scale(unroll_session *session, double scale, int64_t updates);

/* Bytes that the session takes beside the weights' own, and what its plan foretold. */
UNROLL_API uint64_t unroll_session_bytes(const unroll_session *session);
UNROLL_API uint64_t unroll_session_forecast(const unroll_session *session);
UNROLL_API const char *unroll_session_isa(const unroll_session *session);
UNROLL_API int unroll_session_threads(const unroll_session *session);

/* What the session's time went into: one operation of its plan. */
typedef struct unroll_operation {
    char   name[80];                /* as unroll_plan_print has it: "rnn g.l0" */
    double least, seconds;          /* of its fastest run and of all, to the end of the last thread of its lane */
    double flops;                   /* of a run, as planned: all steps of all rows */
    long   runs;
} unroll_operation;

/* The index-th in the plan's order; 0: there is none, or the session was made without `profile`. */
UNROLL_API int unroll_session_operation(const unroll_session *session, int index, unroll_operation *operation);

/* ---- whole sequences in files ----------------------------------------------------------- */

/* A model runs over the arrays of a NumPy file. A .npz has, with PyTorch's shapes, "x" [T, B, input] or "tokens"
 * [T, B] (one sequence: without B); it may have "lengths" [B] and the states before the first step: "h0" and, of the
 * lstm, "c0" [layers x directions, B, width], of a network of several stacks "h0.NAME". What is not there is zero,
 * or full. A .npy is x or tokens. Begin with unroll_arrays_default(). */
typedef struct unroll_arrays_config {
    size_t      size;               /* sizeof(unroll_arrays_config) */
    int         batch_first;        /* 1: x, tokens and y are [B, T, ..]; states never are, as in PyTorch */
    int         threads;            /* these as of a session */
    const char *isa, *weights, *device, *precision;
    void      (*report)(void *arg, const char *line);   /* gets a line for each array compared or written; or NULL */
    void       *arg;
} unroll_arrays_config;

UNROLL_API unroll_arrays_config unroll_arrays_default(void);

/* Writes "y" [T, B, output], zero after the end of a row, into a .npy; into a .npz the last states too, as "hn" and
 * "cn" in the shape of h0 and c0, and of inner layers that are outputs "y.NAME". Models with outputs beside y are refused
 * a .npy. Reports the shapes, and the signature. */
UNROLL_API unroll_status unroll_run(unroll_model *model, const char *inputs, const char *outputs,
                                    const unroll_arrays_config *config);

typedef struct unroll_difference {
    double absolute;                /* the largest between a number of the reference and ours */
    double relative;                /* the largest of an array's, divided by the array's largest magnitude */
    char   array[80];               /* whose relative difference that is */
} unroll_difference;

/* Compares what a model computes with what its .npz says that another tool computed: "y" as above, or [B, output]:
 * the last step of each row, "hn", "cn", as many of them as there are. Steps after the end of a row don't count. */
UNROLL_API unroll_status unroll_verify(unroll_model *model, const char *reference, const unroll_arrays_config *config,
                                       unroll_difference *difference);

/* ---- streams: one time step at a time, in the caller's memory --------------------------- */

/* A stream runs a model of one direction step by step, for real time: a step computes on the caller's thread
 * and makes no allocation, lock, system call or page fault (docs/realtime.md). Its outputs have the bits of
 * unroll_forward over the whole sequence, in a session with weights of the same dtype. Begin with
 * unroll_stream_default(). */
typedef struct unroll_stream_weights unroll_stream_weights;

typedef struct unroll_stream_config {
    size_t      size;               /* sizeof(unroll_stream_config) */
    int         rows;               /* B: independent sequences that step together */
    const char *dtype;              /* numbers that weights are kept in: "fp32", "bf16", "int8" */
    const char *isa;                /* as of a session */
    const unroll_stream_weights *weights;   /* shared with other streams; NULL: packed inside the stream */
} unroll_stream_config;

UNROLL_API unroll_stream_config unroll_stream_default(void);    /* 1 row, fp32, weights of its own */

typedef struct unroll_stream unroll_stream;

/* Bytes that unroll_stream_init wants; 0: the stream is refused, see unroll_last_error(). */
UNROLL_API size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config);
/* Makes a stream with zero states in memory of the caller, which is all that it uses and is given back as it
 * was taken; aligned like malloc's, best to 64 bytes. The model may be freed afterwards, shared weights must
 * stay. A stream has no pointer into itself: memcpy of its bytes makes another one that goes on by itself.
 * The weights are those in the model's own memory (unroll_session_pull brings trained ones there). */
UNROLL_API unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                            const unroll_stream_config *config, unroll_stream **stream);

/* Packed weights by themselves, for any number of streams on any threads, which only read them. The
 * config's rows and weights are not looked at. */
UNROLL_API size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *config);
UNROLL_API unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                                    const unroll_stream_config *config,
                                                    unroll_stream_weights **weights);

/* inputs [B, input]; outputs [B, output], of a model without head [B, width of h]. Numbers that are not
 * finite are refused before anything changes. */
UNROLL_API unroll_status unroll_stream_step(unroll_stream *stream, const float *inputs, float *outputs);
/* Of a model of tokens: tokens [B]. */
UNROLL_API unroll_status unroll_stream_step_tokens(unroll_stream *stream, const int32_t *tokens, float *outputs);
/* Many steps: inputs [steps, B, input] or tokens [steps, B], outputs [steps, B, ..]. After a refusal the
 * stream stands where the refused step would have begun. */
UNROLL_API unroll_status unroll_stream_run(unroll_stream *stream, int steps, const float *inputs, float *outputs);
UNROLL_API unroll_status unroll_stream_run_tokens(unroll_stream *stream, int steps, const int32_t *tokens,
                                                  float *outputs);

/* What an inner layer of a network gave in the last step, [B, width], if it is an output (unroll_layer). */
UNROLL_API unroll_status unroll_stream_read(const unroll_stream *stream, int layer, float *to);

/* The states of a row become zero; row -1: of all rows. */
UNROLL_API unroll_status unroll_stream_reset(unroll_stream *stream, int row);

/* The states as bytes with a header, the same on every ISA; load checks the header, a checksum and the
 * numbers before anything changes. It wants a stream of the same cell, layers, widths and rows. */
UNROLL_API size_t unroll_stream_state_bytes(const unroll_stream *stream);
UNROLL_API unroll_status unroll_stream_save(const unroll_stream *stream, void *state, size_t bytes);
UNROLL_API unroll_status unroll_stream_load(unroll_stream *stream, const void *state, size_t bytes);

UNROLL_API int unroll_stream_inputs(const unroll_stream *stream);       /* width of a row's inputs; tokens: 1 */
UNROLL_API int unroll_stream_outputs(const unroll_stream *stream);      /* width of a row's outputs */
UNROLL_API const char *unroll_stream_isa(const unroll_stream *stream);

/* ---- text ------------------------------------------------------------------------------ */

/* An unroll_text is a UTF-8 text as symbol numbers, one for each character or word. */

/* symbols NULL: they are found in the text, in the order of their code points; else a character that is
 * not among them is an error that names it, its line and column. path "-": standard input. */
UNROLL_API unroll_status unroll_text_open(const char *path, const char *const *symbols, int count,
                                          unroll_text **text);

/* Words. The symbols of all words, one after the other, are the text again: a word is, with the one space
 * before it if there is one, a run of letters, digits and the like (don't, well-known, 3.14 are one), a run
 * of punctuation marks, or a line end; other white space is a word by itself. Symbols NULL: "<unk>", then
 * the most frequent words, of equals the one with the smaller code points, at most `vocabulary` in all;
 * else they are taken as given. A word that is no symbol is "<unk>". */
UNROLL_API unroll_status unroll_text_open_words(const char *path, const char *const *symbols, int count,
                                                int vocabulary, unroll_text **text);

/* As a model reads it: with its kind of symbols, and with these symbols. */
UNROLL_API unroll_status unroll_text_open_for(const char *path, const unroll_model *model, unroll_text **text);

UNROLL_API void unroll_text_free(unroll_text *text);
UNROLL_API unroll_symbol_kind unroll_text_symbol_kind(const unroll_text *text);
UNROLL_API const int32_t *unroll_text_tokens(const unroll_text *text, size_t *count);
UNROLL_API const char *const *unroll_text_symbols(const unroll_text *text, int *count);

/* ---- sequences divided among ranks ----------------------------------------------------- */

/* Which sequence of a data set is which row of which batch of an epoch. Rows of a batch are divided among `parts`, the
 * ranks along batch; with `exact` its V, so that ranks don't show. Begin with unroll_division_default(). */
typedef struct unroll_division {
    size_t         size;            /* sizeof(unroll_division) */
    const char    *how;             /* "even": in random order; "length": sequences of a batch are about as long, and its
                                       parts have about as many steps; "stratified": parts have about as many of each
                                       class */
    int64_t        count;           /* sequences */
    const int32_t *lengths;         /* [count], or NULL */
    const int32_t *classes;         /* [count], or NULL */
    int            rows, parts;     /* of a batch */
    uint64_t       seed;
    int64_t        epoch;           /* each has an order of its own */
} unroll_division;

UNROLL_API unroll_division unroll_division_default(void);
/* The same for all ranks: they end an epoch together. */
UNROLL_API int64_t unroll_division_batches(const unroll_division *division);
/* order: [batches, rows]: numbers of sequences, each once; -1: an empty row, of length 0, which weighs nothing. */
UNROLL_API unroll_status unroll_divide(const unroll_division *division, int64_t *order);

/* ---- training on a text ---------------------------------------------------------------- */

/* Begin with unroll_train_default(). */
typedef struct unroll_train_config {
    size_t      size;               /* sizeof(unroll_train_config) */
    int         batch;              /* rows: the text is cut into so many pieces that run side by side */
    int         bptt;               /* steps between updates; 0: the whole piece, one update an epoch */
    int         carry;              /* 1: a row's states go on from update to update; 0: from zero each time */
    const char *optimizer;
    unroll_rates rates;
    const char *schedule;           /* "constant", "cosine", "step" (a tenth at 60% and 85%), "plateau" */
    int64_t     warmup;             /* steps of linear rise of the learning rate */
    int64_t     total_steps;        /* what schedules count on */
    double      validation;         /* the last part of the text that is not trained on, 0 .. 0.5 */
    const unroll_text *validation_text;     /* measured instead of a part of the text; NULL: none */
    uint64_t    seed;
    uint64_t    memory;             /* as of a session, for all of the trainer's */
    int         threads, lanes, chunks, checkpoint_time;   /* as of a session */
    const char *isa, *device, *precision;
    unroll_comm *comm;              /* as of a session; rows of `batch` are divided among the ranks */
    unroll_mesh mesh;
    int         exact;              /* V: batches are summed as V shards, with the same bits on any number of ranks up
                                       to V; 0: in the order that is fastest */
    const char *sum;                /* as of a session */
    int         loss_every;         /* steps between two looks at the loss; 0: 1 on the cpu, else 10, because a look
                                       waits for the device */
    int         new_rates;          /* 1: a checkpoint of other rates, warmup or another schedule may be loaded */
} unroll_train_config;

UNROLL_API unroll_train_config unroll_train_default(void);
/* Updates that pass once through the training part of a text, before there is a trainer. 0: none, the error says why. */
UNROLL_API int64_t unroll_train_steps_per_epoch(const unroll_train_config *config, const unroll_text *text);

typedef struct unroll_trainer unroll_trainer;

/* The model's input must be the text's symbols, and the validation text's. All outlive the trainer. */
UNROLL_API unroll_status unroll_trainer_new(unroll_model *model, const unroll_text *text,
                                            const unroll_train_config *config, unroll_trainer **trainer);
UNROLL_API void unroll_trainer_free(unroll_trainer *trainer);

typedef struct unroll_progress {
    int64_t step;                   /* updates done */
    double  epoch;                  /* passes through the training part, with fraction */
    double  loss;                   /* nats per symbol, mean of the steps up to the last look */
    int     looked;                 /* how many steps that mean is of if this step looked; 0: it did not */
    double  norm, learning_rate;
    int64_t symbols, steps_per_epoch;   /* characters or words trained on so far */
    double  best_validation;        /* the lowest loss of a validation, nats per symbol; infinite before the first */
    int64_t best_step, since_best;  /* updates done then, 0: not known; validations since, which patience counts */
} unroll_progress;

UNROLL_API unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress);
/* Where it stands, also after a validation or the loading of a checkpoint, which knows no loss and no norm: 0. */
UNROLL_API void unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress);
/* Schedules count on another number of steps from now on: for runs that end by the clock. */
UNROLL_API void unroll_trainer_set_total_steps(unroll_trainer *trainer, int64_t total_steps);
/* Mean nats per symbol over the validation part or text, read from its beginning with carried state. */
UNROLL_API unroll_status unroll_trainer_validate(unroll_trainer *trainer, double *nats);
/* The same, which ends early where goes_on(data), asked after each window of some steps, says no: *nats is then NaN,
 * and the schedule has heard nothing. On several ranks all must say the same. */
UNROLL_API unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *data), void *data,
                                                       double *nats);

/* A checkpoint directory: model.safetensors, optim.safetensors (states, counters, data cursor); a kill leaves the old or
 * the new. Loading makes the next step the same, bit for bit: network, text and settings must be those that were saved.
 * Damaged files are not loaded (UNROLL_DATA), NaN and infinite weights not saved (UNROLL_DIVERGED). */
UNROLL_API unroll_status unroll_trainer_save(unroll_trainer *trainer, const char *directory);
UNROLL_API unroll_status unroll_trainer_load(unroll_trainer *trainer, const char *directory);
UNROLL_API unroll_status unroll_checkpoint_check(const char *directory, unroll_progress *progress);   /* is it whole? */
UNROLL_API uint64_t unroll_trainer_forecast(const unroll_trainer *trainer);    /* bytes of its plans */

/* ---- evaluating and sampling ----------------------------------------------------------- */

/* Mean nats per symbol of a text whose symbols are the model's, and how many were foretold. Of the session's
 * configuration (NULL: the default) the threads, weights, isa, device, precision and memory are used. */
UNROLL_API unroll_status unroll_evaluate(unroll_model *model, const unroll_text *text,
                                         const unroll_session_config *machine, double *nats, int64_t *foretold);

typedef struct unroll_sample_config {
    size_t      size;               /* sizeof(unroll_sample_config) */
    const char *prompt;             /* UTF-8; NULL or "": a line end, or the first symbol if there is none */
    int         length;             /* symbols to write */
    double      temperature;        /* 0: always the likeliest */
    int         top_k;              /* 0: all */
    uint64_t    seed;
    const char *weights, *device, *precision;   /* as of a session */
} unroll_sample_config;

UNROLL_API unroll_sample_config unroll_sample_default(void);

/* Calls write with each UTF-8 symbol as it is drawn, which is never "<unk>"; a non-zero return ends it. */
UNROLL_API unroll_status unroll_sample(unroll_model *model, const unroll_sample_config *config,
                                       int (*write)(void *arg, const char *symbol), void *arg);

/* ---- the plan and the library's own checks --------------------------------------------- */

typedef struct unroll_plan_config {
    size_t      size;               /* sizeof(unroll_plan_config) */
    unroll_mode mode;
    int         steps, rows, lanes, chunks, checkpoint_time, carry;
    int         batch_ranks, layer_ranks, hidden_ranks;     /* the mesh; the plan of rank 0 is shown */
    int         exact;              /* V, as of a trainer */
    const char *sum;                /* as of a session */
    const char *optimizer;
    const char *precision;          /* as of a session */
    const char *device;             /* the plan is made for it; cuda: and how it would run is printed. NULL: the cpu */
    const char *topology;           /* what it would take there, by the device's compiler: "v5e:2x2"; NULL: the plan */
} unroll_plan_config;

UNROLL_API unroll_plan_config unroll_plan_default(void);
/* Prints the operations, their cost, and the memory of each segment: a table, or one JSON object; for a GPU also the
 * way, tiling and memory of each recurrence, by the facts of the one that is here, or of an H200. With a topology: what
 * the step's program would take of memory and time there, estimated; no such device is needed. */
UNROLL_API unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *config, FILE *file,
                                           int json);

/* Bytes that this process may use: the least of the machine's memory, its control groups' limit, its own. */
UNROLL_API uint64_t unroll_memory_limit(void);

/* The fused multiply-adds that an ISA (NULL: the best) can do on so many threads (0: one for each processor
 * that we may use), in 10^9 operations a second, two for each: the best of a tenth of a second. With amx those of
 * floats as sums of six products of their bf16 parts. */
UNROLL_API unroll_status unroll_measure_peak(const char *isa, int threads, double *gflops);

/* The devices by name; available says whether there is one here, and about what it is or why there is none, until
 * this thread's next call. NULL ends. */
UNROLL_API const char *unroll_device_name(int index, int *available, const char **about);

/* ISAs by name; available says whether this build and this machine have it. NULL ends. */
UNROLL_API const char *unroll_isa_name(int index, int *available);
/* Compares every ISA with the reference, and gradients with finite differences, on small models of every
 * cell; report gets one line a check. Returns UNROLL_FAILURE if one fails. */
UNROLL_API unroll_status unroll_self_check(void (*report)(void *arg, const char *what, int passed), void *arg);

#ifdef __cplusplus
}
#endif
#endif
