/* Functions of float programs: products as chains of fused multiply-adds, and recorded functions: cells, activations
 * and, bit for bit, sigmoid, tanh, exp and log. */
#include "convert/c99/c99.h"
#include <string.h>

/* ---- nodes ----------------------------------------------------------------------------- */

/* "$0" stands for the first operand, and so on. */
static const char *const form[NODE_KINDS] = {
    [NODE_ADD] = "$0 + $1",
    [NODE_SUB] = "$0 - $1",
    [NODE_MUL] = "$0 * $1",
    [NODE_DIV] = "$0 / $1",
    [NODE_MIN] = "$0 < $1 ? $0 : $1",
    [NODE_MAX] = "$0 > $1 ? $0 : $1",
    [NODE_LESS] = "$0 < $1 ? 1.0f : 0.0f",
    [NODE_FMA] = "FMA($0, $1, $2)",
    [NODE_ABS] = "fabsf($0)",
    [NODE_SQRT] = "sqrtf($0)",
    [NODE_EXP] = "exp_of($0)",
    [NODE_LOG] = "log_of($0)",
    [NODE_SIGMOID] = "sigmoid_of($0)",
    [NODE_TANH] = "tanh_of($0)",
    [NODE_SELECT_LESS] = "$0 < $1 ? $2 : $3",
    [NODE_EXPONENT_OF_LOW_BITS] = "of_bits(bits_of($0) << 23)",
    [NODE_LOW_BITS_OF_EXPONENT] = "of_bits(bits_of($0) >> 23 | 0x4b000000u)",
    [NODE_MANTISSA] = "of_bits((bits_of($0) & 0x007fffffu) | 0x3f800000u)",
};

static void print_operand(FILE *file, const struct node *user, int operand)
{
    const struct node *node = user->operand[operand];
    if (node->kind == NODE_INPUT)
        fputs(node->input, file);
    else if (node->kind != NODE_CONSTANT)
        fprintf(file, "t%d", node->number);
    else
        print_float_literal(file, (double)(float)node->constant);
}

static void print_node(FILE *file, const struct node *node, const char *indent)
{
    fprintf(file, "%sconst float t%d = ", indent, node->number);
    for (const char *c = form[node->kind]; *c; c++)
        if (*c == '$')
            print_operand(file, node, *++c - '0');
        else
            fputc(*c, file);
    fputs(";\n", file);
}

/* ---- functions that many need ---------------------------------------------------------- */

static void need(bool *needed, const struct node *node)
{
    needed[node->number] = true;
    for (int i = 0; i < node_operands(node->kind); i++) need(needed, node->operand[i]);
}

/* Prints sigmoid, tanh, exp or log as a function of one float. */
static void print_function(const struct printer *p, enum node_kind kind)
{
    static const char *const comments[NODE_KINDS] = {
        [NODE_SIGMOID] = "1 / (1 + e^-x), within 3.1 ulp, 5 below -20; below -87 it stays at 1.6e-38",
        [NODE_TANH] = "tanh x, within 2.4 ulp",
        [NODE_EXP] = "e^x, within 1.1 ulp",
        [NODE_LOG] = "ln x, within 0.8 ulp; -infinity for 0, NaN below 0",
    };
    struct record *record = p->room;
    FILE *file = p->file;
    bool needed[RECORD_NODES] = {false};
    record_function(kind, record);
    need(needed, record->result[0].node);
    fprintf(file, "/* %s. NaN in, NaN out. */\nstatic float %s_of(float x)\n{\n", comments[kind], record->name);
    for (int i = 0; i < record->nodes; i++)
        if (needed[i] && node_operands(record->node[i].kind))
            print_node(file, &record->node[i], "    ");
    fprintf(file, "    return t%d;\n}\n\n", record->result[0].node->number);
}

static bool is_called(const struct program *p, enum node_kind kind)
{
    if (kind == NODE_EXP && program_has(p, ACT_SOFTMAX))
        return true;
    for (int i = 0; i < p->acts; i++) {
        const struct pointwise *f = p->act[i].pointwise;
        for (int k = 0; f && k < f->record->nodes; k++)
            if (f->node[k].is_needed && f->record->node[k].kind == kind)
                return true;
    }
    return false;
}

