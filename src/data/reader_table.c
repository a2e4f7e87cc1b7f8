/* Finds the reader of a file and lets it run until the builder has all. No reader is known here but by its row. */
#include "data/reader_table.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "data/data_cache.h"

#define ROW(name) &reader_##name,
static const void *const rows[] = {READERS(ROW)};
static struct table readers = TABLE("reader", rows);

unroll_status reader_add(const struct reader *reader) { return table_add(&readers, reader); }

const char *unroll_reader_name(int index, const char **about) { return table_name(&readers, index, about); }

/* ---- options: those of the reader and of all ---- */

enum { KEYS_MAX = 32 };

/* As one block: what all readers have, and behind it the reader's own. */
struct options {
    struct builder_options common;
    char own[] __attribute__((aligned(16)));
};

#define COMMON(field) offsetof(struct options, common.field)
static const struct key common_keys[] = {
    {.name = "tokens", .choices = "auto chars words blanks sets", .offset = COMMON(tokens)},
    {.name = "vocab", .min = 2, .max = 1 << 20, .offset = COMMON(vocab)},
    {.name = "columns", .text = COLUMNS_TEXT, .offset = COMMON(columns)},
    {.name = "group", .text = COLUMN_NAME, .offset = COMMON(group)},
    {.name = "time", .text = COLUMN_NAME, .offset = COMMON(time)},
    {.name = "missing", .text = MISSING_TEXT, .offset = COMMON(missing)},
    {.name = "decimal", .choices = "auto point comma", .offset = COMMON(decimal)},
    {.name = "layout", .choices = "auto steps examples wide", .offset = COMMON(layout)},
    {.name = "gaps", .choices = "auto fill keep", .offset = COMMON(gaps)},
    {.name = "dates", .choices = "auto dmy mdy", .offset = COMMON(dates)},
};

int unroll_reader_option(const char *name, int index, unroll_option *option)
{
    const struct reader *reader = table_at(&readers, table_find(&readers, name));
    const struct key *key = key_at(reader ? reader->keys : NULL, index);
    if (key)
        *option = (unroll_option){key->name, key->about, key->choices, key->text > 0, key->min, key->max};
    return key != NULL;
}

static unroll_status read_options(const struct reader *reader, const char *text, const struct schema *schema,
                                  struct options *into)
{
    enum { COMMON_KEYS = sizeof common_keys / sizeof *common_keys };
    struct key keys[KEYS_MAX] = {{0}};
    int count = 0;
    char owner[32];
    for (const struct key *key = reader->keys; key && key->name; key++) {
        keys[count] = *key;
        keys[count++].offset += offsetof(struct options, own);
    }
    memcpy(keys + count, common_keys, sizeof common_keys);
    snprintf(owner, sizeof owner, "the reader %s", reader->name);
    if (schema && text && *text)
        return fail(UNROLL_USAGE, "data for a model are read as the model reads; fix: leave out the options '%.80s'",
                    text);
    return key_values_read(schema ? schema->options : text, owner, keys, into);
}

/* ---- reading ---- */

/* An archive of one file is read as that file: *path is its name inside. */
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

static unroll_status find_by_content(struct input *input, const struct reader **found)
{
    const struct reader *reader;
    char head[READER_HEAD], path[4096];
    size_t bytes;
    TRY(input_head(input, head, sizeof head, &bytes));
    input_unpacked_path(input, path, sizeof path);
    if (input_is_of_files(path) && !input_is_folder(input))
        TRY(name_lone_member(input, path, sizeof path));
    *found = NULL;
    for (int i = 0; (reader = table_at(&readers, i)); i++)
        if (reader->recognises ? reader->recognises(path, head, bytes) : *found == NULL)
            *found = reader;
    return UNROLL_OK;
}

/* Is the first line a header of the schema's table: is at least every second cell the name of a column? */
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

/* What only the last reader takes, which takes anything, may be a table that is too small, or has too long a first
 * line, to be told by its content: with the names of the model's columns it is one. */
static unroll_status find_by_schema(struct input *input, const struct schema *schema, const struct reader **found)
{
    char head[READER_HEAD];
    size_t bytes;
    if (schema == NULL || (*found)->recognises || strcmp(schema->reader, "csv") != 0)
        return UNROLL_OK;
    TRY(input_head(input, head, sizeof head, &bytes));
    if (begins_with_names(schema, head, bytes))
        *found = table_at(&readers, table_find(&readers, schema->reader));
    return UNROLL_OK;
}

