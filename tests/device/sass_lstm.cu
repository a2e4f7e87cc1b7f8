/* The persistent kernels of the LSTM alone, in bf16: what check_sass.py compiles to count instructions. */
#define PERSISTENT_OPERAND OPERAND_BF16
#define PERSISTENT_WORD    bf16
#include "device/cuda/persistent_walk.cuh"
#include "cells/cell.h"
#include "device/cuda/persistent_functions.cuh"
#define PERSISTENT_NAME(cell, direction) sass_##direction
#define CELLS_WITHOUT_CHOICE
#define CELL_USER "device/cuda/persistent_cell.cuh"
#include "cells/lstm.h"