static void print_called_functions(const struct printer *p)
{
    static const enum node_kind kinds[] = {NODE_SIGMOID, NODE_TANH, NODE_EXP, NODE_LOG};
    bool any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) any |= is_called(p->program, kinds[i]);
    if (any)
        fputs("static uint32_t bits_of(float x)\n{\n    uint32_t bits;\n    memcpy(&bits, &x, sizeof bits);\n"
              "    return bits;\n}\n\n"
              "static float of_bits(uint32_t bits)\n{\n    float x;\n    memcpy(&x, &bits, sizeof x);\n"
              "    return x;\n}\n\n",
              p->file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_called(p->program, kinds[i]))
            print_function(p, kinds[i]);
}

/* ---- acts ------------------------------------------------------------------------------ */

static const char product_text[] =
    "/* The initial value of a sum: y[i] if adds, else 0, plus the bias if given. */\n"
    "static float sum_begin(const float *y, const float *bias, int i, int adds)\n"
    "{\n"
    "    const float begin = adds ? y[i] : 0.0f;\n"
    "    return bias ? begin + bias[i] : begin;\n"
    "}\n\n"
    "/* y (+)= bias + w x, w [rows * width]: one chain of fused multiply-adds per row, in order of columns.\n"
    " * Four rows at a time, so that a multiply-add does not wait for the previous one. */\n"
    "static void product(float *y, const float *w, const float *x, const float *bias, int rows, int width, int adds)\n"
    "{\n"
    "    const int whole = rows - rows % 4;\n"
    "    for (int i = 0; i < whole; i += 4, w += 4 * width) {\n"
    "        const float *const w1 = w + width, *const w2 = w1 + width, *const w3 = w2 + width;\n"
    "        float s0 = sum_begin(y, bias, i, adds), s1 = sum_begin(y, bias, i + 1, adds);\n"
    "        float s2 = sum_begin(y, bias, i + 2, adds), s3 = sum_begin(y, bias, i + 3, adds);\n"
    "        for (int k = 0; k < width; k++) {\n"
    "            s0 = FMA(w[k], x[k], s0);\n"
    "            s1 = FMA(w1[k], x[k], s1);\n"
    "            s2 = FMA(w2[k], x[k], s2);\n"
    "            s3 = FMA(w3[k], x[k], s3);\n"
    "        }\n"
    "        y[i] = s0;\n"
    "        y[i + 1] = s1;\n"
    "        y[i + 2] = s2;\n"
    "        y[i + 3] = s3;\n"
    "    }\n"
    "    for (int i = whole; i < rows; i++, w += width) {\n"
    "        float s = sum_begin(y, bias, i, adds);\n"
    "        for (int k = 0; k < width; k++)\n"
    "            s = FMA(w[k], x[k], s);\n"
    "        y[i] = s;\n"
    "    }\n"
    "}\n\n";

static const char column_text[] =
    "/* y = bias + a column of weights: the product with a one-hot token. Without a token, y = bias. */\n"
    "static void column(float *y, const float *w, const float *bias, int rows)\n"
    "{\n"
    "    for (int i = 0; i < rows; i++)\n"
    "        y[i] = (bias ? 0.0f + bias[i] : 0.0f) + (w ? w[i] : 0.0f);\n"
    "}\n\n";

static const char embed_text[] = "/* Copies a row of a table, or zeros if there is no token. */\n"
                                 "static void embed(float *y, const float *row, int n)\n"
                                 "{\n"
                                 "    for (int i = 0; i < n; i++)\n"
                                 "        y[i] = row ? row[i] : 0.0f;\n"
                                 "}\n\n";

static const char one_hot_text[] = "static void one_hot(float *y, int32_t token, int n)\n"
                                   "{\n"
                                   "    for (int i = 0; i < n; i++)\n"
                                   "        y[i] = i == token ? 1.0f : 0.0f;\n"
                                   "}\n\n";

static const char softmax_text[] = "/* The sum has a fixed order: sixteen sums by column modulo 16, then a tree. */\n"
                                   "static void softmax(float *y, const float *x, int n)\n"
                                   "{\n"
                                   "    float sum[16] = { 0.0f }, largest = x[0];\n"
                                   "    for (int i = 1; i < n; i++)\n"
                                   "        largest = x[i] > largest ? x[i] : largest;\n"
                                   "    for (int i = 0; i < n; i++) {\n"
                                   "        y[i] = exp_of(x[i] - largest);\n"
                                   "        sum[i % 16] += y[i];\n"
                                   "    }\n"
                                   "    for (int distance = 8; distance > 0; distance /= 2)\n"
                                   "        for (int i = 0; i < distance; i++)\n"
                                   "            sum[i] += sum[i + distance];\n"
                                   "    const float inverse = 1.0f / sum[0];\n"
                                   "    for (int i = 0; i < n; i++)\n"
                                   "        y[i] *= inverse;\n"
                                   "}\n\n";

