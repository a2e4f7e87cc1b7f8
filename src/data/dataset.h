/* A data set for training or prediction: sequences of steps, and columns of tokens, categories, sets, numbers or times.
 * A column has an entry for each step or for each sequence. A builder (builder.h) creates it from the rows of a reader,
 * for any format. Tasks (tasks/task.h) choose inputs, targets and held-out parts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/token_kind.h"
#include "unroll_train.h"

enum column_type {
    COLUMN_TOKENS,   /* parts of a text: ids of a vocabulary */
    COLUMN_CATEGORY, /* such as labels: ids, -1: missing */
    COLUMN_SET,      /* several entries of a vocabulary at once: numbers 0 and 1, width = vocabulary_size */
    COLUMN_NUMBERS,  /* NaN: missing */
    COLUMN_TIME      /* seconds since 1970 (for TIME_STEP the number itself), NaN: missing */
};

enum { COLUMN_NAME = 64, READ_AS = 240 };

/* The written form of times. */
enum time_form {
    TIME_TEXT_FREE, /* ISO 8601, or with the name of a month: day, month and year are unambiguous */
    TIME_DMY,       /* 31/01/2020 */
    TIME_MDY,       /* 01/31/2020 */
    TIME_QUARTER,   /* 2020Q1 */
    /* numbers: */
    TIME_SECONDS, /* since 1970; likewise the next three */
    TIME_MILLISECONDS,
    TIME_MICROSECONDS,
    TIME_NANOSECONDS,
    TIME_COMPACT, /* 20200131, 202001311230, 20200131123000 */
    TIME_YEAR,
    TIME_STEP, /* any rising number, unchanged */
    TIME_FORMS
};

struct time_style {
    enum time_form form;
    int digits; /* after the decimal point of seconds or of a step */
    bool zoned; /* each has the same offset from UTC */
    int zone;   /* this offset in minutes */
};

/* Why a column that is not in the schema is read: to be printed next to predictions, or for metrics. */
enum column_kept { NOT_KEPT, KEPT_COLUMN, KEPT_LABEL };

struct column {
    char name[COLUMN_NAME];
    enum column_type type;
    bool of_sequence; /* one entry per sequence; otherwise one per step, unless .. */
    /* .. the column is unaligned, such as a transcript: [sequences + 1] the first entry of each sequence, and the end.
     * NULL: it is not. */
    const size_t *begin;
    enum token_kind kind;
    const void *ids; /* [entries] of id_bytes 1, 2 or 4: column_id() */
    int id_bytes;
    const char **vocabulary; /* [vocabulary_size] point into strings */
    char *strings;           /* in UTF-8, each terminated by zero */
    int vocabulary_size;
    const float *numbers; /* [entries, width] */
    int width;
    const double *times; /* [entries] */
    struct time_style style;
    size_t missing;        /* numbers or entries, including those of steps that fill gaps */
    int place;             /* among the columns of the file, from 0 on */
    enum column_kept kept; /* for a column unknown to the model */
};

struct unroll_dataset {
    char name[160]; /* of the file, for messages */
    char *path;     /* of the file; NULL: the data are not from a file */
    struct column *column;
    int columns;
    size_t steps; /* of all sequences */
    size_t sequences;
    const size_t *begin;   /* [sequences + 1] the first step of each, and the end */
    bool rows_are_steps;   /* a row of a table is a step of a series (one per group), or else an example */
    int group, time;       /* columns: divides rows into sequences; orders them; -1: none */
    uint64_t key;          /* of the content, for caches */
    char *notes;           /* decisions that the user may want to change: sentences, one per line; "" */
    char *options;         /* of the reader, to read further data in the same way; "" */
    char read_as[READ_AS]; /* decisions of the reader: "header, semicolon between cells"; "": none */
    char reader[16];
    bool hashed; /* hash: dataset_hash from HASH_BEGIN on, which is slow */
    uint64_t hash;
    void *map; /* the cache with the arrays; NULL: they have their own memory */
    size_t map_bytes;
};

/* Returns the id of an entry; -1: missing. */
static inline int32_t column_id(const struct column *column, size_t entry)
{
    if (column->id_bytes == 1) {
        uint8_t id = ((const uint8_t *)column->ids)[entry];
        return id == UINT8_MAX ? -1 : id;
    }
    if (column->id_bytes == 2) {
        uint16_t id = ((const uint16_t *)column->ids)[entry];
        return id == UINT16_MAX ? -1 : id;
    }
    return ((const int32_t *)column->ids)[entry];
}

static inline size_t column_entries(const unroll_dataset *dataset, const struct column *column)
{
    if (column->begin)
        return column->begin[dataset->sequences];
    return column->of_sequence ? dataset->sequences : dataset->steps;
}

/* Returns the first entry of a sequence in a column; sequence = dataset->sequences: the end. */
static inline size_t column_first(const unroll_dataset *dataset, const struct column *column, size_t sequence)
{
    if (column->begin)
        return column->begin[sequence];
    return column->of_sequence ? sequence : dataset->begin[sequence];
}

/* Returns the first column of a type that is not unaligned, and of a name if it is not NULL; NULL: none. */
const struct column *dataset_column(const unroll_dataset *dataset, enum column_type type, const char *name);
/* Returns the column of a name, of any type; NULL: none. */
const struct column *dataset_named(const unroll_dataset *dataset, const char *name);
/* Returns the value of the grouping column in a sequence; "": there is no such column. */
const char *dataset_group(const unroll_dataset *dataset, size_t sequence);

/* Writes "a, b, c", the names of all columns, for messages; truncated at `size`. Returns text. */
const char *dataset_names(const unroll_dataset *dataset, char *text, size_t size);

/* Continues a hash with all training data; checkpoints store it. */
uint64_t dataset_hash(const unroll_dataset *dataset, uint64_t hash);
