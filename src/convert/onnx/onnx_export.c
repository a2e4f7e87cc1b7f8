/* Writes models as ONNX files: opset 14, IR version 8, one node for each recurrent layer with layout 0, raw weights,
 * symbolic time and batch axes, first and last states as inputs and outputs. Recurrent layers without an ONNX operator
 * are refused. docs/howto/from-onnx.md lists the names of values. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "convert/onnx/onnx_file.h"
#include "convert/onnx/onnx_network.h"
#include "io/protobuf.h"
#include "model/layer_kind.h"

enum { OPSET = 14, IR_VERSION = 8 };

/* Field numbers of GraphProto and NodeProto. */
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };

struct exporter {
    struct pb_writer w;
    const struct unroll_model *m;
    char y[MODEL_LAYERS_MAX + 1][64]; /* names of the input and of each layer's output */
};

/* ---- nodes ----------------------------------------------------------------------------- */

/* Begins a node. Inputs are separated by spaces, "-" stands for an omitted one. The caller ends it with pb_end. */
static size_t begin_node(struct exporter *e, const char *op, const char *inputs, const char *output)
{
    size_t node = pb_begin(&e->w, GRAPH_NODE);
    for (const char *at = inputs; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool absent = length == 1 && *at == '-';
        pb_put_bytes(&e->w, NODE_INPUT, at, absent ? 0 : length);
        at += length;
    }
    for (const char *at = output; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        pb_put_bytes(&e->w, NODE_OUTPUT, at, length);
        at += length;
    }
    char name[96];
    snprintf(name, sizeof name, "%s.%.*s", op, (int)strcspn(output, " "), output);
    pb_put_string(&e->w, NODE_NAME, name);
    pb_put_string(&e->w, NODE_OP, op);
    return node;
}

static size_t begin_attribute(struct exporter *e, const char *name, enum onnx_attribute_type type)
{
    size_t attribute = pb_begin(&e->w, NODE_ATTRIBUTE);
    pb_put_string(&e->w, 1, name);
    pb_put_varint(&e->w, 20, type);
    return attribute;
}

static void put_int(struct exporter *e, const char *name, int64_t value)
{
    size_t a = begin_attribute(e, name, ONNX_A_INT);
    pb_put_varint(&e->w, 3, (uint64_t)value);
    pb_end(&e->w, a);
}

static void put_float(struct exporter *e, const char *name, float value)
{
    size_t a = begin_attribute(e, name, ONNX_A_FLOAT);
    pb_put_float(&e->w, 2, value);
    pb_end(&e->w, a);
}

static void put_string(struct exporter *e, const char *name, const char *value)
{
    size_t a = begin_attribute(e, name, ONNX_A_STRING);
    pb_put_string(&e->w, 4, value);
    pb_end(&e->w, a);
}

