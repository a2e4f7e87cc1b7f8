/* OpenCL devices: the executables of extensions/gpu with the driver in opencl_driver.c. */
#include "base/extension.h"
#include "extensions/gpu/gpu_executable.h"
#include "extensions/opencl/opencl_context.h"

static unroll_status opencl_store_new(const struct plan *plan, void **store)
{
    return gpu_store_new(&gpu_driver_opencl, plan, store);
}

static uint64_t opencl_memory_estimate(const struct plan *plan, int threads)
{
    (void)threads;
    return gpu_memory_estimate(&gpu_driver_opencl, plan);
}

const struct device device_opencl = {.name = "opencl",
                                     .precisions = 1 << PRECISION_FP32 | 1 << PRECISION_BF16,
                                     .whole_steps = true,
                                     .workers = 1,
                                     .about = opencl_describe,
                                     .store_new = opencl_store_new,
                                     .store_free = gpu_store_free,
                                     .executable_new = gpu_executable_new,
                                     .executable_free = gpu_executable_free,
                                     .run = gpu_run,
                                     .wait = gpu_wait,
                                     .host = gpu_host,
                                     .read = gpu_read,
                                     .write = gpu_write,
                                     .memory_estimate = opencl_memory_estimate,
                                     .bytes = gpu_bytes,
                                     .isa = gpu_isa,
                                     .threads = gpu_threads,
                                     .time = gpu_time};

const struct extension_row extension_opencl[] = {{"device", &device_opencl}, {NULL, NULL}};
