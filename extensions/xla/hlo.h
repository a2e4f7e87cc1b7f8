/* Writes StableHLO as text, one operation per function, in MLIR's generic form, which every parser reads. Values
 * have their type, so callers never write one. Independent of plans, cells and plugins.
 *
 * C does not define the order in which arguments are evaluated. Calls that write are therefore never nested in each
 * other's arguments, so that the text is always the same. */
#ifndef DEVICE_XLA_HLO_H
#define DEVICE_XLA_HLO_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum hlo_type { HLO_F32, HLO_I32, HLO_U8, HLO_U32, HLO_U64, HLO_I1, HLO_BF16 };
enum { HLO_AXES = 5 };

struct shape {
    int rank;
    int64_t dim[HLO_AXES];
};

struct value {
    int id, result; /* result: index among several results, or -1 */
    enum hlo_type type;
    struct shape shape;
};

/* The text grows as needed; if memory runs out, `failed` is set and nothing more is written. */
struct hlo {
    char *text;
    size_t size, capacity;
    bool failed, narrow; /* narrow: products multiply bf16 and add in f32; otherwise full f32 */
    int values, depth;
};

void hlo_free(struct hlo *);
void hlo_print(struct hlo *, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct shape shape_of(int rank, const int64_t *dim);
#define SHAPE(...)                                                          \
    shape_of((int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
             (const int64_t[]){ __VA_ARGS__ })
#define SCALAR     ((struct shape){ 0 })
int64_t shape_count(struct shape);

/* ---- modules --------------------------------------------------------------------------- */

/* A module of one function for a number of devices. Arguments may be created at any time, because hlo_end writes the
 * head, in which all must be listed. alias: the result that reuses its memory, or -1. */
struct argument {
    struct value value;
    int alias;
};
void hlo_begin(struct hlo *);
struct value hlo_argument(struct hlo *, struct value type);
void hlo_end(struct hlo *, const char *name, int devices, const struct argument *argument, int arguments,
             const struct value *result, int results);

/* ---- operations ------------------------------------------------------------------------ */

struct value hlo_constant(struct hlo *, enum hlo_type, struct shape, double number);
struct value hlo_unary(struct hlo *, const char *name, struct value);
struct value hlo_binary(struct hlo *, const char *name, struct value, struct value);
struct value hlo_compare(struct hlo *, const char *direction, struct value, struct value);
struct value hlo_select(struct hlo *, struct value condition, struct value yes, struct value no);
struct value hlo_convert(struct hlo *, struct value, enum hlo_type);
struct value hlo_reshape(struct hlo *, struct value, struct shape);
/* Axis i of the value becomes axis[i] of the result; values repeat along the other axes. */
struct value hlo_spread(struct hlo *, struct value, struct shape, const int *axis);
struct value hlo_slice(struct hlo *, struct value, const int64_t *first, struct shape count);
struct value hlo_location(struct hlo *, struct value whole, struct value piece, const int64_t *first);
/* Transposes [M, N] to [N, M]. */
struct value hlo_transpose(struct hlo *, struct value);
struct value hlo_join(struct hlo *, struct value, struct value, int axis);
struct value hlo_iota(struct hlo *, enum hlo_type, struct shape, int axis);
/* Reduces axes [first, first + count) with "add" or "maximum". */
struct value hlo_reduce(struct hlo *, const char *name, struct value, int first, int count);
/* Converts an operand of products to bf16, if products are narrow. Operands that are constant in a loop are
 * converted before it. */
struct value hlo_narrowed(struct hlo *, struct value);
/* Contracts a and b along the given axes; all other axes remain, those of a before those of b. */
struct value hlo_dot(struct hlo *, struct value a, int axis_a, struct value b, int axis_b);
/* Returns rows of a table [V, E] by index [T, B]: [T, B, E]. */
struct value hlo_rows(struct hlo *, struct value table, struct value number);

/* Slices one axis, beginning at an i32. */
struct value hlo_slice_at(struct hlo *, struct value, int axis, struct value at, int64_t count);

/* Returns element `at`, an i32, of the first axis; hlo_put_step returns the whole with that element replaced. */
struct value hlo_step(struct hlo *, struct value, struct value at);
struct value hlo_put_step(struct hlo *, struct value whole, struct value step, struct value at);

/* ---- between devices ------------------------------------------------------------------- */

/* Groups of devices of equal size, listed one after another. */
struct devices {
    int groups, size;
    const int *member;
};
struct value hlo_sum_over(struct hlo *, struct value, const struct devices *);
/* All-gather of the members' parts; reduce-scatter: the sum, of which each member gets its part. */
struct value hlo_gather_over(struct hlo *, struct value, int axis, const struct devices *);
struct value hlo_scatter_over(struct hlo *, struct value, int axis, const struct devices *);

/* ---- a loop ---------------------------------------------------------------------------- */

/* for (i = 0; i < steps; i++): hlo_loop creates the counter and replaces the carried values by those inside;
 * hlo_loop_end takes the values for the next turn and returns the results. */
enum { HLO_CARRIED = 48 };
struct loop {
    int id, values;
    struct value counter, carried[HLO_CARRIED];
};
void hlo_loop(struct hlo *, struct loop *, int64_t steps);
void hlo_loop_end(struct hlo *, struct loop *);

#endif
