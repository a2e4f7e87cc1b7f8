/* unroll eval: what a model is worth on data: the metrics of its task, and beside them what a naive answer has. */
#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "data.h"
#include "evaluation.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "ranks.h"

/* The details of an evaluation are a JSON object of the task's own, or NULL. */
static unroll_status print(bool json, const unroll_evaluation *found, const char *details)
{
    char line[1024];
    if (!json) {
        evaluation_to_text(found, line, sizeof line);
        puts(line);
        return UNROLL_OK;
    }
    json_t *object = evaluation_to_json(found);
    if (object && details)
        json_object_set_new(object, "details", json_loads(details, 0, NULL));
    return print_json(object);
}

static unroll_status evaluate(const struct settings *settings, unroll_model *model)
{
    unroll_dataset *data;
    unroll_evaluation found;
    char *details = NULL;
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_evaluate(model, data, &machine, &found, &details));
    unroll_data_free(data);
    if (status == UNROLL_OK)
        say_notes(unroll_last_notes());
    if (status == UNROLL_OK)
        status = print(is_on(settings, OPTION_JSON), &found, details);
    free(details);
    return status;
}

unroll_status cmd_eval(struct settings *settings)
{
    unroll_model *model;
    TRY(settings_need(settings, OPTION_MODEL));
    TRY(settings_need(settings, OPTION_DATA));
    TRY(network_open(settings, &model));
    unroll_status status = evaluate(settings, model);
    unroll_model_free(model);
    return status;
}
