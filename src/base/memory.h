/* Memory for arrays: zeroed, aligned for every vector width, with counts that tests can read.
 * A test proves with them that a training step allocates nothing, and makes any allocation fail.
 * Not an arena: the plan places its buffers inside one such block. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { MEMORY_ALIGNMENT = 64 }; /* bytes: a cache line and an AVX-512 register */

/* count * size zero bytes, aligned to MEMORY_ALIGNMENT. NULL when there is no memory or the product
 * overflows, and only then: an empty array has an address too. Large ones, from 2 MB on, ask the system for large
 * pages, which take no memory until somebody touches them. */
void *allocate_zeroed(size_t count, size_t size);

/* So many bytes that hold anything, aligned alike; pages of them that nobody touches take no memory. */
void *allocate(size_t bytes);

/* A status: `array` gets `count` zeroed elements, or there is no memory "for the weights of '%s'", or "to ..". */
#define ALLOCATE(array, count, ...)                                                                                    \
    (((array) = allocate_zeroed((count), sizeof *(array))) ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory " __VA_ARGS__))

/* *array, a pointer, becomes one to so many bytes, zeroed behind the `used` that it has. False: no memory, all stays.
 */
bool enlarge(void *array, size_t used, size_t bytes);

/* Gives back what the others gave; NULL is allowed. */
void release(void *memory);

/* Since the program began, over all threads: successful allocations, and those not yet released. */
uint64_t memory_allocations(void);
uint64_t memory_live(void);

/* For tests: after n further successes every allocation fails; n < 0 ends that. */
void memory_fail_after(int64_t n);

#endif
