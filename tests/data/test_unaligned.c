/* Unaligned columns: each example has its own number of entries. Tests their entries and the hash, reading again with
 * the schema, the cache, tasks that must not use them, and the messages for columns that cannot be unaligned. */
/* test: kinds=plain,memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "check.h"
#include "data/data_cache.h"
#include "data/readers/reader_table.h"
#include "tasks/accepts.h"
#include "temporary.h"

static const char three[] = "{\"x\": [[1, 2], [3, 4], [5, 6]], \"text\": \"ab\", \"tags\": [\"p\"], \"more\": [1.5]}\n"
                            "{\"x\": [[7, 8]], \"text\": \"bbab\", \"tags\": [\"q\", \"p\", \"q\"]}\n"
                            "{\"x\": [[9, 1], [2, 3]], \"text\": \"\", \"more\": [2, 3, 4, 5]}\n";
static const char options[] = "unaligned=text;tags;more";

static unroll_dataset *parse(const char *text, const char *how, const struct schema *schema)
{
    unroll_dataset *data = NULL;
    MUST(dataset_parse(text, strlen(text), "x.jsonl", NULL, how, schema, &data));
    return data;
}

/* expected: the entries of each sequence, "ab|bbab|". */
static void check_column(const unroll_dataset *data, const char *name, const char *expected)
{
    const struct column *c = dataset_named(data, name);
    char text[200] = "";
    size_t used = 0;
    if (!CHECK(c && c->begin, "'%s' is not unaligned", name))
        return;
    for (size_t s = 0; s < data->sequences; s++) {
        for (size_t e = column_first(data, c, s); e < column_first(data, c, s + 1); e++)
            used +=
                (size_t)(c->numbers ? snprintf(text + used, sizeof text - used, "%g ", (double)c->numbers[e])
                                    : snprintf(text + used, sizeof text - used, "%s", c->vocabulary[column_id(c, e)]));
        used += (size_t)snprintf(text + used, sizeof text - used, "|");
    }
    CHECK(strcmp(text, expected) == 0, "'%s' is %s, not %s", name, text, expected);
}

static void check_all(const unroll_dataset *data)
{
    CHECK(data->steps == 6 && data->sequences == 3, "%zu steps", data->steps);
    CHECK(dataset_named(data, "x")->begin == NULL, "x has the steps of the data set");
    check_column(data, "text", "ab|bbab||");
    check_column(data, "tags", "p|qpq||");
    check_column(data, "more", "1.5 ||2 3 4 5 |");
}

static void test_entries(void)
{
    unroll_dataset *data = parse(three, options, NULL), *again = NULL;
    struct schema *schema = NULL;
    check_all(data);
    CHECK(dataset_column(data, COLUMN_TOKENS, NULL) == NULL, "a transcript is no text of steps");
    CHECK(column_kind(dataset_named(data, "text")) == STEP_TOKENS << UNALIGNED, "another kind");
    if (MUST(schema_of_dataset(data, &schema)))
        again = parse("{\"x\": [[1, 2]], \"text\": \"bab\", \"tags\": [\"p\"], \"more\": [7, 8]}\n", "", schema);
    check_column(again, "text", "bab|");
    check_column(again, "tags", "p|");
    check_column(again, "more", "7 8 |");
    unroll_dataset_free(again);
    schema_free(schema);
    json_t *json = NULL;
    if (MUST(schema_of_dataset(data, &schema)))
        json = schema_to_json(schema);
    schema_free(schema);
    if (MUST(schema_from_json(json, "x", &schema)))
        CHECK(schema_named(schema, "text")->unaligned && !schema_named(schema, "x")->unaligned, "lost in the JSON");
    schema_free(schema);
    json_decref(json);
    unroll_dataset_free(data);
}

/* The same entries in other sequences have another hash. */
static void test_hash(void)
{
    unroll_dataset *one =
        parse("{\"x\": [1], \"t\": [\"a\", \"b\"]}\n{\"x\": [2], \"t\": [\"c\"]}\n", "unaligned=t", NULL);
    unroll_dataset *two =
        parse("{\"x\": [1], \"t\": [\"a\"]}\n{\"x\": [2], \"t\": [\"b\", \"c\"]}\n", "unaligned=t", NULL);
    CHECK(dataset_hash(one, HASH_BEGIN) != dataset_hash(two, HASH_BEGIN), "one hash for two data sets");
    unroll_dataset_free(one);
    unroll_dataset_free(two);
}

/* A column that the first rows lack has no entries in them. */
static void test_late(void)
{
    unroll_dataset *data = parse("{\"x\": [1, 2]}\n{\"x\": [3], \"t\": [\"a\", \"b\"]}\n", "unaligned=t", NULL);
    check_column(data, "t", "|ab|");
    unroll_dataset_free(data);
}

static void test_cached(void)
{
    unroll_dataset *data = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s", inside("three.jsonl"));
    write_text(path, three);
    cache_limits(1, 1, 1 << 20);
    for (int i = 0; i < 2; i++) {
        if (MUST(dataset_open(path, NULL, options, NULL, &data))) {
            CHECK(data->map != NULL && data->hashed, "it is not cached");
            check_all(data);
        }
        unroll_dataset_free(data);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *text, *options, *message;
    } row[] = {
        {"{\"x\": [1], \"t\": \"a\"}\n", "unaligned=u", "no column 'u', which `unaligned` names"},
        {"{\"x\": [1, 2], \"t\": [\"a\"]}\n", "", "2 steps in 'x' and 1 in 't'"},
        {"{\"x\": [1, 2], \"t\": 3}\n{\"x\": [1, 2], \"t\": 4}\n", "unaligned=t,columns=t=number",
         "'t' has one value in each row"},
        {"{\"a\": 1, \"t\": 2}\n{\"a\": 2, \"t\": 3}\n", "unaligned=t,columns=t=number",
         "the rows of 'x.jsonl' are steps"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        unroll_dataset *data = NULL;
        const unroll_status status =
            dataset_parse(row[i].text, strlen(row[i].text), "x.jsonl", NULL, row[i].options, NULL, &data);
        CHECK(status != UNROLL_OK && strstr(unroll_last_error(), row[i].message) &&
                  strstr(unroll_last_error(), "fix: "),
              "row %zu: %s", i, status == UNROLL_OK ? "read" : unroll_last_error());
        unroll_dataset_free(data);
    }
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder))
        return 2;
    setenv("UNROLL_CACHE", inside("cache"), 1);
    test_entries();
    test_hash();
    test_late();
    test_cached();
    test_refused();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_unaligned");
}
