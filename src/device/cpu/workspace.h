/* Memory of a thread for what kernels keep while they run. No large array lies on the stack: that is the caller's, and
 * may have 256 KB. An executable has such memory for each of its threads, a stream of many rows for its one; whoever
 * calls kernels says on each thread where it lies. What operations hand to each other lies elsewhere: the plan places
 * it. */
#ifndef DEVICE_CPU_WORKSPACE_H
#define DEVICE_CPU_WORKSPACE_H
#include "base/dtype.h"

/* Bytes for a product, and for a kernel, which calls products: of floats, of doubles twice as much. */
enum { PRODUCT_WORKSPACE = 384 << 10, KERNEL_WORKSPACE = 7 << 18 };

/* Products of at most so many rows, with weights in panels, keep nothing: they need no workspace. */
enum { ROWS_WITHOUT_WORKSPACE = 4 };

static inline size_t workspace_bytes(enum dtype real)
{
    return PRODUCT_WORKSPACE + KERNEL_WORKSPACE / sizeof(float) * dtype_size(real);
}

extern _Thread_local char *workspace_of_thread __attribute__((visibility("hidden")));

/* A part of it as one of this type. That it is large enough is known when this is compiled. */
#define IN_WORKSPACE(type, first, bytes)                                                                          \
    ((type *)(void *)(workspace_of_thread + (first) +                                                             \
                      0 * sizeof(struct { char fits; _Static_assert(sizeof(type) <= (bytes), "no room"); })))
#define PRODUCT_KEEPS(type) IN_WORKSPACE(type, 0, PRODUCT_WORKSPACE)
#define KERNEL_KEEPS(type)  IN_WORKSPACE(type, PRODUCT_WORKSPACE, KERNEL_WORKSPACE / sizeof(float) * sizeof(real))

#endif
