/* What this machine's processors can do, how many of them we may use, and how they round tiny numbers.
 * Not a kernel table: devices choose their kernels by `enum isa`. */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets that kernels are written for, each better than those before it. */
#define ISA_LIST(X) X(SCALAR, "scalar") X(AVX2, "avx2") X(AVX512, "avx512") \
    X(AVX512_VNNI, "avx512_vnni") X(AMX, "amx") X(NEON, "neon")

enum isa {
#define ISA_ENUMERATOR(name, text) ISA_##name,
    ISA_LIST(ISA_ENUMERATOR)
#undef ISA_ENUMERATOR
        ISA_COUNT
};

const char *isa_name(enum isa isa);
bool isa_parse(const char *name, enum isa *isa); /* false, *isa untouched: no such name */
bool isa_available(enum isa isa);                /* the processor has it and the system saves its state */
enum isa isa_best(void);
bool processor_has_bf16(void); /* AVX-512 whose sums of two products multiply bf16 (AVX512_BF16) */

/* Processors that this process may keep busy: its affinity, and the quota of its control groups.
 * At least 1. */
int cpu_count(void);

/* The quota alone, whole processors, INT_MAX without one. `mount` is where control groups are mounted
 * (/sys/fs/cgroup), `membership` the list of this process's groups (/proc/self/cgroup). */
int cpu_quota(const char *mount, const char *membership);

/* Bytes of the largest cache that a processor has for itself; a guess where the system does not say. */
size_t cpu_cache_bytes(void);

/* Treat subnormal operands and results of this thread as 0: they cost about a hundred cycles each. Returns the
 * floating-point mode that was, to give a caller's thread back as it was. */
uint64_t cpu_flush_denormals(void);
uint64_t cpu_float_mode(void);
void cpu_restore_float_mode(uint64_t mode);

/* For loops that look at memory until another thread changes it. */
static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
