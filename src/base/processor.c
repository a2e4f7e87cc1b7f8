/* Processor features, the processors allowed to this process, and the floating-point mode.
 * Linux on x86-64 and AArch64; elsewhere features are "scalar" and the mode is left alone. */
#include "base/processor.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <xmmintrin.h>
#endif

#include "base/cgroup.h"
#include "base/number.h"

static const char *const isa_names[ISA_COUNT] = {
#define ISA_TEXT(name, text) text,
    ISA_LIST(ISA_TEXT)
#undef ISA_TEXT
};

const char *isa_name(enum isa isa) { return isa_names[isa]; }

bool isa_parse(const char *name, enum isa *isa)
{
    for (int i = 0; i < ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i]) == 0) {
            *isa = (enum isa)i;
            return true;
        }
    }
    return false;
}

#if defined(__x86_64__)
bool processor_has_bf16(void)
{
    enum { NUMBERS_BF16 = 1 << 5 };
    unsigned a, b, c, d;
    return isa_available(ISA_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & NUMBERS_BF16);
}

/* Tiles of bf16 and of bytes, and numbers turned into bf16. A process has to ask the system for the tiles, which are
 * 8 KB of state for each thread; it may as often as it likes. */
static bool has_tiles(void)
{
    enum { TILES_BF16 = 1 << 22, TILES = 1 << 24, TILES_BYTES = 1 << 25, ASK_FOR_STATE = 0x1023, STATE_OF_TILES = 18 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & TILES_BF16) || !(d & TILES) || !(d & TILES_BYTES))
        return false;
    return processor_has_bf16() && syscall(SYS_arch_prctl, ASK_FOR_STATE, STATE_OF_TILES) == 0;
}
#else
bool processor_has_bf16(void) { return false; }
#endif

bool isa_available(enum isa isa)
{
    switch (isa) {
    case ISA_SCALAR: return true;
#if defined(__x86_64__) /* the built-in asks XGETBV, too: registers that the system saves */
    case ISA_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case ISA_AVX512_VNNI: return isa_available(ISA_AVX512) && __builtin_cpu_supports("avx512vnni");
    case ISA_AMX: return isa_available(ISA_AVX512_VNNI) && has_tiles();
#elif defined(__aarch64__) /* NEON is part of every AArch64 */
    case ISA_NEON: return true;
#endif
    default: return false;
    }
}

enum isa isa_best(void)
{
    int isa = ISA_COUNT - 1;
    while (!isa_available((enum isa)isa)) isa--;
    return (enum isa)isa;
}

/* ---- how many ---- */

/* The set may be larger than cpu_set_t: the kernel says EINVAL until it fits. */
static int processors_by_affinity(void)
{
    for (int possible = 1024; possible <= 1 << 20; possible *= 2) {
        size_t bytes = CPU_ALLOC_SIZE(possible);
        cpu_set_t *set = CPU_ALLOC(possible);
        int count = 0, refused = set == NULL || sched_getaffinity(0, bytes, set) != 0;
        bool too_small = set != NULL && refused && errno == EINVAL;

        if (!refused)
            count = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (!too_small)
            return count > 0 ? count : 1;
    }
    return 1;
}

/* Rounded down: a team waits for its slowest member, and one that is throttled sleeps for the rest of
 * the period (100 ms by default). */
static int whole_processors(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return INT_MAX;
    return quota < period ? 1 : (int)(quota / period);
}

/* 0: the text begins with no number of them ("max"). */
static int64_t microseconds(const char *text)
{
    int64_t number;
    return number_integer(&text, NULL, 0, INT64_MAX, &number) == NUMBER_OK ? number : 0;
}

/* One group: version 2 says "QUOTA PERIOD" or "max PERIOD" in one file, version 1 has a file for each. */
static int64_t quota_of_group(const char *directory)
{
    char line[64], period_line[64];
    const char *quota = line, *period = period_line;
    if (cgroup_read_line(directory, "cpu.max", line, sizeof line))
        period = line + strcspn(line, " ") + (strchr(line, ' ') != NULL);
    else if (!cgroup_read_line(directory, "cpu.cfs_quota_us", line, sizeof line) ||
             !cgroup_read_line(directory, "cpu.cfs_period_us", period_line, sizeof period_line))
        return INT_MAX;
    return whole_processors(microseconds(quota), microseconds(period));
}

int cpu_quota(const char *mount, const char *membership)
{
    int64_t limit = cgroup_limit(mount, membership, "cpu", quota_of_group);
    return limit < INT_MAX ? (int)limit : INT_MAX;
}

size_t cpu_cache_bytes(void)
{
    enum { GUESS = 1 << 20 };
    long bytes = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : GUESS;
}

int cpu_count(void)
{
    int allowed = processors_by_affinity();
    int quota = cpu_quota("/sys/fs/cgroup", "/proc/self/cgroup");
    return quota < allowed ? quota : allowed;
}

/* ---- floating-point mode ---- */

#if defined(__x86_64__)

uint64_t cpu_float_mode(void) { return _mm_getcsr(); }

void cpu_restore_float_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }

uint64_t cpu_flush_denormals(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 1u << 15 | 1u << 6); /* FTZ: results, DAZ: operands */
    return before;
}

#elif defined(__aarch64__)

uint64_t cpu_float_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

void cpu_restore_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }

uint64_t cpu_flush_denormals(void)
{
    uint64_t before = cpu_float_mode();
    cpu_restore_float_mode(before | 1u << 24); /* FZ: operands and results */
    return before;
}

#else

uint64_t cpu_float_mode(void) { return 0; }

void cpu_restore_float_mode(uint64_t mode) { (void)mode; }

uint64_t cpu_flush_denormals(void) { return 0; }

#endif
