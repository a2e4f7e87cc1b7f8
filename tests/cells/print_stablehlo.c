/* Prints a record as a StableHLO function in MLIR's generic form. Values are %v<number>. A multiply-add becomes
 * %m<number> = a * b and %v<number> = %m<number> + c; a comparison becomes %m<number> of type i1 and its conversion
 * %v<number>. */
#include "nn/record/record.h"
#include <string.h>

static const char *const operation[NODE_KINDS] = {
    [NODE_ADD] = "add",         [NODE_SUB] = "subtract", [NODE_MUL] = "multiply",     [NODE_DIV] = "divide",
    [NODE_MIN] = "minimum",     [NODE_MAX] = "maximum",  [NODE_ABS] = "abs",          [NODE_SQRT] = "sqrt",
    [NODE_EXP] = "exponential", [NODE_LOG] = "log",      [NODE_SIGMOID] = "logistic", [NODE_TANH] = "tanh",
};

static void print_constant(FILE *file, const struct node *node, const char *tensor)
{
    fprintf(file, "    %%v%d = \"stablehlo.constant\"() {value = dense<%.9e> : tensor<%s>} : () -> tensor<%s>\n",
            node->number, node->constant, tensor, tensor);
}

/* Prints an operation on two values. The letters select %v, or %m for intermediate results. */
static void print_binary(FILE *file, char letter, int number, const char *name, char letter_a, int a, int b,
                         const char *tensor)
{
    fprintf(file, "    %%%c%d = \"stablehlo.%s\"(%%%c%d, %%v%d) : (tensor<%s>, tensor<%s>) -> tensor<%s>\n", letter,
            number, name, letter_a, a, b, tensor, tensor, tensor);
}

/* Prints a comparison. Its type is the tensor's with the element type i1: the shape is what precedes the last x of
 * "8x128xf32". */
static void print_less(FILE *file, const struct node *node, const char *tensor)
{
    const char *last = strrchr(tensor, 'x');
    int shape = last ? (int)(last + 1 - tensor) : 0;
    fprintf(file,
            "    %%m%d = \"stablehlo.compare\"(%%v%d, %%v%d) "
            "{comparison_direction = #stablehlo<comparison_direction LT>} : "
            "(tensor<%s>, tensor<%s>) -> tensor<%.*si1>\n",
            node->number, node->operand[0]->number, node->operand[1]->number, tensor, tensor, shape, tensor);
    fprintf(file, "    %%v%d = \"stablehlo.convert\"(%%m%d) : (tensor<%.*si1>) -> tensor<%s>\n", node->number,
            node->number, shape, tensor, tensor);
}

static void print_node(FILE *file, const struct node *node, const char *tensor)
{
    int n = node->number, operand[3] = {0};
    for (int i = 0; i < node_operands(node->kind); i++) operand[i] = node->operand[i]->number;

    if (node->kind == NODE_FMA) {
        print_binary(file, 'm', n, "multiply", 'v', operand[0], operand[1], tensor);
        print_binary(file, 'v', n, "add", 'm', n, operand[2], tensor);
    } else if (node->kind == NODE_LESS) {
        print_less(file, node, tensor);
    } else if (node_operands(node->kind) == 2) {
        print_binary(file, 'v', n, operation[node->kind], 'v', operand[0], operand[1], tensor);
    } else {
        fprintf(file, "    %%v%d = \"stablehlo.%s\"(%%v%d) : (tensor<%s>) -> tensor<%s>\n", n, operation[node->kind],
                operand[0], tensor, tensor);
    }
}

static void print_types(FILE *file, int count, const char *tensor)
{
    fputc('(', file);
    for (int i = 0; i < count; i++) fprintf(file, "%stensor<%s>", i ? ", " : "", tensor);
    fputc(')', file);
}

static void print_return(FILE *file, const struct record *record, const char *tensor)
{
    fputs("    \"func.return\"(", file);
    for (int i = 0; i < record->results; i++) fprintf(file, "%s%%v%d", i ? ", " : "", record->result[i].node->number);
    fputs(") : ", file);
    print_types(file, record->results, tensor);
    fputs(" -> ()", file);
    for (int i = 0; i < record->results; i++) fprintf(file, "%s%s", i ? ", " : "    // ", record->result[i].name);
    fputc('\n', file);
}

void print_stablehlo(FILE *file, const struct record *record, const char *tensor)
{
    int inputs = 0;
    fprintf(file, "  func.func @%s(", record->name);
    for (int i = 0; i < record->nodes; i++)
        if (record->node[i].kind == NODE_INPUT)
            fprintf(file, "%s%%v%d: tensor<%s>", inputs++ ? ", " : "", i, tensor);
    fputs(") -> ", file);
    print_types(file, record->results, tensor);
    fputs(" {\n", file);
    for (int i = 0; i < record->nodes; i++)
        if (record->node[i].kind == NODE_CONSTANT)
            print_constant(file, &record->node[i], tensor);
        else if (record->node[i].kind != NODE_INPUT)
            print_node(file, &record->node[i], tensor);
    print_return(file, record, tensor);
    fputs("  }\n", file);
}
