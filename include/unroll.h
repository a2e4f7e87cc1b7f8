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

/* ---- what can go wrong ----------------------------------------------------------------- */

/* The values are the exit codes of the command. */
typedef enum unroll_status {
    UNROLL_OK = 0,
    UNROLL_FAILURE = 1,
    UNROLL_USAGE = 2, /* the caller asked for something that has no meaning */
    UNROLL_DATA = 3,  /* a file or an input array is missing, damaged or of the wrong kind */
    UNROLL_UNSUPPORTED = 4,
    UNROLL_RESOURCE = 5, /* memory or device */
    UNROLL_DIVERGED = 6, /* a loss or a gradient is NaN or infinite */
    UNROLL_COMMUNICATION = 7,
    UNROLL_PREEMPTED = 75, /* asked to stop; a checkpoint was written */
} unroll_status;

/* What, where, why and how to mend the last call of this thread that did not return UNROLL_OK. */
UNROLL_API const char *unroll_last_error(void);

UNROLL_API const char *unroll_version(void); /* "0.1.0" */

/* ---- models ---------------------------------------------------------------------------- */

/* A column of what a network reads at each step: categories (words, suffixes, weekdays), each of which gets a row of an
 * embedding, or numbers. The columns lie side by side in x in the order of the list. */
enum { UNROLL_INPUTS_MAX = 16 };

typedef struct unroll_input {
    size_t size;      /* sizeof(unroll_input) */
    const char *name; /* to 31 bytes of UTF-8, no two alike: of its parameter, embedding.NAME.weight; of numbers or
                         of a single column it may be NULL */
    int tokens;       /* how many categories there are; 0: numbers */
    int width;        /* of the embedding, or how many numbers; 0: one-hot, of a single column alone */
} unroll_input;

/* A stack, layers of one cell and perhaps a linear head: the short way to write a network. Begin with the default. */
typedef struct unroll_spec {
    size_t size;      /* sizeof(unroll_spec) */
    const char *cell; /* "rnn", "rnn-relu", "lstm", "gru", "gru-before", "mingru", .. (unroll_cell_name) */
    int layers;       /* 1 .. 64 */
    int hidden;       /* units of a layer and direction */
    int bidirectional;
    int projection;   /* lstm: width of h; 0: none */
    int peephole;     /* lstm */
    float clip;       /* limit of what enters the gates' activations; 0: none */
    int bias;         /* 1: as PyTorch, one for x and one for h */
    float dropout;    /* between layers, in training */
    int tokens;       /* 1: inputs are token ids, 0: vectors of floats */
    int input;        /* vocabulary size, or width of the vectors */
    int embed;        /* with tokens: width of the embedding; 0: one-hot */
    int tied;         /* the head uses the embedding's weights */
    const char *pool; /* between the layers and the head, one answer for each sequence: "last", "mean", "max", as in
                         unroll_layer, or "mean+max", both side by side; NULL: an answer for each step */
    int output;       /* width of the linear head; 0: none, the outputs are the last layer's */
    const char *loss; /* a name of unroll_loss_name, with levels or without; NULL or "none": none */
    /* What it reads, if tokens, input and embed are 0: [n_inputs], the caller's; n_inputs 0: those three say it. */
    const unroll_input *inputs;
    int n_inputs;
    float input_dropout; /* of what the first layer reads, in training; not of one-hot tokens */
    const char *init;    /* as in unroll_network, these two; a model that is described does not know them */
    float forget_bias;
} unroll_spec;

/* The cells and the optimizers by name, in order; NULL after the last. */
UNROLL_API const char *unroll_cell_name(int index);
UNROLL_API const char *unroll_optimizer_name(int index);

/* The losses: "xent", softmax cross-entropy, whose targets are class numbers, -1: not counted; and those of numbers,
 * the mean over all target numbers that count: those of steps before their row's length that are not NaN. "mse",
 * squared error, "mae", absolute error, "huber", which is PyTorch's with delta 1, "bce", binary cross-entropy of logits
 * with targets 0..1, "poisson", negative log-likelihood of counts, 0 or more, whose rates have the results as
 * logarithms. Three take several results for each target, side by side (unroll_model_targets): "quantile:0.1,0.5,0.9",
 * pinball loss of one result for each level, the mean over the levels, up to 32 that rise between 0 and 1 ("quantile":
 * these three); "gaussian", negative log-likelihood of a mean and a raw scale r, whose softplus(r) + 0.001 is the
 * standard deviation; "student-t", that of a location, a scale made likewise, and a raw d: 2 + softplus(d) degrees of
 * freedom. What is not NULL is set: a few words, and whether targets are classes. NULL ends. */
