/* Names for NVIDIA's profilers: ranges of a thread, which a profiler shows above the launches inside them. Enabled
 * by UNROLL_NVTX=1 in the environment; needs no library except the profiler's. Independent of plans. */
#ifndef DEVICE_CUDA_NVTX_H
#define DEVICE_CUDA_NVTX_H
#include "extensions/gpu/gpu_driver.h"

/* NVTX 3's tables, modules of functions, and, in the first module, the functions that begin and end a range
 * (nvtxDetail/nvtxTypes.h; checked by tests/device/check_headers.sh). */
enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3, NVTX_INTERFACE = 3 };
enum { NVTX_CORE = 1, NVTX_CUDA, NVTX_OPENCL, NVTX_RUNTIME, NVTX_DOMAINS, NVTX_LOCKS, NVTX_MODULES };
enum {
    NVTX_CORE_SLOTS = 16,
    NVTX_CUDA_SLOTS = 9,
    NVTX_OPENCL_SLOTS = 15,
    NVTX_RUNTIME_SLOTS = 7,
    NVTX_DOMAIN_SLOTS = 16,
    NVTX_LOCK_SLOTS = 7
};
enum { NVTX_PUSH = 9, NVTX_POP = 11 };

struct nvtx_callbacks {
    size_t bytes;
    int (*find)(int module, void (****table)(void), unsigned *count);
};
struct nvtx_version {
    size_t bytes;
    uint32_t version, none;
    void (*set)(uint32_t of_profiler);
};

/* Sets *ranges, which stays NULL unless UNROLL_NVTX=1. Fails if no profiler listens. Runs once in a process;
 * thread-safe. */
unroll_status nvtx_ranges(const struct gpu_ranges **);

#endif
