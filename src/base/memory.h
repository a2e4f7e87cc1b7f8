/* Zeroed arrays, aligned for every vector width, with counters for tests. The tests check with them that a training
 * step allocates nothing, and make each allocation fail. The plan places its buffers inside one block. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { MEMORY_ALIGNMENT = 64 }; /* bytes: a cache line and an AVX-512 register */

/* Returns count * size zero bytes, aligned to MEMORY_ALIGNMENT; an empty array has an address too. Returns NULL only if
 * memory is exhausted or the product overflows. From 2 MB on, large pages are requested; untouched pages use no
 * memory. */
void *allocate_zeroed(size_t count, size_t size);

/* Returns uninitialized memory with the same alignment. Its untouched pages use no memory. */
void *allocate(size_t bytes);

/* Allocates `count` zeroed elements for `array` and returns a status. The rest completes the message "no memory
 * ...". */
#define ALLOCATE(array, count, ...)                                                                                    \
    (((array) = allocate_zeroed((count), sizeof *(array))) ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory " __VA_ARGS__))

/* Reallocates *array, a pointer, to `bytes` bytes. Keeps the first `used` bytes and zeroes the rest. If memory is
 * exhausted, returns false and changes nothing. */
bool enlarge(void *array, size_t used, size_t bytes);
/* Reallocates *array without zeroing what is new. If memory is exhausted, returns false and changes nothing. */
bool extend(void *array, size_t bytes);

/* Copies a caller's allocator; NULL: one without functions. */
unroll_status allocator_take(const unroll_allocator *given, unroll_allocator *to);
/* `bytes` zeroed bytes from the caller's allocator, or from here if it is NULL or has no function; NULL: no memory. */
void *allocate_with(const unroll_allocator *allocator, size_t bytes);
void release_with(const unroll_allocator *allocator, void *memory, size_t bytes);

/* Frees memory of these functions; NULL is allowed. */
void release(void *memory);

/* Successful allocations in all threads since the start, and those not yet released. */
uint64_t memory_allocations(void);
uint64_t memory_live(void);

/* For tests: after n more successes every allocation fails; n < 0 removes the limit. */
void memory_fail_after(int64_t n);
