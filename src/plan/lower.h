/* What rows of layers build the forward list with: buffers, and views of what the model has. */
#ifndef PLAN_LOWER_H
#define PLAN_LOWER_H
#include "plan/plan.h"

struct shape {
    int rank;
    enum axis axis[BUFFER_AXES];
    uint32_t size[BUFFER_AXES];
};

#define SHAPE1(a, n)                   (struct shape){ 1, { a }, { n } }
#define SHAPE2(a, n, b, m)             (struct shape){ 2, { a, b }, { n, m } }
#define SHAPE3(a, n, b, m, c, k)       (struct shape){ 3, { a, b, c }, { n, m, k } }
#define SHAPE4(a, n, b, m, c, k, d, l) (struct shape){ 4, { a, b, c, d }, { n, m, k, l } }

/* Indices of buffers; -1: there is no memory, and the error says so. */
int plan_add(struct plan *, const char *name, enum dtype, enum segment, struct shape);

/* [T, B, width] of a layer, or behind a pool [1, B, width]; by its number (-1: the last): results where the host may
 * read them, else a step's. */
int lower_result(struct plan *, const char *prefix, int layer, uint32_t width, bool is_output);

/* What layer `layer` gives: "z" of the last layer, "y.lN" of others and of one that keeps its results. */
int lower_output(struct plan *, int layer);

/* The buffer of a parameter, or -1 where the model has none. */
int lower_master(const struct plan *, enum parameter_role, int layer, int direction);
/* What a forward product reads: the packed copy where there is one. */
int lower_weight(const struct plan *, int master);

/* A whole buffer by name; none: a view of nothing. */
struct view lower_named(const struct plan *, const char *name);

/* The product of what a layer reads, or the picking of columns where that is tokens; the views but x are to be set. */
struct op lower_product(const struct plan *, int x, int layer);

#endif
