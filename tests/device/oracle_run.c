/* Runs a program that oracle_read.c has checked (oracle.h): tensors, regions, loops. All devices run the program in
 * lockstep. */
#include "oracle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors --------------------------------------------------------------------------- */

int64_t type_count(const struct tensor_type *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++) count *= t->dim[i];
    return count;
}

size_t kind_bytes(enum oracle_kind kind)
{
    static const size_t bytes[ORACLE_KINDS] = {4, 2, 4, 1, 4, 8, 1};
    return bytes[kind];
}

bool same_type(const struct tensor_type *a, const struct tensor_type *b)
{
    return a->kind == b->kind && a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

struct tensor *tensor_new(const struct tensor_type *type)
{
    int64_t count = type_count(type);
    struct tensor *t = calloc(1, sizeof *t + (size_t)count * sizeof *t->at);
    t->type = *type;
    t->count = count;
    t->users = 1;
    return t;
}

void tensor_free(struct tensor *t)
{
    if (t && --t->users == 0)
        free(t);
}

static struct tensor *tensor_use(struct tensor *t)
{
    t->users++;
    return t;
}

void tensor_from(struct tensor *t, const void *host)
{
    for (int64_t i = 0; i < t->count; i++) switch (t->type.kind) {
        case ORACLE_F32: t->at[i].f = ((const float *)host)[i]; break;
        case ORACLE_I32: t->at[i].u = (uint64_t)(int64_t)((const int32_t *)host)[i]; break;
        case ORACLE_U32: t->at[i].u = ((const uint32_t *)host)[i]; break;
        case ORACLE_U64: t->at[i].u = ((const uint64_t *)host)[i]; break;
        default: t->at[i].u = ((const uint8_t *)host)[i];
        }
}

void tensor_to(const struct tensor *t, void *host)
{
    for (int64_t i = 0; i < t->count; i++) switch (t->type.kind) {
        case ORACLE_F32: ((float *)host)[i] = (float)t->at[i].f; break;
        case ORACLE_I32:
        case ORACLE_U32: ((uint32_t *)host)[i] = (uint32_t)t->at[i].u; break;
        case ORACLE_U64: ((uint64_t *)host)[i] = t->at[i].u; break;
        default: ((uint8_t *)host)[i] = (uint8_t)t->at[i].u;
        }
}

/* Rounds to the nearest value of the type, ties to even. */
double oracle_round(enum oracle_kind kind, double x)
{
    float number = (float)x;
    uint32_t bits;
    if (kind != ORACLE_BF16 || isnan(number))
        return number;
    memcpy(&bits, &number, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* ---- attributes ------------------------------------------------------------------------ */

const char *oracle_attribute(struct oracle *o, const struct operation *op, const char *name)
{
    size_t size = strlen(name);
    for (const char *p = op->attribute; p && p + size < op->attribute_end; p++)
        if (!strncmp(p, name, size) && !strncmp(p + size, " = ", 3) && (p == op->attribute || strchr(" <", p[-1])))
            return p + size + 3;
    oracle_fail(o, "'%s' in line %d has no '%s'", op->rule->name, op->line, name);
}

int oracle_numbers(struct oracle *o, const char *text, int64_t *number)
{
    int count = 0;
    char *end;
    if (!strncmp(text, "array<i64", 9))
        text += 9;
    else if (*text != '[')
        oracle_fail(o, "a list is wanted, not '%.20s'", text);
    while (*text && !strchr("]>", *text)) {
        int64_t next = strtoll(text + 1, &end, 10);
        if (end == text + 1 || count == ORACLE_AXES)
            oracle_fail(o, "a list of numbers is broken");
        number[count++] = next;
        text = end;
    }
    return count;
}

const struct rule *oracle_folding(struct oracle *o, const struct operation *op)
{
    const struct region *r = op->region[0];
    const struct operation *only = r->operation;
    if (r->arguments != 2 || r->operations != 1 || r->returns != 1 || r->returned[0] != only->result ||
        only->operands != 2 || only->operand[0] != r->argument || only->operand[1] != r->argument + 1 ||
        (strcmp(only->rule->name, "add") && strcmp(only->rule->name, "maximum")))
        oracle_fail(o, "'%s' in line %d folds by something else than a sum or a maximum", op->rule->name, op->line);
    return only->rule;
}

/* ---- running --------------------------------------------------------------------------- */

/* value[device][number]; NULL: not computed yet. */
struct run {
    struct oracle *o;
    int devices;
    struct tensor ***value;
};

static void set(struct run *r, int device, int value, struct tensor *t)
{
    tensor_free(r->value[device][value]);
    r->value[device][value] = t;
}

static void run_region(struct run *, const struct region *);

static void give(struct run *r, int device, int first, const int *from, int count)
{
    struct tensor *taken[ORACLE_OPERANDS];
    for (int i = 0; i < count; i++) /* all before any is replaced: a loop's body may return its arguments */
        taken[i] = tensor_use(r->value[device][from[i]]);
    for (int i = 0; i < count; i++) set(r, device, first + i, taken[i]);
}

static bool goes_on(struct run *r, const struct region *condition)
{
    run_region(r, condition);
    uint64_t first = r->value[0][condition->returned[0]]->at[0].u;
    for (int d = 1; d < r->devices; d++)
        if (r->value[d][condition->returned[0]]->at[0].u != first)
            oracle_fail(r->o, "devices disagree on the end of a loop");
    return first != 0;
}

static void run_loop(struct run *r, const struct operation *op)
{
    const struct region *condition = op->region[0], *body = op->region[1];
    const int *from = op->operand;
    int count = op->operands;
    for (;; from = body->returned) {
        for (int d = 0; d < r->devices; d++) give(r, d, condition->argument, from, count);
        if (!goes_on(r, condition))
            break;
        int again[ORACLE_OPERANDS];
        for (int i = 0; i < count; i++) again[i] = condition->argument + i;
        for (int d = 0; d < r->devices; d++) give(r, d, body->argument, again, count);
        run_region(r, body);
    }
    for (int d = 0; d < r->devices; d++) give(r, d, op->result, from, count);
}

static void run_operation(struct run *r, const struct operation *op)
{
    for (int d = 0; d < r->devices; d++) {
        struct tensor *operand[ORACLE_OPERANDS], *made = tensor_new(&r->o->type[op->result]);
        for (int i = 0; i < op->operands; i++) operand[i] = r->value[d][op->operand[i]];
        set(r, d, op->result, made);
        op->rule->run(r->o, op, operand, made);
    }
}

static void run_together(struct run *r, const struct operation *op)
{
    struct tensor *operand[ORACLE_OPERANDS], *made[ORACLE_OPERANDS];
    for (int d = 0; d < r->devices; d++) {
        operand[d] = op->operands ? r->value[d][op->operand[0]] : NULL;
        made[d] = tensor_new(&r->o->type[op->result]);
        set(r, d, op->result, made[d]);
    }
    oracle_together(r->o, op, r->devices, operand, made);
}

static void run_region(struct run *r, const struct region *region)
{
    for (int i = 0; i < region->operations; i++)
        if (region->operation[i].rule->run)
            run_operation(r, &region->operation[i]);
        else if (region->operation[i].rule->type)
            run_together(r, &region->operation[i]);
        else
            run_loop(r, &region->operation[i]);
}

static void run_main(struct run *r, struct tensor *const *const *argument, struct tensor **const *result)
{
    const struct region *m = &r->o->main;
    for (int d = 0; d < r->devices; d++)
        for (int i = 0; i < m->arguments; i++) {
            if (!same_type(&argument[d][i]->type, &r->o->type[m->argument + i]))
                oracle_fail(r->o, "argument %d is of another type than the program's", i);
            set(r, d, m->argument + i, tensor_use(argument[d][i]));
        }
    run_region(r, m);
    for (int d = 0; d < r->devices; d++)
        for (int i = 0; i < m->returns; i++) result[d][i] = tensor_use(r->value[d][m->returned[i]]);
}

static bool run_checked(struct run *r, struct tensor *const *const *argument, struct tensor **const *result)
{
    if (setjmp(r->o->broken))
        return false;
    run_main(r, argument, result);
    return true;
}

bool oracle_run(struct oracle *o, int devices, struct tensor *const *const *argument, struct tensor **const *result)
{
    struct run r = {o, devices, calloc((size_t)devices, sizeof *r.value)};
    for (int d = 0; d < devices; d++) r.value[d] = calloc((size_t)o->values, sizeof **r.value);
    bool good = run_checked(&r, argument, result);
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < o->values; i++) tensor_free(r.value[d][i]);
        free(r.value[d]);
    }
    free(r.value);
    return good;
}
