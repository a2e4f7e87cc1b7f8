/* NVIDIA's run-time compiler (libnvrtc), which CUDA's toolkit and PyTorch bring: C++ text to machine code. Opened when
 * it is first needed. Contains no kernel and no cache. */
#ifndef DEVICE_CUDA_NVRTC_H
#define DEVICE_CUDA_NVRTC_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* A header that the text includes, by that name. */
struct nvrtc_header {
    const char *name, *text;
};

/* Returns false if there is no library; its version otherwise, 13000 for 13.0. */
bool nvrtc_find(int *version);

/* Compiles text for the architecture, "sm_90a", to an image that the caller releases. UNROLL_UNSUPPORTED: it does not
 * compile; the log is in the message. */
unroll_status nvrtc_compile(const char *text, const struct nvrtc_header *headers, int count, const char *architecture,
                            void **image, size_t *size);

#endif
