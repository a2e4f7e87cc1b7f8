/* Reads serialized modules (compiled.h), which are protocol buffers; unknown fields are skipped. */
#include "extensions/xla/compiled.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/protobuf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields that are read, by message. */
enum {
    WITH_CONFIG_MODULE = 1,
    MODULE_COMPUTATION = 3,
    MODULE_ENTRY = 6,
    MODULE_ALIASES = 8,
    ALIASES_ENTRY = 1,
    ALIAS_ARGUMENT = 2,
    COMPUTATION_INSTRUCTION = 2,
    COMPUTATION_ID = 5,
    COMPUTATION_ROOT = 6,
    INSTRUCTION_NAME = 1,
    INSTRUCTION_OPCODE = 2,
    INSTRUCTION_LITERAL = 8,
    INSTRUCTION_ID = 35,
    INSTRUCTION_OPERANDS = 36,
    INSTRUCTION_CALLED = 38,
    INSTRUCTION_CONFIG = 43,
    INSTRUCTION_DIRECTION = 63,
    LITERAL_S32 = 4,
};

/* ---- messages -------------------------------------------------------------------------- */

/* Reads integers, which may be one per field or packed in one. */
static bool read_numbers(const struct pb_field *f, uint64_t *number, int max, int *count)
{
    struct pb_reader packed = {.at = f->data, .end = f->data ? f->data + f->size : NULL};
    if (f->wire != PB_BYTES && *count < max)
        number[(*count)++] = f->value;
    for (uint64_t value; packed.at < packed.end;) {
        if (pb_varint(&packed, &value) != UNROLL_OK)
            return false;
        if (*count < max)
            number[(*count)++] = value;
    }
    return true;
}

static bool is_word(struct pb_field f, const char *word)
{
    return f.size == strlen(word) && !memcmp(f.data, word, f.size);
}

/* ---- instructions ---------------------------------------------------------------------- */

struct instruction {
    struct pb_field name, opcode, config, direction, literal;
    uint64_t id, operand[2], called[2];
    int operands, calls;
};

static bool read_instruction(struct pb_reader s, struct instruction *i)
{
    struct pb_field f;
    bool good = true;
    *i = (struct instruction){0};
    while (good && pb_next(&s, &f)) switch (f.number) {
        case INSTRUCTION_NAME: i->name = f; break;
        case INSTRUCTION_OPCODE: i->opcode = f; break;
        case INSTRUCTION_CONFIG: i->config = f; break;
        case INSTRUCTION_DIRECTION: i->direction = f; break;
        case INSTRUCTION_LITERAL: i->literal = f; break;
        case INSTRUCTION_ID: i->id = f.value; break;
        case INSTRUCTION_OPERANDS: good = read_numbers(&f, i->operand, 2, &i->operands); break;
        case INSTRUCTION_CALLED: good = read_numbers(&f, i->called, 2, &i->calls); break;
        }
    return good && s.status == UNROLL_OK;
}

/* Returns "estimated_cycles":"448" of a backend's configuration, or 0 if missing. */
static double cycles_of(const struct instruction *i)
{
    static const char key[] = "\"estimated_cycles\":\"";
    const char *at = i->config.size ? memmem(i->config.data, i->config.size, key, sizeof key - 1) : NULL;
    int64_t cycles;
    if (!at)
        return 0;
    at += sizeof key - 1;
    return number_integer(&at, (const char *)i->config.data + i->config.size, 0, INT64_MAX, &cycles) == NUMBER_OK
               ? (double)cycles
               : 0;
}

/* Reads a literal of a single i32. */
static bool read_literal(const struct pb_field *literal, uint64_t *number)
{
    struct pb_reader s = pb_inside(&(struct pb_reader){.where = "a literal"}, literal);
    struct pb_field f;
    int count = 0;
    while (pb_next(&s, &f))
        if (f.number == LITERAL_S32 && !read_numbers(&f, number, 1, &count))
            return false;
    return count == 1;
}

/* ---- computations ---------------------------------------------------------------------- */

enum { DEPTH = 64 };

