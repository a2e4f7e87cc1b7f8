/* The reference: scalar floats on any processor. All other tables of floats give the same bits. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_f32.h"

typedef float real;
#define REAL_FMA v_fma
#include "device/cpu/kernels/low_precision.h"
#include "device/cpu/product/product_reference.h"
#include "device/cpu/product/product_low_precision_reference.h"
#include "device/cpu/isa/kernels_on_v.h"

const struct cpu_isa cpu_scalar = {.name = "scalar",
                                   .isa = ISA_SCALAR,
                                   .real = DTYPE_F32,
                                   .cells = cells_scalar,
                                   .product = product,
                                   .peak = peak,
                                   .update_outside = update_outside,
                                   .activate = activate,
                                   LOWP,
                                   .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};
