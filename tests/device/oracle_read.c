/* Parses a program's text and checks names, types and regions (oracle.h). The types of operations are checked in
 * oracle_rules.c. */
#include "oracle.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[ORACLE_KINDS] = {"f32", "bf16", "i32", "ui8", "ui32", "ui64", "i1"};

/* ---- errors and words ------------------------------------------------------------------ */

void oracle_fail(struct oracle *o, const char *format, ...)
{
    va_list arguments;
    int size = o->at ? snprintf(o->error, sizeof o->error, "line %d: ", o->line) : 0;
    va_start(arguments, format);
    vsnprintf(o->error + size, sizeof o->error - (size_t)size, format, arguments);
    va_end(arguments);
    longjmp(o->broken, 1);
}

static void skip_space(struct oracle *o)
{
    while (isspace((unsigned char)*o->at) || !strncmp(o->at, "//", 2)) {
        o->line += *o->at == '\n';
        o->at += *o->at == '/' ? strcspn(o->at, "\n") : 1;
    }
}

static bool accept(struct oracle *o, const char *word)
{
    skip_space(o);
    if (strncmp(o->at, word, strlen(word)))
        return false;
    o->at += strlen(word);
    return true;
}

static void expect(struct oracle *o, const char *word)
{
    if (!accept(o, word))
        oracle_fail(o, "'%s' is wanted before '%.30s'", word, o->at);
}

static int64_t read_integer(struct oracle *o)
{
    char *end;
    long long number = strtoll(o->at, &end, 10);
    if (end == o->at)
        oracle_fail(o, "a number is wanted before '%.30s'", o->at);
    o->at = end;
    return number;
}

/* Skips to after the bracket that closes the one before `at`. */
static void skip_brackets(struct oracle *o)
{
    for (int depth = 1; depth; o->at++) {
        if (!*o->at)
            oracle_fail(o, "a bracket is open at the end");
        depth += strchr("{[(<", *o->at) != NULL;
        depth -= strchr("}])>", *o->at) && o->at[-1] != '-';
    }
}

/* ---- types and values ------------------------------------------------------------------ */

static struct tensor_type read_type(struct oracle *o)
{
    struct tensor_type type = {0};
    expect(o, "tensor<");
    while (isdigit((unsigned char)*o->at)) {
        if (type.rank == ORACLE_AXES)
            oracle_fail(o, "too many axes");
        type.dim[type.rank++] = read_integer(o);
        expect(o, "x");
    }
    for (type.kind = 0; type.kind < ORACLE_KINDS; type.kind++)
        if (accept(o, kind_names[type.kind]))
            break;
    if (type.kind == ORACLE_KINDS)
        oracle_fail(o, "no type is called '%.8s'", o->at);
    expect(o, ">");
    return type;
}

/* Parses (type, ..), or one type without brackets. */
static int read_types(struct oracle *o, struct tensor_type *type)
{
    int count = 0;
    if (!accept(o, "(")) {
        type[0] = read_type(o);
        return 1;
    }
    while (!accept(o, ")")) {
        if (count)
            expect(o, ",");
        if (count == ORACLE_OPERANDS)
            oracle_fail(o, "too many types");
        type[count++] = read_type(o);
    }
    return count;
}

static int read_name(struct oracle *o)
{
    expect(o, "%v");
    int64_t name = read_integer(o);
    if (name < 0 || name >= o->names)
        oracle_fail(o, "the name %%v%lld is out of bounds", (long long)name);
    return (int)name;
}

static int define(struct oracle *o, int name, const struct tensor_type *type, int count)
{
    int first = o->values;
    if (o->value_of[name] != -1)
        oracle_fail(o, "%%v%d is defined twice", name);
    for (int i = 0; i < count; i++) o->type[o->values++] = type[i];
    o->value_of[name] = first;
    return first;
}

/* Parses "%v3, %v4#1) : .. " up to the bracket. */
static int read_operands(struct oracle *o, int *operand)
{
    int count = 0;
    while (!accept(o, ")")) {
        if (count)
            expect(o, ",");
        int name = read_name(o);
        int64_t part = *o->at == '#' ? (o->at++, read_integer(o)) : 0;
        if (o->value_of[name] < 0)
            oracle_fail(o, "%%v%d is not defined here", name);
        if (count == ORACLE_OPERANDS || part < 0 || o->value_of[name] + part >= o->values)
            oracle_fail(o, "too many operands, or no such part");
        operand[count++] = o->value_of[name] + (int)part;
    }
    return count;
}

