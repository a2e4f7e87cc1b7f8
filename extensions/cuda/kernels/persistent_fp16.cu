/* The persistent recurrences with operands in fp16. */
#define PERSISTENT_OPERAND OPERAND_F16
#define PERSISTENT_WORD    fp16
#include "extensions/cuda/kernels/persistent_kernels.cuh"
