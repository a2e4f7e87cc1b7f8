/* The driver's products (struct gpu_driver), through cuBLASLt. */
#ifndef DEVICE_CUDA_PRODUCT_H
#define DEVICE_CUDA_PRODUCT_H
#include "extensions/cuda/context.h"

enum { CUBLASLT_WORKSPACE = 32 << 20 }; /* bytes for each stream: NVIDIA's recommendation for sm_90 */
enum { CUBLASLT_BIAS_ALIGNMENT = 16 };  /* required by its kernels; its preferences cover only A to D */

unroll_status cublaslt_product(struct recorder *, const struct gpu_product *);
void cublaslt_products_free(struct products *);

#endif
