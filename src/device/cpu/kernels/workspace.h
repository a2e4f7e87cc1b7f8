/* Scratch memory of a thread for kernels. Large arrays are not on the stack, which belongs to the caller and may have
 * only 256 KB. An executable allocates a workspace for each of its threads, a stream of many rows for its one. The
 * caller of kernels sets workspace_of_thread on each thread. Buffers passed between operations are placed by the
 * plan. */
#pragma once
#include "base/dtype.h"

/* Bytes for a product, and for a kernel that calls products, with floats; doubles need twice as much. */
enum { PRODUCT_WORKSPACE = 384 << 10, KERNEL_WORKSPACE = 7 << 18 };

/* Products of at most this number of rows, with weights in panels, need no workspace. */
enum { ROWS_WITHOUT_WORKSPACE = 4 };

static inline size_t workspace_bytes(enum dtype real)
{
    return PRODUCT_WORKSPACE + KERNEL_WORKSPACE / sizeof(float) * dtype_size(real);
}

extern _Thread_local char *workspace_of_thread __attribute__((visibility("hidden")));

/* Returns a part of the workspace as this type. Its size is checked at compile time. */
#define IN_WORKSPACE(type, first, bytes)                                                                          \
    ((type *)(void *)(workspace_of_thread + (first) +                                                             \
                      0 * sizeof(struct { char fits; _Static_assert(sizeof(type) <= (bytes), "too little scratch memory"); })))
#define PRODUCT_KEEPS(type) IN_WORKSPACE(type, 0, PRODUCT_WORKSPACE)
#define KERNEL_KEEPS(type)  IN_WORKSPACE(type, PRODUCT_WORKSPACE, KERNEL_WORKSPACE / sizeof(float) * sizeof(real))
