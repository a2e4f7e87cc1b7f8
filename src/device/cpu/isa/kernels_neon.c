/* All kernels for NEON on a 64-bit ARM. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_neon.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

const struct cpu_isa cpu_neon = {.name = "neon",
                                 .isa = ISA_NEON,
                                 .real = DTYPE_F32,
                                 .cells = cells_neon,
                                 .product = product,
                                 .peak = peak,
                                 .update_outside = update_outside,
                                 .activate = activate,
                                 LOWP,
                                 .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};
