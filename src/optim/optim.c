/* The list of optimizers, made from their files. */
#include "optim/optim.h"
#include "cells/v/v_f64.h"
#include <string.h>

#define OPTIMIZER_USER "optim/optim_declare.h"
#include "optim/optim_table.h"

static const struct optimizer *const optimizers[] = {
#define OPTIMIZER_DECLARED(name) &name##_optimizer,
    ALL_OPTIMIZERS(OPTIMIZER_DECLARED)
};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

const struct optimizer *optimizer_at(int index)
{
    return index >= 0 && index < OPTIMIZERS ? optimizers[index] : NULL;
}

int optimizer_find(const char *name)
{
    for (int i = 0; i < OPTIMIZERS; i++)
        if (strcmp(optimizers[i]->name, name) == 0)
            return i;
    return -1;
}
