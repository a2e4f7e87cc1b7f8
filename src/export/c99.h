/* Printing a program as C99, one .c and one .h. What the printers share; c99.c puts the files together. */
#ifndef EXPORT_C99_H
#define EXPORT_C99_H
#include "export/integers.h"
#include <stdio.h>

struct printer {
    FILE *file;
    const struct program *program;
    const char *prefix;  /* of all that the linker sees */
    char upper[40];      /* of macros */
    struct record *room; /* for the record of a function */
};

void print_header(const struct printer *); /* c99_header.c: the .h */

/* ---- c99_weights.c: constants ---- */
void print_weights(const struct printer *);
void print_symbols(const struct printer *); /* what tokens stand for, if the model knows */
void print_parameter_name(const struct printer *, const struct parameter *);
void print_float_literal(FILE *, double value); /* "0.1f", of what is a float */

/* ---- c99_step.c: the list of acts ---- */
void print_step_function(const struct printer *);
void print_step_head(const struct printer *); /* without what ends it */
/* NAME(addresses of what it reads and writes) as a call, or as the head of the function. */
void print_pointwise_call(const struct printer *, const struct pointwise *, bool is_head);
/* v->name[first + u] */
void print_element(const struct printer *, const struct binding *);

/* ---- c99_float.c, c99_fixed.c: functions ---- */
void print_float_functions(const struct printer *);
void print_fixed_functions(const struct printer *);

bool program_has(const struct program *, enum act_kind kind);

#endif
