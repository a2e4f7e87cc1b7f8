/* All kernels for AVX-512. The build sets the flags; v_avx512.h checks them. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_avx512.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

void product_avx512(const struct product *p) { product(p); }

const struct cpu_isa cpu_avx512 = {.name = "avx512",
                                   .isa = ISA_AVX512,
                                   .real = DTYPE_F32,
                                   .cells = cells_avx512,
                                   .product = product,
                                   .peak = peak,
                                   .update_outside = update_outside,
                                   .activate = activate,
                                   LOWP,
                                   .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};
