/* UTF-8 texts as symbol numbers: strict decoding, then each code point becomes the number of its symbol, or
 * words.c makes words of them. Line ends stay as they are, and so does a byte order mark: a text is what its
 * bytes say. */
#include "data/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/words.h"
#include "unroll_train.h"

typedef unsigned char byte;

enum { NAME_SHOWN = 160, NO_SYMBOL = -1 };

struct source {
    const byte *at, *end;
    const char *name;
};

/* ---- bytes to code points ---- */

static size_t count_lines(const byte *from, const byte *to)
{
    size_t lines = 1;

    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

/* Every byte that does not continue a character begins one. */
static size_t count_characters(const struct source *source)
{
    size_t count = 0;

    for (const byte *at = source->at; at < source->end; at++)
        count += (*at & 0xc0) != 0x80;
    return count;
}

/* What can be done with a file that is none of text, by the bytes that it begins with. */
static const char *binary_fix(const byte *at, size_t size)
{
    static const char arrays[] = "train on arrays from Python (docs/python.md) or C; 'unroll run' runs a model over them";
    static const char sound[] = "train on sounds as arrays, from Python (docs/python.md) or C; 'unroll stream' runs a model "
                                "over them";
    static const char utf_16[] = "convert it, for example with 'iconv -f UTF-16 -t UTF-8'", packed[] = "unpack it first";
    static const struct { const char *begin, *fix; } kinds[] = {
        {"\x93NUMPY", arrays}, {"RIFF", sound}, {"PK\3\4", packed}, {"\x1f\x8b", packed}, {"\xfd" "7zXZ", packed},
        {"\x28\xb5\x2f\xfd", packed}, {"BZh", packed}, {"\xff\xfe", utf_16}, {"\xfe\xff", utf_16},
    };

    if (memmem(at, size < NAME_SHOWN ? size : NAME_SHOWN, ".npy", 4))       /* the first name in a .npz */
        return arrays;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].begin);
        if (size >= length && memcmp(at, kinds[i].begin, length) == 0)
            return kinds[i].fix;
    }
    return "give UTF-8 text";
}

static unroll_status check_bytes(const struct source *source, size_t *characters)
{
    size_t size = (size_t)(source->end - source->at);

    if (size == 0)
        return fail(UNROLL_DATA, "'%.*s' is empty; fix: give a text with at least one character",
                    NAME_SHOWN, source->name);
    const byte *zero = memchr(source->at, 0, size);
    if (zero)
        return fail(UNROLL_DATA, "'%.*s' is a binary file, not a text: byte %zu is zero; fix: %s", NAME_SHOWN, source->name,
                    (size_t)(zero - source->at), binary_fix(source->at, size));
    *characters = count_characters(source);
    if (*characters > INT32_MAX)
        return fail(UNROLL_DATA, "'%.*s' has more than %d characters; fix: cut the file into parts",
                    NAME_SHOWN, source->name, INT32_MAX);
    return UNROLL_OK;
}

/* codes has room for count_characters. Most characters of most texts are ASCII: they take the short way. */
static unroll_status decode_all(const struct source *source, int32_t *codes, size_t *count, int32_t *largest)
{
    int32_t *next = codes, most = 0x7f;

    for (const byte *at = source->at; at < source->end; next++) {
        if (*at < 0x80) {
            *next = *at++;
            continue;
        }
        int length = utf8_read(at, source->end, next);
        if (length == 0)
            return fail(UNROLL_DATA, "'%.*s' is not UTF-8: byte 0x%02x at offset %zu in line %zu; fix: "
                        "convert it, for example with 'iconv -f LATIN1 -t UTF-8'", NAME_SHOWN, source->name,
                        *at, (size_t)(at - source->at), count_lines(source->at, at));
        if (*next > most)
            most = *next;
        at += length;
    }
    *count = (size_t)(next - codes);
    *largest = most;
    return UNROLL_OK;
}

/* ---- code points to symbol numbers ---- */

static char *spelling_of(unroll_text *text, int symbol)
{
    return text->spelling + (size_t)symbol * (UTF8_LONGEST + 1);
}

