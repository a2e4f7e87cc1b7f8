/* Imports ONNX graphs as networks: calls the reader of each operator in the order of the graph, then builds a model
 * from the layers found. See onnx_import.h; docs/howto/from-onnx.md lists what is supported. */
#include "convert/onnx/onnx_import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "convert/file_table.h"
#include "convert/onnx/onnx_network.h"

/* ---- the table of operators ------------------------------------------------------------ */

#define RECURRENT "activation_alpha activation_beta activations clip direction hidden_size layout "

/* Requirements on the first input: none; must be present; must be present, and a fill value passes through
 * unchanged. */
enum { ANY, NEEDS, MOVES };

static const struct operator_row {
    const char *op;
    onnx_operator *read;
    const char *attributes;
    int first;
} operators[] = {{"LSTM", onnx_recurrent, RECURRENT "input_forget", ANY},
                 {"GRU", onnx_recurrent, RECURRENT "linear_before_reset", ANY},
                 {"RNN", onnx_recurrent, RECURRENT, ANY},
                 {"MatMul", onnx_matmul, "", ANY},
                 {"Gemm", onnx_gemm, "alpha beta transA transB", ANY},
                 {"Add", onnx_add, "", ANY},
                 {"Sub", onnx_arithmetic, "", ANY},
                 {"Mul", onnx_arithmetic, "", ANY},
                 {"Div", onnx_arithmetic, "", ANY},
                 {"Relu", onnx_activation, "", ANY},
                 {"Tanh", onnx_activation, "", ANY},
                 {"Sigmoid", onnx_activation, "", ANY},
                 {"LeakyRelu", onnx_activation, "alpha", ANY},
                 {"ThresholdedRelu", onnx_activation, "alpha", ANY},
                 {"HardSigmoid", onnx_activation, "alpha beta", ANY},
                 {"Elu", onnx_activation, "alpha", ANY},
                 {"Softsign", onnx_activation, "", ANY},
                 {"Softplus", onnx_activation, "", ANY},
                 {"Softmax", onnx_activation, "axis", ANY},
                 {"Gather", onnx_embedding_or_gather, "axis", MOVES},
                 {"OneHot", onnx_one_hot, "axis", ANY},
                 {"Transpose", onnx_transpose, "perm", MOVES},
                 {"Squeeze", onnx_squeeze, "axes", MOVES},
                 {"Unsqueeze", onnx_unsqueeze, "axes", MOVES},
                 {"Reshape", onnx_reshape, "allowzero", MOVES},
                 {"Flatten", onnx_flatten, "axis", ANY},
                 {"Concat", onnx_concat, "axis", ANY},
                 {"Slice", onnx_slice, "axes starts ends", MOVES},
                 {"Split", onnx_split, "axis split num_outputs", MOVES},
                 {"Shape", onnx_shape, "start end", NEEDS},
                 {"Constant", onnx_constant, "value value_float value_floats value_int value_ints", ANY},
                 {"ConstantOfShape", onnx_constant_of_shape, "value", ANY},
                 {"Expand", onnx_expand, "", ANY},
                 {"Cast", onnx_cast, "to saturate round_mode", NEEDS},
                 {"Equal", onnx_equal, "", ANY},
                 {"Where", onnx_where, "", ANY},
                 {"Identity", onnx_pass, "", NEEDS},
                 {"Dropout", onnx_dropout, "ratio seed", NEEDS}};