/* Writes a node without attributes. The rest are its inputs, as for printf. */
__attribute__((format(printf, 4, 5))) static void put_node(struct exporter *e, const char *op, const char *output,
                                                           const char *format, ...)
{
    char inputs[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(inputs, sizeof inputs, format, arguments);
    va_end(arguments);
    pb_end(&e->w, begin_node(e, op, inputs, output));
}

static void put_axis_node(struct exporter *e, const char *op, const char *inputs, const char *output, int64_t axis)
{
    size_t node = begin_node(e, op, inputs, output);
    put_int(e, "axis", axis);
    pb_end(&e->w, node);
}

static void put_transpose(struct exporter *e, const char *input, const char *output, const uint64_t *perm, int rank)
{
    size_t node = begin_node(e, "Transpose", input, output), a = begin_attribute(e, "perm", ONNX_A_INTS);
    for (int k = 0; k < rank; k++) pb_put_varint(&e->w, 8, perm[k]);
    pb_end(&e->w, a);
    pb_end(&e->w, node);
}

/* ---- constants ------------------------------------------------------------------------- */

/* Writes an initializer and returns the address of its raw bytes for the caller to fill. */
static uint8_t *put_tensor(struct exporter *e, const char *name, enum onnx_type type, int rank, const size_t *dim)
{
    size_t count = 1, size = type == ONNX_FLOAT ? 4 : 8, tensor = pb_begin(&e->w, GRAPH_INITIALIZER);
    for (int k = 0; k < rank; count *= dim[k++]) pb_put_varint(&e->w, 1, dim[k]);
    pb_put_varint(&e->w, 2, type);
    pb_put_string(&e->w, 8, name);
    uint8_t *raw = pb_put_room(&e->w, 9, count * size);
    pb_end(&e->w, tensor);
    return raw;
}

static void put_floats(uint8_t *raw, const float *from, size_t count)
{
    for (size_t i = 0; raw && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        put_number(raw + 4 * i, bits, 4);
    }
}

static void put_scalar(struct exporter *e, const char *name, float value)
{
    put_floats(put_tensor(e, name, ONNX_FLOAT, 0, NULL), &value, 1);
}

static void put_integers(struct exporter *e, const char *name, int rank, const int64_t *value, size_t count)
{
    uint8_t *raw = put_tensor(e, name, ONNX_INT64, rank, &count);
    for (size_t i = 0; raw && i < count; i++) put_number(raw + 8 * i, (uint64_t)value[i], 8);
}

/* ---- inputs and outputs of the graph --------------------------------------------------- */

/* Sizes of dimensions, or the name of a symbol if the size is 0. */
struct dims {
    int rank;
    size_t size[3];
    const char *symbol[3];
};

/* Writes the name, type and shape of an input or output of the graph. */
static void put_value_info(struct exporter *e, uint32_t field, const char *name, enum onnx_type type, struct dims d)
{
    size_t info = pb_begin(&e->w, field);
    pb_put_string(&e->w, 1, name);
    size_t outer = pb_begin(&e->w, 2), tensor = pb_begin(&e->w, 1);
    pb_put_varint(&e->w, 1, type);
    size_t shape = pb_begin(&e->w, 2);
    for (int k = 0; k < d.rank; k++) {
        size_t dim = pb_begin(&e->w, 1);
        if (d.symbol[k])
            pb_put_string(&e->w, 2, d.symbol[k]);
        else
            pb_put_varint(&e->w, 1, d.size[k]);
        pb_end(&e->w, dim);
    }
    pb_end(&e->w, shape);
    pb_end(&e->w, tensor);
    pb_end(&e->w, outer);
    pb_end(&e->w, info);
}

static struct dims sequence_of(size_t width) { return (struct dims){3, {0, 0, width}, {"time", "batch", NULL}}; }

/* Returns the output shape of a layer. Layers after a pool have no time axis. */
static struct dims outputs_of(const struct layer *l)
{
    return l->pooled ? (struct dims){2, {0, l->outputs}, {"batch", NULL}} : sequence_of(l->outputs);
}

static struct dims states_of(const struct layer *l)
{
    return (struct dims){3, {(size_t)l->directions, 0, l->hidden}, {NULL, "batch", NULL}};
}

/* Selects token column `column` from [time, batch, columns] and embeds it. */
static void export_column(struct exporter *e, int column, int64_t place)
{
    const unroll_input *c = &e->m->inputs[column];
    const size_t dim[] = {(size_t)c->tokens, (size_t)c->width};
    char table[32], chosen[32], ids[32], rows[32], inputs[80];
    snprintf(table, sizeof table, "embedding.%d.weight", column);
    snprintf(chosen, sizeof chosen, "column.%d", column);
    snprintf(ids, sizeof ids, "tokens.%d", column);
    snprintf(rows, sizeof rows, "embedded.%d", column);
    put_integers(e, chosen, 0, &place, 1);
    put_floats(put_tensor(e, table, ONNX_FLOAT, 2, dim), model_values(e->m, PARAM_EMBEDDING, column, 0),
               dim[0] * dim[1]);
    snprintf(inputs, sizeof inputs, "tokens %s", chosen);
    put_axis_node(e, "Gather", inputs, ids, 2);
    put_node(e, "Gather", rows, "%s %s", table, ids);
}

/* Writes the inputs of a model with several columns: "tokens" [time, batch, token columns] and "x" with the numeric
 * columns. */
static void export_columns(struct exporter *e)
{
    const struct unroll_model *m = e->m;
    const size_t tokens = (size_t)model_token_columns(m);
    char joined[UNROLL_INPUTS_MAX * 16 + 1] = "";
    int64_t place = 0;
    put_value_info(e, GRAPH_INPUT, "tokens", ONNX_INT64, sequence_of(tokens));
    if (model_numbers(m))
        put_value_info(e, GRAPH_INPUT, "x", ONNX_FLOAT, sequence_of((size_t)model_numbers(m)));
    for (int i = 0; i < m->n_inputs; i++) {
        char *end = joined + strlen(joined);
        if (m->inputs[i].tokens)
            export_column(e, i, place++);
        snprintf(end, 16, m->inputs[i].tokens ? " embedded.%d" : " x", i);
    }
    snprintf(e->y[0], sizeof e->y[0], "embedded");
    put_axis_node(e, "Concat", joined + 1, "embedded", 2);
}

/* Writes the graph's inputs, and the embedding or one-hot encoding. */
static void export_input(struct exporter *e)
{
    const struct unroll_model *s = e->m;
    if (s->n_inputs > 1) {
        export_columns(e);
        return;
    }
    if (!s->tokens) {
        snprintf(e->y[0], sizeof e->y[0], "x");
        put_value_info(e, GRAPH_INPUT, "x", ONNX_FLOAT, sequence_of((size_t)s->input));
        return;
    }
    put_value_info(e, GRAPH_INPUT, "tokens", ONNX_INT64, (struct dims){2, {0, 0}, {"time", "batch"}});
    snprintf(e->y[0], sizeof e->y[0], "embedded");
    if (s->embed) {
        size_t dim[] = {(size_t)s->input, (size_t)s->embed};
        put_floats(put_tensor(e, "embedding.weight", ONNX_FLOAT, 2, dim), model_values(e->m, PARAM_EMBEDDING, 0, 0),
                   dim[0] * dim[1]);
        put_node(e, "Gather", "embedded", "embedding.weight tokens");
        return;
    }
    put_integers(e, "symbols", 0, &(int64_t){s->input}, 1);
    put_floats(put_tensor(e, "one_hot", ONNX_FLOAT, 1, &(size_t){2}), (const float[]){0, 1}, 2);
    put_node(e, "OneHot", "embedded", "tokens symbols one_hot");
}

/* ---- recurrent layers ------------------------------------------------------------------ */

/* Writes the weights of all directions, [D, gates blocks], in ONNX's gate order. role: parameters that are concatenated
 * for each direction. */
static void export_weights(struct exporter *e, const char *name, int layer, const enum parameter_role *role, int roles,
                           const int *order, int blocks, size_t rows, size_t columns)
{
    const struct layer *l = &e->m->layer[layer];
    size_t block = rows * (columns ? columns : 1), whole = (size_t)blocks * block;
    size_t dim[3] = {(size_t)l->directions, (size_t)(blocks * roles) * rows, columns};
    uint8_t *raw = put_tensor(e, name, ONNX_FLOAT, columns ? 3 : 2, dim);
    for (int d = 0; raw && d < l->directions; d++)
        for (int r = 0; r < roles; r++, raw += 4 * whole) {
            const float *from = model_values(e->m, role[r], layer, l->first_direction + d);
            for (int k = 0; k < blocks; k++)
                put_floats(raw + 4 * (size_t)order[k] * block, from + (size_t)k * block, block);
        }
}

/* Converts hard_sigmoid to "HardSigmoid". */
static void onnx_name(enum activation_kind kind, char *name)
{
    bool begins = true;
    for (const char *c = activation_name(kind); *c; c++) {
        if (*c != '_')
            *name++ = begins ? (char)toupper((unsigned char)*c) : *c;
        begins = *c == '_';
    }
    *name = 0;
}

static void export_numbers(struct exporter *e, const char *name, const struct activation *f, int count, int directions,
                           int which)
{
    size_t a = begin_attribute(e, name, ONNX_A_FLOATS);
    for (int i = 0; i < count * directions; i++)
        if (activation_numbers(f[i % count].kind) >= which)
            pb_put_float(&e->w, 7, which == 1 ? f[i % count].alpha : f[i % count].beta);
    pb_end(&e->w, a);
}

/* Writes the activations unless they are ONNX's defaults. */
static void export_activations(struct exporter *e, const struct layer *l)
{
    const struct cell_declaration *usual = cell_of_module(l->cell->foreign.name, NULL);
    struct activation f[CELL_ACTIVATIONS];
    int count = l->cell->activations, numbers = 0;
    bool own = !l->cell->chooses;
    for (int i = 0; i < count; i++) {
        f[i] = l->cell->chooses ? l->options.function[i] : (struct activation){.kind = l->cell->function[i]};
        own &= f[i].kind == usual->function[i]; /* ONNX's default */
    }
    if (own)
        return;
    size_t a = begin_attribute(e, "activations", ONNX_A_STRINGS);
    for (int i = 0; i < count * l->directions; i++) {
        char name[32];
        onnx_name(f[i % count].kind, name);
        pb_put_string(&e->w, 9, name);
        numbers = activation_numbers(f[i % count].kind) > numbers ? activation_numbers(f[i % count].kind) : numbers;
    }
    pb_end(&e->w, a);
    if (numbers > 0)
        export_numbers(e, "activation_alpha", f, count, l->directions, 1);
    if (numbers > 1)
        export_numbers(e, "activation_beta", f, count, l->directions, 2);
}

/* Writes the LSTM, GRU or RNN node of a layer. */
static void export_recurrent_node(struct exporter *e, int layer, const char *x)
{
    const struct layer *l = &e->m->layer[layer];
    const struct cell_foreign *foreign = &l->cell->foreign;
    char inputs[256], outputs[128];
    snprintf(inputs, sizeof inputs, "%s W.l%d R.l%d - - h0.l%d", x, layer, layer, layer);
    if (l->bias)
        snprintf(inputs, sizeof inputs, "%s W.l%d R.l%d B.l%d - h0.l%d", x, layer, layer, layer, layer);
    snprintf(outputs, sizeof outputs, "Y.l%d hn.l%d", layer, layer);
    if (l->cell->states > 1) {
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), " c0.l%d", layer);
        snprintf(outputs + strlen(outputs), sizeof outputs - strlen(outputs), " cn.l%d", layer);
    }
    if (l->cell->vectors)
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), " P.l%d", layer);
    size_t node = begin_node(e, foreign->name, inputs, outputs);
    put_int(e, "hidden_size", l->hidden);
    put_string(e, "direction", l->directions == 2 ? "bidirectional" : l->first_direction ? "reverse" : "forward");
    if (foreign->onnx_attribute)
        put_int(e, foreign->onnx_attribute, foreign->onnx_value);
    if (l->options.clip > 0)
        put_float(e, "clip", l->options.clip);
    if (l->options.input_forget)
        put_int(e, "input_forget", 1);
    export_activations(e, l);
    pb_end(&e->w, node);
}

