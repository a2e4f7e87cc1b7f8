/* Fuzz target: the text reader, by characters and by words. The symbols of an accepted text spell its bytes; reading it
 * again with these symbols gives the same tokens; and a small vocabulary only makes words unknown. For libFuzzer, or
 * for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/text 20000 */
#include <stdlib.h>
#include <string.h>

#include "data/readers/reader_table.h"
#include "unroll_train.h"

enum { FEW_WORDS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spelling(const unroll_dataset *text, const uint8_t *data, size_t size)
{
    size_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark is not text */
    for (size_t i = 0; i < text->steps; i++) {
        const char *symbol = text->column->vocabulary[column_id(text->column, i)];
        size_t length = strlen(symbol);
        if (length > size - at || memcmp(symbol, data + at, length) != 0)
            abort();
        at += length;
    }
    if (at != size)
        abort();
}

/* Reading again with these symbols gives the same tokens. */
static void check_again(const unroll_dataset *text, const uint8_t *data, size_t size)
{
    struct schema_column column;
    const struct schema schema =
        schema_of_text(&column, text->column->kind, text->column->vocabulary, text->column->vocabulary_size);
    unroll_dataset *again;
    if (dataset_parse(data, size, "fuzz", "text", NULL, &schema, &again) != UNROLL_OK)
        abort();
    if (again->steps != text->steps || again->column->id_bytes != text->column->id_bytes ||
        memcmp(again->column->ids, text->column->ids, text->steps * (size_t)text->column->id_bytes) != 0)
        abort();
    unroll_dataset_free(again);
}

/* Symbols are numbered by frequency: a word keeps its number or is unknown, which is 0. */
static void check_few_words(const unroll_dataset *all, const uint8_t *data, size_t size)
{
    unroll_dataset *few;
    if (dataset_parse(data, size, "fuzz", "text", "tokens=words,vocab=5", NULL, &few) != UNROLL_OK ||
        few->steps != all->steps)
        abort();
    for (size_t i = 0; i < few->steps; i++)
        if (column_id(few->column, i) != (column_id(all->column, i) < FEW_WORDS ? column_id(all->column, i) : 0))
            abort();
    check_again(few, data, size);
    unroll_dataset_free(few);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unroll_dataset *text;
    if (dataset_parse(data, size, "fuzz", "text", NULL, NULL, &text) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort(); /* refused without a message */
        return 0;
    }
    check_spelling(text, data, size);
    check_again(text, data, size);
    unroll_dataset_free(text);
    if (dataset_parse(data, size, "fuzz", "text", "tokens=words,vocab=1048576", NULL, &text) != UNROLL_OK) {
        if (!strstr(unroll_last_error(), "one symbol alone"))
            abort(); /* a text of characters is also one of words, unless it is a single word */
        return 0;
    }
    check_spelling(text, data, size);
    check_again(text, data, size);
    check_few_words(text, data, size);
    unroll_dataset_free(text);
    return 0;
}
