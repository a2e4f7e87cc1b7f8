/* The reference: plain floats, one at a time, on any processor. The other tables of floats have its bits. */
#include "device/cpu/isa.h"
#include "cells/v/v_f32.h"

typedef float real;
#define REAL_FMA fmaf
#include "device/cpu/low_precision.h"
#include "device/cpu/product_reference.h"
#include "device/cpu/product_low_precision_reference.h"
#include "device/cpu/kernels_on_v.h"

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
