/* unroll_data.h: data sets, from files or from your program.
 *
 *     unroll_dataset *data;
 *     int kinds;
 *     if (unroll_dataset_open("book.txt", NULL, &data) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     unroll_dataset_vocabulary(data, &kinds);
 *     printf("%d characters of %d kinds\n", (int)unroll_dataset_tokens(data, 0, 0, NULL), kinds);
 *     unroll_dataset_free(data);
 */
#ifndef UNROLL_DATA_H
#define UNROLL_DATA_H
#include "unroll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data sets ------------------------------------------------------------------------- */

/* Sequences of steps with named columns of tokens or numbers. A text has one column of tokens: characters or words. */
typedef struct unroll_dataset unroll_dataset;

/* Start from unroll_dataset_config_default(). */
typedef struct unroll_dataset_config {
    size_t size;               /* sizeof(unroll_dataset_config) */
    const char *reader;        /* a name of UNROLL_LIST_READERS; NULL: found from the file */
    const char *options;       /* "key=value,key=value": the reader's own and, for all, tokens=chars|words|blanks|sets,
                                  vocab=N, columns=NAME=TYPE;NAME=TYPE (number, category, time, set, text, ignore),
                                  group=COLUMN, time=COLUMN (docs/guide/data.md); NULL: the defaults */
    const unroll_model *model; /* read the data as this model does, with its vocabulary; NULL: a new vocabulary */
} unroll_dataset_config;

UNROLL_DEFAULT(unroll_dataset_config)

/* Opens a data set. path "-": standard input. config NULL: the default. A character outside the model's vocabulary is
 * an error with line and column; a word is "<unk>". Characters are numbered in the order of their code points. The
 * concatenated words of a text are the text: a word is a run of letters, digits and the like (don't, well-known, 3.14),
 * a run of punctuation, or a line end, each with one space before it if there is one; other white space is a word of
 * its own. Word 0 is "<unk>", then the most frequent words follow, equally frequent ones by code points. */
UNROLL_API unroll_status unroll_dataset_open(const char *path, const unroll_dataset_config *config,
                                             unroll_dataset **dataset);
UNROLL_API void unroll_dataset_free(unroll_dataset *dataset);
/* Returns the number of tokens of the first token column, one per step; 0: no such column. Writes at most `count` of
 * them, starting with `first`, to the caller's array `tokens`. */
UNROLL_API size_t unroll_dataset_tokens(const unroll_dataset *dataset, size_t first, size_t count, int32_t *tokens);
/* Returns the texts of these tokens, owned by the data set; NULL: none. */
UNROLL_API const char *const *unroll_dataset_vocabulary(const unroll_dataset *dataset, int *size);

/* ---- data from your program ---- */

/* What the values of a column are. */
typedef enum unroll_column_kind {
    UNROLL_COLUMN_TEXT, /* a number, time, category, text or set "a|b", decided by content or by the option `columns` */
    UNROLL_COLUMN_TOKENS, /* a text that is cut into tokens; may be passed in parts */
    UNROLL_COLUMN_LABEL,  /* a category */
    UNROLL_COLUMN_WORD,   /* a category per step */
    UNROLL_COLUMN_SET,    /* several categories: "a|b", or one call for each */
    UNROLL_COLUMN_NUMBERS
} unroll_column_kind;

/* Receives rows. It is valid while the function that gets it runs. Strings and numbers are copied. */
typedef struct unroll_builder unroll_builder;

/* Declares a column. Columns come first, in the same order in each run. name: at most 63 bytes of UTF-8. of_example 1:
 * if rows are examples, one entry per example; 0: one per step. width: of numbers, >= 1. Sets *column to its index. */
UNROLL_API unroll_status unroll_builder_column(unroll_builder *builder, const char *name, unroll_column_kind kind,
                                               int of_example, int width, int *column);
/* Adds a value to the current row, `length` bytes of UTF-8; for words and sets one more entry. */
UNROLL_API unroll_status unroll_builder_text(unroll_builder *builder, int column, const char *bytes, size_t length);
/* Adds [entries, width] numbers to the current row: one entry per step, or a single one per row; NAN: missing. */
UNROLL_API unroll_status unroll_builder_numbers(unroll_builder *builder, int column, const float *numbers,
                                                size_t entries);
