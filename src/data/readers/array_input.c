/* See array_input.h. Sizes in a header are compared with the actual size before memory is allocated. */
#include "data/readers/array_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { CHUNK = 1 << 13, ELEMENTS = CHUNK / 8 };

unroll_status array_bytes(struct input *input, void *to, size_t bytes)
{
    for (size_t at = 0, got; at < bytes; at += got) {
        TRY(input_read(input, (char *)to + at, bytes - at, &got));
        if (got == 0)
            return fail(UNROLL_DATA, "'%s' is truncated: its header declares more; fix: get the file again",
                        input_name(input));
    }
    return UNROLL_OK;
}

unroll_status array_count(const struct input *input, const struct array *array, int axis, uint64_t max, uint64_t *count)
{
    *count = 1;
    for (int i = axis; i < array->rank; i++) {
        if (array->shape[i] == 0)
            return fail(UNROLL_DATA, "'%s' is empty: axis %d of its shape is 0; fix: save an array with numbers in it",
                        input_name(input), i);
        if (array->shape[i] > max / *count)
            return fail(UNROLL_DATA,
                        "'%s': its header declares more than %" PRIu64
                        " numbers; fix: get the file again, or save smaller arrays",
                        input_name(input), max);
        *count *= array->shape[i];
    }
    return UNROLL_OK;
}

unroll_status array_end(struct input *input)
{
    char more;
    size_t got;
    TRY(input_read(input, &more, 1, &got));
    if (got)
        return fail(UNROLL_DATA, "'%s' has data after the numbers that its header declares; fix: get the file again",
                    input_name(input));
    return UNROLL_OK;
}

/* ---- elements ---- */

static void swap_bytes(unsigned char *at, size_t count, size_t bytes)
{
    for (; count > 0; count--, at += bytes)
        for (size_t i = 0; i < bytes / 2; i++) {
            unsigned char kept = at[i];
            at[i] = at[bytes - 1 - i], at[bytes - 1 - i] = kept;
        }
}

unroll_status array_floats(struct input *input, const struct array *array, float *to, size_t count)
{
    unsigned char chunk[CHUNK];
    double wide[ELEMENTS];
    size_t bytes = (size_t)array->bytes;
    for (size_t part; count > 0; count -= part, to += part) {
        part = count < ELEMENTS ? count : ELEMENTS;
        TRY(array_bytes(input, chunk, part * bytes));
        if (array->big_endian)
            swap_bytes(chunk, part, bytes);
        doubles_of(array->dtype, chunk, wide, part);
        for (size_t i = 0; i < part; i++) to[i] = (float)wide[i];
    }
    return UNROLL_OK;
}

/* Reads all elements of an array into growing memory. */
unroll_status array_whole(struct input *input, const struct array *array, unsigned char **data)
{
    uint64_t count;
    unsigned char *bytes = NULL;
    size_t used = 0, room = 0, got = 1;
    TRY(array_count(input, array, 0, PTRDIFF_MAX / ARRAY_ELEMENT, &count));
    unroll_status status = UNROLL_OK;
    for (size_t wanted = (size_t)count * (size_t)array->bytes; status == UNROLL_OK && used < wanted; used += got) {
        size_t more = room ? 2 * room : CHUNK;
        if (used == room && !enlarge(&bytes, used, room = more < wanted ? more : wanted))
            status = fail(UNROLL_RESOURCE, "no memory for the %zu bytes of '%s'", wanted, input_name(input));
        else if ((status = input_read(input, bytes + used, room - used, &got)) == UNROLL_OK && got == 0)
            status = fail(UNROLL_DATA, "'%s' is truncated: it has %zu of %zu bytes; fix: get the file again",
                          input_name(input), used, wanted);
    }
    if (status == UNROLL_OK)
        status = array_end(input);
    if (status == UNROLL_OK)
        *data = bytes;
    else
        release(bytes);
    return status;
}

double array_number(const struct array *array, const unsigned char *at)
{
    unsigned char bytes[sizeof(double)];
    double value;
    memcpy(bytes, at, (size_t)array->bytes);
    if (array->big_endian)
        swap_bytes(bytes, 1, (size_t)array->bytes);
    doubles_of(array->dtype, bytes, &value, 1);
    return value;
}

/* Converts a code point, which NumPy stores in four bytes; an invalid one becomes U+FFFD. */
static size_t put_utf8(uint32_t code, char *to)
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(lead[more] | code >> 6 * more);
    for (int i = 1; i <= more; i++) to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return (size_t)more + 1;
}

/* Formats an element as text and returns its length. */
size_t array_text(const struct array *array, const unsigned char *at, char text[ARRAY_TEXT])
{
    size_t length = 0, step = (size_t)array->character;
    if (!array_is_text(array))
        return (size_t)snprintf(text, ARRAY_TEXT, array_is_whole(array) ? "%.0f" : "%.9g", array_number(array, at));
    for (size_t i = 0; i + step <= (size_t)array->bytes && length + 4 <= ARRAY_TEXT; i += step) {
        uint32_t code = at[i];
        if (step == 4)
            code = array->big_endian
                       ? (uint32_t)at[i] << 24 | (uint32_t)at[i + 1] << 16 | (uint32_t)at[i + 2] << 8 | at[i + 3]
                       : (uint32_t)at[i + 3] << 24 | (uint32_t)at[i + 2] << 16 | (uint32_t)at[i + 1] << 8 | at[i];
        if (code == 0)
            break;
        length += put_utf8(code, text + length);
    }
    return length;
}