/* And what was found, with which the next data are read alike. */
static unroll_status keep_options(const struct reader *reader, const char *text, const char *found,
                                  unroll_dataset *dataset)
{
    text = text ? text : "";
    found += *found && *text == 0; /* no comma in front */
    snprintf(dataset->reader, sizeof dataset->reader, "%s", reader->name);
    TRY(ALLOCATE(dataset->options, strlen(text) + strlen(found) + 1, "for a data set"));
    strcpy(stpcpy(dataset->options, text), found);
    return UNROLL_OK;
}

static unroll_status run(const struct reader *reader, struct input *input, const struct options *options,
                         struct builder *builder, unroll_dataset **dataset)
{
    for (bool again = true; again;) {
        TRY(input_rewind(input));
        TRY(reader->read(input, options->own, builder));
        TRY(builder_end_run(builder, &again));
    }
    return builder_take(builder, dataset);
}

static unroll_status build(const struct reader *reader, struct input *input, const struct options *options,
                           const char *text, const struct schema *schema, struct data_cache *cache, bool damaged,
                           unroll_dataset **dataset)
{
    struct builder *builder;
    unroll_dataset *made = NULL;
    TRY(builder_new(input_path(input), &options->common, schema, cache, &builder));
    unroll_status status = UNROLL_OK;
    if (damaged)
        status =
            builder_note(builder, "the parsed data in '%.300s' were damaged, and are made anew", cache_path(cache));
    if (status == UNROLL_OK)
        status = run(reader, input, options, builder, &made);
    if (status == UNROLL_OK)
        status = keep_options(reader, schema ? schema->options : text, schema ? "" : builder_decisions(builder), made);
    builder_free(builder);
    if (status == UNROLL_OK && made->map)
        status = cache_end(cache, made);
    if (status == UNROLL_OK)
        *dataset = made;
    else
        unroll_data_free(made);
    return status;
}

/* What the same bytes may be read differently by. */
static unroll_status find_cached(const struct reader *reader, struct input *input, const char *text,
                                 const struct schema *schema, struct data_cache **cache, bool *damaged,
                                 unroll_dataset **dataset)
{
    char how[2048];
    const char *path = input_path(input), *slash = strrchr(path, '/');
    *cache = NULL, *damaged = false;
    if (reader->reads_beside)
        return UNROLL_OK;
    snprintf(how, sizeof how, "%s %s %s", reader->name, slash ? slash + 1 : path, text ? text : "");
    return cache_find(input, how, schema, cache, dataset, damaged);
}

static unroll_status read_with(const struct reader *reader, struct input *input, const char *text,
                               const struct schema *schema, unroll_dataset **dataset)
{
    struct data_cache *cache = NULL;
    unroll_dataset *found = NULL;
    bool damaged = false;
    struct options *options = allocate_zeroed(1, sizeof *options + reader->options_bytes);
    if (options == NULL)
        return fail(UNROLL_RESOURCE, "no memory to read '%s'", input_name(input));
    unroll_status status = read_options(reader, text, schema, options);
    if (status == UNROLL_OK)
        status = find_cached(reader, input, text, schema, &cache, &damaged, &found);
    if (status == UNROLL_OK && found == NULL)
        status = build(reader, input, options, text, schema, cache, damaged, &found);
    cache_close(cache);
    release(options);
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

/* ---- rows of one's own ---- */

static unroll_status hand_over(hand_rows *hand, void *arg, enum layout layout, struct builder *builder,
                               unroll_dataset **dataset)
{
    for (bool again = true; again;) {
        TRY(builder_columns(builder, layout));
        TRY(hand(arg, builder));
        TRY(builder_end_run(builder, &again));
    }
    return builder_take(builder, dataset);
}

unroll_status dataset_of_rows(hand_rows *hand, void *arg, enum layout layout, const char *text,
                              const struct schema *schema, unroll_dataset **dataset)
{
    static const struct reader rows_reader = {.name = "rows"};
    struct options *options;
    struct builder *builder = NULL;
    unroll_dataset *made = NULL;
    TRY(ALLOCATE(options, 1, "for a data set"));
    unroll_status status = read_options(&rows_reader, text, schema, options);
    if (status == UNROLL_OK)
        status = builder_new("rows", &options->common, schema, NULL, &builder);
    if (status == UNROLL_OK)
        status = hand_over(hand, arg, layout, builder, &made);
    if (status == UNROLL_OK)
        status =
            keep_options(&rows_reader, schema ? schema->options : text, schema ? "" : builder_decisions(builder), made);
    builder_free(builder);
    release(options);
    if (status == UNROLL_OK)
        *dataset = made;
    else
        unroll_data_free(made);
    return status;
}
