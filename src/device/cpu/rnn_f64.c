/* The recurrence in doubles: the reference that finite differences are taken of.
 * The kernels themselves are in rnn_forward.h and rnn_backward.h. */
#include "device/cpu/rnn_kernels.h"

typedef double real;
#define KERNEL_RNN      kernel_rnn_f64
#define KERNEL_RNN_BACK kernel_rnn_back_f64
#include "device/cpu/rnn_parts.h"
#include "device/cpu/rnn_forward.h"
#include "device/cpu/rnn_piece_parts.h"
#include "device/cpu/rnn_time_ranks.h"
#include "device/cpu/rnn_pieces.h"
#include "device/cpu/rnn_backward.h"
#include "device/cpu/rnn_pieces_back.h"
