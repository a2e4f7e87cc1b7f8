/* Cells with options that change their arithmetic, each generated from the file of the base cell. */
#define CELL lstm_peephole
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#include "nn/cells/lstm.h"

#define CELL lstm_clip
#define CELL_LIKE lstm
#define CELL_CLIPS
#include "nn/cells/lstm.h"

#define CELL lstm_peephole_clip
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#define CELL_CLIPS
#include "nn/cells/lstm.h"

#define CELL rnn_relu
#define CELL_LIKE rnn
#define RNN_RELU
#include "nn/cells/rnn.h"

#ifndef CELLS_WITHOUT_CHOICE /* where functions cannot be selected at run time: fixed point, CUDA */
#define CELL lstm_any
#define CELL_LIKE lstm
#define CELL_CHOOSES
#include "nn/cells/lstm.h"

#define CELL lstm_peephole_any
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#define CELL_CHOOSES
#include "nn/cells/lstm.h"

#define CELL gru_any
#define CELL_LIKE gru
#define CELL_CHOOSES
#include "nn/cells/gru.h"

#define CELL gru_before_any
#define CELL_LIKE gru_before
#define CELL_CHOOSES
#include "nn/cells/gru_before.h"

#define CELL rnn_any
#define CELL_LIKE rnn
#define CELL_CHOOSES
#include "nn/cells/rnn.h"
#endif
