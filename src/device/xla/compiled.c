/* Reads serialized modules (compiled.h). Protocol buffers: a message is a row of fields, each a number (field << 3 |
 * kind) and a varint, 8 bytes, 4 bytes, or a length and so many bytes; fields that are not known are skipped. */
#include "device/xla/compiled.h"
#include "base/memory.h"
#include "base/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields that are read, by message. */
enum {
    WITH_CONFIG_MODULE = 1,
    MODULE_COMPUTATION = 3, MODULE_ENTRY = 6, MODULE_ALIASES = 8,
    ALIASES_ENTRY = 1, ALIAS_ARGUMENT = 2,
    COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5, COMPUTATION_ROOT = 6,
    INSTRUCTION_NAME = 1, INSTRUCTION_OPCODE = 2, INSTRUCTION_LITERAL = 8, INSTRUCTION_ID = 35,
    INSTRUCTION_OPERANDS = 36, INSTRUCTION_CALLED = 38, INSTRUCTION_CONFIG = 43, INSTRUCTION_DIRECTION = 63,
    LITERAL_S32 = 4,
};

/* ---- messages -------------------------------------------------------------------------- */

struct span { const unsigned char *at, *end; };
struct field { int number; uint64_t value; struct span bytes; };    /* bytes: of a field with a length */

