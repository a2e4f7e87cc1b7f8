/* The step function of exported C: the list of acts as calls, and what the calls are given. */
#include "export/c99.h"
#include <math.h>
#include <string.h>

/* ---- vectors --------------------------------------------------------------------------- */

static const char *type_of(const struct program *p, const struct vector *v)
{
    return !p->is_integer || v->place == PLACE_CALLER ? "float" : v->is_sum ? "int32_t" : "int16_t";
}

/* As an address. */
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

static const struct vector *from_of(const struct printer *p, const struct act *a)
{
    return &p->program->vector[a->from];
}

static const struct vector *to_of(const struct printer *p, const struct act *a) { return &p->program->vector[a->to]; }

static const struct parameter *weights_of(const struct printer *p, const struct act *a)
{
    return p->program->matrix[a->matrix].parameter;
}

static int number_of(const struct printer *p, const struct act *a) { return (int)(a - p->program->act); }

static void print_bias(const struct printer *p, const struct act *a)
{
    if (!a->bias)
        fputs("NULL", p->file);
    else if (p->program->is_integer)
        fprintf(p->file, "bias_%d", number_of(p, a));
    else
        print_parameter_name(p, a->bias);
    if (a->bias && a->bias_first && !p->program->is_integer)
        fprintf(p->file, " + %u", a->bias_first);
}

static void print_product(const struct printer *p, const struct act *a)
{
    const struct matrix *m = &p->program->matrix[a->matrix];
    fputs("    product(", p->file);
    print_vector(p, to_of(p, a), a->to_first);
    fputs(", ", p->file);
    print_parameter_name(p, m->parameter);
    if (a->row)
        fprintf(p->file, " + %u * %u", a->row, m->width);
    fputs(", ", p->file);
    print_vector(p, from_of(p, a), 0);
    fputs(", ", p->file);
    if (p->program->is_integer)
        fprintf(p->file, "multiplier_%d, ", number_of(p, a));
    print_bias(p, a);
    fprintf(p->file, ", %u, %u, %d", a->count, m->width, a->adds);
    if (p->program->is_integer)
        fprintf(p->file, ", %d", a->shift);
    fputs(");\n", p->file);
}

/* name(to, known ? weights + token * of : NULL, ..: of a column or of a row. */
static void print_of_token(const struct printer *p, const char *name, const struct act *a, uint32_t of)
{
    fprintf(p->file, "    %s(", name);
    print_vector(p, to_of(p, a), a->to_first);
    fputs(", known ? ", p->file);
    print_parameter_name(p, weights_of(p, a));
    fprintf(p->file, " + token * %u : NULL, ", of);
}

static void print_column(const struct printer *p, const struct act *a)
{
    print_of_token(p, "column", a, p->program->matrix[a->matrix].rows);
    if (p->program->is_integer)
        fprintf(p->file, "multiplier_%d, ", number_of(p, a));
    print_bias(p, a);
    fprintf(p->file, ", %u", a->count);
    if (p->program->is_integer)
        fprintf(p->file, ", %d", a->shift);
    fputs(");\n", p->file);
}

static void print_embed(const struct printer *p, const struct act *a)
{
    if (a->matrix < 0) {
        fputs("    one_hot(", p->file);
        print_vector(p, to_of(p, a), 0);
        fprintf(p->file, ", token, %u", a->count);
        if (p->program->is_integer)
            fprintf(p->file, ", %d", to_of(p, a)->fraction);
        fputs(");\n", p->file);
        return;
    }
    print_of_token(p, "embed", a, a->count);
    if (p->program->is_integer)
        fprintf(p->file, "known ? multiplier_%d[token] : 0, ", number_of(p, a));
    fprintf(p->file, "%u", a->count);
    if (p->program->is_integer)
        fprintf(p->file, ", %d", a->shift);
    fputs(");\n", p->file);
}

/* name(to, from, count */
static void print_move(const struct printer *p, const char *name, const struct act *a)
{
    fprintf(p->file, "    %s(", name);
    print_vector(p, to_of(p, a), a->to_first);
    fputs(", ", p->file);
    print_vector(p, from_of(p, a), 0);
    fprintf(p->file, ", %u", a->count);
}

static void print_scaled(const struct printer *p, const char *name, const struct act *a, int power)
{
    print_move(p, name, a);
    fputs(", ", p->file);
    print_float_literal(p->file, ldexp(1, power));
    fprintf(p->file, ");      /* 2^%d */\n", power);
}

static void print_copy(const struct printer *p, const struct act *a)
{
    if (!p->program->is_integer) {
        print_move(p, "memcpy", a);
        fputs(" * sizeof(float));\n", p->file);
        return;
    }
    print_move(p, from_of(p, a)->is_sum ? "copy_sums" : "copy_short", a);
    fprintf(p->file, ", %d);\n", from_of(p, a)->fraction - to_of(p, a)->fraction);
}

static void print_leave(const struct printer *p, const struct act *a)
{
    if (p->program->is_integer)
        print_scaled(p, from_of(p, a)->is_sum ? "leave_sums" : "leave_short", a, -from_of(p, a)->fraction);
    else
        print_copy(p, a);
}

static void print_softmax(const struct printer *p, const struct act *a)
{
    print_move(p, "softmax", a);
    if (p->program->is_integer)
        fprintf(p->file, ", %d", from_of(p, a)->fraction);
    fputs(");\n", p->file);
}

static void print_act(const struct printer *p, const struct act *a)
{
    switch (a->kind) {
    case ACT_ENTER: print_scaled(p, "enter", a, to_of(p, a)->fraction); break;
    case ACT_LEAVE: print_leave(p, a); break;
    case ACT_EMBED: print_embed(p, a); break;
    case ACT_PRODUCT: print_product(p, a); break;
    case ACT_COLUMN: print_column(p, a); break;
    case ACT_POINTWISE: print_pointwise_call(p, a->pointwise, false); break;
    case ACT_SOFTMAX: print_softmax(p, a); break;
    case ACT_COPY: print_copy(p, a); break;
    }
}

/* Before the first act of each layer: what it is. */
static void print_layer_comment(const struct printer *p, int layer)
{
    const struct layer *l = &p->program->model->layer[layer];
    if (!l->cell)
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

void print_step_function(const struct printer *p)
{
    int layer = -1;
    fprintf(p->file, "void %s_step(struct %s *s, %s, float *y)\n{\n", p->prefix, p->prefix,
            p->program->has_tokens ? "int32_t token" : "const float *x");
    if (p->program->has_tokens && uses_token(p->program))
        fprintf(p->file, "    const int known = token >= 0 && token < %s_SYMBOLS;\n", p->upper);
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
