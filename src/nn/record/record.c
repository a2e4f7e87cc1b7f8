/* Records operations and looks up results. */
#include "nn/record/record.h"
#include <string.h>

static _Thread_local struct record *recording;

static const int operand_count[NODE_KINDS] = {
    [NODE_ADD] = 2,
    [NODE_SUB] = 2,
    [NODE_MUL] = 2,
    [NODE_DIV] = 2,
    [NODE_MIN] = 2,
    [NODE_MAX] = 2,
    [NODE_LESS] = 2,
    [NODE_FMA] = 3,
    [NODE_ABS] = 1,
    [NODE_SQRT] = 1,
    [NODE_EXP] = 1,
    [NODE_LOG] = 1,
    [NODE_SIGMOID] = 1,
    [NODE_TANH] = 1,
    [NODE_SELECT_LESS] = 4,
    [NODE_EXPONENT_OF_LOW_BITS] = 1,
    [NODE_LOW_BITS_OF_EXPONENT] = 1,
    [NODE_MANTISSA] = 1,
};

int node_operands(enum node_kind kind) { return operand_count[kind]; }

/* ---- recording ---- */

/* Stores the first reason. Nodes recorded later are unused, but must have operands. */
static struct node *refuse_record(const char *what)
{
    if (!recording->refusal[0])
        snprintf(recording->refusal, sizeof recording->refusal, "%s: %s", recording->name, what);
    return &recording->node[0];
}

void record_begin(struct record *record, const char *name)
{
    memset(record, 0, sizeof *record);
    record->name = name;
    recording = record;
}

static struct node *new_node(enum node_kind kind)
{
    if (recording->nodes == RECORD_NODES)
        return refuse_record("more operations than RECORD_NODES");
    struct node *node = &recording->node[recording->nodes];
    node->kind = kind;
    node->number = recording->nodes++;
    return node;
}

const struct node *record_input(const char *name)
{
    struct node *node = new_node(NODE_INPUT);
    node->input = name;
    return node;
}

const struct node *record_constant(double value)
{
    for (int i = 0; i < recording->nodes; i++)
        if (recording->node[i].kind == NODE_CONSTANT && recording->node[i].constant == value)
            return &recording->node[i];
    struct node *node = new_node(NODE_CONSTANT);
    node->constant = value;
    return node;
}

static const struct node *find_same(enum node_kind kind, const struct node *const operand[NODE_OPERANDS])
{
    for (int i = 0; i < recording->nodes; i++) {
        const struct node *node = &recording->node[i];
        if (node->kind == kind && !memcmp(node->operand, operand, sizeof node->operand))
            return node;
    }
    return NULL;
}

static const struct node *record_node(enum node_kind kind, const struct node *const operand[NODE_OPERANDS])
{
    for (int i = 0; i < operand_count[kind]; i++)
        if (!operand[i])
            return refuse_record("reads a field that its phase does not have");
    const struct node *same = find_same(kind, operand);
    if (same)
        return same;
    struct node *node = new_node(kind);
    if (!recording->refusal[0])
        memcpy(node->operand, operand, sizeof node->operand);
    return node;
}

const struct node *record_operation(enum node_kind kind, const struct node *a, const struct node *b,
                                    const struct node *c)
{
    return record_node(kind, (const struct node *[NODE_OPERANDS]){a, b, c});
}

const struct node *record_choice(const struct node *a, const struct node *b, const struct node *yes,
                                 const struct node *no)
{
    return record_node(NODE_SELECT_LESS, (const struct node *[NODE_OPERANDS]){a, b, yes, no});
}

void record_result(const char *name, const struct node *node)
{
    if (!node)
        node = refuse_record("does not write a required field");
    if (recording->results == RECORD_RESULTS)
        refuse_record("more results than RECORD_RESULTS");
    else
        recording->result[recording->results++] = (struct result){name, node};
}

/* ---- lookups ---- */

const struct node *record_find_result(const struct record *record, const char *name)
{
    for (int i = 0; i < record->results; i++)
        if (!strcmp(record->result[i].name, name))
            return record->result[i].node;
    return NULL;
}

const char *cell_record_refusal(const struct cell_record *cell)
{
    for (int phase = 0; phase < cell->declaration->phases; phase++) {
        if (cell->forward[phase].refusal[0])
            return cell->forward[phase].refusal;
        if (cell->backward[phase].refusal[0])
            return cell->backward[phase].refusal;
    }
    return NULL;
}
