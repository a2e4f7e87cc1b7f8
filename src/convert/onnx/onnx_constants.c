/* Constants of an ONNX graph: slicing, joining and arithmetic. Exporters leave weights in pieces, and compute shapes
 * from sizes that are known only at run time (symbols). */
#include "convert/onnx/onnx_import.h"

#include <string.h>

static size_t number_size(const struct onnx_tensor *t) { return t->f ? sizeof *t->f : sizeof *t->i; }

static char *numbers(const struct onnx_tensor *t) { return t->f ? (char *)t->f : (char *)t->i; }

/* ---- views ----------------------------------------------------------------------------- */

/* Copies a view of t into a new tensor. The view has the rank of t, starts at value `first`, and has stride[k] values
 * between entries of axis k. */
static unroll_status strided(struct onnx_import *im, const struct onnx_tensor *t, const int64_t *dim,
                             const int64_t *stride, int64_t first, struct onnx_tensor **made)
{
    struct onnx_tensor *m;
    int64_t at[ONNX_RANK] = {0}, from = first;
    size_t size = number_size(t);
    TRY(onnx_new_tensor(im, t->rank, dim, t->f != NULL, &m));
    for (size_t n = 0; n < m->count; n++) {
        memcpy(numbers(m) + n * size, numbers(t) + (size_t)from * size, size);
        for (int k = t->rank - 1; k >= 0; k--) {
            from += stride[k];
            if (++at[k] < dim[k])
                break;
            from -= stride[k] * dim[k];
            at[k] = 0;
        }
    }
    *made = m;
    return UNROLL_OK;
}

static void strides_of(const struct onnx_tensor *t, int64_t *stride)
{
    int64_t step = 1;
    for (int k = t->rank - 1; k >= 0; step *= t->dim[k--]) stride[k] = step;
}

/* Permutes the axes: axis k of the result is axis order[k] of t. */
unroll_status onnx_constant_transpose(struct onnx_import *im, const struct onnx_tensor *t, const int64_t *order)
{
    int64_t of[ONNX_RANK], dim[ONNX_RANK], stride[ONNX_RANK];
    struct onnx_tensor *m;
    strides_of(t, of);
    for (int k = 0; k < t->rank; k++) {
        dim[k] = t->dim[order[k]];
        stride[k] = of[order[k]];
    }
    TRY(strided(im, t, dim, stride, 0, &m));
    return onnx_set_constant(im, 0, m);
}

unroll_status onnx_constant_slice(struct onnx_import *im, const struct onnx_tensor *t, int axis, int64_t first,
                                  int64_t step, int64_t count, struct onnx_tensor **made)
{
    int64_t dim[ONNX_RANK], stride[ONNX_RANK];
    strides_of(t, stride);
    memcpy(dim, t->dim, sizeof dim);
    int64_t from = count ? first * stride[axis] : 0;
    dim[axis] = count;
    stride[axis] *= step;
    return strided(im, t, dim, stride, from, made);
}

unroll_status onnx_constant_reshape(struct onnx_import *im, const struct onnx_tensor *t, int rank, const int64_t *dim)
{
    struct onnx_tensor *m = onnx_allocate(im->file, 1, sizeof *m);
    if (!m)
        return fail(UNROLL_RESOURCE, "'%s': no memory for a constant", im->file->path);
    *m = *t;
    m->rank = rank;
    size_t count;
    if (rank)
        memcpy(m->dim, dim, (size_t)rank * sizeof *dim);
    if (!onnx_count(rank, dim, &count))
        return refuse_node(im, "a constant cannot be reshaped to this shape");
    if (count != t->count)
        return refuse_node(im, "a constant of %zu values cannot be reshaped to %zu values", t->count, count);
    return onnx_set_constant(im, 0, m);
}

/* Gathers entries along an axis. Negative indices count from the end. */
unroll_status onnx_constant_gather(struct onnx_import *im, const struct onnx_tensor *t, int axis,
                                   const struct onnx_tensor *index)
{
    int64_t dim[ONNX_RANK], outer = 1, inner = 1;
    int rank = t->rank - 1 + index->rank;
    if (!index->i || rank > ONNX_RANK)
        return refuse_node(im, "its indices are not integers, or have too many dimensions");
    for (int k = 0; k < rank; k++)
        dim[k] = k < axis ? t->dim[k] : k < axis + index->rank ? index->dim[k - axis] : t->dim[k - index->rank + 1];
    for (int k = 0; k < t->rank; k++) *(k < axis ? &outer : &inner) *= k == axis ? 1 : t->dim[k];
    struct onnx_tensor *m;
    size_t bytes = (size_t)inner * number_size(t);
    TRY(onnx_new_tensor(im, rank, dim, t->f != NULL, &m));
    for (int64_t o = 0; o < outer; o++)
        for (size_t i = 0; i < index->count; i++) {
            int64_t row = index->i[i] < 0 && !is_symbol(index->i[i]) ? index->i[i] + t->dim[axis] : index->i[i];
            if (row < 0 || row >= t->dim[axis])
                return refuse_node(im, "index %lld is outside the constant", (long long)index->i[i]);
            memcpy(numbers(m) + ((size_t)o * index->count + i) * bytes,
                   numbers(t) + (size_t)(o * t->dim[axis] + row) * bytes, bytes);
        }
    return onnx_set_constant(im, 0, m);
}

