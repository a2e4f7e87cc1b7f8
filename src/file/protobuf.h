/* The wire format of protocol buffers, read and written: fields of varints, fixed numbers and bytes
 * (protobuf.dev/programming-guides/encoding). Not a message: which field means what is the caller's
 * knowledge. A reader never leaves the bytes it was given and allocates nothing. */
#ifndef FILE_PROTOBUF_H
#define FILE_PROTOBUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_reader {
    const uint8_t *at, *end;
    const char *where;    /* of messages: "'model.onnx': graph" */
    unroll_status status; /* what ended it, if not the end of the message */
};

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value;      /* of a varint or a fixed number */
    const uint8_t *data; /* of bytes, size of them */
    size_t size;
};

/* The next field; false: the message has ended, or is damaged: `while (pb_next(&r, &f)) ...; return r.status;`. */
bool pb_next(struct pb_reader *, struct pb_field *);

/* Of a field of bytes the message in it; of another one a message whose status says so. */
struct pb_reader pb_inside(const struct pb_reader *, const struct pb_field *);

/* A varint at the reader: for packed fields, whose bytes are varints without tags. */
unroll_status pb_varint(struct pb_reader *, uint64_t *value);

/* The field must have this wire type. */
unroll_status pb_expect(const struct pb_reader *, const struct pb_field *, enum pb_wire wire);

/* Writes into memory that grows. After a failure (no memory, more than 2 GiB) nothing more is written. */
struct pb_writer {
    uint8_t *data; /* release() it */
    size_t size, capacity;
    bool failed;
};

void pb_put_varint(struct pb_writer *, uint32_t field, uint64_t value);
void pb_put_float(struct pb_writer *, uint32_t field, float value);
void pb_put_bytes(struct pb_writer *, uint32_t field, const void *data, size_t size);
void pb_put_string(struct pb_writer *, uint32_t field, const char *text);

/* A message inside: what is put between the two belongs to it. */
size_t pb_begin(struct pb_writer *, uint32_t field);
void pb_end(struct pb_writer *, size_t begun);

/* size bytes to be filled by the caller, as a field; NULL after a failure. */
void *pb_put_room(struct pb_writer *, uint32_t field, size_t size);

#endif