/* Writes a recurrent layer: weights, states, node, and the nodes that bring its output into our layout. */
static void export_recurrent(struct exporter *e, int layer, const char *x)
{
    static const enum parameter_role w[] = {PARAM_W_IH}, r[] = {PARAM_W_HH}, b[] = {PARAM_B_IH, PARAM_B_HH},
                                     p[] = {PARAM_VECTOR};
    const struct layer *l = &e->m->layer[layer];
    const int *order = l->cell->foreign.onnx_gates, gates = cell_inputs_from(l->cell, FROM_X);
    char name[64], input[64];
#define NAMED(prefix) (snprintf(name, sizeof name, prefix ".l%d", layer), name)
    export_weights(e, NAMED("W"), layer, w, 1, order, gates, l->hidden, l->input);
    export_weights(e, NAMED("R"), layer, r, 1, order, gates, l->hidden, l->hidden);
    if (l->bias)
        export_weights(e, NAMED("B"), layer, b, 2, order, gates, l->hidden, 0);
    if (l->cell->vectors)
        export_weights(e, NAMED("P"), layer, p, 1, l->cell->foreign.onnx_vectors, l->cell->vectors, l->hidden, 0);
    put_value_info(e, GRAPH_INPUT, NAMED("h0"), ONNX_FLOAT, states_of(l));
    put_value_info(e, GRAPH_OUTPUT, NAMED("hn"), ONNX_FLOAT, states_of(l));
    if (l->cell->states > 1) {
        put_value_info(e, GRAPH_INPUT, NAMED("c0"), ONNX_FLOAT, states_of(l));
        put_value_info(e, GRAPH_OUTPUT, NAMED("cn"), ONNX_FLOAT, states_of(l));
    }
    export_recurrent_node(e, layer, x);
    if (l->directions == 1) {
        put_integers(e, NAMED("axis"), 1, &(int64_t){1}, 1);
        put_node(e, "Squeeze", e->y[layer + 1], "Y.l%d axis.l%d", layer, layer);
        return;
    }
    snprintf(input, sizeof input, "Y.l%d", layer);
    put_transpose(e, input, NAMED("side"), (const uint64_t[]){0, 2, 1, 3}, 4);
    put_integers(e, NAMED("shape"), 1, (const int64_t[]){0, 0, l->outputs}, 3);
    put_node(e, "Reshape", e->y[layer + 1], "side.l%d shape.l%d", layer, layer);
#undef NAMED
}

