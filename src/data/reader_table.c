/* Finds the reader of a file and leaves the rest to it. No reader is known here but by its row. */
#include "data/reader_table.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/table.h"

#define ROW(name) &reader_##name,
static const void *const rows[] = {READERS(ROW)};
static struct table readers = TABLE("reader", rows);

unroll_status reader_add(const struct reader *reader) { return table_add(&readers, reader); }

const char *unroll_reader_name(int index, const char **about) { return table_name(&readers, index, about); }

/* What can be read once only, as a pipe, is not looked into. */
static unroll_status find_by_content(const char *path, const struct reader **found)
{
    const struct reader *reader;
    char head[READER_HEAD];
    size_t bytes = 0;
    uint64_t size;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        TRY(read_file_start(path, head, sizeof head, &bytes, &size));
    *found = NULL;
    for (int i = 0; (reader = table_at(&readers, i)); i++)
        if (reader->recognises ? reader->recognises(path, head, bytes) : *found == NULL)
            *found = reader;
    return UNROLL_OK;
}

unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct tokenizer *tokenizer,
                           unroll_dataset **dataset)
{
    const struct reader *found = reader ? table_at(&readers, table_find(&readers, reader)) : NULL;
    if (reader && found == NULL)
        return table_refuse(&readers, reader);
    if (reader == NULL)
        TRY(find_by_content(path, &found));
    return found->open(path, options, tokenizer, dataset);
}
