/* The input columns of a network and their checks. The session reads them from a batch. */
#include "base/status.h"
#include "base/utf8.h"
#include "model/model.h"
#include <stdio.h>
#include <string.h>

enum { MAX = 1 << 20 }; /* of a width; the maximum of tokens is 8 times this */

/* ---- looking at columns ---------------------------------------------------------------- */

uint32_t input_width(const unroll_input *c) { return (uint32_t)(c->width ? c->width : c->tokens); }

uint32_t inputs_width(const unroll_input *inputs, int n_inputs)
{
    uint32_t width = 0;
    for (int i = 0; i < n_inputs; i++) width += input_width(&inputs[i]);
    return width;
}

uint32_t model_input(const struct unroll_model *m) { return inputs_width(m->inputs, m->n_inputs); }

int model_token_columns(const struct unroll_model *m)
{
    int columns = 0;
    for (int i = 0; i < m->n_inputs; i++) columns += m->inputs[i].tokens > 0;
    return columns;
}

int model_categories(const struct unroll_model *m, int place)
{
    int i = 0;
    while (!m->inputs[i].tokens || place--) i++;
    return m->inputs[i].tokens;
}

int model_numbers(const struct unroll_model *m)
{
    int numbers = 0;
    for (int i = 0; i < m->n_inputs; i++) numbers += m->inputs[i].tokens ? 0 : m->inputs[i].width;
    return numbers;
}

const char *column_buffer(const struct unroll_model *m, int column, char name[48])
{
    const unroll_input *c = &m->inputs[column];
    snprintf(name, 48, !c->tokens ? "x" : m->n_inputs > 1 ? "tokens.%s" : "tokens", c->name);
    return name;
}

const char *input_called(const struct unroll_model *m, int column, char text[48])
{
    snprintf(text, 48, m->n_inputs > 1 ? ", '%s'" : "", m->inputs[column].name);
    return text;
}

/* ---- checks ---------------------------------------------------------------------------- */

/* Sets the single column that `tokens`, `input` and `embed` describe. */
static unroll_status short_form(const unroll_network *n, unroll_input *c)
{
    TRY(check_range("input", n->input, 1, MAX * 8));
    TRY(check_range("embed", n->embed, 0, MAX));
    if (!n->tokens && (n->embed || n->tied))
        return fail(UNROLL_USAGE, "embed and tied require token inputs; fix: leave them out, or set tokens = 1");
    *c =
        (unroll_input){.size = sizeof *c, .tokens = n->tokens ? n->input : 0, .width = n->tokens ? n->embed : n->input};
    return UNROLL_OK;
}

/* A column of numbers needs no name. */
const char *network_input_name(const unroll_input *c) { return c->name ? c->name : c->tokens ? "" : "numbers"; }

static unroll_status check_name(const unroll_input *inputs, int index, int n_inputs)
{
    const char *name = network_input_name(&inputs[index]);
    if (!inputs[index].name && n_inputs == 1)
        return UNROLL_OK;
    if (!*name || strlen(name) >= sizeof((struct unroll_model *)0)->input_name[0] || !utf8_is_valid(name))
        return fail(UNROLL_USAGE,
                    "input %d: the name of a column must have 1 to %zu bytes of UTF-8; fix: use a short name of "
                    "letters and digits",
                    index, sizeof((struct unroll_model *)0)->input_name[0] - 1);
    for (int i = 0; i < index; i++)
        if (!strcmp(network_input_name(&inputs[i]), name))
            return fail(UNROLL_USAGE, "inputs %d and %d are both named '%s'; fix: give each input a name of its own", i,
                        index, name);
    return UNROLL_OK;
}

/* Checks the name, vocabulary and width of a column; only one column may be numbers. */
static unroll_status check_column(const unroll_input *inputs, int index, int n_inputs)
{
    const unroll_input *c = &inputs[index];
    char what[96];
    TRY(check_name(inputs, index, n_inputs));
    snprintf(what, sizeof what, "input '%s': tokens", network_input_name(c));
    TRY(check_range(what, c->tokens, 0, MAX * 8));
    snprintf(what, sizeof what, "input '%s': width", network_input_name(c));
    TRY(check_range(what, c->width, c->tokens ? 0 : 1, c->tokens ? MAX : MAX * 8));
    if (!c->width && n_inputs > 1)
        return fail(UNROLL_USAGE,
                    "input '%s': one-hot tokens must be the only column of a network; fix: set width > 0 for an "
                    "embedding",
                    c->name);
    for (int i = 0; i < index && !c->tokens; i++)
        if (!inputs[i].tokens)
            return fail(UNROLL_USAGE, "inputs %d and %d are both numeric; fix: combine them into one input", i, index);
    return UNROLL_OK;
}

static unroll_status check_list(const unroll_network *n)
{
    TRY(check_range("n_inputs", n->n_inputs, 1, UNROLL_INPUTS_MAX));
    if (!n->inputs || n->tokens || n->input || n->embed)
        return fail(UNROLL_USAGE,
                    "a list of inputs replaces tokens, input and embed; fix: give either those or the list");
    if (n->n_inputs > 1 && n->embedding && strlen(n->embedding) >= sizeof((struct unroll_model *)0)->input_name[0])
        return fail(
            UNROLL_USAGE,
            "embedding = '%.63s' is longer than %zu bytes, the limit for a network with a list of inputs; fix: use a "
            "short name of letters and digits",
            n->embedding, sizeof((struct unroll_model *)0)->input_name[0] - 1);
    for (int i = 0; i < n->n_inputs; i++) TRY(check_column(n->inputs, i, n->n_inputs));
    if (n->tied && (n->n_inputs > 1 || !n->inputs[0].tokens))
        return fail(UNROLL_USAGE, "tied requires a network with one column of tokens; fix: leave it out");
    return UNROLL_OK;
}

unroll_status inputs_of_network(const unroll_network *n, unroll_input inputs[UNROLL_INPUTS_MAX], int *n_inputs)
{
    *n_inputs = n->n_inputs ? n->n_inputs : 1;
    TRY(n->n_inputs ? check_list(n) : short_form(n, inputs));
    for (int i = 0; i < n->n_inputs; i++) inputs[i] = n->inputs[i];
    if (!(n->input_dropout >= 0 && n->input_dropout < 1))
        return fail(UNROLL_USAGE, "input_dropout = %g is outside 0 <= p < 1; fix: choose a value from 0 to 0.95",
                    (double)n->input_dropout);
    if (n->input_dropout > 0 && !inputs[0].width)
        return fail(UNROLL_USAGE, "input_dropout is not supported for one-hot tokens; fix: set embed > 0");
    return UNROLL_OK;
}
