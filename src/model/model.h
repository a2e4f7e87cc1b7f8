/* A model: what the network is, its parameters by name, and their values.
 * It knows no device and no plan: the plan's lowering reads it, devices copy its values. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H
#include "base/dtype.h"
#include "cells/activation.h"
#include "cells/cell.h"
#include "losses/loss.h"
#include "unroll.h"
#include <stdbool.h>

/* 64 of a stack, and its head. */
enum { MODEL_LAYERS_MAX = 65, SOURCES_MAX = UNROLL_SOURCES_MAX };

struct layer_kind;

/* A layer reads the outputs of earlier ones side by side; SOURCE_INPUT is the network's input, embedded. */
enum { SOURCE_INPUT = -1 };

struct layer {
    const struct layer_kind *kind; /* layer_kind.h */
    char name[64];                 /* of its parameters, as users see it: "rnn" of a stack, "head" */
    int level;                     /* recurrent: N of weight_ih_lN */
    int sources, source[SOURCES_MAX];
    uint32_t input;   /* width of all sources together */
    uint32_t outputs; /* width of what it gives: directions x width */
    bool bias;
    bool is_output; /* the host reads what it gives */
    bool pooled;    /* it gives one step for each sequence, T = 1: a pool, and what lies behind one */
    float dropout;  /* of what it gives, in training */
    /* recurrent; of others cell is NULL, and directions are 0 */
    const struct cell_declaration *cell; /* with its options: "lstm_peephole" */
    struct cell_options options;
    int directions;              /* 1 or 2 */
    int first_direction;         /* 1: the only direction is backward in time */
    uint32_t hidden, projection; /* units; width that h is projected to, or 0 */
    uint32_t width;              /* of the h of one direction: hidden, or the projection */
    /* dense, and others that have one */
    struct activation activation;
    int pool; /* of a pool: enum pool (plan/op.h) */
};

/* A layer's directions go from first_direction to before this. */
static inline int layer_end(const struct layer *l) { return l->first_direction + l->directions; }

/* What a parameter is to the network; with layer and direction it is an address. */
enum parameter_role {
    PARAM_EMBEDDING, /* [tokens, E]; its layer is the column */
    PARAM_W_IH,      /* [G, U, I]  rows of W for the gate inputs that see x */
    PARAM_W_HH,      /* [G', U, K] rows of U for those that see h or the link */
    PARAM_B_IH,      /* [G, U] */
    PARAM_B_HH,      /* [G', U] */
    PARAM_VECTOR,    /* [V, U] weights unit by unit, as peepholes are */
    PARAM_W_HR,      /* [P, U] projection */
    PARAM_W_DENSE,   /* [N, K] */
    PARAM_B_DENSE,   /* [N] */
};

struct parameter {
    char name[96]; /* PyTorch's */
    enum parameter_role role;
    int layer, direction;
    int rank;         /* 1..3 */
    uint32_t size[3]; /* as listed at the roles; a file sees the first two as one */
    size_t count;     /* of numbers */
    size_t first;     /* of its numbers in values */
};

/* What an input or output of a graph is among the arrays of unroll_run (docs/reference/formats.md). */
struct signature {
    const char *name, *array, *axes; /* "logits", "y[-1]", "batch features" */
    bool is_output;
    const char *line; /* all of it, as unroll_model_signature gives it */
};

struct unroll_model {
    unroll_input inputs[UNROLL_INPUTS_MAX]; /* [n_inputs] the columns that it reads, side by side in x */
    char input_name[UNROLL_INPUTS_MAX][32];
    int n_inputs;
    bool tokens;             /* of a single column: it is token ids, else vectors of floats; of several false */
    int input, embed;        /* how many tokens, or the vectors' width; width of the embedding, 0: none; of several 0 */
    float input_dropout;     /* of x, in training */
    char embedding[64];      /* "embedding": of its parameter */
    bool tied;               /* the last layer, dense, multiplies by the embedding */
    struct loss_choice loss; /* of the last layer */
    struct layer *layer;     /* [layers] each reads earlier ones; the last gives the results */
    int layers;
    struct parameter *parameter;
    int parameters;
    float *values; /* all parameters one after the other */
    size_t count;
    char **symbol; /* [input] what the tokens stand for, or NULL */
    unroll_token_kind symbol_kind;
    char task[32];               /* that it was trained for; "": of none, or of a file that does not say it */
    char *schema;                /* JSON: what its data are, which no other room reads; or NULL */
    struct signature *signature; /* [signatures] of the graph it was imported from */
    int signatures;
    const double *rate;            /* [ranks] how fast those of its sessions are (session/balance.h); NULL: all alike */
    struct shared_weights *shared; /* of the sessions of this model (session.h), while there are some */
};

