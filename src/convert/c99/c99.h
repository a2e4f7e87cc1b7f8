/* Prints a program as C99, one .c and one .h. Shared declarations of the printers; c99.c assembles the files. */
#pragma once
#include "stream/program/integers.h"
#include <stdio.h>

struct printer {
    FILE *file;
    const struct program *program;
    const char *prefix;  /* of all external names */
    char upper[40];      /* prefix of macros */
    struct record *room; /* scratch space for recording a function */
};

void print_header(const struct printer *); /* c99_header.c: the .h */

/* ---- c99_weights.c: constants ---- */
void print_weights(const struct printer *);
void print_symbols(const struct printer *); /* the symbols of tokens, if the model has them */
void print_parameter_name(const struct printer *, const struct parameter *);
void print_float_literal(FILE *, double value); /* "0.1f"; value must be a float */

/* ---- c99_step.c: the calls of a step ---- */
void print_step_function(const struct printer *);
void print_step_head(const struct printer *); /* without the final ";" or "{" */
/* NAME(addresses of its inputs and results), as a call or as the head of the function. */
void print_pointwise_call(const struct printer *, const struct pointwise *, bool is_head);
/* v->name[first + u] */
void print_element(const struct printer *, const struct binding *);

/* ---- c99_float.c, c99_fixed.c: functions ---- */
void print_float_functions(const struct printer *);
void print_fixed_functions(const struct printer *);

bool program_has(const struct program *, enum act_kind kind);
