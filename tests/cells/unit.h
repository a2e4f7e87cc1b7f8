/* A row of units of one cell, with arrays named as in records. Fields are consecutive planes of UNITS values. */
#ifndef TESTS_CELLS_UNIT_H
#define TESTS_CELLS_UNIT_H
#include "nn/cells/cell.h"
#include <string.h>

enum { UNIT_FIELDS = 12, UNITS = 40 };

struct unit_numbers {
    float in[UNIT_FIELDS][UNITS], state[UNIT_FIELDS][UNITS], next[UNIT_FIELDS][UNITS], saved[UNIT_FIELDS][UNITS],
        intermediate[UNIT_FIELDS][UNITS], vector[UNIT_FIELDS][UNITS];
};

struct unit {
    struct unit_numbers value, gradient;
    float option_clip;
};

static inline struct cell_arrays unit_arrays(struct unit_numbers *n)
{
    struct cell_arrays arrays = {.in = {n->in, UNITS, 0},
                                 .state = {n->state, UNITS, 0},
                                 .next = {n->next, UNITS, 0},
                                 .saved = {n->saved, UNITS, 0},
                                 .intermediate = {n->intermediate, UNITS, 0},
                                 .vector = {n->vector, UNITS, 0}};
    return arrays;
}

static inline struct cell_step unit_step(struct unit *unit, size_t width)
{
    return (struct cell_step){
        .rows = 1,
        .width = width,
        .value = unit_arrays(&unit->value),
        .gradient = unit_arrays(&unit->gradient),
        .options = {.clip = unit->option_clip,
                    .function = {{ACTIVATION_SIGMOID, 0, 0}, {ACTIVATION_TANH, 0, 0}, {ACTIVATION_TANH, 0, 0}}}};
}

/* Returns the array named "state_c" or "d_in_r", with one value for each unit (one for an option), or NULL. */
static inline float *unit_named(struct unit *unit, const struct cell_declaration *cell, const char *name)
{
    struct unit_numbers *n = &unit->value;
    if (!strcmp(name, "option_clip"))
        return &unit->option_clip;
    if (!strncmp(name, "d_", 2))
        n = &unit->gradient, name += 2;
    struct {
        const char *prefix;
        float (*numbers)[UNITS];
        const char *const *names;
    } groups[] = {{"state_", n->state, cell->state},
                  {"next_", n->next, cell->state},
                  {"saved_", n->saved, cell->saved_value},
                  {"intermediate_", n->intermediate, cell->intermediate},
                  {"vector_", n->vector, cell->vector}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        size_t length = strlen(groups[g].prefix);
        for (int k = 0; !strncmp(name, groups[g].prefix, length) && groups[g].names[k]; k++)
            if (!strcmp(name + length, groups[g].names[k]))
                return groups[g].numbers[k];
    }
    for (int k = 0; !strncmp(name, "in_", 3) && k < cell->inputs; k++)
        if (!strcmp(name + 3, cell->input[k].name))
            return n->in[k];
    return NULL;
}

#endif
