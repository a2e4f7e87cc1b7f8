/* A column during the construction of its data set: the state of a builder's runs. For builder.c and the files that do
 * parts of its work. */
#pragma once
#include <math.h>

#include "data/builder/builder.h"
#include "data/data_cache.h"
#include "data/vocabulary.h"
#include "data/words.h"

/* FIND: the meaning of the columns; COUNT: the tokens of columns found to be texts; FILL: the arrays. */
enum builder_run { RUN_FIND, RUN_COUNT, RUN_FILL };

/* The user's choice for a column. */
enum wish { WISH_NONE, WISH_NUMBER, WISH_CATEGORY, WISH_TIME, WISH_SET, WISH_TEXT, WISH_IGNORE };

/* The cells of the first run that are kept: numbers, times whose form no other cell decides, or ids of strings. */
enum kept_as { KEPT_NUMBERS, KEPT_TIMES, KEPT_IDS };

enum { TIME_WRITTEN = TIME_QUARTER + 1 }; /* forms of times that are not numbers */

struct sample {
    size_t row; /* from 1 on; 0: none */
    char text[48];
};

/* Statistics of cells of any type. */
struct survey {
    size_t cells;                            /* not missing; of these are .. */
    size_t numbers, whole;                   /* .. numbers, whole numbers */
    size_t rising, falling, by_one, compact; /* numbers above, below, one above the previous one; 20200131 */
    size_t times[TIME_WRITTEN], timed;       /* of strings: times of each written form, of any form */
    size_t missing_words;                    /* NA and similar words, not counted in cells */
    size_t sets, words, bytes;               /* of strings: with a '|', number of words, bytes */
    size_t written, spaced_units;            /* of strings: formatted numbers, those with a space before the unit */
    double min, max, last;                   /* of the numbers */
    int digits;                              /* the most after the decimal point of a number */
    struct sample no_number, no_time, first_written;
    struct sample comma, point, doubt_comma, doubt_point; /* decimal marks, and ambiguous ones */
    char unit[16], other_unit[16];
    struct time_style style;
    bool zones_differ;
    bool many;       /* more distinct ones than the vocabulary stores */
    size_t distinct; /* those in the vocabulary; set together with the type */
};

/* The place in a text where its next token begins. */
struct token_place {
    size_t bytes, lines, characters; /* before it: of all, and of its line */
};

struct draft {
    struct column column;              /* its type is final after RUN_FIND */
    enum cell cell, told;              /* as passed by the reader; as declared: words may be wanted as a set */
    const struct schema_column *given; /* the schema's column, or NULL */
    bool ignored, constant;
    bool unaligned; /* each row has its own number of entries, counted from .. */
    size_t *begin;  /* [sequences + 1], in the last run */
    bool derived;   /* its values are computed: column `joined` of the joined table, or -1: a countdown */
    int joined;
    bool written;    /* formatted numbers: cell_written */
    bool is_binary;  /* numbers 0 and 1 only: a label if the rows are examples */
    bool all_values; /* NA and similar words are ordinary values */
    enum wish wish;
    struct survey survey;
    struct sample stranger;                             /* the first cell that is not in the schema's vocabulary */
    struct vocabulary *vocabulary, *missing;            /* missing: words for missing values; NULL: none */
    bool grows;                                         /* in this run new strings are added to the vocabulary */
    int32_t unknown;                                    /* the id of UNKNOWN_WORD, or VOCABULARY_NONE */
    size_t entries, row_entries;                        /* of this run, of this row */
    size_t strangers;                                   /* cells that are not in the schema's vocabulary */
    unsigned char *pending;                             /* of a text: bytes that are not cut yet */
    size_t pending_size, pending_room, pending_checked; /* checked: is UTF-8 */
    struct token_place place;
    unsigned char head[128]; /* the first bytes of the text, for messages about its type */
    /* The first run's values, so that the last need not read them again: one for each row so far. */
    bool keeps;
    enum kept_as kept_as;
    void *kept; /* floats, doubles or int32_t */
    size_t kept_count, kept_room;
    void *array; /* that is filled, `filled` entries so far */
    size_t filled, room;
    float least, most; /* of the stored numbers; least above most: none */
};

