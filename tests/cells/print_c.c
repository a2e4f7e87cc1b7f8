/* Prints a record as a plain C function of floats:
 *     void NAME(const float *input, float *result)
 * with inputs and results in the order of the record. The code needs <math.h> and sigmoidf(float). It is for reading
 * and compiling; its bits differ from the kernels'. */
#include "tests/cells/depends.h"
#include "nn/record/record.h"

static void print_operand(FILE *file, const struct node *node)
{
    if (node->kind == NODE_INPUT)
        fputs(node->input, file);
    else if (node->kind == NODE_CONSTANT)
        fprintf(file, "%.9ef", node->constant);
    else
        fprintf(file, "t%d", node->number);
}

/* "$0" stands for the first operand, and so on. */
static const char *const form[NODE_KINDS] = {
    [NODE_ADD] = "$0 + $1",
    [NODE_SUB] = "$0 - $1",
    [NODE_MUL] = "$0 * $1",
    [NODE_DIV] = "$0 / $1",
    [NODE_MIN] = "$0 < $1 ? $0 : $1",
    [NODE_MAX] = "$0 > $1 ? $0 : $1",
    [NODE_LESS] = "$0 < $1 ? 1.f : 0.f",
    [NODE_FMA] = "fmaf($0, $1, $2)",
    [NODE_ABS] = "fabsf($0)",
    [NODE_SQRT] = "sqrtf($0)",
    [NODE_EXP] = "expf($0)",
    [NODE_LOG] = "logf($0)",
    [NODE_SIGMOID] = "sigmoidf($0)",
    [NODE_TANH] = "tanhf($0)",
};

static void print_node(FILE *file, const struct node *node)
{
    fprintf(file, "    const float t%d = ", node->number);
    for (const char *p = form[node->kind]; *p; p++)
        if (*p == '$')
            print_operand(file, node->operand[*++p - '0']);
        else
            fputc(*p, file);
    fputs(";\n", file);
}

/* Prints a recorded kernel as a C function. */
void print_c(FILE *file, const struct record *record)
{
    int input = 0;
    fprintf(file, "void %s(const float *input, float *result)\n{\n", record->name);
    for (int i = 0; i < record->nodes; i++) {
        const struct node *node = &record->node[i];
        if (node->kind == NODE_INPUT) {
            if (record_uses(record, node->input))
                fprintf(file, "    const float %s = input[%d];\n", node->input, input);
            input++;
        } else if (node->kind != NODE_CONSTANT)
            print_node(file, node);
    }
    for (int i = 0; i < record->results; i++) {
        fprintf(file, "    result[%d] = ", i);
        print_operand(file, record->result[i].node);
        fprintf(file, ";    /* %s */\n", record->result[i].name);
    }
    fputs("}\n\n", file);
}
