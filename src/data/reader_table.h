/* The readers of files that data sets are made from: a row and a file each. */
#ifndef DATA_READER_TABLE_H
#define DATA_READER_TABLE_H
#include <stdbool.h>
#include <stddef.h>

#include "data/dataset.h"

/* How bytes become tokens. */
struct tokenizer {
    unroll_token_kind kind;
    const char *const *vocabulary; /* NULL: it is found in the text */
    int vocabulary_size;
    int max; /* of a vocabulary of words that is found: the most entries, 2 or more */
};

struct reader {
    const char *name, *about; /* "text", "text in UTF-8" */
    /* Is this file one? `head` are its first bytes, at most READER_HEAD. NULL: of one row, which takes what no other
     * does. */
    bool (*recognises)(const char *path, const char *head, size_t bytes);
    /* path "-": standard input. options: the reader's own, as key_value.h has them. tokenizer: of the model that the
     * data are for; NULL: there is none yet. */
    unroll_status (*open)(const char *path, const char *options, const struct tokenizer *tokenizer,
                          unroll_dataset **dataset);
};

enum { READER_HEAD = 4096 };

/* A new reader is one more here. Of those that recognise a file the last reads it. */
#define READERS(READER) READER(text)

#define DECLARE_READER(name) extern const struct reader reader_##name;
READERS(DECLARE_READER)
#undef DECLARE_READER

/* With the reader of this name; NULL: with one that recognises the file. */
unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct tokenizer *tokenizer,
                           unroll_dataset **dataset);

unroll_status reader_add(const struct reader *reader); /* one more row, for tests */

#endif