UNROLL_API const char *unroll_loss_name(int index, const char **about, int *of_classes);

UNROLL_API unroll_spec unroll_spec_default(void); /* lstm, 1 layer, hidden 128, bias, no head */

/* One layer of a network. Begin with unroll_layer_default(). */
enum { UNROLL_SOURCES_MAX = 8 };

typedef struct unroll_layer {
    size_t size;                    /* sizeof(unroll_layer) */
    const char *kind;               /* a cell ("lstm", "gru", ...), "dense": y = activation(W x + b), or "pool": one
                                       step in the place of all steps of a sequence */
    const char *name;               /* of its parameters, to 63 bytes of UTF-8: NAME.weight_ih_l0, NAME.weight */
    int level;                      /* recurrent: N of NAME.weight_ih_lN; layers of one stack share a name */
    int width;                      /* units of a direction; outputs of a dense layer; 0 of a pool, whose are its x's */
    int sources;                    /* how many of `source` it reads; 0: the layer before, or the input */
    int source[UNROLL_SOURCES_MAX]; /* earlier layers, put side by side; -1: the network's input */
    int bidirectional;
    int projection;          /* lstm: width of h; 0: none */
    int peephole;            /* lstm */
    float clip;              /* of a cell with gates: limit of what enters their activations; 0: none */
    int reverse;             /* one direction, backward in time */
    int input_forget;        /* lstm: the forget gate is 1 - the input gate */
    const char *activations; /* of a cell's gates, candidate and output: "sigmoid tanh tanh" of the lstm, two
                              of a gru, one of an rnn, each as in `activation`; NULL: its own */
    int bias;
    float dropout;          /* of what the layer gives, in training */
    const char *activation; /* dense: "relu", "softmax", "hard_sigmoid(0.2,0.5)", ...; NULL: linear */
    float alpha, beta;      /* of the activation; 0: ONNX's default */
    const char *pool;       /* pool: "mean" or "max" of the steps before a sequence's length, unit by unit, or "last":
                               what each direction gives where it ends, the last of them, backward in time the first,
                               which is PyTorch's h_n. [B, width]; of length 0: zeros. Behind it are dense layers */
    int output;             /* 1: the host reads what it gives ("y.lN"); of the last always */
} unroll_layer;

/* A network: up to 65 layers, in an order in which each reads earlier ones. */
typedef struct unroll_network {
    size_t size;              /* sizeof(unroll_network) */
    int tokens, input, embed; /* as in unroll_spec */
    int tied;                 /* the last layer, dense and linear, multiplies by the embedding's weights */
    const char *embedding;    /* with embed: the name of its parameter, NAME.weight; NULL: "embedding" */
    const char *loss; /* of the last layer, which must be dense; xent, bce, poisson, gaussian, student-t: linear */
    const unroll_layer *layer; /* [layers], the caller's */
    int layers;
    const unroll_input *inputs; /* as in unroll_spec */
    int n_inputs;
    float input_dropout; /* of the input, wherever it is read */
    const char *init;  /* of new weights: "uniform", PyTorch's, "xavier": in +-sqrt(6 / (inputs + units)), of each gate
                          by  itself, or "orthogonal": that, and orthogonal recurrent matrices; both have biases 0 and
                          leave  embeddings and peepholes uniform. NULL: uniform */
    float forget_bias; /* lstm: added to the forget gate's new biases of x (bias_ih) */
} unroll_network;

UNROLL_API unroll_layer unroll_layer_default(void); /* dense, bias */
UNROLL_API unroll_network unroll_network_default(void);

typedef struct unroll_model unroll_model;

/* A model with random weights: uniform in +-1/sqrt(hidden) as in PyTorch (`init`), a function of the seed
 * alone. The caller frees it, after all sessions of it. */
