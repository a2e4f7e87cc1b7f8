/* ONNX's operators that become layers or parts of them: products with weights, biases, activations. The
 * recurrent ones are in onnx_recurrent.c. */
#include "file/onnx_network.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cells/activation.h"

/* ---- what a layer reads ---------------------------------------------------------------- */

static unroll_status copy_pieces(struct onnx_import *im, struct flow *f)
{
    const struct part *given = f->piece;
    TRY(onnx_new_pieces(im, f, f->stacks, f->pieces));
    memcpy(f->piece, given, (size_t)f->stacks * (size_t)f->pieces * sizeof *given);
    return UNROLL_OK;
}

unroll_status onnx_take_features(struct onnx_import *im, struct flow *f)
{
    struct axis *last = f->rank ? &f->axis[f->rank - 1] : NULL;
    if (!last || last->second || f->is_integer)
        return refuse_node(im, "what it reads has no axis of features at the end");
    if (last->id == AXIS_FEATURE)
        return UNROLL_OK;
    if (f->piece[0].kind != PIECE_INPUT || last->id == AXIS_STACK ||
        (im->bound && (last->id == im->time || last->id == im->batch) &&
                                                                      last->id != AXIS_ONE))
        return refuse_node(im, "the last axis of what it reads is not that of features");
    TRY(copy_pieces(im, f));
    f->piece[0].width = last->id == AXIS_ONE ? 1 : last->size;
    *last = (struct axis){ .id = AXIS_FEATURE, .size = f->piece[0].width };
    return UNROLL_OK;
}

/* The last state of a layer that runs forward is its output at the last step. */
static unroll_status states_as_outputs(struct onnx_import *im, struct flow *f)
{
    TRY(copy_pieces(im, f));
    for (int p = 0; p < f->pieces; p++) {
        struct part *q = &f->piece[p];
        if (q->kind == PIECE_C)
            return refuse_node(im, "it reads the last cell state; layers read outputs");
        if (q->kind != PIECE_H)
            continue;
        if (q->direction)
            return refuse_node(im, "it reads the last state of the backward direction, which is its output "
                                   "at the first step; layers read one step at a time. fix: take the "
                                   "outputs of all steps, or of the last");
        q->kind = PIECE_Y;
    }
    return UNROLL_OK;
}

static unroll_status source_is_input(struct onnx_import *im, const struct part *q, int64_t width)
{
    if (q->row >= 0 || q->first || (im->sequence >= 0 && im->sequence != q->index))
        return refuse_node(im, "a network has one input; '%.60s' is a second one, or a part of it",
                           im->file->input[q->index].name);
    if (!im->tokens && im->input && im->input != width)
        return refuse_node(im, "it reads %lld numbers of the input, others %lld", (long long)width,
                           (long long)im->input);
    im->sequence = q->index;
    im->input = im->tokens ? im->input : width;
    return UNROLL_OK;
}

/* Pieces from p on that are one whole layer; returns how many, or 0. */
static int pieces_of_layer(const struct onnx_import *im, const struct flow *f, int p)
{
    const struct part *q = &f->piece[p];
    const struct imported_layer *l = &im->layer[q->index];
    int64_t whole = (int64_t)l->layer.width * (l->layer.bidirectional ? 2 : 1), at = 0;
    int n = 0;
    for (; p + n < f->pieces && at < whole; at += f->piece[p + n++].width)
        if (f->piece[p + n].kind != PIECE_Y || f->piece[p + n].index != q->index ||
            f->piece[p + n].first != at)
            return 0;
    return at == whole ? n : 0;
}

/* What an input of unknown width must have, so that all is `width`. */
static int64_t open_width(const struct flow *f, int64_t width)
{
    for (int p = 0; p < f->pieces; p++)
        width -= f->piece[p].width < 0 ? 0 : f->piece[p].width;
    return width;
}

