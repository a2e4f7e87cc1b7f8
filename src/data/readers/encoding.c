/* Converts code page 1252: a table gives its code points where it differs from ISO 8859-1; other bytes are code
 * points. */
#include "data/readers/encoding.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum { CHUNK = 1 << 16, FIRST = 0x80, TABLE = 32 };

/* Code points of 0x80 and on; 0: no character. */
static const uint16_t windows[TABLE] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                        0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

struct scan {
    bool utf8, windows;
    unsigned char kept[UTF8_LONGEST]; /* a character that the last chunk cut */
    size_t kept_bytes;
};

/* Skips ASCII, which most tables are, 8 bytes at a time. */
static bool is_ascii(const unsigned char *bytes, size_t size)
{
    uint64_t all = 0, eight;
    size_t i = 0;
    for (; i + sizeof eight <= size; i += sizeof eight) {
        memcpy(&eight, bytes + i, sizeof eight);
        all |= eight;
    }
    for (; i < size; i++) all |= bytes[i];
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* Checks a chunk for bytes that are not UTF-8, or not code page 1252. */
static void scan_chunk(struct scan *s, const unsigned char *bytes, size_t size, bool last)
{
    const unsigned char *at = bytes, *end = bytes + size;
    int32_t code;
    s->kept_bytes = 0;
    if (is_ascii(bytes, size))
        return;
    for (const unsigned char *c = bytes; c < end; c++)
        s->windows = s->windows && *c && (*c < FIRST || *c >= FIRST + TABLE || windows[*c - FIRST]);
    for (int length; s->utf8 && at < end; at += length) {
        length = *at < FIRST ? 1 : utf8_read(at, end, &code);
        if (length == 0 && (last || end - at >= UTF8_LONGEST))
            s->utf8 = false;
        if (length == 0)
            break;
    }
    s->kept_bytes = s->utf8 ? (size_t)(end - at) : 0;
    memcpy(s->kept, at, s->kept_bytes);
}

static unroll_status scan_member(struct input *input, struct scan *s, unsigned char *chunk)
{
    size_t got = 1;
    while (got) {
        const size_t kept = s->kept_bytes;
        memcpy(chunk, s->kept, kept);
        TRY(input_read(input, chunk + kept, CHUNK, &got));
        s->kept_bytes = 0;
        scan_chunk(s, chunk, kept + got, got == 0);
    }
    s->kept_bytes = 0;
    return UNROLL_OK;
}

unroll_status encoding_is_windows(struct input *input, bool *found)
{
    struct scan s = {.utf8 = true, .windows = true};
    const char *member = "";
    unsigned char *chunk;
    TRY(ALLOCATE(chunk, CHUNK + UTF8_LONGEST, "to read '%s'", input_name(input)));
    unroll_status status = input_rewind(input);
    while (status == UNROLL_OK && member)
        if ((status = input_next(input, &member)) == UNROLL_OK && member)
            status = scan_member(input, &s, chunk);
    release(chunk);
    *found = !s.utf8 && s.windows;
    return status == UNROLL_OK ? input_rewind(input) : status;
}

/* Converts bytes of code page 1252 to UTF-8. */
size_t windows_to_utf8(const char *bytes, size_t length, char *to)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const uint16_t code = byte >= FIRST && byte < FIRST + TABLE ? windows[byte - FIRST] : byte;
        if (code < 0x80)
            to[used++] = (char)code;
        else if (code < 0x800) {
            to[used++] = (char)(0xc0 | code >> 6);
            to[used++] = (char)(0x80 | (code & 0x3f));
        } else {
            to[used++] = (char)(0xe0 | code >> 12);
            to[used++] = (char)(0x80 | (code >> 6 & 0x3f));
            to[used++] = (char)(0x80 | (code & 0x3f));
        }
    }
    return used;
}