/* Index of a parameter, or -1: the model has none of that role there. */
int model_find(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Its numbers; NULL: there are none. */
float *model_values(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Do products with the outputs of layers multiply by it? A tied embedding is a head, too. */
bool model_multiplies(const struct unroll_model *, const struct parameter *);

/* Width of the network's input as layers read it: embeddings, one-hot tokens, numbers. */
uint32_t model_input(const struct unroll_model *);

/* Of its columns, how many are tokens, and the vocabulary of the one at `place` among those; how many numbers the
 * others have. */
int model_token_columns(const struct unroll_model *);
int model_categories(const struct unroll_model *, int place);
int model_numbers(const struct unroll_model *);

/* What plans call the array of a column: "x" of numbers, "tokens", of several columns "tokens.word". */
const char *column_buffer(const struct unroll_model *, int column, char name[48]);

/* ", 'word'" of a column of several; "" of a single one. */
const char *input_called(const struct unroll_model *, int column, char text[48]);

/* The columns of a network after their checks, in the caller's array, whose names are the network's. */
unroll_status inputs_of_network(const unroll_network *, unroll_input inputs[UNROLL_INPUTS_MAX], int *n_inputs);

/* Its own, or "numbers" of numbers without. */
const char *network_input_name(const unroll_input *);

/* Width of a column in x, and of all of them. */
uint32_t input_width(const unroll_input *);
uint32_t inputs_width(const unroll_input *, int n_inputs);

/* Width of what one layer or the input gives. */
uint32_t model_source(const struct unroll_model *, int source);

/* The results as plans call them: "z", or "y.lN" of a last layer that keeps them (layer_kind.h). */
const char *model_results(const struct unroll_model *, char name[32]);

/* Does the network give one step for each sequence? */
static inline bool model_is_pooled(const struct unroll_model *m) { return m->layer[m->layers - 1].pooled; }

/* Bidirectional, or backward in time: steps depend on steps to come. */
bool model_looks_ahead(const struct unroll_model *);

unroll_status check_range(const char *name, int value, int min, int max);

/* The layers of a network after their checks. `cell`: what all recurrent layers are, for tests with cells of their own;
 * NULL: what their kinds say. release(*layers). */
/* A caller's network, of any version of the headers, with its layers and inputs. The strings stay the caller's. */
struct network_copy {
    unroll_network network;
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_input input[UNROLL_INPUTS_MAX];
};
unroll_status network_take(const unroll_network *given, struct network_copy *copy);

unroll_status layers_of_network(const unroll_network *, const struct cell_declaration *cell, struct layer **layers);

/* The cell that users call `name`, with these options; the error names the known ones. Functions that are not
 * chosen (all linear) are its own. Options end as the cell wants them. */
unroll_status find_cell(const char *name, bool peephole, struct cell_options *, const struct cell_declaration **);

/* "sigmoid tanh tanh" of a layer; NULL or "": none chosen. And back, good until this thread's next call; NULL:
 * the cell has functions of its own. */
unroll_status parse_activations(const char *activations, const char *layer, struct cell_options *);
const char *activations_for_users(const struct cell_declaration *, const struct cell_options *);

/* What users call the cell that has these functions as its own; NULL: they are chosen. */
const char *cell_with_own_activations(const struct cell_declaration *, const struct cell_options *);

/* The cells of unroll_cell_name; NULL after the last. */
const struct cell_declaration *cell_at(int index);

/* The first cell that is PyTorch's module and ONNX's operator `name`, of this kind (NULL: of any); NULL: none is. */
const struct cell_declaration *cell_of_module(const char *name, const char *kind);

/* Has the activation a slope that its value determines? The layer is named if not. */
unroll_status check_activation(const struct activation *, const char *layer);

/* A stack as the network that it stands for, in the caller's array. */
unroll_status network_of_spec(const unroll_spec *, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *);

/* The array of unroll_run with what a layer gives: "y" of the last one, "y.NAME", "y.NAME_lN" of one of several levels.
 */
void model_array(const struct unroll_model *, int layer, char name[80]);

/* Characters for the tokens, [input] of them, which are copied. */
unroll_status model_set_vocabulary(struct unroll_model *, const char *const *symbols, int count);

/* The schema, a JSON object, which is copied; NULL: none any more. */
unroll_status model_set_schema(struct unroll_model *, const char *json);

/* One more entry of the signature, whose texts are copied. */
unroll_status signature_add(struct unroll_model *, const struct signature *);
void signature_free(struct unroll_model *);

/* A network of cells that need not be in the table (tests), whatever its kinds say; NULL: of those. An outline has no
 * weights (values = NULL), which is enough to plan with. */
unroll_status network_outline(const unroll_network *, const struct cell_declaration *cell, struct unroll_model **model);
unroll_status network_build(const unroll_network *, const struct cell_declaration *cell, uint64_t seed,
                            struct unroll_model **model);
unroll_status model_build(const unroll_spec *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model);

#endif
