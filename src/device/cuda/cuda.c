/* A GPU as a device: instances of instance.h behind the functions of device.h. */
#include "device/cuda/instance.h"

static uint64_t cuda_forecast(const struct plan *plan, int threads)
{
    (void)threads;
    struct cuda_layout layout;
    cuda_lay_out(plan, &layout);
    return layout.total + layout.host;
}

static uint64_t cuda_bytes(const void *instance)
{
    const struct cuda_layout *l = &((const struct cuda_instance *)instance)->layout;
    return l->total + l->host;
}

static const char *cuda_isa(const void *instance) { return ((const struct cuda_instance *)instance)->isa; }
static int cuda_threads(const void *instance)     { (void)instance; return 1; }

const struct device device_cuda = {
    .name = "cuda",                         .packed = false,
    .precisions = 1 << PRECISION_FP32 | 1 << PRECISION_TF32 | 1 << PRECISION_BF16 | 1 << PRECISION_FP16,
    .whole_steps = true,                    .workers = 1 << 20,
    .meets = true,                          .join = cuda_join,
    .about = cuda_describe,
    .store_new = cuda_store_new,            .store_free = cuda_store_free,
    .instance_new = cuda_instance_new,      .instance_free = cuda_instance_free,
    .run = cuda_run,                        .wait = cuda_wait,
    .host = cuda_host,
    .read = cuda_read,                      .write = cuda_write,
    .forecast = cuda_forecast,              .bytes = cuda_bytes,
    .isa = cuda_isa,                        .threads = cuda_threads,
    .explain = cuda_explain,                .time = cuda_time,
};
