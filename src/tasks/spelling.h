/* Features from the spelling of the words in a column: the word itself, its end, its shape. They describe even words
 * that were never seen. Each feature is a category with its own strings; a map gives the ids of the words in a data
 * set. features.h fills batches. */
#pragma once
#include <jansson.h>

#include "tasks/examples/examples.h"

enum { SPELLING_MAX = 128, SPELLINGS = 5 };

/* One way to derive a feature from a word. */
struct spelling {
    const char *name;
    int width; /* of its embedding */
    void (*make)(const char *word, char text[SPELLING_MAX]);
};

extern const struct spelling spellings[SPELLINGS]; /* a model's schema names them: never remove one */

struct spelled {
    const struct spelling *how;
    int32_t *map;    /* [the column's vocabulary_size] ids; `unknown` */
    json_t *strings; /* [known] the strings of the ids below `known` */
    int64_t *times;  /* [known] how often each occurs in the training part; NULL until counted */
    int known, unknown;
};

/* Finds the spellings of all strings of the column; unknown is their number. */
unroll_status spelled_find(const struct column *column, const struct spelling *how, struct spelled *spelled);
/* Orders the strings of the members first; the others become unknown. */
unroll_status spelled_fit(struct spelled *spelled, const struct column *column, const struct members *members);
void spelled_end(struct spelled *spelled);

/* spelled_to_json adds "spelling", "strings" and "times" to an object; spelled_from_json reads them for another column
 * of words. */
unroll_status spelled_to_json(const struct spelled *spelled, json_t *json);
unroll_status spelled_from_json(const json_t *json, const char *where, const struct column *column, int unknown,
                                struct spelled *spelled);

/* Returns the id, or `unknown` for a random number of 0 .. 1. Rare strings become unknown more often, so that training
 * covers the unknown. */
int32_t spelled_forget(const struct spelled *spelled, int32_t id, float random);
