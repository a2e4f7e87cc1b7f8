/* The record of one pointwise function: what goes in, the operations in order, what comes out.
 * A record is made by running a cell's function with V = a node, and is then printed or questioned.
 * It knows no cell and no target. Nodes point into their record: a record must not be copied. */
#ifndef CELLS_RECORD_H
#define CELLS_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "cells/activation.h"
#include "cells/cell.h"

enum node_kind {
    NODE_INPUT,
    NODE_CONSTANT,
    NODE_ADD,
    NODE_SUB,
    NODE_MUL,
    NODE_DIV,
    NODE_MIN,
    NODE_MAX,
    NODE_LESS, /* 1 where operand 0 < operand 1, otherwise 0 */
    NODE_FMA,  /* operand 0 * operand 1 + operand 2 */
    NODE_ABS,
    NODE_SQRT,
    NODE_EXP,
    NODE_LOG,
    NODE_SIGMOID,
    NODE_TANH,
    NODE_CELL_KINDS,                    /* cells are made of those; exp, log, sigmoid and tanh of floats also of: */
    NODE_SELECT_LESS = NODE_CELL_KINDS, /* operand 0 < operand 1 ? operand 2 : operand 3 */
    NODE_EXPONENT_OF_LOW_BITS,
    NODE_LOW_BITS_OF_EXPONENT,
    NODE_MANTISSA, /* v_math.h says what of bits is */
    NODE_KINDS
};

enum { NODE_OPERANDS = 4 };

struct node {
    enum node_kind kind;
    const struct node *operand[NODE_OPERANDS]; /* NULL where the kind takes fewer */
    double constant;
    const char *input; /* the name of an input */
    int number;        /* its place in the record */
};

/* Inputs and results are named after the cell's field: in_i, state_c, next_h, saved_r, intermediate_rh,
 * vector_p_i, option_clip; gradients have d_ before it. A name is in the struct of the same group. */
struct result {
    const char *name;
    const struct node *node;
};

enum { RECORD_NODES = 256, RECORD_RESULTS = 32 };

struct record {
    const char *name; /* "lstm_forward", "gru_before_backward_2" */
    struct node node[RECORD_NODES];
    int nodes;
    struct result result[RECORD_RESULTS];
    int results;
    char refusal[128]; /* why the record is of no use; empty if it is good */
};

/* ---- recording: operations go to the record that this thread began last ---- */
void record_begin(struct record *record, const char *name);
const struct node *record_input(const char *name);
const struct node *record_constant(double value);
/* A NULL operand that the kind needs means that a cell reads a field its phase does not have, a NULL
 * result that the cell did not write the field: both are refusals. */
const struct node *record_operation(enum node_kind kind, const struct node *a, const struct node *b,
                                    const struct node *c);
const struct node *record_choice(const struct node *a, const struct node *b, const struct node *yes,
                                 const struct node *no); /* NODE_SELECT_LESS */
void record_result(const char *name, const struct node *node);

/* ---- using a record ---- */
int node_operands(enum node_kind kind); /* how many it takes */
const struct node *record_find_result(const struct record *record, const char *name);

/* ---- the records of a cell ---- */
struct cell_record {
    const struct cell_declaration *declaration;
    struct record forward[2], backward[2]; /* [phase] */
};

/* ---- the records of functions, of an input "x" with the one result "y" ---- */
/* NODE_EXP, NODE_LOG, NODE_SIGMOID or NODE_TANH as kernels of floats compute it, down to the bits. */
void record_function(enum node_kind kind, struct record *record);
/* An activation that works number by number, its alpha and beta as constants. */
void record_activation(const struct activation *activation, struct record *record);
/* Its slope, as a function of its value. */
void record_slope(const struct activation *, struct record *);
/* The same of a kind, but softmax: "alpha" and "beta" are inputs, too; of the slope "x" is the value. */
void record_chosen(enum activation_kind, bool slope, struct record *);

/* The sentence of the first refused record of the cell, or NULL if all are good. */
const char *cell_record_refusal(const struct cell_record *cell);

/* A table of recorders is made like a table of kernels and ends with a NULL name. */
struct cell_recorder {
    const char *name;
    void (*record)(struct cell_record *cell);
};
extern const struct cell_recorder cell_recorders[]; /* of cells with functions of their own */

/* Records the cell of that name; false if the table has none. */
bool cell_record_named(const struct cell_recorder *table, const char *name, struct cell_record *cell);

/* Records the cell of a key (cell.h): functions that are chosen, with their numbers as constants. */
bool cell_record_key(const char *key, struct cell_record *cell);

#endif
