/* What the host does about a persistent recurrence: from a cell to the planner's problem, and to a launch. */
#ifndef DEVICE_CUDA_PERSISTENT_H
#define DEVICE_CUDA_PERSISTENT_H
#include "cells/cell.h"
#include "device/cuda/persistent_args.h"

/* What of a problem follows from the cell. */
void persistent_describe(const struct cell_declaration *, struct tiling_problem *);

/* Which of the weights' gates each field of a product is. */
void persistent_gates(const struct cell_declaration *, uint8_t gate[TILING_PHASES][TILING_FIELDS]);

/* The kernel's name: "lstm_bf16_forward". */
void persistent_name(const struct cell_declaration *, enum gpu_operand, bool backward, char *name, size_t size);

/* "bf16", as in the names of kernels. */
const char *operand_name(enum gpu_operand);

#endif
