/* Data sets: their memory and queries. */
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/memory.h"

static void free_arrays(unroll_dataset *dataset)
{
    for (int i = 0; i < dataset->columns; i++) {
        release((void *)dataset->column[i].ids);
        release((void *)dataset->column[i].numbers);
        release((void *)dataset->column[i].times);
        release((void *)dataset->column[i].begin);
    }
    release((void *)dataset->begin);
}

void unroll_dataset_free(unroll_dataset *dataset)
{
    if (dataset == NULL)
        return;
    if (dataset->map)
        munmap(dataset->map, dataset->map_bytes);
    else
        free_arrays(dataset);
    for (int i = 0; i < dataset->columns; i++) {
        release(dataset->column[i].vocabulary);
        release(dataset->column[i].strings);
    }
    release(dataset->column);
    release(dataset->notes);
    release(dataset->options);
    release(dataset->path);
    release(dataset);
}

const struct column *dataset_column(const unroll_dataset *dataset, enum column_type type, const char *name)
{
    for (int i = 0; i < dataset->columns; i++)
        if (dataset->column[i].type == type && dataset->column[i].begin == NULL &&
            (name == NULL || strcmp(dataset->column[i].name, name) == 0))
            return &dataset->column[i];
    return NULL;
}

const struct column *dataset_named(const unroll_dataset *dataset, const char *name)
{
    for (int i = 0; i < dataset->columns; i++)
        if (strcmp(dataset->column[i].name, name) == 0)
            return &dataset->column[i];
    return NULL;
}

const char *dataset_group(const unroll_dataset *dataset, size_t sequence)
{
    if (dataset->group < 0)
        return "";
    const struct column *group = &dataset->column[dataset->group];
    int32_t id = column_id(group, group->of_sequence ? sequence : dataset->begin[sequence]);
    return id < 0 ? "" : group->vocabulary[id];
}

const char *dataset_names(const unroll_dataset *dataset, char *text, size_t size)
{
    size_t at = 0;
    *text = 0;
    for (int i = 0; i < dataset->columns && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", dataset->column[i].name);
    return text;
}

static uint64_t hash_column(const unroll_dataset *dataset, const struct column *column, uint64_t hash)
{
    size_t entries = column_entries(dataset, column);
    if (column->ids)
        for (size_t i = 0; i < entries; i++) hash = hash_number(hash, (uint32_t)column_id(column, i));
    else if (column->numbers)
        hash = hash_words(hash, column->numbers, entries * (size_t)column->width);
    else
        hash = hash_words(hash, column->times, entries * 2);
    if (column->begin)
        hash = hash_data(hash, column->begin, (dataset->sequences + 1) * sizeof *column->begin);
    return hash;
}

/* Computes the hash of the data. A text contributes only its tokens, each as 32 bits, as in checkpoints of version
 * 0.1. */
uint64_t dataset_hash(const unroll_dataset *dataset, uint64_t hash)
{
    if (dataset->hashed && hash == HASH_BEGIN)
        return dataset->hash;
    for (int i = 0; i < dataset->columns; i++) hash = hash_column(dataset, &dataset->column[i], hash);
    if (dataset->sequences > 1)
        hash = hash_data(hash, dataset->begin, (dataset->sequences + 1) * sizeof *dataset->begin);
    return hash;
}

/* ---- the public functions ---- */

size_t unroll_dataset_tokens(const unroll_dataset *dataset, size_t first, size_t count, int32_t *tokens)
{
    const struct column *column = dataset_column(dataset, COLUMN_TOKENS, NULL);
    size_t entries = column ? column_entries(dataset, column) : 0;
    for (size_t i = 0; i < count && first + i < entries; i++) tokens[i] = column_id(column, first + i);
    return entries;
}

const char *const *unroll_dataset_vocabulary(const unroll_dataset *dataset, int *size)
{
    const struct column *column = dataset_column(dataset, COLUMN_TOKENS, NULL);
    *size = column ? column->vocabulary_size : 0;
    return column ? column->vocabulary : NULL;
}
