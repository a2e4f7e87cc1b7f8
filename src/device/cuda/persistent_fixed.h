/* Persistent kernels compiled for one launch: tiling, strides, sizes and absent arrays are constants of the program,
 * not arguments, which makes steps up to twice as fast. NVRTC compiles them once; the machine code is kept in memory
 * and on disk. Without NVRTC the kernels of the build, which read all of it from their arguments, do the same. */
#ifndef DEVICE_CUDA_PERSISTENT_FIXED_H
#define DEVICE_CUDA_PERSISTENT_FIXED_H
#include "device/cuda/context.h"
#include "device/cuda/persistent_args.h"

/* In place of `name`, that of the kernel for these arguments, whose addresses, steps and origin may differ from launch
 * to launch. UNROLL_CUDA_FIXED=0 in the environment leaves the name as it is, UNROLL_CUDA_FIXED=1 fails where NVRTC is
 * missing or does not compile the kernel. */
unroll_status persistent_fix(struct cuda_context *, const struct persistent_args *, const char *cell, enum gpu_operand,
                             bool backward, char *name, size_t size);

/* The text of such a kernel; the caller frees it. NULL: no memory. */
char *persistent_fixed_text(const struct persistent_args *, const char *cell, enum gpu_operand, bool backward);

/* Its machine code, from disk or from NVRTC, for GPUs of that capability (90: sm_90a); the caller releases it.
 * UNROLL_UNSUPPORTED: there is no NVRTC, or it does not compile the text. */
unroll_status persistent_fixed_image(const char *text, int capability, void **image, size_t *size);

#endif
