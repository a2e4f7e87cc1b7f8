/* The fake driver's memory: every allocation is between inaccessible pages, filled with NaN, inaccessible while no work
 * is done, and never reused once freed. Copies check both ends. */
#include "fake_driver.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct piece {
    uint64_t bytes, mapped;
    char *first;
    bool freed;
};
static std::map<uint64_t, piece> &device = *new std::map<uint64_t, piece>; /* by address */
static std::map<uint64_t, uint64_t> &pinned = *new std::map<uint64_t, uint64_t>;
static uint64_t taken;
static int mapped; /* pieces of pinned memory that kernels write; they may stay until the process ends */

enum { LARGE = 2 << 20, SMALL = 1 << 20, BEHIND = 0xa5, POISON = 0xff };
static const uint64_t POISON_MAX = 1 << 30;

static const piece *piece_of(uint64_t at, uint64_t *first)
{
    auto after = device.upper_bound(at);
    if (after == device.begin())
        return NULL;
    --after;
    *first = after->first;
    return at < after->first + after->second.mapped ? &after->second : NULL;
}

const char *fake_check_device(uint64_t at, uint64_t bytes)
{
    static char text[200];
    uint64_t first = 0;
    const piece *p = piece_of(at, &first);
    if (p && !p->freed && at + bytes <= first + p->bytes)
        return NULL;
    snprintf(text, sizeof text, "%#zx, %zu bytes, is %s", (size_t)at, (size_t)bytes,
             !p         ? "not in device memory"
             : p->freed ? "in device memory that was freed"
                        : "beyond the end of its memory");
    return text;
}

bool fake_is_pinned(const void *at, uint64_t bytes)
{
    auto after = pinned.upper_bound((uint64_t)at);
    if (after == pinned.begin())
        return false;
    --after;
    return (uint64_t)at + bytes <= after->first + after->second;
}

/* True if the process has mapped the page of that address. */
static bool is_mapped(uint64_t at)
{
    unsigned char in;
    return mincore((void *)(at & ~(uint64_t)0xfff), 1, &in) == 0;
}

/* A 64-bit word may be two 32-bit values, or one and padding with half of an old address from the stack. A word counts
 * as a host pointer if it is a mapped address in the upper part of the address space and its lower half is not
 * small. */
const char *fake_check_pointers(const void *args, size_t bytes)
{
    static char text[200];
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word, first = 0;
        memcpy(&word, (const char *)args + i, 8);
        if (word < (uint64_t)0x5500 << 32 || word >> 47 || (uint32_t)word < SMALL)
            continue;
        const piece *p = piece_of(word, &first);
        if (p ? !p->freed : fake_is_pinned((const void *)word, 1) || !is_mapped(word))
            continue;
        snprintf(text, sizeof text, "(at byte %zu) is %#zx, which is %s", i, (size_t)word,
                 p ? "in device memory that was freed" : "an address of the host");
        return text;
    }
    return NULL;
}

