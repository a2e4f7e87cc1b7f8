/* Finds the reader of a file and runs it until the builder has all rows. Readers are known only by their rows of the
 * table. */
#include "data/readers/reader_table.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "data/data_cache.h"

#define ROW(name) &reader_##name,
static const void *const rows[] = {READERS(ROW)};
static struct table readers = TABLE("reader", rows);

unroll_status reader_add(const struct reader *reader) { return table_add(&readers, reader); }

const struct reader *reader_at(int index) { return table_at(&readers, index); }

/* ---- options: common ones and those of the reader ---- */

enum { KEYS_MAX = 32 };

/* All options in one block: the common ones, then the reader's own. */
struct reader_options {
    struct builder_options common;
    char own[] __attribute__((aligned(16)));
};

#define COMMON(field) offsetof(struct reader_options, common.field)
static const struct key common_keys[] = {
    {.name = "tokens", .choices = "auto chars words blanks sets", .offset = COMMON(tokens)},
    {.name = "vocab", .min = 2, .max = 1 << 20, .offset = COMMON(vocab)},
    {.name = "columns", .text = COLUMNS_TEXT, .offset = COMMON(columns)},
    {.name = "group", .text = COLUMN_NAME, .offset = COMMON(group)},
    {.name = "time", .text = COLUMN_NAME, .offset = COMMON(time)},
    {.name = "missing", .text = MISSING_TEXT, .offset = COMMON(missing)},
    {.name = "decimal", .choices = "auto point comma", .offset = COMMON(decimal)},
    {.name = "layout", .choices = "auto steps examples wide", .offset = COMMON(layout)},
    {.name = "order", .choices = "auto file time", .offset = COMMON(order)},
    {.name = "gaps", .choices = "auto fill keep", .offset = COMMON(gaps)},
    {.name = "unaligned", .text = COLUMNS_TEXT, .offset = COMMON(unaligned)},
    {.name = "countdown", .text = COLUMN_NAME + 16, .offset = COMMON(countdown)},
    {.name = "static", .text = TABLE_TEXT, .offset = COMMON(table)},
    {.name = "key", .text = COLUMN_NAME, .offset = COMMON(key)},
    {.name = "dates", .choices = "auto dmy mdy", .offset = COMMON(dates)},
};

/* Options for data that are read for a model. */
static const struct key kept_keys[] = {{.name = "keep", .text = COLUMNS_TEXT, .offset = COMMON(keep)},
                                       {.name = "label", .text = COLUMN_NAME, .offset = COMMON(label)},
                                       {.name = "countdown", .text = COLUMN_NAME + 16, .offset = COMMON(countdown)},
                                       {0}};

const struct key *reader_option(const char *name, int index)
{
    const struct reader *reader = table_at(&readers, table_find(&readers, name));
    return key_at(reader ? reader->keys : NULL, index);
}

static unroll_status read_options(const struct reader *reader, const char *text, const struct schema *schema,
                                  struct reader_options *into)
{
    enum { COMMON_KEYS = sizeof common_keys / sizeof *common_keys };
    struct key keys[KEYS_MAX] = {{0}};
    int count = 0;
    char owner[32];
    for (const struct key *key = reader->keys; key && key->name; key++) {
        keys[count] = *key;
        keys[count++].offset += offsetof(struct reader_options, own);
    }
    memcpy(keys + count, common_keys, sizeof common_keys);
    snprintf(owner, sizeof owner, "the reader %s", reader->name);
    if (!schema)
        return key_values_read(text, owner, keys, into);
    TRY(key_values_read(schema->options, owner, keys, into));
    char *countdown = into->common.countdown, trained[sizeof into->common.countdown];
    strcpy(trained, countdown);
    *countdown = '\0'; /* later data may end anywhere, unless the caller says that they do not */
    TRY(key_values_read(text, "data for a model", kept_keys, into));
    if (*countdown && *trained && strcmp(countdown, trained) != 0)
        return fail(UNROLL_USAGE, "`countdown` %s: the model was trained with %s; fix: use `countdown` %s", countdown,
                    trained, trained);
    return UNROLL_OK;
}

