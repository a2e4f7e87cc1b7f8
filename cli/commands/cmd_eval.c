/* unroll eval: prints the metrics of a model's task on data, next to those of a naive baseline. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/show/console.h"
#include "cli/options/data.h"
#include "cli/show/evaluation.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "cli/run/ranks.h"

/* details: a JSON object that the task defines, or NULL. */
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
    unroll_evaluation found = {.size = sizeof found};
    char *details = NULL;
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_model_evaluate(model, data, &machine, &found, &details));
    unroll_dataset_free(data);
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
