/* ONNX operators that become dense layers or parts of them: products with weights, biases, activations. Recurrent
 * operators are in onnx_recurrent.c. */
#include "convert/onnx/onnx_network.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nn/cells/activation.h"

/* ---- layers ---------------------------------------------------------------------------- */

int64_t onnx_layer_width(const struct imported_layer *l)
{
    return (int64_t)l->layer.width * (l->layer.bidirectional ? 2 : 1);
}

unroll_status onnx_add_layer(struct onnx_import *im, const char *kind, const char *name, struct imported_layer **layer)
{
    if (im->layers == IMPORT_LAYERS)
        return refuse_node(im, "a network has at most %d layers", IMPORT_LAYERS);
    struct imported_layer *l = &im->layer[im->layers];
    bool taken = !*name || strlen(name) >= sizeof l->name || !strncmp(name, "rnn", 3) || !strcmp(name, "embedding");
    for (int i = 0; i < im->layers; i++) taken = taken || !strcmp(im->layer[i].name, name);
    for (const char *c = name; *c; c++) taken = taken || !(isalnum((unsigned char)*c) || strchr("._-", *c));
    *l = (struct imported_layer){.layer = unroll_layer_default(), .is_unnamed = taken};
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

/* Derives the module's name from the weight's: "fc" from "fc.weight". */
static void name_of_weight(const struct onnx_tensor *weight, char *name, size_t size)
{
    const char *dot = strstr(weight->name, ".weight");
    name[0] = 0;
    if (dot && (size_t)(dot - weight->name) < size)
        snprintf(name, size, "%.*s", (int)(dot - weight->name), weight->name);
}

/* Appends a dense layer to f, whose features are on axis `axis`. weight: [N, K], or transposed [K, N]; NULL: the
 * identity. bias: [N] or NULL. */
static unroll_status add_dense(struct onnx_import *im, struct symbolic *f, int axis, const struct imported_layer *dense,
                               const char *name, struct imported_layer **made)
{
    const struct onnx_tensor *weight = dense->weight;
    struct imported_layer *l;
    int64_t inputs = weight ? weight->dim[!dense->transposed] : f->axis[axis].size;
    int64_t outputs = weight ? weight->dim[dense->transposed] : inputs;
    if (inputs < 1 || inputs > 1 << 23 || outputs < 1 || outputs > 1 << 20)
        return refuse_node(im, "a layer of %lld outputs and %lld inputs is not supported", (long long)outputs,
                           (long long)inputs);
    TRY(onnx_add_layer(im, "dense", name, &l));
    l->weight = weight;
    l->transposed = dense->transposed;
    l->bias = dense->bias;
    l->layer.width = (int)outputs;
    TRY(onnx_sources(im, f, inputs, l));
    f->axis[axis].size = outputs;
    TRY(onnx_new_pieces(im, f, 1, 1));
    f->piece[0] = (struct onnx_part){.kind = PIECE_Y, .index = im->layers - 1, .row = -1, .width = outputs};
    *made = l;
    return UNROLL_OK;
}

/* Reads the product of x with a weight as a dense layer. */
static unroll_status add_product(struct onnx_import *im, const struct value *x, const struct imported_layer *dense)
{
    struct symbolic f = x->symbolic;
    struct imported_layer *l;
    char name[32];
    TRY(onnx_take_features(im, &f));
    name_of_weight(dense->weight, name, sizeof name);
    TRY(add_dense(im, &f, f.rank - 1, dense, name, &l));
    return onnx_set_symbolic(im, 0, &f);
}

unroll_status onnx_add_identity(struct onnx_import *im, struct symbolic *f, const char *name, struct imported_layer **l)
{
    int axis = onnx_feature_axis(f);
    if (axis < 0) {
        TRY(onnx_take_features(im, f));
        axis = f->rank - 1;
    }
    return add_dense(im, f, axis, &(struct imported_layer){.weight = NULL}, name, l);
}

static unroll_status weight_operand(struct onnx_import *im, int k, const struct onnx_tensor **weight)
{
    struct value *v;
    TRY(onnx_operand(im, k, VALUE_CONSTANT, &v));
    if (v->constant->rank != 2 || !v->constant->f)
        return refuse_node(im, "'%.80s' is not a matrix of floats", v->name);
    *weight = v->constant;
    return UNROLL_OK;
}

unroll_status onnx_matmul(struct onnx_import *im)
{
    struct value *x;
    const struct onnx_tensor *weight;
    TRY(onnx_operand(im, 0, VALUE_SYMBOLIC, &x));
    TRY(weight_operand(im, 1, &weight));
    return add_product(im, x, &(struct imported_layer){.weight = weight, .transposed = true});
}

static bool is_bias(const struct onnx_tensor *t, int64_t outputs)
{
    return t->f && (int64_t)t->count == outputs && t->rank >= 1 && t->dim[t->rank - 1] == outputs;
}

unroll_status onnx_gemm(struct onnx_import *im)
{
    struct value *x, *bias = onnx_input(im, 2);
    const struct onnx_tensor *weight;
    TRY(onnx_operand(im, 0, VALUE_SYMBOLIC, &x));
    TRY(weight_operand(im, 1, &weight));
    bool transposed = !onnx_int(im, "transB", 0);
    if (onnx_int(im, "transA", 0) || onnx_float(im, "alpha", 1) != 1 || (bias && onnx_float(im, "beta", 1) != 1))
        return refuse_node(im, "transA and an alpha or beta other than 1 are not supported");
    if (bias && (bias->kind != VALUE_CONSTANT || !is_bias(bias->constant, weight->dim[transposed])))
        return refuse_node(im, "its bias is not a row of constants");
    return add_product(
        im, x,
        &(struct imported_layer){.weight = weight, .transposed = transposed, .bias = bias ? bias->constant : NULL});
}

/* Returns the dense layer whose whole output v is, if it has no other reader: a bias or activation may be merged into
 * it. Otherwise NULL. */
static struct imported_layer *open_layer(const struct onnx_import *im, const struct value *v)
{
    const struct symbolic *f = &v->symbolic;
    if (v->kind != VALUE_SYMBOLIC || f->stacks != 1 || f->pieces != 1 || f->piece[0].kind != PIECE_Y || v->readers != 1)
        return NULL;
    struct imported_layer *l = &im->layer[f->piece[0].index];
    return strcmp(l->kind, "dense") || l->shared || *l->activation || f->piece[0].width != l->layer.width ? NULL : l;
}

/* True if t has one value for each feature of x. False along another axis, or if t has more axes than x. */
static bool is_bias_of(const struct onnx_tensor *t, const struct symbolic *x, int64_t outputs)
{
    return is_bias(t, outputs) && t->rank <= x->rank && (outputs == 1 || x->axis[x->rank - 1].id == AXIS_FEATURE);
}

unroll_status onnx_add(struct onnx_import *im)
{
    struct value *a = onnx_input(im, 0), *b = onnx_input(im, 1);
    if (!a || !b)
        return refuse_node(im, "a summand is missing");
    if (a->kind == VALUE_CONSTANT && b->kind == VALUE_CONSTANT)
        return onnx_arithmetic(im);
    struct value *x = a->kind == VALUE_SYMBOLIC ? a : b, *bias = x == a ? b : a;
    if (bias->kind != VALUE_CONSTANT)
        return refuse_node(
            im, "it adds the outputs of two layers; layers can only concatenate them (Concat) or add biases");
    struct imported_layer *l = open_layer(im, x);
    if (!l || l->bias || !l->weight || !is_bias_of(bias->constant, &x->symbolic, l->layer.width))
        return refuse_node(im, "it adds constants that are not the bias of a product with weights");
    l->bias = bias->constant;
    return onnx_set_symbolic(im, 0, &x->symbolic);
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

/* Checks that a softmax is over the features. Before opset 13, its axis included all that follow. */
static unroll_status check_softmax(struct onnx_import *im, const struct symbolic *f)
{
    bool flattens = im->file->opset < 13, found = false;
    int axis = onnx_axis(onnx_int(im, "axis", flattens ? 1 : -1), f->rank);
    if (axis < 0)
        return refuse_node(im, "it has no such axis");
    for (int k = axis; k < (flattens ? f->rank : axis + 1); k++) {
        const struct symbolic_axis *a = &f->axis[k];
        if (a->id == AXIS_FEATURE)
            found = true;
        else if (!flattens || a->second || a->size != 1)
            return refuse_node(im,
                               "it runs over %s; the softmax of a layer runs over its features, separately for each "
                               "step",
                               flattens ? "several axes" : onnx_axis_word(im, a->id));
    }
    return found ? UNROLL_OK : refuse_node(im, "it runs over an axis of one entry, not over features");
}

/* Merges an activation into the layer before it, or adds an identity layer with it. */
unroll_status onnx_activation(struct onnx_import *im)
{
    struct value *x;
    struct activation function;
    TRY(onnx_operand(im, 0, VALUE_SYMBOLIC, &x));
    struct symbolic f = x->symbolic;
    if (!onnx_function(im->node->op, &function))
        return refuse_node(im, "this function is not supported");
    function.alpha = onnx_float(im, "alpha", function.alpha);
    function.beta = onnx_float(im, "beta", function.beta);
    if (f.piece[0].kind == PIECE_INPUT && onnx_feature_axis(&f) < 0)
        TRY(onnx_take_features(im, &f));
    if (function.kind == ACTIVATION_SOFTMAX)
        TRY(check_softmax(im, &f));
    struct imported_layer *l = open_layer(im, x);
    if (!l)
        TRY(onnx_add_identity(im, &f, "", &l));
    activation_format(&function, l->activation, sizeof l->activation);
    return onnx_set_symbolic(im, 0, &f);
}
