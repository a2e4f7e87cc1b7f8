#include "predictions.h"

#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "output.h"

/* ---- the columns of a prediction: name -> a value, or a list with one for each row ---- */

static bool is_listed(const char *key, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(key, *list) == 0)
            return true;
    return false;
}

static void put_named(json_t *columns, const char *name, size_t number, json_t *value)
{
    char text[256];
    snprintf(text, sizeof text, "%s_%zu", name, number);
    json_object_set(columns, text, value);
}

/* load, load_0.1, load_0.9: the forecast and the ends of its interval. */
static void put_forecasts(json_t *columns, const json_t *answer)
{
    const json_t *levels = json_object_get(answer, "levels");
    const size_t count = json_array_size(levels);
    const char *name;
    char text[256];
    json_t *value;
    json_object_foreach(json_object_get(answer, "forecast"), name, value)
    {
        json_t *quantiles = json_object_get(json_object_get(answer, "quantiles"), name);
        json_object_set(columns, name, value);
        for (size_t i = 0; count > 1 && i < count; i += count - 1) {
            snprintf(text, sizeof text, "%s_%g", name, json_real_value(json_array_get(levels, i)));
            json_object_set(columns, text, json_array_get(quantiles, i));
        }
    }
}

/* A list of objects becomes a list of each of their fields. */
static void put_items(json_t *columns, const json_t *items, int top)
{
    const char *name;
    size_t i;
    json_t *item, *value;
    json_array_foreach(items, i, item)
    {
        if (top > 0 && i >= (size_t)top)
            break;
        json_object_foreach(item, name, value)
        {
            json_t *list = json_object_get(columns, name);
            if (list == NULL)
                json_object_set_new(columns, name, list = json_array());
            json_array_append(list, value);
        }
    }
}

static json_t *joined(const json_t *labels)
{
    char *text = NULL;
    size_t size, i;
    json_t *label;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL)
        return json_null();
    json_array_foreach(labels, i, label) fprintf(file, "%s%s", i ? "|" : "", json_string_value(label));
    fclose(file);
    json_t *made = json_string(text);
    free(text);
    return made;
}

static void put_key(json_t *columns, const json_t *answer, const char *key, const char *called)
{
    const char *name = json_string_value(json_object_get(answer, called));
    json_t *value = json_object_get(answer, key);
    if (value)
        json_object_set(columns, name ? name : key, value);
}

static json_t *columns_of(const json_t *answer, int top)
{
    static const char *const elsewhere[] = {"group",  "group_name", "time",          "time_name", "series",
                                            "levels", "quantiles",  "probabilities", NULL};
    const bool of_steps = json_object_get(answer, "tags") != NULL;
    json_t *columns = json_object(), *value, *one;
    const char *key;
    size_t i;
    put_key(columns, answer, "group", "group_name");
    put_key(columns, answer, "time", "time_name");
    json_object_foreach((json_t *)answer, key, value)
    {
        if (is_listed(key, elsewhere) && !(of_steps && strcmp(key, "probabilities") == 0))
            continue;
        if (strcmp(key, "forecast") == 0)
            put_forecasts(columns, answer);
        else if (strcmp(key, "items") == 0)
            put_items(columns, value, top);
        else if (strcmp(key, "labels") == 0)
            json_object_set_new(columns, key, joined(value));
        else if (json_is_array(value) && !of_steps)
            json_array_foreach(value, i, one) put_named(columns, key, i + 1, one);
        else
            json_object_set(columns, key, value);
    }
    return columns;
}

/* ---- cells ---- */

static void print_text(const char *text, FILE *to)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0' && *text != ' ' && (*text == '\0' || text[strlen(text) - 1] != ' ')) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

static void print_cell(const json_t *value, FILE *to)
{
    if (json_is_string(value))
        print_text(json_string_value(value), to);
    else if (json_is_integer(value))
        fprintf(to, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(to, "%.10g", json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", to);
}

static void print_header(struct predictions *p, const json_t *columns)
{
    const char *name;
    json_t *value;
    p->names = json_array();
    json_object_foreach((json_t *)columns, name, value)
    {
        fputs(json_array_size(p->names) ? "," : "", p->file);
        print_text(name, p->file);
        json_array_append_new(p->names, json_string(name));
    }
    fputc('\n', p->file);
}

static size_t rows_of(const json_t *columns)
{
    const char *name;
    const json_t *value;
    size_t rows = 1;
    json_object_foreach((json_t *)columns, name, value) rows =
        json_array_size(value) > rows ? json_array_size(value) : rows;
    return rows;
}

/* ---- the table ---- */

unroll_status predictions_begin(struct predictions *p)
{
    *p = (struct predictions){0};
    p->file = open_memstream(&p->text, &p->size);
    return p->file ? UNROLL_OK
                   : complain(UNROLL_RESOURCE, "no memory for predictions; fix: predict fewer rows at once");
}

void predictions_add(struct predictions *p, const json_t *answer, int top)
{
    json_t *columns = columns_of(answer, top), *name;
    size_t i;
    if (p->names == NULL)
        print_header(p, columns);
    for (size_t row = 0; row < rows_of(columns); row++) {
        json_array_foreach(p->names, i, name)
        {
            const json_t *value = json_object_get(columns, json_string_value(name));
            fputs(i ? "," : "", p->file);
            print_cell(json_is_array(value) ? json_array_get(value, row) : value, p->file);
        }
        fputc('\n', p->file);
    }
    json_decref(columns);
}

unroll_status predictions_end(struct predictions *p, const char *path)
{
    const bool whole = p->file && fclose(p->file) == 0;
    unroll_status status = UNROLL_OK;
    if (path && !whole)
        status = complain(UNROLL_RESOURCE, "no memory for predictions; fix: predict fewer rows at once");
    else if (path)
        status = replace_file(path, p->text, p->size);
    json_decref(p->names);
    free(p->text);
    return status;
}
