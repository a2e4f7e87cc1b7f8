/* Finds the cell declaration for a name and the chosen options. A variant with fixed activations, which is faster, is
 * preferred. What a cell computes is defined in its own file. */
#include "base/status.h"
#include "model/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the first declaration in the table with this public name, before the variants of the cell, or NULL. */
static const struct cell_declaration *cell_called(const char *name)
{
    for (int i = 0; cells_scalar[i]; i++)
        if (!strcmp(cells_scalar[i]->declaration->called, name))
            return cells_scalar[i]->declaration;
    return NULL;
}

const struct cell_declaration *cell_at(int index)
{
    for (int i = 0, found = 0; cells_scalar[i]; i++) {
        const struct cell_declaration *cell = cells_scalar[i]->declaration;
        if (cell_called(cell->called) == cell && found++ == index)
            return cell;
    }
    return NULL;
}

static const char *cell_name(int index)
{
    const struct cell_declaration *cell = cell_at(index);
    return cell ? cell->called : NULL;
}

const struct cell_declaration *cell_of_module(const char *name, const char *kind)
{
    for (int i = 0; cell_at(i); i++) {
        const struct cell_foreign *f = &cell_at(i)->foreign;
        if (f->name && !strcmp(f->name, name) && (!kind || (f->kind && !strcmp(f->kind, kind))))
            return cell_at(i);
    }
    return NULL;
}

static unroll_status refuse_cell(const char *cell)
{
    char known[256];
    return fail(UNROLL_USAGE, "there is no cell '%s'; fix: choose one of %s", cell ? cell : "",
                list_names(cell_name, known, sizeof known));
}

/* ---- functions ------------------------------------------------------------------------- */

static int activations_chosen(const struct cell_options *o)
{
    int count = 0;
    for (int i = 0; i < CELL_ACTIVATIONS; i++)
        if (o->function[i].kind != ACTIVATION_LINEAR)
            count = i + 1;
    return count;
}

unroll_status check_activation(const struct activation *f, const char *layer)
{
    if (!isfinite(f->alpha) || !isfinite(f->beta))
        return fail(UNROLL_USAGE,
                    "layer '%.64s': %s has alpha = %g and beta = %g, which must be finite; fix: use finite numbers",
                    layer, activation_name(f->kind), (double)f->alpha, (double)f->beta);
    bool rises = f->kind == ACTIVATION_LEAKY_RELU || f->kind == ACTIVATION_ELU;
    if ((rises && !(f->alpha >= 0)) || (f->kind == ACTIVATION_HARD_SIGMOID && !(f->alpha > 0)) ||
        (f->kind == ACTIVATION_SCALED_TANH && f->alpha == 0) ||
        (f->kind == ACTIVATION_THRESHOLDED_RELU && !(f->alpha >= 0)))
        return fail(UNROLL_UNSUPPORTED,
                    "layer '%.64s': %s has alpha = %g, but backward needs a function whose slope follows from its "
                    "value; fix: use a larger alpha",
                    layer, activation_name(f->kind), (double)f->alpha);
    return UNROLL_OK;
}

unroll_status parse_activations(const char *activations, const char *layer, struct cell_options *o)
{
    int count = 0;
    char word[64];
    for (const char *at = activations ? activations : ""; *at; count++) {
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        struct activation f;
        if (count == CELL_ACTIVATIONS || !activation_parse(word, &f) || f.kind == ACTIVATION_SOFTMAX)
            return fail(
                UNROLL_USAGE,
                "layer '%.64s': activations = '%.80s' is not supported because of '%s'; fix: use names such as tanh, "
                "relu and sigmoid",
                layer, activations, word);
        TRY(check_activation(&f, layer));
        if (f.kind == ACTIVATION_LINEAR)
            f = (struct activation){ACTIVATION_AFFINE, 1, 0}; /* linear means: not chosen */
        o->function[count] = f;
        at += length + strspn(at + length, " ");
    }
    return UNROLL_OK;
}

const char *activations_for_users(const struct cell_declaration *cell, const struct cell_options *o)
{
    static _Thread_local char activations[CELL_ACTIVATIONS * 64];
    if (!cell->chooses)
        return NULL;
    activations[0] = 0;
    for (int i = 0; i < cell->activations; i++) {
        char word[64];
        activation_format(&o->function[i], word, sizeof word);
        size_t used = strlen(activations);
        snprintf(activations + used, sizeof activations - used, "%s%s", i ? " " : "", word);
    }
    return activations;
}

static bool has_activations(const struct cell_declaration *cell, const struct cell_options *o)
{
    for (int i = 0; i < cell->activations; i++)
        if (cell->function[i] != o->function[i].kind)
            return false;
    return true;
}

const char *cell_with_own_activations(const struct cell_declaration *cell, const struct cell_options *o)
{
    if (!cell->chooses)
        return cell->called;
    for (int i = 0; cell_at(i); i++)
        if (!strcmp(cell_at(i)->formula, cell->formula) && has_activations(cell_at(i), o))
            return cell_at(i)->called;
    return NULL;
}

/* ---- choosing -------------------------------------------------------------------------- */

/* Returns whether the cell computes what `named` computes with these activations and options. */
static bool computes(const struct cell_declaration *cell, const struct cell_declaration *named, bool peephole,
                     const struct cell_options *o)
{
    if (strcmp(cell->formula, named->formula) || cell->peepholes != peephole)
        return false;
    if (cell->chooses)
        return cell->couples || !o->input_forget;
    return has_activations(cell, o) && (cell->options > 0) == (o->clip > 0) && !o->input_forget;
}

static unroll_status refuse_option(const struct cell_declaration *named, bool peephole, const struct cell_options *o)
{
    const char *option = peephole ? "peepholes" : o->input_forget ? "coupled gates" : "clip", *other = "none";
    for (int i = 0; cells_scalar[i]; i++) {
        const struct cell_declaration *cell = cells_scalar[i]->declaration;
        if (peephole ? cell->peepholes : o->input_forget ? cell->couples : cell->options > 0 || cell->chooses) {
            other = cell->called;
            break;
        }
    }
    return fail(UNROLL_UNSUPPORTED, "the cell '%s' has no %s; fix: leave that out, or use the cell '%s'", named->called,
                option, other);
}

unroll_status find_cell(const char *name, bool peephole, struct cell_options *o, const struct cell_declaration **cell)
{
    const struct cell_declaration *named = name ? cell_called(name) : NULL;
    if (!named)
        return refuse_cell(name);
    int chosen = activations_chosen(o);
    if (chosen && chosen != named->activations)
        return fail(named->activations ? UNROLL_USAGE : UNROLL_UNSUPPORTED,
                    "the cell '%s' has %d activations to choose, not %d; fix: give one activation for each", name,
                    named->activations, chosen);
    for (int i = 0; i < named->activations && !chosen; i++)
        o->function[i] = (struct activation){.kind = named->function[i]};
    *cell = NULL;
    for (int i = 0; cells_scalar[i] && (!*cell || (*cell)->chooses); i++) /* cells with fixed activations are faster */
        if (computes(cells_scalar[i]->declaration, named, peephole, o))
            *cell = cells_scalar[i]->declaration;
    if (!*cell)
        return refuse_option(named, peephole, o);
    if (!(*cell)->chooses)
        memset(o->function, 0, sizeof o->function);
    return UNROLL_OK;
}
