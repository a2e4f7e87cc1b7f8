/* Processor features, the processors that this process may use, and the floating-point mode. Supports Linux on x86-64
 * and AArch64. Elsewhere the features are "scalar" and the mode is unchanged. */
#include "base/system/processor.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
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

#include "base/system/cgroup.h"
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
/* A leaf of CPUID; zeros if the processor does not have it. */
struct cpuid_leaf {
    unsigned a, b, c, d;
};

static struct cpuid_leaf cpuid(unsigned number, unsigned part)
{
    struct cpuid_leaf leaf = {0};
    __get_cpuid_count(number, part, &leaf.a, &leaf.b, &leaf.c, &leaf.d);
    return leaf;
}

/* Returns whether the system saves the state components `wanted`. Reads the registers instead of calling
 * __builtin_cpu_supports, whose table some linkers leave empty. */
static bool system_saves(unsigned wanted)
{
    enum { XGETBV_ENABLED = 1 << 27 };
    unsigned low, high;
    if (!(cpuid(1, 0).c & XGETBV_ENABLED))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & wanted) == wanted;
}

static bool has_avx2(void)
{
    enum { VECTORS = 1 << 1 | 1 << 2, FMA = 1 << 12, AVX2 = 1 << 5 };
    return system_saves(VECTORS) && (cpuid(1, 0).c & FMA) && (cpuid(7, 0).b & AVX2);
}

static bool has_avx512(void)
{
    const unsigned parts = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    enum { VECTORS = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 };
    return has_avx2() && system_saves(VECTORS) && (cpuid(7, 0).b & parts) == parts;
}

static bool has_vnni(void)
{
    enum { VNNI = 1 << 11 };
    return has_avx512() && (cpuid(7, 0).c & VNNI);
}

static bool has_bf16(void)
{
    enum { BF16 = 1 << 5 };
    return has_avx512() && (cpuid(7, 1).a & BF16);
}

/* AMX tiles for bf16 and bytes, and conversion to bf16. A process must request the tiles, 8 KB of state per thread; it
 * may do so repeatedly. */
static bool has_tiles(void)
{
    const unsigned parts = 1u << 22 | 1u << 24 | 1u << 25; /* bf16, tiles, bytes */
    enum { ASK_FOR_STATE = 0x1023, STATE_OF_TILES = 18 };
    return has_vnni() && has_bf16() && (cpuid(7, 0).d & parts) == parts &&
           syscall(SYS_arch_prctl, ASK_FOR_STATE, STATE_OF_TILES) == 0;
}
#else
static bool has_bf16(void) { return false; }
#endif

bool processor_has_bf16(void) { return isa_available(ISA_AVX512) && has_bf16(); }

static bool processor_has(enum isa isa)
{
    switch (isa) {
    case ISA_SCALAR: return true;
#if defined(__x86_64__)
    case ISA_AVX2: return has_avx2();
    case ISA_AVX512: return has_avx512();
    case ISA_AVX512_VNNI: return has_vnni();
    case ISA_AMX: return has_tiles();
#elif defined(__aarch64__) /* NEON is part of every AArch64 */
    case ISA_NEON: return true;
#endif
    default: return false;
    }
}

static unsigned available; /* one bit per instruction set */
static char unknown_limit[32];

static void find_available(void)
{
    enum isa limit = ISA_COUNT - 1;
    const char *given = getenv("UNROLL_ISA_LIMIT");
    if (given && *given && (!isa_parse(given, &limit) || !processor_has(limit)))
        snprintf(unknown_limit, sizeof unknown_limit, "%s", given);
    for (int isa = 0; isa <= (int)limit; isa++)
        if (processor_has((enum isa)isa))
            available |= 1u << isa;
}

bool isa_available(enum isa isa)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_available);
    return available >> isa & 1;
}

const char *isa_unknown_limit(void)
{
    (void)isa_available(ISA_SCALAR);
    return *unknown_limit ? unknown_limit : NULL;
}

enum isa isa_best(void)
{
    int isa = ISA_COUNT - 1;
    while (!isa_available((enum isa)isa)) isa--;
    return (enum isa)isa;
}

/* ---- how many ---- */

#ifdef CPU_ALLOC
/* The set may be larger than cpu_set_t: sched_getaffinity fails with EINVAL until the buffer is large enough. */
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
#else
static int processors_by_affinity(void) { return 1; }
#endif

/* Rounds down: a team waits for its slowest member, and a throttled one sleeps for the rest of the period (100 ms by
 * default). */
static int whole_processors(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return INT_MAX;
    return quota < period ? 1 : (int)(quota / period);
}

/* Returns 0 if the text is not a number ("max"). */
static int64_t microseconds(const char *text)
{
    int64_t number;
    return number_integer(&text, NULL, 0, INT64_MAX, &number) == NUMBER_OK ? number : 0;
}

/* Reads one group. Version 2 has "QUOTA PERIOD" or "max PERIOD" in one file, version 1 a file for each. */
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
