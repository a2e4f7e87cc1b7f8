/* The splitter is a few classes of code points and one rule for white space. The vocabulary is a hash table
 * of the distinct words, which are views into the text: nothing is copied until the tokens are spelled.
 * Words are counted in one pass, sorted once, and the tokens renumbered. */
#include "data/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static const int32_t unknown_codes[] = {'<', 'u', 'n', 'k', '>'};
enum { UNKNOWN_LENGTH = sizeof unknown_codes / sizeof *unknown_codes };

/* ---- where a word ends ---- */

struct range {
    int32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, int32_t code)
{
    for (size_t i = 0; i < count && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}

/* Unicode's White_Space without the line end. */
static bool is_space(int32_t code)
{
    static const struct range spaces[] = {{'\t', '\t'},     {'\v', '\r'},     {' ', ' '},       {0x85, 0x85},
                                          {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                          {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

    return code <= ' ' ? code == ' ' || (code >= '\t' && code <= '\r' && code != '\n')
                       : is_in(spaces, sizeof spaces / sizeof *spaces, code);
}

/* Marks and signs of ASCII and Latin-1, and the blocks of general, CJK and full-width punctuation. */
static bool is_punctuation(int32_t code)
{
    static const struct range marks[] = {{'!', '/'},       {':', '@'},       {'[', '`'},       {'{', '~'},
                                         {0xa1, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},
                                         {0x2010, 0x2027}, {0x2030, 0x205e}, {0x3001, 0x3003}, {0x3008, 0x3020},
                                         {0xff01, 0xff0f}, {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff65}};

    return is_in(marks, sizeof marks / sizeof *marks, code);
}

static bool is_letter(int32_t code) { return code != '\n' && !is_space(code) && !is_punctuation(code); }

/* don't, well-known, 3.14, two_words */
static bool joins_letters(int32_t code)
{
    return code == '\'' || code == 0x2019 || code == '-' || code == '.' || code == '_';
}

static bool begins_with_unknown(struct codes text)
{
    return text.count >= UNKNOWN_LENGTH && memcmp(text.at, unknown_codes, sizeof unknown_codes) == 0;
}

static struct codes after(struct codes text, size_t count)
{
    return (struct codes){text.at + count, text.count - count};
}

/* Of a word that does not begin with white space. */
static size_t body_length(struct codes text)
{
    size_t length = 1;

    if (text.at[0] == '\n')
        return 1;
    if (begins_with_unknown(text))
        return UNKNOWN_LENGTH;
    if (is_punctuation(text.at[0])) {
        while (length < text.count && is_punctuation(text.at[length]) && !begins_with_unknown(after(text, length)))
            length++;
        return length;
    }
    for (; length < text.count; length++) {
        bool joins = length + 1 < text.count && joins_letters(text.at[length]) && is_letter(text.at[length + 1]);
        if (!joins && !is_letter(text.at[length]))
            break;
    }
    return length;
}

size_t word_length(struct codes text)
{
    size_t spaces = 0;

    while (spaces < text.count && is_space(text.at[spaces])) spaces++;
    if (spaces == text.count)
        return spaces;
    bool belongs_to_next = spaces > 0 && text.at[spaces - 1] == ' ';
    if (spaces == 0 || (spaces == 1 && belongs_to_next))
        return spaces + body_length(after(text, spaces));
    return spaces - belongs_to_next;
}

static size_t count_words(struct codes text)
{
    size_t count = 0;

    for (; text.count > 0; count++) text = after(text, word_length(text));
    return count;
}

/* ---- distinct words ---- */

enum { NONE = -1, FIRST_SLOTS = 1024 };

struct word {
    struct codes codes;   /* a view into the text, or into the tokens */
    uint32_t hash, times; /* a text has at most INT32_MAX characters */
    int32_t symbol;
};

struct vocabulary {
    struct word *word; /* [slots / 2] in the order of their first use */
    int32_t count;
    int32_t *slot; /* [slots] index of a word, or NONE; open addressing */
    size_t slots;  /* a power of 2 */
};

static void vocabulary_free(struct vocabulary *vocabulary)
{
    release(vocabulary->slot);
    release(vocabulary->word);
}

/* FNV-1a, a code point at a time. */
static uint32_t hash_codes(struct codes codes)
{
    uint32_t hash = 0x811c9dc5u;

    for (size_t i = 0; i < codes.count; i++) hash = (hash ^ (uint32_t)codes.at[i]) * 0x01000193u;
    return hash ^ hash >> 15; /* slots are taken from the low bits */
}

/* The slot of a word, or the free one where it would go. */
static int32_t *find_slot(const struct vocabulary *vocabulary, struct codes codes, uint32_t hash)
{
    for (size_t at = hash;; at++) {
        int32_t *slot = &vocabulary->slot[at & (vocabulary->slots - 1)];
        if (*slot == NONE)
            return slot;
        const struct word *word = &vocabulary->word[*slot];
        if (word->hash == hash && word->codes.count == codes.count &&
            memcmp(word->codes.at, codes.at, codes.count * sizeof *codes.at) == 0)
            return slot;
    }
}

static unroll_status vocabulary_grow(struct vocabulary *vocabulary)
{
    size_t slots = vocabulary->slots ? 2 * vocabulary->slots : FIRST_SLOTS;
    struct vocabulary larger = {.word = allocate_zeroed(slots / 2, sizeof *larger.word),
                                .count = vocabulary->count,
                                .slot = allocate_zeroed(slots, sizeof *larger.slot),
                                .slots = slots};

    if (larger.word == NULL || larger.slot == NULL) {
        vocabulary_free(&larger);
        return fail(UNROLL_RESOURCE, "no memory for %d different words", vocabulary->count);
    }
    for (size_t i = 0; i < slots; i++) larger.slot[i] = NONE;
    for (int32_t i = 0; i < vocabulary->count; i++) {
        larger.word[i] = vocabulary->word[i];
        *find_slot(&larger, larger.word[i].codes, larger.word[i].hash) = i;
    }
    vocabulary_free(vocabulary);
    *vocabulary = larger;
    return UNROLL_OK;
}

/* *index: of the word, which is new if it is the last one now. */
static unroll_status vocabulary_add(struct vocabulary *vocabulary, struct codes codes, int32_t *index)
{
    uint32_t hash = hash_codes(codes);

    if ((size_t)vocabulary->count >= vocabulary->slots / 2)
        TRY(vocabulary_grow(vocabulary));
    int32_t *slot = find_slot(vocabulary, codes, hash);
    if (*slot == NONE) {
        *slot = vocabulary->count++;
        vocabulary->word[*slot] = (struct word){.codes = codes, .hash = hash};
    }
    *index = *slot;
    return UNROLL_OK;
}

/* NONE: it is not there. */
static int32_t vocabulary_find(const struct vocabulary *vocabulary, struct codes codes)
{
    return *find_slot(vocabulary, codes, hash_codes(codes));
}

/* ---- vocabulary of a text ---- */

static unroll_status make_tokens(struct codes text, struct column *words, size_t *count)
{
    *count = count_words(text);
    return ALLOCATE(words->tokens, *count, "for the %zu words of a text", *count);
}

/* The unknown word is word 0, whether the text has it or not. */
static unroll_status count_all(struct codes text, struct vocabulary *vocabulary, int32_t *tokens)
{
    int32_t index;

    TRY(vocabulary_add(vocabulary, (struct codes){unknown_codes, UNKNOWN_LENGTH}, &index));
    for (size_t i = 0; text.count > 0; i++) {
        struct codes word = {text.at, word_length(text)};
        TRY(vocabulary_add(vocabulary, word, &tokens[i]));
        vocabulary->word[tokens[i]].times++;
        text = after(text, word.count);
    }
    return UNROLL_OK;
}

static int compare_codes(struct codes a, struct codes b)
{
    for (size_t i = 0; i < a.count && i < b.count; i++)
        if (a.at[i] != b.at[i])
            return a.at[i] < b.at[i] ? -1 : 1;
    return a.count < b.count ? -1 : a.count > b.count;
}

/* For qsort of pointers to words: the order of the tokens. */
static int compare_words(const void *left, const void *right)
{
    const struct word *a = *(const struct word *const *)left, *b = *(const struct word *const *)right;

    if (a->times != b->times)
        return a->times > b->times ? -1 : 1;
    return compare_codes(a->codes, b->codes);
}

/* sorted [count]: the words in the order of their tokens, of which the first *kept have one. */
static void give_numbers(struct vocabulary *vocabulary, struct word **sorted, int max, int *kept)
{
    for (int32_t i = 0; i < vocabulary->count; i++) sorted[i] = &vocabulary->word[i];
    qsort(sorted + 1, (size_t)vocabulary->count - 1, sizeof *sorted, compare_words);
    *kept = vocabulary->count < max ? vocabulary->count : max;
    for (int32_t i = 0; i < *kept; i++) sorted[i]->symbol = i; /* of the others it stays 0, the unknown word's */
}

static unroll_status make_symbols(struct column *words, int count, size_t bytes)
{
    words->vocabulary_size = count;
    TRY(ALLOCATE(words->vocabulary, (size_t)count, "for %d words", count));
    return ALLOCATE(words->strings, bytes, "for %d words", count);
}

static unroll_status spell(struct word *const *sorted, int count, struct column *words)
{
    size_t bytes = 0;

    for (int i = 0; i < count; i++) bytes += sorted[i]->codes.count * UTF8_LONGEST + 1;
    TRY(make_symbols(words, count, bytes));
    char *at = words->strings;
    for (int i = 0; i < count; i++) {
        words->vocabulary[i] = at;
        for (size_t k = 0; k < sorted[i]->codes.count; k++) at += utf8_write(sorted[i]->codes.at[k], at);
        at++; /* each encoding ends with a zero */
    }
    return UNROLL_OK;
}

static unroll_status choose_symbols(struct vocabulary *vocabulary, int max, size_t count, struct column *words)
{
    struct word **sorted;
    int kept;

    TRY(ALLOCATE(sorted, (size_t)vocabulary->count, "to sort %d words", vocabulary->count));
    give_numbers(vocabulary, sorted, max, &kept);
    unroll_status status = spell(sorted, kept, words);
    release(sorted);
    for (size_t i = 0; i < count && status == UNROLL_OK; i++)
        words->tokens[i] = vocabulary->word[words->tokens[i]].symbol;
    return status;
}

unroll_status words_find(struct codes text, int max, struct column *words, size_t *count)
{
    struct vocabulary vocabulary = {0};
    unroll_status status = make_tokens(text, words, count);

    if (status == UNROLL_OK)
        status = count_all(text, &vocabulary, words->tokens);
    if (status == UNROLL_OK)
        status = choose_symbols(&vocabulary, max, *count, words);
    vocabulary_free(&vocabulary);
    return status;
}

/* ---- tokens given ---- */

/* The code points of one token. *count 0: it is empty or not UTF-8. */
static void decode_symbol(const char *symbol, int32_t *codes, size_t *count)
{
    const unsigned char *at = (const unsigned char *)symbol, *end = at + strlen(symbol);

    *count = 0;
    while (at < end) {
        int length = utf8_read(at, end, &codes[*count]);
        if (length == 0) {
            *count = 0;
            return;
        }
        at += length;
        ++*count;
    }
}

/* codes has room for all code points of all tokens. Word i is token i. */
static unroll_status add_symbols(struct vocabulary *vocabulary, const char *const *symbols, int symbol_count,
                                 int32_t *codes)
{
    for (int i = 0; i < symbol_count; i++) {
        struct codes word = {codes, 0};
        int32_t index;
        decode_symbol(symbols[i], codes, &word.count);
        if (word.count == 0)
            return fail(UNROLL_DATA, "token %d, '%.32s', is not a word in UTF-8", i, symbols[i]);
        TRY(vocabulary_add(vocabulary, word, &index));
        if (index != i)
            return fail(UNROLL_DATA, "tokens %d and %d are the same word '%.32s'", index, i, symbols[i]);
        codes += word.count;
    }
    return UNROLL_OK;
}

static unroll_status look_up(struct codes text, const struct vocabulary *vocabulary, int32_t *tokens)
{
    int32_t unknown = vocabulary_find(vocabulary, (struct codes){unknown_codes, UNKNOWN_LENGTH});

    if (unknown == NONE)
        return fail(UNROLL_DATA, "the model's words have no '" UNKNOWN_WORD "' for those it does not know");
    for (size_t i = 0; text.count > 0; i++) {
        struct codes word = {text.at, word_length(text)};
        int32_t found = vocabulary_find(vocabulary, word);
        tokens[i] = found == NONE ? unknown : found;
        text = after(text, word.count);
    }
    return UNROLL_OK;
}

static unroll_status copy_symbols(const char *const *symbols, int count, size_t bytes, struct column *words)
{
    TRY(make_symbols(words, count, bytes));
    char *at = words->strings;
    for (int i = 0; i < count; i++) {
        size_t size = strlen(symbols[i]) + 1;
        words->vocabulary[i] = memcpy(at, symbols[i], size);
        at += size;
    }
    return UNROLL_OK;
}

unroll_status words_use(struct codes text, const char *const *symbols, int symbol_count, struct column *words,
                        size_t *count)
{
    struct vocabulary vocabulary = {0};
    size_t bytes = 0;

    for (int i = 0; i < symbol_count; i++) bytes += strlen(symbols[i]) + 1;
    TRY(make_tokens(text, words, count));
    TRY(copy_symbols(symbols, symbol_count, bytes, words));
    int32_t *codes;
    unroll_status status = ALLOCATE(codes, bytes, "for %d words", symbol_count);
    if (status == UNROLL_OK)
        status = add_symbols(&vocabulary, symbols, symbol_count, codes);
    if (status == UNROLL_OK)
        status = look_up(text, &vocabulary, words->tokens);
    vocabulary_free(&vocabulary);
    release(codes);
    return status;
}