static bool read_varint(struct span *s, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
        unsigned char byte = *s->at++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool take(struct span *s, uint64_t size, struct span *taken)
{
    if (size > (uint64_t)(s->end - s->at))
        return false;
    *taken = (struct span){ s->at, s->at + size };
    s->at += size;
    return true;
}

/* 1: a field; 0: the message has ended; -1: it is broken. */
static int next_field(struct span *s, struct field *f)
{
    uint64_t key, size = 0;
    *f = (struct field){ 0 };
    if (s->at == s->end)
        return 0;
    if (!read_varint(s, &key) || key >> 3 == 0 || key >> 3 > 1 << 29)
        return -1;
    f->number = (int)(key >> 3);
    switch (key & 7) {
    case 0: return read_varint(s, &f->value) ? 1 : -1;
    case 1: return take(s, 8, &f->bytes) ? 1 : -1;
    case 2: return read_varint(s, &size) && take(s, size, &f->bytes) ? 1 : -1;
    case 5: return take(s, 4, &f->bytes) ? 1 : -1;
    default: return -1;
    }
}

/* Numbers come one a field, or several packed in one. */
static bool read_numbers(const struct field *f, uint64_t *number, int most, int *count)
{
    struct span packed = f->bytes;
    if (!packed.at) {
        if (*count < most)
            number[(*count)++] = f->value;
        return true;
    }
    for (uint64_t value; packed.at < packed.end;) {
        if (!read_varint(&packed, &value))
            return false;
        if (*count < most)
            number[(*count)++] = value;
    }
    return true;
}

static bool is_word(struct span s, const char *word)
{
    return (size_t)(s.end - s.at) == strlen(word) && !memcmp(s.at, word, strlen(word));
}

/* ---- instructions ---------------------------------------------------------------------- */

struct instruction {
    struct span name, opcode, config, direction, literal;
    uint64_t id, operand[2], called[2];
    int operands, calls;
};

static bool read_instruction(struct span s, struct instruction *i)
{
    struct field f;
    int more;
    *i = (struct instruction){ 0 };
    while ((more = next_field(&s, &f)) > 0)
        switch (f.number) {
        case INSTRUCTION_NAME: i->name = f.bytes; break;
        case INSTRUCTION_OPCODE: i->opcode = f.bytes; break;
        case INSTRUCTION_CONFIG: i->config = f.bytes; break;
        case INSTRUCTION_DIRECTION: i->direction = f.bytes; break;
        case INSTRUCTION_LITERAL: i->literal = f.bytes; break;
        case INSTRUCTION_ID: i->id = f.value; break;
        case INSTRUCTION_OPERANDS:
            if (!read_numbers(&f, i->operand, 2, &i->operands))
                return false;
            break;
        case INSTRUCTION_CALLED:
            if (!read_numbers(&f, i->called, 2, &i->calls))
                return false;
        }
    return more == 0;
}

/* "estimated_cycles":"448" in a backend's configuration; 0: there is none. */
static double cycles_of(const struct instruction *i)
{
    static const char key[] = "\"estimated_cycles\":\"";
    size_t length = sizeof key - 1;
    for (const unsigned char *p = i->config.at; p && p + length < i->config.end; p++) {
        const char *at = (const char *)p + length, *end = (const char *)i->config.end;
        int64_t cycles;
        if (!memcmp(p, key, length))
            return number_integer(&at, end, 0, INT64_MAX, &cycles) == NUMBER_OK ? (double)cycles : 0;
    }
    return 0;
}

/* The one i32 of a literal. */
static bool read_literal(struct span s, uint64_t *number)
{
    struct field f;
    int count = 0;
    while (next_field(&s, &f) > 0)
        if (f.number == LITERAL_S32 && !read_numbers(&f, number, 1, &count))
            return false;
    return count == 1;
}

/* ---- computations ---------------------------------------------------------------------- */

enum { DEPTH = 64 };

struct computation {
    uint64_t id, root;
    struct span body;
    double cycles;                      /* of one call */
    enum { UNKNOWN, BEGUN, KNOWN } state;
};

struct module {
    struct computation *computation;
    int computations, depth;            /* depth: of calls and loops that are being priced */
    uint64_t entry;
    struct compiled *result;
};

static unroll_status broken(const char *what)
{
    return fail(UNROLL_DATA, "what XLA's compiler made cannot be read: %s; fix: another version of the plugin", what);
}

static struct computation *find_computation(struct module *m, uint64_t id)
{
    for (int i = 0; i < m->computations; i++)
        if (m->computation[i].id == id)
            return &m->computation[i];
    return NULL;
}

/* The next instruction of a computation; 1, 0, -1 as next_field. */
static int next_instruction(struct span *s, struct instruction *i)
{
    struct field f;
    int more;
    while ((more = next_field(s, &f)) > 0)
        if (f.number == COMPUTATION_INSTRUCTION)
            return read_instruction(f.bytes, i) ? 1 : -1;
    return more;
}

static bool find_instruction(const struct computation *c, uint64_t id, struct instruction *i)
{
    struct span s = c->body;
    while (next_instruction(&s, i) > 0)
        if (i->id == id)
            return true;
    return false;
}

/* Our loops count from 0 by 1; their condition is counter < constant, whatever the compiler did to the rest. */
static unroll_status read_turns(const struct computation *condition, double *turns)
{
    struct instruction compare, operand;
    uint64_t end = 0;
    if (!find_instruction(condition, condition->root, &compare) || !is_word(compare.opcode, "compare") ||
        !is_word(compare.direction, "LT") || compare.operands != 2 ||
        !find_instruction(condition, compare.operand[1], &operand) || !is_word(operand.opcode, "constant") ||
        !read_literal(operand.literal, &end) || end > INT32_MAX)
        return broken("a loop whose number of turns is not told");
    *turns = (double)end;
    return UNROLL_OK;
}

/* What runs `turns` times is entered among the costliest. */
static void enter_cost(struct compiled *c, const struct instruction *i, double cycles, double turns)
{
    struct compiled_cost cost = { .cycles = cycles * turns, .turns = turns };
    int at = COMPILED_COSTLIEST;
    snprintf(cost.name, sizeof cost.name, "%.*s", (int)(i->name.end - i->name.at), (const char *)i->name.at);
    while (at > 0 && cost.cycles > c->costliest[at - 1].cycles)
        at--;
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

/* Sums the cycles of a computation that runs so many times; what a fusion calls is priced by the fusion. */
static unroll_status price(struct module *m, struct computation *c, double turns, double *cycles)
{
    struct instruction i;
    struct span s = c->body;
    int more;
    *cycles = c->cycles;
    if (c->state == KNOWN)
        return UNROLL_OK;
    if (c->state == BEGUN || m->depth == DEPTH)
        return broken("computations call each other without end");
    c->state = BEGUN;
    m->depth++;
    while ((more = next_instruction(&s, &i)) > 0) {
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
    if (more < 0)
        return broken("an instruction is damaged");
    c->state = KNOWN;
    m->depth--;
    *cycles = c->cycles;
    return UNROLL_OK;
}

/* ---- the module ------------------------------------------------------------------------ */

static bool read_computation(struct span s, struct computation *c)
{
    struct field f;
    int more;
    *c = (struct computation){ .body = s };
    while ((more = next_field(&s, &f)) > 0)
        if (f.number == COMPUTATION_ID)
            c->id = f.value;
        else if (f.number == COMPUTATION_ROOT)
            c->root = f.value;
    return more == 0;
}

static unroll_status read_alias(struct span s, struct compiled *c)
{
    struct field f;
    uint64_t argument = 0;
    int more;
    while ((more = next_field(&s, &f)) > 0)
        if (f.number == ALIAS_ARGUMENT)
            argument = f.value;
    if (more < 0 || argument >= COMPILED_ARGUMENTS)
        return broken("which arguments give their memory");
    c->aliases += !c->aliased[argument];
    c->aliased[argument] = true;
    return UNROLL_OK;
}

static unroll_status read_aliases(struct span s, struct compiled *c)
{
    struct field f;
    int more;
    while ((more = next_field(&s, &f)) > 0)
        if (f.number == ALIASES_ENTRY)
            TRY(read_alias(f.bytes, c));
    return more == 0 ? UNROLL_OK : broken("which arguments give their memory");
}

static unroll_status add_computation(struct module *m, struct span s)
{
    struct computation *more = m->computation;
    if ((m->computations & (m->computations - 1)) == 0) {          /* room doubles at powers of two */
        size_t room = m->computations ? 2 * (size_t)m->computations : 1;
        more = allocate_zeroed(room, sizeof *more);
        if (!more)
            return fail(UNROLL_RESOURCE, "no memory to read a compiled program");
        if (m->computations)
            memcpy(more, m->computation, (size_t)m->computations * sizeof *more);
        release(m->computation);
        m->computation = more;
    }
    return read_computation(s, &m->computation[m->computations++]) ? UNROLL_OK : broken("a computation is damaged");
}

static unroll_status read_module(struct module *m, struct span s)
{
    struct field f;
    double cycles;
    int more;
    while ((more = next_field(&s, &f)) > 0)
        if (f.number == MODULE_COMPUTATION)
            TRY(add_computation(m, f.bytes));
        else if (f.number == MODULE_ENTRY)
            m->entry = f.value;
        else if (f.number == MODULE_ALIASES)
            TRY(read_aliases(f.bytes, m->result));
    struct computation *entry = find_computation(m, m->entry);
    if (more < 0 || !entry)
        return broken("it has no beginning or no end");
    TRY(price(m, entry, 1, &cycles));
    m->result->cycles = cycles;
    return UNROLL_OK;
}

unroll_status read_compiled(const void *bytes, size_t size, const char *format, struct compiled *result)
{
    struct span s = { bytes, (const unsigned char *)bytes + size };
    struct module m = { .result = result };
    struct field f = { 0 };
    *result = (struct compiled){ 0 };
    if (!strcmp(format, "hlo_with_config")) {
        struct span outer = s;
        int more = 0;
        while ((more = next_field(&outer, &f)) > 0 && f.number != WITH_CONFIG_MODULE)
            ;
        if (more <= 0 || !f.bytes.at)
            return broken("it holds no module");
        s = f.bytes;
    } else if (strcmp(format, "hlo")) {
        return fail(UNROLL_UNSUPPORTED, "the XLA plugin gives compiled programs as '%s', which is not read here", format);
    }
    unroll_status status = read_module(&m, s);
    release(m.computation);
    return status;
}
