/* What models are trained on, whatever file it came from: sequences of steps, and columns: tokens, categories, sets,
 * numbers, times, with an entry at each step or one for each sequence. A builder (builder.h) makes one of a reader's
 * rows. Which column is an input and which a target, and what is held out, is for the task (tasks/task.h). */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "unroll_train.h"

enum column_type {
    COLUMN_TOKENS,   /* parts of a text: ids of a vocabulary */
    COLUMN_CATEGORY, /* labels and such: ids, -1: missing */
    COLUMN_SET,      /* several of a vocabulary at once: numbers of 0 and 1, width = vocabulary_size */
    COLUMN_NUMBERS,  /* NaN: missing */
    COLUMN_TIME      /* seconds since 1970 (of TIME_STEP the number itself), NaN: missing */
};

enum { COLUMN_NAME = 64, READ_AS = 160 };

/* How times are written in the data. */
enum time_form {
    TIME_TEXT_FREE, /* ISO 8601, or with the name of a month: day, month and year cannot be mistaken */
    TIME_DMY,       /* 31/01/2020 */
    TIME_MDY,       /* 01/31/2020 */
    TIME_QUARTER,   /* 2020Q1 */
    /* numbers: */
    TIME_SECONDS, /* since 1970; so the next three */
    TIME_MILLISECONDS,
    TIME_MICROSECONDS,
    TIME_NANOSECONDS,
    TIME_COMPACT, /* 20200131, 202001311230, 20200131123000 */
    TIME_YEAR,
    TIME_STEP, /* any number that rises: kept as it is */
    TIME_FORMS
};

struct time_style {
    enum time_form form;
    int digits; /* after the decimal point, of seconds or of a step */
    bool zoned; /* an offset from UTC is written next to each, and is the same */
    int zone;   /* that offset, minutes */
};

struct column {
    char name[COLUMN_NAME];
    enum column_type type;
    bool of_sequence; /* an entry a sequence; else one a step */
    unroll_token_kind kind;
    const void *ids; /* [entries] of id_bytes 1, 2 or 4: column_id() */
    int id_bytes;
    const char **vocabulary; /* [vocabulary_size] point into strings */
    char *strings;           /* in UTF-8, each ended by zero */
    int vocabulary_size;
    const float *numbers; /* [entries, width] */
    int width;
    const double *times; /* [entries] */
    struct time_style style;
    int place; /* in the file, among its columns, from 0 on */
};

struct unroll_dataset {
    char name[160]; /* of the file, for messages */
    struct column *column;
    int columns;
    size_t steps; /* of all sequences */
    size_t sequences;
    const size_t *begin; /* [sequences + 1] steps: where each begins, and the end */
    bool rows_are_steps; /* a table whose rows are steps of a series (of each group one); else every row, line, sentence
                            or file is an example of its own */
    int group, time;     /* columns: what divides rows into sequences, and what orders them; -1: none */
    uint64_t key;        /* of the content, for caches */
    char *notes;         /* what was decided that the user may want otherwise: sentences, a line each; "" */
    char *options;       /* that the reader was given, to read alike again; "" */
    char read_as[READ_AS]; /* what the reader decided: "header, semicolon between cells"; "": nothing */
    char reader[16];
    bool hashed; /* hash: dataset_hash from HASH_BEGIN on, which takes long */
    uint64_t hash;
    void *map; /* of the cache that the arrays lie in; NULL: they are memory of their own */
    size_t map_bytes;
};

/* The id of an entry; -1: missing. */
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
    return column->of_sequence ? dataset->sequences : dataset->steps;
}

/* The first column of a type, or of a name too (not NULL); NULL: there is none. */
const struct column *dataset_column(const unroll_dataset *dataset, enum column_type type, const char *name);
/* The column of a name, of any type; NULL: there is none. */
const struct column *dataset_named(const unroll_dataset *dataset, const char *name);
/* The value that all rows of a sequence have in the column that divides them; "": there is no such column. */
const char *dataset_group(const unroll_dataset *dataset, size_t sequence);

/* "a, b, c": the names of all columns, for messages; cut off where `size` ends. Returns text. */
const char *dataset_names(const unroll_dataset *dataset, char *text, size_t size);

/* Of all that is trained on, going on from another hash: a checkpoint keeps it. */
uint64_t dataset_hash(const unroll_dataset *dataset, uint64_t hash);

#endif
