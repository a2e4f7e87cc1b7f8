/* The list of losses, generated from their files, and the choice of one. */
#include "nn/losses/loss.h"
#include "base/number.h"
#include "base/table.h"
#include "nn/vector/v_f64.h"
#include "nn/losses/distribution.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOSS_USER "nn/losses/loss_declare.h"
#include "nn/losses/loss_table.h"

#define LOSS_ROW(name) &name##_loss,
static const void *const rows[] = {ALL_LOSSES(LOSS_ROW)};
static struct table losses = TABLE("loss", rows);

const struct loss *loss_at(int index) { return table_at(&losses, index); }

unroll_status loss_find(const char *name, int *index)
{
    *index = LOSS_NONE;
    if (!name || !strcmp(name, "none"))
        return UNROLL_OK;
    *index = table_find(&losses, name);
    return *index < 0 ? table_refuse(&losses, name) : UNROLL_OK;
}

bool loss_is_compiled(int index) { return index < losses.built_in; }

unroll_status loss_add(const struct loss *loss) { return table_add(&losses, loss); }

/* ---- choosing --------------------------------------------------------------------------- */

static unroll_status refuse_levels(const char *text)
{
    return fail(
        UNROLL_USAGE,
        "`loss` = '%.80s': the levels must be at most %d increasing numbers between 0 and 1; fix: use levels such as "
        "0.1,0.5,0.9",
        text, (int)LOSS_LEVELS_MAX);
}

/* Reads increasing levels between 0 and 1, separated by commas. */
static unroll_status read_levels(const char *text, const char *levels, struct loss_choice *c)
{
    const char *at = levels;
    double level;
    for (;; at++) {
        if (c->levels == LOSS_LEVELS_MAX || number_real(&at, 0, 1, &level) != NUMBER_OK)
            return refuse_levels(text);
        c->level[c->levels++] = (float)level;
        if (!((double)c->level[c->levels - 1] > (c->levels > 1 ? (double)c->level[c->levels - 2] : 0) &&
              c->level[c->levels - 1] < 1))
            return refuse_levels(text);
        if (*at != ',')
            break;
    }
    return *at ? refuse_levels(text) : UNROLL_OK;
}

static void write_text(struct loss_choice *c, const char *name)
{
    size_t size = (size_t)snprintf(c->text, sizeof c->text, "%s", name);
    for (int i = 0; i < c->levels; i++)
        size += (size_t)snprintf(c->text + size, sizeof c->text - size, "%s%.7g", i ? "," : ":", (double)c->level[i]);
}

unroll_status loss_choose(const char *text, struct loss_choice *c)
{
    char name[64];
    const char *colon = text ? strchr(text, ':') : NULL;
    snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - text) : 63, text ? text : "none");
    *c = (struct loss_choice){.results = 1};
    TRY(loss_find(name, &c->index));
    const struct loss *loss = loss_at(c->index);
    const char *levels = colon ? colon + 1 : loss ? loss->levels : NULL;
    if (colon && !(loss && loss->levels))
        return fail(UNROLL_USAGE, "`loss` = '%.80s': '%s' has no levels; fix: set `loss` = '%s'", text, name, name);
    if (levels)
        TRY(read_levels(text, levels, c));
    if (loss)
        c->results = (loss->results ? loss->results : 1) * (c->levels ? c->levels : 1);
    write_text(c, name);
    return UNROLL_OK;
}

/* ---- predictions ------------------------------------------------------------------------ */

double loss_quantile(const struct loss_choice *c, const float *results, double q)
{
    const struct loss *loss = loss_at(c->index);
    return loss && loss->quantile && q > 0 && q < 1 ? loss->quantile(c, results, q) : NAN;
}

double loss_estimate(const struct loss_choice *c, const float *results)
{
    const struct loss *loss = loss_at(c->index);
    return loss && loss->estimate ? loss->estimate(c, results) : first_result(c, results);
}
