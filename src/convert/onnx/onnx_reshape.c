/* Reshape and Flatten of symbolic values. Known sizes and symbols are matched in order to find which axes a new shape
 * merges, splits, drops or adds. Since a reshape does not move values, any assignment of axes that fits is correct. */
#include "convert/onnx/onnx_import.h"

#include <string.h>

#include "convert/file_table.h"

struct matching {
    const struct symbolic_axis *axis; /* of the value */
    int axes;
    const int64_t *target; /* new shape: sizes, symbols, -1 */
    int targets;
    int stacks; /* of the value */
    struct symbolic_axis made[ONNX_RANK];
    bool merges_stack;
    bool drops_features; /* a feature axis of size 1 may be dropped */
    bool baked;          /* numbers may stand for an unknown number of steps of the axis `time` */
    int time, open;      /* open: sizes in the new shape that match any axis */
    int64_t split;       /* number of parts that the features are split into; 0: not split */
};

static bool fits(const struct matching *m, int64_t target, const struct symbolic_axis *a)
{
    int64_t size = onnx_axis_size(a);
    if (target == -1 || (target == SYMBOL_UNKNOWN && (m->open == 1 || a->second)) ||
        (m->baked && a->id == m->time && !a->second && is_symbol(size) && target > 1))
        return true;
    return target == size && size != SYMBOL_UNKNOWN;
}

static bool match(struct matching *m, int from, int to);

/* Keeps axis `from` or, if its size is 1, drops it. */
static bool match_one(struct matching *m, int from, int to)
{
    const struct symbolic_axis *a = &m->axis[from];
    if (to < m->targets && fits(m, m->target[to], a) && match(m, from + 1, to + 1)) {
        m->made[to] = *a;
        return true;
    }
    bool vanishes = !a->second && a->size == 1 && (a->id != AXIS_FEATURE || m->drops_features);
    return vanishes && match(m, from + 1, to);
}

/* Merges two axes: a stack and its features, or time and batch. */
static bool match_merged(struct matching *m, int from, int to)
{
    if (from + 1 >= m->axes || to >= m->targets)
        return false;
    const struct symbolic_axis *a = &m->axis[from], *b = &m->axis[from + 1];
    bool stacks = a->id == AXIS_STACK && b->id == AXIS_FEATURE, rows = a->id >= AXIS_OF_INPUT && b->id >= AXIS_OF_INPUT;
    if ((!stacks && !rows) || a->second || b->second)
        return false;
    struct symbolic_axis both = {.id = a->id, .size = a->size, .second = b->id, .second_size = b->size};
    if (stacks)
        both = (struct symbolic_axis){.id = AXIS_FEATURE, .size = a->size * b->size};
    if (!fits(m, m->target[to], &both) || !match(m, from + 2, to + 1))
        return false;
    m->made[to] = both;
    m->merges_stack |= stacks;
    return true;
}

/* Splits an axis: the reverse of match_merged. */
static bool match_split(struct matching *m, int from, int to)
{
    const struct symbolic_axis *a = &m->axis[from];
    if (to + 1 >= m->targets)
        return false;
    struct symbolic_axis first = {.id = a->id, .size = a->size}, rest = {.id = a->second, .size = a->second_size};
    int64_t parts = m->target[to];
    if (a->id == AXIS_FEATURE) {
        if (parts < 2 || parts > 4096 || m->stacks != 1 || a->size % parts)
            return false;
        first = (struct symbolic_axis){.id = AXIS_STACK, .size = parts};
        rest = (struct symbolic_axis){.id = AXIS_FEATURE, .size = a->size / parts};
    } else if (!a->second) {
        return false;
    }
    if (!fits(m, parts, &first) || !fits(m, m->target[to + 1], &rest) || !match(m, from + 1, to + 2))
        return false;
    m->made[to] = first;
    m->made[to + 1] = rest;
    m->split = a->id == AXIS_FEATURE ? parts : m->split;
    return true;
}

/* Backtracks over at most 2^8 assignments, because each step consumes an axis or a size. */
static bool match(struct matching *m, int from, int to)
{
    if (from == m->axes && to == m->targets)
        return true;
    if (from < m->axes && (match_one(m, from, to) || match_merged(m, from, to) || match_split(m, from, to)))
        return true;
    if (to == m->targets || m->target[to] != 1 || !match(m, from, to + 1))
        return false;
    m->made[to] = (struct symbolic_axis){.id = AXIS_ONE, .size = 1};
    return true;
}

/* Adjusts stacks and pieces to the new axes. Values keep their order. */
static unroll_status count_pieces(struct onnx_import *im, struct symbolic *f, const struct matching *m)
{
    if (m->merges_stack) {
        f->pieces *= f->stacks;
        f->stacks = 1;
    }
    for (int k = 0; k < f->rank && m->split; k++)
        if (f->axis[k].id == AXIS_FEATURE)
            return onnx_cut(im, f, (int)m->split, 0, f->axis[k].size);
    return UNROLL_OK;
}

