/* A named array as stored in a file: element type, shape, bytes. All array formats read and write it. A view does not
 * own its bytes: they belong to the open file or to the caller. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { TENSOR_LARGEST_RANK = 8 };

struct tensor_view {
    const char *name;
    enum dtype dtype;
    int rank;                            /* 0: a scalar with one element */
    uint64_t shape[TENSOR_LARGEST_RANK]; /* [rank], row-major */
    const void *data;                    /* little-endian, possibly unaligned: use memcpy to read elements */
    uint64_t bytes;                      /* product of shape times the size of dtype, possibly 0 */
};

/* Computes product of shape * size of dtype. Returns false if it overflows or an extent exceeds INT64_MAX. */
bool tensor_view_bytes(const struct tensor_view *tensor, uint64_t *bytes);

/* Converts all elements to floats, rounded to nearest. A finite value beyond the range of float is UNROLL_DATA with the
 * tensor's name; NaN and infinities are kept. */
unroll_status tensor_view_to_floats(const struct tensor_view *tensor, float *to);

/* Converts all elements of an integer tensor. A float tensor, or a value that does not fit, is UNROLL_DATA. */
unroll_status tensor_view_to_integers(const struct tensor_view *tensor, int32_t *to);

uint64_t tensor_view_count(const struct tensor_view *tensor);

bool dtype_is_whole(enum dtype dtype); /* integers and booleans */
/* Converts little-endian elements to doubles, which is exact for all types except 64-bit integers beyond 2^53. */
void doubles_of(enum dtype dtype, const void *from, double *to, size_t count);

/* Formats the shape as "[20, 3, 8]" for messages. Returns text. */
enum { SHAPE_TEXT = 176 };
const char *tensor_view_shape(const struct tensor_view *tensor, char text[SHAPE_TEXT]);
