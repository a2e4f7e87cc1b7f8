/* Fuzz target: text_parse. The symbols of an accepted text spell its bytes again, and with these symbols
 * given it has the same tokens. For libFuzzer, or for driver.c without it. */
#include <stdlib.h>
#include <string.h>

#include "data/text.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unroll_text *text, *again;

    if (text_parse(data, size, "fuzz", NULL, 0, &text) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort();        /* refused without a sentence */
        return 0;
    }
    check_spelling(text, data, size);
    if (text_parse(data, size, "fuzz", text->symbols, text->symbol_count, &again) != UNROLL_OK)
        abort();
    if (again->count != text->count
        || memcmp(again->tokens, text->tokens, text->count * sizeof *text->tokens) != 0)
        abort();
    unroll_text_free(again);
    unroll_text_free(text);
    return 0;
}
