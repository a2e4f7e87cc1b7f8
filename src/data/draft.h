/* A column while its data set is made: what the runs of a builder know of it. For builder.c and the files that do parts
 * of its work. */
#ifndef DATA_DRAFT_H
#define DATA_DRAFT_H
#include "data/builder.h"
#include "data/vocabulary.h"
#include "data/words.h"

/* FIND: what the columns are; COUNT: the tokens of texts that were found to be such; FILL: the arrays. */
enum run { RUN_FIND, RUN_COUNT, RUN_FILL };

/* Where in a text its next token begins. */
struct place {
    size_t bytes, lines, characters; /* before it: of all, and of its line */
};

struct draft {
    struct column column; /* as it will be; its type is final after RUN_FIND */
    enum cell cell;
    const struct schema_column *given; /* as it must be, or NULL */
    bool ignored;
    struct vocabulary *vocabulary;
    int32_t unknown;                                    /* the id of UNKNOWN_WORD, or VOCABULARY_NONE */
    size_t entries, row_entries;                        /* of this run, of this row */
    size_t unknowns;                                    /* categories that the vocabulary lacks */
    unsigned char *pending;                             /* of a text: what is not cut yet */
    size_t pending_size, pending_room, pending_checked; /* checked: is UTF-8 */
    struct place place;
    unsigned char head[128]; /* the text's first bytes: what is it, if it is none? */
    void *array;             /* that is filled, `filled` entries so far */
    size_t filled;
};

struct builder {
    const char *name; /* of the data */
    const struct builder_options *options;
    const struct schema *schema;
    struct draft *draft;
    int drafts, drafts_room, next_column;
    enum run run;
    enum layout layout;
    size_t rows, sequences, steps; /* of this run */
    bool sequences_ended;          /* by the reader */
    size_t *begin;
    char *notes;
    char place[256];
};

/* More bytes of a row's text: cuts off what is sure; last: all. */
unroll_status cut_text(struct builder *builder, struct draft *draft, const void *bytes, size_t size, bool last);

void draft_put_id(struct draft *draft, int32_t id); /* one more entry of the array that is filled */

/* "'x.csv', row 12, column 'a'"; of a file that is one text its name alone. Valid until the next call. */
const char *draft_place(struct builder *builder, const struct draft *draft);

#endif
