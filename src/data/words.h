/* Where a word of a text ends. Not a tokenizer of pieces of words, and it knows no language. */
#ifndef DATA_WORDS_H
#define DATA_WORDS_H
#include <stddef.h>

/* Stands for every word that is no token. In a text it is a word of its own, as corpora have it. */
#define UNKNOWN_WORD "<unk>"

/* How many bytes the first word of a text has, which is UTF-8 and not empty. All words one after the other are the
 * text. A word is, with the one space before it if there is one, a run of letters, digits and the like, in which ' - .
 * _ may stand between two of these; a run of punctuation marks; or one line end. Other white space is a word by itself,
 * run by run. */
size_t word_length(const unsigned char *text, const unsigned char *end);

#endif
