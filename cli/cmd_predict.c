/* unroll predict: what a model answers to data, in their labels and units: a line each, or a JSON object. */
#include <stdio.h>

#include "console.h"
#include "data.h"
#include "network.h"
#include "options.h"
#include "ranks.h"

/* Non-zero ends it: the reader is gone or the disk is full. */
static int print_answer(void *arg, const char *json, const char *line)
{
    const bool *as_json = arg;
    return puts(*as_json ? json : line) < 0;
}

static unroll_status predict(const struct settings *settings, unroll_model *model)
{
    bool as_json = is_on(settings, OPTION_JSON);
    unroll_dataset *data;
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_predict(model, data, &machine, print_answer, &as_json));
    unroll_dataset_free(data);
    return status;
}

unroll_status cmd_predict(struct settings *settings)
{
    unroll_model *model;
    TRY(network_open(settings, &model));
    unroll_status status = predict(settings, model);
    unroll_model_free(model);
    return status;
}