/* ---- dense layers ---------------------------------------------------------------------- */

/* Writes alpha f(beta x) or alpha x + beta as products and sums with scalars. */
static void export_scaled(struct exporter *e, int layer, const struct activation *f, const char *x, const char *y)
{
    char alpha[32], beta[32], inner[32], outer[32];
    bool affine = f->kind == ACTIVATION_AFFINE;
    snprintf(alpha, sizeof alpha, "alpha.l%d", layer);
    snprintf(beta, sizeof beta, "beta.l%d", layer);
    snprintf(inner, sizeof inner, "inner.l%d", layer);
    snprintf(outer, sizeof outer, "outer.l%d", layer);
    put_scalar(e, alpha, f->alpha);
    put_scalar(e, beta, f->beta);
    put_node(e, "Mul", inner, "%s %s", x, affine ? alpha : beta);
    if (!affine)
        put_node(e, "Tanh", outer, "%s", inner);
    put_node(e, affine ? "Add" : "Mul", y, "%s %s", affine ? inner : outer, affine ? beta : alpha);
}

static void export_activation(struct exporter *e, int layer, const char *x, const char *y)
{
    const struct activation *f = &e->m->layer[layer].activation;
    char op[32];
    if (f->kind == ACTIVATION_AFFINE || f->kind == ACTIVATION_SCALED_TANH) {
        export_scaled(e, layer, f, x, y);
        return;
    }
    onnx_name(f->kind, op);
    size_t node = begin_node(e, op, x, y);
    if (activation_numbers(f->kind) > 0)
        put_float(e, "alpha", f->alpha);
    if (activation_numbers(f->kind) > 1)
        put_float(e, "beta", f->beta);
    if (f->kind == ACTIVATION_SOFTMAX)
        put_int(e, "axis", -1);
    pb_end(&e->w, node);
}

