/* The operations of a program (oracle.h): types and values of their results. */
#include "oracle_rule.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes and attributes ------------------------------------------------------------- */

/* Sets the extents of a type and keeps its kind. */
static void set_shape(struct tensor_type *t, int rank, const int64_t *dim)
{
    t->rank = rank;
    memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
}

static int64_t number_of(struct oracle *o, const struct operation *op, const char *name)
{
    return strtoll(oracle_attribute(o, op, name), NULL, 10);
}

/* ---- one element at a time ------------------------------------------------------------- */

static double unary(const char *name, double x)
{
    switch (name[0]) {
    case 'a': return fabs(x);
    case 's': return sqrt(x);
    case 'e': return exp(x);
    case 't': return tanh(x);
    default: return name[2] == 'g' && name[3] ? 1 / (1 + exp(-x)) : log(x);
    }
}

static void type_unary(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    demand(o, op, in[0].kind == ORACLE_F32, "not of f32");
    *out = in[0];
}

static void run_unary(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    (void)o;
    for (int64_t i = 0; i < out->count; i++) out->at[i].f = (float)unary(op->rule->name, in[0]->at[i].f);
}

static double combined(const char *name, double x, double y)
{
    if (isnan(x) || isnan(y))
        return NAN;
    switch (name[0]) {
    case 'a': return x + y;
    case 's': return x - y;
    case 'd': return x / y;
    default: return name[1] == 'u' ? x * y : name[1] == 'a' ? fmax(x, y) : fmin(x, y);
    }
}

/* Combines integers in 64 bits; wraps around like the type. */
static uint64_t combined_bits(struct oracle *o, const struct operation *op, uint64_t x, uint64_t y)
{
    const char *name = op->rule->name;
    if (!strcmp(name, "add"))
        return x + y;
    if (!strcmp(name, "subtract"))
        return x - y;
    if (!strcmp(name, "multiply"))
        return x * y;
    if (!strcmp(name, "and"))
        return x & y;
    if (!strcmp(name, "or"))
        return x | y;
    if (!strcmp(name, "xor"))
        return x ^ y;
    if (!strcmp(name, "shift_right_logical"))
        return y < 64 ? x >> y : 0;
    if (!strcmp(name, "maximum"))
        return (int64_t)x > (int64_t)y ? x : y;
    if (!strcmp(name, "minimum"))
        return (int64_t)x < (int64_t)y ? x : y;
    oracle_fail(o, "'%s' is not for integers", name);
}

static uint64_t wrapped(enum oracle_kind kind, uint64_t x)
{
    switch (kind) {
    case ORACLE_I1: return x & 1;
    case ORACLE_U8: return (uint8_t)x;
    case ORACLE_U32: return (uint32_t)x;
    case ORACLE_I32: return (uint64_t)(int64_t)(int32_t)(uint32_t)x;
    default: return x;
    }
}

static void type_binary(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    bool bits = strchr("xo", op->rule->name[0]) || !strncmp(op->rule->name, "and", 3) || op->rule->name[1] == 'h';
    demand(o, op, same_type(&in[0], &in[1]), "operands of two types");
    demand(o, op, bits ? !is_float(in[0].kind) : in[0].kind != ORACLE_I1, "not of this type");
    *out = in[0];
}

static void run_binary(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    enum oracle_kind kind = out->type.kind;
    for (int64_t i = 0; i < out->count; i++)
        if (is_float(kind))
            out->at[i].f = oracle_round(kind, combined(op->rule->name, in[0]->at[i].f, in[1]->at[i].f));
        else
            out->at[i].u = wrapped(kind, combined_bits(o, op, in[0]->at[i].u, in[1]->at[i].u));
}

static int direction_of(struct oracle *o, const struct operation *op)
{
    static const char directions[][3] = {"LT", "LE", "GT", "GE", "EQ", "NE"};
    const char *said = oracle_attribute(o, op, "comparison_direction"), *before = "#stablehlo<comparison_direction ";
    for (int i = 0; i < 6 && !strncmp(said, before, strlen(before)); i++)
        if (!strncmp(said + strlen(before), directions[i], 2))
            return i;
    oracle_fail(o, "'compare' in line %d has no direction", op->line);
}

