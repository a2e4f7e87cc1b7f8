/* The persistent kernels of all cells for one kind of operand. The including file defines PERSISTENT_OPERAND (enum
 * gpu_operand) and PERSISTENT_WORD, which is part of the kernel names: lstm_bf16_forward. With PERSISTENT_EXACT the
 * gate functions match those of the CPU bit for bit. PERSISTENT_WALKS 1: also the kernels of cells without a product by
 * a state. */
#ifndef PERSISTENT_OPERAND
#error "define PERSISTENT_OPERAND and PERSISTENT_WORD before this"
#endif
#include "extensions/cuda/kernels/persistent_walk.cuh"
#include "nn/cells/cell.h"
#ifndef PERSISTENT_EXACT
#include "extensions/cuda/kernels/persistent_functions.cuh"
#elif defined __CUDACC__
#include "nn/vector/v_cuda.h"
#else
#include "nn/vector/v_f32.h"
#endif

#define PERSISTENT_PASTE(cell, word, direction)     cell##_##word##_##direction
#define PERSISTENT_PASTE_2(cell, word, direction)   PERSISTENT_PASTE(cell, word, direction)
#define PERSISTENT_NAME(cell, direction)            PERSISTENT_PASTE_2(cell, PERSISTENT_WORD, direction)

#define CELLS_WITHOUT_CHOICE
#define CELL_USER "extensions/cuda/kernels/persistent_cell.cuh"
#include "nn/cells/cell_table.h"
