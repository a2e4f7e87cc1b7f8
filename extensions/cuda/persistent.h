/* Host side of a persistent recurrence: converts a cell to the planner's problem and to kernel arguments. */
#ifndef DEVICE_CUDA_PERSISTENT_H
#define DEVICE_CUDA_PERSISTENT_H
#include "nn/cells/cell.h"
#include "extensions/cuda/kernels/persistent_args.h"

/* Fills in the parts of a problem that depend on the cell. */
void persistent_describe(const struct cell_declaration *, struct tiling_problem *);

/* Finds the gate of the weights for each field of a product. */
void persistent_gates(const struct cell_declaration *, uint8_t gate[TILING_PHASES][TILING_FIELDS]);

/* Returns the operand of the kernel: bf16 stands for all narrow ones where no state is multiplied. */
enum gpu_operand persistent_operand(const struct cell_declaration *, enum gpu_operand);

/* Writes the kernel's name: "lstm_bf16_forward". */
void persistent_name(const struct cell_declaration *, enum gpu_operand, bool backward, char *name, size_t size);

/* Returns "bf16", as in kernel names. */
const char *operand_name(enum gpu_operand);

#endif