static void type_compare(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    demand(o, op, same_type(&in[0], &in[1]), "operands of two types");
    direction_of(o, op);
    *out = in[0];
    out->kind = ORACLE_I1;
}

static void run_compare(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int direction = direction_of(o, op);
    bool real = is_float(in[0]->type.kind);
    for (int64_t i = 0; i < out->count; i++) {
        union cell x = in[0]->at[i], y = in[1]->at[i];
        bool less = real ? x.f < y.f : (int64_t)x.u < (int64_t)y.u;
        bool same = real ? x.f == y.f : x.u == y.u, more = real ? x.f > y.f : (int64_t)x.u > (int64_t)y.u;
        const bool answer[] = {less, less || same, more, more || same, same, !same};
        out->at[i].u = answer[direction];
    }
}

static void type_select(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    struct tensor_type truth = in[1];
    truth.kind = ORACLE_I1;
    demand(o, op, same_type(&in[0], &truth) && same_type(&in[1], &in[2]), "operands do not fit");
    *out = in[1];
}

static void run_select(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    (void)o, (void)op;
    for (int64_t i = 0; i < out->count; i++) out->at[i] = in[in[0]->at[i].u ? 1 : 2]->at[i];
}

static void type_convert(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    demand(o, op, in[0].kind != out->kind, "to the same type");
    set_shape(out, in[0].rank, in[0].dim);
}

static void run_convert(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    enum oracle_kind from = in[0]->type.kind, to = out->type.kind;
    demand(o, op, !is_float(from) || is_float(to) || to == ORACLE_I32, "from floats to integers without a sign");
    for (int64_t i = 0; i < out->count; i++) {
        double number = is_float(from)       ? in[0]->at[i].f
                        : from == ORACLE_I32 ? (double)(int64_t)in[0]->at[i].u
                                             : (double)in[0]->at[i].u;
        if (is_float(to))
            out->at[i].f = oracle_round(to, number);
        else
            out->at[i].u = wrapped(to, is_float(from) ? (uint64_t)(int64_t)number : in[0]->at[i].u);
    }
}

/* ---- operations without operands ------------------------------------------------------- */

static union cell number_at(struct oracle *o, const struct operation *op, enum oracle_kind kind, const char *said)
{
    union cell value = {.u = 0};
    if (!is_float(kind)) {
        value.u = wrapped(kind, (uint64_t)strtoll(said, NULL, 10));
    } else if (!strncmp(said, "0x", 2)) {
        uint32_t bits = (uint32_t)strtoul(said, NULL, 16);
        float number;
        memcpy(&number, &bits, sizeof number);
        value.f = number;
    } else {
        demand(o, op, strcspn(said, "e.") < strcspn(said, ">"), "a float without a point");
        value.f = oracle_round(kind, strtof(said, NULL));
    }
    return value;
}

/* Parses one value for all elements, or a list of integers for a single axis. */
static const char *constant_of(struct oracle *o, const struct operation *op, types out)
{
    const char *said = oracle_attribute(o, op, "value");
    int64_t count = 1;
    demand(o, op, !strncmp(said, "dense<", 6), "no dense value");
    said += 6;
    for (const char *p = said; *said == '[' && *p && *p != ']'; p++) count += *p == ',';
    demand(o, op, *said != '[' || (out->rank == 1 && out->dim[0] == count && !is_float(out->kind)),
           "its list is not of its type");
    number_at(o, op, out->kind, *said == '[' ? said + 1 : said);
    return said;
}

static void type_constant(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    (void)in;
    constant_of(o, op, out);
}

static void run_constant(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    const char *said = constant_of(o, op, &out->type);
    bool list = *said == '[';
    (void)in;
    for (int64_t i = 0; i < out->count; i++) {
        said += list && i ? strcspn(said, ",") : 0;
        out->at[i] = number_at(o, op, out->type.kind, said + list);
        said += list;
    }
}

static int64_t iota_axis(struct oracle *o, const struct operation *op, types out)
{
    int64_t axis = number_of(o, op, "iota_dimension");
    demand(o, op, axis >= 0 && axis < out->rank && !is_float(out->kind), "no such axis, or of floats");
    return axis;
}