struct computation {
    uint64_t id, root;
    struct pb_reader body;
    double cycles; /* of one call */
    enum { UNKNOWN, BEGUN, KNOWN } state;
};

struct module {
    struct computation *computation;
    int computations, depth; /* depth: nested calls and loops during pricing */
    uint64_t entry;
    struct compiled *result;
};

static unroll_status broken(const char *what)
{
    return fail(UNROLL_DATA, "what XLA's compiler made cannot be read: %s; fix: use another version of the plugin",
                what);
}

static struct computation *find_computation(struct module *m, uint64_t id)
{
    for (int i = 0; i < m->computations; i++)
        if (m->computation[i].id == id)
            return &m->computation[i];
    return NULL;
}

/* Reads the next instruction of a computation; returns false at the end or on damage. */
static bool next_instruction(struct pb_reader *s, struct instruction *i)
{
    struct pb_field f;
    while (pb_next(s, &f))
        if (f.number == COMPUTATION_INSTRUCTION) {
            s->status = read_instruction(pb_inside(s, &f), i) ? UNROLL_OK : UNROLL_DATA;
            return s->status == UNROLL_OK;
        }
    return false;
}

static bool find_instruction(const struct computation *c, uint64_t id, struct instruction *i)
{
    struct pb_reader s = c->body;
    while (next_instruction(&s, i))
        if (i->id == id)
            return true;
    return false;
}

/* Reads the number of turns of a loop. Our loops count from 0 by 1. Their condition is counter < constant, whatever
 * the compiler did to the rest. */
static unroll_status read_turns(const struct computation *condition, double *turns)
{
    struct instruction compare, operand;
    uint64_t end = 0;
    if (!find_instruction(condition, condition->root, &compare) || !is_word(compare.opcode, "compare") ||
        !is_word(compare.direction, "LT") || compare.operands != 2 ||
        !find_instruction(condition, compare.operand[1], &operand) || !is_word(operand.opcode, "constant") ||
        !read_literal(&operand.literal, &end) || end > INT32_MAX)
        return broken("a loop whose number of turns is not told");
    *turns = (double)end;
    return UNROLL_OK;
}

/* Adds an instruction that runs `turns` times to the list of the costliest. */
static void enter_cost(struct compiled *c, const struct instruction *i, double cycles, double turns)
{
    struct compiled_cost cost = {.cycles = cycles * turns, .turns = turns};
    int at = COMPILED_COSTLIEST;
    snprintf(cost.name, sizeof cost.name, "%.*s", (int)i->name.size, (const char *)i->name.data);
    while (at > 0 && cost.cycles > c->costliest[at - 1].cycles) at--;
    if (at == COMPILED_COSTLIEST)
        return;
    memmove(&c->costliest[at + 1], &c->costliest[at], (size_t)(COMPILED_COSTLIEST - 1 - at) * sizeof cost);
    c->costliest[at] = cost;
}

static unroll_status price(struct module *, struct computation *, double turns, double *cycles);

static unroll_status price_loop(struct module *m, const struct instruction *i, double turns, double *cycles)
{
    struct computation *body = find_computation(m, i->called[0]), *condition = find_computation(m, i->called[1]);
    double own, inside;
    if (i->calls != 2 || !body || !condition)
        return broken("a loop without a body");
    TRY(read_turns(condition, &own));
    TRY(price(m, body, turns * own, &inside));
    m->result->loops++;
    m->result->turns += turns * own;
    if (turns == 1)
        m->result->loop_cycles += own * inside;
    *cycles += own * inside;
    return UNROLL_OK;
}

/* Sums the cycles of a computation that runs `turns` times. Computations called by a fusion are included in its
 * price. */
