/* Shared memory of blocks: filled with NaN, between inaccessible pages, and with guard bytes that must not change. */
#include "shim.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A region: an inaccessible page, SHARED arrays, the dynamic part at its end, another inaccessible page. */
enum { REGION = 288 << 10, PAGE = 64 << 10, STATIC_MAX = 48 << 10, POISON = 0xff, BETWEEN = 0xa5, GAP = 64 };

static std::vector<char *> free_regions, used_regions;

struct array {
    const void *key;
    size_t at, bytes;
};
enum { ARRAYS = 64 };
static array arrays[ARRAYS]; /* of the launch, at the same offsets in all blocks */
static size_t array_count, arrays_end;

/* A direct system call: ThreadSanitizer treats the C library's as a store to all of it. */
static char *pages(size_t bytes, int access)
{
    long p = syscall(SYS_mmap, NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (p == -1) {
        fprintf(stderr, "fake_cuda: no memory\n");
        abort();
    }
    return (char *)p;
}

void *memory_for_ever(size_t bytes)
{
    static char *at;
    static size_t left;
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > left) {
        left = bytes > 1 << 20 ? bytes : 1 << 20;
        at = pages(left, PROT_READ | PROT_WRITE);
    }
    at += bytes;
    left -= bytes;
    return at - bytes;
}

/* Not memset: ThreadSanitizer would attribute the store to the program. */
void fill(void *p, int byte, size_t bytes)
{
    volatile char *at = (volatile char *)p;
    volatile uint64_t *words = (volatile uint64_t *)p;
    size_t whole = (uintptr_t)p % 8 ? 0 : bytes / 8;
    for (size_t i = 0; i < whole; i++) words[i] = 0x0101010101010101 * (unsigned)byte;
    for (size_t i = whole * 8; i < bytes; i++) at[i] = (char)byte;
}

static char *region_new(void)
{
    char *p = pages(REGION + 2 * PAGE, PROT_NONE);
    mprotect(p + PAGE, REGION, PROT_READ | PROT_WRITE);
    return p + PAGE;
}

void block_memory_new(fake_block *b, size_t shared)
{
    if (free_regions.empty())
        free_regions.push_back(region_new());
    b->region = free_regions.back();
    free_regions.pop_back();
    used_regions.push_back(b->region);
    b->shared = b->region + REGION - (shared + 127) / 128 * 128;
    fill(b->shared, POISON, shared);
    fill(b->shared + shared, BETWEEN, (size_t)(b->region + REGION - b->shared) - shared);
    fill(b->shared - GAP, BETWEEN, GAP);
    fill(b->region, BETWEEN, arrays_end + GAP);
    for (size_t i = 0; i < array_count; i++) fill(b->region + arrays[i].at, POISON, arrays[i].bytes);
}

static void check_between(const char *from, const char *to, const char *where)
{
    for (const char *p = from; p < to; p++)
        if ((unsigned char)*p != BETWEEN)
            fake_fail("its block wrote %s shared memory (%td bytes beyond)", where,
                      strcmp(where, "before") ? p - from : to - p);
}

void block_memory_check(fake_block *b)
{
    if (b->region) {
        if (stores_under_way(b))
            fake_fail("its block ends while stores to its shared memory are under way; fix: wait for them");
        const char *end = b->shared + run.launch->shared;
        check_between(end, b->region + REGION, "after");
        check_between(b->shared - GAP, b->shared, "before");
        size_t at = 0;
        for (size_t i = 0; i < array_count; i++) {
            check_between(b->region + at, b->region + arrays[i].at, "after an array of");
            at = arrays[i].at + arrays[i].bytes;
        }
    }
}

/* Called when a block ends: other blocks of its cluster must not access its memory afterwards. */
void block_memory_end(fake_block *b)
{
    if (!b->region)
        return;
    if (b->cluster->blocks.size() > 1)
        mprotect(b->region, REGION, PROT_NONE);
    if (!under_tsan()) { /* with ThreadSanitizer, every block has other memory */
        if (b->cluster->blocks.size() == 1)
            free_regions.push_back(b->region), used_regions.pop_back();
    }
    b->region = NULL;
}

void memory_of_launch_end(void)
{
    for (char *region : used_regions) {
        mprotect(region, REGION, PROT_READ | PROT_WRITE);
        free_regions.push_back(region);
    }
    used_regions.clear();
    array_count = arrays_end = 0;
}

void *fake_dynamic_shared(void) { return current()->block->shared; }

/* Returns a SHARED array in the region of the current block; its first use reserves it in all blocks. */
void *fake_shared(const void *key, size_t bytes)
{
    fake_block *b = current()->block;
    for (size_t i = 0; i < array_count; i++)
        if (arrays[i].key == key)
            return b->region + arrays[i].at;
    array a = {key, (arrays_end + GAP + 127) / 128 * 128, bytes};
    if (a.at + bytes + GAP > STATIC_MAX || array_count == ARRAYS)
        fake_fail("its SHARED arrays are more than 48 KiB");
    for (fake_block &other : run.blocks)
        if (other.region) {
            fill(other.region + arrays_end, BETWEEN, a.at - arrays_end);
            fill(other.region + a.at, POISON, bytes);
            fill(other.region + a.at + bytes, BETWEEN, GAP);
        }
    arrays[array_count++] = a;
    arrays_end = a.at + bytes;
    return b->region + a.at;
}

/* ---- addresses --------------------------------------------------------------------------- */

static bool holds(const fake_block *b, uintptr_t at, size_t bytes)
{
    uintptr_t shared = (uintptr_t)b->shared, region = (uintptr_t)b->region;
    return b->region && ((at >= shared && at + bytes <= shared + run.launch->shared) ||
                         (at >= region && at + bytes <= region + arrays_end));
}

fake_block *block_of_shared(uintptr_t at, size_t bytes, const char *what)
{
    if (at % bytes)
        fake_fail("%s at %#zx is not aligned to %zu bytes", what, (size_t)at, bytes);
    for (fake_block *b : current()->block->cluster->blocks)
        if (holds(b, at, bytes))
            return b;
    fake_fail("%s at %#zx, %zu bytes, is in the shared memory of no block of the cluster that lives", what, (size_t)at,
              bytes);
}

void fake_check_shared(const void *p, size_t bytes, const char *what)
{
    if ((uintptr_t)p % bytes)
        fake_fail("%s at %p is not aligned to %zu bytes", what, p, bytes);
    if (!holds(current()->block, (uintptr_t)p, bytes))
        fake_fail("%s at %p, %zu bytes, is not in the block's shared memory", what, p, bytes);
}

uintptr_t fake_cluster_map(uintptr_t at, unsigned rank)
{
    fake_block *b = current()->block;
    auto &blocks = b->cluster->blocks;
    if (rank >= blocks.size())
        fake_fail("asks for block %u of a cluster of %zu", rank, blocks.size());
    if (!holds(b, at, 1))
        fake_fail("maps %#zx, which is not in the block's shared memory", (size_t)at);
    if (rank == b->rank)
        return at;
    if (!b->cluster->barrier.phase)
        fake_fail("reaches for another block's shared memory before a cluster_sync: it may not have begun");
    if (!blocks[rank]->region)
        fake_fail("reaches for the shared memory of block %u of the cluster, which has ended", rank);
    return at - (uintptr_t)b->region + (uintptr_t)blocks[rank]->region;
}
