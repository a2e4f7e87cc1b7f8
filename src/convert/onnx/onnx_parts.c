/* Tracks which parts of layers a value consists of, and the sources that a layer reads. Our layers read whole sources.
 * If a graph reads parts of them, in another order, or twice, the weights are rearranged (imported_layer.column). Axes
 * are moved in onnx_shapes.c. */
#include "convert/onnx/onnx_import.h"

#include <string.h>

/* ---- cutting --------------------------------------------------------------------------- */

/* Finds the part that contains column `at`; *within is the offset in it. */
static const struct onnx_part *part_at(const struct onnx_part *row, int64_t at, int64_t *within)
{
    for (; at >= row->width; row++) at -= row->width;
    *within = at;
    return row;
}

/* Finds column `column` of entry s of a [stacks][count] result. If f is a stack already, column counts within entry s
 * of f; otherwise the entries follow one another. */
static const struct onnx_part *cut_at(const struct symbolic *f, int stacks, int s, int64_t column, int64_t count,
                                      int64_t *within)
{
    return f->stacks == stacks ? part_at(f->piece + s * f->pieces, column, within)
                               : part_at(f->piece, s * count + column, within);
}

/* Returns the number of columns from `column` on before any entry reaches the end of its part. */
static int64_t cut_width(const struct symbolic *f, int stacks, int64_t column, int64_t count, int64_t end)
{
    int64_t step = end - column, within;
    for (int s = 0; s < stacks; s++) {
        int64_t left = cut_at(f, stacks, s, column, count, &within)->width - within;
        step = left < step ? left : step;
    }
    return step;
}

/* See onnx_import.h. Fails for parts of inputs of unknown width, and of states. */
unroll_status onnx_cut(struct onnx_import *im, struct symbolic *f, int stacks, int64_t first, int64_t count)
{
    struct symbolic cut = *f;
    int pieces = 0;
    int64_t step, end = first + count, within;
    for (int p = 0; p < f->stacks * f->pieces; p++)
        if (f->piece[p].width < 0)
            return refuse_node(im, "it takes a part of an input of unknown width");
    for (int64_t at = first; at < end; at += cut_width(f, stacks, at, count, end)) pieces++;
    TRY(onnx_new_pieces(im, &cut, stacks, pieces));
    pieces = 0;
    for (int64_t at = first; at < end; at += step, pieces++) {
        step = cut_width(f, stacks, at, count, end);
        for (int s = 0; s < stacks; s++) {
            struct onnx_part *to = &cut.piece[s * cut.pieces + pieces];
            *to = *cut_at(f, stacks, s, at, count, &within);
            if ((to->kind == PIECE_H || to->kind == PIECE_C) && to->width != step)
                return refuse_node(im, "it takes a part of a state");
            to->first += within;
            to->width = step;
        }
    }
    *f = cut;
    return UNROLL_OK;
}

/* ---- features -------------------------------------------------------------------------- */

static unroll_status copy_pieces(struct onnx_import *im, struct symbolic *f)
{
    const struct onnx_part *given = f->piece;
    TRY(onnx_new_pieces(im, f, f->stacks, f->pieces));
    memcpy(f->piece, given, (size_t)f->stacks * (size_t)f->pieces * sizeof *given);
    return UNROLL_OK;
}

int onnx_feature_axis(const struct symbolic *f)
{
    for (int k = f->rank - 1; k >= 0; k--)
        if (f->axis[k].id == AXIS_FEATURE)
            return k;
    return -1;
}

unroll_status onnx_take_features(struct onnx_import *im, struct symbolic *f)
{
    struct symbolic_axis *last = f->rank ? &f->axis[f->rank - 1] : NULL;
    if (!last || last->second || f->is_integer)
        return refuse_node(im, "its input has no feature axis at the end");
    if (last->id == AXIS_FEATURE)
        return UNROLL_OK;
    if (f->piece[0].kind != PIECE_INPUT || last->id == AXIS_STACK || onnx_feature_axis(f) >= 0 ||
        (im->bound && (last->id == im->time || last->id == im->batch) && last->id != AXIS_ONE))
        return refuse_node(im, "the last axis of its input is not a feature axis, but %s",
                           onnx_axis_word(im, last->id));
    TRY(copy_pieces(im, f));
    f->piece[0].axis = last->id;
    f->piece[0].width = last->id == AXIS_ONE ? 1 : last->size;
    *last = (struct symbolic_axis){.id = AXIS_FEATURE, .size = f->piece[0].width};
    return UNROLL_OK;
}

/* ---- what a layer reads ---------------------------------------------------------------- */

/* Replaces the last state of a forward layer by its output at the last step, which is the same. */
static unroll_status states_as_outputs(struct onnx_import *im, struct symbolic *f)
{
    TRY(copy_pieces(im, f));
    for (int p = 0; p < f->pieces; p++) {
        struct onnx_part *q = &f->piece[p];
        if (q->kind == PIECE_C)
            return refuse_node(im, "it reads the last cell state; layers can read only outputs");
        if (q->kind != PIECE_H)
            continue;
        if (q->direction)
            return refuse_node(im,
                               "it reads the last state of the backward direction, which is its output at the first "
                               "step; layers cannot read it. fix: use the outputs of all steps, or of the last");
        q->kind = PIECE_Y;
    }
    return UNROLL_OK;
}

