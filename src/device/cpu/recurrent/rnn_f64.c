/* The recurrence in doubles, for finite differences. The kernels are in rnn_forward.h and rnn_backward.h. */

typedef double real;
#define KERNEL_RNN      kernel_rnn_f64
#define KERNEL_RNN_BACK kernel_rnn_back_f64
#include "device/cpu/recurrent/rnn_parts.h"
#include "device/cpu/recurrent/rnn_forward.h"
#include "device/cpu/recurrent/rnn_piece_parts.h"
#include "device/cpu/recurrent/rnn_time_ranks.h"
#include "device/cpu/recurrent/rnn_pieces.h"
#include "device/cpu/recurrent/rnn_backward.h"
#include "device/cpu/recurrent/rnn_pieces_back.h"
