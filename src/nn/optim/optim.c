/* The list of optimizers, generated from their files, and their hyperparameters for the public interface. */
#include "base/sized.h"
#include "nn/optim/optim.h"
#include "base/table.h"
#include "nn/vector/v_f64.h"
#include <math.h>
#include <string.h>

#define OPTIMIZER_USER "nn/optim/optim_declare.h"
#include "nn/optim/optim_table.h"

#define OPTIMIZER_ROW(name) &name##_optimizer,
static const void *const rows[] = {ALL_OPTIMIZERS(OPTIMIZER_ROW)};
static struct table optimizers = TABLE("optimizer", rows);

const struct optimizer *optimizer_at(int index) { return table_at(&optimizers, index); }

unroll_status optimizer_find(const char *name, int *index)
{
    *index = table_find(&optimizers, name ? name : "");
    return *index < 0 ? table_refuse(&optimizers, name ? name : "") : UNROLL_OK;
}

bool optimizer_is_compiled(int index) { return index < optimizers.built_in; }

unroll_status optimizer_add(const struct optimizer *optimizer) { return table_add(&optimizers, optimizer); }

double optimizer_scale(const double *squares, size_t parameters, double weight, double clip)
{
    double sum = 0;
    for (size_t i = 0; i < parameters; i++) sum += squares[i];
    if (!isfinite(sum) || !isfinite(weight) || weight == 0)
        return 0;
    double length = sqrt(sum) / weight;
    return clip > 0 && length > clip ? clip / length / weight : 1 / weight;
}

static const struct optimizer *named(const char *name)
{
    return optimizer_at(table_find(&optimizers, name ? name : ""));
}

const struct hyperparameter *optimizer_hyperparameter(const char *optimizer, int index)
{
    const struct optimizer *o = named(optimizer);
    for (int i = 0; o && index >= 0 && o->hyperparameter[i].name; i++)
        if (i == index)
            return &o->hyperparameter[i];
    return NULL;
}

void unroll_hyperparameters_begin(unroll_hyperparameters *given, size_t size, const char *optimizer)
{
    const struct optimizer *o = named(optimizer);
    unroll_hyperparameters rates = {.size = sizeof rates};
    if (o) {
        rates.optimizer = o->name;
        rates.learning_rate = o->learning_rate;
        for (int i = 0; o->hyperparameter[i].name; i++) rates.hyperparameter[i] = o->hyperparameter[i].standard;
    }
    sized_begin(&rates, sizeof rates, given, size);
}

static _Thread_local const char *asked; /* the optimizer whose names are listed */

static const char *hyperparameter_name(int index)
{
    const struct hyperparameter *h = optimizer_hyperparameter(asked, index);
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
