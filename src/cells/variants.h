/* Cells with options that change their arithmetic, each made from the file of the cell. */
#define CELL lstm_peephole
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#include "cells/lstm.h"

#define CELL lstm_clip
#define CELL_LIKE lstm
#define CELL_CLIPS
#include "cells/lstm.h"

#define CELL lstm_peephole_clip
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#define CELL_CLIPS
#include "cells/lstm.h"

#define CELL rnn_relu
#define CELL_LIKE rnn
#define RNN_RELU
#include "cells/rnn.h"

#ifndef CELLS_WITHOUT_CHOICE /* where functions can't be chosen at run time: fixed point, CUDA */
#define CELL lstm_any
#define CELL_LIKE lstm
#define CELL_CHOOSES
#include "cells/lstm.h"

#define CELL lstm_peephole_any
#define CELL_LIKE lstm
#define LSTM_PEEPHOLE
#define CELL_CHOOSES
#include "cells/lstm.h"

#define CELL gru_any
#define CELL_LIKE gru
#define CELL_CHOOSES
#include "cells/gru.h"

#define CELL gru_before_any
#define CELL_LIKE gru_before
#define CELL_CHOOSES
#include "cells/gru_before.h"

#define CELL rnn_any
#define CELL_LIKE rnn
#define CELL_CHOOSES
#include "cells/rnn.h"
#endif
