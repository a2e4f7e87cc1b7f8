/* ONNX operators that rearrange symbolic values without changing them: axes are permuted, added and removed, parts are
 * selected and joined. On constants they are computed (onnx_constants.c). */
#include "convert/onnx/onnx_import.h"

#include <string.h>

static bool same_axis(const struct symbolic_axis *a, const struct symbolic_axis *b)
{
    return a->id == b->id && a->second == b->second;
}

unroll_status onnx_pass(struct onnx_import *im)
{
    struct value *from = onnx_input(im, 0), *v = onnx_output(im, 0);
    if (im->node->outputs > 1 && *im->node->output[1] && onnx_output(im, 1)->uses)
        return refuse_node(im, "its mask is read, which exists only in training");
    v->kind = from->kind;
    v->constant = from->constant;
    v->fill = from->fill;
    v->symbolic = from->symbolic;
    return UNROLL_OK;
}

/* Dropout is the identity unless the graph is for training, which a constant states from opset 12 on. */
unroll_status onnx_dropout(struct onnx_import *im)
{
    struct value *training = onnx_input(im, 2);
    if (training && (training->kind != VALUE_CONSTANT || !training->constant->i || training->constant->count != 1 ||
                     training->constant->i[0]))
        return refuse_node(im,
                           "its training_mode is not constantly false, so values are dropped at random. fix: export "
                           "the model in evaluation mode");
    return onnx_pass(im);
}

/* Converts constants; symbolic values may only change between equivalent types. */
unroll_status onnx_cast(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    struct onnx_tensor *m;
    int64_t to = onnx_int(im, "to", 0);
    bool to_float = onnx_is_float(to);
    if (from->kind != VALUE_CONSTANT) {
        if (from->kind == VALUE_SYMBOLIC && from->symbolic.is_integer == to_float)
            return refuse_node(im, "computed values are converted %s",
                               to_float ? "from integers to floats" : "to integers");
        if (from->kind == VALUE_SYMBOLIC && to != ONNX_FLOAT && to != ONNX_INT32 && to != ONNX_INT64)
            return refuse_node(im,
                               to_float
                                   ? "computed values are rounded to type %d; models compute in float"
                                   : "computed values are converted to integers of type %d, which have a smaller range",
                               (int)to);
        return onnx_pass(im);
    }
    const struct onnx_tensor *t = from->constant;
    if (to_float == (t->f != NULL) && to != ONNX_BOOL)
        return onnx_pass(im);
    TRY(onnx_new_tensor(im, t->rank, t->dim, to_float, &m));
    for (size_t i = 0; i < t->count; i++)
        if (to == ONNX_BOOL)
            m->i[i] = t->f ? t->f[i] != 0 : is_symbol(t->i[i]) ? t->i[i] : t->i[i] != 0;
        else if (to_float)
            m->f[i] = (float)t->i[i];
        else
            m->i[i] = t->f[i] >= -9e18f && t->f[i] <= 9e18f ? (int64_t)t->f[i] : 0;
    return onnx_set_constant(im, 0, m);
}

unroll_status onnx_shape(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    struct onnx_tensor *m;
    if (from->kind != VALUE_SYMBOLIC && from->kind != VALUE_CONSTANT)
        return refuse_node(im, "the shape of '%.80s' is unknown", from->name);
    const int rank = onnx_rank(from);
    int64_t begin = onnx_int(im, "start", 0), end = onnx_int(im, "end", rank);
    begin = begin < 0 ? begin + rank : begin;
    end = end < 0 ? end + rank : end > rank ? rank : end;
    if (begin < 0 || begin > end)
        return refuse_node(im, "it reads axes %lld to %lld, but there are %d", (long long)begin, (long long)end, rank);
    TRY(onnx_new_tensor(im, 1, &(int64_t){end - begin}, false, &m));
    for (int64_t k = begin; k < end; k++)
        m->i[k - begin] =
            from->kind == VALUE_SYMBOLIC ? onnx_axis_size(&from->symbolic.axis[k]) : from->constant->dim[k];
    return onnx_set_constant(im, 0, m);
}

/* ---- axes change places, come and go --------------------------------------------------- */

