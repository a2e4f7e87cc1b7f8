#include "apply/row_writer.h"

#include <stdlib.h>
#include <string.h>

#include "tasks/answer_text.h"

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

/* Adds load, load_0.1 and load_0.9: the forecast and the ends of its interval. */
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

/* Turns a list of objects into one list per field. */
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

/* Returns the most probable labels as a list of [label, probability]; the caller releases it. */
static json_t *likeliest(const json_t *probabilities, size_t top)
{
    size_t count = json_object_size(probabilities), i = 0;
    struct likely *all = malloc((count + 1) * sizeof *all);
    json_t *list = json_array(), *value;
    const char *name;
    if (all) {
        json_object_foreach((json_t *)probabilities, name, value) all[i++] =
            (struct likely){name, json_number_value(value)};
        qsort(all, i, sizeof *all, compare_likely);
    }
    for (size_t k = 0; k < i && k < top; k++)
        json_array_append_new(list, json_pack("[sf]", all[k].name, all[k].probability));
    free(all);
    return list;
}

/* label_1, probability_1, label_2, .. */
static void put_likeliest(json_t *columns, const json_t *probabilities, int top)
{
    json_t *list = likeliest(probabilities, (size_t)top), *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        put_named(columns, "label", i + 1, json_array_get(one, 0));
        put_named(columns, "probability", i + 1, json_array_get(one, 1));
    }
    json_decref(list);
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

/* Returns the columns of a prediction: name -> a value, or a list with one value per row. */
static json_t *columns_of(const json_t *answer, int top)
{
    static const char *const elsewhere[] = {"group",  "group_name", "time",          "time_name", "series",
                                            "levels", "quantiles",  "probabilities", "kept",      NULL};
    const bool of_steps = json_object_get(answer, "tags") != NULL;
    json_t *columns = json_object(), *value, *one;
    const char *key;
    size_t i;
    put_key(columns, answer, "group", "group_name");
    put_key(columns, answer, "time", "time_name");
    json_object_update(columns, json_object_get(answer, "kept"));
    json_object_foreach((json_t *)answer, key, value)
    {
        if (is_listed(key, elsewhere) && !(of_steps && strcmp(key, "probabilities") == 0))
            continue;
        if (strcmp(key, "forecast") == 0)
            put_forecasts(columns, answer);
        else if (strcmp(key, "items") == 0)
            put_items(columns, value, top);
        else if (strcmp(key, "label") == 0 && top > 1)
            put_likeliest(columns, json_object_get(answer, "probabilities"), top);
        else if (strcmp(key, "probability") == 0 && top > 1)
            continue;
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
        print_number(json_real_value(value), to);
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", to);
}

static void print_header(struct row_writer *w, const json_t *columns)
{
    const char *name;
    json_t *value;
    w->names = json_array();
    json_object_foreach((json_t *)columns, name, value)
    {
        fputs(json_array_size(w->names) ? "," : "", w->file);
        print_text(name, w->file);
        json_array_append_new(w->names, json_string(name));
    }
    fputc('\n', w->file);
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

static void print_table(struct row_writer *w, const json_t *answer)
{
    json_t *columns = columns_of(answer, w->top), *name;
    size_t i;
    if (w->names == NULL)
        print_header(w, columns);
    for (size_t row = 0; row < rows_of(columns); row++) {
        json_array_foreach(w->names, i, name)
        {
            const json_t *value = json_object_get(columns, json_string_value(name));
            fputs(i ? "," : "", w->file);
            print_cell(json_is_array(value) ? json_array_get(value, row) : value, w->file);
        }
        fputc('\n', w->file);
    }
    json_decref(columns);
}

/* ---- JSON ---- */

/* Returns the object with the most probable labels as "top", and as many items. */
static json_t *shortened(const json_t *answer, size_t top)
{
    json_t *made = json_copy((json_t *)answer), *probabilities = json_object_get(answer, "probabilities");
    if (json_is_array(json_object_get(answer, "items"))) {
        json_t *items = json_copy(json_object_get(answer, "items"));
        while (json_array_size(items) > top) json_array_remove(items, json_array_size(items) - 1);
        json_object_set_new(made, "items", items);
    }
    if (json_is_object(probabilities)) {
        json_object_del(made, "probabilities");
        json_object_set_new(made, "top", likeliest(probabilities, top));
    }
    return made;
}

static void print_object(const struct row_writer *w, const json_t *answer)
{
    json_t *made = w->top > 0 ? shortened(answer, (size_t)w->top) : json_incref((json_t *)answer);
    json_dumpf(made, w->file, JSON_COMPACT | JSON_REAL_PRECISION((size_t)answer_digits(made)));
    json_decref(made);
}

/* ---- the writer ---- */

unroll_status row_format_find(const char *name, enum row_format *format)
{
    static const char *const names[] = {[ROW_JSON] = "json", [ROW_CSV] = "csv", [ROW_TEXT] = "text"};
    for (int i = 0; name && i <= ROW_TEXT; i++)
        if (strcmp(name, names[i]) == 0) {
            *format = (enum row_format)i;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "predictions have no format '%s'; fix: use json, csv or text", name ? name : "");
}

unroll_status row_writer_open(struct row_writer *w, const struct task *task, enum row_format format, int top)
{
    *w = (struct row_writer){.task = task, .format = format, .top = top};
    w->file = open_memstream(&w->text, &w->size);
    return w->file ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for predictions; fix: predict fewer rows at once");
}

unroll_status row_writer_print(struct row_writer *w, const json_t *answer, const char **text)
{
    rewind(w->file);
    if (w->format == ROW_JSON)
        print_object(w, answer);
    else if (w->format == ROW_CSV)
        print_table(w, answer);
    else
        w->task->line(answer, w->file);
    if (fputc('\0', w->file) == EOF || fflush(w->file) != 0)
        return fail(UNROLL_RESOURCE, "no memory for a prediction; fix: predict fewer rows at once");
    const size_t length = strlen(w->text);
    if (length > 0 && w->text[length - 1] == '\n')
        w->text[length - 1] = '\0';
    *text = w->text;
    return UNROLL_OK;
}

void row_writer_close(struct row_writer *w)
{
    if (w->file)
        fclose(w->file);
    free(w->text);
    json_decref(w->names);
}
