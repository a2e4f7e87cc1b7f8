/* unroll_network.h: describe and create networks, read and change their weights, exchange models with other tools.
 *
 *     unroll_model *model;
 *     unroll_model_config network = unroll_model_config_default();
 *     unroll_export_config config = unroll_export_config_default();
 *     network.cell = "gru", network.input = 40, network.hidden = 64, network.output = 8;
 *     config.format = "onnx";
 *     if (unroll_model_new(&network, 1, &model) != UNROLL_OK ||                  // random weights of seed 1
 *         unroll_model_export(model, "gru.onnx", &config) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     printf("%d parameters\n", unroll_model_parameters(model));
 *     unroll_model_free(model);
 */
#ifndef UNROLL_NETWORK_H
#define UNROLL_NETWORK_H
#include "unroll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- stacks of layers -------------------------------------------------------------------- */

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

/* Losses, `loss` of a model:
 * "xent" is softmax cross-entropy; targets are class indices, -1 is not counted. The other losses have numbers as
 * targets and are means over the counted ones: those before the length of their row that are not NaN.
 * "mse" squared error; "mae" absolute error; "huber" as in PyTorch with delta 1; "bce" binary cross-entropy of logits
 * with targets 0..1; "poisson" negative log-likelihood of counts (0 or more), where outputs are the logarithms of the
 * rates. Three need several outputs per target, concatenated (unroll_model_targets): "quantile:0.1,0.5,0.9" pinball
 * loss with one output per level, averaged over up to 32 rising levels between 0 and 1 ("quantile" has these three);
 * "gaussian" negative log-likelihood of a mean and a raw scale r, where softplus(r) + 0.001 is the standard deviation;
 * "student-t" that of a location, a scale as before, and a raw d, where 2 + softplus(d) are the degrees of freedom.
 * Three are losses of whole sequences, on the CPU only. "esr" is the error to signal ratio of sounds (a number each
 * step): .75 mean((y' - z')^2) / (mean(y'^2) + 1e-5) + .25 (mean(y) - mean(z))^2 / (mean(y^2) + 1e-5), where y'[t] =
 * y[t] - .85 y[t-1], averaged over rows and outputs. "crf" is the negative log-likelihood of the labels of all steps
 * under a conditional random field, whose parameters crf.transitions, crf.start_transitions and crf.end_transitions the
 * model has; targets are a label for each step, and a row with a -1 is not counted. "ctc" is connectionist temporal
 * classification; class 0 is the blank, and the targets of a row are its labels, from step 0 on, then zeros. A row
 * whose labels need more steps, or that begins with -1, is not counted. A loss is divided by steps, or by labels. */

/* A stack: layers of one cell and an optional linear head. Start from unroll_model_config_default(). */
typedef struct unroll_model_config {
    size_t size;      /* sizeof(unroll_model_config) */
    const char *cell; /* "rnn", "rnn-relu", "lstm", "gru", "gru-before", "mingru", .. (UNROLL_LIST_CELLS) */
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
    const char *loss; /* a loss above, optionally with levels; NULL or "none": none */
    /* Input columns, an array of n_inputs entries owned by the caller. If n_inputs is 0, tokens, input and embed
     * describe a single column; otherwise these are 0. */
    const unroll_input *inputs;
    int n_inputs;
    float input_dropout; /* dropout of the first layer's input, in training; not for one-hot tokens */
    const char *init;    /* as in unroll_network, like forget_bias; not stored in models */
    float forget_bias;
} unroll_model_config;

UNROLL_DEFAULT(unroll_model_config) /* lstm, 1 layer, hidden 128, bias, no head */

/* Makes a model with random weights: uniform in +-1/sqrt(hidden) as in PyTorch (`init`), a function of the seed only.
 * The caller frees it, after all its sessions. */
UNROLL_API unroll_status unroll_model_new(const unroll_model_config *config, uint64_t seed, unroll_model **model);

/* ---- networks of any layers -------------------------------------------------------------- */

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
    int tokens, input, embed; /* as in unroll_model_config */
    int tied;                 /* 1: the last layer, dense and linear, uses the embedding's weights */
    const char *embedding;    /* with embed: the prefix of its parameter, NAME.weight; NULL: "embedding" */
    const char *loss; /* of the last layer, which must be dense, and linear for xent, bce, poisson, gaussian, student-t,
                         crf, ctc */
    const unroll_layer *layer; /* [layers], owned by the caller */
    int layers;
    const unroll_input *inputs; /* as in unroll_model_config */
    int n_inputs;
    float input_dropout; /* dropout of the input, wherever it is read */
    const char *init; /* initial weights: "uniform" as in PyTorch; "xavier", +-sqrt(6 / (inputs + units)) for each gate;
                         or "orthogonal", xavier with orthogonal recurrent matrices. The last two have zero biases and
                         leave embeddings and peepholes uniform. NULL: uniform */
    float forget_bias; /* lstm: added to the forget gate's initial biases of x (bias_ih) */
} unroll_network;

