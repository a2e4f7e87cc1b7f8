/* NVIDIA's run-time compiler (libnvrtc), which comes with the CUDA toolkit and with PyTorch: compiles C++ text to
 * machine code. Loaded at first use. Contains no kernel and no cache. */
#ifndef DEVICE_CUDA_NVRTC_H
#define DEVICE_CUDA_NVRTC_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* A header that the text includes under this name. */
struct nvrtc_header {
    const char *name, *text;
};

/* Returns false if the library is missing; else sets *version, 13000 for 13.0. */
bool nvrtc_find(int *version);

/* Compiles text for the architecture, "sm_90a". The caller releases the image. Returns UNROLL_UNSUPPORTED if it does
 * not compile; the message contains the log. */
unroll_status nvrtc_compile(const char *text, const struct nvrtc_header *headers, int count, const char *architecture,
                            void **image, size_t *size);

#endif
