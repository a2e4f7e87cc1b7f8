/* All kernels except the recurrence and communication, for one V and one element type. Each ISA's file includes this
 * once, after its V header, `real` and a product, and fills its table with KERNELS. */
#include "device/cpu/executor/exchange.h"
#include "device/cpu/kernels/acc_blocks.h"
#include "device/cpu/recurrent/rnn_kernels.h"
#include "device/cpu/kernels/tensor.h"
#include <math.h>
#include <string.h>

#include "device/cpu/kernels/vectors.h"
#include "device/cpu/kernels/steps.h"
#include "device/cpu/kernels/gemm.h"
#include "device/cpu/kernels/gemm_dw.h"
#include "device/cpu/kernels/bias_grad.h"
#include "device/cpu/kernels/gather_columns.h"
#include "device/cpu/kernels/elementwise.h"
#include "device/cpu/kernels/pack.h"
#include "device/cpu/kernels/loss_kernels.h"
#include "device/cpu/kernels/sequence_loss.h"
#include "device/cpu/kernels/activate.h"
#include "device/cpu/kernels/pool.h"
#include "device/cpu/kernels/update.h"
#include "device/cpu/kernels/peak.h"

#define KERNELS                                                         \
    [OP_EMBED] = kernel_embed,          [OP_EMBED_GRAD] = kernel_embed_grad, \
    [OP_GEMM] = kernel_gemm,            [OP_GEMM_DX] = kernel_gemm_dx,  \
    [OP_GEMM_DW] = kernel_gemm_dw,      [OP_BIAS_GRAD] = kernel_bias_grad, \
    [OP_GATHER_COLUMNS] = kernel_gather_columns,            [OP_SCATTER_ADD] = kernel_scatter_add, \
    [OP_DROPOUT] = kernel_dropout,      [OP_LOSS] = kernel_loss,        \
    [OP_SEQUENCE_LOSS] = kernel_sequence_loss,                          \
    [OP_ACTIVATE] = kernel_activate,    [OP_ACTIVATE_BACK] = kernel_activate_back, \
    [OP_POOL] = kernel_pool,            [OP_POOL_BACK] = kernel_pool_back, \
    [OP_COPY] = kernel_copy,            [OP_FILL] = kernel_fill,        \
    [OP_TREE] = kernel_tree,            [OP_NORM] = kernel_norm,        \
    [OP_UPDATE] = kernel_update,        [OP_PACK] = kernel_pack,        \
    [OP_SEND] = kernel_send,            [OP_RECV] = kernel_recv,        \
    [OP_ALL_REDUCE] = kernel_all_reduce, [OP_SUM_BEGIN] = kernel_sum_begin, \
    [OP_SUM_END] = kernel_sum_end,      [OP_ALL_GATHER] = kernel_all_gather
