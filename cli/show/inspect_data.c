#include "cli/show/inspect.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/show/console.h"
#include "cli/options/data.h"
#include "cli/show/output.h"
#include "cli/run/run.h"

/* ---- model or data ---- */

static bool has(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", directory, name) < PATH_MAX && exists(path);
}

/* Checks for safetensors: 8 bytes with the header's length, then its JSON. */
static bool begins_as_model(const char *path)
{
    uint8_t head[9] = {0};
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof head && head[8] == '{' && get_number(head, 8) < 100000000;
}

bool inspect_is_model(const char *path)
{
    size_t length = strlen(path);
    if (!exists(path) || (length > 12 && strcmp(path + length - 12, ".safetensors") == 0))
        return true;
    if (is_directory(path))
        return has(path, "config.json") || has(path, "ckpt") || has(path, RUN_MODEL);
    return begins_as_model(path);
}

/* ---- the training command ---- */

/* Writes "unroll train sales.csv --time date --task forecast", including the options of readers given here. */
static void write_command(const struct settings *s, const char *task, const char *group, char *text, size_t size)
{
    char word[PATH_MAX];
    size_t at = (size_t)snprintf(text, size, "unroll train %s", as_word(word, sizeof word, text_of(s, OPTION_MODEL)));
    for (int id = 0; id < option_count && at < size; id++)
        if (options[id].of_reader && s->of[id].source > SOURCE_DEFAULT)
            at += (size_t)snprintf(text + at, size - at, " --%s %s", options[id].name,
                                   as_word(word, sizeof word, text_of(s, (enum option_id)id)));
    if (at < size && *group)
        at += (size_t)snprintf(text + at, size - at, " --group %s", as_word(word, sizeof word, group));
    if (at < size && task)
        snprintf(text + at, size - at, " --task %s", task);
}

/* ---- text ---- */

/* Prints a value in few characters; texts without the quotes of JSON. */
static void print_value(const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(5));
    printf("%s", json_is_string(value) ? json_string_value(value) : text ? text : "");
    free(text);
}

static void print_counts(const json_t *counts)
{
    enum { SHOWN = 6 };
    const char *key;
    json_t *count;
    int shown = 0;
    printf(": ");
    json_object_foreach((json_t *)counts, key, count)
    {
        if (shown++ == SHOWN)
            break;
        printf("%s%s %" JSON_INTEGER_FORMAT, shown > 1 ? ", " : "", strcmp(key, "\n") == 0 ? "\\n" : key,
               json_integer_value(count));
    }
    if (shown > SHOWN)
        printf(", ..");
}

/* Prints "label   category of each example, 0 missing, 2 distinct: pos 2,000, neg 1,000". */
static void print_column(const json_t *column)
{
    static const struct {
        const char *key, *before, *after;
    } facts[] = {
        {"tokens", ", ", ""}, {"distinct", ", ", " distinct"},      {"width", ", width ", ""}, {"min", ", from ", ""},
        {"max", " to ", ""},  {"interval", ", usually every ", ""}, {"mean", ", mean ", ""}};
    json_int_t missing = json_integer_value(json_object_get(column, "missing"));
    printf("  %-20s %s of each %s%s", json_string_value(json_object_get(column, "name")),
           json_string_value(json_object_get(column, "type")), json_string_value(json_object_get(column, "of")),
           json_is_true(json_object_get(column, "unaligned")) ? ", unaligned" : "");
    if (missing > 0)
        printf(", %" JSON_INTEGER_FORMAT " missing", missing);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const json_t *value = json_object_get(column, facts[i].key);
        bool is_plain = strcmp(facts[i].key, "width") == 0 && json_integer_value(value) == 1;
        if (value == NULL || json_is_null(value) || is_plain)
            continue;
        printf("%s", facts[i].before);
        print_value(value);
        printf("%s", facts[i].after);
    }
    if (json_object_get(column, "most_frequent"))
        print_counts(json_object_get(column, "most_frequent"));
    putchar('\n');
}

