/* The list of optimizers, made from their files, and their hyperparameters for users. */
#include "optim/optim.h"
#include "base/status.h"
#include "cells/v/v_f64.h"
#include <math.h>
#include <string.h>

#define OPTIMIZER_USER "optim/optim_declare.h"
#include "optim/optim_table.h"

#define OPTIMIZER_DECLARED(name) &name##_optimizer,
enum {
    MAX_ADDED = 4,
    COMPILED = sizeof(const struct optimizer *[]){ALL_OPTIMIZERS(OPTIMIZER_DECLARED)} / sizeof(void *)
};

static const struct optimizer *optimizers[COMPILED + MAX_ADDED] = {ALL_OPTIMIZERS(OPTIMIZER_DECLARED)};
static int count = COMPILED;

const struct optimizer *optimizer_at(int index) { return index >= 0 && index < count ? optimizers[index] : NULL; }

int optimizer_find(const char *name)
{
    for (int i = 0; name && i < count; i++)
        if (strcmp(optimizers[i]->name, name) == 0)
            return i;
    return -1;
}

bool optimizer_is_compiled(int index) { return index < COMPILED; }

unroll_status optimizer_add(const struct optimizer *optimizer)
{
    if (count == COMPILED + MAX_ADDED)
        return fail(UNROLL_RESOURCE, "no room for the optimizer '%s'", optimizer->name);
    optimizers[count++] = optimizer;
    return UNROLL_OK;
}

const char *unroll_optimizer_name(int index) { return optimizer_at(index) ? optimizer_at(index)->name : NULL; }

const unroll_hyperparameter *unroll_optimizer_hyperparameter(const char *optimizer, int index)
{
    const struct optimizer *o = optimizer_at(optimizer_find(optimizer));
    for (int i = 0; o && index >= 0 && o->hyperparameter[i].name; i++)
        if (i == index)
            return &o->hyperparameter[i];
    return NULL;
}

unroll_hyperparameters unroll_hyperparameters_default(const char *optimizer)
{
    const struct optimizer *o = optimizer_at(optimizer_find(optimizer));
    unroll_hyperparameters rates = {.size = sizeof rates};
    if (!o)
        return rates;
    rates.optimizer = o->name;
    rates.learning_rate = o->learning_rate;
    for (int i = 0; o->hyperparameter[i].name; i++) rates.hyperparameter[i] = o->hyperparameter[i].standard;
    return rates;
}

static _Thread_local const char *asked; /* the optimizer whose names are listed */

static const char *hyperparameter_name(int index)
{
    const unroll_hyperparameter *h = unroll_optimizer_hyperparameter(asked, index);
    return h ? h->name : NULL;
}

unroll_status unroll_hyperparameters_set(unroll_hyperparameters *rates, const char *name, double value)
{
    char known[256];
    asked = rates->optimizer;
    for (int i = 0; hyperparameter_name(i); i++)
        if (!strcmp(hyperparameter_name(i), name)) {
            rates->hyperparameter[i] = value;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "the optimizer %s has no hyperparameter '%.40s'; fix: choose one of %s",
                asked ? asked : "none", name, list_names(hyperparameter_name, known, sizeof known));
}
