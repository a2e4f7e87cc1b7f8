/* The persistent recurrences with operands in tf32. */
#define PERSISTENT_OPERAND OPERAND_TF32
#define PERSISTENT_WORD    tf32
#include "extensions/cuda/kernels/persistent_kernels.cuh"