/* Concatenates all inputs of the node, which must be constants. */
unroll_status onnx_constant_concat(struct onnx_import *im, int axis)
{
    const struct onnx_tensor *first = onnx_input(im, 0)->constant;
    int64_t dim[ONNX_RANK], outer = 1, inner = 1;
    memcpy(dim, first->dim, sizeof dim);
    dim[axis] = 0;
    for (int i = 0; i < im->node->inputs; i++) {
        const struct onnx_tensor *t = onnx_input(im, i)->constant;
        bool alike = t->rank == first->rank && !t->f == !first->f;
        for (int k = 0; alike && k < t->rank; k++) alike = k == axis || t->dim[k] == first->dim[k];
        if (!alike)
            return refuse_node(im, "constants of different shapes or types cannot be concatenated");
        dim[axis] += t->dim[axis];
    }
    for (int k = 0; k < first->rank; k++) *(k < axis ? &outer : &inner) *= k == axis ? 1 : first->dim[k];
    struct onnx_tensor *m;
    TRY(onnx_new_tensor(im, first->rank, dim, first->f != NULL, &m));
    char *to = numbers(m);
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < im->node->inputs; i++) {
            const struct onnx_tensor *t = onnx_input(im, i)->constant;
            size_t bytes = (size_t)(t->dim[axis] * inner) * number_size(t);
            if (bytes)
                memcpy(to, numbers(t) + (size_t)o * bytes, bytes);
            to += bytes;
        }
    return onnx_set_constant(im, 0, m);
}

/* ---- arithmetic ------------------------------------------------------------------------ */

/* Sizes are not negative. Whether a symbol equals another size is decided at run time. */
static int64_t are_equal(int64_t a, int64_t b)
{
    int64_t known = is_symbol(a) ? b : a;
    if (a == b && a != SYMBOL_UNKNOWN)
        return 1;
    if (!is_symbol(a) && !is_symbol(b))
        return 0;
    return !is_symbol(known) && known < 0 ? 0 : SYMBOL_UNKNOWN;
}

static int64_t compute_integer(char op, int64_t a, int64_t b)
{
    if (op == '*' && (a == 1 || b == 1))
        return a == 1 ? b : a;
    if ((op == '+' || op == '-') && b == 0)
        return a;
    if (op == '/' && b == 1)
        return a;
    if (op == '=')
        return are_equal(a, b);
    if (is_symbol(a) || is_symbol(b) || (op == '/' && (b == 0 || b == -1)))
        return SYMBOL_UNKNOWN;
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* wraps around, as in ONNX Runtime */
    return op == '+' ? (int64_t)(x + y) : op == '-' ? (int64_t)(x - y) : op == '*' ? (int64_t)(x * y) : a / b;
}

static float compute_float(char op, float a, float b)
{
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : op == '/' ? a / b : (float)(a == b);
}

/* Combines two constants of equal shapes, or one with a scalar. */
static unroll_status combine(struct onnx_import *im, char op)
{
    struct value *a, *b;
    struct onnx_tensor *m;
    TRY(onnx_operand(im, 0, VALUE_CONSTANT, &a));
    TRY(onnx_operand(im, 1, VALUE_CONSTANT, &b));
    const struct onnx_tensor *x = a->constant, *y = b->constant, *shape = x->count == 1 ? y : x;
    if ((x->count != y->count && x->count != 1 && y->count != 1) || !x->f != !y->f)
        return refuse_node(im, "constants of different shapes or types cannot be combined");
    TRY(onnx_new_tensor(im, shape->rank, shape->dim, x->f && op != '=', &m));
    for (size_t i = 0; i < m->count; i++) {
        size_t j = x->count == 1 ? 0 : i, k = y->count == 1 ? 0 : i;
        if (m->f)
            m->f[i] = compute_float(op, x->f[j], y->f[k]);
        else
            m->i[i] = x->f ? x->f[j] == y->f[k] : compute_integer(op, x->i[j], y->i[k]);
    }
    return onnx_set_constant(im, 0, m);
}

unroll_status onnx_arithmetic(struct onnx_import *im)
{
    const char *op = im->node->op;
    const struct value *a = onnx_input(im, 0), *b = onnx_input(im, 1);
    if (a && b && (a->kind == VALUE_SYMBOLIC || b->kind == VALUE_SYMBOLIC))
        return refuse_node(im,
                           "computed values cannot be %s: layers support only products with weights and sums with "
                           "biases",
                           op[0] == 'M'   ? "multiplied"
                           : op[0] == 'D' ? "divided"
                                          : "combined this way");
    return combine(im, op[0] == 'A' ? '+' : op[0] == 'S' ? '-' : op[0] == 'M' ? '*' : '/');
}

