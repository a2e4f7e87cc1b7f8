/* A model: the network, its parameters with their names, and their values. It is independent of devices and plans: the
 * plan's lowering reads it, and devices copy its values. */
#pragma once
#include "nn/pools.h"
#include "base/dtype.h"
#include "base/token_kind.h"
#include "nn/cells/activation.h"
#include "nn/cells/cell.h"
#include "nn/losses/loss.h"
#include "unroll_network.h"
#include <stdbool.h>

/* 64 layers of a stack and its head */
enum { MODEL_LAYERS_MAX = 65, SOURCES_MAX = UNROLL_SOURCES_MAX };

struct layer_kind;

/* A layer reads the concatenated outputs of earlier layers; SOURCE_INPUT is the network's input after its embedding. */
enum { SOURCE_INPUT = -1 };

struct layer {
    const struct layer_kind *kind; /* layer_kind.h */
    char name[64];                 /* prefix of the names of its parameters: "rnn" in a stack, "head" */
    int level;                     /* recurrent: N of weight_ih_lN */
    int sources, source[SOURCES_MAX];
    uint32_t input;   /* total width of all sources */
    uint32_t outputs; /* width of its output: directions x width */
    bool bias;
    bool is_output; /* the host reads its output */
    bool pooled;    /* its output has one step per sequence, T = 1: a pool, or a layer after one */
    float dropout;  /* applied to its output in training */
    /* for recurrent layers; otherwise cell is NULL and directions is 0 */
    const struct cell_declaration *cell; /* with its options: "lstm_peephole" */
    struct cell_options options;
    int directions;              /* 1 or 2 */
    int first_direction;         /* 1: the only direction is backward in time */
    uint32_t hidden, projection; /* units; width of the projected h, or 0 */
    uint32_t width;              /* of the h of one direction: hidden, or projection */
    /* for dense layers and others with an activation */
    struct activation activation;
    int pool; /* for a pool: enum pool */
};

/* A layer's directions are first_direction .. layer_end - 1. */
static inline int layer_end(const struct layer *l) { return l->first_direction + l->directions; }

/* The role of a parameter; role, layer and direction identify it. */
enum parameter_role {
    PARAM_EMBEDDING, /* [tokens, E]; its layer is the index of the column */
    PARAM_W_IH,      /* [G, U, I]  rows of W for the gate inputs that read x */
    PARAM_W_HH,      /* [G', U, K] rows of U for those that read h or the link */
    PARAM_B_IH,      /* [G, U] */
    PARAM_B_HH,      /* [G', U] */
    PARAM_VECTOR,    /* [V, U] elementwise weights, such as peepholes */
    PARAM_W_HR,      /* [P, U] projection */
    PARAM_W_DENSE,   /* [N, K] */
    PARAM_B_DENSE,   /* [N] */
    /* of the loss crf, with the last layer's index */
    PARAM_MOVE,  /* [N, N] from one label to the next */
    PARAM_START, /* [N] */
    PARAM_END,   /* [N] */
};

struct parameter {
    char name[96]; /* PyTorch's name */
    enum parameter_role role;
    int layer, direction;
    int rank;         /* 1..3 */
    uint32_t size[3]; /* as listed at the roles; files store the first two as one */
    size_t count;     /* number of elements */
    size_t first;     /* index of its first element in values */
};

/* Maps an input or output of an imported graph to an array of unroll_model_run (docs/reference/formats.md). */
struct signature {
    const char *name, *array, *axes; /* "logits", "y[-1]", "batch features" */
    bool is_output;
    const char *line; /* the whole entry, as unroll_model_signature returns it */
};

/* What a model has for sessions: their shared weights, NULL without sessions, and the speeds [ranks] of ranks, NULL if
 * they are equal. */
struct model_runtime {
    struct shared_weights *shared;
    const double *rate;
};

struct unroll_model {
    unroll_input inputs[UNROLL_INPUTS_MAX]; /* [n_inputs] the input columns, concatenated in x */
    char input_name[UNROLL_INPUTS_MAX][32];
    int n_inputs;
    bool tokens;             /* one column: it is token ids, otherwise vectors of floats; several columns: false */
    int input, embed;        /* one column: number of tokens or width of the vectors; width of the embedding or 0;
                              * several: 0 */
    float input_dropout;     /* applied to x in training */
    char embedding[64];      /* name of its parameter: "embedding" */
    bool tied;               /* the last layer, dense, uses the embedding as its weights */
    struct loss_choice loss; /* of the last layer */
    struct layer *layer;     /* [layers] each reads earlier ones; the last one gives the results */
    int layers;
    struct parameter *parameter;
    int parameters;
    float *values; /* all parameters, concatenated */
    size_t count;
    char **symbol; /* [input] the texts of the tokens, or NULL */
    enum token_kind symbol_kind;
    char task[32];               /* the task it was trained for; "": none, or the file does not contain it */
    char *schema;                /* JSON: description of its data, the only copy; or NULL */
    struct json_t *tree;         /* the schema, parsed; NULL: none, or it is not valid */
    struct signature *signature; /* [signatures] of the graph it was imported from */
    int signatures;
    bool differences;             /* its weights subtract numbers in units (units_series.c) */
    struct model_runtime runtime; /* only session/ uses it */
};