struct builder {
    const char *name; /* of the data */
    const struct builder_options *options;
    const struct schema *schema;
    char unaligned[COLUMN_NAME];  /* a column that the reader makes unaligned */
    const unroll_dataset *joined; /* a table with a row for each value of options->key; NULL: none */
    struct data_cache *cache;     /* NULL: none */
    bool cached;                  /* the arrays are in the cache */
    struct draft *draft;
    int drafts, drafts_room, next_column;
    struct vocabulary *names;       /* of the drafts, in their order */
    struct vocabulary *given_names; /* of the schema's columns; NULL: no schema */
    enum builder_run run;
    enum row_layout layout;
    size_t kept_bytes;
    bool filled;                   /* all columns kept their numbers: the last run is not needed */
    size_t rows, sequences, steps; /* of this run */
    size_t sequences_room;
    bool sequences_ended; /* by the reader */
    int left_out;         /* columns found to contain no information */
    int rounded;          /* columns that a float cannot represent well */
    bool single_steps;    /* rows are examples of one step each: numbers belong to steps, categories to sequences */
    bool of_examples;     /* rows of this format are examples, unless an option overrides it */
    bool open;            /* the builder chooses the layout and has not decided yet */
    size_t *begin;
    char *notes;
    char read_as[READ_AS];
    char delimiter;               /* of a table; 0: unknown */
    char decimal;                 /* the decimal mark: '.' or ',' */
    char decisions[384];          /* options to read further data in the same way: ",decimal=comma" */
    char group_name[COLUMN_NAME]; /* of the options or the reader */
    int group, time;              /* drafts; -1: none */
    char place[256];
};

/* ---- column_survey.c ---- */

unroll_status columns_survey(struct builder *builder, struct draft *draft, const char *bytes, size_t length);

/* ---- column_values.c ---- */

unroll_status columns_choose_decimal(struct builder *builder); /* before any column is concluded */
bool columns_is_written(const struct draft *draft);            /* all cells are numbers, some formatted */
unroll_status columns_check_units(struct builder *builder, const struct draft *draft);
unroll_status columns_note_written(struct builder *builder, const struct draft *draft);
/* Finds times; sets type and style if all cells are times. */
unroll_status columns_find_times(struct builder *builder, struct draft *draft, bool *found);
unroll_status columns_find_number_times(struct builder *builder, struct draft *draft, bool *found);
bool columns_counts_rows(const struct builder *builder, const struct draft *draft);

/* ---- column_types.c ---- */

unroll_status columns_wish(const struct builder *builder, const char *name, enum wish *wish);
unroll_status columns_conclude(struct builder *builder, struct draft *draft); /* sets its type, or ignores it */
/* Adds notes about constant columns, and the number of columns left out without their own note. */
unroll_status columns_note_constant(struct builder *builder);
unroll_status columns_choose_label(struct builder *builder); /* when the layout is known */
unroll_status columns_note_left_out(struct builder *builder);
/* Keeps one of several texts: a row is one sequence. */
unroll_status columns_choose_text(struct builder *builder);
/* Returns a column of rows that are steps whose name suggests series and whose values recur; NULL: none. */
const char *columns_series(const struct builder *builder);
/* Adds a note if such a column exists but no group, or if numbers are parts of a time but no column is a time. */
unroll_status columns_note_series(struct builder *builder);

/* ---- tokenize.c ---- */

/* Takes more bytes of a row's text and cuts off complete tokens; last: all of them. */
unroll_status cut_text(struct builder *builder, struct draft *draft, const void *bytes, size_t size, bool last);

/* True if a list "NAME;NAME" has the name. */
bool builder_lists(const char *list, const char *name);

static inline bool has_ids(const struct draft *draft)
{
    return draft->column.type == COLUMN_TOKENS || draft->column.type == COLUMN_CATEGORY;
}

