/* unroll eval: what a model is worth on data: the metrics of its task, and beside them what a naive answer has. */
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "ranks.h"

static unroll_status print_as_json(const unroll_evaluation *found)
{
    json_t *object = json_object();
    for (int i = 0; i < found->metrics; i++) {
        const unroll_metric *metric = &found->metric[i];
        json_object_set_new(object, metric->name,
                            isnan(metric->value)  ? json_null()
                            : metric->digits == 0 ? json_integer((json_int_t)metric->value)
                                                  : json_real(metric->value));
        if (i == 0)
            json_object_set_new(object, "floor", json_real(found->floor));
    }
    return print_json(object);
}

/* "1.3604 nats (unigrams 3.1052), 1.963 bits per character, .." */
static unroll_status print(bool json, const unroll_evaluation *found)
{
    char text[NUMBER_TEXT];
    if (json)
        return print_as_json(found);
    for (int i = 0; i < found->metrics; i++) {
        printf("%s%s", i ? ", " : "", metric_text(&found->metric[i], text));
        if (i == 0)
            printf(" (%s %.*f)", found->naive, found->metric[0].digits, found->floor);
    }
    putchar('\n');
    return UNROLL_OK;
}

static unroll_status evaluate(const struct settings *settings, unroll_model *model)
{
    unroll_dataset_config config = unroll_dataset_default();
    unroll_dataset *data;
    unroll_evaluation found;
    config.model = model;
    config.reader = text_of(settings, OPTION_READER);
    TRY(complain_library(unroll_dataset_open(text_of(settings, OPTION_DATA), &config, &data)));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = unroll_evaluate(model, data, &machine, &found);
    unroll_dataset_free(data);
    return status == UNROLL_OK ? print(is_on(settings, OPTION_JSON), &found) : complain_library(status);
}

unroll_status cmd_eval(struct settings *settings)
{
    unroll_model *model;
    TRY(settings_need(settings, OPTION_MODEL));
    TRY(settings_need(settings, OPTION_DATA));
    TRY(network_open(text_of(settings, OPTION_MODEL), &model));
    unroll_status status = evaluate(settings, model);
    unroll_model_free(model);
    return status;
}
