/* A column while its data set is made: what the runs of a builder know of it. For builder.c and the files that do parts
 * of its work. */
#ifndef DATA_DRAFT_H
#define DATA_DRAFT_H
#include "data/builder.h"
#include "data/data_cache.h"
#include "data/vocabulary.h"
#include "data/words.h"

/* FIND: what the columns are; COUNT: the tokens of texts that were found to be such; FILL: the arrays. */
enum run { RUN_FIND, RUN_COUNT, RUN_FILL };

/* What the user says that a column is. */
enum wish { WISH_NONE, WISH_NUMBER, WISH_CATEGORY, WISH_TIME, WISH_SET, WISH_TEXT, WISH_IGNORE };

enum { TIME_WRITTEN = TIME_QUARTER + 1 }; /* forms of times that are no numbers */

struct sample {
    size_t row; /* from 1 on; 0: there is none */
    char text[48];
};

/* Of cells that may be anything. */
struct survey {
    size_t cells;                            /* that are not missing; of these are .. */
    size_t numbers, whole;                   /* .. numbers, whole ones */
    size_t rising, falling, by_one, compact; /* of these above, below, one above the one before; 20200131 */
    size_t times[TIME_WRITTEN], timed;       /* of strings: times of each written form, of any */
    size_t missing_words;                    /* NA and the like, which are not among the cells */
    size_t sets, words, bytes;               /* of strings: with a '|', how many words, bytes */
    size_t written, spaced_units; /* of strings: numbers as people write them, those with a blank before a unit */
    double min, max, last;        /* of the numbers */
    int digits;                   /* the most after the decimal point of a number */
    struct sample no_number, no_time, first_written;
    struct sample comma, point, doubt_comma, doubt_point; /* decimal marks, and what may be some */
    char unit[16], other_unit[16];
    struct time_style style;
    bool zones_differ;
    bool many;       /* more distinct ones than the vocabulary has kept */
    size_t distinct; /* those that it has kept; set when the type is */
};

/* Where in a text its next token begins. */
struct place {
    size_t bytes, lines, characters; /* before it: of all, and of its line */
};

struct draft {
    struct column column;              /* as it will be; its type is final after RUN_FIND */
    enum cell cell, told;              /* as it is handed over; as the reader said: words may be wanted as a set */
    const struct schema_column *given; /* as it must be, or NULL */
    bool ignored, constant;
    bool written;    /* numbers are written as people write them: cell_written */
    bool is_binary;  /* a number of 0 and 1 alone: a label if the rows are examples */
    bool all_values; /* NA and the like are values like others */
    enum wish wish;
    struct survey survey;
    struct sample stranger;                             /* the first cell that the vocabulary of a schema lacks */
    struct vocabulary *vocabulary, *missing;            /* missing: the words for it that were met; NULL: none */
    bool grows;                                         /* in this run what is not in the vocabulary yet gets in */
    int32_t unknown;                                    /* the id of UNKNOWN_WORD, or VOCABULARY_NONE */
    size_t entries, row_entries;                        /* of this run, of this row */
    size_t strangers;                                   /* cells that the vocabulary of a schema lacks */
    unsigned char *pending;                             /* of a text: what is not cut yet */
    size_t pending_size, pending_room, pending_checked; /* checked: is UTF-8 */
    struct place place;
    unsigned char head[128]; /* the text's first bytes: what is it, if it is none? */
    void *array;             /* that is filled, `filled` entries so far */
    size_t filled, room;
    float least, most; /* of the numbers that were filled; least above most: there is none */
};

struct builder {
    const char *name; /* of the data */
    const struct builder_options *options;
    const struct schema *schema;
    struct data_cache *cache; /* NULL: none is wanted */
    bool cached;              /* the arrays lie in it */
    struct draft *draft;
    int drafts, drafts_room, next_column;
    struct vocabulary *names;       /* of the drafts, in their order */
    struct vocabulary *given_names; /* of the schema's columns; NULL: there is no schema */
    enum run run;
    enum layout layout;
    size_t rows, sequences, steps; /* of this run */
    size_t sequences_room;
    bool sequences_ended; /* by the reader */
    int left_out;         /* columns that were found to say nothing */
    int rounded;          /* columns of which a float holds too little */
    bool single_steps;    /* rows are examples of one step each: numbers are of steps, categories of sequences */
    bool open;            /* the layout was left to the builder, which has not decided yet */
    size_t *begin;
    char *notes;
    char read_as[READ_AS];
    char delimiter;               /* of a table; 0: not known */
    char decimal;                 /* the decimal mark: '.' or ',' */
    char decisions[64];           /* options with which the data are read alike again: ",decimal=comma" */
    char group_name[COLUMN_NAME]; /* of the options or the reader */
    int group, time;              /* drafts; -1: none */
    char place[256];
};

