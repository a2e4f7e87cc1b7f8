/* Creates a data set from the rows that a reader passes. A reader runs two or three times over its input and makes the
 * same calls each time. The first run finds the columns, the second the vocabularies of texts, and the last fills the
 * arrays. The builder thus needs no more memory than the data set itself. It is not a parser: the bytes of a cell come
 * from the reader. */
#pragma once
#include "data/data_schema.h"
#include "base/token_kind.h"

struct builder;

enum row_layout {
    ROWS_ARE_STEPS,    /* of one series, or of sequences ended by builder_end_sequence */
    ROWS_ARE_EXAMPLES, /* each is a sequence */
    ROWS_OPEN          /* found by content: examples if they contain texts or arrays of steps, otherwise steps */
};

/* The same numbers as in unroll_column_kind. */
enum cell {
    CELL_TEXT,   /* any: number, time, category, text or set, found by content or given by the option `columns` */
    CELL_TOKENS, /* a text that is cut into tokens; may be passed in pieces */
    CELL_LABEL,  /* a category */
    CELL_WORD,   /* a category for each step of a row's sequence, or for a row that is a step */
    CELL_SET,    /* several entries of a vocabulary: a cell "a|b", or builder_part for each */
    CELL_NUMBERS
};
_Static_assert((int)CELL_NUMBERS == (int)UNROLL_COLUMN_NUMBERS, "one more cell");

/* Begins a run; call it before the first cell. */
unroll_status builder_columns(struct builder *builder, enum row_layout layout);
/* Declares a column, in the same order in each run. name NULL: the data have none. of_sequence: where rows are
 * examples, one entry per row; otherwise one per step. width: of numbers. *column: the column's number for the calls
 * below. */
unroll_status builder_column(struct builder *builder, const char *name, enum cell cell, bool of_sequence, int width,
                             int *column);

/* Adds a cell of the current row: bytes in UTF-8, not terminated by zero. For tokens: more bytes of the same text; for
 * words (CELL_WORD): the next step. */
unroll_status builder_text(struct builder *builder, int column, const char *bytes, size_t length);
/* Adds entries x width numbers: the next steps of the current row; entries is 1 for a column with one entry per row. */
unroll_status builder_numbers(struct builder *builder, int column, const float *numbers, size_t entries);
/* Ends the row. A cell without a call in the row is missing: NaN, -1, or a sequence without steps. */
unroll_status builder_end_row(struct builder *builder);
unroll_status builder_end_sequence(struct builder *builder); /* of rows that are steps */

/* Returns "'x.csv', row 12" (the current row) for a reader's own messages. Valid until the next call. */
const char *builder_place(struct builder *builder);
/* builder_wants_sets: the steps of a text must be sets (tokens=sets). builder_takes_any_tokens: no option chooses the
 * tokens. */
