/* Counts all memory requests of the process by replacing the C library's functions. Included by one file of a program.
 * With a sanitizer, which replaces them itself, it counts nothing and prints so. */
#ifndef PLAN_ALLOCATIONS_H
#define PLAN_ALLOCATIONS_H
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_size_t requests, requested_bytes __attribute__((unused));

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { COUNTS_ALLOCATIONS = 1 };

#define STANDS_IN __attribute__((visibility("default")))

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
STANDS_IN void *malloc(size_t);
STANDS_IN void *calloc(size_t, size_t);
STANDS_IN void *realloc(void *, size_t);
STANDS_IN void *aligned_alloc(size_t, size_t);
STANDS_IN int posix_memalign(void **, size_t, size_t);

static void count_request(size_t bytes)
{
    atomic_fetch_add(&requests, 1);
    atomic_fetch_add(&requested_bytes, bytes);
}

void *malloc(size_t bytes)
{
    count_request(bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    count_request(count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t bytes)
{
    count_request(bytes);
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_request(bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    count_request(bytes);
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}
#else
enum { COUNTS_ALLOCATIONS = 0 };
#endif

#endif
