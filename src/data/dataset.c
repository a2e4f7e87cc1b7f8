/* Data sets: their memory, and what they say of themselves. */
#include "data/dataset.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

unroll_status dataset_new(int columns, unroll_dataset **dataset)
{
    unroll_dataset *made;
    TRY(ALLOCATE(made, 1, "for a data set"));
    unroll_status status = ALLOCATE(made->column, (size_t)columns, "for a data set");
    made->columns = status == UNROLL_OK ? columns : 0;
    if (status == UNROLL_OK)
        *dataset = made;
    else
        release(made);
    return status;
}

unroll_status dataset_one_sequence(unroll_dataset *dataset)
{
    TRY(ALLOCATE(dataset->begin, 2, "for a data set"));
    dataset->begin[1] = dataset->steps;
    dataset->sequences = 1;
    return UNROLL_OK;
}

void unroll_dataset_free(unroll_dataset *dataset)
{
    if (dataset == NULL)
        return;
    for (int i = 0; i < dataset->columns; i++) {
        release(dataset->column[i].numbers);
        release(dataset->column[i].vocabulary);
        release(dataset->column[i].strings);
        release(dataset->column[i].tokens);
    }
    release(dataset->column);
    release(dataset->begin);
    release(dataset);
}

const struct column *dataset_column(const unroll_dataset *dataset, enum column_type type, const char *name)
{
    for (int i = 0; i < dataset->columns; i++)
        if (dataset->column[i].type == type && (name == NULL || strcmp(dataset->column[i].name, name) == 0))
            return &dataset->column[i];
    return NULL;
}

/* Of a text the tokens alone: so it was in checkpoints of version 0.1. */
uint64_t dataset_hash(const unroll_dataset *dataset, uint64_t hash)
{
    for (int i = 0; i < dataset->columns; i++) {
        const struct column *column = &dataset->column[i];
        if (column->type == COLUMN_TOKENS)
            hash = hash_words(hash, column->tokens, dataset->steps);
        else
            hash = hash_words(hash, column->numbers, dataset->steps * (size_t)column->width);
    }
    if (dataset->sequences > 1)
        hash = hash_data(hash, dataset->begin, (dataset->sequences + 1) * sizeof *dataset->begin);
    return hash;
}

/* ---- the public functions ---- */

const int32_t *unroll_dataset_tokens(const unroll_dataset *dataset, size_t *count)
{
    const struct column *column = dataset_column(dataset, COLUMN_TOKENS, NULL);
    *count = column ? dataset->steps : 0;
    return column ? column->tokens : NULL;
}

const char *const *unroll_dataset_vocabulary(const unroll_dataset *dataset, int *size)
{
    const struct column *column = dataset_column(dataset, COLUMN_TOKENS, NULL);
    *size = column ? column->vocabulary_size : 0;
    return column ? column->vocabulary : NULL;
}
