/* Functions of integer programs: verbatim sections of integer_functions.h, and recorded pointwise functions in the
 * formats that quantize.c chose. fixed.c computes the same results. */
#include "convert/c99/c99.h"
#include "stream/program/integers.h"
#include <string.h>

static const char *const lines[] = {
#include "integer_tables.inc"
#include "integer_functions.inc"
    NULL};

/* ---- sections -------------------------------------------------------------------------- */

#define SECTION "/* ==== "

/* True if the line starts the section: "name" or "name: dependencies". */
static bool begins(const char *line, const char *name, size_t length)
{
    const size_t head = strlen(SECTION);
    return !strncmp(line, SECTION, head) && !strncmp(line + head, name, length) &&
           (line[head + length] == ' ' || line[head + length] == ':');
}

struct sections {
    bool is_wanted[sizeof lines / sizeof *lines];
};

/* Marks a section and its dependencies, which precede it. */
static void want(struct sections *s, const char *name, size_t length)
{
    for (size_t i = 0; lines[i]; i++) {
        if (!begins(lines[i], name, length))
            continue;
        s->is_wanted[i] = true;
        const char *needs = strchr(lines[i], ':');
        while (needs && (needs = strchr(needs, ' ')) && *++needs && *needs != '=') want(s, needs, strcspn(needs, " "));
        return;
    }
}

static void want_named(struct sections *s, const char *name) { want(s, name, strlen(name)); }

static void print_sections(const struct printer *p, const struct sections *s)
{
    bool prints = false;
    for (size_t i = 0; lines[i]; i++) {
        bool is_head = !strncmp(lines[i], SECTION, strlen(SECTION));
        prints = is_head ? s->is_wanted[i] : prints;
        if (prints && !is_head)
            fprintf(p->file, "%s\n", lines[i]);
    }
    if (p->file)
        fputs("\n", p->file);
}

/* ---- what is needed -------------------------------------------------------------------- */

static bool is_computed(const struct pointwise *f, int i)
{
    return f->node[i].is_needed && !f->node[i].is_constant && f->record->node[i].kind != NODE_INPUT;
}

static void want_node(struct sections *s, const struct fixed_node *n, enum node_kind kind)
{
    static const char *const functions[NODE_KINDS] = {
        [NODE_DIV] = "quotient", [NODE_SQRT] = "root",          [NODE_EXP] = "exp_of",
        [NODE_LOG] = "log_of",   [NODE_SIGMOID] = "sigmoid_of", [NODE_TANH] = "tanh_of",
    };
    const bool sums = kind == NODE_ADD || kind == NODE_SUB || kind == NODE_FMA || kind == NODE_LESS;
    if (functions[kind])
        want_named(s, functions[kind]);
    if (sums && (n->shift[0] || n->shift[1] || n->shift[2]))
        want_named(s, "aligned");
    if (kind == NODE_ADD || kind == NODE_SUB || kind == NODE_MUL || kind == NODE_FMA || kind == NODE_ABS)
        want_named(s, "narrow");
    if ((kind == NODE_MIN || kind == NODE_MAX) && (n->shift[0] || n->shift[1]))
        want_named(s, "narrow");
    if ((kind == NODE_SIGMOID || kind == NODE_TANH) && n->shift[0])
        want_named(s, "narrow");
}

static int result_shift(const struct program *p, const struct pointwise *f, const struct binding *b)
{
    return f->node[b->node->number].fraction - p->vector[b->vector].fraction;
}

static void want_pointwise(struct sections *s, const struct program *p, const struct pointwise *f)
{
    for (int i = 0; i < f->record->nodes; i++)
        if (is_computed(f, i))
            want_node(s, &f->node[i], f->record->node[i].kind);
    for (int i = 0; i < f->inputs; i++)
        if (f->input[i].vector != ABSENT_VECTOR && p->vector[f->input[i].vector].is_sum)
            want_named(s, "narrow");
    for (int i = 0; i < f->results; i++)
        if (result_shift(p, f, &f->result[i]))
            want_named(s, "narrow");
}

static const char *section_of(const struct program *p, const struct act *a)
{
    switch (a->kind) {
    case ACT_ENTER: return "enter";
    case ACT_LEAVE: return p->vector[a->from].is_sum ? "leave_sums" : "leave_short";
    case ACT_EMBED: return a->matrix < 0 ? "one_hot" : "embed";
    case ACT_PRODUCT: return "product";
    case ACT_COLUMN: return "column";
    case ACT_SOFTMAX: return "softmax";
    case ACT_POOL: return "pool_max";
    case ACT_COPY: return p->vector[a->from].is_sum ? "copy_sums" : "copy_short";
    case ACT_POINTWISE: break;
    }
    return NULL;
}

/* ---- pointwise functions --------------------------------------------------------------- */

static void print_operand(FILE *file, const struct pointwise *f, const struct node *user, int k)
{
    const struct node *node = user->operand[k];
    if (f->node[node->number].is_constant)
        fprintf(file, "%ld", (long)f->node[user->number].constant[k]);
    else if (node->kind == NODE_INPUT)
        fputs(node->input, file);
    else
        fprintf(file, "t%d", node->number);
}

/* Prints FUNCTION(operand, shift), or the operand alone if the shift is 0. */
static void print_shifted(FILE *file, const struct pointwise *f, const struct node *node, int k, const char *function)
{
    const int shift = f->node[node->number].shift[k];
    fputs(shift ? function : "", file);
    fputs(shift ? "(" : "", file);
    print_operand(file, f, node, k);
    if (shift)
        fprintf(file, ", %d)", shift);
}

