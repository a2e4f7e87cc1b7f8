/* CUDA GPUs as a device: the executables of extensions/gpu with the driver in cuda_driver.c. */
#include "base/extension.h"
#include "extensions/cuda/context.h"
#include "extensions/cuda/explain.h"
#include "extensions/gpu/gpu_executable.h"

static unroll_status cuda_store_new(const struct plan *plan, void **store)
{
    return gpu_store_new(&gpu_driver_cuda, plan, store);
}

static uint64_t cuda_memory_estimate(const struct plan *plan, int threads)
{
    (void)threads;
    return gpu_memory_estimate(&gpu_driver_cuda, plan);
}

static struct device_traits traits_of(const char *isa)
{
    (void)isa;
    return (struct device_traits){.rendezvous = true};
}

const struct device device_cuda = {.name = "cuda",
                                   .traits = traits_of,
                                   .precisions = 1 << PRECISION_FP32 | 1 << PRECISION_TF32 | 1 << PRECISION_BF16 |
                                                 1 << PRECISION_FP16,
                                   .whole_steps = true,
                                   .workers = 1 << 20,
                                   .join = gpu_join,
                                   .about = cuda_describe,
                                   .store_new = cuda_store_new,
                                   .store_free = gpu_store_free,
                                   .executable_new = gpu_executable_new,
                                   .executable_free = gpu_executable_free,
                                   .run = gpu_run,
                                   .wait = gpu_wait,
                                   .host = gpu_host,
                                   .read = gpu_read,
                                   .write = gpu_write,
                                   .memory_estimate = cuda_memory_estimate,
                                   .bytes = gpu_bytes,
                                   .isa = gpu_isa,
                                   .threads = gpu_threads,
                                   .explain = cuda_explain,
                                   .time = gpu_time,
                                   .span = gpu_span};

const struct extension_row extension_cuda[] = {{"device", &device_cuda}, {NULL, NULL}};