/* ---- column_survey.c ---- */

unroll_status columns_survey(struct builder *builder, struct draft *draft, const char *bytes, size_t length);

/* ---- column_values.c ---- */

unroll_status columns_choose_decimal(struct builder *builder); /* before any column is concluded */
bool columns_is_written(const struct draft *draft); /* all its cells are numbers, some as people write them */
unroll_status columns_check_units(struct builder *builder, const struct draft *draft);
unroll_status columns_note_written(struct builder *builder, const struct draft *draft);
/* Sets type and style if all cells are times. */
unroll_status columns_find_times(struct builder *builder, struct draft *draft, bool *found);
unroll_status columns_find_number_times(struct builder *builder, struct draft *draft, bool *found);
bool columns_counts_rows(const struct builder *builder, const struct draft *draft);

/* ---- column_types.c ---- */

unroll_status columns_wish(const struct builder *builder, const char *name, enum wish *wish);
unroll_status columns_conclude(struct builder *builder, struct draft *draft); /* sets its type, or ignores it */
/* Notes of all columns of which each row has the same value; how many were left out without a note of their own. */
unroll_status columns_note_constant(struct builder *builder);
unroll_status columns_choose_label(struct builder *builder); /* when the layout is known */
unroll_status columns_note_left_out(struct builder *builder);
/* Of several texts that were found one stays: a row is one sequence. */
unroll_status columns_choose_text(struct builder *builder);
/* A column of rows that are steps, named as what tells series apart, and with values that recur; NULL: there is none.
 */
const char *columns_series(const struct builder *builder);
/* Says that there is one, where no group is; and that numbers are parts of a time, where no column is one. */
unroll_status columns_note_series(struct builder *builder);

/* ---- tokenize.c ---- */

/* More bytes of a row's text: cuts off what is sure; last: all. */
unroll_status cut_text(struct builder *builder, struct draft *draft, const void *bytes, size_t size, bool last);

static inline bool has_ids(const struct draft *draft)
{
    return draft->column.type == COLUMN_TOKENS || draft->column.type == COLUMN_CATEGORY;
}

static inline bool has_vocabulary(const struct draft *draft)
{
    return has_ids(draft) || draft->column.type == COLUMN_SET;
}

/* ---- builder_runs.c ---- */

/* The schema's, or an empty one. */
unroll_status draft_begin_vocabulary(struct builder *builder, struct draft *draft);

/* ---- builder_order.c ---- */

/* Steps of a table in the order of its groups and times; sets the sequences. */
unroll_status builder_put_in_order(struct builder *builder);

/* ---- builder_gaps.c ---- */

/* Of rows in the order of their times. */
unroll_status builder_fill_gaps(struct builder *builder);

/* ---- builder_checks.c ---- */

/* After the last run, of data that are read for the first time: is there something to learn, and did floats hold it? */
unroll_status builder_check_content(struct builder *builder);

/* ---- builder.c ---- */

/* One more of a vocabulary that grows. */
unroll_status draft_add_string(struct builder *builder, struct draft *draft, const char *bytes, size_t length);
/* Is there room for so many more entries in the array that is filled? Not if a file changes, or a caller hands over
 * other rows than in the first run. */
unroll_status draft_check_room(struct builder *builder, const struct draft *draft, size_t entries);
void draft_put_id(struct draft *draft, int32_t id); /* one more entry of the array that is filled */

/* "'x.csv', row 12, column 'a'"; of a file that is one text its name alone. Valid until the next call. */
const char *draft_place(struct builder *builder, const struct draft *draft);

#endif
