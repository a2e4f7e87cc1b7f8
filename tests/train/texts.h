/* Texts in memory as data sets, for tests. */
#ifndef TESTS_TEXTS_H
#define TESTS_TEXTS_H
#include <string.h>

#include "data/readers/reader_table.h"

/* Reads with given tokens, or NULL. */
static inline unroll_status read_text_of(const void *bytes, size_t size, const char *name, const char *options,
                                         enum token_kind kind, const char *const *tokens, int count,
                                         unroll_dataset **text)
{
    struct schema_column column;
    const struct schema schema = schema_of_text(&column, kind, tokens, count);
    return dataset_parse(bytes, size, name, "text", options, tokens ? &schema : NULL, text);
}

static inline bool same_tokens(const unroll_dataset *text, const int32_t *expected, size_t count)
{
    bool same = text->steps == count;
    for (size_t i = 0; same && i < count; i++) same = column_id(text->column, i) == expected[i];
    return same;
}

#endif
