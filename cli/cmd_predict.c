/* unroll predict: predictions for data, in their labels and units: a line each, a JSON object each, or a csv file. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "data.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "predictions.h"
#include "ranks.h"

struct printer {
    bool as_json;
    int top;                   /* of the probabilities or items; 0: all */
    struct predictions *table; /* NULL: they are printed */
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
    json_t *items = json_object_get(answer, "items");
    while (json_array_size(items) > (size_t)top) json_array_remove(items, json_array_size(items) - 1);
    if (json_is_object(probabilities)) {
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
    if (printer->table) {
        json_t *answer = json_loads(json, 0, NULL);
        predictions_add(printer->table, answer, printer->top);
        json_decref(answer);
        return ferror(printer->table->file);
    }
    if (printer->as_json && printer->top > 0)
        return print_top(json, printer->top);
    return puts(printer->as_json ? json : line) < 0;
}

static unroll_status check_request(const struct settings *s)
{
    const char *target = text_of(s, OPTION_SAVE);
    TRY(output_spares(target, text_of(s, OPTION_DATA)));
    if (target && is_on(s, OPTION_JSON))
        return complain(UNROLL_USAGE, "-o %s is csv, and --json prints objects; fix: give one of them", target);
    if (integer_of(s, OPTION_TOP_K) > 0 && !is_on(s, OPTION_JSON) && target == NULL)
        return complain(UNROLL_USAGE, "--top-k lists labels with their probabilities, as JSON; fix: give --json too");
    return UNROLL_OK;
}

static unroll_status save_table(const struct settings *s, unroll_status status, struct predictions *table)
{
    const char *target = text_of(s, OPTION_SAVE);
    TRY(predictions_end(table, status == UNROLL_OK ? target : NULL));
    if (status == UNROLL_OK)
        say("saved %s", target);
    return status;
}

static unroll_status predict(const struct settings *settings, unroll_model *model, struct predictions *table)
{
    const struct printer printer = {is_on(settings, OPTION_JSON), (int)integer_of(settings, OPTION_TOP_K), table};
    unroll_dataset *data;
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_predict(model, data, &machine, print_answer, (void *)&printer));
    unroll_data_free(data);
    if (status == UNROLL_OK)
        say_notes(unroll_last_notes());
    return status;
}

static unroll_status predict_into_file(const struct settings *settings, unroll_model *model)
{
    struct predictions table;
    TRY(predictions_begin(&table));
    return save_table(settings, predict(settings, model, &table), &table);
}

unroll_status cmd_predict(struct settings *settings)
{
    unroll_model *model;
    TRY(check_request(settings));
    TRY(network_open(settings, &model));
    unroll_status status =
        text_of(settings, OPTION_SAVE) ? predict_into_file(settings, model) : predict(settings, model, NULL);
    unroll_model_free(model);
    return status;
}
