/* Persistent kernels compiled for one launch: tiling, strides, sizes and absent arrays are constants of the program
 * instead of arguments, which makes steps up to twice as fast. NVRTC compiles each once; the machine code is kept in
 * memory and on disk. Without NVRTC the built-in kernels, which read everything from their arguments, do the same. */
#ifndef DEVICE_CUDA_PERSISTENT_FIXED_H
#define DEVICE_CUDA_PERSISTENT_FIXED_H
#include "extensions/cuda/context.h"
#include "extensions/cuda/kernels/persistent_args.h"

/* Replaces `name` by that of the kernel for these arguments. Addresses, steps and origin may change from launch to
 * launch. UNROLL_CUDA_FIXED=0 in the environment keeps the name; with UNROLL_CUDA_FIXED=1 the function fails if
 * NVRTC is missing or does not compile the kernel. */
unroll_status persistent_fix(struct cuda_context *, const struct persistent_args *, const char *cell, enum gpu_operand,
                             bool backward, char *name, size_t size);

/* Returns the text of the kernel, which the caller frees, or NULL if there is no memory. */
char *persistent_fixed_text(const struct persistent_args *, const char *cell, enum gpu_operand, bool backward);

/* Returns the machine code, from disk or from NVRTC, for GPUs of that capability (90: sm_90a); the caller releases
 * it. UNROLL_UNSUPPORTED: NVRTC is missing or does not compile the text. */
unroll_status persistent_fixed_image(const char *text, int capability, void **image, size_t *size);

#endif
