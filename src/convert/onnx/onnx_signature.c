/* Maps the inputs and outputs of an ONNX graph to the arrays of a run. An output that consists of parts of layers
 * becomes a layer that concatenates them; an output of states needs no layer. The signature then lists the array and
 * the order of axes for each (unroll.h), and the findings are reported. */
#include "convert/onnx/onnx_network.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "convert/file_table.h"
#include "model/model.h"

/* ---- outputs as whole layers ----------------------------------------------------------- */

static int count_kind(const struct symbolic *f, enum piece_kind kind)
{
    int n = 0;
    for (int p = 0; p < f->stacks * f->pieces; p++) n += f->piece[p].kind == kind;
    return n;
}

/* True if the parts, in order, are the whole output of one layer. */
static bool is_one_layer(const struct onnx_import *im, const struct symbolic *f)
{
    int64_t at = 0;
    for (int p = 0; p < f->stacks * f->pieces; p++) {
        const struct onnx_part *q = &f->piece[p];
        if (q->kind != PIECE_Y || q->index != f->piece[0].index || q->first != at)
            return false;
        at += q->width;
    }
    return at == onnx_layer_width(&im->layer[f->piece[0].index]);
}

/* Concatenates the entries of a stack in a new identity layer and splits the result again. A value without a feature
 * axis has one feature. */
static unroll_status put_together(struct onnx_import *im, struct symbolic *f, const char *name)
{
    struct symbolic flat = *f;
    struct imported_layer *l;
    const int stacks = f->stacks, found = onnx_feature_axis(f), axis = found < 0 ? flat.rank++ : found;
    if (axis == ONNX_RANK)
        return refuse_node(im, "the output '%.80s' has %d axes and is only a part of a layer", name, ONNX_RANK);
    const int64_t width = found < 0 ? 1 : f->axis[axis].size;
    flat.axis[axis].id = AXIS_FEATURE;
    flat.stacks = 1;
    flat.pieces = f->stacks * f->pieces;
    flat.axis[axis].size = width * stacks;
    TRY(onnx_add_identity(im, &flat, name, &l));
    TRY(onnx_cut(im, &flat, stacks, 0, width));
    f->stacks = flat.stacks;
    f->pieces = flat.pieces;
    f->piece = flat.piece;
    return UNROLL_OK;
}

/* Our outputs are zero beyond a row's length. The graph's are not if they follow a bias or an activation, or come from
 * x, which keeps its padding. */
static bool fills_padding(const struct onnx_import *im, int layer)
{
    const struct imported_layer *l = layer < 0 ? NULL : &im->layer[layer];
    bool fills = !l || (!onnx_is_recurrent(l) && (l->bias || *l->activation));
    for (int k = 0; l && !onnx_is_recurrent(l) && k < l->layer.sources; k++)
        fills = fills || fills_padding(im, l->layer.source[k]);
    return fills;
}

static unroll_status check_padding(struct onnx_import *im, const struct symbolic *f, const char *name)
{
    if (im->lengths >= 0 && f->reading == LAST_STEP && fills_padding(im, f->piece[0].index))
        return refuse_node(im,
                           "the output '%.80s' is the last step of padded rows after a dense layer, which is zero in "
                           "a session but not in the graph. fix: use the last state of each row",
                           name);
    return UNROLL_OK;
}

/* Makes an output a whole layer or states; constants and inputs are refused. */
static unroll_status settle_output(struct onnx_import *im, const char *name, struct value *v)
{
    struct symbolic *f = &v->symbolic;
    if (v->kind != VALUE_SYMBOLIC)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': the output '%.80s' is a constant; fix: leave this output out, and export the model again",
                    im->file->path, name);
    int parts = f->stacks * f->pieces, inputs = count_kind(f, PIECE_INPUT);
    if (inputs == parts)
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s': the output '%.80s' is the input '%.80s'; fix: leave this output out, and export the model again",
            im->file->path, name, im->file->input[f->piece[0].index].name);
    if (count_kind(f, PIECE_H) + count_kind(f, PIECE_C) == parts)
        return UNROLL_OK;
    if (!is_one_layer(im, f))
        TRY(put_together(im, f, name));
    TRY(check_padding(im, f, name));
    im->layer[f->piece[0].index].layer.output = 1;
    return UNROLL_OK;
}

/* Binds batch and time if there are only dense layers: the axes of the input in order, without the features. */
static unroll_status bind_rest(struct onnx_import *im)
{
    const struct onnx_value_info *info = &im->file->input[im->sequence];
    int first = AXIS_OF_INPUT + im->sequence * ONNX_RANK, others[ONNX_RANK], n = 0;
    for (int k = 0; k < info->rank && !im->bound; k++)
        if (first + k != im->features)
            others[n++] = first + k;
    if (n > 2)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': the input '%.80s' has %d axes in addition to the feature axis; fix: export a model whose "
                    "input has time, batch and features",
                    im->file->path, info->name, n);
    if (!im->bound) {
        im->batch = n ? others[n - 1] : AXIS_ONE;
        im->time = n > 1 ? others[0] : AXIS_ONE;
        im->bound = true;
    }
    return UNROLL_OK;
}

