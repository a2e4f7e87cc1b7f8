/* Doubles, for finite differences and checks of long sums. Not optimized. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_f64.h"

typedef double real;
#define REAL_FMA fma
#include "device/cpu/product/product_reference.h"
#include "device/cpu/isa/kernels_on_v.h"

const struct cpu_isa cpu_double = {.name = "double",
                                   .isa = ISA_SCALAR,
                                   .real = DTYPE_F64,
                                   .cells = cells_f64,
                                   .product = product,
                                   .peak = peak,
                                   .update_outside = update_outside,
                                   .activate = activate,
                                   .kernel = {KERNELS, [OP_RNN] = kernel_rnn_f64, [OP_RNN_BACK] = kernel_rnn_back_f64}};
