/* A hash table of the distinct pieces, which are views into the text or into the vocabulary that is given: nothing is
 * copied until it is known which stay. One pass numbers the pieces by their first use, one sort gives them their order.
 */
#include "data/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/words.h"

typedef unsigned char byte;

static size_t character_length(const byte *text, const byte *end)
{
    const byte *at = text + 1;
    while (at < end && (*at & 0xc0) == 0x80) at++;
    return (size_t)(at - text);
}

const struct pieces pieces_of_kind[] = {[UNROLL_CHARACTERS] = {"character", character_length, false},
                                        [UNROLL_WORDS] = {"word", word_length, true}};

/* ---- distinct pieces ---- */

enum { NONE = -1, FIRST_SLOTS = 1024, ASCII = 128 };

struct entry {
    const byte *at; /* [size] */
    size_t size;
    uint32_t hash, times; /* a text has at most INT32_MAX characters */
    int32_t first;        /* its number by first use */
};

struct vocabulary {
    struct entry *entry; /* [slots / 2] in the order of their first use */
    int32_t count;
    int32_t *slot; /* [slots] index of an entry, or NONE; open addressing */
    size_t slots;  /* a power of 2 */
    int32_t
        ascii[ASCII]; /* of pieces of one byte, which are many; 0: look into the table; else 1 more than the index */
};

/* FNV-1a. */
static uint32_t hash_piece(const byte *at, size_t size)
{
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x01000193u;
    return hash ^ hash >> 15; /* slots are taken from the low bits */
}

/* The slot of a piece, or the free one where it would go. */
static int32_t *find_slot(const struct vocabulary *v, const byte *piece, size_t size, uint32_t hash)
{
    for (size_t at = hash;; at++) {
        int32_t *slot = &v->slot[at & (v->slots - 1)];
        if (*slot == NONE)
            return slot;
        const struct entry *entry = &v->entry[*slot];
        if (entry->hash == hash && entry->size == size && memcmp(entry->at, piece, size) == 0)
            return slot;
    }
}

static unroll_status grow(struct vocabulary *v)
{
    struct vocabulary larger = *v;
    larger.slots = v->slots ? 2 * v->slots : FIRST_SLOTS;
    larger.entry = allocate_zeroed(larger.slots / 2, sizeof *larger.entry);
    larger.slot = allocate_zeroed(larger.slots, sizeof *larger.slot);
    bool good = larger.entry && larger.slot;
    for (size_t i = 0; good && i < larger.slots; i++) larger.slot[i] = NONE;
    for (int32_t i = 0; good && i < v->count; i++) {
        larger.entry[i] = v->entry[i];
        *find_slot(&larger, larger.entry[i].at, larger.entry[i].size, larger.entry[i].hash) = i;
    }
    release(good ? v->slot : larger.slot);
    release(good ? v->entry : larger.entry);
    if (!good)
        return fail(UNROLL_RESOURCE, "no memory for a vocabulary of %d", v->count);
    *v = larger;
    return UNROLL_OK;
}

/* *index: of the piece, which is new if it is the last one now; where none may be added NONE. */
static unroll_status look_up(struct vocabulary *v, const byte *piece, size_t size, bool add, int32_t *index)
{
    bool is_ascii = size == 1;
    if (is_ascii && v->ascii[*piece & (ASCII - 1)]) {
        *index = v->ascii[*piece & (ASCII - 1)] - 1;
        return UNROLL_OK;
    }
    if (add && (size_t)v->count >= v->slots / 2)
        TRY(grow(v));
    uint32_t hash = hash_piece(piece, size);
    int32_t *slot = find_slot(v, piece, size, hash);
    if (*slot == NONE && add) {
        *slot = v->count++;
        v->entry[*slot] = (struct entry){.at = piece, .size = size, .hash = hash, .first = *slot};
    }
    *index = *slot;
    if (is_ascii)
        v->ascii[*piece & (ASCII - 1)] = *index + 1;
    return UNROLL_OK;
}

/* ---- a vocabulary that is found ---- */

/* The most frequent first, of equals the one with the smaller code points, whose order is that of the bytes. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->times != b->times)
        return a->times > b->times ? -1 : 1;
    int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* The slots are of no use then. What does not stay becomes 0, the unknown piece's number. */