static const struct operator_row *find_operator(const char *op)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].op, op))
            return &operators[i];
    return NULL;
}

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) && length; at++)
        if ((at == list || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

/* Reads one node. Unknown operators and attributes are refused. */
static unroll_status read_node(struct onnx_import *im)
{
    const struct onnx_node *n = im->node;
    const struct operator_row *row = find_operator(n->op);
    if (*n->domain && strcmp(n->domain, "ai.onnx"))
        return refuse_node(im, "operators of the domain '%.60s' are not supported", n->domain);
    if (!row)
        return refuse_node(im, "this operator is not supported: the layers of a network are LSTM, GRU, RNN, Gemm and "
                               "MatMul with activations (docs/howto/from-onnx.md has the list)");
    for (int i = 0; i < n->attributes; i++)
        if (!is_listed(row->attributes, n->attribute[i].name))
            return refuse_node(im, "the attribute '%.60s' is not supported", n->attribute[i].name);
    const struct value *first = onnx_input(im, 0);
    if (row->first != ANY && !first)
        return refuse_node(im, "its first input is missing");
    if (row->first != MOVES || first->kind != VALUE_FILL)
        return row->read(im);
    for (int k = 0; k < n->outputs; k++) onnx_set_fill(im, k, first->fill);
    return UNROLL_OK;
}

/* ---- errors ---------------------------------------------------------------------------- */

void onnx_set_error(const struct onnx_import *im, const char *format, ...)
{
    char text[1024];
    const struct onnx_node *n = im->node;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    set_error("'%s': node '%.80s' (%.40s): %s%s", im->file->path, *n->name || !n->outputs ? n->name : n->output[0],
              n->op, text, strstr(text, "fix: ") ? "" : "; fix: " SIMPLIFY_MODEL);
}

/* ---- values by name -------------------------------------------------------------------- */

static unsigned hash(const char *name)
{
    unsigned h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static int *find_slot(const struct onnx_import *im, const char *name)
{
    unsigned mask = (unsigned)im->table_size - 1;
    for (unsigned at = hash(name) & mask;; at = (at + 1) & mask)
        if (!im->table[at] || !strcmp(im->value[im->table[at] - 1].name, name))
            return &im->table[at];
}

const struct value *onnx_value(const struct onnx_import *im, const char *name)
{
    int *slot = find_slot(im, name);
    return *slot ? &im->value[*slot - 1] : NULL;
}

static struct value *value_named(const struct onnx_import *im, const char *name)
{
    return (struct value *)onnx_value(im, name);
}

/* Adds a value. Names are unique: graphs are in static single assignment form. */
static unroll_status add_value(struct onnx_import *im, const char *name, struct value **value)
{
    int *slot = find_slot(im, name);
    if (*slot)
        return fail(UNROLL_DATA, "'%s': '%.80s' occurs twice in the graph; fix: " EXPORT_AGAIN, im->file->path, name);
    im->value[im->values] = (struct value){.name = name};
    *slot = ++im->values;
    *value = &im->value[im->values - 1];
    return UNROLL_OK;
}

struct value *onnx_input(struct onnx_import *im, int k)
{
    return k < im->node->inputs && *im->node->input[k] ? value_named(im, im->node->input[k]) : NULL;
}

struct value *onnx_output(struct onnx_import *im, int k)
{
    static _Thread_local struct value unwanted;
    return k < im->node->outputs && *im->node->output[k] ? value_named(im, im->node->output[k]) : &unwanted;
}

unroll_status onnx_operand(struct onnx_import *im, int k, enum value_kind kind, struct value **value)
{
    static const char *const kinds[] = {"unknown", "a constant", "a constant of one repeated value", "computed"};
    struct value *v = onnx_input(im, k);
    if (!v)
        return refuse_node(im, "its input %d is missing", k);
    if (v->kind != kind)
        return refuse_node(im, "its input %d, '%.80s', is %s; it must be %s", k, v->name, kinds[v->kind], kinds[kind]);
    *value = v;
    return UNROLL_OK;
}

/* ---- the start: constants, inputs ------------------------------------------------------ */

/* Allocates the tables and adds the initializers as constants. */
static unroll_status start_values(struct onnx_import *im)
{
    struct onnx_file *o = im->file;
    int count = o->tensors + o->inputs;
    for (int i = 0; i < o->nodes; i++) count += o->node[i].outputs;
    for (im->table_size = 64; im->table_size < 2 * count + 2;) im->table_size *= 2;
    im->value = onnx_allocate(o, (size_t)count + 1, sizeof *im->value);
    im->table = onnx_allocate(o, (size_t)im->table_size, sizeof *im->table);
    im->needed = onnx_allocate(o, (size_t)o->nodes + 1, sizeof *im->needed);
    im->layer = onnx_allocate(o, IMPORT_LAYERS, sizeof *im->layer);
    im->state = onnx_allocate(o, IMPORT_STATES, sizeof *im->state);
    if (!im->value || !im->table || !im->needed || !im->layer || !im->state)
        return fail(UNROLL_RESOURCE, "'%s': no memory to read the graph", o->path);
    for (int i = 0; i < o->tensors; i++) {
        struct value *v;
        TRY(add_value(im, o->tensor[i].name, &v));
        v->kind = VALUE_CONSTANT;
        v->constant = &o->tensor[i];
    }
    return UNROLL_OK;
}

/* Adds an input of the graph as a symbolic value. */
static unroll_status add_input(struct onnx_import *im, int index)
{
    const struct onnx_value_info *info = &im->file->input[index];
    struct value *v;
    if (onnx_value(im, info->name))
        return UNROLL_OK; /* a constant that old files also list as an input */
    TRY(add_value(im, info->name, &v));
    if (info->rank < 0)
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s': the shape of the input '%.80s' is missing; fix: export the model again with a shape for each input",
            im->file->path, info->name);
    v->kind = VALUE_SYMBOLIC;
    v->symbolic.rank = info->rank;
    v->symbolic.is_integer = !onnx_is_float(info->type);
    for (int k = 0; k < info->rank; k++)
        v->symbolic.axis[k] =
            (struct symbolic_axis){.id = AXIS_OF_INPUT + index * ONNX_RANK + k, .size = info->dim[k].size};
    TRY(onnx_new_pieces(im, &v->symbolic, 1, 1));
    v->symbolic.piece[0] = (struct onnx_part){
        .kind = PIECE_INPUT, .index = index, .row = -1, .width = info->rank ? info->dim[info->rank - 1].size : 1};
    return UNROLL_OK;
}

/* Marks the nodes that the outputs depend on; others are skipped. */
static unroll_status mark_needed(struct onnx_import *im)
{
    struct onnx_file *o = im->file;
    for (int i = 0; i < o->nodes; i++)
        for (int k = 0; k < o->node[i].outputs; k++) {
            struct value *v;
            if (*o->node[i].output[k])
                TRY(add_value(im, o->node[i].output[k], &v));
        }
    for (int i = 0; i < o->outputs; i++) {
        struct value *v = value_named(im, o->output[i].name);
        if (!v)
            return fail(UNROLL_DATA, "'%s': no node computes the output '%.80s'; fix: " EXPORT_AGAIN, o->path,
                        o->output[i].name);
        v->uses++;
        v->readers++;
    }
    for (int i = o->nodes - 1; i >= 0; i--) {
        const struct onnx_node *n = &o->node[i];
        for (int k = 0; k < n->outputs; k++)
            im->needed[i] = im->needed[i] || (*n->output[k] && value_named(im, n->output[k])->uses > 0);
        for (int k = 0; im->needed[i] && k < n->inputs; k++) {
            struct value *v = value_named(im, n->input[k]);
            if (!v && *n->input[k])
                return fail(UNROLL_DATA, "'%s': no node computes '%.80s', which node '%.80s' reads; fix: " EXPORT_AGAIN,
                            o->path, n->input[k], n->name);
            if (v) {
                v->uses++;
                v->readers += strcmp(n->op, "Shape") != 0;
            }
        }
    }
    return UNROLL_OK;
}

/* Marks layers whose outputs have several readers: biases and activations cannot be merged into them. */
static void mark_shared(struct onnx_import *im, const struct value *v)
{
    for (int p = 0; v->kind == VALUE_SYMBOLIC && v->readers > 1 && p < v->symbolic.stacks * v->symbolic.pieces; p++)
        if (v->symbolic.piece[p].kind != PIECE_INPUT)
            im->layer[v->symbolic.piece[p].index].shared = true;
}

static unroll_status read_nodes(struct onnx_import *im)
{
    for (int i = 0; i < im->file->nodes; i++) {
        im->node = &im->file->node[i];
        if (!im->needed[i])
            continue;
        for (int k = 0; k < im->node->inputs; k++) {
            const struct value *v = onnx_input(im, k);
            if (v && v->kind == VALUE_UNKNOWN)
                return refuse_node(im, "it reads '%.80s', which no earlier node computes", v->name);
            if (v)
                mark_shared(im, v);
        }
        TRY(read_node(im));
    }
    return UNROLL_OK;
}

/* ---- shared helpers -------------------------------------------------------------------- */

int64_t onnx_int(const struct onnx_import *im, const char *attribute, int64_t otherwise)
{
    const struct onnx_attribute *a = onnx_attribute(im->node, attribute);
    return a ? a->i : otherwise;
}

float onnx_float(const struct onnx_import *im, const char *attribute, float otherwise)
{
    const struct onnx_attribute *a = onnx_attribute(im->node, attribute);
    return a ? a->f : otherwise;
}

unroll_status onnx_ints(struct onnx_import *im, int k, const char *attribute, const int64_t **list, int *count)
{
    const struct onnx_attribute *a = attribute ? onnx_attribute(im->node, attribute) : NULL;
    struct value *v;
    *count = -1;
    if (a && a->count && !a->ints)
        return refuse_node(im, "its attribute '%s' is not a list of integers", attribute);
    if (a) {
        *list = a->ints;
        *count = a->count;
        return UNROLL_OK;
    }
    if (k < 0 || !onnx_input(im, k))
        return UNROLL_OK;
    TRY(onnx_operand(im, k, VALUE_CONSTANT, &v));
    if (!v->constant->i || v->constant->count > 4096)
        return refuse_node(im, "its input %d is not a list of integers", k);
    *list = v->constant->i;
    *count = (int)v->constant->count;
    return UNROLL_OK;
}

/* Allocates a constant with this shape and uninitialized values. */
unroll_status onnx_new_tensor(struct onnx_import *im, int rank, const int64_t *dim, bool is_float,
                              struct onnx_tensor **tensor)
{
    struct onnx_tensor *t = onnx_allocate(im->file, 1, sizeof *t);
    if (!t)
        return fail(UNROLL_RESOURCE, "'%s': no memory for a constant", im->file->path);
    *t = (struct onnx_tensor){.name = "", .type = is_float ? ONNX_FLOAT : ONNX_INT64, .rank = rank, .count = 1};
    if (rank)
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    if (!onnx_count(rank, dim, &t->count) || t->count > (size_t)1 << 31)
        return refuse_node(im, "it makes a constant of more than 2^31 values or of unknown shape");
    void *numbers = onnx_allocate(im->file, t->count, is_float ? sizeof *t->f : sizeof *t->i);
    if (!numbers)
        return fail(UNROLL_RESOURCE, "'%s': no memory for %zu values", im->file->path, t->count);
    if (is_float)
        t->f = numbers;
    else
        t->i = numbers;
    *tensor = t;
    return UNROLL_OK;
}

unroll_status onnx_set_constant(struct onnx_import *im, int output, const struct onnx_tensor *t)
{
    struct value *v = onnx_output(im, output);
    v->kind = VALUE_CONSTANT;
    v->constant = t;
    return UNROLL_OK;
}

unroll_status onnx_set_fill(struct onnx_import *im, int output, float fill)
{
    struct value *v = onnx_output(im, output);
    v->kind = VALUE_FILL;
    v->fill = fill;
    return UNROLL_OK;
}

unroll_status onnx_new_pieces(struct onnx_import *im, struct symbolic *f, int stacks, int pieces)
{
    enum { MAX = 4096 };
    f->stacks = stacks;
    f->pieces = pieces;
    if (stacks < 1 || pieces < 1 || stacks > MAX || pieces > MAX / stacks)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': a value is composed of more than %d parts, or of none; fix: " SIMPLIFY_MODEL, im->file->path,
                    MAX);
    f->piece = onnx_allocate(im->file, (size_t)stacks * (size_t)pieces, sizeof *f->piece);
    return f->piece ? UNROLL_OK : fail(UNROLL_RESOURCE, "'%s': no memory", im->file->path);
}

int onnx_rank(const struct value *v)
{
    return v->kind == VALUE_SYMBOLIC ? v->symbolic.rank : v->constant ? v->constant->rank : 0;
}

int onnx_axis(int64_t axis, int rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

const char *onnx_axis_word(const struct onnx_import *im, int id)
{
    return id == AXIS_FEATURE || id == im->features ? "features"
           : id == AXIS_STACK                       ? "layers or directions"
           : id == AXIS_ONE                         ? "one entry"
           : !im->bound                             ? "the input"
           : id == im->time                         ? "time"
           : id == im->batch                        ? "the batch"
                                                    : "the input";
}

unroll_status onnx_set_symbolic(struct onnx_import *im, int output, const struct symbolic *f)
{
    struct value *v = onnx_output(im, output);
    v->kind = VALUE_SYMBOLIC;
    v->symbolic = *f;
    return UNROLL_OK;
}

int64_t onnx_axis_size(const struct symbolic_axis *a)
{
    if (a->second)
        return a->size >= 0 && a->second_size >= 0 ? a->size * a->second_size : SYMBOL_UNKNOWN;
    return a->size >= 0 ? a->size : SYMBOL(a->id);
}

/* ---- all of it ------------------------------------------------------------------------- */

static unroll_status read_graph(struct onnx_import *im)
{
    TRY(start_values(im));
    for (int i = 0; i < im->file->inputs; i++) TRY(add_input(im, i));
    TRY(mark_needed(im));
    TRY(read_nodes(im));
    return onnx_build(im);
}

/* Checks the opset, reads the graph and builds the model. */
unroll_status onnx_import_graph(struct onnx_file *file, const unroll_import_config *config, struct onnx_import **import)
{
    if (file->opset < 7)
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s' has operators of opset %lld; 7 and later are supported; fix: export the model again with opset 14",
            file->path, (long long)file->opset);
    struct onnx_import *im = onnx_allocate(file, 1, sizeof *im);
    if (!im)
        return fail(UNROLL_RESOURCE, "'%s': no memory", file->path);
    *im = (struct onnx_import){.file = file, .config = config, .features = -1, .sequence = -1, .lengths = -1};
    unroll_status status = read_graph(im);
    if (status != UNROLL_OK) {
        onnx_import_free(im);
        return status;
    }
    *import = im;
    return UNROLL_OK;
}

void onnx_import_free(struct onnx_import *im)
{
    if (im)
        unroll_model_free(im->model); /* the rest belongs to the file */
}

static unroll_status import_onnx(const char *path, const unroll_import_config *config, unroll_model **model)
{
    struct onnx_file *file;
    struct onnx_import *im;
    TRY(onnx_open(path, &file));
    unroll_status status = onnx_import_graph(file, config, &im);
    if (status == UNROLL_OK) {
        onnx_report(im);
        *model = im->model;
        im->model = NULL;
        onnx_import_free(im);
    }
    onnx_close(file);
    return status;
}

/* Recognized by its name, because protocol buffers have no magic number. */
static bool recognizes(const char *path, const char *head, size_t bytes)
{
    return bytes > 0 && head[0] == 8 && path_ends_in(path, ".onnx");
}

const struct file_format format_onnx = {.name = "onnx",
                                        .about = "ONNX graphs of recurrent layers",
                                        .recognizes = recognizes,
                                        .import = import_onnx,
                                        .export = onnx_export,
                                        .import_takes = TAKES_GRU_RESET,
                                        .export_takes = TAKES_OPSET};