/* Room for characters: each has the same part of the spelling, to which the caller writes. */
static unroll_status make_symbols(unroll_text *text, int count)
{
    text->spelling = allocate_zeroed((size_t)count, UTF8_LONGEST + 1);
    text->symbols = allocate_zeroed((size_t)count, sizeof *text->symbols);
    if (text->spelling == NULL || text->symbols == NULL)
        return fail(UNROLL_RESOURCE, "no memory for %d symbols", count);
    for (int i = 0; i < count; i++)
        text->symbols[i] = spelling_of(text, i);
    text->symbol_count = count;
    return UNROLL_OK;
}

/* number[code] becomes the rank of the code among those of the text. */
static unroll_status find_symbols(unroll_text *text, int32_t *number, int32_t largest)
{
    int count = 0;

    for (size_t i = 0; i < text->count; i++)
        number[text->tokens[i]] = 0;
    for (int32_t code = 0; code <= largest; code++)
        if (number[code] != NO_SYMBOL)
            number[code] = count++;
    TRY(make_symbols(text, count));
    for (int32_t code = 0; code <= largest; code++)
        if (number[code] != NO_SYMBOL)
            utf8_write(code, spelling_of(text, number[code]));
    return UNROLL_OK;
}

static unroll_status use_symbols(unroll_text *text, int32_t *number, int32_t largest,
                                 const char *const *symbols, int count)
{
    TRY(make_symbols(text, count));
    for (int i = 0; i < count; i++) {
        const byte *symbol = (const byte *)symbols[i];
        size_t size = strlen(symbols[i]);
        int32_t code;
        if (size == 0 || (size_t)utf8_read(symbol, symbol + size, &code) != size)
            return fail(UNROLL_DATA, "symbol %d, '%.32s', is not one character: the model does not read text",
                        i, symbols[i]);
        memcpy(spelling_of(text, i), symbols[i], size + 1);
        if (code > largest)
            continue;
        if (number[code] != NO_SYMBOL)
            return fail(UNROLL_DATA, "symbols %d and %d are the same character U+%04" PRIX32, number[code], i,
                        (uint32_t)code);
        number[code] = i;
    }
    return UNROLL_OK;
}

static unroll_status unknown_character(const unroll_text *text, const char *name, size_t at)
{
    size_t line = 1, column = 1;
    char spelling[UTF8_LONGEST + 1];

    for (size_t i = 0; i < at; i++) {
        bool ends_line = text->tokens[i] == '\n';
        line += ends_line;
        column = ends_line ? 1 : column + 1;
    }
    utf8_write(text->tokens[at], spelling);
    return fail(UNROLL_DATA, "'%.*s', line %zu, column %zu: the character '%s' (U+%04" PRIX32 ") is not "
                "among the model's %d symbols; fix: remove or replace it, or train a model on a text that "
                "has it", NAME_SHOWN, name, line, column, text->tokens[at] == '\n' ? "\\n" : spelling,
                (uint32_t)text->tokens[at], text->symbol_count);
}

static unroll_status check_all_known(const unroll_text *text, const int32_t *number, const char *name)
{
    for (size_t i = 0; i < text->count; i++)
        if (number[text->tokens[i]] == NO_SYMBOL)
            return unknown_character(text, name, i);
    return UNROLL_OK;
}

/* The tokens are code points before and symbol numbers after. */
static unroll_status number_characters(unroll_text *text, const char *name, int32_t largest,
                                       const char *const *symbols, int symbol_count)
{
    int32_t *number = allocate_zeroed((size_t)largest + 1, sizeof *number);

    if (number == NULL)
        return fail(UNROLL_RESOURCE, "no memory for the symbols of '%.*s'", NAME_SHOWN, name);
    for (int32_t code = 0; code <= largest; code++)
        number[code] = NO_SYMBOL;
    unroll_status status = symbols ? use_symbols(text, number, largest, symbols, symbol_count)
                                   : find_symbols(text, number, largest);
    if (status == UNROLL_OK && symbols)
        status = check_all_known(text, number, name);
    for (size_t i = 0; i < text->count && status == UNROLL_OK; i++)
        text->tokens[i] = number[text->tokens[i]];
    release(number);
    return status;
}

