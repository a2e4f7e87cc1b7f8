/* The CPU's traits for plans, and the weights that tiles multiply. */
#pragma once
#include "plan/ir/plan.h"

extern const struct operand_traits cpu_operands;
extern const struct device_traits cpu_traits; /* except `splits`, which depends on the ISA */

/* Increases *block_steps, the minimum length of accumulation blocks, so that they suit split floats. Returns false if
 * they cannot be long enough. */
bool bf16x3_fill_acc_blocks(const struct plan_config *, uint32_t *block_steps);
bool reads_bf16_by_tiles(const struct plan *, int buffer); /* returns whether tiles multiply this copy of weights as
                                                            * bf16 */
