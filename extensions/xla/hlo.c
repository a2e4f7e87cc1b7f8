/* StableHLO as text (hlo.h). */
#include "extensions/xla/hlo.h"
#include "base/memory.h"
#include "base/point.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const type_name[] = {"f32", "i32", "ui8", "ui32", "ui64", "i1", "bf16"};

/* ---- text ------------------------------------------------------------------------------ */

void hlo_free(struct hlo *h)
{
    release(h->text);
    *h = (struct hlo){0};
}

static bool make_room(struct hlo *h, size_t more)
{
    if (h->failed || h->size + more < h->capacity)
        return !h->failed;
    size_t capacity = 2 * (h->size + more) + (1 << 14);
    char *text = allocate_zeroed(capacity, 1);
    if (!text) {
        h->failed = true;
        return false;
    }
    if (h->size)
        memcpy(text, h->text, h->size);
    release(h->text);
    h->text = text;
    h->capacity = capacity;
    return true;
}

static void print(struct hlo *h, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    if (size >= 0 && make_room(h, (size_t)size + 1)) {
        vsnprintf(h->text + h->size, (size_t)size + 1, format, again);
        h->size += (size_t)size;
    }
    va_end(again);
}

void hlo_print(struct hlo *h, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(h, format, arguments);
    va_end(arguments);
}

static void print_type(struct hlo *h, struct value v)
{
    hlo_print(h, "tensor<");
    for (int i = 0; i < v.shape.rank; i++) hlo_print(h, "%" PRId64 "x", v.shape.dim[i]);
    hlo_print(h, "%s>", type_name[v.type]);
}

static void print_name(struct hlo *h, struct value v)
{
    if (v.result < 0)
        hlo_print(h, "%%v%d", v.id);
    else
        hlo_print(h, "%%v%d#%d", v.id, v.result);
}

static void print_names(struct hlo *h, const struct value *v, int count)
{
    for (int i = 0; i < count; i++) {
        hlo_print(h, i ? ", " : "");
        print_name(h, v[i]);
    }
}

static void print_types(struct hlo *h, const struct value *v, int count)
{
    hlo_print(h, "(");
    for (int i = 0; i < count; i++) {
        hlo_print(h, i ? ", " : "");
        print_type(h, v[i]);
    }
    hlo_print(h, ")");
}

static void print_numbers(struct hlo *h, const char *name, const int64_t *number, int count)
{
    hlo_print(h, "%s = array<i64", name);
    for (int i = 0; i < count; i++) hlo_print(h, "%s%" PRId64, i ? ", " : ": ", number[i]);
    hlo_print(h, ">");
}

static struct value fresh(struct hlo *h, enum hlo_type type, struct shape shape)
{
    return (struct value){h->values++, -1, type, shape};
}

/* Writes "%v7 = "stablehlo.name"(%v1, %v2)"; attributes and finish() follow. */
static struct value begin(struct hlo *h, const char *name, enum hlo_type type, struct shape shape,
                          const struct value *operand, int operands)
{
    struct value v = fresh(h, type, shape);
    hlo_print(h, "%*s%%v%d = \"stablehlo.%s\"(", 2 * h->depth, "", v.id, name);
    print_names(h, operand, operands);
    hlo_print(h, ")");
    return v;
}

static struct value finish(struct hlo *h, struct value v, const struct value *operand, int operands)
{
    hlo_print(h, " : ");
    print_types(h, operand, operands);
    hlo_print(h, " -> ");
    print_type(h, v);
    hlo_print(h, "\n");
    return v;
}

static struct value plain(struct hlo *h, const char *name, enum hlo_type type, struct shape shape,
                          const struct value *operand, int operands)
{
    struct value v = begin(h, name, type, shape, operand, operands);
    return finish(h, v, operand, operands);
}

static void print_return(struct hlo *h, const char *name, const struct value *v, int count)
{
    hlo_print(h, "%*s\"%s\"(", 2 * h->depth, "", name);
    print_names(h, v, count);
    hlo_print(h, ") : ");
    print_types(h, v, count);
    hlo_print(h, " -> ()\n");
}

