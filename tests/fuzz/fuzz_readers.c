/* Fuzz target: all readers of data sets. What is accepted has ids of its vocabularies, sequences one after the other,
 * and is the same when it is read again as its schema says. For libFuzzer, or for driver.c without it. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "data/data_schema.h"
#include "data/reader_table.h"

/* A name with which the readers that go by names read what looks like theirs. */
#define NAME "fuzz_TRAIN.tsv"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_column(const unroll_dataset *d, const struct column *c)
{
    volatile float last = 0;
    for (size_t i = 0; i < column_entries(d, c); i++)
        if (c->ids && (column_id(c, i) < -1 || column_id(c, i) >= c->vocabulary_size))
            abort();
    for (size_t i = 0; c->numbers && i < column_entries(d, c) * (size_t)c->width; i++) last = c->numbers[i];
    (void)last;
}

static void check_dataset(const unroll_dataset *d)
{
    for (int i = 0; i < d->columns; i++) check_column(d, &d->column[i]);
    for (size_t i = 0; i < d->sequences; i++)
        if (d->begin[i] > d->begin[i + 1])
            abort();
    if (d->begin[0] != 0 || d->begin[d->sequences] != d->steps)
        abort();
}

/* Through the JSON that a model keeps. */
static void check_again(const unroll_dataset *d, const uint8_t *data, size_t size)
{
    struct schema *schema, *kept;
    unroll_dataset *again;
    json_t *json;
    if (schema_of_dataset(d, &schema) != UNROLL_OK || !(json = schema_to_json(schema)))
        abort();
    if (schema_from_json(json, "fuzz", &kept) != UNROLL_OK ||
        dataset_parse(data, size, NAME, d->reader, "", kept, &again) != UNROLL_OK)
        abort();
    check_dataset(again);
    if (dataset_hash(d, 0) != dataset_hash(again, 0))
        abort();
    unroll_data_free(again);
    schema_free(kept);
    schema_free(schema);
    json_decref(json);
}

static void check_reader(const char *reader, const uint8_t *data, size_t size)
{
    unroll_dataset *d;
    if (dataset_parse(data, size, NAME, reader, "", NULL, &d) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort(); /* refused without a sentence */
        return;
    }
    check_dataset(d);
    check_again(d, data, size);
    unroll_data_free(d);
}

/* With the reader that recognises it, and with another. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *about;
    int readers = 0;
    while (unroll_reader_name(readers, &about)) readers++;
    check_reader(NULL, data, size);
    check_reader(unroll_reader_name((int)(size % (size_t)readers), &about), data, size);
    return 0;
}
