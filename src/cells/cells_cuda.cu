/* All cells for CUDA: one thread per unit, the same loads, stores and cell functions. */
#include "cells/cell.h"
#include "cells/v/v_cuda.h"
#define CELLS_WITHOUT_CHOICE
#define CELL_USER "cells/cell_threads.h"
#include "cells/cell_table.h"
