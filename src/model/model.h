/* A model: what the network is (its specification), its parameters by name, and their values.
 * It knows no device and no plan: the plan's lowering reads it, devices copy its values. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H
#include "base/dtype.h"
#include "cells/activation.h"
#include "cells/cell.h"
#include "unroll.h"
#include <stdbool.h>

/* A list of layers, or a stack, which has a head behind it: MODEL_DEPTH_MAX in all. */
enum { MODEL_LAYERS_MAX = 64, MODEL_DEPTH_MAX = MODEL_LAYERS_MAX + 1, SOURCES_MAX = UNROLL_SOURCES_MAX };

enum layer_kind { LAYER_RECURRENT, LAYER_DENSE };

/* A layer reads the outputs of earlier ones side by side; SOURCE_INPUT is the network's input, embedded. */
enum { SOURCE_INPUT = -1 };

struct layer {
    enum layer_kind kind;
    char            name[64];           /* of its parameters, as users see it: "rnn" of a stack, "head" */
    int             level;              /* recurrent: N of weight_ih_lN */
    int             sources, source[SOURCES_MAX];
    uint32_t        input;              /* width of all sources together */
    uint32_t        outputs;            /* width of what it gives: directions x width */
    bool            bias;
    bool            is_output;          /* the host reads what it gives */
    float           dropout;            /* of what it gives, in training */
    /* recurrent */
    const struct cell_declaration *cell;            /* with its options: "lstm_peephole" */
    struct cell_options options;
    int             directions;         /* 1 or 2 */
    int             first_direction;    /* 1: the only direction is backward in time */
    uint32_t        hidden, projection; /* units; width that h is projected to, or 0 */
    uint32_t        width;              /* of the h of one direction: hidden, or the projection */
    /* dense */
    struct activation activation;
};

/* A layer's directions go from first_direction to before this. */
static inline int layer_end(const struct layer *l)
{
    return l->first_direction + l->directions;
}

/* What a parameter is to the network; with layer and direction it is an address. */
enum parameter_role {
    PARAM_EMBEDDING,        /* [symbols, E] */
    PARAM_W_IH,             /* [G, U, I]  rows of W for the gate inputs that see x */
    PARAM_W_HH,             /* [G', U, K] rows of U for those that see h or the link */
    PARAM_B_IH,             /* [G, U] */
    PARAM_B_HH,             /* [G', U] */
    PARAM_VECTOR,           /* [V, U] peepholes */
    PARAM_W_HR,             /* [P, U] projection */
    PARAM_W_DENSE,          /* [N, K] */
    PARAM_B_DENSE,          /* [N] */
};

struct parameter {
    char                name[96];       /* PyTorch's */
    enum parameter_role role;
    int                 layer, direction;
    int                 rank;           /* 1..3 */
    uint32_t            size[3];        /* as listed at the roles; a file sees the first two as one */
    size_t              count;          /* of numbers */
    size_t              first;          /* of its numbers in values */
};

struct device;

struct unroll_model {
    unroll_spec spec;                   /* checked; spec.cell points to the name here. Of a network: see unroll.h */
    char        cell[32];
    bool        is_network;             /* made of layers by unroll_network_new */
    struct layer *layer;                /* [layers] each reads earlier ones; the last gives the results */
    int         layers;
    char        embedding[64];          /* "embedding": of its parameter */
    struct parameter *parameter;
    int         parameters;
    float      *values;                 /* all parameters one after the other */
    size_t      count;
    char      **symbol;                 /* [spec.input] what the tokens stand for, or NULL */
    unroll_symbol_kind symbol_kind;
    void       *store;                  /* the weights on a device while sessions exist, else NULL */
    const struct device *device;        /* the device of the store */
    unsigned    store_process;          /* that made the store (base/process.h) */
    enum dtype  store_real;             /* what the store's numbers are */
    enum dtype  store_weights;          /* and its packed copies, if they are narrower */
    uint64_t    changes;                /* how often the weights of the store changed */
    uint64_t    pulled;                 /* the change that `values` has: no session changed its weights since */
    int         sessions;
    bool        training;               /* one of them trains */
};

/* Index of a parameter, or -1: the model has none of that role there. */
int model_find(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Do products with the outputs of layers multiply by it? A tied embedding is a head, too. */
bool model_multiplies(const struct unroll_model *, const struct parameter *);

/* Width of the network's input as layers read it: the embedding, one-hot symbols or the vectors. */
uint32_t model_input(const struct unroll_model *);

/* Width of what one layer or the input gives. */
uint32_t model_source(const struct unroll_model *, int source);

unroll_status check_spec(const unroll_spec *, const struct cell_declaration **cell);

/* The layers of a checked specification: a stack of one cell, then the head. release() them. */
unroll_status layers_of_spec(const unroll_spec *, const struct cell_declaration *, struct layer **, int *count);

/* Checked layers of a network, and what a specification says of it. release(*layers). */
unroll_status layers_of_network(const unroll_network *, unroll_spec *spec, struct layer **layers);

/* The cell that users call `name`, with these options; the error names the known ones. Functions that are not
 * chosen (all linear) are its own. Options end as the cell wants them. */
unroll_status find_cell(const char *name, bool peephole, struct cell_options *, const struct cell_declaration **);

/* "sigmoid tanh tanh" of a layer; NULL or "": none chosen. And back, good until this thread's next call; NULL:
 * the cell has functions of its own. */
unroll_status parse_functions(const char *functions, const char *layer, struct cell_options *);
const char *functions_for_users(const struct cell_declaration *, const struct cell_options *);

/* What users call a cell of the table, good until this thread's next call. */
const char *name_for_users(const struct cell_declaration *);

/* Has the activation a slope that its value determines? The layer is named if not. */
unroll_status check_activation(const struct activation *, const char *layer);

/* Other names for the parameters of a stack than "embedding", "rnn" and "head"; NULL: as it was. To 63 bytes each,
 * and no two alike. */
void model_rename(struct unroll_model *, const char *embedding, const char *stack, const char *head);

/* For cells that are not in the table (tests): a model of this declaration, whatever spec->cell says. */
unroll_status model_build(const unroll_spec *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model);

#endif
