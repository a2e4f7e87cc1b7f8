/* Words of a text, and their numbers: where a word ends, which are frequent enough to be tokens.
 * Works on code points; not a tokenizer of pieces of words, and it knows no language. */
#ifndef DATA_WORDS_H
#define DATA_WORDS_H
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"

/* Stands for every word that is no token. In a text it is a word of its own, as corpora have it. */
#define UNKNOWN_WORD "<unk>"

struct codes {
    const int32_t *at; /* code points */
    size_t count;
};

/* How many code points the first word of a text has, 1 .. count. All words one after the other are the text.
 * A word is, with the one space before it if there is one,
 *   a run of letters, digits and the like, in which ' - . _ may stand between two of these;
 *   a run of punctuation marks;
 *   or one line end.
 * Other white space is a word by itself, run by run. */
size_t word_length(struct codes text);

/* A text as a column of words, its vocabulary, and *count of its tokens. The arrays of the column begin as NULL; they
 * are the caller's to release, also after a failure. */

/* The tokens are UNKNOWN_WORD, then the most frequent words of the text, the most frequent first, of equals
 * the one with the smaller code points; at most `max` in all, which is 2 or more. */
unroll_status words_find(struct codes text, int max, struct column *words, size_t *count);

/* With tokens given: 1 or more, each spelled once, UNKNOWN_WORD among them. */
unroll_status words_use(struct codes text, const char *const *symbols, int symbol_count, struct column *words,
                        size_t *count);

#endif
