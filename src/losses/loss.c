/* The list of losses, made from their files. */
#include "losses/loss.h"
#include "cells/v/v_f64.h"
#include <string.h>

#define LOSS_USER "losses/loss_declare.h"
#include "losses/loss_table.h"

#define LOSS_ROW(name) &name##_loss,
enum { MOST_ADDED = 4, COMPILED = sizeof (const struct loss *[]){ ALL_LOSSES(LOSS_ROW) } / sizeof (void *) };

static const struct loss *losses[COMPILED + MOST_ADDED + 1] = { ALL_LOSSES(LOSS_ROW) };
static int count = COMPILED;

const struct loss *loss_at(int index)
{
    return index >= 0 && index < count ? losses[index] : NULL;
}

const char *loss_name(int index)
{
    return loss_at(index) ? loss_at(index)->name : "none";
}

const char *unroll_loss_name(int index, const char **about, int *of_classes)
{
    const struct loss *loss = loss_at(index);
    if (loss && about)
        *about = loss->about;
    if (loss && of_classes)
        *of_classes = loss->of_classes;
    return loss ? loss->name : NULL;
}

static const char *name_at(int index)
{
    return unroll_loss_name(index, NULL, NULL);
}

unroll_status loss_find(const char *name, int *index)
{
    char known[128];
    *index = LOSS_NONE;
    if (!name || !strcmp(name, "none"))
        return UNROLL_OK;
    for (int i = 0; i < count; i++)
        if (!strcmp(losses[i]->name, name)) {
            *index = i;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "loss = '%.40s': choose one of none, %s", name, list_names(name_at, known, sizeof known));
}

bool loss_is_compiled(int index)
{
    return index < COMPILED;
}

unroll_status loss_add(const struct loss *loss)
{
    if (count == COMPILED + MOST_ADDED)
        return fail(UNROLL_RESOURCE, "there are %d losses already", count);
    losses[count++] = loss;
    return UNROLL_OK;
}
