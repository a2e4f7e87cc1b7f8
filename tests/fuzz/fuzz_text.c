/* Fuzz target: text_parse, by characters and by words. The symbols of an accepted text spell its bytes again,
 * with these symbols given it has the same tokens, and a small vocabulary only makes words unknown.
 * For libFuzzer, or for driver.c without it. */
#include <stdlib.h>
#include <string.h>

#include "data/text.h"
#include "unroll_train.h"

enum { ALL_WORDS = 1 << 20, FEW_WORDS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spelling(const unroll_text *text, const uint8_t *data, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < text->count; i++) {
        const char *symbol = text->symbols[text->tokens[i]];
        size_t length = strlen(symbol);
        if (length > size - at || memcmp(symbol, data + at, length) != 0)
            abort();
        at += length;
    }
    if (at != size)
        abort();
}

/* Reading again with the symbols that were found gives the same tokens. */
static void check_again(const unroll_text *text, const uint8_t *data, size_t size)
{
    struct text_reading reading = {.kind = text->kind, .symbols = text->symbols,
                                   .symbol_count = text->symbol_count};
    unroll_text *again;

    if (text_parse(data, size, "fuzz", &reading, &again) != UNROLL_OK)
        abort();
    if (again->count != text->count
        || memcmp(again->tokens, text->tokens, text->count * sizeof *text->tokens) != 0)
        abort();
    unroll_text_free(again);
}

/* Symbols are numbered by frequency: a word keeps its number or is unknown, which is 0. */
static void check_few_words(const unroll_text *all, const uint8_t *data, size_t size)
{
    struct text_reading reading = {.kind = UNROLL_WORDS, .vocabulary = FEW_WORDS};
    unroll_text *few;

    if (text_parse(data, size, "fuzz", &reading, &few) != UNROLL_OK || few->count != all->count)
        abort();
    for (size_t i = 0; i < few->count; i++)
        if (few->tokens[i] != (all->tokens[i] < FEW_WORDS ? all->tokens[i] : 0))
            abort();
    check_again(few, data, size);
    unroll_text_free(few);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text_reading characters = {.kind = UNROLL_CHARACTERS};
    struct text_reading words = {.kind = UNROLL_WORDS, .vocabulary = ALL_WORDS};
    unroll_text *text;

    if (text_parse(data, size, "fuzz", &characters, &text) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort();        /* refused without a sentence */
        return 0;
    }
    check_spelling(text, data, size);
    check_again(text, data, size);
    unroll_text_free(text);
    if (text_parse(data, size, "fuzz", &words, &text) != UNROLL_OK)
        abort();            /* what is a text of characters is one of words */
    check_spelling(text, data, size);
    check_again(text, data, size);
    check_few_words(text, data, size);
    unroll_text_free(text);
    return 0;
}