static void type_iota(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    (void)in;
    iota_axis(o, op, out);
}

static void run_iota(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t axis = iota_axis(o, op, &out->type), index[ORACLE_AXES] = {0}, i = 0;
    (void)in;
    do out->at[i++].u = (uint64_t)index[axis];
    while (next_index(&out->type, index));
}

/* ---- rearranging ------------------------------------------------------------------------ */

static void type_reshape(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    demand(o, op, type_count(&in[0]) == type_count(out) && in[0].kind == out->kind, "another number of elements");
}

static void run_copy(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    (void)o, (void)op;
    memcpy(out->at, in[0]->at, (size_t)out->count * sizeof *out->at);
}

static void type_broadcast(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t axis[ORACLE_AXES];
    int axes = numbers_of(o, op, "broadcast_dimensions", axis);
    demand(o, op, axes == in[0].rank && in[0].kind == out->kind, "axes are missing");
    for (int i = 0; i < axes; i++) {
        demand(o, op, axis[i] >= 0 && axis[i] < out->rank && (i == 0 || axis[i] > axis[i - 1]), "no such axis");
        demand(o, op, in[0].dim[i] == 1 || in[0].dim[i] == out->dim[axis[i]], "axes do not fit");
    }
}

static void run_broadcast(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t axis[ORACLE_AXES], index[ORACLE_AXES] = {0}, from[ORACLE_AXES], i = 0;
    int axes = numbers_of(o, op, "broadcast_dimensions", axis);
    do {
        for (int k = 0; k < axes; k++) from[k] = in[0]->type.dim[k] == 1 ? 0 : index[axis[k]];
        out->at[i++] = in[0]->at[offset_of(&in[0]->type, from)];
    } while (next_index(&out->type, index));
}

static void type_transpose(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t axis[ORACLE_AXES];
    int axes = numbers_of(o, op, "permutation", axis), seen = 0;
    demand(o, op, axes == in[0].rank && in[0].kind == out->kind, "axes are missing");
    *out = in[0];
    for (int i = 0; i < axes; i++) {
        demand(o, op, axis[i] >= 0 && axis[i] < axes && !(seen & 1 << axis[i]), "no permutation");
        seen |= 1 << axis[i];
        out->dim[i] = in[0].dim[axis[i]];
    }
}

static void run_transpose(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t axis[ORACLE_AXES], index[ORACLE_AXES] = {0}, from[ORACLE_AXES], i = 0;
    int axes = numbers_of(o, op, "permutation", axis);
    do {
        for (int k = 0; k < axes; k++) from[axis[k]] = index[k];
        out->at[i++] = in[0]->at[offset_of(&in[0]->type, from)];
    } while (next_index(&out->type, index));
}

static void type_slice(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t first[ORACLE_AXES], end[ORACLE_AXES], stride[ORACLE_AXES];
    demand(o, op,
           numbers_of(o, op, "start_indices", first) == in[0].rank &&
               numbers_of(o, op, "limit_indices", end) == in[0].rank &&
               numbers_of(o, op, "strides", stride) == in[0].rank,
           "axes are missing");
    *out = in[0];
    for (int i = 0; i < in[0].rank; i++) {
        demand(o, op, first[i] >= 0 && first[i] < end[i] && end[i] <= in[0].dim[i] && stride[i] == 1, "out of bounds");
        out->dim[i] = end[i] - first[i];
    }
}

/* Copies the box of `whole` that begins at `first` and has the size of `piece`, in either direction. */
static void move_box(struct tensor *whole, const int64_t *first, struct tensor *piece, bool writes)
{
    int64_t index[ORACLE_AXES] = {0}, at[ORACLE_AXES], i = 0;
    do {
        for (int k = 0; k < piece->type.rank; k++) at[k] = first[k] + index[k];
        union cell *place = &whole->at[offset_of(&whole->type, at)];
        if (writes)
            *place = piece->at[i++];
        else
            piece->at[i++] = *place;
    } while (next_index(&piece->type, index));
}

