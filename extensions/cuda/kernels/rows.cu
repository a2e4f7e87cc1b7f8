/* Kernels without a sum over rows (extensions/gpu/kernels), and the operands of products in low precision. */
#include "extensions/cuda/kernels/common.cuh"
#include "nn/vector/v_chosen.h"
#include "plan/ir/op.h"
#define PHILOX_CODE GPU_CODE
#include "base/philox.h"

#define value_1(f, x) v_chosen((f).kind, x, (f).alpha, (f).beta)
#define slope_1(f, y) v_chosen_slope((f).kind, y, (f).alpha, (f).beta)
#define VALUE_OF      value_1
#include "extensions/gpu/kernels/rows.inc"
#include "extensions/gpu/kernels/activations.inc"

KERNEL(gpu_lowp, struct lowp_args)
{
    const struct part p = part_of(ITEM, (uint32_t)a.to_row, 1);
    if (p.row >= a.rows)
        return;
    const float number = p.first < a.width ? a.from[p.row * a.from_row + p.first] : 0;
    a.to[p.row * a.to_row + p.first] = a.is_fp16 ? to_fp16(number) : to_bf16(number);
}