void fake_memory_open(bool open)
{
    for (auto &d : device)
        if (!d.second.freed)
            mprotect(d.second.first, d.second.mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* ---- pieces ------------------------------------------------------------------------------- */

cu_result cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CALL();
    *total = (size_t)fake_setting("MEMORY", 143771LL << 20);
    *available = *total > taken ? *total - taken : 0;
    return 0;
}

/* Large allocations have large pages, because their access rights change with all work. */
static char *pages(uint64_t bytes, uint64_t page)
{
    long map =
        syscall(SYS_mmap, NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (map == -1)
        return NULL;
    char *first = (char *)(((uint64_t)map + page) & ~(page - 1)); /* at least a page on both sides */
    if (page > 4096)
        madvise(first, bytes, MADV_HUGEPAGE);
    return first;
}

/* Allocations end at the end of a page and, like real ones, begin at a multiple of 256. */
cu_result cuMemAlloc_v2(cu_ptr *at, size_t bytes)
{
    CALL();
    if (!bytes)
        return fake_misuse(CU_INVALID_VALUE, __func__, "0 bytes");
    if (taken + bytes > (uint64_t)fake_setting("MEMORY", 143771LL << 20))
        return CU_OUT_OF_MEMORY;
    uint64_t room = (bytes + 255) / 256 * 256, page = room > LARGE / 2 ? LARGE : 4096;
    uint64_t mapped = (room + page - 1) / page * page;
    char *first = pages(mapped, page), *p = first + mapped - room;
    if (!first)
        return CU_OUT_OF_MEMORY;
    mprotect(first, mapped, PROT_READ | PROT_WRITE);
    if (bytes <= POISON_MAX)
        memset(p, POISON, bytes);
    memset(p + bytes, BEHIND, room - bytes);
    mprotect(first, mapped, PROT_NONE);
    device[(uint64_t)p] = {bytes, mapped, first, false};
    taken += bytes;
    *at = (uint64_t)p;
    return 0;
}

static bool written_behind(uint64_t at, const piece &p)
{
    const char *end = (const char *)(at + p.bytes), *max = (const char *)(at + (p.bytes + 255) / 256 * 256);
    for (; end < max; end++)
        if ((unsigned char)*end != BEHIND)
            return true;
    return false;
}

/* Frees device memory after all work; reports writes beyond its end. */
cu_result cuMemFree_v2(cu_ptr at)
{
    CALL();
    cu_result result = fake_finish_all(); /* waits for the device */
    if (result)
        return result;
    auto d = device.find(at);
    if (d == device.end() || d->second.freed)
        return fake_misuse(CU_INVALID_VALUE, __func__, "%#zx is no piece of device memory", (size_t)at);
    fake_memory_open(true);
    bool beyond = written_behind(at, d->second);
    fake_memory_open(false);
    madvise(d->second.first, d->second.mapped, MADV_DONTNEED);
    d->second.freed = true;
    taken -= d->second.bytes;
    return beyond ? fake_misuse(CU_ILLEGAL_ADDRESS, __func__, "a kernel wrote past the end of a piece of %zu bytes",
                                (size_t)d->second.bytes)
                  : 0;
}

cu_result cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    CALL();
    if (!bytes || flags & ~(unsigned)CU_HOST_MAPPED)
        return fake_misuse(CU_INVALID_VALUE, __func__, "%zu bytes, flags %#x", bytes, flags);
    if (posix_memalign(at, 4096, bytes))
        return CU_OUT_OF_MEMORY;
    memset(*at, POISON, bytes);
    pinned[(uint64_t)*at] = bytes;
    mapped += (flags & CU_HOST_MAPPED) != 0;
    return 0;
}

cu_result cuMemFreeHost(void *at)
{
    CALL();
    cu_result result = fake_finish_all();
    if (result)
        return result;
    if (!pinned.erase((uint64_t)at))
        return fake_misuse(CU_INVALID_VALUE, __func__, "%p is no piece of pinned memory", at);
    free(at);
    return 0;
}

void fake_memory_report(void)
{
    for (auto &d : device) fake_count("pieces of device memory not freed", !d.second.freed);
    fake_count("pieces of pinned memory not freed", (int)pinned.size() - mapped);
}

/* ---- copies ------------------------------------------------------------------------------- */

static cu_result check_host(const char *function, const void *at)
{
    uint64_t first;
    if (piece_of((uint64_t)at, &first))
        return fake_misuse(CU_INVALID_VALUE, function, "%p, the host's end, is in device memory", at);
    return 0;
}

static const char *copy_checked(void *to, const void *from, uint64_t bytes, uint64_t on_device)
{
    const char *wrong = fake_check_device(on_device, bytes);
    if (!wrong)
        memcpy(to, from, bytes);
    return wrong;
}

cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes, cu_stream stream)
{
    CALL();
    const char *wrong = fake_check_device(to, bytes);
    if (wrong || check_host(__func__, from))
        return fake_misuse(CU_INVALID_VALUE, __func__, "%s", wrong ? wrong : "the host's end");
    if (fake_is_pinned(from, bytes))
        return fake_submit(stream, __func__, [=] { return copy_checked((void *)to, from, bytes, to); });
    if (fake_capturing(stream))
        return fake_misuse(CU_INVALID_VALUE, __func__, "captures a copy from memory that is not pinned");
    std::string staged((const char *)from, bytes); /* the caller may reuse the buffer immediately */
    return fake_submit(stream, __func__, [=] { return copy_checked((void *)to, staged.data(), bytes, to); });
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes, cu_stream stream)
{
    CALL();
    const char *wrong = fake_check_device(from, bytes);
    if (wrong || check_host(__func__, to))
        return fake_misuse(CU_INVALID_VALUE, __func__, "%s", wrong ? wrong : "the host's end");
    bool is_pinned = fake_is_pinned(to, bytes);
    if (!is_pinned && fake_capturing(stream))
        return fake_misuse(CU_INVALID_VALUE, __func__, "captures a copy to memory that is not pinned");
    cu_result result = fake_submit(stream, __func__, [=] { return copy_checked(to, (const void *)from, bytes, from); });
    return result || is_pinned ? result : cuStreamSynchronize(stream); /* as a real driver does */
}

cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream)
{
    CALL();
    const char *wrong = fake_check_device(from, bytes);
    if (!wrong)
        wrong = fake_check_device(to, bytes);
    if (!wrong && from < to + bytes && to < from + bytes)
        wrong = "both ends overlap";
    if (wrong)
        return fake_misuse(CU_INVALID_VALUE, __func__, "%s", wrong);
    return fake_submit(stream, __func__, [=] { return copy_checked((void *)to, (const void *)from, bytes, to); });
}

cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count, cu_stream stream)
{
    CALL();
    const char *wrong = fake_check_device(to, count);
    if (wrong)
        return fake_misuse(CU_INVALID_VALUE, __func__, "%s", wrong);
    return fake_submit(stream, __func__, [=] {
        const char *later = fake_check_device(to, count);
        if (!later)
            memset((void *)to, value, count);
        return later;
    });
}