struct shape shape_of(int rank, const int64_t *dim)
{
    struct shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.dim[i] = dim[i];
    return s;
}

int64_t shape_count(struct shape s)
{
    int64_t count = 1;
    for (int i = 0; i < s.rank; i++) count *= s.dim[i];
    return count;
}

/* ---- modules --------------------------------------------------------------------------- */

void hlo_begin(struct hlo *h) { h->depth = 2; }

struct value hlo_argument(struct hlo *h, struct value type) { return fresh(h, type.type, type.shape); }

static void print_head(struct hlo *h, const char *name, int devices, const struct argument *argument, int arguments,
                       const struct value *result, int results)
{
    hlo_print(h, "module @%s attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : i32} {\n", name,
              devices);
    hlo_print(h, "  func.func public @main(");
    for (int i = 0; i < arguments; i++) {
        hlo_print(h, "%s%%v%d: ", i ? ", " : "", argument[i].value.id);
        print_type(h, argument[i].value);
        if (argument[i].alias >= 0)
            hlo_print(h, " {tf.aliasing_output = %d : i32}", argument[i].alias);
    }
    hlo_print(h, ") -> ");
    print_types(h, result, results);
    hlo_print(h, " {\n");
}

void hlo_end(struct hlo *h, const char *name, int devices, const struct argument *argument, int arguments,
             const struct value *result, int results)
{
    struct hlo body = *h;
    h->text = NULL;
    h->size = h->capacity = 0;
    print_head(h, name, devices, argument, arguments, result, results);
    if (make_room(h, body.size))
        memcpy(h->text + h->size, body.text, body.size);
    h->size += h->failed ? 0 : body.size;
    release(body.text);
    print_return(h, "func.return", result, results);
    hlo_print(h, "  }\n}\n");
}

/* ---- operations ------------------------------------------------------------------------ */

struct value hlo_constant(struct hlo *h, enum hlo_type type, struct shape shape, double number)
{
    struct value v = begin(h, "constant", type, shape, NULL, 0);
    const locale_t before = point_begin();
    hlo_print(h, " {value = dense<");
    if (type != HLO_F32)
        hlo_print(h, "%.0f", number);
    else if (isnan(number))
        hlo_print(h, "0x7FC00000");
    else if (isinf(number))
        hlo_print(h, "%s", number < 0 ? "0xFF800000" : "0x7F800000");
    else
        hlo_print(h, "%.9e", number);
    point_end(before);
    hlo_print(h, "> : ");
    print_type(h, v);
    hlo_print(h, "}");
    return finish(h, v, NULL, 0);
}

struct value hlo_unary(struct hlo *h, const char *name, struct value a)
{
    return plain(h, name, a.type, a.shape, &a, 1);
}

struct value hlo_binary(struct hlo *h, const char *name, struct value a, struct value b)
{
    return plain(h, name, a.type, a.shape, (struct value[]){a, b}, 2);
}

struct value hlo_compare(struct hlo *h, const char *direction, struct value a, struct value b)
{
    const struct value operand[] = {a, b};
    struct value v = begin(h, "compare", HLO_I1, a.shape, operand, 2);
    hlo_print(h, " {comparison_direction = #stablehlo<comparison_direction %s>}", direction);
    return finish(h, v, operand, 2);
}

struct value hlo_select(struct hlo *h, struct value condition, struct value yes, struct value no)
{
    return plain(h, "select", yes.type, yes.shape, (struct value[]){condition, yes, no}, 3);
}

struct value hlo_convert(struct hlo *h, struct value a, enum hlo_type type)
{
    return a.type == type ? a : plain(h, "convert", type, a.shape, &a, 1);
}

static bool same_shape(struct shape a, struct shape b)
{
    return a.rank == b.rank && !memcmp(a.dim, b.dim, (size_t)a.rank * sizeof *a.dim);
}

struct value hlo_reshape(struct hlo *h, struct value a, struct shape shape)
{
    return same_shape(a.shape, shape) ? a : plain(h, "reshape", a.type, shape, &a, 1);
}

