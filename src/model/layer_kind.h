/* A kind of layer as data: what it wants of its description, its parameters, the operations that it becomes. The rows
 * and their table are in src/layers/, above the plan, whose builders they call; a model names them by this alone. */
#ifndef MODEL_LAYER_KIND_H
#define MODEL_LAYER_KIND_H
#include "model/model.h"

struct plan;

struct layer_kind {
    const char *name; /* as users call it, "dense"; NULL: the kinds are the cells, by their names */
    /* y = activation(W x + b) with PARAM_W_DENSE and PARAM_B_DENSE and nothing else: what streams, exports and files of
     * other tools know beside cells. Such a layer may be tied. */
    bool is_affine;
    bool gathers_columns; /* x enters lower_product alone: it may be tokens, which stand for one-hot rows */
    bool keeps_results;   /* its backward reads what it gave: a loss can't leave its gradient there */
    int widest;           /* the largest width; 0: it looks at the width itself */
    /* Of what is given, whose name, bias, dropout, sources, output and width were checked: sets what is its own,
     * outputs among it. l->input is known, and l->pooled, which x is. `cell`: NULL but in tests, which have their own.
     */
    unroll_status (*take)(const unroll_layer *, int index, const struct cell_declaration *cell, struct layer *l);
    void (*describe)(const struct layer *, unroll_layer *);   /* the way back, but for what all layers have */
    void (*add_parameters)(struct unroll_model *, int layer); /* by model_add_parameter */
    /* Forward operations that read buffer x [T, B, input] and give *y [T, B, outputs], behind a pool with T = 1; see
     * plan/lower.h. */
    unroll_status (*lower)(struct plan *, int layer, int x, int *y);
};

/* The pool that a layer is, as users call it; NULL: it is none. */
const char *layer_pool_of(const struct layer *);

/* The row of a kind; what is no row's name is for cells. */
const struct layer_kind *layer_kind_find(const char *name);

/* One more row, for tests: the table of the library is in layers/layer_table.c. */
unroll_status layer_kind_add(const struct layer_kind *);

/* [first, second, third], as many as `rank`; none where one of them is 0. Made in the order of these calls. */
void model_add_parameter(struct unroll_model *, enum parameter_role, int layer, int direction, int rank, uint32_t first,
                         uint32_t second, uint32_t third);

/* Refuses what is for other kinds, by name. */
struct layer_option {
    const char *name;
    bool given;
};
unroll_status refuse_options(const struct layer_option *, size_t count, int index, const char *kinds);

#endif