unroll_status onnx_settle_outputs(struct onnx_import *im)
{
    TRY(bind_rest(im));
    for (int i = 0; i < im->file->outputs; i++) {
        const char *name = im->file->output[i].name;
        for (int k = 0; k < im->file->nodes; k++) /* so that messages name the node that computes it */
            for (int o = 0; o < im->file->node[k].outputs; o++)
                if (!strcmp(im->file->node[k].output[o], name))
                    im->node = &im->file->node[k];
        TRY(settle_output(im, name, (struct value *)onnx_value(im, name)));
    }
    return UNROLL_OK;
}

/* ---- the signature --------------------------------------------------------------------- */

enum { ENTRY = 1024 };

__attribute__((format(printf, 2, 3))) static void append(char text[ENTRY], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, ENTRY - used, format, arguments);
    va_end(arguments);
}

static unroll_status add_entry(struct onnx_import *im, const char *name, bool output, const char *array,
                               const char *axes)
{
    if (strlen(array) + 1 >= ENTRY || strlen(axes) + 1 >= ENTRY)
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s': '%.80s' is composed of too many states; fix: leave this output out, and export the model again",
            im->file->path, name);
    if (!utf8_is_valid(name))
        return fail(UNROLL_DATA,
                    "'%s': the name of an input or output is not UTF-8; fix: export the model again with other names",
                    im->file->path);
    return signature_add(im->model,
                         &(struct signature){.name = name, .array = array, .axes = axes, .is_output = output});
}

/* Appends one state to a list: "h0[0,1] + h0.rnn1[0]". kind: "h0", "c0", "hn", "cn". */
static void append_plane(const struct onnx_import *im, char text[ENTRY], const char *kind, int layer, int direction)
{
    const struct unroll_model *m = im->model;
    const struct layer *l = &m->layer[layer];
    char array[96];
    bool several = false;
    int plane = direction - l->first_direction;
    for (int i = 0; i < m->layers; i++) {
        bool same = !strcmp(m->layer[i].name, l->name);
        several = several || (m->layer[i].cell && !same);
        plane += same && i < layer ? l->directions : 0;
    }
    snprintf(array, sizeof array, several ? "%s.%s[" : "%s[", kind, l->name);
    const char *end = strrchr(text, ' ');
    if (*text && !strncmp(end ? end + 1 : text, array, strlen(array))) {
        text[strlen(text) - 1] = 0;
        append(text, ",%d]", plane);
    } else {
        append(text, "%s%s%d]", *text ? " + " : "", array, plane);
    }
}

/* Returns the name of an axis. An input axis that the network does not read has size 1. */
static const char *axis_name(const struct onnx_import *im, int id)
{
    return id == AXIS_FEATURE || id == im->features ? "features"
           : id == im->time                         ? "time"
           : id == im->batch                        ? "batch"
                                                    : "1";
}

/* Adds the signature entry of an output. */
static unroll_status sign_output(struct onnx_import *im, const char *name)
{
    const struct symbolic *f = &onnx_value(im, name)->symbolic;
    const struct onnx_part *q = f->piece;
    char array[ENTRY] = "", axes[ENTRY] = "";
    if (q->kind == PIECE_Y) {
        model_array(im->model, q->index, array);
        append(array, "%s", f->reading == LAST_STEP ? "[-1]" : f->reading == LAST_VALID ? "[lengths-1]" : "");
    }
    for (int p = 0; q->kind != PIECE_Y && p < f->stacks * f->pieces; p++)
        append_plane(im, array, q[p].kind == PIECE_H ? "hn" : "cn", q[p].index, q[p].direction);
    for (int k = 0; k < f->rank; k++) {
        const struct symbolic_axis *a = &f->axis[k];
        const char *gap = k ? " " : "";
        if (a->id == AXIS_ONE || a->id == AXIS_STACK)
            append(axes, "%s%lld", gap, (long long)a->size);
        else if (a->second)
            append(axes, "%s%s*%s", gap, axis_name(im, a->id), axis_name(im, a->second));
        else
            append(axes, "%s%s", gap, axis_name(im, a->id));
    }
    return add_entry(im, name, true, array, axes);
}

