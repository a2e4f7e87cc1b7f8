/* Cells by the name that users know and the options they choose: which declaration of the table computes
 * that, the fast one where a common choice has one. Not what a cell computes: that is in its own file. */
#include "base/status.h"
#include "model/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "gru-before" is gru_before. The variants of a cell are options, not names: an lstm with peepholes and a
 * clip is lstm_peephole_clip, a gru whose functions are chosen is gru_any. */
static const char *const variants[] = { "_peephole", "_clip", "_any" };
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool is_variant(const char *name)
{
    for (int i = 0; i < VARIANTS; i++)
        if (strstr(name, variants[i]))
            return true;
    return false;
}

const char *name_for_users(const struct cell_declaration *cell)
{
    static _Thread_local char name[32];
    snprintf(name, sizeof name, "%s", cell->name);
    for (int i = 0; i < VARIANTS; i++) {
        char *variant = strstr(name, variants[i]);
        if (variant)
            *variant = 0;
    }
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

const char *unroll_cell_name(int index)
{
    for (int i = 0, found = 0; cells_scalar[i]; i++)
        if (!is_variant(cells_scalar[i]->declaration->name) && found++ == index)
            return name_for_users(cells_scalar[i]->declaration);
    return NULL;
}

/* In the table; NULL: there is none. */
static const struct cell_declaration *find_variant(const char *cell, bool peephole, const char *variant)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", cell, peephole ? variants[0] : "", variant);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    const struct cell_kernels *found = cell_find(cells_scalar, name);
    return found ? found->declaration : NULL;
}

static unroll_status refuse_cell(const char *cell)
{
    char known[256];
    return fail(UNROLL_USAGE, "there is no cell '%s'; fix: choose one of %s", cell ? cell : "",
                list_names(unroll_cell_name, known, sizeof known));
}

/* ---- functions ------------------------------------------------------------------------- */

/* The functions that a cell's own file has: of its gates, its candidate, its output. */
static const struct own_functions {
    const char *cell;
    int         count;
    enum activation_kind kind[CELL_FUNCTIONS];
} own_functions[] = {
    { "lstm",       3, { ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_TANH } },
    { "gru",        2, { ACTIVATION_SIGMOID, ACTIVATION_TANH } },
    { "gru-before", 2, { ACTIVATION_SIGMOID, ACTIVATION_TANH } },
    { "rnn",        1, { ACTIVATION_TANH } },
    { "rnn-relu",   1, { ACTIVATION_RELU } },
};

static const struct own_functions *functions_of(const char *cell)
{
    for (size_t i = 0; i < sizeof own_functions / sizeof *own_functions; i++)
        if (!strcmp(own_functions[i].cell, cell))
            return &own_functions[i];
    return NULL;
}

static int functions_chosen(const struct cell_options *o)
{
    int count = 0;
    for (int i = 0; i < CELL_FUNCTIONS; i++)
        if (o->function[i].kind != ACTIVATION_LINEAR)
            count = i + 1;
    return count;
}

unroll_status check_activation(const struct activation *f, const char *layer)
{
    if (!isfinite(f->alpha) || !isfinite(f->beta))
        return fail(UNROLL_USAGE, "layer '%.64s': %s with alpha = %g and beta = %g: they must be finite", layer,
                    activation_name(f->kind), (double)f->alpha, (double)f->beta);
    bool rises = f->kind == ACTIVATION_LEAKY_RELU || f->kind == ACTIVATION_ELU;
    if ((rises && !(f->alpha >= 0)) || (f->kind == ACTIVATION_HARD_SIGMOID && !(f->alpha > 0)) ||
        (f->kind == ACTIVATION_SCALED_TANH && f->alpha == 0) || (f->kind == ACTIVATION_THRESHOLDED_RELU &&
                                                                 !(f->alpha >= 0)))
        return fail(UNROLL_UNSUPPORTED,
                    "layer '%.64s': %s with alpha = %g: its slope does not follow from its value", layer,
                    activation_name(f->kind), (double)f->alpha);
    return UNROLL_OK;
}