/* Ends the row. Values that were not added are missing. */
UNROLL_API unroll_status unroll_builder_end_row(unroll_builder *builder);
/* If rows are steps: the next row begins another sequence. */
UNROLL_API unroll_status unroll_builder_end_sequence(unroll_builder *builder);

/* Passes all rows to the builder. It is called two or three times (for types, vocabularies, arrays) and must do the
 * same each time. It returns the status of a failed builder call; any status but UNROLL_OK stops. */
typedef unroll_status unroll_rows(void *arg, unroll_builder *builder);

/* Makes a data set from rows of a function. rows_are_steps 1: each row is a step of a series; 0: each is an example;
 * UNROLL_AUTO: examples if there are texts or several entries in a row, otherwise steps. config as in
 * unroll_dataset_open, without its reader. */
UNROLL_API unroll_status unroll_dataset_from_rows(unroll_rows *rows, void *arg, int rows_are_steps,
                                                  const unroll_dataset_config *config, unroll_dataset **dataset);

/* A column given as an array of numbers or strings. */
typedef struct unroll_column {
    size_t size; /* sizeof(unroll_column) */
    const char *name;
    unroll_column_kind kind;
    int of_example;             /* 1: one entry per example; 0: one per step */
    const float *numbers;       /* [entries, width]; NULL: strings */
    int width;                  /* >= 1 */
    const char *const *strings; /* [entries] zero-terminated UTF-8; a NULL entry is missing */
} unroll_column;

/* Makes a data set from arrays, which are copied. lengths: [examples] steps of each; NULL: one series of `examples`
 * steps. A text (UNROLL_COLUMN_TOKENS) is one string per example and defines its steps: its length is then 0 or the
 * number of its tokens. */
UNROLL_API unroll_status unroll_dataset_from_columns(const unroll_column *arrays, int count, const int64_t *lengths,
                                                     int64_t examples, const unroll_dataset_config *config,
                                                     unroll_dataset **dataset);

/* Describes a data set as a JSON object: "rows" ("steps" or "examples"), "sequences", "steps", "lengths", "group",
 * "time", "columns" (each with "name", "type", "of", "missing" and ranges or the most frequent entries), "summary",
 * "notes", "first" rows. The caller frees *json with free(). */
UNROLL_API unroll_status unroll_dataset_describe(const unroll_dataset *dataset, char **json);
/* Lists the decisions with which the data were read: header and delimiter, rows and shapes, types of columns, order and
 * time zone, missing values; one per line, each with the field that changes it, in backquotes. The caller frees *text
 * with free(). */
UNROLL_API unroll_status unroll_dataset_summary(const unroll_dataset *dataset, char **text);
/* Returns notes about decisions that you may want to change, one sentence per line, "" if there are none. Fields of
 * configurations are in backquotes. Owned by the data set. */
UNROLL_API const char *unroll_dataset_notes(const unroll_dataset *dataset);

/* ---- sequences divided among ranks ----------------------------------------------------- */

/* Assigns sequences of a data set to rows of the batches of an epoch. Rows of a batch are divided among `replicas`, the
 * ranks along batch; with `exact` its V, so that the number of ranks does not matter. Start from
 * unroll_sampler_config_default(). */
typedef struct unroll_sampler_config {
    size_t size;     /* sizeof(unroll_sampler_config) */
    const char *how; /* "shuffle", "even": random order; "length": sequences of a batch have similar lengths, and its
                        parts similar numbers of steps; "stratified": parts have similar numbers of each class;
                        "column": each class is on one part only; "part": classes are the parts */
    int64_t count;   /* number of sequences */
    const int32_t *lengths; /* [count], or NULL */
    const int32_t *classes; /* [count], or NULL */
    int rows, replicas;     /* per batch */
    uint64_t seed;
    int64_t epoch; /* each epoch has its own order */
} unroll_sampler_config;

UNROLL_DEFAULT(unroll_sampler_config)
/* Returns the number of batches, the same for all ranks. */
UNROLL_API int64_t unroll_sampler_batches(const unroll_sampler_config *sampler);
/* Fills order [batches, rows] with indices of sequences, each once; -1: an empty row of length 0, without weight. */
UNROLL_API unroll_status unroll_sampler_order(const unroll_sampler_config *sampler, int64_t *order);

#ifdef __cplusplus
}
#endif
#endif