static unroll_status sort(struct vocabulary *v, int32_t fixed, int32_t max, struct column *column, size_t count)
{
    int32_t *id;
    qsort(v->entry + fixed, (size_t)(v->count - fixed), sizeof *v->entry, compare_entries);
    TRY(ALLOCATE(id, (size_t)v->count, "to sort a vocabulary of %d", v->count));
    v->count = v->count < max ? v->count : max;
    for (int32_t i = 0; i < v->count; i++) id[v->entry[i].first] = i;
    for (size_t i = 0; i < count; i++) column->tokens[i] = id[column->tokens[i]];
    release(id);
    return UNROLL_OK;
}

/* ---- a vocabulary that is given ---- */

static unroll_status add_given(struct vocabulary *v, const struct tokenizer *tokenizer, const struct pieces *pieces)
{
    int32_t index;
    for (int i = 0; i < tokenizer->vocabulary_size; i++) {
        const byte *at = (const byte *)tokenizer->vocabulary[i];
        size_t size = strlen(tokenizer->vocabulary[i]);
        bool whole = pieces->has_unknown || (size && pieces->length(at, at + size) == size);
        if (size == 0 || !whole || !utf8_is_valid(tokenizer->vocabulary[i]))
            return fail(UNROLL_DATA, "token %d, '%.32s', is not one %s: the model does not read text", i,
                        tokenizer->vocabulary[i], pieces->name);
        TRY(look_up(v, at, size, true, &index));
        if (index != i)
            return fail(UNROLL_DATA, "tokens %d and %d are the same %s '%.32s'", index, i, pieces->name,
                        tokenizer->vocabulary[i]);
    }
    return UNROLL_OK;
}

/* ---- all of it ---- */

static unroll_status write_strings(const struct vocabulary *v, struct column *column)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < v->count; i++) bytes += v->entry[i].size + 1;
    TRY(ALLOCATE(column->vocabulary, (size_t)v->count, "for a vocabulary of %d", v->count));
    TRY(ALLOCATE(column->strings, bytes, "for a vocabulary of %d", v->count));
    char *at = column->strings;
    for (int32_t i = 0; i < v->count; at += v->entry[i++].size + 1)
        column->vocabulary[i] = memcpy(at, v->entry[i].at, v->entry[i].size);
    column->vocabulary_size = v->count;
    return UNROLL_OK;
}

static unroll_status number(struct vocabulary *v, const byte *at, const byte *end, const struct tokenizer *tokenizer,
                            struct column *column, size_t *count, const byte **unknown)
{
    const struct pieces *pieces = &pieces_of_kind[tokenizer->kind];
    const bool given = tokenizer->vocabulary != NULL;
    int32_t instead = NONE;
    size_t size;
    if (given)
        TRY(add_given(v, tokenizer, pieces));
    if (pieces->has_unknown)
        TRY(look_up(v, (const byte *)UNKNOWN_WORD, strlen(UNKNOWN_WORD), !given, &instead));
    if (pieces->has_unknown && instead == NONE)
        return fail(UNROLL_DATA, "the model's words have no '" UNKNOWN_WORD "' for those it does not know");
    for (*count = 0; at < end; at += size) {
        int32_t *token = &column->tokens[(*count)++];
        size = pieces->length(at, end);
        TRY(look_up(v, at, size, !given, token));
        *token = *token == NONE ? instead : *token;
        if (*token == NONE) {
            *unknown = at;
            return UNROLL_OK;
        }
        v->entry[*token].times += pieces->has_unknown;
    }
    return given ? UNROLL_OK
                 : sort(v, pieces->has_unknown, pieces->has_unknown ? tokenizer->max : INT32_MAX, column, *count);
}

unroll_status vocabulary_number(const byte *text, const byte *end, const struct tokenizer *tokenizer,
                                struct column *column, size_t *count, const byte **unknown)
{
    struct vocabulary v = {0};
    *unknown = NULL;
    unroll_status status = number(&v, text, end, tokenizer, column, count, unknown);
    if (status == UNROLL_OK)
        status = write_strings(&v, column);
    release(v.slot);
    release(v.entry);
    return status;
}