unroll_status onnx_sources(struct onnx_import *im, struct flow *f, int64_t width, unroll_layer *l)
{
    TRY(onnx_take_features(im, f));
    if (f->stacks != 1)
        return refuse_node(im, "it reads a stack of %d layers or directions as one", f->stacks);
    TRY(states_as_outputs(im, f));
    int64_t open = open_width(f, width), sum = 0;
    for (int p = 0, n; p < f->pieces; p += n) {
        const struct part *q = &f->piece[p];
        n = q->kind == PIECE_INPUT ? 1 : pieces_of_layer(im, f, p);
        if (!n)
            return refuse_node(im, "it reads a part of what layer %d gives; a layer reads others whole",
                               q->index);
        if (l->sources == UNROLL_SOURCES_MAX)
            return refuse_node(im, "it reads more than %d layers side by side", UNROLL_SOURCES_MAX);
        l->source[l->sources++] = q->kind == PIECE_INPUT ? -1 : q->index;
        if (q->kind == PIECE_INPUT)
            TRY(source_is_input(im, q, q->width < 0 ? open : q->width));
        for (int k = 0; k < n; k++)
            sum += f->piece[p + k].width < 0 ? open : f->piece[p + k].width;
    }
    if (sum != width)
        return refuse_node(im, "it reads %lld numbers, but its weights are for %lld", (long long)sum,
                           (long long)width);
    return UNROLL_OK;
}

unroll_status onnx_add_layer(struct onnx_import *im, const char *kind, const char *name,
                             struct imported_layer **layer)
{
    if (im->layers == IMPORT_LAYERS)
        return refuse_node(im, "a network has at most %d layers", IMPORT_LAYERS);
    struct imported_layer *l = &im->layer[im->layers];
    bool taken = !*name || strlen(name) >= sizeof l->name || !strncmp(name, "rnn",
                                                                      3) || !strcmp(name, "embedding");
    for (int i = 0; i < im->layers; i++)
        taken = taken || !strcmp(im->layer[i].name, name);
    for (const char *c = name; *c; c++)
        taken = taken || !(isalnum((unsigned char)*c) || strchr("._-", *c));
    *l = (struct imported_layer){ .layer = unroll_layer_default(), .is_unnamed = taken };
    if (taken)
        snprintf(l->name, sizeof l->name, "%s%d", kind, im->layers);
    else
        snprintf(l->name, sizeof l->name, "%s", name);
    snprintf(l->kind, sizeof l->kind, "%s", kind);
    im->layers++;
    *layer = l;
    return UNROLL_OK;
}

/* ---- products -------------------------------------------------------------------------- */

/* "fc" of "fc.weight": what the module was called. */
static void name_of_weight(const struct onnx_tensor *weight, char *name, size_t size)
{
    const char *dot = strstr(weight->name, ".weight");
    name[0] = 0;
    if (dot && (size_t)(dot - weight->name) < size)
        snprintf(name, size, "%.*s", (int)(dot - weight->name), weight->name);
}

/* weight: [N, K], or transposed [K, N]; NULL: the identity. bias: [N] or NULL. */
static unroll_status add_dense(struct onnx_import *im, const struct flow *from,
                               const struct onnx_tensor *weight,
                               bool transposed, const struct onnx_tensor *bias, struct imported_layer **made)
{
    struct imported_layer *l;
    struct flow f = *from;
    char name[32] = "";
    TRY(onnx_take_features(im, &f));
    int64_t inputs = weight ? weight->dim[!transposed] : f.axis[f.rank - 1].size;
    int64_t outputs = weight ? weight->dim[transposed] : inputs;
    if (inputs < 1 || inputs > 1 << 23 || outputs < 1 || outputs > 1 << 20)
        return refuse_node(im, "it makes %lld of %lld numbers", (long long)outputs, (long long)inputs);
    if (weight)
        name_of_weight(weight, name, sizeof name);
    TRY(onnx_add_layer(im, "dense", name, &l));
    int index = im->layers - 1;
    l->weight = weight;
    l->transposed = transposed;
    l->bias = bias;
    l->layer.width = (int)outputs;
    TRY(onnx_sources(im, &f, inputs, &l->layer));
    f.axis[f.rank - 1].size = outputs;
    TRY(onnx_new_pieces(im, &f, 1, 1));
    f.piece[0] = (struct part){ .kind = PIECE_Y, .index = index, .row = -1, .width = outputs };
    struct value *v = onnx_output(im, 0);
    v->kind = VALUE_FLOW;
    v->flow = f;
    if (made)
        *made = l;
    return UNROLL_OK;
}

static unroll_status want_weight(struct onnx_import *im, int k, const struct onnx_tensor **weight)
{
    struct value *v;
    TRY(onnx_want(im, k, VALUE_CONSTANT, &v));
    if (v->constant->rank != 2 || !v->constant->f)
        return refuse_node(im, "'%.80s' is no matrix of floats", v->name);
    *weight = v->constant;
    return UNROLL_OK;
}