unroll_status onnx_equal(struct onnx_import *im) { return combine(im, '='); }

/* Selects between two shapes, element by element. */
unroll_status onnx_where(struct onnx_import *im)
{
    struct value *v[3];
    struct onnx_tensor *m;
    const struct onnx_tensor *shape = NULL;
    for (int k = 0; k < 3; k++) {
        TRY(onnx_operand(im, k, VALUE_CONSTANT, &v[k]));
        const struct onnx_tensor *t = v[k]->constant;
        if (!t->i || (shape && t->count != shape->count && t->count != 1 && shape->count != 1))
            return refuse_node(im, "it is supported only for integers of one shape");
        shape = !shape || shape->count == 1 ? t : shape;
    }
    TRY(onnx_new_tensor(im, shape->rank, shape->dim, false, &m));
    for (size_t i = 0; i < m->count; i++) {
        const struct onnx_tensor *c = v[0]->constant;
        int64_t condition = c->i[c->count == 1 ? 0 : i];
        if (is_symbol(condition))
            return refuse_node(im, "its condition depends on a size that is known only when the network runs");
        const struct onnx_tensor *t = v[condition ? 1 : 2]->constant;
        m->i[i] = t->i[t->count == 1 ? 0 : i];
    }
    return onnx_set_constant(im, 0, m);
}

/* ---- where constants come from --------------------------------------------------------- */

static unroll_status constant_of_attribute(struct onnx_import *im, const struct onnx_attribute *a)
{
    struct onnx_tensor *m;
    bool list = a->type == ONNX_A_FLOATS || a->type == ONNX_A_INTS,
         is_float = a->type == ONNX_A_FLOAT || a->type == ONNX_A_FLOATS;
    TRY(onnx_new_tensor(im, list, &(int64_t){a->count}, is_float, &m));
    for (size_t i = 0; i < m->count; i++)
        if (is_float)
            m->f[i] = list ? a->floats[i] : a->f;
        else
            m->i[i] = list ? a->ints[i] : a->i;
    return onnx_set_constant(im, 0, m);
}

unroll_status onnx_constant(struct onnx_import *im)
{
    if (im->node->attributes != 1)
        return refuse_node(im, "it has %d values instead of one", im->node->attributes);
    const struct onnx_attribute *a = &im->node->attribute[0];
    if (a->t)
        return onnx_set_constant(im, 0, a->t);
    bool has_list =
        (a->type == ONNX_A_FLOATS && (a->floats || !a->count)) || (a->type == ONNX_A_INTS && (a->ints || !a->count));
    if (a->type != ONNX_A_FLOAT && a->type != ONNX_A_INT && !has_list)
        return refuse_node(im, "the type of its value is not supported");
    return constant_of_attribute(im, a);
}

/* A shape of known sizes gives a constant of integers; otherwise the result is a fill value. */
unroll_status onnx_constant_of_shape(struct onnx_import *im)
{
    const struct onnx_attribute *a = onnx_attribute(im->node, "value");
    const struct onnx_tensor *one = a ? a->t : NULL;
    const int64_t *dim;
    int rank;
    TRY(onnx_ints(im, 0, NULL, &dim, &rank));
    if (rank < 0 || rank > ONNX_RANK || (a && (!one || one->count != 1)))
        return refuse_node(im, "its shape or its value cannot be read");
    bool known = true, is_float = !one || one->f;
    for (int k = 0; k < rank; k++) known = known && !is_symbol(dim[k]);
    if (is_float)
        return onnx_set_fill(im, 0, one ? one->f[0] : 0);
    struct onnx_tensor *m;
    if (!known)
        return refuse_node(im, "it makes integers of a shape that is known only when the network runs");
    TRY(onnx_new_tensor(im, rank, dim, false, &m));
    for (size_t i = 0; i < m->count; i++) m->i[i] = one->i[0];
    return onnx_set_constant(im, 0, m);
}

/* A constant with equal values becomes a fill value; the shape does not matter. */
unroll_status onnx_expand(struct onnx_import *im)
{
    struct value *from = onnx_input(im, 0), *v = onnx_output(im, 0);
    const struct onnx_tensor *t = from ? from->constant : NULL;
    if (!from || (from->kind != VALUE_FILL && (from->kind != VALUE_CONSTANT || t->count < 1)))
        return refuse_node(im, "only constants can be expanded");
    for (size_t i = 1; t && i < t->count; i++)
        if (t->f ? t->f[i] != t->f[0] : t->i[i] != t->i[0] || t->i[0] == SYMBOL_UNKNOWN)
            return refuse_node(im,
                               "different values are expanded over the batch: initial states must be zero or inputs");
    v->kind = VALUE_FILL;
    v->fill = from->kind == VALUE_FILL ? from->fill : t->f ? t->f[0] : 0;
    v->constant = t && t->i ? t : NULL;
    return UNROLL_OK;
}
