/* The record of a pointwise function: inputs, operations in order, results. A record is made by running a cell's
 * function with V = a node; it is then printed or inspected. It is independent of cells and targets. Nodes point into
 * their record: a record must not be copied. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "nn/cells/activation.h"
#include "nn/cells/cell.h"

enum node_kind {
    NODE_INPUT,
    NODE_CONSTANT,
    NODE_ADD,
    NODE_SUB,
    NODE_MUL,
    NODE_DIV,
    NODE_MIN,
    NODE_MAX,
    NODE_LESS, /* 1 if operand 0 < operand 1, otherwise 0 */
    NODE_FMA,  /* operand 0 * operand 1 + operand 2 */
    NODE_ABS,
    NODE_SQRT,
    NODE_EXP,
    NODE_LOG,
    NODE_SIGMOID,
    NODE_TANH,
    NODE_CELL_KINDS,                    /* used by cells; exp, log, sigmoid and tanh of floats also use: */
    NODE_SELECT_LESS = NODE_CELL_KINDS, /* operand 0 < operand 1 ? operand 2 : operand 3 */
    NODE_EXPONENT_OF_LOW_BITS,
    NODE_LOW_BITS_OF_EXPONENT,
    NODE_MANTISSA, /* the operations on bits are documented in v_math.h */
    NODE_KINDS
};

enum { NODE_OPERANDS = 4 };

struct node {
    enum node_kind kind;
    const struct node *operand[NODE_OPERANDS]; /* NULL beyond the operands of the kind */
    double constant;
    const char *input; /* the name of an input */
    int number;        /* its index in the record */
};

/* Inputs and results have the names of the cell's fields: in_i, state_c, next_h, saved_r, intermediate_rh, vector_p_i,
 * option_clip. Gradients have the prefix d_. A name is in the struct of the same group. */
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
    char refusal[128]; /* why the record is invalid; empty if it is valid */
};

/* ---- recording: operations are appended to the record that this thread began last ---- */
void record_begin(struct record *record, const char *name);
const struct node *record_input(const char *name);
const struct node *record_constant(double value);
/* A NULL operand means that a cell reads a field that its phase does not have; a NULL result, that it did not write the
 * field. Both make the record invalid. */
const struct node *record_operation(enum node_kind kind, const struct node *a, const struct node *b,
                                    const struct node *c);
const struct node *record_choice(const struct node *a, const struct node *b, const struct node *yes,
                                 const struct node *no); /* NODE_SELECT_LESS */
void record_result(const char *name, const struct node *node);

/* ---- using a record ---- */
int node_operands(enum node_kind kind); /* returns the number of operands */
const struct node *record_find_result(const struct record *record, const char *name);

/* ---- the records of a cell ---- */
struct cell_record {
    const struct cell_declaration *declaration;
    struct record forward[2], backward[2]; /* [phase] */
};

/* ---- the records of functions, with an input "x" and a result "y" ---- */
/* Records NODE_EXP, NODE_LOG, NODE_SIGMOID or NODE_TANH as float kernels compute them, bit for bit. */
void record_function(enum node_kind kind, struct record *record);
/* Records an elementwise activation, with alpha and beta as constants. */
void record_activation(const struct activation *activation, struct record *record);
/* Records its slope, as a function of its value. */
void record_slope(const struct activation *, struct record *);
/* Records the function of a kind, except softmax, or its slope. "alpha" and "beta" are inputs too; for the slope "x" is
 * the value. */
void record_chosen(enum activation_kind, bool slope, struct record *);

/* Returns the error of the first invalid record of the cell, or NULL. */
const char *cell_record_refusal(const struct cell_record *cell);

/* A table of recorders is generated like a table of kernels; a NULL name ends it. */
struct cell_recorder {
    const char *name;
    void (*record)(struct cell_record *cell);
};
extern const struct cell_recorder cell_recorders[]; /* of cells with fixed functions */

/* Records the cell of that name. Returns false if the table does not contain it. */
bool cell_record_named(const struct cell_recorder *table, const char *name, struct cell_record *cell);

/* Records the cell of a key (cell.h). The parameters of chosen functions become constants. */
bool cell_record_key(const char *key, struct cell_record *cell);
