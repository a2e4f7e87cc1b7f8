/* Defines the tokens of a text: where a character or a word ends. It does not split words into pieces, and it knows no
 * language. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "unroll.h"
#include "base/token_kind.h"

/* Replaces every word that is not a token. In a text it is itself a word, as in some corpora. */
#define UNKNOWN_WORD "<unk>"

/* Returns the bytes in the first word of a text, which is UTF-8 and not empty. All words in sequence form the text. A
 * word, with the one space before it if there is one, is a run of letters, digits and similar characters; ' - . _ may
 * occur between two of these. Or it is a run of punctuation marks, or one line end. Each run of other white space is a
 * word, too. */
size_t word_length(const unsigned char *text, const unsigned char *end);

/* A way to cut a text, one for each kind of tokens. The text is UTF-8. */
struct word_pieces {
    const char *name;                                                       /* "character" */
    size_t (*length)(const unsigned char *text, const unsigned char *end);  /* of the first piece, in bytes */
    size_t (*skipped)(const unsigned char *text, const unsigned char *end); /* before a piece; NULL: nothing */
    bool has_unknown; /* UNKNOWN_WORD replaces rare pieces; else all pieces are known, ordered by code points */
};

extern const struct word_pieces pieces_of_kind[];

/* The number of bytes after its end that a piece may depend on. */
enum { PIECE_MARGIN = 16 };
