/* Fuzz target: text_parse, by characters and by words. The symbols of an accepted text spell its bytes again,
 * with these symbols given it has the same tokens, and a small vocabulary only makes words unknown.
 * For libFuzzer, or for driver.c without it. */
#include <stdlib.h>
#include <string.h>

#include "data/text.h"
#include "unroll_train.h"

enum { ALL_WORDS = 1 << 20, FEW_WORDS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spelling(const unroll_dataset *text, const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < text->steps; i++) {
        const char *symbol = text->column->vocabulary[text->column->tokens[i]];
        size_t length = strlen(symbol);
        if (length > size - at || memcmp(symbol, data + at, length) != 0)
            abort();
        at += length;
    }
    if (at != size)
        abort();
}

/* Reading again with the symbols that were found gives the same tokens. */
static void check_again(const unroll_dataset *text, const uint8_t *data, size_t size)
{
    struct tokenizer tokenizer = {.kind = text->column->kind,
                                  .vocabulary = text->column->vocabulary,
                                  .vocabulary_size = text->column->vocabulary_size};
    unroll_dataset *again;
    if (text_parse(data, size, "fuzz", &tokenizer, &again) != UNROLL_OK)
        abort();
    if (again->steps != text->steps ||
        memcmp(again->column->tokens, text->column->tokens, text->steps * sizeof *text->column->tokens) != 0)
        abort();
    unroll_dataset_free(again);
}

/* Symbols are numbered by frequency: a word keeps its number or is unknown, which is 0. */
static void check_few_words(const unroll_dataset *all, const uint8_t *data, size_t size)
{
    struct tokenizer tokenizer = {.kind = UNROLL_WORDS, .max = FEW_WORDS};
    unroll_dataset *few;
    if (text_parse(data, size, "fuzz", &tokenizer, &few) != UNROLL_OK || few->steps != all->steps)
        abort();
    for (size_t i = 0; i < few->steps; i++)
        if (few->column->tokens[i] != (all->column->tokens[i] < FEW_WORDS ? all->column->tokens[i] : 0))
            abort();
    check_again(few, data, size);
    unroll_dataset_free(few);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokenizer characters = {.kind = UNROLL_CHARACTERS};
    struct tokenizer words = {.kind = UNROLL_WORDS, .max = ALL_WORDS};
    unroll_dataset *text;
    if (text_parse(data, size, "fuzz", &characters, &text) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort(); /* refused without a sentence */
        return 0;
    }
    check_spelling(text, data, size);
    check_again(text, data, size);
    unroll_dataset_free(text);
    if (text_parse(data, size, "fuzz", &words, &text) != UNROLL_OK)
        abort(); /* what is a text of characters is one of words */
    check_spelling(text, data, size);
    check_again(text, data, size);
    check_few_words(text, data, size);
    unroll_dataset_free(text);
    return 0;
}
