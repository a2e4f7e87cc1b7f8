/* Features made of how the words of a column are spelled: the word itself, its end, its shape. They say something of
 * words that nobody has seen. Each is a category with strings of its own; which ids the words of a data set have, a map
 * says. Not how a batch is filled: features.h. */
#ifndef TASKS_SPELLING_H
#define TASKS_SPELLING_H
#include <jansson.h>

#include "tasks/examples.h"

enum { SPELLING_MAX = 128, SPELLINGS = 5 };

/* What is made of a word. */
struct spelling {
    const char *name;
    int width; /* of its embedding */
    void (*make)(const char *word, char text[SPELLING_MAX]);
};

extern const struct spelling spellings[SPELLINGS]; /* a model's schema names them: old ones stay */

struct spelled {
    const struct spelling *how;
    int32_t *map;    /* [the column's vocabulary_size] ids; `unknown` */
    json_t *strings; /* [known] what the ids below stand for */
    int64_t *times;  /* [known] how often the training part has each; NULL before it was looked at */
    int known, unknown;
};

/* Of all strings of the column; unknown is their number. */
unroll_status spelled_find(const struct column *column, const struct spelling *how, struct spelled *spelled);
/* Those that the members have come first; the others are unknown. */
unroll_status spelled_fit(struct spelled *spelled, const struct column *column, const struct members *members);
void spelled_end(struct spelled *spelled);

/* Adds "spelling", "strings" and "times" to an object; and reads them again for another column of words. */
unroll_status spelled_to_json(const struct spelled *spelled, json_t *json);
unroll_status spelled_from_json(const json_t *json, const char *where, const struct column *column, int unknown,
                                struct spelled *spelled);

/* In training: the id, or `unknown`, the rarer the more often, so that the unknown is learned, too; by a random number
 * of 0 .. 1. */
int32_t spelled_forget(const struct spelled *spelled, int32_t id, float random);

#endif
