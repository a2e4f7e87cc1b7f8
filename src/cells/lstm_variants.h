/* The LSTM of lstm.h with its options, each combination a cell of its own. */
#define CELL lstm_peephole
#define LSTM_PEEPHOLE
#include "cells/lstm.h"

#define CELL lstm_clip
#define LSTM_CLIP
#include "cells/lstm.h"

#define CELL lstm_peephole_clip
#define LSTM_PEEPHOLE
#define LSTM_CLIP
#include "cells/lstm.h"