bool builder_fills(const struct builder *builder); /* true in the last run; before, only counts of numbers are needed */
bool builder_wants_sets(const struct builder *builder);
bool builder_takes_any_tokens(const struct builder *builder);
/* Adds a sentence about the data for the user; a repeated one is kept once. */
unroll_status builder_note(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True for an empty cell, or a word for a missing value. */
bool builder_is_missing(const struct builder *builder, const char *bytes, size_t length);
/* True if a row of a table is a series, by the option `layout`, or else as found. */
bool builder_is_wide(const struct builder *builder, bool found);
/* Sets the column that divides the rows into series, regardless of the option; for a table whose rows were series. */
void builder_group(struct builder *builder, const char *name);
/* Makes a column that is declared later unaligned, as the option does. */
void builder_unaligned(struct builder *builder, const char *name);
/* Declares a column of categories, whatever its cells contain; the option `columns` may override it. */
void builder_category(struct builder *builder, int column);
/* Makes rows of the format examples, unless an option overrides it. */
void builder_rows_are_examples(struct builder *builder);
/* Sets the delimiter between the cells of a table. */
void builder_delimiter(struct builder *builder, char delimiter);
/* Records a decision as an option of the reader, ",key=value", to read further data in the same way. */
void builder_decide(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records a decision of the reader, for people. */
void builder_read_as(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For data that must match earlier data in which each example has a text or words: returns the column of those, which
 * the lines of a plain text now fill, and its cell. NULL: a plain text is one text. */
const char *builder_line_column(const struct builder *builder, enum cell *cell);
/* True if the data are read as earlier data were, for evaluation or prediction. */
bool builder_reads_again(const struct builder *builder);
/* True if the model that reads the data has a column of this name with an entry for each step. */
bool builder_wants_steps(const struct builder *builder, const char *name);
/* True if the model that reads the data has a column of this name. */
bool builder_wants_column(const struct builder *builder, const char *name, size_t length);

/* ---- for reader_table.c ---- */

/* The option `tokens`. TOKENS_ANY: not given; a text by itself is cut into characters, a column by the length of its
 * cells. From TOKENS_ARE on: a kind of token. TOKENS_ARE_SETS: sets. */
enum {
    COLUMNS_TEXT = 1024,
    MISSING_TEXT = 256,
    TABLE_TEXT = 1000,
    TOKENS_ANY = 0,
    TOKENS_ARE = 1,
    TOKENS_ARE_SETS = TOKENS_ARE + CUT_BLANKS + 1
};

/* The options of all readers. */
struct builder_options {
    int tokens;                 /* TOKENS_.. */
    double vocab;               /* the most entries of a vocabulary of tokens; 0: not given */
    char columns[COLUMNS_TEXT]; /* "NAME=TYPE;NAME=TYPE": number category text time set ignore */
    char group[COLUMN_NAME], time[COLUMN_NAME];
    char missing[MISSING_TEXT];       /* "WORD;WORD": missing values in columns of any type; "": found by content */
    int decimal;                      /* DECIMAL_.. */
    int dates;                        /* DATES_.. */
    int gaps;                         /* GAPS_.. */
    int order;                        /* ORDER_.. */
    char unaligned[COLUMNS_TEXT];     /* "NAME;NAME": columns with their own number of entries in each example */
    char countdown[COLUMN_NAME + 16]; /* "NAME" or "NAME=N": a column with the number of remaining steps, at most N */
    char table[TABLE_TEXT];           /* the path of a table to join by `key` */
    char key[COLUMN_NAME];            /* a column of categories in both tables */
    char keep[COLUMNS_TEXT], label[COLUMN_NAME]; /* "NAME;NAME", NAME: columns in the data that the model lacks */
    int layout;                                  /* LAYOUT_..: the meaning of rows in a table without a text */
};

enum { DECIMAL_FOUND, DECIMAL_POINT, DECIMAL_COMMA };
enum { DATES_FOUND, DATES_DMY, DATES_MDY };
enum { LAYOUT_FOUND, LAYOUT_STEPS, LAYOUT_EXAMPLES, LAYOUT_WIDE };
enum { GAPS_FOUND, GAPS_FILL, GAPS_KEEP };
enum { ORDER_FOUND, ORDER_FILE, ORDER_TIME };

struct data_cache;

/* Creates a builder. name: the data's name for messages; borrowed, like the schema. cache: for large arrays, or
 * NULL. */
unroll_status builder_new(const char *name, const struct builder_options *options, const struct schema *schema,
                          struct data_cache *cache, struct builder **builder);
/* Joins a table by the option `key`; the table is borrowed. */
void builder_join(struct builder *builder, const unroll_dataset *table);
/* Ends a run of the reader. *again: it must run again. */
unroll_status builder_end_run(struct builder *builder, bool *again);
/* Takes the data set; call it after the last run. */
unroll_status builder_take(struct builder *builder, unroll_dataset **dataset);
/* Returns the decisions needed to read further data in the same way, as reader options: ",key=value,..". */
const char *builder_decisions(const struct builder *builder);
void builder_free(struct builder *builder);