/* Permutes the axes of a constant or symbolic value. */
unroll_status onnx_transpose(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    const struct onnx_attribute *perm = onnx_attribute(im->node, "perm");
    int64_t order[ONNX_RANK];
    const int rank = onnx_rank(from);
    if (perm && (perm->count != rank || (rank && !perm->ints)))
        return refuse_node(im, "its permutation has %d axes, its input %d", perm->count, rank);
    unsigned seen = 0;
    for (int k = 0; k < rank; k++) {
        order[k] = perm ? perm->ints[k] : rank - 1 - k;
        if (order[k] < 0 || order[k] >= rank || (seen >> order[k] & 1))
            return refuse_node(im, "its axes are not a permutation");
        seen |= 1u << order[k];
    }
    if (from->kind == VALUE_CONSTANT)
        return onnx_constant_transpose(im, from->constant, order);
    struct symbolic f = from->symbolic;
    for (int k = 0; k < rank; k++) f.axis[k] = from->symbolic.axis[order[k]];
    return onnx_set_symbolic(im, 0, &f);
}

static bool may_vanish(const struct symbolic *f, int k)
{
    const struct symbolic_axis *a = &f->axis[k];
    return !a->second && (a->size == 1 || a->id == AXIS_ONE);
}

static unroll_status squeeze_symbolic(struct onnx_import *im, const struct symbolic *from, unsigned gone)
{
    struct symbolic f = *from;
    f.rank = 0;
    for (int k = 0; k < from->rank; k++) {
        if (!(gone >> k & 1))
            f.axis[f.rank++] = from->axis[k];
        else if (!may_vanish(from, k))
            return refuse_node(im, "axis %d, which it removes, may have more than one entry", k);
    }
    return onnx_set_symbolic(im, 0, &f);
}

/* Removes axes of size 1. */
unroll_status onnx_squeeze(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    const int64_t *axes;
    int count;
    unsigned gone = 0;
    TRY(onnx_ints(im, 1, "axes", &axes, &count));
    const struct onnx_tensor *t = from->constant;
    const int rank = onnx_rank(from);
    for (int k = 0; k < count; k++) {
        int axis = onnx_axis(axes[k], rank);
        if (axis < 0)
            return refuse_node(im, "it has no axis %lld", (long long)axes[k]);
        gone |= 1u << axis;
    }
    for (int k = 0; count < 0 && k < rank; k++) /* all axes whose size is always 1 */
        if (from->kind == VALUE_SYMBOLIC ? may_vanish(&from->symbolic, k) : t->dim[k] == 1)
            gone |= 1u << k;
    if (from->kind == VALUE_SYMBOLIC)
        return squeeze_symbolic(im, &from->symbolic, gone);
    int64_t dim[ONNX_RANK];
    int kept = 0;
    for (int k = 0; k < rank; k++)
        if (!(gone >> k & 1))
            dim[kept++] = t->dim[k];
    return onnx_constant_reshape(im, t, kept, dim);
}

/* Inserts axes of size 1. */
unroll_status onnx_unsqueeze(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    const int64_t *axes;
    int count, next = 0;
    unsigned made = 0;
    TRY(onnx_ints(im, 1, "axes", &axes, &count));
    const int rank = onnx_rank(from) + count;
    if (count < 0 || rank > ONNX_RANK)
        return refuse_node(im, "its axes are missing, or it makes more than %d axes", ONNX_RANK);
    for (int k = 0; k < count; k++) {
        int axis = onnx_axis(axes[k], rank);
        if (axis < 0 || (made >> axis & 1))
            return refuse_node(im, "it cannot insert an axis %lld", (long long)axes[k]);
        made |= 1u << axis;
    }
    struct symbolic f = from->symbolic;
    int64_t dim[ONNX_RANK];
    for (int k = 0; k < rank; k++) {
        bool is_new = made >> k & 1;
        dim[k] = is_new || from->kind == VALUE_SYMBOLIC ? 1 : from->constant->dim[next];
        f.axis[k] = is_new ? (struct symbolic_axis){.id = AXIS_ONE, .size = 1} : from->symbolic.axis[next];
        next += !is_new;
    }
    f.rank = rank;
    return from->kind == VALUE_SYMBOLIC ? onnx_set_symbolic(im, 0, &f)
                                        : onnx_constant_reshape(im, from->constant, rank, dim);
}

/* ---- selecting parts ------------------------------------------------------------------- */

