/* Data passed by a C program: rows through the public builder, and arrays as rows. */
#pragma once
#include "data/readers/reader_table.h"

struct own_arrays {
    const unroll_column *array;
    int count;
    const int64_t *lengths; /* [examples], or NULL: each example is a step */
    int64_t examples;
};

/* Copies a caller's arrays from any version of the headers; release them with release(). */
unroll_status own_arrays_take(const unroll_column *given, int count, unroll_column **arrays);
unroll_status own_arrays_check(const struct own_arrays *own);
unroll_status own_arrays_hand(void *own, struct builder *builder); /* a hand_rows of the struct */
