/* Dependencies of a record's results. */
#ifndef TESTS_DEPENDS_H
#define TESTS_DEPENDS_H
#include <string.h>
#include "nn/record/record.h"

static inline bool record_depends(const struct node *node, const char *input)
{
    if (node->kind == NODE_INPUT)
        return !strcmp(node->input, input);
    for (int i = 0; i < node_operands(node->kind); i++)
        if (record_depends(node->operand[i], input))
            return true;
    return false;
}

/* True if any result depends on the input, so that a kernel must be given it. */
static inline bool record_uses(const struct record *record, const char *input)
{
    for (int i = 0; i < record->results; i++)
        if (record_depends(record->result[i].node, input))
            return true;
    return false;
}

#endif
