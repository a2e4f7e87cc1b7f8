/* What one token of a text is: where a character or a word ends. Not a tokenizer of pieces of words, and it knows no
 * language. */
#ifndef DATA_WORDS_H
#define DATA_WORDS_H
#include <stdbool.h>
#include <stddef.h>

#include "unroll.h"

/* Stands for every word that is no token. In a text it is a word of its own, as corpora have it. */
#define UNKNOWN_WORD "<unk>"

/* How many bytes the first word of a text has, which is UTF-8 and not empty. All words one after the other are the
 * text. A word is, with the one space before it if there is one, a run of letters, digits and the like, in which ' - .
 * _ may stand between two of these; a run of punctuation marks; or one line end. Other white space is a word by itself,
 * run by run. */
size_t word_length(const unsigned char *text, const unsigned char *end);

/* A way to cut a text, of each unroll_token_kind one. The text is UTF-8. */
struct pieces {
    const char *name;                                                       /* "character" */
    size_t (*length)(const unsigned char *text, const unsigned char *end);  /* of the first piece, in bytes */
    size_t (*skipped)(const unsigned char *text, const unsigned char *end); /* in front of a piece; NULL: nothing is */
    bool has_unknown; /* UNKNOWN_WORD stands for what is not in the vocabulary, the most frequent pieces; else all are
                         in it, in the order of their code points */
};

extern const struct pieces pieces_of_kind[];

/* How far behind its end a piece may depend on the bytes that follow. */
enum { PIECE_MARGIN = 16 };

#endif