/* Splits the first axis of a state that is an input of the graph into numbered entries. */
static unroll_status open_rows(struct onnx_import *im, struct symbolic *f)
{
    const struct onnx_part whole = f->piece[0];
    int64_t size = f->axis[0].size;
    if (f->rank != 3 || f->stacks != 1 || f->pieces != 1 || whole.kind != PIECE_INPUT || whole.row >= 0 ||
        f->is_integer || f->axis[0].second || f->axis[0].id < AXIS_OF_INPUT ||
        (im->bound && f->axis[0].id == im->time) || size < 1)
        return refuse_node(im,
                           "it takes a part along time, batch or an axis of unknown size, which layers do not support");
    TRY(onnx_new_pieces(im, f, (int)(size > 4096 ? 0 : size), 1));
    for (int s = 0; s < f->stacks; s++) {
        f->piece[s] = whole;
        f->piece[s].row = s;
    }
    f->axis[0] = (struct symbolic_axis){.id = AXIS_STACK, .size = size};
    return UNROLL_OK;
}

/* Selects entries [first, first + count) of a stack. */
static unroll_status take_entries(struct symbolic *f, int axis, int64_t first, int64_t count)
{
    f->stacks = (int)count;
    f->piece += first * f->pieces;
    f->axis[axis].size = count;
    return UNROLL_OK;
}

/* Selects features [first, first + count). */
static unroll_status take_columns(struct onnx_import *im, struct symbolic *f, int axis, int64_t first, int64_t count)
{
    f->axis[axis].size = count;
    return onnx_cut(im, f, f->stacks, first, count);
}

static bool is_time(const struct onnx_import *im, const struct symbolic_axis *a)
{
    return im->bound && a->id == im->time && a->id != AXIS_ONE && !a->second;
}

/* Selects entries [first, first + count) of an axis. If its size is unknown, only the last one, first = -1, is
 * supported. */
static unroll_status take_part(struct onnx_import *im, struct symbolic *f, int axis, int64_t first, int64_t count)
{
    struct symbolic_axis *a = &f->axis[axis];
    const int64_t size = a->second ? -1 : a->size, from = first < 0 && size >= 0 ? first + size : first;
    if (size >= 0 && (count < 1 || from < 0 || count > size - from))
        return refuse_node(im, count < 1 ? "it takes zero entries of axis %d" : "it takes entries outside axis %d",
                           axis);
    if (from == 0 && count == size)
        return UNROLL_OK;
    if (is_time(im, a)) {
        if (count != 1 || (size < 0 ? from != -1 : from != size - 1) || f->reading != ALL_STEPS)
            return refuse_node(im, "it takes some of the steps; only the last one or all are supported");
        f->reading = LAST_STEP;
        *a = (struct symbolic_axis){.id = AXIS_ONE, .size = 1};
        return UNROLL_OK;
    }
    if (a->id >= AXIS_OF_INPUT && axis == 0)
        TRY(open_rows(im, f));
    if (size < 0)
        return refuse_node(im, "it takes a part of an axis of unknown size");
    if (a->id == AXIS_STACK)
        return take_entries(f, axis, from, count);
    if (a->id == AXIS_FEATURE)
        return take_columns(im, f, axis, from, count);
    return refuse_node(im, f->piece[0].kind == PIECE_INPUT ? "it takes a part of an input; networks read whole inputs"
                                                           : "it takes a part of the batch");
}

/* ---- slice, gather, split -------------------------------------------------------------- */

static int64_t clamp(int64_t n, int64_t max) { return n < 0 ? 0 : n > max ? max : n; }

/* Slices a constant along one axis. */
static unroll_status slice_constant(struct onnx_import *im, const struct onnx_tensor **t, int axis, int64_t first,
                                    int64_t end, int64_t step)
{
    int64_t size = (*t)->dim[axis];
    struct onnx_tensor *m;
    if (is_symbol(first) || is_symbol(end) || step == 0 || step == INT64_MIN)
        return refuse_node(im, "it slices a constant at a position that is known only when the network runs");
    first = first < 0 ? first + size : first;
    end = end < 0 && end >= -size ? end + size : end;
    if (step > 0) {
        first = clamp(first, size);
        end = clamp(end, size);
    } else {
        first = first < 0 ? -1 : first > size - 1 ? size - 1 : first;
        end = end < -1 ? -1 : end > size - 1 ? size - 1 : end;
    }
    int64_t span = step > 0 ? end - first : first - end, stride = step > 0 ? step : -step;
    TRY(onnx_constant_slice(im, *t, axis, first, step, span > 0 ? (span - 1) / stride + 1 : 0, &m));
    *t = m;
    return UNROLL_OK;
}

