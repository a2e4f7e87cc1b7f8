/* Reads arrays of numbers from binary files in streaming order; shared by the readers of NumPy files and IDX. io/npy.h
 * reads arrays into memory. */
#pragma once
#include "io/input.h"
#include "io/tensor_view.h"

enum {
    ARRAY_RANK = 8,
    ARRAY_ELEMENT = 4 * 4096,     /* maximum bytes of an element */
    ARRAY_TEXT = 64,              /* bytes of an element as text */
    MAX_EXAMPLE_NUMBERS = 1 << 28 /* of one example, which is kept in memory */
};

struct array {
    enum dtype dtype; /* of numbers */
    int character;    /* bytes of a character of texts; 0: numbers */
    int bytes;        /* of an element */
    bool big_endian;
    int rank;
    uint64_t shape[ARRAY_RANK];
};

static inline bool array_is_text(const struct array *a) { return a->character > 0; }
static inline bool array_is_whole(const struct array *a) { return !array_is_text(a) && dtype_is_whole(a->dtype); }

/* Reads the header of an .npy. Other elements and arrays in Fortran order are refused. */
unroll_status array_npy_header(struct input *input, struct array *array);

/* Reads exactly `bytes` bytes; a shorter input is refused. */
unroll_status array_bytes(struct input *input, void *to, size_t bytes);

/* Counts the elements of the axes from `axis` on; zero elements, or more than `max`, are refused. */
unroll_status array_count(const struct input *input, const struct array *array, int axis, uint64_t max,
                          uint64_t *count);

/* Reads the next elements, which are numbers. */
unroll_status array_floats(struct input *input, const struct array *array, float *to, size_t count);

/* Checks that no bytes follow the last element. */
unroll_status array_end(struct input *input);

/* Reads all elements without conversion; release *data with release(). Memory grows with the bytes that are read, not
 * with the size in the header. */
unroll_status array_whole(struct input *input, const struct array *array, unsigned char **data);

/* array_number returns an element of array_whole as a number; array_text writes it as text, "7" or "cat", and returns
 * the length. */
double array_number(const struct array *array, const unsigned char *at);
size_t array_text(const struct array *array, const unsigned char *at, char text[ARRAY_TEXT]);