/* In these templates "$0" is an operand, "&0" an operand shifted to a common fraction, "%0" a narrowed operand, "@" the
 * shift to the result's format, "#" shift[1], "=" shift[0], and "!" the fraction of the result. */
static const char *const form[NODE_KINDS] = {
    [NODE_ADD] = "narrow(&0 + &1, @)",
    [NODE_SUB] = "narrow(&0 - &1, @)",
    [NODE_MUL] = "narrow($0 * $1, @)",
    [NODE_MIN] = "%0 < %1 ? %0 : %1",
    [NODE_MAX] = "%0 > %1 ? %0 : %1",
    [NODE_LESS] = "&0 < &1 ? 16384 : 0",
    [NODE_ABS] = "narrow($0 < 0 ? -$0 : $0, @)",
    [NODE_DIV] = "quotient($0, $1, =)",
    [NODE_SQRT] = "root($0, #)",
    [NODE_EXP] = "exp_of($0, #, !)",
    [NODE_LOG] = "log_of($0, #, !)",
    [NODE_SIGMOID] = "sigmoid_of(%0, #)",
    [NODE_TANH] = "tanh_of(%0, #)",
};

static void print_fma(FILE *file, const struct pointwise *f, const struct node *node)
{
    const struct fixed_node *n = &f->node[node->number];
    fputs(n->shift[0] ? "narrow(aligned(" : "narrow(", file);
    print_operand(file, f, node, 0);
    fputs(" * ", file);
    print_operand(file, f, node, 1);
    if (n->shift[0])
        fprintf(file, ", %d)", n->shift[0]);
    fputs(" + ", file);
    print_shifted(file, f, node, 2, "aligned");
    fprintf(file, ", %d)", n->out);
}

static void print_expression(FILE *file, const struct pointwise *f, const struct node *node)
{
    const struct fixed_node *n = &f->node[node->number];
    if (node->kind == NODE_FMA) {
        print_fma(file, f, node);
        return;
    }
    for (const char *c = form[node->kind]; *c; c++) switch (*c) {
        case '$': print_operand(file, f, node, *++c - '0'); break;
        case '&': print_shifted(file, f, node, *++c - '0', "aligned"); break;
        case '%': print_shifted(file, f, node, *++c - '0', "narrow"); break;
        case '@': fprintf(file, "%d", n->out); break;
        case '#': fprintf(file, "%d", n->shift[1]); break;
        case '=': fprintf(file, "%d", n->shift[0]); break;
        case '!': fprintf(file, "%d", n->fraction); break;
        default: fputc(*c, file);
        }
}

static void print_input(const struct printer *p, const struct pointwise *f, const struct binding *b)
{
    const struct fixed_node *n = &f->node[b->node->number];
    fprintf(p->file, "        const int32_t %s = ", b->node->input);
    if (b->weights) {
        fprintf(p->file, "%s_%s[u];", f->name, b->node->input);
    } else {
        const struct vector *v = &p->program->vector[b->vector];
        const bool narrows = v->is_sum;
        fputs(narrows ? "narrow(" : "", p->file);
        print_element(p, b);
        if (narrows)
            fprintf(p->file, ", %d)", v->fraction - n->fraction);
        fputs(";", p->file);
    }
    fprintf(p->file, "     /* 2^-%d */\n", n->fraction);
}

static void print_result(const struct printer *p, const struct pointwise *f, const struct binding *b)
{
    const struct node *node = b->node;
    const struct fixed_node *n = &f->node[node->number];
    const int shift = result_shift(p->program, f, b);
    fputs("        ", p->file);
    print_element(p, b);
    fputs(shift ? " = (int16_t)narrow(" : " = (int16_t)", p->file);
    if (n->is_constant)
        fprintf(p->file, "%ld", (long)quantize_number(n->value, n->fraction));
    else if (node->kind == NODE_INPUT)
        fputs(node->input, p->file);
    else
        fprintf(p->file, "t%d", node->number);
    if (shift)
        fprintf(p->file, ", %d)", shift);
    fprintf(p->file, ";     /* 2^-%d */\n", p->program->vector[b->vector].fraction);
}

/* Prints a pointwise function: a loop over units with 16-bit inputs and results. */
static void print_pointwise(const struct printer *p, const struct pointwise *f)
{
    fprintf(p->file, "/* %s, unit by unit, in 16-bit integers; comments give the value of one unit. */\n",
            f->record->name);
    print_pointwise_call(p, f, true);
    fprintf(p->file, "\n{\n    for (int u = 0; u < %u; u++) {\n", f->units);
    for (int i = 0; i < f->inputs; i++)
        if (!f->node[f->input[i].node->number].is_constant)
            print_input(p, f, &f->input[i]);
    for (int i = 0; i < f->record->nodes; i++) {
        if (!is_computed(f, i))
            continue;
        fprintf(p->file, "        const int32_t t%d = ", i);
        print_expression(p->file, f, &f->record->node[i]);
        fprintf(p->file, ";     /* 2^-%d */\n", f->node[i].fraction);
    }
    for (int i = 0; i < f->results; i++) print_result(p, f, &f->result[i]);
    fputs("    }\n}\n\n", p->file);
}

void print_fixed_functions(const struct printer *p)
{
    struct sections s = {{false}};
    for (int i = 0; i < p->program->acts; i++) {
        const struct act *a = &p->program->act[i];
        if (a->pointwise)
            want_pointwise(&s, p->program, a->pointwise);
        else
            want_named(&s, section_of(p->program, a));
    }
    print_sections(p, &s);
    for (int i = 0; i < p->program->acts; i++)
        if (p->program->act[i].pointwise)
            print_pointwise(p, p->program->act[i].pointwise);
}