/* Finds the first assignment that fits. Dropping feature axes of size 1, and accepting step counts that PyTorch copied
 * from its example into the shape, are tried last. */
static bool find_match(const struct onnx_import *im, const struct symbolic *f, const int64_t *target, int targets,
                       struct symbolic_axis *kept, struct matching *m)
{
    int axes = 0, open = 0;
    for (int k = 0; k < f->rank; k++)
        if (f->axis[k].id != AXIS_ONE)
            kept[axes++] = f->axis[k];
    for (int k = 0; k < targets; k++) open += target[k] == -1 || target[k] == SYMBOL_UNKNOWN;
    for (int way = 0; way < 4; way++) {
        *m = (struct matching){.axis = kept,
                               .axes = axes,
                               .target = target,
                               .targets = targets,
                               .stacks = f->stacks,
                               .drops_features = way & 1,
                               .baked = way & 2 && im->bound,
                               .time = im->time,
                               .open = open};
        if (match(m, 0, 0))
            return true;
    }
    return false;
}

/* Reshapes a symbolic value: 0 in the target copies an axis, -1 is inferred. */
static unroll_status reshape_symbolic(struct onnx_import *im, const struct symbolic *from, const int64_t *target,
                                      int targets)
{
    struct symbolic f = *from;
    struct symbolic_axis kept[ONNX_RANK];
    struct matching m;
    int64_t filled[ONNX_RANK];
    if (targets > ONNX_RANK)
        return refuse_node(im, "its shape has more than %d axes", ONNX_RANK);
    if (f.rank && f.axis[f.rank - 1].id >= AXIS_OF_INPUT && f.piece[0].kind == PIECE_INPUT && f.rank == 3)
        TRY(onnx_take_features(im, &f));
    for (int k = 0; k < targets; k++) {
        filled[k] = target[k];
        if (target[k] == 0 && !onnx_int(im, "allowzero", 0)) {
            if (k >= f.rank)
                return refuse_node(im, "its shape copies an axis that does not exist");
            filled[k] = onnx_axis_size(&f.axis[k]);
        }
    }
    if (!find_match(im, &f, filled, targets, kept, &m))
        return refuse_node(im, "its shape mixes time, batch and features, which layers do not support");
    if (m.baked)
        report_import(im->config,
                      "node '%s': its shape contains the number of steps of an example; it is read as all steps",
                      im->node->name);
    memcpy(f.axis, m.made, sizeof f.axis);
    f.rank = targets;
    TRY(count_pieces(im, &f, &m));
    return onnx_set_symbolic(im, 0, &f);
}

/* Reshapes a constant to a shape whose sizes are all known, except for one -1. */
static unroll_status reshape_constant(struct onnx_import *im, const struct onnx_tensor *t, const int64_t *target,
                                      int targets)
{
    int64_t dim[ONNX_RANK], known = 1;
    int open = -1;
    if (targets > ONNX_RANK)
        return refuse_node(im, "its shape has more than %d axes", ONNX_RANK);
    for (int k = 0; k < targets; k++) {
        dim[k] = target[k];
        if (target[k] == 0 && k < t->rank && !onnx_int(im, "allowzero", 0))
            dim[k] = t->dim[k];
        if (dim[k] == -1)
            open = k;
        else if (dim[k] < 0 || __builtin_mul_overflow(known, dim[k], &known))
            return refuse_node(im, "it gives a constant a shape that is known only when the network runs");
    }
    if (open >= 0)
        dim[open] = known ? (int64_t)t->count / known : 0;
    return onnx_constant_reshape(im, t, targets, dim);
}

unroll_status onnx_reshape(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    const int64_t *target;
    int targets;
    TRY(onnx_ints(im, 1, NULL, &target, &targets));
    if (targets < 0)
        return refuse_node(im, "its shape is missing");
    return from->kind == VALUE_SYMBOLIC ? reshape_symbolic(im, &from->symbolic, target, targets)
                                        : reshape_constant(im, from->constant, target, targets);
}

/* Merges the axes before `axis`, and those from it on: two axes remain. */
unroll_status onnx_flatten(struct onnx_import *im)
{
    struct value *from;
    TRY(onnx_operand(im, 0, VALUE_SYMBOLIC, &from));
    int64_t axis = onnx_int(im, "axis", 1), target[2] = {1, 1};
    const struct symbolic *f = &from->symbolic;
    if (axis < 0)
        axis += f->rank;
    for (int k = 0; k < f->rank; k++) {
        int64_t *t = &target[k >= axis], size = onnx_axis_size(&f->axis[k]);
        *t = *t == 1 ? size : size == 1 ? *t : is_symbol(*t) || is_symbol(size) ? SYMBOL_UNKNOWN : *t * size;
    }
    return reshape_symbolic(im, f, target, 2);
}
