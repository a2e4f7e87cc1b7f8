/* The readers of files that data sets are made from: a row and a file each. */
#ifndef DATA_READER_TABLE_H
#define DATA_READER_TABLE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/key_value.h"
#include "data/builder.h"
#include "data/input.h"

struct reader {
    const char *name, *about; /* "text", "text in UTF-8" */
    /* Is this file one? `head` are the first bytes of what it holds, unpacked, at most READER_HEAD. NULL: of one row,
     * which takes what no other does. */
    bool (*recognises)(const char *path, const char *head, size_t bytes);
    const struct key *keys; /* its own options, of a struct of so many bytes that begins as zeros; NULL: none */
    size_t options_bytes;
    bool reads_beside; /* other files than the input, too: what it makes of them is never cached */
    /* Hands the rows of all members to the builder; it is called more than once and does the same each time. */
    unroll_status (*read)(struct input *input, const void *options, struct builder *builder);
};

enum { READER_HEAD = 4096 };

/* A new reader is one more here. Of those that recognise a file the last reads it. */
#define READERS(READER) \
    READER(text) READER(csv) READER(jsonl) READER(folder) READER(ucr) READER(conll) READER(ts) READER(npz) READER(idx) \
    READER(fasttext)

#define DECLARE_READER(name) extern const struct reader reader_##name;
READERS(DECLARE_READER)
#undef DECLARE_READER

/* With the reader of this name; NULL: with one that recognises the file. options: "key=value,..", the reader's and
 * those of builder_options. schema: the data are read as it says; NULL: that is found. */
unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct schema *schema,
                           unroll_dataset **dataset);
/* The same of bytes in memory; name: for messages. */
unroll_status dataset_parse(const void *bytes, size_t size, const char *name, const char *reader, const char *options,
                            const struct schema *schema, unroll_dataset **dataset);

/* The same of rows that a function hands over, as a reader does. layout: of builder_columns, which is called here. */
typedef unroll_status hand_rows(void *arg, struct builder *builder);
unroll_status dataset_of_rows(hand_rows *hand, void *arg, enum layout layout, const char *options,
                              const struct schema *schema, unroll_dataset **dataset);

unroll_status reader_add(const struct reader *reader); /* one more row, for tests */

#endif
