/* Texts in UTF-8 as tokens: strict about the bytes; vocabulary.c numbers the characters or words. Line ends stay as
 * they are, and so does a byte order mark: a text is what its bytes say. */
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
#include "data/vocabulary.h"

typedef unsigned char byte;

enum { NAME_SHOWN = 160 };

struct source {
    const byte *at, *end;
    const char *name;
};

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
    static const char sounds[] =
        "train on sounds as arrays, from Python (docs/python.md) or C; 'unroll stream' runs a model over them";
    static const char utf_16[] = "convert it, for example with 'iconv -f UTF-16 -t UTF-8'",
                      packed[] = "unpack it first";
    static const struct {
        const char *begin, *fix;
    } kinds[] = {{"\x93NUMPY", arrays},
                 {"RIFF", sounds},
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

static unroll_status check_encoding(const struct source *source)
{
    int32_t code;
    int length = 1;
    for (const byte *at = source->at; at < source->end; at += length)
        if (*at >= 0x80 && (length = utf8_read(at, source->end, &code)) == 0)
            return fail(UNROLL_DATA,
                        "'%.*s' is not UTF-8: byte 0x%02x at offset %zu in line %zu; fix: "
                        "convert it, for example with 'iconv -f LATIN1 -t UTF-8'",
                        NAME_SHOWN, source->name, *at, (size_t)(at - source->at), count_lines(source->at, at));
        else if (*at < 0x80)
            length = 1;
    return UNROLL_OK;
}

static unroll_status refuse_character(const struct source *source, const byte *at, int vocabulary_size)
{
    const byte *line = at;
    int32_t code;
    int length = utf8_read(at, source->end, &code);
    while (line > source->at && line[-1] != '\n') line--;
    const struct source before = {line, at, NULL};
    return fail(UNROLL_DATA,
                "'%.*s', line %zu, column %zu: the character '%.*s' (U+%04" PRIX32
                ") is not among the model's %d tokens; fix: remove or replace it, or train a model on a text that "
                "has it",
                NAME_SHOWN, source->name, count_lines(source->at, at), count_characters(&before) + 1,
                code == '\n' ? 2 : length, code == '\n' ? "\\n" : (const char *)at, (uint32_t)code, vocabulary_size);
}

static unroll_status parse_into(unroll_dataset *dataset, const struct source *source, const struct tokenizer *tokenizer)
{
    struct column *text = dataset->column;
    const byte *unknown;
    size_t characters;
    TRY(check_bytes(source, &characters));
    TRY(check_encoding(source));
    strcpy(text->name, "text");
    text->kind = tokenizer->kind;
    TRY(ALLOCATE(text->tokens, characters, "for the characters of '%.*s'", NAME_SHOWN, source->name));
    TRY(vocabulary_number(source->at, source->end, tokenizer, text, &dataset->steps, &unknown));
    if (unknown)
        return refuse_character(source, unknown, text->vocabulary_size);
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
