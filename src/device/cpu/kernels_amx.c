/* All kernels for AVX-512 with AMX, which multiplies tiles: products of many rows gain (cells/v/v_tiles.h), all else is
 * as with AVX-512 and VNNI. The build gives the flags. */
#ifndef __AMX_BF16__
#error "kernels_amx.c needs -mamx-tile -mamx-bf16"
#endif
#include "device/cpu/isa.h"
#include "cells/v/v_avx512.h"

typedef float real;
#include "device/cpu/narrow.h"
#include "device/cpu/product_simd.h"
#include "device/cpu/product_narrow.h"
#include "device/cpu/kernels_on_v.h"

#include "cells/v/v_tiles.h"

/* Numbers [k, k + 16) of a row of `end`. */
static V numbers_at(const float *row, size_t k, size_t end)
{
    return k >= end ? v_const(0) : v_load_some(row + k, end - k < V_WIDTH ? end - k : V_WIDTH);
}

static void left_rows(const struct left_rows *l)
{
    for (size_t r = 0; r < l->rows; r++) {
        const size_t block = r / LEFT_ROWS * LEFT_ROWS;
        const size_t rows = l->rows - block < LEFT_ROWS ? l->rows - block : LEFT_ROWS;
        const float *row = (const float *)l->at + (l->list ? l->list[r] : r) * l->row;
        char *to = l->to + (block * l->steps + l->first * rows) * LEFT_ROW + (r - block) * LEFT_PART;
        for (size_t k = 0; k < l->k; k += THIRDS_K, to += rows * LEFT_ROW) {
            __m512i part[3];
            thirds_of(numbers_at(row, k, l->k), numbers_at(row, k + V_WIDTH, l->k), part);
            for (size_t i = 0; i < 3; i++)
                _mm512_storeu_si512(to + i * rows * LEFT_PART, part[i]);
        }
    }
}

const struct cpu_isa cpu_amx = {
    .name = "amx", .isa = ISA_AMX, .real = DTYPE_F32,
    .cells = cells_avx512, .int8_cells = cells_avx512_vnni, .product = product,
    .peak = peak, .activate = activate, .left_rows = left_rows, .thirds_cells = cells_amx,
    NARROW,
    .kernel = { KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back },
};