unroll_status onnx_matmul(struct onnx_import *im)
{
    struct value *x;
    const struct onnx_tensor *weight;
    TRY(onnx_want(im, 0, VALUE_FLOW, &x));
    TRY(want_weight(im, 1, &weight));
    return add_dense(im, &x->flow, weight, true, NULL, NULL);
}

static bool is_bias(const struct onnx_tensor *t, int64_t outputs)
{
    return t->f && (int64_t)t->count == outputs && t->rank >= 1 && t->dim[t->rank - 1] == outputs;
}

unroll_status onnx_gemm(struct onnx_import *im)
{
    struct value *x, *bias = onnx_input(im, 2);
    const struct onnx_tensor *weight;
    TRY(onnx_want(im, 0, VALUE_FLOW, &x));
    TRY(want_weight(im, 1, &weight));
    bool transposed = !onnx_int(im, "transB", 0);
    if (onnx_int(im, "transA", 0) || onnx_float(im, "alpha", 1) != 1 ||
        (bias && onnx_float(im, "beta", 1) != 1))
        return refuse_node(im, "transA, or an alpha or beta that is not 1");
    if (bias && (bias->kind != VALUE_CONSTANT || !is_bias(bias->constant, weight->dim[transposed])))
        return refuse_node(im, "its bias is no row of constants");
    return add_dense(im, &x->flow, weight, transposed, bias ? bias->constant : NULL, NULL);
}

/* The dense layer that a flow is, all of it, if nothing else reads it: what follows may become part of it. */
static struct imported_layer *open_layer(const struct onnx_import *im, const struct value *v)
{
    const struct flow *f = &v->flow;
    if (v->kind != VALUE_FLOW || f->stacks != 1 || f->pieces != 1 || f->piece[0].kind != PIECE_Y ||
        v->readers != 1)
        return NULL;
    struct imported_layer *l = &im->layer[f->piece[0].index];
    return strcmp(l->kind, "dense") || l->shared || *l->activation ? NULL : l;
}

unroll_status onnx_add(struct onnx_import *im)
{
    struct value *a = onnx_input(im, 0), *b = onnx_input(im, 1);
    if (!a || !b)
        return refuse_node(im, "a summand is missing");
    if (a->kind == VALUE_CONSTANT && b->kind == VALUE_CONSTANT)
        return onnx_arithmetic(im);
    struct value *x = a->kind == VALUE_FLOW ? a : b, *bias = x == a ? b : a;
    if (bias->kind != VALUE_CONSTANT)
        return refuse_node(im, "it adds what two layers give; layers put them side by side (Concat), or add "
                               "biases");
    struct imported_layer *l = open_layer(im, x);
    if (!l || l->bias || !l->weight || !is_bias(bias->constant, l->layer.width))
        return refuse_node(im, "it adds constants that are no bias of a product with weights");
    l->bias = bias->constant;
    struct value *v = onnx_output(im, 0);
    v->kind = VALUE_FLOW;
    v->flow = x->flow;
    return UNROLL_OK;
}

/* ---- activations ----------------------------------------------------------------------- */

bool onnx_function(const char *name, struct activation *f)
{
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
        const char *ours = activation_name((enum activation_kind)kind), *c = name;
        for (; *ours; ours++)
            if (*ours != '_' && tolower((unsigned char)*c++) != *ours)
                break;
        if (!*ours && !*c && kind != ACTIVATION_LINEAR)
            return activation_parse(activation_name((enum activation_kind)kind), f);
    }
    return false;
}

unroll_status onnx_activation(struct onnx_import *im)
{
    struct value *x;
    struct activation f;
    TRY(onnx_want(im, 0, VALUE_FLOW, &x));
    if (!onnx_function(im->node->op, &f))
        return refuse_node(im, "there is no such function");
    f.alpha = onnx_float(im, "alpha", f.alpha);
    f.beta = onnx_float(im, "beta", f.beta);
    if (f.kind == ACTIVATION_SOFTMAX &&
        onnx_axis(onnx_int(im, "axis", im->file->opset < 13 ? 1 : -1), x->flow.rank) != x->flow.rank - 1)
        return refuse_node(im, "its axis is not the last one");
    struct imported_layer *l = open_layer(im, x);
    if (l) {
        struct value *v = onnx_output(im, 0);
        v->kind = VALUE_FLOW;
        v->flow = x->flow;
    } else {
        TRY(add_dense(im, &x->flow, NULL, false, NULL, &l));
    }
    activation_format(&f, l->activation, sizeof l->activation);
    return UNROLL_OK;
}
