/* The persistent recurrences with operands in bf16. */
#define PERSISTENT_OPERAND OPERAND_BF16
#define PERSISTENT_WORD    bf16
#define PERSISTENT_WALKS   1
#include "extensions/cuda/kernels/persistent_kernels.cuh"
