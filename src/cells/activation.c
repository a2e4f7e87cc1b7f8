/* Names and default numbers of activation functions, from their list.
 * Not their formulas: v/v_activation.h. */
#include "cells/activation.h"

#include <string.h>

static const struct {
    const char *name;
    float alpha, beta;
} table[ACTIVATION_COUNT] = {
#define ACTIVATION_ROW(ID, name, alpha, beta) { #name, alpha, beta },
    ACTIVATIONS(ACTIVATION_ROW)
#undef ACTIVATION_ROW
};

const char *activation_name(enum activation_kind kind)
{
    return table[kind].name;
}

bool activation_parse(const char *name, struct activation *activation)
{
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (!strcmp(name, table[i].name)) {
            *activation = (struct activation){ (enum activation_kind)i, table[i].alpha, table[i].beta };
            return true;
        }
    return false;
}