static unroll_status sign_sequence(struct onnx_import *im, int index)
{
    const struct onnx_value_info *info = &im->file->input[index];
    char axes[ENTRY] = "";
    for (int k = 0; k < info->rank; k++)
        append(axes, "%s%s", k ? " " : "", axis_name(im, AXIS_OF_INPUT + index * ONNX_RANK + k));
    return add_entry(im, info->name, false, im->tokens ? "tokens" : "x", axes);
}

/* Returns the n-th use of a row of an input as a first state, or NULL. */
static const struct state_use *find_use(const struct onnx_import *im, int input, int row, int n)
{
    for (int i = 0; i < im->states; i++)
        if (im->state[i].input == input && im->state[i].row == row && n-- == 0)
            return &im->state[i];
    return NULL;
}

/* Adds the signature entries of an input of states. Rows that are used several times appear in several entries. */
static unroll_status sign_states(struct onnx_import *im, int index)
{
    const struct onnx_value_info *info = &im->file->input[index];
    const struct state_use *first = NULL, *use;
    int rows = 0, uses = 0;
    for (int i = 0; i < im->states; i++)
        if (im->state[i].input == index) {
            first = first ? first : &im->state[i];
            rows = im->state[i].row >= rows ? im->state[i].row + 1 : rows;
            uses++;
        }
    for (int round = 0; uses; round++) {
        char array[ENTRY] = "", axes[ENTRY] = "";
        for (int row = 0; row < rows; row++) {
            use = find_use(im, index, row, round);
            uses -= use != NULL;
            if (use)
                append_plane(im, array, use->is_cell ? "c0" : "h0", use->layer, use->direction);
            else
                append(array, "%sunused", *array ? " + " : "");
        }
        for (int k = 0; k < info->rank; k++)
            if (k == first->batch || k == first->features)
                append(axes, "%s%s", k ? " " : "", k == first->batch ? "batch" : "features");
            else
                append(axes, "%s%d", k ? " " : "", rows);
        TRY(add_entry(im, info->name, false, array, axes));
    }
    return UNROLL_OK;
}

unroll_status onnx_sign(struct onnx_import *im)
{
    for (int i = 0; i < im->file->inputs; i++)
        if (i == im->sequence)
            TRY(sign_sequence(im, i));
        else if (i == im->lengths)
            TRY(add_entry(im, im->file->input[i].name, false, "lengths", "batch"));
        else
            TRY(sign_states(im, i));
    for (int i = 0; i < im->file->outputs; i++) TRY(sign_output(im, im->file->output[i].name));
    return UNROLL_OK;
}

/* ---- report ---------------------------------------------------------------------------- */

/* Reports one layer: kind, widths, sources and options. */
static void report_layer(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    const struct layer *made = &im->model->layer[index];
    char from[128] = "";
    for (int k = 0; k < made->sources; k++)
        snprintf(from + strlen(from), sizeof from - strlen(from), "%s%s", k ? " + " : "",
                 made->source[k] < 0 ? "input" : im->model->layer[made->source[k]].name);
    report_import(im->config, "layer %d: %s '%s', %u from %u (%s)%s%s%s%s%s%s%s%s", index, l->kind, made->name,
                  made->outputs, made->input, from,
                  l->layer.bidirectional ? ", bidirectional"
                  : l->layer.reverse     ? ", reverse"
                                         : "",
                  l->layer.peephole ? ", peepholes" : "", l->layer.clip > 0 ? ", clip" : "",
                  l->layer.input_forget ? ", coupled gates" : "", *l->activations || *l->activation ? ", " : "",
                  *l->activations ? l->activations : l->activation,
                  onnx_is_recurrent(l) || l->weight ? "" : ", weights: identity",
                  onnx_is_recurrent(l)    ? l->B ? "" : ", no bias"
                  : !l->weight || l->bias ? ""
                                          : ", no bias");
}

static void report_signature(const struct onnx_import *im, bool output)
{
    const int first = AXIS_OF_INPUT + im->sequence * ONNX_RANK;
    for (int i = 0; i < im->model->signatures; i++) {
        const struct signature *e = &im->model->signature[i];
        bool turned = (*e->array == 'x' || *e->array == 't') && im->batch >= first && im->batch < im->time;
        if (e->is_output == output)
            report_import(im->config, "%s%s", e->line, turned ? ": batch-first" : "");
    }
}

void onnx_report(const struct onnx_import *im)
{
    const struct onnx_file *o = im->file;
    bool padding = false;
    report_import(im->config, "opset %lld, producer '%s' %s", (long long)o->opset, o->producer, o->producer_version);
    report_signature(im, false);
    for (int i = 0; i < im->layers; i++) {
        report_layer(im, i);
        padding = padding || (im->lengths >= 0 && im->layer[i].layer.output && fills_padding(im, i));
    }
    report_signature(im, true);
    if (padding)
        report_import(im->config,
                      "steps after a row's length are zero; in the graph they contain biases and functions of zeros");
}