struct value hlo_spread(struct hlo *h, struct value a, struct shape shape, const int *axis)
{
    int64_t number[HLO_AXES];
    if (same_shape(a.shape, shape))
        return a;
    struct value v = begin(h, "broadcast_in_dim", a.type, shape, &a, 1);
    for (int i = 0; i < a.shape.rank; i++) number[i] = axis[i];
    print_numbers(h, " {broadcast_dimensions", number, a.shape.rank);
    hlo_print(h, "}");
    return finish(h, v, &a, 1);
}

struct value hlo_slice(struct hlo *h, struct value a, const int64_t *first, struct shape count)
{
    int64_t end[HLO_AXES], one[HLO_AXES];
    if (same_shape(a.shape, count))
        return a;
    for (int i = 0; i < count.rank; i++) {
        end[i] = first[i] + count.dim[i];
        one[i] = 1;
    }
    struct value v = begin(h, "slice", a.type, count, &a, 1);
    print_numbers(h, " {start_indices", first, count.rank);
    print_numbers(h, ", limit_indices", end, count.rank);
    print_numbers(h, ", strides", one, count.rank);
    hlo_print(h, "}");
    return finish(h, v, &a, 1);
}

struct value hlo_location(struct hlo *h, struct value whole, struct value piece, const int64_t *first)
{
    struct value operand[2 + HLO_AXES] = {whole, piece};
    if (same_shape(whole.shape, piece.shape))
        return piece;
    for (int i = 0; i < whole.shape.rank; i++) operand[2 + i] = hlo_constant(h, HLO_I32, SCALAR, (double)first[i]);
    return plain(h, "dynamic_update_slice", whole.type, whole.shape, operand, 2 + whole.shape.rank);
}

struct value hlo_transpose(struct hlo *h, struct value a)
{
    struct value v = begin(h, "transpose", a.type, SHAPE(a.shape.dim[1], a.shape.dim[0]), &a, 1);
    print_numbers(h, " {permutation", (const int64_t[]){1, 0}, 2);
    hlo_print(h, "}");
    return finish(h, v, &a, 1);
}

struct value hlo_join(struct hlo *h, struct value a, struct value b, int axis)
{
    const struct value operand[] = {a, b};
    struct shape shape = a.shape;
    shape.dim[axis] += b.shape.dim[axis];
    struct value v = begin(h, "concatenate", a.type, shape, operand, 2);
    hlo_print(h, " {dimension = %d : i64}", axis);
    return finish(h, v, operand, 2);
}

struct value hlo_iota(struct hlo *h, enum hlo_type type, struct shape shape, int axis)
{
    struct value v = begin(h, "iota", type, shape, NULL, 0);
    hlo_print(h, " {iota_dimension = %d : i64}", axis);
    return finish(h, v, NULL, 0);
}

static struct value fold_start(struct hlo *h, const char *name, enum hlo_type type)
{
    return hlo_constant(h, type, SCALAR, strcmp(name, "add") ? -INFINITY : 0);
}

/* Writes the region of a reduction, and the beginning of the attributes after it. */
static void print_folding(struct hlo *h, const char *name, enum hlo_type type)
{
    struct value x = fresh(h, type, SCALAR), y = fresh(h, type, SCALAR);
    h->depth++;
    hlo_print(h, " ({\n%*s^bb0(%%v%d: tensor<%s>, %%v%d: tensor<%s>):\n", 2 * h->depth, "", x.id, type_name[type], y.id,
              type_name[type]);
    struct value sum = hlo_binary(h, name, x, y);
    print_return(h, "stablehlo.return", &sum, 1);
    h->depth--;
    hlo_print(h, "%*s}) {", 2 * h->depth, "");
}

struct value hlo_reduce(struct hlo *h, const char *name, struct value a, int first, int count)
{
    int64_t axis[HLO_AXES];
    struct shape shape = {0};
    struct value operand[] = {a, fold_start(h, name, a.type)};
    for (int i = 0; i < a.shape.rank; i++)
        if (i < first || i >= first + count)
            shape.dim[shape.rank++] = a.shape.dim[i];
    for (int i = 0; i < count; i++) axis[i] = first + i;
    struct value v = begin(h, "reduce", a.type, shape, operand, 2);
    print_folding(h, name, a.type);
    print_numbers(h, "dimensions", axis, count);
    hlo_print(h, "}");
    return finish(h, v, operand, 2);
}

