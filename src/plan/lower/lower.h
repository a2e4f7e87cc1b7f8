/* Functions for rows of layers that build the forward list: buffers, and views of a model's parameters. */
#pragma once
#include "plan/ir/plan.h"

struct buffer_shape {
    int rank;
    enum axis axis[BUFFER_AXES];
    uint32_t size[BUFFER_AXES];
};

#define SHAPE1(a, n)                   (struct buffer_shape){ 1, { a }, { n } }
#define SHAPE2(a, n, b, m)             (struct buffer_shape){ 2, { a, b }, { n, m } }
#define SHAPE3(a, n, b, m, c, k)       (struct buffer_shape){ 3, { a, b, c }, { n, m, k } }
#define SHAPE4(a, n, b, m, c, k, d, l) (struct buffer_shape){ 4, { a, b, c, d }, { n, m, k, l } }

/* Returns the index of a new buffer; -1: memory is exhausted (the error is set). */
int plan_add(struct plan *, const char *name, enum dtype, enum segment, struct buffer_shape);

/* Adds the buffer [T, B, width] of a layer (-1: the last), or [1, B, width] after a pool. It is in SEG_IO if the host
 * may read it, otherwise in SEG_STEP. */
int lower_result(struct plan *, const char *prefix, int layer, uint32_t width, bool is_output);

/* Adds the output of layer `layer`: "z" for the last layer, "y.lN" for others and for kinds with keeps_results. */
int lower_output(struct plan *, int layer);

/* Returns the buffer of a parameter, or -1 if the model does not have it. */
int lower_master(const struct plan *, enum parameter_role, int layer, int direction);
/* Returns the weights that a forward product reads: the packed copy if there is one. */
int lower_weight(const struct plan *, int master);

/* Returns a view of a whole buffer by name; absent if there is none. */
struct view lower_named(const struct plan *, const char *name);

/* [T, B, width], or [T, B] of classes (width 0). After a pool T = 1, an axis that is never cut. */
struct buffer_shape lower_steps(const struct plan *, bool pooled, uint32_t width);

/* Adds the loss of z and its targets, unless the mode needs none. */
unroll_status lower_loss(struct plan *, int z);

/* Returns the product with a layer's input, or gather_columns if that is tokens. The caller sets the views except x. */
struct op lower_product(const struct plan *, int x, int layer);
