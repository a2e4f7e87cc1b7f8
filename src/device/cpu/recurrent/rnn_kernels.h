/* The recurrence: kernels of OP_RNN and OP_RNN_BACK, for floats and for doubles. They handle products, time, rows that
 * end or are reset, and ranks that share the units; a cell's arithmetic is in its table.
 *
 * RNN_SCRATCH is [planes, B, max(K, U)]: 2 states + intermediates + 2 planes for rnn, 4 states + intermediates + 2 and
 * 2 (inputs + 1) for rnn_back. With a group, RNN_INTERMEDIATE is whole, [T, B, L, K], because the product with it needs
 * all units. */
#pragma once
#include "device/cpu/kernels/kernel.h"

kernel kernel_rnn, kernel_rnn_back, kernel_rnn_f64, kernel_rnn_back_f64;
