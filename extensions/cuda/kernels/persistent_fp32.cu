/* The persistent recurrences with operands in fp32. */
#define PERSISTENT_OPERAND OPERAND_F32
#define PERSISTENT_WORD    fp32
#define PERSISTENT_EXACT
#define PERSISTENT_WALKS   1
#include "extensions/cuda/kernels/persistent_kernels.cuh"
