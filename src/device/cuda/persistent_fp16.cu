/* The persistent recurrences with operands in fp16. */
#define PERSISTENT_OPERAND OPERAND_F16
#define PERSISTENT_WORD    fp16
#include "device/cuda/persistent_kernels.cuh"
