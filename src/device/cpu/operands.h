/* The CPU as plans see it: its traits, and which copies of weights tiles multiply. */
#ifndef DEVICE_CPU_OPERANDS_H
#define DEVICE_CPU_OPERANDS_H
#include "plan/plan.h"

extern const struct operand_traits cpu_operands;
extern const struct device_traits cpu_traits; /* but for `splits`, which the ISA says */

/* Can accumulation blocks of gradients be long enough for split floats? Then *block_steps, the least steps of one, is
 * made so. */
bool bf16x3_fill_acc_blocks(const struct plan_config *, uint32_t *block_steps);
bool reads_bf16_by_tiles(const struct plan *, int buffer); /* is it a copy of weights that tiles multiply as bf16? */

#endif
