/* Step function of exported C: one call for each act, with its arguments. */
#include "convert/c99/c99.h"
#include "model/layer_kind.h"
#include <math.h>

/* ---- vectors --------------------------------------------------------------------------- */

static const char *type_of(const struct program *p, const struct vector *v)
{
    return !p->is_integer || v->place == PLACE_CALLER ? "float" : v->is_sum ? "int32_t" : "int16_t";
}

/* Prints the address of element `first`. */
static void print_vector(const struct printer *p, const struct vector *v, uint32_t first)
{
    const char *pool = p->program->is_integer && v->is_sum ? "sums" : "work";
    if (v->place == PLACE_WORK)
        first += v->offset;
    if (v->place == PLACE_WORK)
        fprintf(p->file, "s->%s", pool);
    else
        fprintf(p->file, "%s%s", v->place == PLACE_STATE ? "s->" : "", v->name);
    if (first)
        fprintf(p->file, " + %u", first);
}

static bool is_written(const struct pointwise *f, int vector)
{
    for (int i = 0; i < f->results; i++)
        if (f->result[i].vector == vector)
            return true;
    return false;
}

static void print_argument(const struct printer *p, const struct pointwise *f, int vector, bool is_head, bool *any)
{
    const struct vector *v = &p->program->vector[vector];
    fputs(*any ? ", " : "", p->file);
    *any = true;
    if (is_head)
        fprintf(p->file, "%s%s *%s", is_written(f, vector) ? "" : "const ", type_of(p->program, v), v->name);
    else
        print_vector(p, v, 0);
}

void print_pointwise_call(const struct printer *p, const struct pointwise *f, bool is_head)
{
    bool any = false, seen[sizeof p->program->vector / sizeof *p->program->vector] = {false};
    fprintf(p->file, "%s%s(", is_head ? "static void " : "    ", f->name);
    for (int i = 0; i < f->inputs + f->results; i++) {
        int vector = i < f->inputs ? f->input[i].vector : f->result[i - f->inputs].vector;
        if (vector == ABSENT_VECTOR || seen[vector])
            continue;
        seen[vector] = true;
        print_argument(p, f, vector, is_head, &any);
    }
    fputs(is_head ? ")" : ");\n", p->file);
}

void print_element(const struct printer *p, const struct binding *b)
{
    if (b->weights)
        print_parameter_name(p, b->weights);
    else if (b->vector != ABSENT_VECTOR)
        fputs(p->program->vector[b->vector].name, p->file);
    else
        print_float_literal(p->file, b->constant);
    if (b->weights || b->vector != ABSENT_VECTOR)
        fprintf(p->file, b->first ? "[%u + u]" : "[u]", b->first);
}

/* ---- acts ------------------------------------------------------------------------------ */

/* Calls for floats and for integers; "$x" is replaced by print_argument_of. */
static const char *const forms[][2] = {
    [ACT_ENTER] = {"", "enter($T, $F, $n, $q);      /* 2^$Q */"},
    [ACT_LEAVE] = {"memcpy($T, $F, $n * sizeof(float));", "leave_$S($T, $F, $n, $e);      /* 2^$E */"},
    [ACT_EMBED] = {"embed($T, $K ? $W + $t * $n : NULL, $n);",
                   "embed($T, $K ? $W + $t * $n : NULL, $K ? $M[$t] : 0, $n, $s);"},
    [ACT_PRODUCT] = {"product($T, $W, $F, $B, $n, $k, $a);", "product($T, $W, $F, $M, $B, $n, $k, $a, $s);"},
    [ACT_COLUMN] = {"column($T, $K ? $W + $t * $r : NULL, $B, $n);",
                    "column($T, $K ? $W + $t * $r : NULL, $M, $B, $n, $s);"},
    [ACT_SOFTMAX] = {"softmax($T, $F, $n);", "softmax($T, $F, $n, $f);"},
    [ACT_POOL] = {"pool_$P($T, $F, $Z, $n);", "pool_max($T, $F, $Z, $n);"},
    [ACT_COPY] = {"memcpy($T, $F, $n * sizeof(float));", "copy_$S($T, $F, $n, $d);"},
};
static const char *const one_hot[2] = {"one_hot($T, $t, $n);", "one_hot($T, $t, $n, $Q);"};

static void print_bias(const struct printer *p, const struct act *a)
{
    if (!a->bias)
        fputs("NULL", p->file);
    else if (p->program->is_integer)
        fprintf(p->file, "bias_%d", (int)(a - p->program->act));
    else
        print_parameter_name(p, a->bias);
    if (a->bias && a->bias_first && !p->program->is_integer)
        fprintf(p->file, " + %u", a->bias_first);
}

static void print_matrix(const struct printer *p, const struct act *a)
{
    const struct matrix *m = &p->program->matrix[a->matrix];
    print_parameter_name(p, m->parameter);
    if (a->row)
        fprintf(p->file, " + %u * %u", a->row, m->width);
}

/* "token", or "token[1]" if there are several. */
static void print_token(const struct printer *p, const char *name, int place)
{
    fprintf(p->file, program_is_of_one_token(p->program) ? "%s" : "%s[%d]", name, place);
}

