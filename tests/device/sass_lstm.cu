/* The persistent kernels of the LSTM in bf16, which check_sass.py compiles to count instructions. */
#define PERSISTENT_OPERAND OPERAND_BF16
#define PERSISTENT_WORD    bf16
#include "extensions/cuda/kernels/persistent_walk.cuh"
#include "nn/cells/cell.h"
#include "extensions/cuda/kernels/persistent_functions.cuh"
#define PERSISTENT_NAME(cell, direction) sass_##direction
#define CELLS_WITHOUT_CHOICE
#define CELL_USER "extensions/cuda/kernels/persistent_cell.cuh"
#include "nn/cells/lstm.h"
