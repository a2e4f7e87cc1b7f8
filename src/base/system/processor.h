/* Features of this machine's processors, how many of them the process may use, and their handling of denormals. Devices
 * choose their kernels by `enum isa`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets with kernels, in increasing order of preference. */
#define ISA_LIST(X) X(SCALAR, "scalar") X(AVX2, "avx2") X(AVX512, "avx512") \
    X(AVX512_VNNI, "avx512_vnni") X(AMX, "amx") X(NEON, "neon")

enum isa {
#define ISA_ENUMERATOR(name, text) ISA_##name,
    ISA_LIST(ISA_ENUMERATOR)
#undef ISA_ENUMERATOR
        ISA_COUNT
};

const char *isa_name(enum isa isa);
bool isa_parse(const char *name, enum isa *isa); /* returns false for an unknown name and leaves *isa unchanged */

/* Returns whether the processor has it, the system saves its state, and UNROLL_ISA_LIMIT in the environment, read once,
 * does not limit this process to lesser ones. */
bool isa_available(enum isa isa);
const char *
isa_unknown_limit(void); /* UNROLL_ISA_LIMIT if this machine has no instruction set of that name, otherwise NULL */
enum isa isa_best(void);
bool processor_has_bf16(void); /* has AVX512_BF16, which multiplies bf16 and adds pairs of products */

/* Returns the number of processors that this process may use, at least 1: its affinity, limited by the quota of its
 * control groups. */
int cpu_count(void);

/* Returns the quota alone, in whole processors; INT_MAX: none. `mount` is the mount point of control groups
 * (/sys/fs/cgroup), `membership` the list of this process's groups (/proc/self/cgroup). */
int cpu_quota(const char *mount, const char *membership);

/* Bytes of the largest cache private to a processor; a guess if the system does not report it. */
size_t cpu_cache_bytes(void);

/* Treats denormal operands and results of this thread as 0; they cost about a hundred cycles each. Returns the previous
 * floating-point mode, so that the caller can restore it. */
uint64_t cpu_flush_denormals(void);
uint64_t cpu_float_mode(void);
void cpu_restore_float_mode(uint64_t mode);

/* For loops that poll memory until another thread changes it. */
static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