static unroll_status slice_symbolic(struct onnx_import *im, struct symbolic *f, int axis, int64_t first, int64_t end,
                                    int64_t step)
{
    const int64_t size = onnx_axis_size(&f->axis[axis]);
    bool to_end = (end == size && size != SYMBOL_UNKNOWN) || end >= INT32_MAX;
    if (step != 1)
        return refuse_node(im, "it takes only every %lldth entry", (long long)step);
    if (first == 0 && to_end)
        return UNROLL_OK;
    if (is_symbol(first) || (is_symbol(end) && !to_end))
        return refuse_node(im, "it slices at a position that is known only when the network runs");
    if (is_symbol(size))
        return take_part(im, f, axis, first, to_end && first < 0 ? -first : INT64_MAX);
    first = clamp(first < 0 ? first + size : first, size);
    end = to_end ? size : clamp(end < 0 ? end + size : end, size);
    return take_part(im, f, axis, first, end - first);
}

/* Slices a constant or symbolic value along several axes. */
unroll_status onnx_slice(struct onnx_import *im)
{
    const struct value *from = onnx_input(im, 0);
    const int64_t *starts, *ends, *axes, *steps;
    int n, ends_count, axes_count, steps_count;
    TRY(onnx_ints(im, 1, "starts", &starts, &n));
    TRY(onnx_ints(im, 2, "ends", &ends, &ends_count));
    TRY(onnx_ints(im, 3, "axes", &axes, &axes_count));
    TRY(onnx_ints(im, 4, NULL, &steps, &steps_count));
    if (n < 0 || ends_count != n || (axes_count >= 0 && axes_count != n) || (steps_count >= 0 && steps_count != n))
        return refuse_node(im, "its starts, ends, axes and steps do not have the same length");
    struct symbolic f = from->symbolic;
    const struct onnx_tensor *t = from->constant;
    for (int k = 0; k < n; k++) {
        int64_t wanted = axes_count < 0 ? k : axes[k], step = steps_count < 0 ? 1 : steps[k];
        int axis = onnx_axis(wanted, onnx_rank(from));
        if (axis < 0)
            return refuse_node(im, "it has no axis %lld", (long long)wanted);
        TRY(from->kind == VALUE_SYMBOLIC ? slice_symbolic(im, &f, axis, starts[k], ends[k], step)
                                         : slice_constant(im, &t, axis, starts[k], ends[k], step));
    }
    return from->kind == VALUE_SYMBOLIC ? onnx_set_symbolic(im, 0, &f) : onnx_set_constant(im, 0, t);
}

/* Gathers steps, entries or features: a single index removes its axis, a list must be consecutive. */
static unroll_status gather_symbolic(struct onnx_import *im, const struct symbolic *from, int axis,
                                     const struct onnx_tensor *index)
{
    struct symbolic f = *from;
    const int64_t size = f.axis[axis].size;
    if (!index->i || index->count < 1 || index->rank > 1)
        return refuse_node(im, "its indices are not a list of integers");
    for (size_t i = 1; i < index->count; i++) {
        int64_t at = index->i[i], before = index->i[i - 1];
        if (is_symbol(at) || at + (at < 0 ? size : 0) != before + (before < 0 ? size : 0) + 1)
            return refuse_node(im, "it reorders entries");
    }
    TRY(take_part(im, &f, axis, index->i[0], (int64_t)index->count));
    if (index->rank == 1)
        return onnx_set_symbolic(im, 0, &f);
    return squeeze_symbolic(im, &f, 1u << axis);
}

static bool may_be_symbols(const struct onnx_import *im, const struct symbolic *f)
{
    return !im->tokens && f->piece[0].kind == PIECE_INPUT && f->is_integer && f->rank < ONNX_RANK;
}

/* Makes the value the network's symbols, of which there are `symbols`, and adds a feature axis of size `width`. */
static unroll_status read_symbols(struct onnx_import *im, const struct symbolic *from, int64_t symbols, int64_t width)
{
    struct symbolic f = *from;
    im->tokens = true;
    im->input = symbols;
    f.axis[f.rank++] = (struct symbolic_axis){.id = AXIS_FEATURE, .size = width};
    f.is_integer = false;
    TRY(onnx_new_pieces(im, &f, 1, 1));
    f.piece[0] = from->piece[0];
    f.piece[0].width = width;
    return onnx_set_symbolic(im, 0, &f);
}