struct value hlo_narrowed(struct hlo *h, struct value a) { return h->narrow ? hlo_convert(h, a, HLO_BF16) : a; }

struct value hlo_dot(struct hlo *h, struct value a, int axis_a, struct value b, int axis_b)
{
    a = hlo_narrowed(h, a);
    b = hlo_narrowed(h, b);
    const struct value operand[] = {a, b};
    const char *precision = h->narrow ? "DEFAULT" : "HIGHEST";
    struct shape shape = {0};
    for (int i = 0; i < a.shape.rank; i++)
        if (i != axis_a)
            shape.dim[shape.rank++] = a.shape.dim[i];
    for (int i = 0; i < b.shape.rank; i++)
        if (i != axis_b)
            shape.dim[shape.rank++] = b.shape.dim[i];
    struct value v = begin(h, "dot_general", HLO_F32, shape, operand, 2);
    hlo_print(h,
              " {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [%d], "
              "rhs_contracting_dimensions = [%d]>, precision_config = [#stablehlo<precision %s>, "
              "#stablehlo<precision %s>]}",
              axis_a, axis_b, precision, precision);
    return finish(h, v, operand, 2);
}

struct value hlo_rows(struct hlo *h, struct value table, struct value number)
{
    struct shape shape = number.shape;
    int64_t width = table.shape.dim[1];
    shape.dim[shape.rank++] = width;
    const struct value operand[] = {table, number};
    struct value v = begin(h, "gather", table.type, shape, operand, 2);
    hlo_print(h,
              " {dimension_numbers = #stablehlo.gather<offset_dims = [%d], collapsed_slice_dims = [0], "
              "start_index_map = [0], index_vector_dim = %d>, ",
              number.shape.rank, number.shape.rank);
    print_numbers(h, "slice_sizes", (const int64_t[]){1, width}, 2);
    hlo_print(h, ", indices_are_sorted = false}");
    return finish(h, v, operand, 2);
}

/* ---- steps ----------------------------------------------------------------------------- */

static struct shape one_step(struct shape s)
{
    s.dim[0] = 1;
    return s;
}

static struct shape without_first(struct shape s) { return shape_of(s.rank - 1, s.dim + 1); }

/* Appends the indices of the beginning of step `at`: (at, 0, ..). */
static int location_step(struct hlo *h, struct value *operand, int operands, int rank, struct value at)
{
    struct value zero = hlo_constant(h, HLO_I32, SCALAR, 0);
    for (int i = 0; i < rank; i++) operand[operands++] = i ? zero : at;
    return operands;
}

struct value hlo_slice_at(struct hlo *h, struct value a, int axis, struct value at, int64_t count)
{
    struct value operand[2 + HLO_AXES] = {a};
    struct shape shape = a.shape;
    struct value zero = hlo_constant(h, HLO_I32, SCALAR, 0);
    shape.dim[axis] = count;
    for (int i = 0; i < shape.rank; i++) operand[1 + i] = i == axis ? at : zero;
    struct value v = begin(h, "dynamic_slice", a.type, shape, operand, 1 + shape.rank);
    print_numbers(h, " {slice_sizes", shape.dim, shape.rank);
    hlo_print(h, "}");
    return finish(h, v, operand, 1 + shape.rank);
}

struct value hlo_step(struct hlo *h, struct value a, struct value at)
{
    struct value v = hlo_slice_at(h, a, 0, at, 1);
    return hlo_reshape(h, v, without_first(a.shape));
}

struct value hlo_put_step(struct hlo *h, struct value whole, struct value step, struct value at)
{
    struct value operand[2 + HLO_AXES] = {whole};
    operand[1] = hlo_reshape(h, step, one_step(whole.shape));
    int operands = location_step(h, operand, 2, whole.shape.rank, at);
    return plain(h, "dynamic_update_slice", whole.type, whole.shape, operand, operands);
}