/* Writes the weight in MatMul's layout [K, N]. A tied head transposes the embedding. */
static void export_dense_weight(struct exporter *e, int layer, char *name, size_t size)
{
    const struct layer *l = &e->m->layer[layer];
    snprintf(name, size, "weight.l%d", layer);
    if (e->m->tied && layer + 1 == e->m->layers) {
        put_node(e, "Transpose", name, "embedding.weight");
        return;
    }
    size_t dim[] = {l->input, l->outputs};
    const float *w = model_values(e->m, PARAM_W_DENSE, layer, 0);
    uint8_t *raw = put_tensor(e, name, ONNX_FLOAT, 2, dim);
    for (size_t k = 0; raw && k < dim[0]; k++)
        for (size_t n = 0; n < dim[1]; n++, raw += 4) put_floats(raw, w + n * dim[0] + k, 1);
}

/* Writes a dense layer: MatMul, Add, activation. */
static void export_dense(struct exporter *e, int layer, const char *x)
{
    const struct layer *l = &e->m->layer[layer];
    const char *y = e->y[layer + 1];
    bool linear = l->activation.kind == ACTIVATION_LINEAR;
    char weight[32], product[32], sum[64];
    export_dense_weight(e, layer, weight, sizeof weight);
    snprintf(product, sizeof product, "product.l%d", layer);
    snprintf(sum, sizeof sum, "sum.l%d", layer);
    const char *last = linear ? y : sum;
    put_node(e, "MatMul", l->bias ? product : last, "%s %s", x, weight);
    if (l->bias) {
        char bias[32];
        snprintf(bias, sizeof bias, "bias.l%d", layer);
        put_floats(put_tensor(e, bias, ONNX_FLOAT, 1, &(size_t){l->outputs}),
                   model_values(e->m, PARAM_B_DENSE, layer, 0), l->outputs);
        put_node(e, "Add", last, "%s %s", product, bias);
    }
    if (!linear)
        export_activation(e, layer, sum, y);
}

