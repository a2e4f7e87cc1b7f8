/* Data that a caller hands over from C: rows by the public names of the builder, and arrays as rows. */
#ifndef DATA_OWN_DATA_H
#define DATA_OWN_DATA_H
#include "data/reader_table.h"

struct own_arrays {
    const unroll_array *array;
    int count;
    const int64_t *lengths; /* [examples], or NULL: each of these is a step */
    int64_t examples;
};

/* Copies a caller's arrays, of any version of the headers; release() them. */
unroll_status own_arrays_take(const unroll_array *given, int count, unroll_array **arrays);
unroll_status own_arrays_check(const struct own_arrays *own);
unroll_status own_arrays_hand(void *own, struct builder *builder); /* a hand_rows of the struct */

#endif
