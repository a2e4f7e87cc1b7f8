/* Distinct strings and their numbers: pieces of texts, categories, members of sets. Strings are copied; words.h defines
 * the pieces of a text. */
#pragma once
#include "data/dataset.h"

struct vocabulary;

enum { VOCABULARY_NONE = -1 };
enum vocabulary_order {
    BY_BYTES,     /* equals the order of code points */
    BY_FREQUENCY, /* the most frequent first, equal ones as in BY_BYTES */
    BY_VALUE      /* numbers by their values, then the others as in BY_BYTES */
};

unroll_status vocabulary_new(struct vocabulary **vocabulary);
/* Creates a vocabulary of these strings in their order; equal or empty strings are refused. what: "character", for
 * messages. */
unroll_status vocabulary_of(const char *const *strings, int count, const char *what, struct vocabulary **vocabulary);
void vocabulary_free(struct vocabulary *vocabulary); /* NULL is allowed */

/* Adds an occurrence of this string; it is new if *index is now the last one. */
unroll_status vocabulary_add(struct vocabulary *vocabulary, const void *bytes, size_t size, int32_t *index);
int32_t vocabulary_find(struct vocabulary *vocabulary, const void *bytes, size_t size); /* VOCABULARY_NONE */
int32_t vocabulary_size(const struct vocabulary *vocabulary);
const char *vocabulary_at(const struct vocabulary *vocabulary, int32_t index, size_t *size); /* no zero at the end */
uint64_t vocabulary_times(const struct vocabulary *vocabulary, int32_t index);

/* Renumbers all but the first `fixed`, and drops all but the first `max`. */
void vocabulary_sort(struct vocabulary *vocabulary, enum vocabulary_order order, int32_t fixed, int32_t max);

/* Copies the strings for a column. */
unroll_status vocabulary_write(const struct vocabulary *vocabulary, struct column *column);