/* ---- pools ----------------------------------------------------------------------------- */

/* Selects the end of a source: of a recurrent layer its last states, [D, B, H] as [B, D H]; of others the last step. */
static void export_end(struct exporter *e, int source, const char *name)
{
    const struct layer *l = source == SOURCE_INPUT ? NULL : &e->m->layer[source];
    char inputs[160], side[48], shape[48];
    if (!l || !l->cell) {
        snprintf(shape, sizeof shape, "at.%s", name);
        put_integers(e, shape, 0, &(int64_t){-1}, 1);
        snprintf(inputs, sizeof inputs, "%s %s", e->y[source + 1], shape);
        put_axis_node(e, "Gather", inputs, name, 0);
        return;
    }
    snprintf(inputs, sizeof inputs, "hn.l%d", source);
    snprintf(side, sizeof side, "side.%s", name);
    snprintf(shape, sizeof shape, "shape.%s", name);
    put_transpose(e, inputs, side, (const uint64_t[]){1, 0, 2}, 3);
    put_integers(e, shape, 1, (const int64_t[]){0, l->outputs}, 2);
    put_node(e, "Reshape", name, "%s %s", side, shape);
}

static void export_ends(struct exporter *e, int layer)
{
    const struct layer *l = &e->m->layer[layer];
    char name[32], inputs[32 * SOURCES_MAX] = "";
    for (int k = 0; k < l->sources; k++) {
        snprintf(name, sizeof name, "end.l%d.%d", layer, k);
        export_end(e, l->source[k], l->sources == 1 ? e->y[layer + 1] : name);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", k ? " " : "", name);
    }
    if (l->sources > 1)
        put_axis_node(e, "Concat", inputs, e->y[layer + 1], 1);
}

/* Reduces over time, the first axis. */
static void export_reduction(struct exporter *e, int layer, const char *op, const char *x)
{
    size_t node = begin_node(e, op, x, e->y[layer + 1]), a = begin_attribute(e, "axes", ONNX_A_INTS);
    pb_put_varint(&e->w, 8, 0);
    pb_end(&e->w, a);
    put_int(e, "keepdims", 0);
    pb_end(&e->w, node);
}

/* ---- all of it ------------------------------------------------------------------------- */

