/* A schema makes further data be read like earlier data: names, types and vocabularies of columns, and the options of
 * the reader. A model stores it (tasks/schema.h) as the JSON object "data" of its schema. It contains nothing that is
 * learned from the data. */
#pragma once
#include "base/json.h"
#include "base/token_kind.h"
#include "data/dataset.h"

struct schema_column {
    char name[COLUMN_NAME];
    enum column_type type;
    bool of_sequence, unaligned; /* unaligned: each sequence has its own number of entries */
    bool target;                 /* a category that is not in the vocabulary is an error; in inputs it is missing */
    enum token_kind kind;
    const char *const *vocabulary; /* [vocabulary_size]; 0: a category that is not a target, found in the data */
    int vocabulary_size;
    int width;
    struct time_style style; /* of times */
    int place;               /* in the file; identifies a column if the data have no names */
};

struct schema {
    struct schema_column *column;
    int columns;
    bool rows_are_steps;
    bool targets_optional;                      /* data for prediction may lack the targets; no columns then */
    char group[COLUMN_NAME], time[COLUMN_NAME]; /* "": none; the groups themselves come from the data */
    char reader[16];     /* "": found by content; other readers are allowed if they find these columns */
    const char *options; /* of the reader, "key=value,.." */
    void *memory;        /* contains what the pointers point to, except for .. */
    json_t *json;        /* .. strings that it was read from */
};

/* *schema has its own memory, including all it points to: release it with schema_free. */
unroll_status schema_of_dataset(const unroll_dataset *dataset, struct schema **schema);
unroll_status schema_from_json(const json_t *json, const char *name_for_errors, struct schema **schema);
json_t *schema_to_json(const struct schema *schema); /* NULL: out of memory; release it with json_decref */
void schema_free(struct schema *schema);             /* NULL is allowed */

/* Returns the schema of a text: one column of tokens, "text", in the caller's *column. */
struct schema schema_of_text(struct schema_column *column, enum token_kind kind, const char *const *vocabulary,
                             int vocabulary_size);

struct schema_column *schema_named(const struct schema *schema, const char *name); /* NULL: none */

/* Converts the style to and from an object; json NULL: ISO 8601. */
json_t *time_style_to_json(const struct time_style *style);
unroll_status time_style_from_json(const json_t *json, const char *where, struct time_style *style);

extern const char *const column_type_names[]; /* "tokens", "category", "set", "numbers", "time" */
