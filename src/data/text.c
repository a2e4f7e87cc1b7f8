/* Texts in UTF-8 as tokens, characters or words: strict decoding, then each code point becomes the number of its
 * character, or words.c makes words of them. Line ends stay as they are, and so does a byte order mark: a text is what
 * its bytes say. */
#include "data/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/key_value.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/words.h"

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

    for (; from < to; from++) lines += *from == '\n';
    return lines;
}

/* Every byte that does not continue a character begins one. */
static size_t count_characters(const struct source *source)
{
    size_t count = 0;

    for (const byte *at = source->at; at < source->end; at++) count += (*at & 0xc0) != 0x80;
    return count;
}

/* What can be done with a file that is none of text, by the bytes that it begins with. */
static const char *binary_fix(const byte *at, size_t size)
{
    static const char arrays[] =
        "train on arrays from Python (docs/python.md) or C; 'unroll run' runs a model over them";
    static const char valid[] =
        "train on sounds as arrays, from Python (docs/python.md) or C; 'unroll stream' runs a model "
        "over them";
    static const char utf_16[] = "convert it, for example with 'iconv -f UTF-16 -t UTF-8'",
                      packed[] = "unpack it first";
    static const struct {
        const char *begin, *fix;
    } kinds[] = {{"\x93NUMPY", arrays},
                 {"RIFF", valid},
                 {"PK\3\4", packed},
                 {"\x1f\x8b", packed},
                 {"\xfd"
                  "7zXZ",
                  packed},
                 {"\x28\xb5\x2f\xfd", packed},
                 {"BZh", packed},
                 {"\xff\xfe", utf_16},
                 {"\xfe\xff", utf_16}};

    if (memmem(at, size < NAME_SHOWN ? size : NAME_SHOWN, ".npy", 4)) /* the first name in a .npz */
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
        return fail(UNROLL_DATA, "'%.*s' is empty; fix: give a text with at least one character", NAME_SHOWN,
                    source->name);
    const byte *zero = memchr(source->at, 0, size);
    if (zero)
        return fail(UNROLL_DATA, "'%.*s' is a binary file, not a text: byte %zu is zero; fix: %s", NAME_SHOWN,
                    source->name, (size_t)(zero - source->at), binary_fix(source->at, size));
    *characters = count_characters(source);
    if (*characters > INT32_MAX)
        return fail(UNROLL_DATA, "'%.*s' has more than %d characters; fix: cut the file into parts", NAME_SHOWN,
                    source->name, INT32_MAX);
    return UNROLL_OK;
}

/* codes has room for count_characters. Most characters of most texts are ASCII: they take the short way. */
static unroll_status decode_all(const struct source *source, int32_t *codes, size_t *count, int32_t *largest)
{
    int32_t *next = codes, max = 0x7f;

    for (const byte *at = source->at; at < source->end; next++) {
        if (*at < 0x80) {
            *next = *at++;
            continue;
        }
        int length = utf8_read(at, source->end, next);
        if (length == 0)
            return fail(UNROLL_DATA,
                        "'%.*s' is not UTF-8: byte 0x%02x at offset %zu in line %zu; fix: "
                        "convert it, for example with 'iconv -f LATIN1 -t UTF-8'",
                        NAME_SHOWN, source->name, *at, (size_t)(at - source->at), count_lines(source->at, at));
        if (*next > max)
            max = *next;
        at += length;
    }
    *count = (size_t)(next - codes);
    *largest = max;
    return UNROLL_OK;
}

/* ---- code points to token ids ---- */

static char *string_of(struct column *text, int symbol) { return text->strings + (size_t)symbol * (UTF8_LONGEST + 1); }

/* Room for characters: each has the same part of the spelling, to which the caller writes. */
static unroll_status make_symbols(struct column *text, int count)
{
    text->strings = allocate_zeroed((size_t)count, UTF8_LONGEST + 1);
    text->vocabulary = allocate_zeroed((size_t)count, sizeof *text->vocabulary);
    if (text->strings == NULL || text->vocabulary == NULL)
        return fail(UNROLL_RESOURCE, "no memory for %d tokens", count);
    for (int i = 0; i < count; i++) text->vocabulary[i] = string_of(text, i);
    text->vocabulary_size = count;
    return UNROLL_OK;
}

/* number[code] becomes the rank of the code among those of the text. */
static unroll_status find_symbols(struct column *text, size_t steps, int32_t *number, int32_t largest)
{
    int count = 0;

    for (size_t i = 0; i < steps; i++) number[text->tokens[i]] = 0;
    for (int32_t code = 0; code <= largest; code++)
        if (number[code] != NO_SYMBOL)
            number[code] = count++;
    TRY(make_symbols(text, count));
    for (int32_t code = 0; code <= largest; code++)
        if (number[code] != NO_SYMBOL)
            utf8_write(code, string_of(text, number[code]));
    return UNROLL_OK;
}

static unroll_status use_symbols(struct column *text, int32_t *number, int32_t largest, const char *const *symbols,
                                 int count)
{
    TRY(make_symbols(text, count));
    for (int i = 0; i < count; i++) {
        const byte *symbol = (const byte *)symbols[i];
        size_t size = strlen(symbols[i]);
        int32_t code;
        if (size == 0 || (size_t)utf8_read(symbol, symbol + size, &code) != size)
            return fail(UNROLL_DATA, "token %d, '%.32s', is not one character: the model does not read text", i,
                        symbols[i]);
        memcpy(string_of(text, i), symbols[i], size + 1);
        if (code > largest)
            continue;
        if (number[code] != NO_SYMBOL)
            return fail(UNROLL_DATA, "tokens %d and %d are the same character U+%04" PRIX32, number[code], i,
                        (uint32_t)code);
        number[code] = i;
    }
    return UNROLL_OK;
}