/* Reads an embedding, or gathers from a constant or symbolic value. */
unroll_status onnx_embedding_or_gather(struct onnx_import *im)
{
    struct value *from = onnx_input(im, 0), *index = onnx_input(im, 1);
    const int axis = onnx_axis(onnx_int(im, "axis", 0), onnx_rank(from));
    if (!index)
        return refuse_node(im, "its indices are missing");
    if (axis < 0)
        return refuse_node(im, "it has no such axis");
    if (from->kind == VALUE_SYMBOLIC) {
        TRY(onnx_operand(im, 1, VALUE_CONSTANT, &index));
        return gather_symbolic(im, &from->symbolic, axis, index->constant);
    }
    if (index->kind == VALUE_CONSTANT)
        return onnx_constant_gather(im, from->constant, axis, index->constant);
    const struct onnx_tensor *table = from->constant;
    if (index->kind != VALUE_SYMBOLIC || axis != 0 || table->rank != 2 || !table->f)
        return refuse_node(im, "an embedding must be a table of floats [symbols, width], indexed by its first axis");
    if (im->embedding || !may_be_symbols(im, &index->symbolic))
        return refuse_node(im, "a network can have only one embedding, of its integer input");
    im->embedding = table;
    return read_symbols(im, &index->symbolic, table->dim[0], table->dim[1]);
}

/* Reads the symbols of a network without an embedding. */
unroll_status onnx_one_hot(struct onnx_import *im)
{
    struct value *from, *depth, *values;
    TRY(onnx_operand(im, 0, VALUE_SYMBOLIC, &from));
    TRY(onnx_operand(im, 1, VALUE_CONSTANT, &depth));
    TRY(onnx_operand(im, 2, VALUE_CONSTANT, &values));
    const struct onnx_tensor *v = values->constant, *d = depth->constant;
    if (!may_be_symbols(im, &from->symbolic) ||
        onnx_axis(onnx_int(im, "axis", -1), from->symbolic.rank + 1) != from->symbolic.rank)
        return refuse_node(im, "a network can have only one one-hot input, with the one-hot axis last");
    if (d->count != 1 || !d->i || d->i[0] < 1 || d->i[0] > 1 << 23 || v->count != 2 || !v->f || v->f[0] != 0 ||
        v->f[1] != 1)
        return refuse_node(im, "one-hot values must be 0 and 1 of a known depth");
    return read_symbols(im, &from->symbolic, d->i[0], d->i[0]);
}

/* Returns the size of part k of n. */
static int64_t part_size(int64_t size, const int64_t *sizes, int n, int k)
{
    int64_t each = n ? (size + n - 1) / n : 0;
    return sizes ? sizes[k] : k + 1 < n ? each : size - each * (n - 1);
}

/* Splits a constant or symbolic value along one axis. */
unroll_status onnx_split(struct onnx_import *im)
{
    struct value *from = onnx_input(im, 0);
    const int64_t *sizes = NULL;
    int count, n = im->node->outputs;
    TRY(onnx_ints(im, 1, "split", &sizes, &count));
    const bool is_symbolic = from->kind == VALUE_SYMBOLIC;
    const int axis = onnx_axis(onnx_int(im, "axis", 0), onnx_rank(from));
    if (axis < 0 || (count >= 0 && count != n))
        return refuse_node(im, "its axis or its sizes do not match its input");
    if (is_symbolic && axis == 0 && from->symbolic.axis[0].id >= AXIS_OF_INPUT)
        TRY(open_rows(im, &from->symbolic));
    int64_t at = 0, size = is_symbolic ? from->symbolic.axis[axis].size : from->constant->dim[axis];
    for (int k = 0; k < n; k++) {
        int64_t part = part_size(size, count < 0 ? NULL : sizes, n, k);
        if (part < 0 || part > size - at)
            return refuse_node(im, "its parts are larger than its input");
        if (is_symbolic && onnx_output(im, k)->uses) {
            struct symbolic f = from->symbolic;
            TRY(take_part(im, &f, axis, at, part));
            TRY(onnx_set_symbolic(im, k, &f));
        } else if (!is_symbolic) {
            struct onnx_tensor *m;
            TRY(onnx_constant_slice(im, from->constant, axis, at, 1, part, &m));
            TRY(onnx_set_constant(im, k, m));
        }
        at += part;
    }
    return UNROLL_OK;
}

