/* Aligned, zeroed memory on top of posix_memalign, and three counters. Pages of large arrays are first touched by their
 * users, so that on a NUMA machine each is placed on its user's node. The counters are atomic because teams allocate
 * too. They order nothing, so relaxed is enough. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sized.h"

/* Bytes of a large page on x86 and most ARM systems. */
enum { LARGE_PAGE = 2 << 20 };

static atomic_uint_fast64_t allocations, releases;
static atomic_int_fast64_t successes_left = -1; /* negative: no limit */

static bool refused_by_test(void)
{
    int_fast64_t left = atomic_load_explicit(&successes_left, memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(&successes_left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return false;
    }
    return left == 0;
}

/* Requests large pages for large arrays. Otherwise rows 4 KB apart are on different pages, and TLB misses cost 2% to 4%
 * of a training step. Systems without large pages ignore the request. */
static void *allocate_aligned(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, bytes < LARGE_PAGE ? MEMORY_ALIGNMENT : LARGE_PAGE, bytes) != 0)
        return NULL;
    if (bytes < LARGE_PAGE)
        return memory;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* Large arrays share no page with others. Wraps around on overflow. */
static size_t round_up(size_t bytes)
{
    const size_t step = bytes < LARGE_PAGE ? MEMORY_ALIGNMENT : (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + step - 1) & ~(step - 1);
}

void *allocate(size_t bytes)
{
    if (round_up(bytes) < bytes || refused_by_test())
        return NULL;
    void *memory = allocate_aligned(bytes ? round_up(bytes) : MEMORY_ALIGNMENT);
    if (memory != NULL)
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return memory;
}

/* On Linux, pages that were given back read as zeros when they are touched. Locked pages cannot be given back. */
static void *zero(void *memory, size_t bytes)
{
#ifdef __linux__
    if (bytes >= LARGE_PAGE && madvise(memory, bytes, MADV_DONTNEED) == 0)
        return memory;
#endif
    return memset(memory, 0, bytes);
}

void *allocate_zeroed(size_t count, size_t size)
{
    size_t bytes;
    void *memory = __builtin_mul_overflow(count, size, &bytes) ? NULL : allocate(bytes);
    return memory != NULL ? zero(memory, round_up(bytes)) : NULL;
}

bool enlarge(void *array, size_t used, size_t bytes)
{
    char *before, *made = allocate_zeroed(bytes, 1);
    if (made == NULL)
        return false;
    memcpy(&before, array, sizeof before);
    if (used)
        memcpy(made, before, used);
    release(before);
    memcpy(array, &made, sizeof made);
    return true;
}

bool extend(void *array, size_t bytes)
{
    char *before, *made;
    memcpy(&before, array, sizeof before);
    if (before == NULL)
        made = allocate(bytes);
    else
        made = round_up(bytes) < bytes || refused_by_test() ? NULL : realloc(before, round_up(bytes));
    if (made)
        memcpy(array, &made, sizeof made);
    return made != NULL;
}

void release(void *memory)
{
    if (memory == NULL)
        return;
    free(memory);
    atomic_fetch_add_explicit(&releases, 1, memory_order_relaxed);
}

unroll_status allocator_take(const unroll_allocator *given, unroll_allocator *to)
{
    *to = (unroll_allocator){.size = sizeof *to};
    if (!given)
        return UNROLL_OK;
    TRY(sized_take(SIZED_RESULT(unroll_allocator), given, to));
    if (!to->allocate || !to->release)
        return fail(UNROLL_USAGE, "an allocator has no `%s`; fix: set both of its functions",
                    to->allocate ? "release" : "allocate");
    return UNROLL_OK;
}

void *allocate_with(const unroll_allocator *allocator, size_t bytes)
{
    if (!allocator || !allocator->allocate)
        return allocate_zeroed(bytes, 1);
    void *memory = allocator->allocate(allocator->arg, bytes ? bytes : 1, MEMORY_ALIGNMENT);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void release_with(const unroll_allocator *allocator, void *memory, size_t bytes)
{
    if (!allocator || !allocator->allocate)
        release(memory);
    else if (memory)
        allocator->release(allocator->arg, memory, bytes ? bytes : 1);
}

uint64_t memory_allocations(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

uint64_t memory_live(void) { return memory_allocations() - atomic_load_explicit(&releases, memory_order_relaxed); }

void memory_fail_after(int64_t n) { atomic_store_explicit(&successes_left, n, memory_order_relaxed); }