UNROLL_API unroll_status unroll_model_new(const unroll_spec *spec, uint64_t seed, unroll_model **model);
UNROLL_API void unroll_model_free(unroll_model *model);
UNROLL_API unroll_status unroll_network_new(const unroll_network *network, uint64_t seed, unroll_model **model);

/* safetensors with PyTorch's names; the network and the vocabulary are in its metadata. */
UNROLL_API unroll_status unroll_model_load(const char *path, unroll_model **model);
UNROLL_API unroll_status unroll_model_save(const unroll_model *model, const char *path);

/* What a model is; `layer` stays NULL: they are asked for one by one. Strings and inputs belong to the model, or are
 * good until this thread's next call; of a single column there are none, but tokens, input and embed. Outputs: the
 * width of what the last layer gives. */
UNROLL_API void unroll_model_network(const unroll_model *model, unroll_network *network);
UNROLL_API int unroll_model_layers(const unroll_model *model);
UNROLL_API unroll_status unroll_model_layer(const unroll_model *model, int index, unroll_layer *layer);
UNROLL_API int unroll_model_outputs(const unroll_model *model);
/* How many numbers a step's target has: outputs by how many of them the loss takes for each. Classes are one number. */
UNROLL_API int unroll_model_targets(const unroll_model *model);
/* 1: it is a stack, and *spec says which, whatever its layers are named; 0: it is none. */
UNROLL_API int unroll_model_spec(const unroll_model *model, unroll_spec *spec);

/* A parameter by index; data is the model's own memory, [shape] row by row. What is written there reaches sessions
 * that are made when there is none, others by unroll_session_push. */
typedef struct unroll_parameter {
    const char *name; /* "rnn.weight_ih_l0" */
    int rank;         /* 1 or 2 */
    int shape[2];
    float *data;
} unroll_parameter;

UNROLL_API int unroll_model_parameters(const unroll_model *model);
UNROLL_API unroll_status unroll_model_parameter(unroll_model *model, int index, unroll_parameter *parameter);

/* What one token of a text is. */
typedef enum unroll_token_kind {
    UNROLL_CHARACTERS,
    UNROLL_WORDS, /* see unroll_data_open */
    UNROLL_BLANKS /* what stands between white space, and line ends */
} unroll_token_kind;

/* The vocabulary: the tokens as UTF-8 strings, [input] of them; NULL where the model has none.
 * unroll_model_set_schema gives it those of a data set; the array belongs to the model. */
UNROLL_API const char *const *unroll_model_vocabulary(const unroll_model *model);
UNROLL_API unroll_token_kind unroll_model_token_kind(const unroll_model *model);

/* What the data that the model was trained on are: columns, vocabularies, scales, as one JSON object; NULL: it does not
 * say. The text belongs to the model. */
UNROLL_API const char *unroll_model_schema(const unroll_model *model);

/* Of a model that was imported from a graph, each of the graph's inputs and outputs: its array in unroll_run, its order
 * of axes: "output 'logits': y as [batch features time]" (docs/reference/formats.md). NULL after the last. */
UNROLL_API const char *unroll_model_signature(const unroll_model *model, int index);

/* ---- where and how to run --------------------------------------------------------------- */

typedef struct unroll_comm unroll_comm; /* ranks: unroll_advanced.h */

/* How ranks share a model: the product is their number. All 0 or 1: not at all. */
typedef struct unroll_split {
    int batch;  /* each has some rows of every batch */
    int layer;  /* each has some layers; chunks let them work at the same time */
    int hidden; /* each has some units of every layer */
    int time; /* each has some steps, which it runs from guessed states that are then repaired (docs/internals/time.md)
               */
} unroll_split;

enum { UNROLL_AUTO = -1 };        /* the library chooses */
enum { UNROLL_PIECE_STEPS = 64 }; /* that a piece of time has at least */

/* Where and how to run: a part of every configuration that runs something, whose default has it. Only precision, dtype,
 * exact, the isa "amx" and pieces of cells that multiply their state change a bit of the results. What has no use for
 * a field refuses it. */
