/* The cell table. To add a cell, add a file, an include and a name here.
 *
 * Before including this file, include a V header and define CELL_USER as the file that generates something (kernels, a
 * record, a declaration) from each cell. Every cell file ends by including it. A program may have further tables made
 * the same way. */
#include "nn/cells/lstm.h"
#include "nn/cells/gru.h"
#include "nn/cells/gru_before.h"
#include "nn/cells/rnn.h"
#include "nn/cells/mingru.h"
#include "nn/cells/minlstm.h"
#include "nn/cells/sru.h"
#include "nn/cells/indrnn.h"
#include "nn/cells/paragru.h"
#include "nn/cells/paralstm.h"
#include "nn/cells/variants.h"
#ifndef CELLS_WITHOUT_CHOICE
#define CELLS_OF_CHOICE(NAMED)                                                      \
    NAMED(lstm_any) NAMED(lstm_peephole_any) NAMED(gru_any) NAMED(gru_before_any)   \
    NAMED(rnn_any)
#else
#define CELLS_OF_CHOICE(NAMED)
#endif

#define CELLS_OF_THEIR_OWN_FUNCTIONS(NAMED)                                         \
    NAMED(lstm) NAMED(lstm_peephole) NAMED(lstm_clip) NAMED(lstm_peephole_clip)     \
    NAMED(gru) NAMED(gru_before)                                                    \
    NAMED(rnn) NAMED(rnn_relu)                                                      \
    NAMED(mingru) NAMED(minlstm)                                                    \
    NAMED(sru) NAMED(indrnn) NAMED(paragru) NAMED(paralstm)

#define ALL_CELLS(NAMED) CELLS_OF_THEIR_OWN_FUNCTIONS(NAMED) CELLS_OF_CHOICE(NAMED)
