/* What the tokens of a model stand for, and its classes: of a language model its vocabulary, of a task that reads a
 * text what its schema keeps. Not how a text is cut: streams read characters alone. */
#ifndef CLI_SYMBOLS_H
#define CLI_SYMBOLS_H
#include <jansson.h>
#include <stdbool.h>

#include "unroll_train.h"

struct symbols {
    const char *const *symbol; /* [count] */
    int count;                 /* 0: the model reads no text */
    int unknown;               /* the token of a symbol that is none of them; -1: there is none */
    bool characters;           /* what a symbol is; false: words */
    bool predicts;             /* results are of the next symbol */
    const char **label;        /* [labels] the classes; NULL: results are no classes with names */
    int labels;
    json_t *schema;
};

/* Release with symbols_close, whatever it returns. Prints what is wrong. */
unroll_status symbols_open(const unroll_model *model, struct symbols *symbols);
void symbols_close(struct symbols *symbols);

/* The token of a symbol, or -1. */
int32_t symbols_find(const struct symbols *symbols, const char *symbol);

#endif
