/* Reads and writes protocol buffers (protobuf.h). Groups, which are deprecated, are refused. */
#include "io/protobuf.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

/* ---- reading --------------------------------------------------------------------------- */

unroll_status pb_varint(struct pb_reader *r, uint64_t *value)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (r->at == r->end)
            return fail(UNROLL_DATA, "%s ends inside a number; fix: " EXPORT_AGAIN, r->where);
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = v;
            return UNROLL_OK;
        }
    }
    return fail(UNROLL_DATA, "%s has a number of more than 64 bits; fix: " EXPORT_AGAIN, r->where);
}

static unroll_status read_fixed(struct pb_reader *r, size_t bytes, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < bytes)
        return fail(UNROLL_DATA, "%s ends inside a number; fix: " EXPORT_AGAIN, r->where);
    *value = get_number(r->at, bytes);
    r->at += bytes;
    return UNROLL_OK;
}

static unroll_status read_bytes(struct pb_reader *r, struct pb_field *f)
{
    uint64_t size;
    TRY(pb_varint(r, &size));
    if (size > (uint64_t)(r->end - r->at))
        return fail(
            UNROLL_DATA,
            "%s: field %u has %llu bytes, but only %zu are left: the file is truncated or damaged; fix: " EXPORT_AGAIN,
            r->where, f->number, (unsigned long long)size, (size_t)(r->end - r->at));
    f->data = r->at;
    f->size = (size_t)size;
    r->at += size;
    return UNROLL_OK;
}

/* Reads the tag and the value of the next field. */
static unroll_status read_field(struct pb_reader *r, struct pb_field *f)
{
    uint64_t tag;
    TRY(pb_varint(r, &tag));
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return fail(UNROLL_DATA, "%s has a field with number %llu: this is not a protocol buffer; fix: " EXPORT_AGAIN,
                    r->where, (unsigned long long)(tag >> 3));
    *f = (struct pb_field){.number = (uint32_t)(tag >> 3), .wire = (enum pb_wire)(tag & 7)};
    switch (tag & 7) {
    case PB_VARINT: return pb_varint(r, &f->value);
    case PB_FIXED64: return read_fixed(r, 8, &f->value);
    case PB_FIXED32: return read_fixed(r, 4, &f->value);
    case PB_BYTES: return read_bytes(r, f);
    }
    return fail(UNROLL_DATA, "%s: field %u has the wire type %d: this is not a protocol buffer; fix: " EXPORT_AGAIN,
                r->where, f->number, (int)(tag & 7));
}

unroll_status pb_expect(const struct pb_reader *r, const struct pb_field *f, enum pb_wire wire)
{
    if (f->wire != wire)
        return fail(UNROLL_DATA, "%s: field %u has the wire type %d, not %d; fix: " EXPORT_AGAIN, r->where, f->number,
                    (int)f->wire, (int)wire);
    return UNROLL_OK;
}

bool pb_next(struct pb_reader *r, struct pb_field *f)
{
    if (r->status != UNROLL_OK || r->at == r->end)
        return false;
    r->status = read_field(r, f);
    return r->status == UNROLL_OK;
}

struct pb_reader pb_inside(const struct pb_reader *r, const struct pb_field *f)
{
    unroll_status status = pb_expect(r, f, PB_BYTES);
    return (struct pb_reader){f->data, f->data ? f->data + f->size : NULL, r->where, status};
}

/* ---- writing --------------------------------------------------------------------------- */

enum { LENGTH_BYTES = 5 }; /* reserved for the length of a message: a padded varint, enough for 2 GiB */

/* Appends `bytes` bytes and returns their address, or NULL after a failure. */
static uint8_t *grow(struct pb_writer *w, size_t bytes)
{
    w->failed = w->failed || bytes > INT32_MAX - w->size;
    if (!w->failed && w->size + bytes > w->capacity) {
        w->capacity = 2 * (w->size + bytes) + 256;
        w->failed = !enlarge(&w->data, w->size, w->capacity);
    }
    if (w->failed)
        return NULL;
    w->size += bytes;
    return w->data + w->size - bytes;
}

static void put_varint(struct pb_writer *w, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)(value & 0x7f);
        value >>= 7;
        bytes[n++] |= value ? 0x80 : 0;
    } while (value);
    uint8_t *to = grow(w, n);
    if (to)
        memcpy(to, bytes, n);
}

static void put_tag(struct pb_writer *w, uint32_t field, enum pb_wire wire)
{
    put_varint(w, (uint64_t)field << 3 | wire);
}

void pb_put_varint(struct pb_writer *w, uint32_t field, uint64_t value)
{
    put_tag(w, field, PB_VARINT);
    put_varint(w, value);
}

void pb_put_float(struct pb_writer *w, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_tag(w, field, PB_FIXED32);
    uint8_t *to = grow(w, 4);
    if (to)
        put_number(to, bits, 4);
}

void *pb_put_room(struct pb_writer *w, uint32_t field, size_t size)
{
    put_tag(w, field, PB_BYTES);
    put_varint(w, size);
    return grow(w, size);
}

void pb_put_bytes(struct pb_writer *w, uint32_t field, const void *data, size_t size)
{
    void *to = pb_put_room(w, field, size);
    if (to && size)
        memcpy(to, data, size);
}

void pb_put_string(struct pb_writer *w, uint32_t field, const char *text)
{
    pb_put_bytes(w, field, text, strlen(text));
}

size_t pb_begin(struct pb_writer *w, uint32_t field)
{
    put_tag(w, field, PB_BYTES);
    grow(w, LENGTH_BYTES);
    return w->size;
}

void pb_end(struct pb_writer *w, size_t begun)
{
    if (w->failed)
        return;
    size_t size = w->size - begun;
    uint8_t *length = w->data + begun - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, size >>= 7)
        length[i] = (uint8_t)((size & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
