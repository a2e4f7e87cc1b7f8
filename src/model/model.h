/* A model: what the network is (its specification), its parameters by name, and their values.
 * It knows no device and no plan: the plan's lowering reads it, devices copy its values. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H
#include "base/dtype.h"
#include "cells/cell.h"
#include "unroll.h"
#include <stdbool.h>

/* What a parameter is to the network; with layer and direction it is an address. */
enum parameter_role {
    PARAM_EMBEDDING,        /* [symbols, E] */
    PARAM_W_IH,             /* [G, U, I]  rows of W for the gate inputs that see x */
    PARAM_W_HH,             /* [G', U, K] rows of U for those that see h or the link */
    PARAM_B_IH,             /* [G, U] */
    PARAM_B_HH,             /* [G', U] */
    PARAM_VECTOR,           /* [V, U] peepholes */
    PARAM_W_HR,             /* [P, U] projection */
    PARAM_W_HEAD,           /* [N, K] */
    PARAM_B_HEAD,           /* [N] */
};

struct parameter {
    char                name[64];       /* PyTorch's */
    enum parameter_role role;
    int                 layer, direction;
    int                 rank;           /* 1..3 */
    uint32_t            size[3];        /* as listed at the roles; a file sees the first two as one */
    size_t              count;          /* of numbers */
    size_t              first;          /* of its numbers in values */
};

enum { MODEL_LAYERS_MAX = 64 };

struct device;

struct unroll_model {
    unroll_spec spec;                   /* checked; spec.cell points to the name here */
    char        cell[32];
    const struct cell_declaration *declaration;     /* of the cell with its options: "lstm_peephole" */
    int         directions;             /* 1 or 2 */
    uint32_t    width;                  /* of the h of one direction: hidden, or the projection */
    struct parameter *parameter;
    int         parameters;
    float      *values;                 /* all parameters one after the other */
    size_t      count;
    char      **symbol;                 /* [spec.input] what the tokens stand for, or NULL */
    unroll_symbol_kind symbol_kind;
    void       *store;                  /* the weights on a device while sessions exist, else NULL */
    const struct device *device;        /* the device of the store */
    enum dtype  store_real;             /* what the store's numbers are */
    enum dtype  store_weights;          /* and its packed copies, if they are narrower */
    int         sessions;
    uint64_t    changes;                /* of the weights in the store */
    bool        training;               /* one of them trains */
};

/* Index of a parameter, or -1: the model has none of that role there. */
int model_find(const struct unroll_model *, enum parameter_role role, int layer, int direction);

/* Width of what layer l reads: the embedding or the input, then directions x width. */
uint32_t model_layer_input(const struct unroll_model *, int layer);

/* For cells that are not in the table (tests): a model of this declaration, whatever spec->cell says. */
unroll_status model_build(const unroll_spec *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model);

#endif
