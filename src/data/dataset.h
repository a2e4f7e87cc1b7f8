/* What models are trained on, whatever file it came from: sequences of steps, and at each step an entry of every
 * column, tokens of a vocabulary or numbers. A reader (reader_table.h) makes one. Which column is an input and which a
 * target, and what is validated on, is for the task (tasks/task.h). */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "unroll_train.h"

enum column_type { COLUMN_TOKENS, COLUMN_NUMBERS };

struct column {
    char name[64];
    enum column_type type;
    int32_t *tokens; /* [steps] numbers of entries of the vocabulary: characters, words, categories */
    unroll_token_kind kind;
    char *strings;           /* of the vocabulary in UTF-8, each ended by zero */
    const char **vocabulary; /* [vocabulary_size] point into strings */
    int vocabulary_size;
    float *numbers; /* [steps, width] */
    int width;
};

struct unroll_dataset {
    struct column *column; /* [columns] */
    int columns;
    size_t steps;  /* of all sequences */
    size_t *begin; /* [sequences + 1] steps: where each begins, and the end */
    size_t sequences;
};

/* With columns that are still empty, and no sequence; the reader fills them, or frees it. */
unroll_status dataset_new(int columns, unroll_dataset **dataset);
/* All steps are one sequence. */
unroll_status dataset_one_sequence(unroll_dataset *dataset);

/* The first column of a type, or of a name too (not NULL); NULL: there is none. */
const struct column *dataset_column(const unroll_dataset *dataset, enum column_type type, const char *name);

/* Of all that is trained on, going on from another hash: a checkpoint keeps it. */
uint64_t dataset_hash(const unroll_dataset *dataset, uint64_t hash);

#endif
