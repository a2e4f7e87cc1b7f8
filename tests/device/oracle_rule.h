/* Shared by the rules of operations (oracle_rules.c, oracle_dot.c, oracle_devices.c): indices and checks of types. */
#ifndef DEVICE_ORACLE_RULE_H
#define DEVICE_ORACLE_RULE_H
#include "oracle.h"

typedef const struct tensor_type *types;

/* Advances to the next element within the type's bounds, last axis fastest. */
static inline bool next_index(types t, int64_t *index)
{
    for (int i = t->rank; i-- > 0;) {
        if (++index[i] < t->dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static inline int64_t offset_of(types t, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < t->rank; i++) offset = offset * t->dim[i] + index[i];
    return offset;
}

static inline bool is_float(enum oracle_kind kind) { return kind == ORACLE_F32 || kind == ORACLE_BF16; }

static inline void demand(struct oracle *o, const struct operation *op, bool holds, const char *what)
{
    if (!holds)
        oracle_fail(o, "'%s' in line %d: %s", op->rule->name, op->line, what);
}

static inline int numbers_of(struct oracle *o, const struct operation *op, const char *name, int64_t *number)
{
    return oracle_numbers(o, oracle_attribute(o, op, name), number);
}

#endif
