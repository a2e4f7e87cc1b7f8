/* What readers hand rows to: of the rows a data set is made. A reader runs two or three times over its input, and does
 * the same each time: first the builder finds what the columns are, then the vocabularies of texts, then it fills.
 * So it needs no more memory than the data set itself has. Not a parser: a cell's bytes come from the reader. */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H
#include "data/data_schema.h"

struct builder;

enum layout {
    ROWS_ARE_STEPS,    /* of one series, or of sequences that builder_end_sequence ends */
    ROWS_ARE_EXAMPLES, /* each a sequence of its own */
    ROWS_OPEN          /* found by content: with texts or arrays of steps they are examples, else steps */
};

/* The numbers of unroll_cell. */
enum cell {
    CELL_TEXT,   /* anything: number, time, category, text, set, found by content or said by the option `columns` */
    CELL_TOKENS, /* a text that is cut into tokens; may be handed over piece by piece */
    CELL_LABEL,  /* a category */
    CELL_WORD,   /* a category of each step of a row's sequence, or of a row that is a step */
    CELL_SET,    /* several of a vocabulary: a cell "a|b", or builder_part for each */
    CELL_NUMBERS
};
_Static_assert((int)CELL_NUMBERS == (int)UNROLL_CELL_NUMBERS, "one more cell");

/* Before the first cell of a run. */
unroll_status builder_columns(struct builder *builder, enum layout layout);
/* In the same order in each run. name NULL: the data have none. of_sequence: where rows are examples, one entry for
 * each; otherwise, of them, as many as steps. width: of numbers. *column: what the calls below name it by. */
unroll_status builder_column(struct builder *builder, const char *name, enum cell cell, bool of_sequence, int width,
                             int *column);

/* One cell of the current row: its bytes in UTF-8, not ended by zero. Of tokens more bytes of the same text; of words
 * (CELL_WORD) the next step. */
unroll_status builder_text(struct builder *builder, int column, const char *bytes, size_t length);
/* entries x width numbers: so many steps of the current row, going on; of one entry a row: entries 1. */
unroll_status builder_numbers(struct builder *builder, int column, const float *numbers, size_t entries);
/* A cell that has been called for no time in a row is missing: NaN, -1, a sequence without steps. */
unroll_status builder_end_row(struct builder *builder);
unroll_status builder_end_sequence(struct builder *builder); /* of rows that are steps */

/* "'x.csv', row 12", for a reader's own messages: of the row that has not ended. Valid until the next call. */
const char *builder_place(struct builder *builder);
/* Are the steps of a text wanted to be sets (tokens=sets)? Or does nothing say what its tokens are? */
bool builder_wants_sets(const struct builder *builder);
bool builder_takes_any_tokens(const struct builder *builder);
/* A sentence about the data that the user may want to know; kept once. */
unroll_status builder_note(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Is the cell empty, or a word for a missing value? */
bool builder_is_missing(const struct builder *builder, const char *bytes, size_t length);
/* Is a row of a table a series? By the option `layout`, or as it was found. */
bool builder_is_wide(const struct builder *builder, bool found);
/* The column that divides the rows into series, whatever the option says: of a table whose rows were series. */
void builder_group(struct builder *builder, const char *name);
/* What is between the cells of a table. */
void builder_delimiter(struct builder *builder, char delimiter);
/* What the reader decided, for people. */
void builder_read_as(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of data that are read as others were, a text or words for each example among those: their column, which the lines of
 * a plain text give now, and its cells; NULL: a plain text is one text. */
const char *builder_line_column(const struct builder *builder, enum cell *cell);
/* Are the data read as others were, to be evaluated or answered? */
bool builder_reads_again(const struct builder *builder);
/* Does the model that they are read for have a column of this name? */
bool builder_wants_column(const struct builder *builder, const char *name, size_t length);

/* ---- for reader_table.c ---- */

/* What `tokens` says: nothing, of which a text by itself is characters and a column by how long its cells are; a
 * unroll_token_kind behind TOKENS_ARE; sets. */
enum {
    COLUMNS_TEXT = 1024,
    MISSING_TEXT = 256,
    TOKENS_ANY = 0,
    TOKENS_ARE = 1,
    TOKENS_ARE_SETS = TOKENS_ARE + UNROLL_BLANKS + 1
};

/* What all readers take. */
struct builder_options {
    int tokens;                 /* TOKENS_.. */
    double vocab;               /* the most entries of a vocabulary of tokens; 0: not said */
    char columns[COLUMNS_TEXT]; /* "NAME=TYPE;NAME=TYPE": number category text time set ignore */
    char group[COLUMN_NAME], time[COLUMN_NAME];
    char missing[MISSING_TEXT]; /* "WORD;WORD": cells that are missing, in columns of any type; "": found by content */
    int decimal;                /* DECIMAL_.. */
    int dates;                  /* DATES_.. */
    int gaps;                   /* GAPS_.. */
    int layout;                 /* LAYOUT_..: what rows of a table are that has no text */
};

enum { DECIMAL_FOUND, DECIMAL_POINT, DECIMAL_COMMA };
enum { DATES_FOUND, DATES_DMY, DATES_MDY };
enum { LAYOUT_FOUND, LAYOUT_STEPS, LAYOUT_EXAMPLES, LAYOUT_WIDE };
enum { GAPS_FOUND, GAPS_FILL, GAPS_KEEP };

struct data_cache;

/* name: of the data, for messages; borrowed, as the schema is. cache: where large arrays go, or NULL. */
unroll_status builder_new(const char *name, const struct builder_options *options, const struct schema *schema,
                          struct data_cache *cache, struct builder **builder);
/* The reader has run once. *again: it must run again. */
unroll_status builder_end_run(struct builder *builder, bool *again);
/* After the last run. */
unroll_status builder_take(struct builder *builder, unroll_dataset **dataset);
/* What was found that the data are read alike again with: ",key=value,..", for the reader's options. */
const char *builder_decisions(const struct builder *builder);
void builder_free(struct builder *builder);

#endif
