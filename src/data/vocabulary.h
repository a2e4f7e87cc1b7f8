/* Distinct strings and their numbers: the pieces of texts, categories, parts of sets. Strings are copied; what a piece
 * of a text is, words.h says. */
#ifndef DATA_VOCABULARY_H
#define DATA_VOCABULARY_H
#include "data/dataset.h"

struct vocabulary;

enum { VOCABULARY_NONE = -1 };
enum vocabulary_order {
    BY_BYTES,     /* which is by code points */
    BY_FREQUENCY, /* the most frequent first, of equals as BY_BYTES */
    BY_VALUE      /* numbers by their values, then the others as BY_BYTES */
};

unroll_status vocabulary_new(struct vocabulary **vocabulary);
/* With these strings, in their order: two that are the same or empty are refused. what: "character", for messages. */
unroll_status vocabulary_of(const char *const *strings, int count, const char *what, struct vocabulary **vocabulary);
void vocabulary_free(struct vocabulary *vocabulary); /* NULL is allowed */

/* One more of this string, which is new if *index is the last one now. */
unroll_status vocabulary_add(struct vocabulary *vocabulary, const void *bytes, size_t size, int32_t *index);
int32_t vocabulary_find(struct vocabulary *vocabulary, const void *bytes, size_t size); /* VOCABULARY_NONE */
int32_t vocabulary_size(const struct vocabulary *vocabulary);
const char *vocabulary_at(const struct vocabulary *vocabulary, int32_t index, size_t *size); /* no zero ends it */
uint64_t vocabulary_times(const struct vocabulary *vocabulary, int32_t index);

/* Numbers all but the first `fixed` anew, and forgets all but the first `max`. */
void vocabulary_sort(struct vocabulary *vocabulary, enum vocabulary_order order, int32_t fixed, int32_t max);

/* A copy of the strings for a column. */
unroll_status vocabulary_write(const struct vocabulary *vocabulary, struct column *column);

#endif
