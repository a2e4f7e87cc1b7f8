/* The readers of the file formats of data sets: a row and a file each. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/key_value.h"
#include "data/builder/builder.h"
#include "io/input.h"

struct reader {
    const char *name, *about; /* "text", "text in UTF-8" */
    /* Recognizes a file. `head`: the first bytes of its unpacked content, at most READER_HEAD. NULL: for the one reader
     * that takes all remaining files. */
    bool (*recognizes)(const char *path, const char *head, size_t bytes);
    /* Recognizes a folder or an archive by the name of one of its first members; NULL: not. */
    bool (*recognizes_member)(const char *member);
    const struct key *keys; /* its own options, in a struct of this size that is initialized to zero; NULL: none */
    size_t options_bytes;
    bool is_tables;    /* rows of cells, whose meaning the option `layout` changes */
    bool reads_beside; /* reads other files, too: its data are never cached */
    /* Passes the rows of all members to the builder; called several times, with the same result each time. */
    unroll_status (*read)(struct input *input, const void *options, struct builder *builder);
};

enum { READER_HEAD = 4096 };

/* Add a new reader here. If several recognize a file, the last one reads it. */
#define READERS(READER) \
    READER(text) READER(csv) READER(jsonl) READER(folder) READER(ucr) READER(conll) READER(ts) READER(npz) READER(idx) \
    READER(fasttext) READER(arff) READER(audio) READER(pairs)

#define DECLARE_READER(name) extern const struct reader reader_##name;
READERS(DECLARE_READER)
#undef DECLARE_READER

/* Reads data with the reader of this name; NULL: with one that recognizes the file. options: "key=value,..", those of
 * the reader and of builder_options. schema: how to read the data; NULL: found by content. */
unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct schema *schema,
                           unroll_dataset **dataset);
/* Reads data from bytes in memory; name: for messages. */
unroll_status dataset_parse(const void *bytes, size_t size, const char *name, const char *reader, const char *options,
                            const struct schema *schema, unroll_dataset **dataset);

/* Reads rows that a function passes, as a reader does. layout: for builder_columns, which is called here. */
typedef unroll_status hand_rows(void *arg, struct builder *builder);
unroll_status dataset_of_rows(hand_rows *hand, void *arg, enum row_layout layout, const char *options,
                              const struct schema *schema, unroll_dataset **dataset);

const struct reader *reader_at(int index); /* NULL after the last */
bool reader_is_tables(const char *name);   /* false: also if there is no reader of that name */
/* Returns the option with that index of the reader of that name; NULL: none. */
const struct key *reader_option(const char *name, int index);
unroll_status reader_add(const struct reader *reader); /* adds a row, for tests */
