/* The kernels as nvcc made them: one image for each *.cu file, ended by one without data; none where the library was
 * built without them (CUDA=1). The Makefile writes the file that defines them. */
#ifndef DEVICE_CUDA_IMAGE_H
#define DEVICE_CUDA_IMAGE_H
#include <stdint.h>

struct cuda_image {
    const void *data;
    int64_t oldest; /* capability that it needs: 90 for kernels of clusters; older GPUs go without */
};
extern const struct cuda_image cuda_images[] __attribute__((visibility("hidden")));
/* 13000: of CUDA 13.0; 0: without nvcc */
extern const int cuda_images_toolkit __attribute__((visibility("hidden")));

#endif
