/* The wire format of protocol buffers: fields of varints, fixed-size numbers and bytes
 * (protobuf.dev/programming-guides/encoding). The caller interprets the fields. A reader never leaves its bytes and
 * allocates nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_reader {
    const uint8_t *at, *end;
    const char *where;    /* for messages: "'model.onnx': graph" */
    unroll_status status; /* error that ended reading, or UNROLL_OK */
};

#define EXPORT_AGAIN "export the model again, or take another copy of the file" /* a fix, for messages */

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value;      /* of a varint or a fixed-size number */
    const uint8_t *data; /* of bytes: `size` of them */
    size_t size;
};

/* Reads the next field. Returns false at the end of the message or if it is damaged: `while (pb_next(&r, &f)) ...;
 * return r.status;`. */
bool pb_next(struct pb_reader *, struct pb_field *);

/* Returns a reader of the message inside a field of bytes. For other fields, the reader's status is an error. */
struct pb_reader pb_inside(const struct pb_reader *, const struct pb_field *);

/* Reads a varint without a tag, for packed fields. */
unroll_status pb_varint(struct pb_reader *, uint64_t *value);

/* Fails unless the field has this wire type. */
unroll_status pb_expect(const struct pb_reader *, const struct pb_field *, enum pb_wire wire);

/* Writes into memory that grows. After a failure (no memory, more than 2 GiB) further writes are ignored. */
struct pb_writer {
    uint8_t *data; /* the caller releases it */
    size_t size, capacity;
    bool failed;
};

void pb_put_varint(struct pb_writer *, uint32_t field, uint64_t value);
void pb_put_float(struct pb_writer *, uint32_t field, float value);
void pb_put_bytes(struct pb_writer *, uint32_t field, const void *data, size_t size);
void pb_put_string(struct pb_writer *, uint32_t field, const char *text);

/* Encloses a nested message: what is put between the two calls belongs to it. */
size_t pb_begin(struct pb_writer *, uint32_t field);
void pb_end(struct pb_writer *, size_t begun);

/* Appends a field of `size` bytes for the caller to fill. Returns NULL after a failure. */
void *pb_put_room(struct pb_writer *, uint32_t field, size_t size);
