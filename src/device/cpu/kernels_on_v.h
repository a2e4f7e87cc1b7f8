/* All kernels but the recurrence and the exchange, for one V and one type of number: each ISA's file
 * includes this once, after its V header, `real` and a product, and fills its table with KERNELS. */
#include "device/cpu/exchange.h"
#include "device/cpu/leaves.h"
#include "device/cpu/rnn.h"
#include "device/cpu/tensor.h"
#include <math.h>
#include <string.h>

#include "device/cpu/vectors.h"
#include "device/cpu/steps.h"
#include "device/cpu/gemm.h"
#include "device/cpu/gemm_dw.h"
#include "device/cpu/rows.h"
#include "device/cpu/pick.h"
#include "device/cpu/elementwise.h"
#include "device/cpu/loss.h"
#include "device/cpu/activate.h"
#include "device/cpu/update.h"
#include "device/cpu/peak.h"

#ifdef V_TILES_H                        /* tiles multiply, too */
#include "device/cpu/product_tiles.h"
#include "device/cpu/product_tiles_bf16.h"
#include "device/cpu/product_tiles_int8.h"
#include "device/cpu/gemm_dw_tiles.h"
#include "device/cpu/pack_tiles.h"
#define KERNEL_GEMM_DW kernel_gemm_dw_thirds
#define KERNEL_PACK    kernel_pack_with_thirds
#define PRODUCT_BF16   product_bf16_of_tiles
#define PRODUCT_INT8   product_int8_of_tiles
#else
#define KERNEL_GEMM_DW kernel_gemm_dw
#define KERNEL_PACK    kernel_pack
#define PRODUCT_BF16   product_bf16
#define PRODUCT_INT8   product_int8
#endif

#define KERNELS                                                         \
    [OP_EMBED] = kernel_embed,          [OP_EMBED_GRAD] = kernel_embed_grad, \
    [OP_GEMM] = kernel_gemm,            [OP_GEMM_DX] = kernel_gemm_dx,  \
    [OP_GEMM_DW] = KERNEL_GEMM_DW,      [OP_SUM_ROWS] = kernel_sum_rows, \
    [OP_PICK] = kernel_pick,            [OP_PICK_GRAD] = kernel_pick_grad, \
    [OP_DROPOUT] = kernel_dropout,      [OP_LOSS] = kernel_loss,        \
    [OP_ACTIVATE] = kernel_activate,    [OP_ACTIVATE_BACK] = kernel_activate_back, \
    [OP_COPY] = kernel_copy,            [OP_FILL] = kernel_fill,        \
    [OP_TREE] = kernel_tree,            [OP_NORM] = kernel_norm,        \
    [OP_UPDATE] = kernel_update,        [OP_PACK] = KERNEL_PACK,        \
    [OP_SEND] = kernel_send,            [OP_RECV] = kernel_recv,        \
    [OP_ALL_REDUCE] = kernel_all_reduce, [OP_SUM_BEGIN] = kernel_sum_begin, \
    [OP_SUM_END] = kernel_sum_end,      [OP_ALL_GATHER] = kernel_all_gather
