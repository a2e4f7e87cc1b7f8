/* The persistent recurrences with operands in bf16. */
#define PERSISTENT_OPERAND OPERAND_BF16
#define PERSISTENT_WORD    bf16
#include "device/cuda/persistent_kernels.cuh"
