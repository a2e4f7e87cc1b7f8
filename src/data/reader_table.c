/* Finds the reader of a file and leaves the rest to it. No reader is known here but by its row. */
#include "data/reader_table.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define ROW(name) &reader_##name,
enum { MAX_ADDED = 4, BUILT_IN = sizeof (const struct reader *[]){ READERS(ROW) } / sizeof (void *), KNOWN = 256 };

static const struct reader *added[MAX_ADDED], *const built_in[] = { READERS(ROW) };
static int added_count;

static const struct reader *reader_at(int index)
{
    if (index < added_count)
        return index < 0 ? NULL : added[index];
    return index - added_count < BUILT_IN ? built_in[index - added_count] : NULL;
}

unroll_status reader_add(const struct reader *reader)
{
    if (added_count == MAX_ADDED)
        return fail(UNROLL_RESOURCE, "there are %d readers already", added_count + BUILT_IN);
    added[added_count++] = reader;
    return UNROLL_OK;
}

const char *unroll_reader_name(int index, const char **about)
{
    const struct reader *reader = reader_at(index);

    if (reader && about)
        *about = reader->about;
    return reader ? reader->name : NULL;
}

static const char *name_at(int index)
{
    return unroll_reader_name(index, NULL);
}

static unroll_status find_by_name(const char *name, const struct reader **found)
{
    char known[KNOWN];

    for (int i = 0; (*found = reader_at(i)); i++)
        if (strcmp((*found)->name, name) == 0)
            return UNROLL_OK;
    return fail(UNROLL_USAGE, "there is no reader '%.40s'; fix: choose one of %s", name,
                list_names(name_at, known, sizeof known));
}

/* What can be read once only, as a pipe, is not looked into. */
static unroll_status find_by_content(const char *path, const struct reader **found)
{
    char head[READER_HEAD];
    size_t bytes = 0;
    uint64_t size;
    struct stat info;

    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        TRY(read_file_start(path, head, sizeof head, &bytes, &size));
    for (int i = 0; (*found = reader_at(i)); i++)
        if ((*found)->recognises == NULL || (*found)->recognises(path, head, bytes))
            break;
    return UNROLL_OK;
}

unroll_status dataset_open(const char *path, const char *reader, const char *options, const struct tokenizer *tokenizer,
                           unroll_dataset **dataset)
{
    const struct reader *found;

    if (reader)
        TRY(find_by_name(reader, &found));
    else
        TRY(find_by_content(path, &found));
    return found->open(path, options, tokenizer, dataset);
}
