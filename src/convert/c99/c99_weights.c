/* Weights as C constants: exact floats, or integers with their scales. */
#include "base/point.h"
#include "convert/c99/c99.h"
#include <math.h>
#include <string.h>

enum { PER_LINE = 8, INTEGERS_PER_LINE = 20 };

enum { WORD = sizeof((struct parameter *)0)->name + 1 };

/* Turns a parameter's name into an identifier: "rnn.weight_ih_l0" becomes rnn_weight_ih_l0, "0.weight" p0_weight. */
static void word_of_parameter(const struct parameter *q, char word[WORD])
{
    if (*q->name >= '0' && *q->name <= '9')
        *word++ = 'p';
    for (const char *c = q->name; *c; c++) *word++ = letter_of_c(*c);
    *word = '\0';
}

/* Parameters whose names map to the same identifier get their number appended, except the first. */
void print_parameter_name(const struct printer *p, const struct parameter *q)
{
    char word[WORD], other[WORD];
    int number = -1;
    word_of_parameter(q, word);
    do word_of_parameter(&p->program->model->parameter[++number], other);
    while (strcmp(word, other));
    const int own = (int)(q - p->program->model->parameter);
    fputs(word, p->file);
    if (number < own)
        fprintf(p->file, "_%d", own);
}

/* Nine digits identify a float exactly. */
void print_float_literal(FILE *file, double value)
{
    char text[48];
    if (isnan(value) || isinf(value)) {
        fputs(isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY", file);
        return;
    }
    const locale_t before = point_begin();
    snprintf(text, sizeof text, "%.9g", value);
    point_end(before);
    fprintf(file, "%s%sf", text, strpbrk(text, ".e") ? "" : ".0");
}

static void separate(FILE *file, size_t i, size_t count, int per_line)
{
    if (i + 1 < count)
        fputs((i + 1) % (size_t)per_line ? ", " : ",\n    ", file);
}

/* ---- floats ---------------------------------------------------------------------------- */

static void print_floats(const struct printer *p, const struct parameter *q, const float *values, uint32_t rows,
                         uint32_t width, bool by_columns)
{
    const size_t count = (size_t)rows * width;
    fputs("static const float ", p->file);
    print_parameter_name(p, q);
    if (width > 1)
        fprintf(p->file, "[%u * %u] = {%s\n    ", by_columns ? width : rows, by_columns ? rows : width,
                by_columns ? "       /* stored by columns */" : "");
    else
        fprintf(p->file, "[%u] = {\n    ", rows);
    for (size_t i = 0; i < count; i++) {
        size_t at = by_columns ? i % rows * width + i / rows : i;
        print_float_literal(p->file, (double)values[at]);
        separate(p->file, i, count, PER_LINE);
    }
    fputs("\n};\n\n", p->file);
}

static void print_float_weights(const struct printer *p)
{
    const struct unroll_model *model = p->program->model;
    for (int i = 0; i < model->parameters; i++) {
        const struct parameter *q = &model->parameter[i];
        const struct matrix *m = NULL;
        for (int k = 0; k < p->program->matrices; k++)
            if (p->program->matrix[k].parameter == q)
                m = &p->program->matrix[k];
        print_floats(p, q, parameter_values(p->program, q), m ? m->rows : (uint32_t)q->count, m ? m->width : 1,
                     m && m->by_columns);
    }
}

/* ---- integers -------------------------------------------------------------------------- */

static void print_integers(const struct printer *p, const int32_t *values, size_t count)
{
    fprintf(p->file, "[%zu] = {\n    ", count);
    for (size_t i = 0; i < count; i++) {
        fprintf(p->file, "%ld", (long)values[i]);
        separate(p->file, i, count, INTEGERS_PER_LINE / 2);
    }
    fputs("\n};\n\n", p->file);
}

static void print_int8_matrix(const struct printer *p, const struct matrix *m)
{
    const size_t count = (size_t)m->rows * m->width;
    fputs("static const int8_t ", p->file);
    print_parameter_name(p, m->parameter);
    fprintf(p->file, "[%u * %u] = {%s\n    ", m->by_columns ? m->width : m->rows, m->by_columns ? m->rows : m->width,
            m->by_columns ? "       /* stored by columns */" : "");
    for (size_t i = 0; i < count; i++) {
        fprintf(p->file, "%d", m->q[m->by_columns ? i % m->rows * m->width + i / m->rows : i]);
        separate(p->file, i, count, INTEGERS_PER_LINE);
    }
    fputs("\n};\n\n", p->file);
}

/* Prints the constants of an act; their names contain its number. */
static void print_act_constants(const struct printer *p, int number)
{
    const struct act *a = &p->program->act[number];
    size_t rows = a->kind == ACT_EMBED ? p->program->matrix[a->matrix].rows : a->count;
    fprintf(p->file, "static const int32_t multiplier_%d", number);
    print_integers(p, a->multiplier, rows);
    if (!a->bias_q)
        return;
    fprintf(p->file, "static const int32_t bias_%d", number);
    print_integers(p, a->bias_q, rows);
}

/* Prints per-unit weights, such as peepholes, as 16-bit integers. */
static void print_unit_weights(const struct printer *p, const struct act *a)
{
    for (int i = 0; a->pointwise && i < a->pointwise->inputs; i++) {
        const struct binding *b = &a->pointwise->input[i];
        const struct fixed_node *n = &a->pointwise->node[b->node->number];
        if (!b->weights || n->is_constant) /* all units have the same value, which is printed where it is used */
            continue;
        const float *values = parameter_values(p->program, b->weights) + b->first;
        fprintf(p->file, "static const int16_t %s_%s[%u] = {\n    ", a->pointwise->name, b->node->input, a->count);
        for (uint32_t u = 0; u < a->count; u++) {
            fprintf(p->file, "%ld", (long)quantize_number((double)values[u], n->fraction));
            separate(p->file, u, a->count, INTEGERS_PER_LINE);
        }
        fputs("\n};\n\n", p->file);
    }
}

/* Prints a string literal. Other bytes are escaped as three octal digits, so that following digits are not included. */
static void print_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || *text == '?' || *text < ' ' || *text > '~')
            fprintf(file, "\\%03o", (unsigned)(unsigned char)*text);
        else
            fputc(*text, file);
    fputc('"', file);
}

void print_symbols(const struct printer *p)
{
    const struct unroll_model *m = p->program->model;
    if (!m->symbol)
        return;
    fprintf(p->file, "const char *const %s_symbol[%s_SYMBOLS] = {\n    ", p->prefix, p->upper);
    for (int i = 0; i < m->input; i++) {
        print_string(p->file, m->symbol[i]);
        separate(p->file, (size_t)i, (size_t)m->input, 2 * PER_LINE);
    }
    fputs("\n};\n\n", p->file);
}

void print_weights(const struct printer *p)
{
    if (!p->program->is_integer) {
        print_float_weights(p);
        return;
    }
    for (int i = 0; i < p->program->matrices; i++) print_int8_matrix(p, &p->program->matrix[i]);
    for (int i = 0; i < p->program->acts; i++) {
        if (p->program->act[i].multiplier)
            print_act_constants(p, i);
        print_unit_weights(p, &p->program->act[i]);
    }
}