/* Bytes of an entry in memory. */
static inline size_t entry_bytes(const struct draft *draft)
{
    return draft->column.type == COLUMN_TIME ? sizeof(double)
           : has_ids(draft)                  ? (size_t)draft->column.id_bytes
                                             : (size_t)draft->column.width * sizeof(float);
}

static inline bool has_vocabulary(const struct draft *draft)
{
    return has_ids(draft) || draft->column.type == COLUMN_SET;
}

/* ---- builder_runs.c ---- */

/* Begins with the schema's vocabulary, or with an empty one. */
unroll_status draft_begin_vocabulary(struct builder *builder, struct draft *draft);

/* ---- builder_order.c ---- */

/* Sorts the steps of a table by groups and times; sets the sequences. */
unroll_status builder_put_in_order(struct builder *builder);

/* ---- builder_gaps.c ---- */

/* Fills gaps in rows sorted by time. */
unroll_status builder_fill_gaps(struct builder *builder);

/* ---- builder_derived.c ---- */

unroll_status builder_add_derived(struct builder *builder);  /* when the reader's columns are known */
unroll_status builder_size_derived(struct builder *builder); /* when the steps are */
unroll_status builder_fill_joined(struct builder *builder);
unroll_status builder_fill_countdown(struct builder *builder); /* of steps in their order */

/* ---- builder_kept.c ---- */

/* Makes room for one more kept value; false: the column keeps none. */
bool draft_more_kept(struct builder *builder, struct draft *draft);
void draft_drop_kept(struct builder *builder, struct draft *draft);
/* Chooses what is kept of a column whose cells so far are missing. */
void draft_keep_as(struct builder *builder, struct draft *draft, enum kept_as kept);
/* Chooses the columns whose kept values are used, and sets builder->filled: no column needs another run. */
void builder_choose_kept(struct builder *builder);
/* Sorts the vocabulary and replaces the kept ids. */
unroll_status draft_sort_vocabulary(struct draft *draft, enum vocabulary_order order, bool unknown, int32_t max);

/* ---- builder_checks.c ---- */

/* Checks data that are read for the first time, after the last run: whether they contain information, and whether
 * floats can represent it. */
unroll_status builder_check_content(struct builder *builder);

/* ---- builder.c ---- */

void draft_put_number(struct draft *draft, float value);
/* Appends a column. */
unroll_status builder_add_draft(struct builder *builder, const char *name, enum cell cell, bool of_sequence, int width);

/* Adds a string to a vocabulary that grows. */
unroll_status draft_add_string(struct builder *builder, struct draft *draft, const char *bytes, size_t length,
                               int32_t *id);
/* Checks that the array has room for more entries. It has none if a file changes, or if a caller passes other rows than
 * in the first run. */
unroll_status draft_check_room(struct builder *builder, const struct draft *draft, size_t entries);
void draft_put_id(struct draft *draft, int32_t id); /* adds an entry to the array */

/* Returns "'x.csv', row 12, column 'a'"; for a file that is a single text only its name. Valid until the next call. */
const char *draft_place(struct builder *builder, const struct draft *draft);

static inline void draft_look_at(struct draft *draft, float value)
{
    draft->column.missing += isnan(value);
    draft->least = value < draft->least ? value : draft->least;
    draft->most = value > draft->most ? value : draft->most;
}

/* Keeps a number, a time, or an id; NAN: the cell is missing. */
static inline void draft_keep(struct builder *builder, struct draft *draft, double value)
{
    if (!draft->keeps || (draft->kept_count == draft->kept_room && !draft_more_kept(builder, draft)))
        return;
    const size_t at = draft->kept_count++;
    if (draft->kept_as == KEPT_NUMBERS) {
        ((float *)draft->kept)[at] = (float)value;
        draft_look_at(draft, (float)value);
    } else if (draft->kept_as == KEPT_TIMES) {
        ((double *)draft->kept)[at] = value;
        draft->column.missing += isnan(value);
    } else
        ((int32_t *)draft->kept)[at] = isnan(value) ? VOCABULARY_NONE : (int32_t)value;
}