static unroll_status unknown_character(const struct column *text, const char *name, size_t at)
{
    size_t line = 1, column = 1;
    char spelling[UTF8_LONGEST + 1];

    for (size_t i = 0; i < at; i++) {
        bool ends_line = text->tokens[i] == '\n';
        line += ends_line;
        column = ends_line ? 1 : column + 1;
    }
    utf8_write(text->tokens[at], spelling);
    return fail(UNROLL_DATA,
                "'%.*s', line %zu, column %zu: the character '%s' (U+%04" PRIX32 ") is not "
                "among the model's %d tokens; fix: remove or replace it, or train a model on a text that "
                "has it",
                NAME_SHOWN, name, line, column, text->tokens[at] == '\n' ? "\\n" : spelling, (uint32_t)text->tokens[at],
                text->vocabulary_size);
}

static unroll_status check_all_known(const struct column *text, size_t steps, const int32_t *number, const char *name)
{
    for (size_t i = 0; i < steps; i++)
        if (number[text->tokens[i]] == NO_SYMBOL)
            return unknown_character(text, name, i);
    return UNROLL_OK;
}

/* The tokens are code points before and numbers of characters after. */
static unroll_status number_characters(struct column *text, size_t steps, const char *name, int32_t largest,
                                       const struct tokenizer *tokenizer)
{
    int32_t *number;

    TRY(ALLOCATE(number, (size_t)largest + 1, "for the vocabulary of '%.*s'", NAME_SHOWN, name));
    for (int32_t code = 0; code <= largest; code++) number[code] = NO_SYMBOL;
    unroll_status status = tokenizer->vocabulary
                               ? use_symbols(text, number, largest, tokenizer->vocabulary, tokenizer->vocabulary_size)
                               : find_symbols(text, steps, number, largest);
    if (status == UNROLL_OK && tokenizer->vocabulary)
        status = check_all_known(text, steps, number, name);
    for (size_t i = 0; i < steps && status == UNROLL_OK; i++) text->tokens[i] = number[text->tokens[i]];
    release(number);
    return status;
}

/* ---- code points to words ---- */

static unroll_status number_words(struct column *text, size_t *steps, const struct tokenizer *tokenizer)
{
    struct codes codes = {text->tokens, *steps};
    unroll_status status;

    text->tokens = NULL;
    if (tokenizer->vocabulary)
        status = words_use(codes, tokenizer->vocabulary, tokenizer->vocabulary_size, text, steps);
    else
        status = words_find(codes, tokenizer->max, text, steps);
    release((int32_t *)codes.at);
    return status;
}

/* ---- all of it ---- */

static unroll_status parse_into(unroll_dataset *dataset, const struct source *source, const struct tokenizer *tokenizer)
{
    struct column *text = dataset->column;
    size_t characters;
    int32_t largest;

    TRY(check_bytes(source, &characters));
    strcpy(text->name, "text");
    text->kind = tokenizer->kind;
    TRY(ALLOCATE(text->tokens, characters, "for the characters of '%.*s'", NAME_SHOWN, source->name));
    TRY(decode_all(source, text->tokens, &dataset->steps, &largest));
    if (tokenizer->kind == UNROLL_WORDS)
        TRY(number_words(text, &dataset->steps, tokenizer));
    else
        TRY(number_characters(text, dataset->steps, source->name, largest, tokenizer));
    return dataset_one_sequence(dataset);
}

unroll_status text_parse(const void *bytes, size_t size, const char *name, const struct tokenizer *tokenizer,
                         unroll_dataset **dataset)
{
    struct source source = {bytes, (const byte *)bytes + size, name};
    unroll_dataset *parsed;

    TRY(dataset_new(1, &parsed));
    unroll_status status = parse_into(parsed, &source, tokenizer);
    if (status != UNROLL_OK) {
        unroll_dataset_free(parsed);
        return status;
    }
    *dataset = parsed;
    return UNROLL_OK;
}

/* ---- the reader ---- */

struct text_options {
    int tokens; /* unroll_token_kind */
    double vocab;
};

static const struct key keys[] = {
    {.name = "tokens", .choices = "chars words", .offset = offsetof(struct text_options, tokens)},
    {.name = "vocab", .min = 2, .max = 1 << 20, .offset = offsetof(struct text_options, vocab)},
    {0},
};

/* A model's tokenizer is not to be chosen anew. */
static unroll_status open_text(const char *path, const char *options, const struct tokenizer *of_model,
                               unroll_dataset **dataset)
{
    struct text_options chosen = {.tokens = UNROLL_CHARACTERS, .vocab = 10000};
    bool standard_input = strcmp(path, "-") == 0;
    uint64_t max_bytes = (uint64_t)INT32_MAX * UTF8_LONGEST;
    void *bytes;
    size_t size;

    TRY(key_values_read(options, "a text", keys, &chosen));
    struct tokenizer found = {.kind = (unroll_token_kind)chosen.tokens, .max = (int)chosen.vocab};
    if (of_model && options && *options)
        return fail(UNROLL_USAGE, "a text for a model is read as the model reads; fix: leave out the options '%.80s'",
                    options);
    TRY(read_whole_file(standard_input ? "/dev/stdin" : path, max_bytes, &bytes, &size));
    unroll_status status =
        text_parse(bytes, size, standard_input ? "standard input" : path, of_model ? of_model : &found, dataset);
    release(bytes);
    return status;
}

const struct reader reader_text = {.name = "text", .about = "text in UTF-8", .open = open_text};