/* Refuses layers that ONNX has no operators for. */
static unroll_status check_expressible(const struct unroll_model *m, const unroll_export_config *config)
{
    if (config->opset && config->opset != OPSET)
        return fail(UNROLL_UNSUPPORTED, "ONNX is written with opset %d, not %d; fix: leave `opset` out", OPSET,
                    config->opset);
    for (int i = 0; i < m->layers; i++) {
        const struct layer *l = &m->layer[i];
        if (l->kind->is_affine || layer_pool_of(l))
            continue;
        if (!l->cell)
            return fail(UNROLL_UNSUPPORTED,
                        "layer %d, '%s': a layer of kind '%s' cannot be exported to ONNX; fix: use another format "
                        "(`to`): torch or c99",
                        i, l->name, l->kind->name);
        if (l->projection)
            return fail(UNROLL_UNSUPPORTED,
                        "layer %d, '%s': ONNX has no operator for an LSTM with a projection; fix: export "
                        "to another format",
                        i, l->name);
        if (!l->cell->foreign.name)
            return fail(
                UNROLL_UNSUPPORTED,
                "layer %d, '%s': ONNX has no operator for the cell '%s'; fix: use another format (`to`): torch or c99",
                i, l->name, l->cell->called);
    }
    return UNROLL_OK;
}

/* Returns the name of the layer's input; several sources are concatenated. */
static const char *export_sources(struct exporter *e, int layer, char *joined, size_t size)
{
    const struct layer *l = &e->m->layer[layer];
    char inputs[64 * SOURCES_MAX + 1] = "";
    if (l->sources == 1)
        return e->y[l->source[0] + 1];
    for (int k = 0; k < l->sources; k++)
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", k ? " " : "", e->y[l->source[k] + 1]);
    snprintf(joined, size, "joined.l%d", layer);
    put_axis_node(e, "Concat", inputs, joined, l->pooled && !layer_pool_of(l) ? 1 : 2);
    return joined;
}

/* Writes one layer and, if it is an output, its value info. */
static void export_layer(struct exporter *e, int layer)
{
    const struct layer *l = &e->m->layer[layer];
    bool last = layer + 1 == e->m->layers;
    char joined[32];
    snprintf(e->y[layer + 1], sizeof *e->y, "y.l%d", layer);
    if (last)
        snprintf(e->y[layer + 1], sizeof *e->y, "y");
    const char *pool = layer_pool_of(l);
    const bool ends = pool && !strcmp(pool, "last"); /* for each source separately */
    const char *x = ends ? NULL : export_sources(e, layer, joined, sizeof joined);
    if (ends)
        export_ends(e, layer);
    else if (pool)
        export_reduction(e, layer, strcmp(pool, "max") ? "ReduceMean" : "ReduceMax", x);
    else if (!l->cell)
        export_dense(e, layer, x);
    else
        export_recurrent(e, layer, x);
    if (l->is_output)
        put_value_info(e, GRAPH_OUTPUT, e->y[layer + 1], ONNX_FLOAT, outputs_of(l));
}

static void export_model(struct exporter *e)
{
    pb_put_varint(&e->w, 1, IR_VERSION);
    pb_put_string(&e->w, 2, "unroll");
    pb_put_string(&e->w, 3, unroll_version());
    size_t graph = pb_begin(&e->w, 7);
    pb_put_string(&e->w, GRAPH_NAME, "unroll");
    export_input(e);
    for (int layer = 0; layer < e->m->layers; layer++) export_layer(e, layer);
    pb_end(&e->w, graph);
    size_t opset = pb_begin(&e->w, 8);
    pb_put_string(&e->w, 1, "");
    pb_put_varint(&e->w, 2, OPSET);
    pb_end(&e->w, opset);
}

unroll_status onnx_export(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct exporter e = {.m = model};
    TRY(check_expressible(model, config));
    export_model(&e);
    unroll_status status = UNROLL_OK;
    if (e.w.failed)
        status =
            fail(UNROLL_RESOURCE, "'%s': no memory for the graph, or it is larger than 2 GiB, the limit of ONNX", path);
    if (status == UNROLL_OK)
        status = write_file_atomically(path, &(struct piece){e.w.data, e.w.size}, 1);
    release(e.w.data);
    return status;
}
