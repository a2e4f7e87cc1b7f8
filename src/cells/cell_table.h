/* The cell table. A new cell is one file, one include and one name here.
 *
 * Before including this file, include a V header and define CELL_USER as the name of the file that
 * makes something (kernels, a record, a declaration) of one cell. Every cell includes it as its last
 * act. A program may have further tables of its own, made the same way.
 */
#include "cells/lstm.h"
#include "cells/gru.h"
#include "cells/gru_before.h"
#include "cells/rnn.h"
#include "cells/mingru.h"
#include "cells/minlstm.h"
#include "cells/sru.h"
#include "cells/indrnn.h"
#include "cells/paragru.h"
#include "cells/paralstm.h"
#include "cells/variants.h"
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
