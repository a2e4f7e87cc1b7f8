/* The kernel images built by nvcc: one for each *.cu file, ended by an entry without data; empty if the library was
 * built without them (CUDA=1). The Makefile generates the file that defines them. */
#ifndef DEVICE_CUDA_IMAGE_H
#define DEVICE_CUDA_IMAGE_H
#include <stdint.h>

struct cuda_image {
    const void *data;
    int64_t oldest; /* required capability: 90 for kernels with clusters; older GPUs skip the image */
};
extern const struct cuda_image cuda_images[] __attribute__((visibility("hidden")));
/* 13000: CUDA 13.0; 0: built without nvcc */
extern const int cuda_images_toolkit __attribute__((visibility("hidden")));

#endif
