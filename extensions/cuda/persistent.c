/* See persistent.h. Uses neither CUDA nor a plan: rnn_persistent.c fills in addresses and launches. */
#include "extensions/cuda/persistent.h"
#include <stdio.h>

const char *operand_name(enum gpu_operand o)
{
    static const char *const name[GPU_OPERANDS] = {
        [OPERAND_F32] = "fp32",
        [OPERAND_TF32] = "tf32",
        [OPERAND_BF16] = "bf16",
        [OPERAND_F16] = "fp16",
    };
    return name[o];
}

enum gpu_operand persistent_operand(const struct cell_declaration *cell, enum gpu_operand o)
{
    return o == OPERAND_F32 || cell_inputs_from(cell, FROM_H | FROM_INTERMEDIATE) > 0 ? o : OPERAND_BF16;
}

void persistent_name(const struct cell_declaration *cell, enum gpu_operand o, bool backward, char *name, size_t size)
{
    snprintf(name, size, "%s_%s_%s", cell->name, operand_name(persistent_operand(cell, o)),
             backward ? "backward" : "forward");
}

void persistent_describe(const struct cell_declaration *cell, struct tiling_problem *p)
{
    p->phases = (uint32_t)cell->phases;
    p->states = (uint32_t)cell->states;
    p->inputs = (uint32_t)cell->inputs;
    p->intermediates = (uint32_t)cell->intermediates;
    p->fields[0] = p->fields[1] = 0;
    for (int i = 0; i < cell->inputs; i++) {
        p->fields[0] += (cell->input[i].from & FROM_H) != 0;
        p->fields[1] += (cell->input[i].from & FROM_INTERMEDIATE) != 0;
    }
}

void persistent_gates(const struct cell_declaration *cell, uint8_t gate[TILING_PHASES][TILING_FIELDS])
{
    uint8_t weight = 0, fields[TILING_PHASES] = {0, 0};
    for (int i = 0; i < cell->inputs; i++) {
        unsigned from = cell->input[i].from;
        if ((from & FROM_H) != 0 && fields[0] < TILING_FIELDS)
            gate[0][fields[0]++] = weight;
        if ((from & FROM_INTERMEDIATE) != 0 && fields[1] < TILING_FIELDS)
            gate[1][fields[1]++] = weight;
        weight += (from & (FROM_H | FROM_INTERMEDIATE)) != 0;
    }
}
