#include "inspect.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "console.h"
#include "data.h"
#include "output.h"
#include "run.h"

/* ---- which it is ---- */

static bool has(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", directory, name) < PATH_MAX && exists(path);
}

/* safetensors: the length of the header, 8 bytes, then its JSON. */
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

/* ---- the command that would train ---- */

/* "unroll train sales.csv --time date --task forecast", with what readers were told here. */
static void write_command(const struct settings *s, const char *task, char *text, size_t size)
{
    char word[PATH_MAX];
    size_t at = (size_t)snprintf(text, size, "unroll train %s", as_word(word, sizeof word, text_of(s, OPTION_MODEL)));
    for (int id = 0; id < option_count && at < size; id++)
        if (options[id].of_reader && s->of[id].source > SOURCE_DEFAULT)
            at += (size_t)snprintf(text + at, size - at, " --%s %s", options[id].name,
                                   as_word(word, sizeof word, text_of(s, (enum option_id)id)));
    if (at < size && task)
        snprintf(text + at, size - at, " --task %s", task);
}

/* ---- for people ---- */

/* A value in few characters, without the quotes of JSON where it is a text. */
static void print_value(const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(5));
    printf("%s", json_is_string(value) ? json_string_value(value) : text ? text : "");
    free(text);
}

/* "usually every 31 days" */
static void print_interval(const json_t *interval)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    double seconds = json_number_value(interval);
    size_t i = 0;
    if (!json_is_number(interval))
        return;
    while (i < 3 && seconds < units[i].seconds) i++;
    double count = seconds / units[i].seconds;
    if (count == 1)
        printf(", usually every %s", units[i].name);
    else
        printf(", usually every %.4g %ss", count, units[i].name);
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

/* "label   category of each example, 0 missing, 2 distinct: pos 2,000, neg 1,000" */
static void print_column(const json_t *column)
{
    static const struct {
        const char *key, *before, *after;
    } facts[] = {{"tokens", ", ", ""},      {"distinct", ", ", " distinct"},
                 {"width", ", width ", ""}, {"min", ", from ", ""},
                 {"max", " to ", ""},       {"mean", ", mean ", ""}};
    json_int_t missing = json_integer_value(json_object_get(column, "missing"));
    printf("  %-20s %s of each %s", json_string_value(json_object_get(column, "name")),
           json_string_value(json_object_get(column, "type")), json_string_value(json_object_get(column, "of")));
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
    print_interval(json_object_get(column, "interval_seconds"));
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

static void print_for_people(const json_t *data, const char *task, const char *why, const char *command)
{
    json_t *entry;
    size_t i;
    print_size(data);
    const char *read_as = json_string_value(json_object_get(data, "read_as"));
    if (read_as && *read_as)
        printf("table    %s\n", read_as);
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
        printf("task     none suits: choose what is learned with --task, and what columns are with --column\n");
}

/* ---- all of it ---- */

static unroll_status describe(const struct settings *s, const unroll_dataset *data)
{
    const char *why = "", *task = unroll_task_suggest(data, &why);
    char command[2 * PATH_MAX], *text = NULL;
    TRY(complain_library(unroll_data_describe(data, &text)));
    json_t *described = json_loads(text, 0, NULL);
    free(text);
    if (described == NULL)
        return complain(UNROLL_RESOURCE, "no memory for a description of the data");
    write_command(s, task, command, sizeof command);
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
    TRY(data_open(s, OPTION_MODEL, NULL, &data));
    unroll_status status = describe(s, data);
    unroll_data_free(data);
    return status;
}