typedef struct unroll_machine {
    size_t size;           /* sizeof(unroll_machine) */
    const char *device;    /* "cpu"; "cuda" or "cuda:1": docs/howto/cuda.md; "xla" or "xla:PLUGIN": docs/howto/xla.md;
                              "cpu,opencl": docs/howto/devices.md;
                              NULL: the one that the model's sessions are on, else the cpu */
    const char *isa;       /* a name of unroll_isa_name; NULL: the best this machine has */
    const char *precision; /* what products multiply: "fp32", "tf32", "bf16", "fp16", where the device does it;
                              sums, states and the model's weights are fp32 in all of them. "fp64": all is
                              double, on the reference kernels, for checks. NULL: fp32 */
    const char *dtype;     /* of weights in products that only run: "fp32", "bf16", "int8"; NULL: fp32. The
                              model's own stay fp32. All sessions of a model at one time are alike. */
    int threads;           /* at most so many, 0: one for each processor that we may use; a part of a
                              run that is faster on the caller's thread alone stays there */
    int queues;            /* operations that may run at the same time; 0: the library chooses */
    int chunks;            /* pieces of time that may run at the same time in different layers; 0: as many as
                              keep a piece of a long training in the caches, otherwise 1 */
    int checkpoint_time;   /* steps after which states are kept: backward makes what lies between them
                              again; 0: all is kept, UNROLL_AUTO: about the square root of steps */
    int pieces;            /* of time that each recurrent layer runs at once, as rows, from guessed states that are
                              then repaired: 1, UNROLL_AUTO or at most 64, each of 64 steps or more (docs/internals/time.md) */
    float time_tolerance;  /* of pieces: states are the serial ones within so much of max(1, |state|); 0: the same
                              bits, which cells whose gates multiply no state always have */
    uint64_t memory;       /* bytes; a plan that needs more is refused. 0: unroll_memory_limit() */
    unroll_comm *comm;     /* NULL: this process alone. Batches and the arrays of unroll_read and
                              unroll_write are the whole ones on every rank. */
    unroll_split split;
    int workers;     /* a training's: so many meshes, each cut as split says, that add no gradients of each other; the
                        rows of a batch are divided among all. 0: 1. Others than trainings count them as ranks along
                        batch */
    int exact;       /* V: batches are summed as V shards, with the bits of one process, whatever the
                        split, of up to V along batch; 0: in the order that is fastest */
    const char *sum; /* how ranks add up gradients: a name of unroll_sum_name; "auto" or NULL: by size */
} unroll_machine;

UNROLL_API unroll_machine unroll_machine_default(void); /* all is chosen by the library */

/* ---- models of other tools ------------------------------------------------------------- */

/* Formats by name, "torch" and so on; NULL ends. What is not NULL is set: which ways it goes, and a few words
 * about it. */
UNROLL_API const char *unroll_format_name(int index, int *can_import, int *can_export, const char **about);

/* Begin with unroll_import_default(), which leaves all to the file. */
typedef struct unroll_import_config {
    size_t size;              /* sizeof(unroll_import_config) */
    const char *format;       /* NULL: found from the file's name and content */
    const char *prefix;       /* torch: only the tensors whose names begin with it */
    const char *order;        /* torch: the modules from the input on, "embed,gru:before,fc:relu,out", with
                                 the activations of linear ones, the reset of a GRU, the nonlinearity of an RNN;
                                 NULL: the file's, or the one order that their shapes allow */
    const char *nonlinearity; /* torch: "tanh" or "relu" of an RNN, whose file does not say; NULL: tanh */
    const char *gru_reset;    /* "after", "before": of a GRU whose file leaves it in doubt; NULL: refused */
    void (*report)(void *arg, const char *line); /* gets a line for each thing found; or NULL */
    void *arg;
} unroll_import_config;

UNROLL_API unroll_import_config unroll_import_default(void);

/* Strict: what a file has and a model can't hold, what is unknown, unused or missing is an error that names it. */
UNROLL_API unroll_status unroll_import(const char *path, const unroll_import_config *config, unroll_model **model);

