/* unroll inspect RUN: the task of a run, its columns, labels and scores, and the command to type next. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/run/run.h"
#include "cli/show/console.h"
#include "cli/show/curves.h"
#include "cli/show/inspect.h"
#include "cli/show/output.h"

enum { SHOWN = 12 };

static void print_fact(const char *name, const char *text)
{
    if (text && *text)
        printf("%-15s%s\n", name, text);
}

/* "date time, store category (4), sales number": those of the data that the model reads or learns. */
static void print_columns(const json_t *data)
{
    static const char *const of_numbers = "numbers";
    const json_t *column;
    size_t i;
    json_array_foreach(json_object_get(data, "columns"), i, column)
    {
        const char *type = json_string_value(json_object_get(column, "type"));
        const size_t entries = json_array_size(json_object_get(column, "vocabulary"));
        printf("%-15s%s %s", i ? "" : "columns", json_string_value(json_object_get(column, "name")),
               type && strcmp(type, of_numbers) == 0 ? "number"
               : type                                ? type
                                                     : "");
        if (entries)
            printf(" (%zu)", entries);
        puts(json_is_true(json_object_get(column, "target")) ? ", predicted" : "");
    }
    print_fact("group", json_string_value(json_object_get(data, "group")));
    print_fact("time", json_string_value(json_object_get(data, "time")));
}

static void print_list(const char *name, const json_t *texts)
{
    const json_t *text;
    size_t i;
    if (json_array_size(texts) == 0)
        return;
    printf("%-15s%zu:", name, json_array_size(texts));
    json_array_foreach(texts, i, text) if (i < SHOWN) printf("%s %s", i ? "," : "", json_string_value(text));
    puts(json_array_size(texts) > SHOWN ? ", .." : "");
}

static void print_task(const json_t *task)
{
    static const char *const numbers[] = {"season", "horizon", "threshold"};
    print_list("targets", json_object_get(task, "targets"));
    print_list("labels", json_object_get(task, "labels"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *number = json_object_get(task, numbers[i]);
        if (json_is_number(number))
            printf("%-15s%.6g\n", numbers[i], json_number_value(number));
    }
}

/* The best validation and the test of the run that the model is from. */
static void print_scores(const char *run)
{
    char path[PATH_MAX], value[NUMBER_TEXT];
    struct curves curves;
    if (snprintf(path, sizeof path, "%s/metrics.jsonl", run) >= PATH_MAX || !exists(path) ||
        curves_read(run, AXIS_STEP, &curves) != UNROLL_OK)
        return;
    if (curves.best >= 0 && *curves.metric)
        printf("%-15s%s %s at step %lld\n", "validation", curves.metric,
               metric_number(curves_best_value(&curves), 4, value), (long long)curves.best);
    curves_free(&curves);
    json_t *details =
        snprintf(path, sizeof path, "%s/" RUN_DETAILS, run) < PATH_MAX ? json_load_file(path, 0, NULL) : NULL;
    print_fact("test", json_string_value(json_object_get(details, "test")));
    json_decref(details);
}

static void print_next(const char *run, const unroll_model *model, const json_t *task)
{
    char word[PATH_MAX], path[PATH_MAX], data[PATH_MAX] = "DATA";
    json_t *config =
        snprintf(path, sizeof path, "%s/config.json", run) < PATH_MAX ? json_load_file(path, 0, NULL) : NULL;
    const char *known = json_string_value(json_object_get(config, "data"));
    if (known)
        as_word(data, sizeof data, known);
    as_word(word, sizeof word, run);
    const bool predicts = unroll_model_can_predict(model) && json_integer_value(json_object_get(task, "known")) == 0;
    if (predicts)
        printf("%-15sunroll predict %s %s -o predictions.csv\n", "next", word, data);
    else if (unroll_model_can_sample(model))
        printf("%-15sunroll sample %s\n", "next", word);
    printf("%-15sunroll eval %s %s\n\n", predicts || unroll_model_can_sample(model) ? "" : "next", word, data);
    json_decref(config);
}

void inspect_task(const struct settings *settings, const unroll_model *model)
{
    const char *run = text_of(settings, OPTION_MODEL), *text = unroll_model_schema(model);
    json_t *schema = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *task = json_object_get(schema, "task");
    const char *name = json_string_value(json_object_get(task, "name"));
    if (name || unroll_model_can_sample(model)) {
        print_fact("task", name ? name : "lm");
        print_columns(json_object_get(schema, "data"));
        print_task(task);
        print_scores(run);
        print_next(run, model, task);
    }
    json_decref(schema);
}
