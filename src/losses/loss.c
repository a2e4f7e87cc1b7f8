/* The list of losses, made from their files. */
#include "losses/loss.h"
#include "base/table.h"
#include "cells/v/v_f64.h"
#include <math.h>
#include <string.h>

#define LOSS_USER "losses/loss_declare.h"
#include "losses/loss_table.h"

#define LOSS_ROW(name) &name##_loss,
static const void *const rows[] = {ALL_LOSSES(LOSS_ROW)};
static struct table losses = TABLE("loss", rows);

const struct loss *loss_at(int index) { return table_at(&losses, index); }

const char *loss_name(int index) { return loss_at(index) ? loss_at(index)->name : "none"; }

const char *unroll_loss_name(int index, const char **about, int *of_classes)
{
    const struct loss *loss = loss_at(index);
    if (loss && of_classes)
        *of_classes = loss->of_classes;
    return table_name(&losses, index, about);
}

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
