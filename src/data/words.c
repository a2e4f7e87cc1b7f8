/* Splits texts into words by a few classes of code points and a rule for white space. */
#include "data/words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

struct code_range {
    int32_t first, last;
};

static bool is_in(const struct code_range *ranges, size_t count, int32_t code)
{
    for (size_t i = 0; i < count && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}

/* Unicode's White_Space except the line end. */
static bool is_space(int32_t code)
{
    static const struct code_range spaces[] = {{'\t', '\t'},     {'\v', '\r'},     {' ', ' '},       {0x85, 0x85},
                                               {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                               {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
    return code <= ' ' ? code == ' ' || (code >= '\t' && code <= '\r' && code != '\n')
                       : is_in(spaces, sizeof spaces / sizeof *spaces, code);
}

/* Punctuation and symbols of ASCII and Latin-1, and the blocks of general, CJK and full-width punctuation. */
static bool is_punctuation(int32_t code)
{
    static const struct code_range marks[] = {{'!', '/'},       {':', '@'},       {'[', '`'},       {'{', '~'},
                                              {0xa1, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},
                                              {0x2010, 0x2027}, {0x2030, 0x205e}, {0x3001, 0x3003}, {0x3008, 0x3020},
                                              {0xff01, 0xff0f}, {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff65}};
    return is_in(marks, sizeof marks / sizeof *marks, code);
}

/* -1, the end, is neither of the three */
static bool is_letter(int32_t code) { return code >= 0 && code != '\n' && !is_space(code) && !is_punctuation(code); }

/* don't, well-known, 3.14, two_words */
static bool joins_letters(int32_t code)
{
    return code == '\'' || code == 0x2019 || code == '-' || code == '.' || code == '_';
}

static bool begins_with_unknown(const byte *at, const byte *end)
{
    return (size_t)(end - at) >= strlen(UNKNOWN_WORD) && memcmp(at, UNKNOWN_WORD, strlen(UNKNOWN_WORD)) == 0;
}

/* Returns the code point at *at and advances *at; -1: the end. */
static int32_t next_code(const byte **at, const byte *end)
{
    static const byte masks[] = {0x7f, 0x1f, 0x0f, 0x07};
    if (*at == end)
        return -1;
    int more = **at < 0xc0 ? 0 : **at < 0xe0 ? 1 : **at < 0xf0 ? 2 : 3;
    int32_t code = *(*at)++ & masks[more];
    for (; more > 0; more--) code = code << 6 | (*(*at)++ & 0x3f);
    return code;
}

/* Finds the end of a word that does not begin with white space. */
static const byte *body_end(const byte *at, const byte *end)
{
    const byte *next = at, *behind;
    int32_t code = next_code(&next, end);
    if (code == '\n')
        return next;
    if (begins_with_unknown(at, end))
        return at + strlen(UNKNOWN_WORD);
    if (is_punctuation(code)) {
        for (at = next; is_punctuation(next_code(&next, end)) && !begins_with_unknown(at, end);) at = next;
        return at;
    }
    for (at = next;; at = next) {
        code = next_code(&next, end);
        bool joins = joins_letters(code) && (behind = next, is_letter(next_code(&behind, end)));
        if (!joins && !is_letter(code))
            return at;
    }
}

size_t word_length(const byte *text, const byte *end)
{
    const byte *last = text, *at = text, *next = text;
    while (is_space(next_code(&next, end))) last = at, at = next;
    if (at == end || at == text)
        return (size_t)(at == end ? end - text : body_end(at, end) - text);
    bool belongs_to_next = *last == ' ';
    if (last == text && belongs_to_next)
        return (size_t)(body_end(at, end) - text);
    return (size_t)((belongs_to_next ? last : at) - text);
}

static size_t character_length(const byte *text, const byte *end)
{
    const byte *at = text + 1;
    while (at < end && (*at & 0xc0) == 0x80) at++;
    return (size_t)(at - text);
}

static size_t blanks_length(const byte *text, const byte *end)
{
    const byte *at = text, *next = text;
    while (is_space(next_code(&next, end))) at = next;
    return (size_t)(at - text);
}

/* Finds the end of a piece: at white space or a line end, which is a piece itself. */
static size_t unblank_length(const byte *text, const byte *end)
{
    const byte *at = text, *next = text;
    int32_t code = next_code(&next, end);
    if (code == '\n')
        return 1;
    for (; code >= 0 && code != '\n' && !is_space(code); code = next_code(&next, end)) at = next;
    return (size_t)(at - text);
}

const struct word_pieces pieces_of_kind[] = {
    [CUT_CHARACTERS] = {"character", character_length, NULL, false},
    [CUT_WORDS] = {"word", word_length, NULL, true},
    [CUT_BLANKS] = {"word", unblank_length, blanks_length, true},
};