/* ---- code points to words ---- */

static unroll_status number_words(unroll_text *text, const struct text_reading *reading)
{
    struct codes codes = {text->tokens, text->count};
    struct numbered_words words = {0};
    unroll_status status;

    if (reading->symbols)
        status = words_use(codes, reading->symbols, reading->symbol_count, &words);
    else
        status = words_find(codes, reading->vocabulary, &words);
    release(text->tokens);          /* the code points */
    text->tokens = words.tokens;
    text->count = words.count;
    text->spelling = words.spelling;
    text->symbols = words.symbols;
    text->symbol_count = words.symbol_count;
    return status;
}

/* ---- all of it ---- */

static unroll_status parse_into(unroll_text *text, const struct source *source,
                                const struct text_reading *reading)
{
    size_t characters;
    int32_t largest;

    TRY(check_bytes(source, &characters));
    text->tokens = allocate_zeroed(characters, sizeof *text->tokens);
    if (text->tokens == NULL)
        return fail(UNROLL_RESOURCE, "no memory for the characters of '%.*s'", NAME_SHOWN, source->name);
    TRY(decode_all(source, text->tokens, &text->count, &largest));
    text->kind = reading->kind;
    if (reading->kind == UNROLL_WORDS)
        return number_words(text, reading);
    return number_characters(text, source->name, largest, reading->symbols, reading->symbol_count);
}

unroll_status text_parse(const void *bytes, size_t size, const char *name, const struct text_reading *reading,
                         unroll_text **text)
{
    struct source source = {bytes, (const byte *)bytes + size, name};
    unroll_text *parsed = allocate_zeroed(1, sizeof *parsed);

    if (parsed == NULL)
        return fail(UNROLL_RESOURCE, "no memory for '%.*s'", NAME_SHOWN, name);
    unroll_status status = parse_into(parsed, &source, reading);
    if (status != UNROLL_OK) {
        unroll_text_free(parsed);
        return status;
    }
    *text = parsed;
    return UNROLL_OK;
}

unroll_status text_open(const char *path, const struct text_reading *reading, unroll_text **text)
{
    bool standard_input = strcmp(path, "-") == 0;
    uint64_t most_bytes = (uint64_t)INT32_MAX * UTF8_LONGEST;
    void *bytes;
    size_t size;

    if (reading->symbols && reading->symbol_count < 1)
        return fail(UNROLL_USAGE, "a text needs at least 1 symbol, not %d", reading->symbol_count);
    if (reading->kind == UNROLL_WORDS && !reading->symbols && reading->vocabulary < 2)
        return fail(UNROLL_USAGE, "a vocabulary needs at least 2 words, not %d: one is " UNKNOWN_WORD,
                    reading->vocabulary);
    TRY(read_whole_file(standard_input ? "/dev/stdin" : path, most_bytes, &bytes, &size));
    unroll_status status = text_parse(bytes, size, standard_input ? "standard input" : path, reading, text);
    release(bytes);
    return status;
}

/* ---- the public functions ---- */

unroll_status unroll_text_open(const char *path, const char *const *symbols, int count, unroll_text **text)
{
    struct text_reading reading = {.kind = UNROLL_CHARACTERS, .symbols = symbols, .symbol_count = count};

    return text_open(path, &reading, text);
}

unroll_status unroll_text_open_words(const char *path, const char *const *symbols, int count, int vocabulary,
                                     unroll_text **text)
{
    struct text_reading reading = {.kind = UNROLL_WORDS, .symbols = symbols, .symbol_count = count,
                                   .vocabulary = vocabulary};

    return text_open(path, &reading, text);
}

void unroll_text_free(unroll_text *text)
{
    if (text == NULL)
        return;
    release(text->symbols);
    release(text->spelling);
    release(text->tokens);
    release(text);
}

const int32_t *unroll_text_tokens(const unroll_text *text, size_t *count)
{
    *count = text->count;
    return text->tokens;
}

const char *const *unroll_text_symbols(const unroll_text *text, int *count)
{
    *count = text->symbol_count;
    return text->symbols;
}

unroll_symbol_kind unroll_text_symbol_kind(const unroll_text *text)
{
    return text->kind;
}