/* ---- joining --------------------------------------------------------------------------- */

/* Appends the features, or stack entries, of another value to f. */
static unroll_status join(struct onnx_import *im, struct symbolic *f, const struct symbolic *more, int axis)
{
    struct symbolic both = *f;
    bool by_stack = f->axis[axis].id == AXIS_STACK;
    bool alike = f->rank == more->rank && f->reading == more->reading &&
                 (by_stack ? f->pieces == more->pieces : f->stacks == more->stacks);
    for (int k = 0; alike && k < f->rank; k++) alike = same_axis(&f->axis[k], &more->axis[k]);
    if (!alike || f->axis[axis].size < 0 || more->axis[axis].size < 0)
        return refuse_node(im, "its inputs differ in other axes than the concatenated one");
    TRY(onnx_new_pieces(im, &both, by_stack ? f->stacks + more->stacks : f->stacks,
                        by_stack ? f->pieces : f->pieces + more->pieces));
    for (int s = 0; s < both.stacks; s++)
        for (int p = 0; p < both.pieces; p++)
            both.piece[s * both.pieces + p] =
                by_stack
                    ? (s < f->stacks ? f->piece[s * f->pieces + p] : more->piece[(s - f->stacks) * f->pieces + p])
                    : (p < f->pieces ? f->piece[s * f->pieces + p] : more->piece[s * more->pieces + p - f->pieces]);
    both.axis[axis].size += more->axis[axis].size;
    *f = both;
    return UNROLL_OK;
}

/* Prepares an axis for joining: it must hold features or entries of a stack. An axis of size 1 becomes a stack. */
static unroll_status prepare_join(struct onnx_import *im, struct symbolic *f, int axis)
{
    if (axis == f->rank - 1 && f->axis[axis].id >= AXIS_OF_INPUT)
        TRY(onnx_take_features(im, f));
    if (f->axis[axis].id == AXIS_ONE && f->stacks == 1) {
        for (int k = 0; k < f->rank; k++) /* a value has at most one stack axis */
            if (f->axis[k].id == AXIS_STACK)
                f->axis[k] = (struct symbolic_axis){.id = AXIS_ONE, .size = 1};
        f->axis[axis] = (struct symbolic_axis){.id = AXIS_STACK, .size = 1};
    }
    if (f->axis[axis].id != AXIS_FEATURE && f->axis[axis].id != AXIS_STACK)
        return refuse_node(im, "it concatenates along time or the batch");
    return UNROLL_OK;
}

/* Joins constants, equal fill values, or symbolic values. */
unroll_status onnx_concat(struct onnx_import *im)
{
    const int n = im->node->inputs;
    int constants = 0, fills = 0;
    for (int i = 0; i < n; i++) {
        const struct value *v = onnx_input(im, i);
        if (!v)
            return refuse_node(im, "its input %d is missing", i);
        constants += v->kind == VALUE_CONSTANT;
        fills += v->kind == VALUE_FILL && v->fill == onnx_input(im, 0)->fill;
    }
    if (n && fills == n)
        return onnx_set_fill(im, 0, onnx_input(im, 0)->fill);
    if (!n || (constants && constants != n))
        return refuse_node(im, "it concatenates constants with computed values");
    const struct value *first = onnx_input(im, 0);
    int axis = onnx_axis(onnx_int(im, "axis", INT64_MIN / 2), onnx_rank(first));
    if (axis < 0)
        return refuse_node(im, "it has no such axis");
    if (constants)
        return onnx_constant_concat(im, axis);
    struct symbolic f, more;
    for (int i = 0; i < n; i++) {
        struct value *v;
        TRY(onnx_operand(im, i, VALUE_SYMBOLIC, &v));
        more = v->symbolic;
        if (axis >= more.rank)
            return refuse_node(im, "its inputs have different numbers of axes");
        TRY(prepare_join(im, &more, axis));
        if (i)
            TRY(join(im, &f, &more, axis));
        else
            f = more;
    }
    return onnx_set_symbolic(im, 0, &f);
}
