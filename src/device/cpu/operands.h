/* The CPU as plans see it: its traits, and which copies of weights tiles multiply. */
#ifndef DEVICE_CPU_OPERANDS_H
#define DEVICE_CPU_OPERANDS_H
#include "plan/plan.h"

extern const struct operand_traits cpu_operands;
extern const struct device_traits cpu_traits;       /* but for `splits`, which the ISA says */

/* Can leaves of gradients be long enough for split floats? Then *quantum, the least steps of one, is made so. */
bool thirds_fill_leaves(const struct plan_config *, uint32_t *quantum);
bool reads_bf16_by_tiles(const struct plan *, int buffer);  /* is it a copy of weights that tiles multiply as bf16? */

#endif
