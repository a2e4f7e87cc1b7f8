/* The driver's products (struct gpu_driver), by cuBLASLt. */
#ifndef DEVICE_CUDA_PRODUCT_H
#define DEVICE_CUDA_PRODUCT_H
#include "device/cuda/context.h"

enum { CUBLASLT_WORKSPACE = 32 << 20 }; /* bytes on each stream: what NVIDIA recommends for sm_90 */
enum { CUBLASLT_BIAS_ALIGNMENT = 16 };  /* its kernels read a bias so; its preferences name that of A to D alone */

unroll_status cublaslt_product(struct recorder *, const struct gpu_product *);
void cublaslt_products_free(struct products *);

#endif