static const char mean_text[] =
    "/* The mean of the steps since a reset. `sum` holds n sums, then the number of steps, which stays at 2^24. */\n"
    "static void pool_mean(float *y, const float *x, float *sum, int n)\n"
    "{\n"
    "    sum[n] += 1.0f;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        sum[i] += x[i];\n"
    "        y[i] = sum[i] / sum[n];\n"
    "    }\n"
    "}\n\n";

static const char max_text[] =
    "/* The maximum over the steps since a reset. `largest` holds n maxima, then the number of steps. */\n"
    "static void pool_max(float *y, const float *x, float *largest, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        if (largest[n] == 0.0f || x[i] > largest[i])\n"
    "            largest[i] = x[i];\n"
    "        y[i] = largest[i];\n"
    "    }\n"
    "    largest[n] += 1.0f;\n"
    "}\n\n";

static bool has_pool(const struct program *p, bool is_mean)
{
    for (int i = 0; i < p->acts; i++)
        if (p->act[i].kind == ACT_POOL && p->act[i].is_mean == is_mean)
            return true;
    return false;
}

/* Prints a pointwise function: a loop over units. */
static void print_pointwise(const struct printer *p, const struct pointwise *f)
{
    fprintf(p->file, "/* %s, unit by unit. */\n", f->record->name);
    print_pointwise_call(p, f, true);
    fprintf(p->file, "\n{\n    for (int u = 0; u < %u; u++) {\n", f->units);
    for (int i = 0; i < f->inputs; i++) {
        fprintf(p->file, "        const float %s = ", f->input[i].node->input);
        print_element(p, &f->input[i]);
        fputs(";\n", p->file);
    }
    for (int i = 0; i < f->record->nodes; i++)
        if (f->node[i].is_needed && node_operands(f->record->node[i].kind))
            print_node(p->file, &f->record->node[i], "        ");
    for (int i = 0; i < f->results; i++) {
        const struct node *node = f->result[i].node;
        fputs("        ", p->file);
        print_element(p, &f->result[i]);
        if (node->kind == NODE_INPUT)
            fprintf(p->file, " = %s;\n", node->input);
        else if (node->kind == NODE_CONSTANT) {
            fputs(" = ", p->file);
            print_float_literal(p->file, (double)(float)node->constant);
            fputs(";\n", p->file);
        } else
            fprintf(p->file, " = t%d;\n", node->number);
    }
    fputs("    }\n}\n\n", p->file);
}

/* One function is enough: a model has either one-hot tokens or embeddings. */
static void print_embedding(const struct printer *p)
{
    int i = 0;
    while (i < p->program->acts && p->program->act[i].kind != ACT_EMBED) i++;
    if (i < p->program->acts)
        fputs(p->program->act[i].matrix < 0 ? one_hot_text : embed_text, p->file);
}

/* Prints FMA and the functions that the program calls. */
void print_float_functions(const struct printer *p)
{
    fprintf(p->file,
            "/* A fused multiply-add, rounded once: an instruction of a Cortex-M4F, M7 or M33 with FPU. "
            "Without one (M0, M3)\n"
            " * fmaf is a long function; with %s_PLAIN_FMA defined it becomes two operations and two roundings. */\n"
            "#ifdef %s_PLAIN_FMA\n#define FMA(a, b, c) ((a) * (b) + (c))\n"
            "#else\n#define FMA(a, b, c) fmaf(a, b, c)\n"
            "#endif\n\n",
            p->upper, p->upper);
    print_called_functions(p);
    fputs(program_has(p->program, ACT_PRODUCT) ? product_text : "", p->file);
    fputs(program_has(p->program, ACT_COLUMN) ? column_text : "", p->file);
    fputs(program_has(p->program, ACT_SOFTMAX) ? softmax_text : "", p->file);
    fputs(has_pool(p->program, true) ? mean_text : "", p->file);
    fputs(has_pool(p->program, false) ? max_text : "", p->file);
    print_embedding(p);
    for (int i = 0; i < p->program->acts; i++)
        if (p->program->act[i].pointwise)
            print_pointwise(p, p->program->act[i].pointwise);
}
