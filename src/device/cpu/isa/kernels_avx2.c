/* All kernels for AVX2 with fused multiply-add. The build sets the flags; v_avx2.h checks them. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_avx2.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

const struct cpu_isa cpu_avx2 = {.name = "avx2",
                                 .isa = ISA_AVX2,
                                 .real = DTYPE_F32,
                                 .cells = cells_avx2,
                                 .product = product,
                                 .peak = peak,
                                 .update_outside = update_outside,
                                 .activate = activate,
                                 LOWP,
                                 .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};