static void check_types(struct oracle *o, const int *value, int values, const struct tensor_type *said, int types)
{
    if (values != types)
        oracle_fail(o, "%d values have %d types", values, types);
    for (int i = 0; i < values; i++)
        if (!same_type(&o->type[value[i]], &said[i]))
            oracle_fail(o, "value %d does not have the stated type", i);
}

/* ---- operations ------------------------------------------------------------------------ */

static void read_region(struct oracle *, struct region *);

static void read_regions(struct oracle *o, struct operation *op)
{
    int count = 0;
    if (accept(o, "({")) {
        do {
            if (count == ORACLE_REGIONS)
                oracle_fail(o, "too many regions");
            op->region[count] = calloc(1, sizeof *op->region[count]);
            read_region(o, op->region[count++]);
        } while (accept(o, ", {"));
        expect(o, ")");
    }
    if (count != op->rule->regions)
        oracle_fail(o, "'%s' has %d regions", op->rule->name, count);
}

static void find_rule(struct oracle *o, struct operation *op)
{
    expect(o, "\"stablehlo.");
    size_t size = strcspn(o->at, "\"");
    for (op->rule = oracle_rules; op->rule->name; op->rule++)
        if (strlen(op->rule->name) == size && !strncmp(op->rule->name, o->at, size))
            break;
    if (!op->rule->name)
        oracle_fail(o, "no operation is called '%.*s'", (int)size, o->at);
    o->at += size;
    expect(o, "\"(");
}

/* Checks a loop: both regions take the carried values; one returns the condition, the other the next values. */
static void check_loop(struct oracle *o, const struct operation *op, const struct tensor_type *type)
{
    const struct region *condition = op->region[0], *body = op->region[1];
    static const struct tensor_type truth = {.kind = ORACLE_I1};
    if (condition->arguments != op->operands || body->arguments != op->operands || condition->returns != 1)
        oracle_fail(o, "a loop's regions do not take what it carries");
    if (!same_type(&o->type[condition->returned[0]], &truth))
        oracle_fail(o, "a loop's condition is no truth");
    check_types(o, body->returned, body->returns, type, op->operands);
    for (int i = 0; i < op->operands; i++)
        if (!same_type(&o->type[condition->argument + i], &type[i]) ||
            !same_type(&o->type[body->argument + i], &type[i]))
            oracle_fail(o, "a loop's regions take other types than it carries");
}

/* Parses an operation and checks the types of its operands and results. */
static void read_operation(struct oracle *o, struct operation *op)
{
    struct tensor_type operand[ORACLE_OPERANDS], said[ORACLE_OPERANDS], follows = {0};
    int name = read_name(o);
    op->line = o->line;
    op->results = *o->at == ':' ? (o->at++, (int)read_integer(o)) : 1;
    expect(o, "=");
    find_rule(o, op);
    op->operands = read_operands(o, op->operand);
    read_regions(o, op);
    if (accept(o, "{")) {
        op->attribute = o->at;
        skip_brackets(o);
        op->attribute_end = o->at - 1;
    }
    expect(o, ":");
    check_types(o, op->operand, op->operands, operand, read_types(o, operand));
    expect(o, "->");
    if (read_types(o, said) != op->results)
        oracle_fail(o, "'%s' gives %d results", op->rule->name, op->results);
    if (op->rule->operands >= 0 && op->operands != op->rule->operands)
        oracle_fail(o, "'%s' has %d operands", op->rule->name, op->operands);
    if (!op->rule->type) {
        check_loop(o, op, said);
    } else {
        follows = said[0];
        op->rule->type(o, op, operand, &follows);
        if (op->results != 1 || !same_type(&follows, &said[0]))
            oracle_fail(o, "the result of '%s' does not have the stated type", op->rule->name);
    }
    op->result = define(o, name, said, op->results);
}

/* Parses operations up to the return. The scope of names defined here ends there. */
static void read_body(struct oracle *o, struct region *r, const char *end)
{
    struct tensor_type type[ORACLE_OPERANDS];
    int room = 0;
    while (!accept(o, end)) {
        if (r->operations == room) {
            room = 2 * room + 16;
            r->operation = realloc(r->operation, (size_t)room * sizeof *r->operation);
        }
        memset(&r->operation[r->operations], 0, sizeof *r->operation);
        read_operation(o, &r->operation[r->operations++]);
    }
    r->returns = read_operands(o, r->returned);
    expect(o, ":");
    check_types(o, r->returned, r->returns, type, read_types(o, type));
    expect(o, "-> ()");
    expect(o, "}");
}