/* Begin with unroll_export_default() and choose a format. */
typedef struct unroll_export_config {
    size_t size; /* sizeof(unroll_export_config) */
    const char *format;
    const char *prefix;      /* torch: put before the names of all tensors; NULL: none. c99: the name of the
                                files, the struct and the functions; NULL: "unroll_model" */
    const char *dtype;       /* of weights, where the format has a choice: "fp32", "fp16", "bf16", of c99 "fp32",
                                "int8"; NULL: fp32 */
    const char *calibration; /* c99 in int8: inputs like those to come, .npy [T, input], [T, B, input] or of tokens
                                [T], [T, B] (of columns .npz of tokens [T, B, token columns] and x); NULL: noise of
                                variance 1, tokens of equal probability */
    int json;                /* 1: the format's report is one JSON object, where it has one */
    int opset;               /* ONNX; 0: the format's default */
    int steps, rows;         /* stablehlo: of the program, whose shapes are fixed */
    int lanes, operand_bits; /* verilog: products at a time, 0: as many as are of use; of what weights multiply: 8 or
                                16 bits */
    double delta;            /* verilog: products skip what moved by no more; -1: they skip nothing */
    const char *target;      /* verilog: "generic" (NULL), "ice40", "ecp5", "gowin", "xilinx" */
    const char *store;       /* verilog: of weights: "rom" (NULL), "ram", which can be loaded, "spram" of an ice40 */
    const char *head;        /* verilog: "linear" (NULL), the results; "class", the index of the largest */
    void (*report)(void *arg, const char *line); /* gets a line for each thing to know; or NULL */
    void *arg;
} unroll_export_config;

UNROLL_API unroll_export_config unroll_export_default(void);

/* What the format can't say of the model is refused. Files appear whole or not at all. */
UNROLL_API unroll_status unroll_export(const unroll_model *model, const char *path, const unroll_export_config *config);

/* ---- whole sequences in files ----------------------------------------------------------- */

/* A model runs over the arrays of a NumPy file. A .npz has, with PyTorch's shapes, "x" [T, B, input] or "tokens"
 * [T, B] (one sequence: without B), of a model with columns "tokens" [T, B, token columns] and, if it has some, the
 * numbers as "x"; it may have "lengths" [B] and the states before the first step: "h0" and, of the
 * lstm, "c0" [layers x directions, B, width], of a network of several stacks "h0.NAME". What is not there is zero,
 * or full. A .npy is x or tokens. Begin with unroll_arrays_default(). */
typedef struct unroll_arrays_config {
    size_t size;     /* sizeof(unroll_arrays_config) */
    int batch_first; /* 1: x, tokens and y are [B, T, ..]; states never are, as in PyTorch */
    unroll_machine machine;
    void (*report)(void *arg, const char *line); /* gets a line for each array compared or written; or NULL */
    void *arg;
} unroll_arrays_config;

UNROLL_API unroll_arrays_config unroll_arrays_default(void);

/* Writes "y" [T, B, output], zero after the end of a row, into a .npy, of one sequence into a .csv with a line for each
 * step; into a .npz the last states too, as "hn" and "cn" in the shape of h0 and c0, and of inner layers that are
 * outputs "y.NAME", without which models that have those are refused. Reports the shapes, and the signature. */
UNROLL_API unroll_status unroll_run(unroll_model *model, const char *inputs, const char *outputs,
                                    const unroll_arrays_config *config);

/* ---- streams: one time step at a time, in the caller's memory --------------------------- */

/* A stream runs a model of one direction step by step, for real time: a step computes on the caller's thread
 * and makes no allocation, lock, system call or page fault (docs/howto/realtime.md). Its outputs have the bits of
 * unroll_forward over the whole sequence, in a session with weights of the same dtype. Begin with
 * unroll_stream_default(). */
typedef struct unroll_stream_weights unroll_stream_weights;

typedef struct unroll_stream_config {
    size_t size;                          /* sizeof(unroll_stream_config) */
    int rows;                             /* B: independent sequences that step together */
    unroll_machine machine;               /* its isa and dtype */
    const unroll_stream_weights *weights; /* shared with other streams; NULL: packed inside the stream */
} unroll_stream_config;

UNROLL_API unroll_stream_config unroll_stream_default(void); /* 1 row, fp32, weights of its own */

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

/* inputs [B, input]; outputs [B, output], of a model without head [B, width of h]; of a model with a pool the answers
 * to the sequences so far. Numbers that are not finite are refused before anything changes. */
