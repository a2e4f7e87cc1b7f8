/* How data are read again as others were: the names, types and vocabularies of columns, and what the reader was told.
 * A model keeps it (tasks/schema.h) as the JSON object "data" of its schema. Not what is learned from the data. */
#ifndef DATA_DATA_SCHEMA_H
#define DATA_DATA_SCHEMA_H
#include "base/json.h"
#include "data/dataset.h"

struct schema_column {
    char name[COLUMN_NAME];
    enum column_type type;
    bool of_sequence;
    bool target; /* a category that the vocabulary lacks is an error; in inputs it is missing */
    unroll_token_kind kind;
    const char *const *vocabulary; /* [vocabulary_size]; of a category that is no target 0: it is found in the data */
    int vocabulary_size;
    int width;
    struct time_style style; /* of times */
    int place;               /* in the file: what a column is found by where the data have no names */
};

struct schema {
    struct schema_column *column;
    int columns;
    bool rows_are_steps;
    bool targets_optional;                      /* data to predict may lack the targets; they are no columns then */
    char group[COLUMN_NAME], time[COLUMN_NAME]; /* "": none; the groups themselves are those of the data */
    char reader[16];     /* "" : found by content; others are allowed where they give these columns */
    const char *options; /* of the reader, "key=value,.." */
    void *memory;        /* of what the pointers point to, with .. */
    json_t *json;        /* .. those strings that it was read from */
};

/* *schema and all it points to is memory of its own: schema_free. */
unroll_status schema_of_dataset(const unroll_dataset *dataset, struct schema **schema);
unroll_status schema_from_json(const json_t *json, const char *name_for_errors, struct schema **schema);
json_t *schema_to_json(const struct schema *schema); /* NULL: no memory; json_decref */
void schema_free(struct schema *schema);             /* NULL is allowed */

/* Of a text alone: one column of tokens, "text", in the caller's *column. */
struct schema schema_of_text(struct schema_column *column, unroll_token_kind kind, const char *const *vocabulary,
                             int vocabulary_size);

struct schema_column *schema_named(const struct schema *schema, const char *name); /* NULL: there is none */

/* As an object; json NULL: ISO 8601. */
json_t *time_style_to_json(const struct time_style *style);
unroll_status time_style_from_json(const json_t *json, const char *where, struct time_style *style);

extern const char *const column_type_names[]; /* "tokens", "category", "set", "numbers", "time" */
extern const char *const token_kind_names[];  /* "chars", "words", "blanks" */

#endif
