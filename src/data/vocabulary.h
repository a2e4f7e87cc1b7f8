/* Texts as token ids: which pieces of a text are its vocabulary, in which order, and the number of each piece. What a
 * piece is, a character or a word, is a function; the bytes are UTF-8. */
#ifndef DATA_VOCABULARY_H
#define DATA_VOCABULARY_H
#include "data/reader_table.h"

/* A way to cut a text, of each unroll_token_kind one. */
struct pieces {
    const char *name;                                                      /* "character" */
    size_t (*length)(const unsigned char *text, const unsigned char *end); /* of the first piece, in bytes */
    bool has_unknown; /* UNKNOWN_WORD stands for what is not in the vocabulary, the most frequent pieces; else all are
                         in it, in the order of their code points */
};

extern const struct pieces pieces_of_kind[];

/* Fills a column: its tokens, of which it has room for as many as there are characters, and a vocabulary that is found,
 * or a copy of the tokenizer's. *count: of its tokens. *unknown: the first piece that the tokenizer has no token for,
 * where it has no unknown one; or NULL. */
unroll_status vocabulary_number(const unsigned char *text, const unsigned char *end, const struct tokenizer *tokenizer,
                                struct column *column, size_t *count, const unsigned char **unknown);

#endif