/* ---- reading ---- */

/* Opens the table that is joined by a key; NULL: none. */
static unroll_status open_joined(const struct builder_options *options, unroll_dataset **joined)
{
    char how[2 * COLUMN_NAME];
    *joined = NULL;
    if (*options->table == 0)
        return UNROLL_OK;
    if (*options->key == 0)
        return fail(UNROLL_USAGE, "`static` names a table, which is joined by a column; fix: name it with `key`");
    snprintf(how, sizeof how, "layout=steps,order=file,key=%s", options->key);
    TRY(dataset_open(options->table, NULL, how, NULL, joined));
    const struct column *key = dataset_named(*joined, options->key);
    if (key && key->type == COLUMN_CATEGORY && (*joined)->rows_are_steps)
        return UNROLL_OK;
    unroll_dataset_free(*joined);
    *joined = NULL;
    return fail(UNROLL_DATA, "'%.200s' is not a table with a row for each '%s'; fix: give a table without texts",
                options->table, options->key);
}

/* Reads an archive of one file like this file: *path is the name inside. */
static unroll_status name_lone_member(struct input *input, char *path, size_t size)
{
    const char *member;
    char name[4096] = "";
    TRY(input_next(input, &member));
    if (member)
        snprintf(name, sizeof name, "%s", member);
    TRY(input_next(input, &member));
    if (member == NULL && *name)
        snprintf(path, size, "%s", name);
    return input_rewind(input);
}

/* Finds a reader that recognizes one of the first members of a folder or an archive. */
static unroll_status find_by_members(struct input *input, const struct reader **found)
{
    enum { MEMBERS = 64 };
    const struct reader *reader;
    const char *member = "";
    for (int m = 0; m < MEMBERS && member && *found == NULL; m++) {
        TRY(input_next(input, &member));
        for (int i = 0; member && (reader = table_at(&readers, i)); i++)
            if (reader->recognizes_member && reader->recognizes_member(member))
                *found = reader;
    }
    return input_rewind(input);
}

static unroll_status find_by_content(struct input *input, const struct reader **found)
{
    const struct reader *reader, *last = NULL;
    char head[READER_HEAD], path[4096];
    size_t bytes;
    TRY(input_head(input, head, sizeof head, &bytes));
    input_unpacked_path(input, path, sizeof path);
    if (input_is_of_files(path) && !input_is_folder(input))
        TRY(name_lone_member(input, path, sizeof path));
    *found = NULL;
    if (input_is_of_files(path))
        TRY(find_by_members(input, found));
    for (int i = 0; *found == NULL && (reader = table_at(&readers, i)); i++)
        if (reader->recognizes ? reader->recognizes(path, head, bytes) : last == NULL)
            last = reader;
    *found = *found ? *found : last;
    return UNROLL_OK;
}

/* True if the first line is a header of the schema's table: at least every second cell is the name of a column. */
static bool begins_with_names(const struct schema *schema, const char *head, size_t bytes)
{
    static const char between[] = ",;\t|\r\n";
    const char *end = memchr(head, '\n', bytes);
    size_t length = end ? (size_t)(end - head) : bytes;
    int cells = 0, named = 0;
    for (size_t at = 0; at < length; cells++) {
        size_t from = at;
        while (at < length && (head[at] == 0 || strchr(between, head[at]) == NULL)) at++;
        bool quoted = at - from > 1 && head[from] == '"' && head[at - 1] == '"';
        for (int i = 0, is = 0; i < schema->columns && !is; i++)
            named += is = strlen(schema->column[i].name) == at - from - 2 * quoted &&
                          memcmp(schema->column[i].name, head + from + quoted, at - from - 2 * quoted) == 0;
        while (at < length && strchr(between, head[at])) at++;
    }
    return cells > 0 && 2 * named >= cells;
}