/* Returns the index of a parameter, or -1 if the model has none with this address. */
int model_find(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Returns the values of a parameter, or NULL if there is none. */
float *model_values(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Returns whether matrix products use the parameter as weights. A tied embedding is also the head. */
bool model_multiplies(const struct unroll_model *, const struct parameter *);

/* Returns the width of the network's input as layers read it: embeddings, one-hot tokens, numbers. */
uint32_t model_input(const struct unroll_model *);

/* The number of columns that are tokens; the vocabulary size of the one at `place` among them; the number of numeric
 * inputs in the others. */
int model_token_columns(const struct unroll_model *);
int model_categories(const struct unroll_model *, int place);
int model_numbers(const struct unroll_model *);

/* Returns the plan's name of a column's array: "x" for numbers, "tokens", or "tokens.word" if there are several
 * columns. */
const char *column_buffer(const struct unroll_model *, int column, char name[48]);

/* Returns ", 'word'" for messages if there are several columns, otherwise "". */
const char *input_called(const struct unroll_model *, int column, char text[48]);

/* Checks the columns of a network and copies them to the caller's array. Their names stay the network's. */
unroll_status inputs_of_network(const unroll_network *, unroll_input inputs[UNROLL_INPUTS_MAX], int *n_inputs);

/* Returns the column's name, or "numbers" for numbers without one. */
const char *network_input_name(const unroll_input *);

/* The width of a column in x, and of all columns. */
uint32_t input_width(const unroll_input *);
uint32_t inputs_width(const unroll_input *, int n_inputs);

/* Returns the width of a layer's output or of the network's input. */
uint32_t model_source(const struct unroll_model *, int source);

/* Returns the plan's name of the results: "z", or "y.lN" if the last layer keeps them (layer_kind.h). */
const char *model_results(const struct unroll_model *, char name[32]);

/* Returns whether the network gives one step per sequence. */
static inline bool model_is_pooled(const struct unroll_model *m) { return m->layer[m->layers - 1].pooled; }

/* Returns whether the loss is crf, whose parameters the model has. */
bool model_has_chain(const struct unroll_model *);

/* Returns whether a step depends on later ones: a layer is bidirectional or goes backward in time. */
bool model_looks_ahead(const struct unroll_model *);

unroll_status check_range(const char *name, int value, int min, int max);

/* A copy of a caller's network of any header version, with its layers and inputs. The strings stay the caller's. */
struct network_copy {
    unroll_network network;
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_input input[UNROLL_INPUTS_MAX];
};
unroll_status network_take(const unroll_network *given, struct network_copy *copy);

/* Checks the layers of a network and returns them; release(*layers). `cell` replaces the cell of all recurrent layers,
 * for tests; NULL: the kinds decide. */
unroll_status layers_of_network(const unroll_network *, const struct cell_declaration *cell, struct layer **layers);

/* Finds the cell with this public name and these options; the error lists the names. If all functions are linear, none
 * is chosen and the cell uses its own. The options are completed for the cell. */
unroll_status find_cell(const char *name, bool peephole, struct cell_options *, const struct cell_declaration **);

/* Parses the activations of a layer, "sigmoid tanh tanh"; NULL or "": none chosen. The second function formats them,
 * valid until this thread's next call, or returns NULL if the cell's activations are fixed. */
unroll_status parse_activations(const char *activations, const char *layer, struct cell_options *);
const char *activations_for_users(const struct cell_declaration *, const struct cell_options *);

/* Returns the public name of the cell whose own activations are these, or NULL if they were chosen. */
const char *cell_with_own_activations(const struct cell_declaration *, const struct cell_options *);

/* Returns the cell with that index of those that users can choose; NULL after the last. */
const struct cell_declaration *cell_at(int index);

/* Returns the first cell that is PyTorch's module and ONNX's operator `name`, of this kind (NULL: any), or NULL. */
const struct cell_declaration *cell_of_module(const char *name, const char *kind);

/* Checks that the activation's slope is determined by its value; the error names the layer. */
unroll_status check_activation(const struct activation *, const char *layer);

/* Converts a stack to a network, with its layers in the caller's array. */
unroll_status network_of_spec(const unroll_model_config *, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *);

/* Returns the array of unroll_model_run for a layer's output: "y" for the last layer, "y.NAME", or "y.NAME_lN" if the
 * name has several levels. */
void model_array(const struct unroll_model *, int layer, char name[80]);

/* Copies the texts of the tokens, [input] of them. */
unroll_status model_set_vocabulary(struct unroll_model *, const char *const *symbols, int count);

/* Copies the schema, a JSON object; NULL removes it. */
unroll_status model_set_schema(struct unroll_model *, const char *json);

/* Copies the network and weights, and if `texts` the vocabulary, signature and schema, without sessions and rates. */
unroll_status model_copy(const struct unroll_model *, bool texts, struct unroll_model **copy);

/* Appends an entry to the signature and copies its texts. */
unroll_status signature_add(struct unroll_model *, const struct signature *);
void signature_free(struct unroll_model *);

/* Builds a model of a network. `cell` replaces the cell of all recurrent layers, for tests; NULL: the kinds decide. An
 * outline has no weights (values = NULL), which is enough for a plan. */
unroll_status network_outline(const unroll_network *, const struct cell_declaration *cell, struct unroll_model **model);
unroll_status network_build(const unroll_network *, const struct cell_declaration *cell, uint64_t seed,
                            struct unroll_model **model);
/* The same with weights of 0. */
unroll_status network_zeros(const unroll_network *, struct unroll_model **model);
unroll_status model_build(const unroll_model_config *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model);
