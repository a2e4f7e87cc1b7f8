/* A named array as it lies in a file: element type, shape, bytes. All formats of arrays give and take it.
 * Not an owner: the bytes belong to the file that was opened, or to the caller. */
#ifndef FILE_TENSOR_VIEW_H
#define FILE_TENSOR_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { TENSOR_LARGEST_RANK = 8 };

struct tensor_view {
    const char *name;
    enum dtype dtype;
    int rank;                            /* 0: a scalar, one element */
    uint64_t shape[TENSOR_LARGEST_RANK]; /* [rank], row by row in memory */
    const void *data;                    /* little-endian; may be unaligned: memcpy the elements out */
    uint64_t bytes;                      /* product of shape times the size of dtype; 0 is allowed */
};

/* product of shape * size of dtype; false where it overflows or an extent exceeds INT64_MAX. */
bool tensor_view_bytes(const struct tensor_view *tensor, uint64_t *bytes);

/* All elements as floats, rounded to nearest where a float can't hold them. A finite number that is too
 * large for a float is an error (UNROLL_DATA) that names the tensor; NaN and infinities are kept. */
unroll_status tensor_view_to_floats(const struct tensor_view *tensor, float *to);

/* All elements of a tensor of integers; a tensor of floats and a number that does not fit are UNROLL_DATA. */
unroll_status tensor_view_to_integers(const struct tensor_view *tensor, int32_t *to);

uint64_t tensor_view_count(const struct tensor_view *tensor);

/* "[20, 3, 8]" into text, which is returned: for messages. */
enum { SHAPE_TEXT = 176 };
const char *tensor_view_shape(const struct tensor_view *tensor, char text[SHAPE_TEXT]);

#endif