UNROLL_DEFAULT(unroll_layer) /* dense, bias */
UNROLL_DEFAULT(unroll_network)

/* Makes a model of these layers, like unroll_model_new. */
UNROLL_API unroll_status unroll_model_from_network(const unroll_network *network, uint64_t seed, unroll_model **model);

/* Describe a model; the caller sets `size`. Strings and inputs belong to the model, or are valid until this thread's
 * next call. A single column is described by tokens, input and embed. `layer` of a network is NULL:
 * unroll_model_layer describes the layers one by one. */
UNROLL_API unroll_status unroll_model_network(const unroll_model *model, unroll_network *network);
UNROLL_API int unroll_model_layers(const unroll_model *model);
UNROLL_API unroll_status unroll_model_layer(const unroll_model *model, int index, unroll_layer *layer);
/* Sets *config and returns true if the model is a stack, whatever its layers are named; otherwise false. */
UNROLL_API bool unroll_model_stack(const unroll_model *model, unroll_model_config *config);

/* ---- weights ------------------------------------------------------------------------------ */

/* A parameter. data is the model's own memory, [shape] in row-major order. Sessions that are made later use values
 * written there; existing sessions need unroll_session_push. */
typedef struct unroll_parameter {
    size_t size;      /* initialize with { .size = sizeof(unroll_parameter) } */
    const char *name; /* "rnn.weight_ih_l0" */
    int rank;         /* 1 or 2 */
    int shape[2];
    float *data;
} unroll_parameter;

UNROLL_API int unroll_model_parameters(const unroll_model *model);
UNROLL_API unroll_status unroll_model_parameter(unroll_model *model, int index, unroll_parameter *parameter);

/* Fine-tuning: copies the weights of another model into a new one, for parameters with the same name and shape, and for
 * tokens by their text. Others, such as a head of another width, stay. report receives a line or two; may be NULL.
 * Returns an error if nothing fits. */
UNROLL_API unroll_status unroll_model_transfer(unroll_model *model, const unroll_model *from,
                                               void (*report)(void *arg, const char *line), void *arg);

/* ---- models of other tools ------------------------------------------------------------- */

/* Start from unroll_import_config_default(), which leaves everything to the file. */
typedef struct unroll_import_config {
    size_t size;              /* sizeof(unroll_import_config) */
    const char *format;       /* a name of UNROLL_LIST_FORMATS; NULL: found from the file's name and content */
    const char *prefix;       /* torch: reads only tensors with this prefix */
    const char *order;        /* torch: modules from the input on, "embed,gru:before,fc:relu,out", with the activations
                                 of linear layers, the reset of a GRU, the nonlinearity of an RNN; NULL: the file's, or
                                 the only order that the shapes allow */
    const char *nonlinearity; /* torch: "tanh" or "relu" of an RNN whose file does not contain it; NULL: tanh */
    const char *gru_reset;    /* "after" or "before", for a GRU whose file is ambiguous; NULL: an error */
    void (*report)(void *arg, const char *line); /* receives one line per finding; may be NULL */
    void *arg;
} unroll_import_config;

UNROLL_DEFAULT(unroll_import_config)

/* Imports strictly: whatever a model cannot represent, and what is unknown, unused or missing, is an error that names
 * it. */
UNROLL_API unroll_status unroll_model_import(const char *path, const unroll_import_config *config,
                                             unroll_model **model);

/* Start from unroll_export_config_default() and choose a format. */
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
    int raw;            /* as in unroll_run_config */
    const char *series; /* as in unroll_run_config */
} unroll_export_config;

UNROLL_DEFAULT(unroll_export_config)

/* Exports a model. Whatever the format cannot represent is an error. Files appear whole or not at all. */
UNROLL_API unroll_status unroll_model_export(const unroll_model *model, const char *path,
                                             const unroll_export_config *config);

typedef struct unroll_difference {
    size_t size;     /* initialize with { .size = sizeof(unroll_difference) } */
    double absolute; /* largest absolute difference */
    double relative; /* largest difference of an array divided by its largest magnitude */
    char array[80];  /* name of that array */
} unroll_difference;

/* Compares a model's results with those of another tool in a .npz: "y" as in unroll_model_run, or [B, output] (the last
 * step of each row), "hn", "cn", as far as present. Steps after the end of a row are ignored. */
UNROLL_API unroll_status unroll_model_verify(unroll_model *model, const char *reference,
                                             const unroll_run_config *config, unroll_difference *difference);

#ifdef __cplusplus
}
#endif
#endif
