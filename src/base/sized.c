/* Structs of callers compiled with another version of the headers. The rules are in sized.h. */
#include "base/sized.h"

#include <stdbool.h>
#include <string.h>

enum { GROWTH_MAX = 1024 }; /* bytes that a later version may add; a larger size means an uninitialized struct */

static size_t size_at(const void *from)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    return size;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static unroll_status check_size(const char *name, const char *begin, size_t size, const void *given)
{
    if (!given)
        return fail(UNROLL_USAGE, "%s is NULL; fix: pass one that was initialized with %s", name, begin);
    const size_t has = size_at(given);
    if (has <= sizeof has || has > size + GROWTH_MAX)
        return fail(UNROLL_USAGE, "size = %zu of %s is wrong; fix: start from %s", has, name, begin);
    return UNROLL_OK;
}

static unroll_status check_tail(const char *name, const unsigned char *tail, size_t bytes)
{
    if (is_zero(tail, bytes))
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED,
                "%s sets a field that this library, version %s, does not have: its last %zu bytes are not all 0; fix: "
                "leave the newer fields at 0, or use the library of your headers",
                name, unroll_version(), bytes);
}

/* Copies an embedded struct. If it is all zeros, as after { .size = .. } of the outer struct, the default is kept. */
static unroll_status take_part(const struct sized *type, const struct sized_part *part, const unsigned char *from,
                               void *to)
{
    char name[96];
    snprintf(name, sizeof name, "`%s` of %s", part->name, type->type);
    if (is_zero(from, part->size))
        return UNROLL_OK;
    if (size_at(from) != part->size)
        return fail(UNROLL_USAGE, "size = %zu of %s is wrong; fix: start from %s", size_at(from), name, part->begin);
    memcpy(to, from, part->size);
    return check_tail(name, from + part->size - part->reserved, part->reserved);
}

/* Copies the fields and parts that both versions have, then checks that the remaining bytes are 0. */
unroll_status sized_take(const struct sized *type, const void *given, void *to)
{
    TRY(check_size(type->type, type->begin, type->size, given));
    const unsigned char *from = given;
    const size_t theirs = size_at(given), common = theirs < type->size ? theirs : type->size;
    unsigned char *into = to;
    size_t at = 0;
    for (int i = 0; i < SIZED_PARTS && type->part[i].name && type->part[i].at + type->part[i].size <= common; i++) {
        const struct sized_part *part = &type->part[i];
        memcpy(into + at, from + at, part->at - at);
        TRY(take_part(type, part, from + part->at, into + part->at));
        at = part->at + part->size;
    }
    memcpy(into + at, from + at, common - at);
    memcpy(to, &type->size, sizeof type->size);
    TRY(check_tail(type->type, from + common, theirs - common));
    return theirs < type->size ? UNROLL_OK : check_tail(type->type, from + type->size - type->reserved, type->reserved);
}

unroll_status sized_check(const struct sized *type, const void *given)
{
    TRY(check_size(type->type, type->begin, type->size, given));
    const size_t has = size_at(given);
    return has > type->size ? check_tail(type->type, (const unsigned char *)given + type->size, has - type->size)
                            : UNROLL_OK;
}

void sized_give(const void *from, size_t size, void *given)
{
    const size_t has = size_at(given);
    memcpy(given, from, has < size ? has : size);
    memcpy(given, &has, sizeof has);
}

void sized_begin(const void *standard, size_t size, void *given, size_t given_size)
{
    memset(given, 0, given_size);
    memcpy(given, standard, given_size < size ? given_size : size);
    memcpy(given, &given_size, sizeof given_size);
}

unroll_status sized_take_all(const struct sized *type, const void *given, int count, void *to)
{
    const unsigned char *from = given;
    for (int i = 0; i < count; i++) {
        TRY(sized_take(type, from, (unsigned char *)to + (size_t)i * type->size));
        if (size_at(from) != size_at(given))
            return fail(UNROLL_USAGE,
                        "entry %d of the array of %s has size = %zu, the first has %zu; fix: start from %s", i,
                        type->type, size_at(from), size_at(given), type->begin);
        from += size_at(given);
    }
    return UNROLL_OK;
}