bool reader_is_tables(const char *name)
{
    const struct reader *reader = table_at(&readers, table_find(&readers, name));
    return reader && reader->is_tables;
}

/* Recognizes a table that only the last reader, which accepts anything, would take. Such a table may be too small, or
 * its first line too long, for its content to show that it is one. The names of the model's columns identify it. */
static unroll_status find_by_schema(struct input *input, const struct schema *schema, const struct reader **found)
{
    char head[READER_HEAD];
    size_t bytes;
    if (schema == NULL || (*found)->recognizes || !reader_is_tables(schema->reader))
        return UNROLL_OK;
    TRY(input_head(input, head, sizeof head, &bytes));
    if (begins_with_names(schema, head, bytes))
        *found = table_at(&readers, table_find(&readers, schema->reader));
    return UNROLL_OK;
}

/* Stores the options and decisions needed to read further data in the same way. */
static unroll_status keep_options(const struct reader *reader, const char *text, const char *found,
                                  unroll_dataset *dataset)
{
    text = text ? text : "";
    found += *found && *text == 0; /* no comma at the beginning */
    snprintf(dataset->reader, sizeof dataset->reader, "%s", reader->name);
    TRY(ALLOCATE(dataset->options, strlen(text) + strlen(found) + 1, "for a data set"));
    strcpy(stpcpy(dataset->options, text), found);
    return UNROLL_OK;
}

static unroll_status run_reader(const struct reader *reader, struct input *input, const struct reader_options *options,
                                struct builder *builder, unroll_dataset **dataset)
{
    for (bool again = true; again;) {
        TRY(input_rewind(input));
        TRY(reader->read(input, options->own, builder));
        TRY(builder_end_run(builder, &again));
    }
    return builder_take(builder, dataset);
}

/* Builds a data set with a reader, and with the cache if it is large. */
static unroll_status build(const struct reader *reader, struct input *input, const struct reader_options *options,
                           const char *text, const struct schema *schema, struct data_cache *cache, bool damaged,
                           unroll_dataset **dataset)
{
    struct builder *builder;
    unroll_dataset *made = NULL, *joined;
    TRY(open_joined(&options->common, &joined));
    unroll_status status = builder_new(input_path(input), &options->common, schema, cache, &builder);
    if (status != UNROLL_OK) {
        unroll_dataset_free(joined);
        return status;
    }
    builder_join(builder, joined);
    if (damaged)
        status =
            builder_note(builder, "the parsed data in '%.300s' were damaged and are parsed again", cache_path(cache));
    if (status == UNROLL_OK)
        status = run_reader(reader, input, options, builder, &made);
    if (status == UNROLL_OK)
        status = keep_options(reader, schema ? schema->options : text, schema ? "" : builder_decisions(builder), made);
    builder_free(builder);
    unroll_dataset_free(joined);
    if (status == UNROLL_OK && made->map)
        status = cache_end(cache, made);
    if (status == UNROLL_OK)
        *dataset = made;
    else
        unroll_dataset_free(made);
    return status;
}

/* Collects everything that affects how the bytes are read. */
static unroll_status find_cached(const struct reader *reader, struct input *input, const struct reader_options *options,
                                 const char *text, const struct schema *schema, struct data_cache **cache,
                                 bool *damaged, unroll_dataset **dataset)
{
    char how[2048];
    const char *path = input_path(input), *slash = strrchr(path, '/');
    *cache = NULL, *damaged = false;
    if (reader->reads_beside || *options->common.table || *options->common.keep || *options->common.label)
        return UNROLL_OK;
    snprintf(how, sizeof how, "%s %s %s", reader->name, slash ? slash + 1 : path, text ? text : "");
    return cache_find(input, how, schema, cache, dataset, damaged);
}

