/* A kind of layer as data: the checks of its options, and its parameters. Its operations are not here: plans find them
 * by the kind's name (plan/lower/lowering.h). */
#pragma once
#include "model/model.h"

struct layer_kind {
    const char *name; /* public name, "dense"; NULL: cells, whose kinds are the cells' names */
    /* y = activation(W x + b) with PARAM_W_DENSE and PARAM_B_DENSE only. Streams, exports and converters support these
     * layers and cells. Such a layer may be tied. */
    bool is_affine;
    bool gathers_columns; /* only lower_product reads x: it may be tokens, which represent one-hot rows */
    bool keeps_results;   /* its backward pass reads its results: a loss cannot overwrite them with its gradient */
    int widest;           /* the largest width; 0: `take` checks the width */
    /* Sets the fields of *l that are specific to the kind, including outputs. The caller has checked name, bias,
     * dropout, sources, output and width, and set l->input and, for the layer's input, l->pooled. `cell` is NULL except
     * in tests with cells of their own. */
    unroll_status (*take)(const unroll_layer *, int index, const struct cell_declaration *cell, struct layer *l);
    void (*describe)(const struct layer *, unroll_layer *);   /* the inverse of `take`, without the fields common to all
                                                               * layers */
    void (*add_parameters)(struct unroll_model *, int layer); /* with model_add_parameter */
};

/* Returns the public name of the pool that the layer is, or NULL if it is no pool. */
const char *layer_pool_of(const struct layer *);

/* Returns the row of a kind. Names without a row of their own are those of cells. */
const struct layer_kind *layer_kind_find(const char *name);

/* Adds a row, for tests. The library's own table is in layer_table.c. */
unroll_status layer_kind_add(const struct layer_kind *);

/* Adds a parameter of `rank` sizes, first, second, third, after those added before. Adds none if one of the sizes
 * is 0. */
void model_add_parameter(struct unroll_model *, enum parameter_role, int layer, int direction, int rank, uint32_t first,
                         uint32_t second, uint32_t third);

/* Fails on an option that was given but belongs to other kinds of layers; `kinds` lists them. */
struct layer_option {
    const char *name;
    bool given;
};
unroll_status refuse_options(const struct layer_option *, size_t count, int index, const char *kinds);