/* Parses the arguments of a region; alias: the aliased output of each, -1: none. */
static int read_arguments(struct oracle *o, struct region *r, int *alias)
{
    r->argument = o->values;
    while (!accept(o, ")")) {
        if (r->arguments)
            expect(o, ",");
        int name = read_name(o);
        expect(o, ":");
        struct tensor_type type = read_type(o);
        if (r->arguments == ORACLE_OPERANDS)
            oracle_fail(o, "too many arguments");
        if (alias)
            alias[r->arguments] = accept(o, "{tf.aliasing_output = ") ? (int)read_integer(o) : -1;
        if (alias && alias[r->arguments] >= 0)
            expect(o, ": i32}");
        define(o, name, &type, 1);
        r->arguments++;
    }
    return r->arguments;
}

static void read_region(struct oracle *o, struct region *r)
{
    int first = o->values;
    expect(o, "^bb0(");
    read_arguments(o, r, NULL);
    expect(o, ":");
    read_body(o, r, "\"stablehlo.return\"(");
    for (int i = 0; i < o->names; i++)
        if (o->value_of[i] >= first)
            o->value_of[i] = -2;
}

/* Each donated argument goes to a result of its type, no two to the same. */
static void check_aliases(struct oracle *o)
{
    const struct region *m = &o->main;
    for (int i = 0; i < m->arguments; i++) {
        if (o->alias[i] < 0)
            continue;
        if (o->alias[i] >= m->returns || !same_type(&o->type[m->argument + i], &o->type[m->returned[o->alias[i]]]))
            oracle_fail(o, "argument %d cannot become result %d", i, o->alias[i]);
        for (int k = 0; k < i; k++)
            if (o->alias[k] == o->alias[i])
                oracle_fail(o, "two arguments become result %d", o->alias[i]);
    }
}

/* Parses a module with its main function, and checks types and aliases. */
static void read_module(struct oracle *o)
{
    struct tensor_type said[ORACLE_OPERANDS];
    expect(o, "module @");
    o->at += strcspn(o->at, " ");
    expect(o, "attributes {");
    const char *devices = strstr(o->at, "num_replicas = ");
    o->devices = devices ? (int)strtol(devices + 15, NULL, 10) : 0;
    skip_brackets(o);
    expect(o, "{");
    expect(o, "func.func public @main(");
    read_arguments(o, &o->main, o->alias);
    expect(o, "->");
    int results = read_types(o, said);
    expect(o, "{");
    read_body(o, &o->main, "\"func.return\"(");
    check_types(o, o->main.returned, o->main.returns, said, results);
    expect(o, "}");
    skip_space(o);
    if (*o->at)
        oracle_fail(o, "there is more after the program: '%.30s'", o->at);
    check_aliases(o);
    o->at = NULL;
}

/* ---- the whole program ----------------------------------------------------------------- */

static void region_free(struct region *r)
{
    for (int i = 0; i < r->operations; i++)
        for (int k = 0; k < ORACLE_REGIONS; k++)
            if (r->operation[i].region[k]) {
                region_free(r->operation[i].region[k]);
                free(r->operation[i].region[k]);
            }
    free(r->operation);
}

void oracle_free(struct oracle *o)
{
    region_free(&o->main);
    free(o->text);
    free(o->type);
    free(o->value_of);
    free(o);
}

/* Returns an upper limit for names and values: the number of percent signs and commas in the text. */
static int max_values(const char *text)
{
    int max = 64;
    for (; *text; text++) max += *text == '%' || *text == ',';
    return max;
}

static bool read_text(struct oracle *o)
{
    if (setjmp(o->broken))
        return false;
    read_module(o);
    return true;
}

struct oracle *oracle_read(const char *text, size_t size, char *error, size_t room)
{
    struct oracle *o = calloc(1, sizeof *o);
    o->text = calloc(size + 1, 1);
    memcpy(o->text, text, size);
    o->at = o->text;
    o->names = max_values(o->text);
    o->type = calloc((size_t)o->names, sizeof *o->type);
    o->value_of = malloc((size_t)o->names * sizeof *o->value_of);
    for (int i = 0; i < o->names; i++) o->value_of[i] = -1;
    o->line = 1;
    if (read_text(o))
        return o;
    snprintf(error, room, "%s", o->error);
    oracle_free(o);
    return NULL;
}