unroll_status parse_functions(const char *functions, const char *layer, struct cell_options *o)
{
    int count = 0;
    char word[64];
    for (const char *at = functions ? functions : ""; *at; count++) {
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        struct activation f;
        if (count == CELL_FUNCTIONS || !activation_parse(word, &f) || f.kind == ACTIVATION_SOFTMAX)
            return fail(UNROLL_USAGE, "layer '%.64s': '%.80s' are no functions of a cell: '%s'", layer,
                        functions, word);
        TRY(check_activation(&f, layer));
        if (f.kind == ACTIVATION_LINEAR)
            f = (struct activation){ ACTIVATION_AFFINE, 1, 0 };     /* linear means: not chosen */
        o->function[count] = f;
        at += length + strspn(at + length, " ");
    }
    return UNROLL_OK;
}

const char *functions_for_users(const struct cell_declaration *cell, const struct cell_options *o)
{
    static _Thread_local char functions[3 * 64];
    const struct own_functions *own = functions_of(name_for_users(cell));
    if (!own || !strstr(cell->name, "_any"))
        return NULL;
    functions[0] = 0;
    for (int i = 0; i < own->count; i++) {
        char word[64];
        activation_format(&o->function[i], word, sizeof word);
        size_t used = strlen(functions);
        snprintf(functions + used, sizeof functions - used, "%s%s", i ? " " : "", word);
    }
    return functions;
}

/* ---- choosing -------------------------------------------------------------------------- */

/* "rnn" with relu is "rnn-relu", and the other way round. */
static const char *rename_rnn(const char *name, const struct cell_options *o)
{
    if (strcmp(name, "rnn") && strcmp(name, "rnn-relu"))
        return name;
    return o->function[0].kind == ACTIVATION_RELU ? "rnn-relu" : o->function[0].kind == ACTIVATION_TANH
        ? "rnn" : name;
}

/* Chosen functions that are the cell's own count as not chosen. */
static unroll_status compare_functions(const char *name, const struct own_functions *own,
                                       const struct cell_options *o,
                                       bool *same)
{
    int chosen = functions_chosen(o);
    if (chosen && (!own || chosen != own->count))
        return fail(own ? UNROLL_USAGE : UNROLL_UNSUPPORTED,
                    "the cell '%s' has %d functions to choose, not %d", name,
                    own ? own->count : 0, chosen);
    *same = true;
    for (int i = 0; i < chosen; i++)
        *same = *same && o->function[i].kind == own->kind[i];
    return UNROLL_OK;
}

/* The cell of any functions: rnn-relu is rnn_any with relu. Those not chosen become the cell's own. */
static const struct cell_declaration *find_any(const char *name, const struct own_functions *own,
                                               bool peephole,
                                               struct cell_options *o)
{
    if (!own || (o->coupled && strcmp(name, "lstm")))
        return NULL;
    if (!functions_chosen(o))
        for (int i = 0; i < own->count; i++)
            o->function[i] = (struct activation){ .kind = own->kind[i] };
    return find_variant(strcmp(name, "rnn-relu") ? name : "rnn", peephole, "_any");
}

unroll_status find_cell(const char *name, bool peephole, struct cell_options *o,
                        const struct cell_declaration **cell)
{
    bool same;
    if (!name || is_variant(name) || strchr(name, '_') || !find_variant(name, false, ""))
        return refuse_cell(name);
    name = rename_rnn(name, o);
    const struct own_functions *own = functions_of(name);
    TRY(compare_functions(name, own, o, &same));
    *cell = same && !o->coupled ? find_variant(name, peephole, o->clip > 0 ? "_clip" : "") : NULL;
    if (*cell)
        memset(o->function, 0, sizeof o->function);
    else
        *cell = find_any(name, own, peephole, o);
    if (!*cell)
        return fail(UNROLL_UNSUPPORTED, "the cell '%s' has no %s; the lstm has", name,
                    peephole ? "peepholes" : o->coupled ? "coupled gates" : "clip");
    return UNROLL_OK;
}