/* Prints the argument that `letter` stands for. */
static void print_argument_of(const struct printer *p, const struct act *a, char letter)
{
    const struct vector *to = &p->program->vector[a->to], *from = &p->program->vector[a->from < 0 ? a->to : a->from];
    const struct matrix *m = &p->program->matrix[a->matrix < 0 ? 0 : a->matrix];
    switch (letter) {
    case 'T': print_vector(p, to, a->to_first); break;
    case 'F': print_vector(p, from, 0); break;
    case 'P': fputs(a->is_mean ? "mean" : "max", p->file); break;
    case 'Z': print_vector(p, &p->program->vector[a->state], 0); break;
    case 'S': fputs(from->is_sum ? "sums" : "short", p->file); break;
    case 'W': print_matrix(p, a); break;
    case 't': print_token(p, "token", a->token); break;
    case 'K': print_token(p, "known", a->token); break;
    case 'B': print_bias(p, a); break;
    case 'M': fprintf(p->file, "multiplier_%d", (int)(a - p->program->act)); break;
    case 'n': fprintf(p->file, "%u", a->count); break;
    case 'k': fprintf(p->file, "%u", m->width); break;
    case 'r': fprintf(p->file, "%u", m->rows); break;
    case 'a': fprintf(p->file, "%d", a->adds); break;
    case 's': fprintf(p->file, "%d", a->shift); break;
    case 'f': fprintf(p->file, "%d", from->fraction); break;
    case 'd': fprintf(p->file, "%d", from->fraction - to->fraction); break;
    case 'q': print_float_literal(p->file, ldexp(1, to->fraction)); break; /* 1.0 in the fixed-point format */
    case 'Q': fprintf(p->file, "%d", to->fraction); break;
    case 'e': print_float_literal(p->file, ldexp(1, -from->fraction)); break; /* the value of its last bit */
    case 'E': fprintf(p->file, "%d", -from->fraction); break;
    }
}

static void print_act(const struct printer *p, const struct act *a)
{
    if (a->pointwise) {
        print_pointwise_call(p, a->pointwise, false);
        return;
    }
    const bool is_one_hot = a->kind == ACT_EMBED && a->matrix < 0;
    fputs("    ", p->file);
    for (const char *c = (is_one_hot ? one_hot : forms[a->kind])[p->program->is_integer]; *c; c++)
        if (*c == '$')
            print_argument_of(p, a, *++c);
        else
            fputc(*c, p->file);
    fputc('\n', p->file);
}

/* Prints a comment with the layer's kind and widths before its first act. */
static void print_layer_comment(const struct printer *p, int layer)
{
    const struct layer *l = &p->program->model->layer[layer];
    if (!l->cell && !l->kind->is_affine)
        fprintf(p->file, "\n    /* layer %d, '%s': %s, %u -> %u */\n", layer, l->name, l->kind->name, l->input,
                l->outputs);
    else if (!l->cell)
        fprintf(p->file, "\n    /* layer %d, '%s': dense, %u -> %u, %s */\n", layer, l->name, l->input, l->outputs,
                activation_name(l->activation.kind));
    else
        fprintf(p->file, "\n    /* layer %d, '%s': %s, %u -> %u */\n", layer, l->name, l->cell->name, l->input,
                l->outputs);
}

static bool uses_token(const struct program *p)
{
    for (int i = 0; i < p->acts; i++)
        if (p->act[i].kind == ACT_COLUMN || (p->act[i].kind == ACT_EMBED && p->act[i].matrix >= 0))
            return true;
    return false;
}

/* Prints which tokens are in range; each column has its own vocabulary. */
static void print_known(const struct printer *p)
{
    fprintf(p->file, "    const int known[%s_TOKENS] = {", p->upper);
    for (int i = 0; i < p->program->tokens; i++)
        fprintf(p->file, "%stoken[%d] >= 0 && token[%d] < %d", i ? ", " : "", i, i,
                model_categories(p->program->model, i));
    fputs("};\n", p->file);
}

void print_step_head(const struct printer *p)
{
    fprintf(p->file, "void %s_step(struct %s *s", p->prefix, p->prefix);
    if (p->program->tokens)
        fputs(program_is_of_one_token(p->program) ? ", int32_t token" : ", const int32_t *token", p->file);
    fprintf(p->file, "%s, float *y)", p->program->input < 0 ? "" : ", const float *x");
}

void print_step_function(const struct printer *p)
{
    int layer = -1;
    print_step_head(p);
    fputs("\n{\n", p->file);
    if (program_is_of_one_token(p->program) && uses_token(p->program))
        fprintf(p->file, "    const int known = token >= 0 && token < %s_SYMBOLS;\n", p->upper);
    else if (p->program->tokens && uses_token(p->program))
        print_known(p);
    for (int i = 0; i < p->program->acts; i++) {
        const struct act *a = &p->program->act[i];
        if (a->layer > layer)
            print_layer_comment(p, layer = a->layer);
        print_act(p, a);
    }
    fputs("}\n", p->file);
}

bool program_has(const struct program *p, enum act_kind kind)
{
    for (int i = 0; i < p->acts; i++)
        if (p->act[i].kind == kind)
            return true;
    return false;
}