static void run_slice(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t first[ORACLE_AXES];
    numbers_of(o, op, "start_indices", first);
    move_box(in[0], first, out, false);
}

/* Reads the indices that follow operand `from`. XLA clamps indices that are out of bounds; here they are an error. */
static void find_first(struct oracle *o, const struct operation *op, struct tensor *const *in, int from, types whole,
                       types piece, int64_t *first)
{
    for (int i = 0; i < whole->rank; i++) {
        first[i] = (int64_t)in[from + i]->at[0].u;
        demand(o, op, first[i] >= 0 && first[i] + piece->dim[i] <= whole->dim[i], "out of bounds");
    }
}

static void check_indices(struct oracle *o, const struct operation *op, types in, int from)
{
    static const struct tensor_type index = {.kind = ORACLE_I32};
    demand(o, op, op->operands == from + in[0].rank, "indices are missing");
    for (int i = from; i < op->operands; i++) demand(o, op, same_type(&in[i], &index), "an index is no scalar i32");
}

static void type_dynamic_slice(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t size[ORACLE_AXES];
    check_indices(o, op, in, 1);
    demand(o, op, numbers_of(o, op, "slice_sizes", size) == in[0].rank, "axes are missing");
    *out = in[0];
    set_shape(out, in[0].rank, size);
}

static void run_dynamic_slice(struct oracle *o, const struct operation *op, struct tensor *const *in,
                              struct tensor *out)
{
    int64_t first[ORACLE_AXES];
    find_first(o, op, in, 1, &in[0]->type, &out->type, first);
    move_box(in[0], first, out, false);
}

static void type_update(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    check_indices(o, op, in, 2);
    demand(o, op, in[0].kind == in[1].kind && in[0].rank == in[1].rank, "the piece is of another type");
    *out = in[0];
}

static void run_update(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t first[ORACLE_AXES];
    find_first(o, op, in, 2, &in[0]->type, &in[1]->type, first);
    run_copy(o, op, in, out);
    move_box(out, first, in[1], true);
}

static void type_join(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t axis = number_of(o, op, "dimension");
    demand(o, op, op->operands > 0 && axis >= 0 && axis < in[0].rank, "no such axis");
    *out = in[0];
    for (int i = 1; i < op->operands; i++) {
        struct tensor_type piece = in[i];
        piece.dim[axis] = in[0].dim[axis];
        demand(o, op, same_type(&piece, &in[0]), "pieces do not fit");
        out->dim[axis] += in[i].dim[axis];
    }
}

static void run_join(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t axis = number_of(o, op, "dimension"), first[ORACLE_AXES] = {0};
    for (int i = 0; i < op->operands; i++) {
        move_box(out, first, in[i], true);
        first[axis] += in[i]->type.dim[axis];
    }
}

static const int64_t *gather_numbers(struct oracle *o, const struct operation *op, types in, int64_t *size)
{
    int rank = in[1].rank;
    int64_t said[ORACLE_AXES];
    demand(o, op, in[0].rank == 2 && in[1].kind == ORACLE_I32, "no rows by numbers");
    demand(o, op, numbers_of(o, op, "slice_sizes", size) == 2 && size[0] == 1 && size[1] == in[0].dim[1], "no rows");
    static const char *const names[] = {"offset_dims", "collapsed_slice_dims", "start_index_map"};
    for (int i = 0; i < 3; i++)
        demand(o, op, numbers_of(o, op, names[i], said) == 1 && said[0] == (i ? 0 : rank), "other axes");
    demand(o, op, number_of(o, op, "index_vector_dim") == rank, "numbers have an axis");
    return size;
}

static void type_gather(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t size[ORACLE_AXES];
    gather_numbers(o, op, in, size);
    set_shape(out, in[1].rank, in[1].dim);
    out->dim[out->rank++] = size[1];
    out->kind = in[0].kind;
}

static void run_gather(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t width = in[0]->type.dim[1];
    for (int64_t i = 0; i < in[1]->count; i++) {
        int64_t row = (int64_t)in[1]->at[i].u;
        demand(o, op, row >= 0 && row < in[0]->type.dim[0], "no such row");
        memcpy(&out->at[i * width], &in[0]->at[row * width], (size_t)width * sizeof *out->at);
    }
}