/* ---- between devices ------------------------------------------------------------------- */

static void print_groups(struct hlo *h, const struct devices *d)
{
    hlo_print(h, "replica_groups = dense<[");
    for (int i = 0; i < d->groups * d->size; i++)
        hlo_print(h, "%s%d%s", i % d->size ? ", " : i ? ", [" : "[", d->member[i], (i + 1) % d->size ? "" : "]");
    hlo_print(h, "]> : tensor<%dx%dxi64>}", d->groups, d->size);
}

struct value hlo_sum_over(struct hlo *h, struct value a, const struct devices *d)
{
    struct value v = begin(h, "all_reduce", a.type, a.shape, &a, 1);
    print_folding(h, "add", a.type);
    print_groups(h, d);
    return finish(h, v, &a, 1);
}

struct value hlo_gather_over(struct hlo *h, struct value a, int axis, const struct devices *d)
{
    struct shape shape = a.shape;
    shape.dim[axis] *= d->size;
    struct value v = begin(h, "all_gather", a.type, shape, &a, 1);
    hlo_print(h, " {all_gather_dim = %d : i64, ", axis);
    print_groups(h, d);
    return finish(h, v, &a, 1);
}

struct value hlo_scatter_over(struct hlo *h, struct value a, int axis, const struct devices *d)
{
    struct shape shape = a.shape;
    shape.dim[axis] /= d->size;
    struct value v = begin(h, "reduce_scatter", a.type, shape, &a, 1);
    print_folding(h, "add", a.type);
    hlo_print(h, "scatter_dimension = %d : i64, ", axis);
    print_groups(h, d);
    return finish(h, v, &a, 1);
}

/* ---- a loop ---------------------------------------------------------------------------- */

/* Writes the arguments of a region: counter and carried values. */
static void open_region(struct hlo *h, struct value *value, int count)
{
    h->depth++;
    hlo_print(h, "%*s^bb0(", 2 * h->depth, "");
    for (int i = 0; i < count; i++) {
        value[i] = fresh(h, value[i].type, value[i].shape);
        hlo_print(h, "%s%%v%d: ", i ? ", " : "", value[i].id);
        print_type(h, value[i]);
    }
    hlo_print(h, "):\n");
}

static int all_values(const struct loop *l, struct value *all)
{
    all[0] = l->counter;
    for (int i = 0; i < l->values; i++) all[i + 1] = l->carried[i];
    return l->values + 1;
}

void hlo_loop(struct hlo *h, struct loop *l, int64_t steps)
{
    struct value all[HLO_CARRIED + 1];
    l->counter = hlo_constant(h, HLO_I32, SCALAR, 0);
    int count = all_values(l, all);
    l->id = h->values++;
    hlo_print(h, "%*s%%v%d:%d = \"stablehlo.while\"(", 2 * h->depth, "", l->id, count);
    print_names(h, all, count);
    hlo_print(h, ") ({\n");
    open_region(h, all, count);
    struct value end = hlo_constant(h, HLO_I32, SCALAR, (double)steps);
    struct value goes_on = hlo_compare(h, "LT", all[0], end);
    print_return(h, "stablehlo.return", &goes_on, 1);
    h->depth--;
    hlo_print(h, "%*s}, {\n", 2 * h->depth, "");
    open_region(h, all, count);
    l->counter = all[0];
    for (int i = 0; i < l->values; i++) l->carried[i] = all[i + 1];
}

void hlo_loop_end(struct hlo *h, struct loop *l)
{
    struct value all[HLO_CARRIED + 1], one = hlo_constant(h, HLO_I32, SCALAR, 1);
    l->counter = hlo_binary(h, "add", l->counter, one);
    int count = all_values(l, all);
    print_return(h, "stablehlo.return", all, count);
    h->depth--;
    hlo_print(h, "%*s}) : ", 2 * h->depth, "");
    print_types(h, all, count);
    hlo_print(h, " -> ");
    print_types(h, all, count);
    hlo_print(h, "\n");
    for (int i = 0; i < l->values; i++) {
        l->carried[i].id = l->id;
        l->carried[i].result = i + 1;
    }
}
