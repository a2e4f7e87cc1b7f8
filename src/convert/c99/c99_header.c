/* Header of exported C: description, cost, sizes, the struct, the functions. */
#include "convert/c99/c99.h"
#include "convert/c99/estimate.h"
#include "model/layer_kind.h"

/* Lists the input columns in the order of the arguments. Names are escaped, because they may contain a comment's
 * end. */
static void print_columns(const struct printer *p)
{
    const struct unroll_model *m = p->program->model;
    int place = 0;
    for (int i = 0; i < m->n_inputs; i++) {
        const unroll_input *c = &m->inputs[i];
        if (c->tokens)
            fprintf(p->file, " *     token[%d], '", place++);
        else
            fprintf(p->file, " *     x [%d], '", c->width);
        for (const char *at = c->name; *at; at++) fputc(letter_of_c(*at), p->file);
        if (c->tokens)
            fprintf(p->file, "': one of %d, embedding %d\n", c->tokens, c->width);
        else
            fputs("'\n", p->file);
    }
    fputs(" *     concatenated", p->file);
}

/* Prints the network's layers and widths into the header's comment. */
static void print_network(const struct printer *p)
{
    const struct unroll_model *m = p->program->model;
    if (m->n_inputs > 1)
        print_columns(p);
    else if (m->tokens)
        fprintf(p->file, " *     token, one of %d", m->input);
    else
        fprintf(p->file, " *     x [%d]", m->input);
    if (m->embed)
        fprintf(p->file, " -> embedding %d", m->embed);
    for (int i = 0; i < m->layers; i++) {
        const struct layer *l = &m->layer[i];
        const bool is_dense = !l->cell;
        fprintf(p->file, "%s%s %u", i % 5 == 4 ? "\n *         -> " : " -> ", is_dense ? l->kind->name : l->cell->name,
                l->outputs);
        if (is_dense && l->activation.kind != ACTIVATION_LINEAR)
            fprintf(p->file, " %s", activation_name(l->activation.kind));
    }
    fputs("\n *\n", p->file);
}

/* Prints the arithmetic and its limits into the header's comment. */
static void print_arithmetic(const struct printer *p)
{
    if (p->program->is_integer) {
        const struct vector *x = p->program->input < 0 ? NULL : &p->program->vector[p->program->act[0].to];
        fputs(
            " * Arithmetic: int8 weights with one scale per row, 16-bit values, exact 32-bit sums; floats only for inputs\n"
            " * and outputs. All operations saturate. Results are identical to unroll_integer_step.",
            p->file);
        if (x)
            fprintf(p->file,
                    " Inputs are\n * rounded to multiples of 2^%d; values outside +-2^%d saturate, NaN becomes 0.",
                    -x->fraction, 15 - x->fraction);
        fputs("\n", p->file);
    } else {
        fputs(
            " * Arithmetic: fp32, bit-identical to unroll_stream_step if no value is denormal. Uses fused multiply-adds;\n"
            " * the compiler must not contract others (-ffp-contract=off, or -std=c99 with gcc). Inputs are not\n"
            " * checked: a NaN stays in the states until they are reset.\n",
            p->file);
    }
}

static void print_cost(const struct printer *p)
{
    const struct estimate e = program_estimate(p->program);
    fprintf(p->file,
            " *\n * Flash: %llu bytes of weights, %llu of tables, about %llu of code. "
            "RAM: %llu bytes of states, %llu of work.\n"
            " * A step: %llu multiply-accumulates, %llu pointwise operations, %llu sigmoids and similar functions; "
            "about\n *    ",
            (unsigned long long)e.weights, (unsigned long long)e.tables, (unsigned long long)e.code,
            (unsigned long long)e.state, (unsigned long long)e.work, (unsigned long long)e.products,
            (unsigned long long)e.operations, (unsigned long long)e.functions);
    for (int core = 0; core < CORES; core++)
        fprintf(p->file, "%s %.3g cycles on a %s", core ? "," : "", e.cycles[core], core_names[core]);
    fputs(".\n */\n", p->file);
}

static void print_struct(const struct printer *p)
{
    const struct program *program = p->program;
    fprintf(p->file,
            "/* All state of the network. The caller allocates it; a copy continues independently. */\n"
            "struct %s {\n",
            p->prefix);
    for (int i = 0; i < program->vectors; i++)
        if (program->vector[i].place == PLACE_STATE)
            fprintf(p->file, "    %s %s[%u];\n", program->is_integer ? "int16_t" : "float", program->vector[i].name,
                    program->vector[i].size);
    if (program->work[0])
        fprintf(p->file, "    %s[%u];     /* scratch of one step */\n",
                program->is_integer ? "int32_t sums" : "float work", program->work[0]);
    if (program->work[1])
        fprintf(p->file, "    int16_t work[%u];\n", program->work[1]);
    fputs("};\n\n", p->file);
}

/* Prints the prototypes with their comments. */
static void print_functions(const struct printer *p)
{
    const char *n = p->prefix;
    fprintf(p->file,
            "void %s_init(struct %s *s);        /* all zeros: before the first step */\n"
            "void %s_reset(struct %s *s);       /* sets the states to zero, for a new sequence */\n\n",
            n, n, n, n);
    fprintf(p->file, "/* One step: y [%s_OUTPUTS] from ", p->upper);
    if (program_is_of_one_token(p->program))
        fprintf(p->file, "a token 0 .. %s_SYMBOLS - 1; any other value means no token.", p->upper);
    else if (p->program->tokens)
        fprintf(p->file, "tokens [%s_TOKENS] (a value outside its column's range means no token)", p->upper);
    if (!program_is_of_one_token(p->program))
        fprintf(p->file, p->program->input < 0 ? "." : "%sx [%s_INPUTS]. They must not overlap.",
                p->program->tokens ? ", and " : "", p->upper);
    fputs(" */\n", p->file);
    print_step_head(p);
    fputs(";\n", p->file);
}

static void print_symbol_table(const struct printer *p)
{
    if (p->program->model->symbol)
        fprintf(p->file,
                "/* The text of each token, in UTF-8. */\n"
                "extern const char *const %s_symbol[%s_SYMBOLS];\n\n",
                p->prefix, p->upper);
}

/* Prints the whole header. */
void print_header(const struct printer *p)
{
    const struct program *program = p->program;
    const uint32_t outputs = program->vector[program->output].size;
    fprintf(p->file,
            "/* %s.h: a recurrent network, one step at a time, without a library. Written by `unroll export`,\n"
            " * Unroll %s; see docs/howto/microcontrollers.md.\n *\n",
            p->prefix, unroll_version());
    print_network(p);
    print_arithmetic(p);
    print_cost(p);
    fprintf(p->file,
            "#ifndef %s_H\n#define %s_H\n#include <stdint.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
            p->upper, p->upper);
    if (program_is_of_one_token(program))
        fprintf(p->file, "#define %s_SYMBOLS %d\n", p->upper, program->model->input);
    else if (program->tokens)
        fprintf(p->file, "#define %s_TOKENS %d\n", p->upper, program->tokens);
    if (program->input >= 0)
        fprintf(p->file, "#define %s_INPUTS %u\n", p->upper, program->vector[program->input].size);
    fprintf(p->file, "#define %s_OUTPUTS %u\n\n", p->upper, outputs);
    print_struct(p);
    print_symbol_table(p);
    print_functions(p);
    fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", p->file);
}
