/* The kernels as nvcc made them: one image for each *.cu file, ended by NULL; none where the library was built
 * without nvcc. The Makefile writes the file that defines them. */
#ifndef DEVICE_CUDA_IMAGE_H
#define DEVICE_CUDA_IMAGE_H

extern const void *const cuda_images[] __attribute__((visibility("hidden")));
extern const int cuda_images_toolkit __attribute__((visibility("hidden")));     /* 13000: of CUDA 13.0; 0: without nvcc */

#endif
