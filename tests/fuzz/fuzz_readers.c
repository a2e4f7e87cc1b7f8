/* Fuzz target: all readers of data sets. Accepted data have ids of their vocabularies and consecutive sequences, and do
 * not change when read again with their schema. Inputs that begin with "MEMBERS" are the files of a folder, or arrays
 * of an npz: they become an archive. For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/readers 6000; seconds=20 */
/* test: kinds=long-memory; args=tests/fuzz/seeds/readers 50000; seconds=150 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "data/data_schema.h"
#include "data/readers/reader_table.h"
#include "listed.h"

/* A name that readers which depend on names accept. */
static const char *name = "fuzz_TRAIN.tsv";

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

/* Reads again with the JSON that a model stores. */
static void check_again(const unroll_dataset *d, const uint8_t *data, size_t size)
{
    struct schema *schema, *kept;
    unroll_dataset *again;
    json_t *json;
    if (schema_of_dataset(d, &schema) != UNROLL_OK || !(json = schema_to_json(schema)))
        abort();
    if (schema_from_json(json, "fuzz", &kept) != UNROLL_OK ||
        dataset_parse(data, size, name, d->reader, "", kept, &again) != UNROLL_OK)
        abort();
    check_dataset(again);
    if (dataset_hash(d, 0) != dataset_hash(again, 0))
        abort();
    unroll_dataset_free(again);
    schema_free(kept);
    schema_free(schema);
    json_decref(json);
}

static void check_reader(const char *reader, const char *options, const uint8_t *data, size_t size)
{
    unroll_dataset *d;
    if (dataset_parse(data, size, name, reader, options, NULL, &d) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort(); /* refused without a message */
        return;
    }
    check_dataset(d);
    check_again(d, data, size);
    unroll_dataset_free(d);
}

/* ---- files of a folder ---- */

enum { BLOCK = 512, NAME_OF_TAR = 100, SIZE_AT = 124, SUM_AT = 148, SUM_DIGITS = 8, FILES = 32 };

static const char members_mark[] = "MEMBERS\n";

/* Writes one file: a header with its name, its size and the sum of the header's bytes, and its bytes in whole
 * blocks. */
static size_t put_member(uint8_t *tar, const uint8_t *path, size_t path_size, const uint8_t *bytes, size_t size)
{
    unsigned sum = 0;
    memset(tar, 0, BLOCK);
    memcpy(tar, path, path_size < NAME_OF_TAR ? path_size : NAME_OF_TAR - 1);
    snprintf((char *)tar + NAME_OF_TAR, 8, "0000644");
    snprintf((char *)tar + SIZE_AT, 12, "%011zo", size);
    memset(tar + SUM_AT, ' ', SUM_DIGITS);
    tar[SUM_AT + SUM_DIGITS] = '0';
    memcpy(tar + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++) sum += tar[i];
    snprintf((char *)tar + SUM_AT, SUM_DIGITS, "%06o", sum);
    const size_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
    memset(tar + BLOCK, 0, padded);
    memcpy(tar + BLOCK, bytes, size);
    return BLOCK + padded;
}

/* Converts repeated lines "NAME", each followed by a length in two bytes and the bytes, to a tar file. */
static size_t make_archive(const uint8_t *data, size_t size, uint8_t *tar)
{
    const uint8_t *end = data + size, *at = data + strlen(members_mark), *line;
    size_t used = 0;
    for (int i = 0; i < FILES && at < end && (line = memchr(at, '\n', (size_t)(end - at))) && end - line > 2; i++) {
        const size_t wanted = (size_t)get_number(line + 1, 2), left = (size_t)(end - line) - 3;
        const size_t taken = wanted < left ? wanted : left;
        if (line > at)
            used += put_member(tar + used, at, (size_t)(line - at), line + 3, taken);
        at = line + 3 + taken;
    }
    memset(tar + used, 0, 2 * BLOCK);
    return used + 2 * BLOCK;
}

static void check_members(const uint8_t *data, size_t size)
{
    uint8_t *tar = malloc(size + (2 * FILES + 2) * BLOCK);
    if (tar == NULL)
        abort();
    size = make_archive(data, size, tar);
    name = "fuzz.tar";
    check_reader(NULL, "", tar, size);
    check_reader("npz", "part=train", tar, size); /* otherwise the test part is read again */
    name = "fuzz_TRAIN.tsv";
    free(tar);
}

/* Reads with the reader that recognizes it, and with another. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int readers = 0;
    if (size > strlen(members_mark) && memcmp(data, members_mark, strlen(members_mark)) == 0) {
        check_members(data, size);
        return 0;
    }
    while (listed(UNROLL_LIST_READERS, readers)) readers++;
    check_reader(NULL, "", data, size);
    check_reader(listed(UNROLL_LIST_READERS, (int)(size % (size_t)readers)), "", data, size);
    return 0;
}