/* Returns the width of an input. If the graph does not specify it, what remains of `width`. */
static int64_t input_width(const struct onnx_import *im, const struct symbolic *f, const struct onnx_part *q,
                           int64_t width)
{
    const struct onnx_value_info *info = &im->file->input[q->index];
    if (im->tokens)
        return im->embedding ? im->embedding->dim[1] : im->input;
    if (q->axis < AXIS_OF_INPUT)
        return 1;
    int64_t said = info->dim[(q->axis - AXIS_OF_INPUT) % ONNX_RANK].size;
    for (int p = 0; p < f->pieces; p++) width -= f->piece[p].width < 0 ? 0 : f->piece[p].width;
    return said >= 0 ? said : width;
}

/* Reads a part of an input of the graph, which must be the network's only input. */
static unroll_status take_input(struct onnx_import *im, const struct onnx_part *q, int64_t width)
{
    if (q->row >= 0 || (im->sequence >= 0 && im->sequence != q->index))
        return refuse_node(im, "a network has one input; '%.60s' is a second one, or a part of it",
                           im->file->input[q->index].name);
    if (!im->tokens && im->input && im->input != width)
        return refuse_node(im, "it reads %lld features of the input, other nodes read %lld", (long long)width,
                           (long long)im->input);
    if (!im->tokens && im->features >= 0 && im->features != q->axis)
        return refuse_node(im, "it reads a different axis of the input as features than an earlier layer");
    im->features = im->tokens ? -1 : q->axis;
    im->sequence = q->index;
    im->input = im->tokens ? im->input : width;
    return UNROLL_OK;
}

/* Sources of a layer, each whole and once, and their widths. */
struct sources {
    int count, source[UNROLL_SOURCES_MAX];
    int64_t width[UNROLL_SOURCES_MAX], all;
};

static int source_of(const struct onnx_part *q) { return q->kind == PIECE_INPUT ? -1 : q->index; }

static unroll_status add_source(struct onnx_import *im, struct sources *s, const struct onnx_part *q, int64_t width)
{
    for (int k = 0; k < s->count; k++)
        if (s->source[k] == source_of(q))
            return UNROLL_OK;
    if (s->count == UNROLL_SOURCES_MAX)
        return refuse_node(im, "it reads more than %d concatenated layers", UNROLL_SOURCES_MAX);
    s->source[s->count] = source_of(q);
    s->width[s->count++] = width;
    s->all += width;
    return UNROLL_OK;
}

static unroll_status find_sources(struct onnx_import *im, struct symbolic *f, int64_t width, struct sources *s)
{
    int64_t sum = 0;
    for (int p = 0; p < f->pieces; p++) {
        struct onnx_part *q = &f->piece[p];
        const bool is_input = q->kind == PIECE_INPUT;
        int64_t whole = is_input ? input_width(im, f, q, width) : onnx_layer_width(&im->layer[q->index]);
        q->width = q->width < 0 ? whole : q->width;
        sum += q->width;
        if (is_input)
            TRY(take_input(im, q, whole));
        TRY(add_source(im, s, q, whole));
    }
    if (sum != width)
        return refuse_node(im, "it reads %lld features, but its weights are for %lld", (long long)sum,
                           (long long)width);
    return UNROLL_OK;
}

/* Finds the position of each of a layer's inputs in its concatenated sources. Returns true if they are all in order. */
static bool find_columns(const struct symbolic *f, const struct sources *s, int *column)
{
    bool in_order = true;
    int n = 0;
    for (int p = 0; p < f->pieces; p++) {
        int64_t begin = f->piece[p].first;
        for (int k = 0; s->source[k] != source_of(&f->piece[p]); k++) begin += s->width[k];
        for (int64_t k = 0; k < f->piece[p].width; k++, n++) {
            column[n] = (int)(begin + k);
            in_order = in_order && column[n] == n;
        }
    }
    return in_order && n == s->all;
}

unroll_status onnx_sources(struct onnx_import *im, const struct symbolic *from, int64_t width, struct imported_layer *l)
{
    struct symbolic f = *from;
    struct sources s = {.count = 0};
    if (f.stacks != 1)
        return refuse_node(im, "it reads a stack of %d layers or directions as one", f.stacks);
    TRY(states_as_outputs(im, &f));
    TRY(find_sources(im, &f, width, &s));
    int *column = onnx_allocate(im->file, (size_t)width, sizeof *column);
    if (!column)
        return fail(UNROLL_RESOURCE, "'%s': no memory for %lld inputs", im->file->path, (long long)width);
    l->column = find_columns(&f, &s, column) ? NULL : column;
    l->layer.sources = s.count;
    memcpy(l->layer.source, s.source, sizeof s.source);
    return UNROLL_OK;
}
