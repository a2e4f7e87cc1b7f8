/* Kernels of the operations that communicate: OP_SEND, OP_RECV, OP_ALL_REDUCE, OP_ALL_GATHER, OP_SUM_BEGIN, OP_SUM_END.
 * Only thread 0 of the team works. Operations that communicate internally (rnn) do that themselves. */
#pragma once
#include "device/cpu/kernels/kernel.h"

kernel kernel_send, kernel_recv, kernel_all_reduce, kernel_all_gather, kernel_sum_begin, kernel_sum_end;