/* Reads an input with a reader, or takes its data from the cache. */
static unroll_status read_with(const struct reader *reader, struct input *input, const char *text,
                               const struct schema *schema, unroll_dataset **dataset)
{
    struct data_cache *cache = NULL;
    unroll_dataset *found = NULL;
    bool damaged = false;
    struct reader_options *options = allocate_zeroed(1, sizeof *options + reader->options_bytes);
    if (options == NULL)
        return fail(UNROLL_RESOURCE, "no memory to read '%s'", input_name(input));
    unroll_status status = read_options(reader, text, schema, options);
    if (status == UNROLL_OK)
        status = find_cached(reader, input, options, text, schema, &cache, &damaged, &found);
    if (status == UNROLL_OK && found == NULL)
        status = build(reader, input, options, text, schema, cache, damaged, &found);
    cache_close(cache);
    release(options);
    if (status == UNROLL_OK)
        status = ALLOCATE(found->path, strlen(input_path(input)) + 1, "for a data set");
    if (status == UNROLL_OK)
        strcpy(found->path, input_path(input));
    else
        unroll_dataset_free(found);
    if (status == UNROLL_OK)
        *dataset = found;
    return status;
}

static unroll_status read_input(struct input *input, const char *name, const char *options, const struct schema *schema,
                                unroll_dataset **dataset)
{
    const struct reader *found = name ? table_at(&readers, table_find(&readers, name)) : NULL;
    if (name && found == NULL)
        return table_refuse(&readers, name);
    if (found == NULL) {
        TRY(find_by_content(input, &found));
        TRY(find_by_schema(input, schema, &found));
    }
    return read_with(found, input, options, schema, dataset);
}

unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct schema *schema,
                           unroll_dataset **dataset)
{
    struct input *input;
    TRY(input_open(path, &input));
    unroll_status status = read_input(input, reader, options, schema, dataset);
    input_close(input);
    return status;
}

unroll_status dataset_parse(const void *bytes, size_t size, const char *name, const char *reader, const char *options,
                            const struct schema *schema, unroll_dataset **dataset)
{
    struct input *input;
    TRY(input_of_memory(bytes, size, name, &input));
    unroll_status status = read_input(input, reader, options, schema, dataset);
    input_close(input);
    return status;
}

/* ---- rows from memory ---- */

static unroll_status hand_over(hand_rows *hand, void *arg, enum row_layout layout, struct builder *builder,
                               unroll_dataset **dataset)
{
    for (bool again = true; again;) {
        TRY(builder_columns(builder, layout));
        TRY(hand(arg, builder));
        TRY(builder_end_run(builder, &again));
    }
    return builder_take(builder, dataset);
}

/* Builds a data set from rows that a function passes. */
unroll_status dataset_of_rows(hand_rows *hand, void *arg, enum row_layout layout, const char *text,
                              const struct schema *schema, unroll_dataset **dataset)
{
    static const struct reader rows_reader = {.name = "rows"};
    struct reader_options *options;
    struct builder *builder = NULL;
    unroll_dataset *made = NULL, *joined = NULL;
    TRY(ALLOCATE(options, 1, "for a data set"));
    unroll_status status = read_options(&rows_reader, text, schema, options);
    if (status == UNROLL_OK)
        status = open_joined(&options->common, &joined);
    if (status == UNROLL_OK)
        status = builder_new("rows", &options->common, schema, NULL, &builder);
    if (status == UNROLL_OK)
        builder_join(builder, joined);
    if (status == UNROLL_OK)
        status = hand_over(hand, arg, layout, builder, &made);
    if (status == UNROLL_OK)
        status =
            keep_options(&rows_reader, schema ? schema->options : text, schema ? "" : builder_decisions(builder), made);
    builder_free(builder);
    unroll_dataset_free(joined);
    release(options);
    if (status == UNROLL_OK)
        *dataset = made;
    else
        unroll_dataset_free(made);
    return status;
}