UNROLL_API unroll_status unroll_stream_step(unroll_stream *stream, const float *inputs, float *outputs);
/* Of a model of tokens: tokens [B], or [B, token columns]. */
UNROLL_API unroll_status unroll_stream_step_tokens(unroll_stream *stream, const int32_t *tokens, float *outputs);
/* Of any model: tokens [B, token columns] and inputs [B, numbers], NULL where it has none of them. */
UNROLL_API unroll_status unroll_stream_step_mixed(unroll_stream *stream, const int32_t *tokens, const float *inputs,
                                                  float *outputs);
/* Many steps: as a step's arrays, with an axis of steps in front. After a refusal the stream stands where the refused
 * step would have begun. */
UNROLL_API unroll_status unroll_stream_run(unroll_stream *stream, int steps, const float *inputs, float *outputs);
UNROLL_API unroll_status unroll_stream_run_tokens(unroll_stream *stream, int steps, const int32_t *tokens,
                                                  float *outputs);
UNROLL_API unroll_status unroll_stream_run_mixed(unroll_stream *stream, int steps, const int32_t *tokens,
                                                 const float *inputs, float *outputs);

/* What an inner layer of a network gave in the last step, [B, width], if it is an output (unroll_layer). */
UNROLL_API unroll_status unroll_stream_read(const unroll_stream *stream, int layer, float *to);

/* The states of a row become zero; row -1: of all rows. */
UNROLL_API unroll_status unroll_stream_reset(unroll_stream *stream, int row);

/* The states as bytes with a header, the same on every ISA; load checks the header, a checksum and the
 * numbers before anything changes. It wants a stream of the same cell, layers, widths and rows. */
UNROLL_API size_t unroll_stream_state_bytes(const unroll_stream *stream);
UNROLL_API unroll_status unroll_stream_save(const unroll_stream *stream, void *state, size_t bytes);
UNROLL_API unroll_status unroll_stream_load(unroll_stream *stream, const void *state, size_t bytes);

UNROLL_API int unroll_stream_inputs(const unroll_stream *stream);  /* numbers of a row; without such: its tokens */
UNROLL_API int unroll_stream_tokens(const unroll_stream *stream);  /* token columns of a row, 0 or more */
UNROLL_API int unroll_stream_outputs(const unroll_stream *stream); /* width of a row's outputs */
UNROLL_API const char *unroll_stream_isa(const unroll_stream *stream);

/* ---- sampling --------------------------------------------------------------------------- */

typedef struct unroll_sample_config {
    size_t size;        /* sizeof(unroll_sample_config) */
    const char *prompt; /* UTF-8; NULL or "": a line end, or the first token if there is none */
    int length;         /* tokens to write */
    double temperature; /* 0: always the likeliest */
    int top_k;          /* of the likeliest, so many; 0: all */
    double top_p;       /* of these the likeliest that have this probability together (nucleus sampling); 1: all */
    int beam;           /* 0: tokens are drawn; else a beam search of this width, which writes when all is found: of the
                           texts that it looked at the likeliest. It draws nothing. */
    uint64_t seed;
    unroll_machine machine; /* threads 0: one, for a step of one row is too small to share */
} unroll_sample_config;

UNROLL_API unroll_sample_config unroll_sample_default(void);

/* 1: the model predicts the tokens that it reads, so it can write text. */
UNROLL_API int unroll_can_sample(const unroll_model *model);
/* Calls write with each UTF-8 token as it is drawn, which is never "<unk>"; a non-zero return ends it. */
UNROLL_API unroll_status unroll_sample(unroll_model *model, const unroll_sample_config *config,
                                       int (*write)(void *arg, const char *symbol), void *arg);

/* ---- this machine ----------------------------------------------------------------------- */

/* Bytes that this process may use: the minimum of the machine's memory, its control groups' limit, its own. */
UNROLL_API uint64_t unroll_memory_limit(void);
/* Lowers that limit for this process: models, files and trainings that need more are refused before they take it. 0: no
 * limit of its own. Call it before other threads use the library. */
UNROLL_API void unroll_set_memory_limit(uint64_t bytes);

/* The devices by name; available says whether there is one here, and about what it is or why there is none, until
 * this thread's next call. NULL ends. */
UNROLL_API const char *unroll_device_name(int index, int *available, const char **about);

/* ISAs by name; available says whether this build and this machine have it. NULL ends. */
UNROLL_API const char *unroll_isa_name(int index, int *available);

#ifdef __cplusplus
}
#endif
#endif