/* ---- sums ------------------------------------------------------------------------------ */

static void type_reduce(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    int64_t axis[ORACLE_AXES];
    int axes = numbers_of(o, op, "dimensions", axis), next = 0;
    demand(o, op, in[1].rank == 0 && in[0].kind == in[1].kind, "the start does not fit");
    oracle_folding(o, op);
    out->kind = in[0].kind;
    out->rank = 0;
    for (int i = 0; i < in[0].rank; i++)
        if (next < axes && axis[next] == i)
            next++;
        else
            out->dim[out->rank++] = in[0].dim[i];
    demand(o, op, next == axes, "no such axis");
}

static void run_reduce(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    const char *folding = oracle_folding(o, op)->name;
    int64_t axis[ORACLE_AXES], index[ORACLE_AXES] = {0}, to[ORACLE_AXES];
    int axes = numbers_of(o, op, "dimensions", axis);
    for (int64_t i = 0; i < out->count; i++) out->at[i] = in[1]->at[0];
    do {
        int rank = 0, next = 0;
        for (int i = 0; i < in[0]->type.rank; i++)
            if (next < axes && axis[next] == i)
                next++;
            else
                to[rank++] = index[i];
        union cell *sum = &out->at[offset_of(&out->type, to)];
        sum->f = combined(folding, sum->f, in[0]->at[offset_of(&in[0]->type, index)].f);
    } while (next_index(&in[0]->type, index));
    for (int64_t i = 0; i < out->count; i++) out->at[i].f = oracle_round(out->type.kind, out->at[i].f);
}

/* ---- all of them ----------------------------------------------------------------------- */

const struct rule oracle_rules[] = {{"abs", 1, 0, type_unary, run_unary},
                                    {"sqrt", 1, 0, type_unary, run_unary},
                                    {"exponential", 1, 0, type_unary, run_unary},
                                    {"log", 1, 0, type_unary, run_unary},
                                    {"logistic", 1, 0, type_unary, run_unary},
                                    {"tanh", 1, 0, type_unary, run_unary},
                                    {"add", 2, 0, type_binary, run_binary},
                                    {"subtract", 2, 0, type_binary, run_binary},
                                    {"multiply", 2, 0, type_binary, run_binary},
                                    {"divide", 2, 0, type_binary, run_binary},
                                    {"minimum", 2, 0, type_binary, run_binary},
                                    {"maximum", 2, 0, type_binary, run_binary},
                                    {"and", 2, 0, type_binary, run_binary},
                                    {"xor", 2, 0, type_binary, run_binary},
                                    {"shift_right_logical", 2, 0, type_binary, run_binary},
                                    {"compare", 2, 0, type_compare, run_compare},
                                    {"select", 3, 0, type_select, run_select},
                                    {"convert", 1, 0, type_convert, run_convert},
                                    {"constant", 0, 0, type_constant, run_constant},
                                    {"iota", 0, 0, type_iota, run_iota},
                                    {"reshape", 1, 0, type_reshape, run_copy},
                                    {"broadcast_in_dim", 1, 0, type_broadcast, run_broadcast},
                                    {"transpose", 1, 0, type_transpose, run_transpose},
                                    {"slice", 1, 0, type_slice, run_slice},
                                    {"dynamic_slice", -1, 0, type_dynamic_slice, run_dynamic_slice},
                                    {"dynamic_update_slice", -1, 0, type_update, run_update},
                                    {"concatenate", -1, 0, type_join, run_join},
                                    {"gather", 2, 0, type_gather, run_gather},
                                    {"reduce", 2, 1, type_reduce, run_reduce},
                                    {"dot_general", 2, 0, oracle_type_dot, oracle_run_dot},
                                    {"all_reduce", 1, 1, oracle_type_all_reduce, NULL},
                                    {"all_gather", 1, 0, oracle_type_all_gather, NULL},
                                    {"reduce_scatter", 1, 1, oracle_type_reduce_scatter, NULL},
                                    {"while", -1, 2, NULL, NULL},
                                    {NULL, 0, 0, NULL, NULL}};