static unroll_status price(struct module *m, struct computation *c, double turns, double *cycles)
{
    struct instruction i;
    struct pb_reader s = c->body;
    *cycles = c->cycles;
    if (c->state == KNOWN)
        return UNROLL_OK;
    if (c->state == BEGUN || m->depth == DEPTH)
        return broken("computations call each other without end");
    c->state = BEGUN;
    m->depth++;
    while (next_instruction(&s, &i)) {
        struct computation *called = i.calls && is_word(i.opcode, "call") ? find_computation(m, i.called[0]) : NULL;
        double own = cycles_of(&i), inside = 0;
        if (is_word(i.opcode, "while"))
            TRY(price_loop(m, &i, turns, &inside));
        else if (called)
            TRY(price(m, called, turns, &inside));
        else if (own > 0)
            enter_cost(m->result, &i, own, turns);
        m->result->priced += own > 0;
        c->cycles += own + inside;
    }
    if (s.status != UNROLL_OK)
        return broken("an instruction is damaged");
    c->state = KNOWN;
    m->depth--;
    *cycles = c->cycles;
    return UNROLL_OK;
}

/* ---- the module ------------------------------------------------------------------------ */

static bool read_computation(struct pb_reader s, struct computation *c)
{
    struct pb_field f;
    *c = (struct computation){.body = s};
    while (pb_next(&s, &f))
        if (f.number == COMPUTATION_ID)
            c->id = f.value;
        else if (f.number == COMPUTATION_ROOT)
            c->root = f.value;
    return s.status == UNROLL_OK;
}

static unroll_status read_alias(struct pb_reader s, struct compiled *c)
{
    struct pb_field f;
    uint64_t argument = 0;
    while (pb_next(&s, &f))
        if (f.number == ALIAS_ARGUMENT)
            argument = f.value;
    if (s.status != UNROLL_OK || argument >= COMPILED_ARGUMENTS)
        return broken("which arguments give their memory");
    c->aliases += !c->aliased[argument];
    c->aliased[argument] = true;
    return UNROLL_OK;
}

static unroll_status read_aliases(struct pb_reader s, struct compiled *c)
{
    struct pb_field f;
    while (pb_next(&s, &f))
        if (f.number == ALIASES_ENTRY)
            TRY(read_alias(pb_inside(&s, &f), c));
    return s.status == UNROLL_OK ? UNROLL_OK : broken("which arguments give their memory");
}

static unroll_status add_computation(struct module *m, struct pb_reader s)
{
    const size_t count = (size_t)m->computations, size = sizeof *m->computation;
    if ((count & (count - 1)) == 0 && !enlarge(&m->computation, count * size, (2 * count + 1) * size))
        return fail(UNROLL_RESOURCE, "no memory to read a compiled program"); /* capacity doubles at powers of two */
    return read_computation(s, &m->computation[m->computations++]) ? UNROLL_OK : broken("a computation is damaged");
}

static unroll_status read_module(struct module *m, struct pb_reader s)
{
    struct pb_field f;
    double cycles;
    while (pb_next(&s, &f))
        if (f.number == MODULE_COMPUTATION)
            TRY(add_computation(m, pb_inside(&s, &f)));
        else if (f.number == MODULE_ENTRY)
            m->entry = f.value;
        else if (f.number == MODULE_ALIASES)
            TRY(read_aliases(pb_inside(&s, &f), m->result));
    struct computation *entry = find_computation(m, m->entry);
    if (s.status != UNROLL_OK || !entry)
        return broken("it has no beginning or no end");
    TRY(price(m, entry, 1, &cycles));
    m->result->cycles = cycles;
    return UNROLL_OK;
}

unroll_status read_compiled(const void *bytes, size_t size, const char *format, struct compiled *result)
{
    struct pb_reader s = {bytes, (const uint8_t *)bytes + size, "a compiled program", UNROLL_OK};
    struct module m = {.result = result};
    struct pb_field f = {0};
    *result = (struct compiled){0};
    if (!strcmp(format, "hlo_with_config")) {
        while (f.number != WITH_CONFIG_MODULE && pb_next(&s, &f));
        if (s.status != UNROLL_OK || f.number != WITH_CONFIG_MODULE || !f.data)
            return broken("it holds no module");
        s = pb_inside(&s, &f);
    } else if (strcmp(format, "hlo")) {
        return fail(UNROLL_UNSUPPORTED,
                    "the XLA plugin gives compiled programs as '%s', which is not read here; fix: use another plugin",
                    format);
    }
    unroll_status status = read_module(&m, s);
    release(m.computation);
    return status;
}
