/* The persistent kernels of all cells for one kind of operand, which the file that includes this names:
 * PERSISTENT_OPERAND of enum gpu_operand, and PERSISTENT_WORD in the names of the kernels: lstm_bf16_forward. With
 * PERSISTENT_EXACT the functions of gates are those of the CPU, bit for bit. */
#ifndef PERSISTENT_OPERAND
#error "define PERSISTENT_OPERAND and PERSISTENT_WORD before this"
#endif
#include "device/cuda/persistent_walk.cuh"
#include "cells/cell.h"
#ifndef PERSISTENT_EXACT
#include "device/cuda/persistent_functions.cuh"
#elif defined __CUDACC__
#include "cells/v/v_cuda.h"
#else
#include "cells/v/v_f32.h"
#endif

#define PERSISTENT_PASTE(cell, word, direction)     cell##_##word##_##direction
#define PERSISTENT_PASTE_2(cell, word, direction)   PERSISTENT_PASTE(cell, word, direction)
#define PERSISTENT_NAME(cell, direction)            PERSISTENT_PASTE_2(cell, PERSISTENT_WORD, direction)

#define CELLS_WITHOUT_CHOICE
#define CELL_USER "device/cuda/persistent_cell.cuh"
#include "cells/cell_table.h"