static void print_size(const json_t *data)
{
    const json_t *lengths = json_object_get(data, "lengths");
    const char *group = json_string_value(json_object_get(data, "group")),
               *time = json_string_value(json_object_get(data, "time"));
    char sequences[NUMBER_TEXT], steps[NUMBER_TEXT];
    json_int_t count = json_integer_value(json_object_get(data, "sequences"));
    with_commas(sequences, count);
    with_commas(steps, json_integer_value(json_object_get(data, "steps")));
    printf("read as %s: %s %s of %s steps", json_string_value(json_object_get(data, "reader")), sequences,
           count == 1 ? "sequence" : "sequences", steps);
    if (count > 1)
        printf(" (%" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT " each, mean %.1f)",
               json_integer_value(json_object_get(lengths, "min")), json_integer_value(json_object_get(lengths, "max")),
               json_number_value(json_object_get(lengths, "mean")));
    printf("%s%s%s%s\n", group ? ", one for each value of " : "", group ? group : "", time ? ", ordered by " : "",
           time ? time : "");
}

/* Prints the description of the data as text. */
static void print_for_people(const json_t *data, const char *task, const char *why, const char *command)
{
    json_t *entry;
    size_t i;
    print_size(data);
    const char *read_as = json_string_value(json_object_get(data, "read_as"));
    if (read_as && *read_as)
        printf("table    %s\n", as_options(read_as));
    json_array_foreach(json_object_get(data, "columns"), i, entry) print_column(entry);
    json_array_foreach(json_object_get(data, "first"), i, entry)
    {
        char *text = json_dumps(entry, JSON_COMPACT | JSON_REAL_PRECISION(6));
        printf("%s%s\n", i ? "         " : "begins   ", text ? text : "");
        free(text);
    }
    json_array_foreach(json_object_get(data, "notes"), i, entry)
        printf("note     %s\n", as_options(json_string_value(entry)));
    if (task)
        printf("task     %s: %s\ncommand  %s\n", task, as_options(why), command);
    else
        printf("task     none fits: choose one with --task, and the types of columns with --column\n");
}

/* ---- groups ---- */

/* A column whose values recur may name the sessions of items to recommend: if the task of such groups is that, the data
 * are described as read so. */
static unroll_status group_sessions(const struct settings *s, unroll_dataset **data, char group[NAME_MAX])
{
    static const char words[] = "`group` ";
    const char *at = strstr(unroll_dataset_notes(*data), words), *task;
    unroll_dataset_config config = unroll_dataset_config_default();
    char options[OPTIONS_TEXT];
    unroll_dataset *grouped = NULL;
    if (at == NULL || is_given(s, option_find("group")))
        return UNROLL_OK;
    snprintf(group, NAME_MAX, "%.*s", (int)strcspn(at + strlen(words), " ;,\n"), at + strlen(words));
    data_options(s, false, options);
    const size_t used = strlen(options);
    snprintf(options + used, sizeof options - used, "%sgroup=%s", used ? "," : "", group);
    config.options = options;
    config.reader = text_of(s, OPTION_READER);
    if (unroll_dataset_open(text_of(s, OPTION_MODEL), &config, &grouped) != UNROLL_OK ||
        (task = unroll_task_suggest(grouped, NULL)) == NULL || strcmp(task, "recommend") != 0) {
        unroll_dataset_free(grouped);
        *group = '\0';
        return UNROLL_OK;
    }
    unroll_dataset_free(*data);
    *data = grouped;
    return UNROLL_OK;
}

/* ---- all of it ---- */

/* Prints the description of the data, a task that suits them, and the command that would train. */
static unroll_status describe_inspected(const struct settings *s, const unroll_dataset *data, const char *group)
{
    const char *why = "", *task = unroll_task_suggest(data, &why);
    char command[2 * PATH_MAX], *text = NULL;
    TRY(complain_library(unroll_dataset_describe(data, &text)));
    json_t *described = json_loads(text, 0, NULL);
    free(text);
    if (described == NULL)
        return complain(UNROLL_RESOURCE, "no memory for a description of the data");
    write_command(s, task, group, command, sizeof command);
    if (is_on(s, OPTION_JSON)) {
        json_object_set_new(described, "task", task ? json_string(task) : json_null());
        json_object_set_new(described, "why", json_string(as_options(why)));
        json_object_set_new(described, "command", task ? json_string(command) : json_null());
        return print_json(described);
    }
    print_for_people(described, task, why, command);
    json_decref(described);
    return UNROLL_OK;
}

unroll_status inspect_data(const struct settings *s)
{
    unroll_dataset *data;
    char group[NAME_MAX] = "";
    TRY(data_open(s, OPTION_MODEL, NULL, &data));
    TRY(group_sessions(s, &data, group));
    unroll_status status = describe_inspected(s, data, group);
    unroll_dataset_free(data);
    return status;
}
