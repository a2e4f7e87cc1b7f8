/* The meaning of a model's tokens and classes: the vocabulary of a language model, or the schema of a task that
 * reads texts. How a text is split into words is elsewhere: streams read only characters. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "unroll_train.h"

struct symbols {
    const char *const *symbol; /* [count] */
    int count;                 /* 0: the model does not read text */
    int unknown;               /* the token of unknown symbols; -1: there is none */
    bool characters;           /* symbols are characters; false: words */
    bool predicts;             /* the outputs predict the next symbol */
    const char **label;        /* [labels] names of the classes; NULL: the outputs are not named classes */
    int labels;
    json_t *schema;
};

/* Release with symbols_close, whatever it returns. Prints errors. */
unroll_status symbols_open(const unroll_model *model, struct symbols *symbols);
void symbols_close(struct symbols *symbols);

/* Returns the token of a symbol, or -1. */
int32_t symbols_find(const struct symbols *symbols, const char *symbol);
