/* A hash table over copies of the strings, stored in blocks that never move. */
#include "data/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

typedef unsigned char byte;

enum { NONE = VOCABULARY_NONE, FIRST_SLOTS = 64, ASCII = 128, BLOCK = 1 << 16, FIRST_BLOCK = 1 << 10 };

struct entry {
    const byte *at; /* [size] */
    size_t size;
    uint64_t times;
    uint32_t hash;
};

struct text_block {
    struct text_block *next;
    byte bytes[];
};

struct vocabulary {
    struct entry *entry; /* [slots / 2] */
    int32_t count;
    int32_t *slot; /* [slots] index of an entry, or NONE; open addressing */
    size_t slots;  /* a power of 2 */
    struct text_block *block;
    size_t used, room;    /* of the first block */
    int32_t ascii[ASCII]; /* of strings of one byte, which are frequent: the index plus 1; 0: use the table */
};

/* FNV-1a. */
static uint32_t hash_string(const byte *at, size_t size)
{
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x01000193u;
    return hash ^ hash >> 15; /* slots are selected by the low bits */
}

/* Returns the slot of a string, or the free slot for it. */
static int32_t *find_slot(const struct vocabulary *v, const byte *string, size_t size, uint32_t hash)
{
    for (size_t at = hash;; at++) {
        int32_t *slot = &v->slot[at & (v->slots - 1)];
        if (*slot == NONE)
            return slot;
        const struct entry *entry = &v->entry[*slot];
        if (entry->hash == hash && entry->size == size && memcmp(entry->at, string, size) == 0)
            return slot;
    }
}

static void fill_slots(struct vocabulary *v)
{
    for (size_t i = 0; i < v->slots; i++) v->slot[i] = NONE;
    for (int32_t i = 0; i < v->count; i++) *find_slot(v, v->entry[i].at, v->entry[i].size, v->entry[i].hash) = i;
}

static unroll_status grow(struct vocabulary *v)
{
    struct vocabulary larger = *v;
    larger.slots = v->slots ? 2 * v->slots : FIRST_SLOTS;
    larger.entry = allocate_zeroed(larger.slots / 2, sizeof *larger.entry);
    larger.slot = allocate_zeroed(larger.slots, sizeof *larger.slot);
    bool good = larger.entry && larger.slot && v->count < INT32_MAX / 4;
    if (good && v->count)
        memcpy(larger.entry, v->entry, (size_t)v->count * sizeof *v->entry);
    if (good)
        fill_slots(&larger);
    release(good ? v->slot : larger.slot);
    release(good ? v->entry : larger.entry);
    if (!good)
        return fail(UNROLL_RESOURCE, "no memory for a vocabulary of %d", v->count);
    *v = larger;
    return UNROLL_OK;
}

static unroll_status copy_string(struct vocabulary *v, const byte *string, size_t size, const byte **copy)
{
    if (v->block == NULL || v->room - v->used < size) {
        size_t room = v->block ? BLOCK : FIRST_BLOCK;
        struct text_block *block = allocate(sizeof *block + (room = room < size ? size : room));
        if (block == NULL)
            return fail(UNROLL_RESOURCE, "no memory for a vocabulary of %d", v->count);
        block->next = v->block;
        v->block = block, v->room = room, v->used = 0;
    }
    *copy = memcpy(v->block->bytes + v->used, string, size);
    v->used += size;
    return UNROLL_OK;
}

unroll_status vocabulary_new(struct vocabulary **vocabulary)
{
    struct vocabulary *made;
    TRY(ALLOCATE(made, 1, "for a vocabulary"));
    unroll_status status = grow(made);
    if (status == UNROLL_OK)
        *vocabulary = made;
    else
        release(made);
    return status;
}

void vocabulary_free(struct vocabulary *v)
{
    if (v == NULL)
        return;
    for (struct text_block *block = v->block, *next; block; block = next) {
        next = block->next;
        release(block);
    }
    release(v->slot);
    release(v->entry);
    release(v);
}

int32_t vocabulary_find(struct vocabulary *v, const void *bytes, size_t size)
{
    const byte *string = bytes;
    bool is_ascii = size == 1 && *string < ASCII;
    if (is_ascii && v->ascii[*string])
        return v->ascii[*string] - 1;
    int32_t index = *find_slot(v, string, size, hash_string(string, size));
    if (is_ascii)
        v->ascii[*string] = index + 1;
    return index;
}

unroll_status vocabulary_add(struct vocabulary *v, const void *bytes, size_t size, int32_t *index)
{
    *index = vocabulary_find(v, bytes, size);
    if (*index == NONE) {
        const byte *copy;
        if ((size_t)v->count >= v->slots / 2)
            TRY(grow(v));
        TRY(copy_string(v, bytes, size, &copy));
        uint32_t hash = hash_string(copy, size);
        *find_slot(v, copy, size, hash) = *index = v->count;
        v->entry[v->count++] = (struct entry){.at = copy, .size = size, .hash = hash};
    }
    v->entry[*index].times++;
    return UNROLL_OK;
}

static unroll_status add_given(struct vocabulary *v, const char *const *strings, int count, const char *what)
{
    int32_t index;
    for (int i = 0; i < count; i++) {
        TRY(vocabulary_add(v, strings[i], strlen(strings[i]), &index));
        if (index != i)
            return fail(UNROLL_DATA, "tokens %d and %d are the same %s '%.32s'; fix: use another copy of the model",
                        index, i, what, strings[i]);
    }
    return UNROLL_OK;
}

unroll_status vocabulary_of(const char *const *strings, int count, const char *what, struct vocabulary **vocabulary)
{
    TRY(vocabulary_new(vocabulary));
    unroll_status status = add_given(*vocabulary, strings, count, what);
    if (status != UNROLL_OK) {
        vocabulary_free(*vocabulary);
        *vocabulary = NULL;
    }
    return status;
}

int32_t vocabulary_size(const struct vocabulary *v) { return v->count; }

const char *vocabulary_at(const struct vocabulary *v, int32_t index, size_t *size)
{
    *size = v->entry[index].size;
    return (const char *)v->entry[index].at;
}

uint64_t vocabulary_times(const struct vocabulary *v, int32_t index) { return v->entry[index].times; }

/* ---- order ---- */

static int compare_bytes(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_times(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->times != b->times ? (a->times > b->times ? -1 : 1) : compare_bytes(left, right);
}

static bool value_of(const struct entry *entry, double *value)
{
    char text[32];
    if (entry->size == 0 || entry->size >= sizeof text)
        return false;
    memcpy(text, entry->at, entry->size);
    text[entry->size] = 0;
    return number_whole_real(text, -1e300, 1e300, value) == NUMBER_OK;
}

static int compare_values(const void *left, const void *right)
{
    double a, b;
    bool a_is_number = value_of(left, &a), b_is_number = value_of(right, &b);
    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    return a_is_number && a != b ? (a < b ? -1 : 1) : compare_bytes(left, right);
}

void vocabulary_sort(struct vocabulary *v, enum vocabulary_order order, int32_t fixed, int32_t max)
{
    static int (*const compare[])(const void *, const void *) = {compare_bytes, compare_times, compare_values};
    qsort(v->entry + fixed, (size_t)(v->count - fixed), sizeof *v->entry, compare[order]);
    v->count = v->count < max ? v->count : max;
    memset(v->ascii, 0, sizeof v->ascii);
    fill_slots(v);
}

unroll_status vocabulary_write(const struct vocabulary *v, struct column *column)
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
