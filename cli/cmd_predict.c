/* unroll predict: what a model answers to data, in their labels and units: a line each, or a JSON object. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "data.h"
#include "network.h"
#include "options.h"
#include "ranks.h"

struct printer {
    bool as_json;
    int top; /* of the probabilities; 0: all */
};

struct likely {
    const char *name;
    double probability;
};

static int compare_likely(const void *a, const void *b)
{
    const struct likely *left = a, *right = b;
    if (left->probability != right->probability)
        return left->probability > right->probability ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Of an object of probabilities the likeliest, in their order: a list of [label, probability]. */
static json_t *likeliest(json_t *probabilities, size_t top)
{
    size_t count = json_object_size(probabilities), i = 0;
    struct likely *all = malloc((count + 1) * sizeof *all);
    json_t *list = json_array(), *value;
    const char *name;
    if (all) {
        json_object_foreach(probabilities, name, value) all[i++] = (struct likely){name, json_number_value(value)};
        qsort(all, i, sizeof *all, compare_likely);
    }
    for (size_t k = 0; k < i && k < top; k++)
        json_array_append_new(list, json_pack("[sf]", all[k].name, all[k].probability));
    free(all);
    return list;
}

static int print_top(const char *json, int top)
{
    json_t *answer = json_loads(json, 0, NULL), *probabilities = json_object_get(answer, "probabilities");
    if (probabilities) {
        json_t *list = likeliest(probabilities, (size_t)top);
        json_object_del(answer, "probabilities");
        json_object_set_new(answer, "top", list);
    }
    bool printed = answer && json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(8)) == 0;
    json_decref(answer);
    return !printed || putchar('\n') == EOF;
}

/* Non-zero ends it: the reader is gone or the disk is full. */
static int print_answer(void *arg, const char *json, const char *line)
{
    const struct printer *printer = arg;
    if (printer->as_json && printer->top > 0)
        return print_top(json, printer->top);
    return puts(printer->as_json ? json : line) < 0;
}

static unroll_status predict(const struct settings *settings, unroll_model *model)
{
    struct printer printer = {is_on(settings, OPTION_JSON), (int)integer_of(settings, OPTION_TOP_K)};
    unroll_dataset *data;
    if (printer.top > 0 && !printer.as_json)
        return complain(UNROLL_USAGE, "--top-k lists labels with their probabilities, as JSON; fix: give --json too");
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_predict(model, data, &machine, print_answer, &printer));
    unroll_data_free(data);
    if (status == UNROLL_OK)
        say_notes(unroll_last_notes());
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
