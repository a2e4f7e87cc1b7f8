/* All kernels for AVX-512. The build sets the flags; v_avx512.h checks them. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_avx512.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

/* For the extensions of AVX-512. */
void product_avx512(const struct product *p) { product(p); }
void product_bf16_avx512(const struct product *p) { product_bf16(p); }
void quantize_avx512(const void *row, size_t k, void *words) { quantize(row, k, words); }
void update_outside_avx512(const struct outside_update *u) { update_outside(u); }
uint64_t peak_avx512(uint64_t rounds, void *sink) { return peak(rounds, sink); }
void activate_avx512(const struct activation *f, const void *x, void *y, size_t n) { activate(f, x, y, n); }
void pack_lowp_avx512(enum dtype dtype, void *word, size_t row, const float *weights, size_t k)
{
    pack_lowp(dtype, word, row, weights, k);
}

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
