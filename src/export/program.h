/* A program: a model's streaming plan as a small processor runs it, a list of acts on vectors. It is made
 * from the plan of one row, then given integers (quantize.c), and printed (c99.c) or run as a
 * reference (fixed.c). It knows no cell by name: what a cell computes is its record. Not a plan: it has no
 * axes, no queues. */
#ifndef EXPORT_PROGRAM_H
#define EXPORT_PROGRAM_H
#include "cells/record.h"
#include "model/model.h"
#include <stdbool.h>
#include <stdint.h>

enum { ABSENT_VECTOR = -1 };

enum place {
    PLACE_CALLER, /* x or y of the caller: floats */
    PLACE_STATE,  /* kept from step to step */
    PLACE_WORK    /* of one step: memory is shared by vectors that are not needed at the same time */
};

struct vector {
    char name[40]; /* a word of C */
    uint32_t size;
    enum place place;
    bool is_sum;     /* what products give: 32 bits in integers, where others have 16 */
    int first, last; /* acts that use it */
    uint32_t offset; /* of PLACE_WORK: numbers from the beginning of its pool */
    /* integers */
    double largest; /* magnitude that was seen, or is certain */
    int fraction;   /* a number q stands for q 2^-fraction */
};

struct matrix {
    const struct parameter *parameter;
    const float *values; /* [rows, width] */
    uint32_t rows, width;
    bool by_columns; /* read a column at a time */
    int8_t *q;       /* [rows, width] integers, and what one of them is in each row */
    double *scale;   /* [rows] */
};

/* A node as integers compute it: what integer_functions.h is given (fixed.c, c99_fixed.c). */
struct fixed_node {
    const struct binding *field; /* of an input that is needed */
    bool is_needed, is_constant;
    double value;   /* of a constant */
    double largest; /* magnitude: seen, or certain */
    bool is_bounded;
    double low, high; /* certain bounds, where is_bounded */
    int fraction;
    int32_t constant[NODE_OPERANDS]; /* operands that are constants, in the format that is wanted */
    int shift[NODE_OPERANDS], out;
};

/* Where a field of a record lies: in a vector, in weights, or it is a constant. */
struct binding {
    const struct node *node; /* of the record */
    int vector;              /* or ABSENT_VECTOR */
    const struct parameter *weights;
    uint32_t first;
    double constant;
};

enum { BINDINGS = 48 };

/* The same pointwise function of all units. */
struct pointwise {
    char name[40]; /* a word of C */
    uint32_t units;
    struct record *record;
    struct binding input[BINDINGS], result[BINDINGS];
    int inputs, results;
    struct fixed_node node[RECORD_NODES];
};

enum act_kind {
    ACT_ENTER,   /* the caller's floats become integers */
    ACT_LEAVE,   /* and back */
    ACT_EMBED,   /* to = row `token` of a matrix, or one-hot; zeros for a token that is none */
    ACT_PRODUCT, /* to (+)= bias + W from */
    ACT_COLUMN,  /* to (+)= bias + column `token` of W */
    ACT_POINTWISE,
    ACT_SOFTMAX,
    ACT_POOL, /* to = from beside the steps before, in `state`: their mean, or the largest */
    ACT_COPY  /* from one format to another, if they differ */
};

struct act {
    enum act_kind kind;
    int layer;                    /* of the model, or -1 */
    int from, to;                 /* vectors */
    int state;                    /* of a pool: what was made of the steps so far, then how many they are */
    bool is_mean;                 /* of a pool */
    uint32_t to_first, count;     /* the part of `to` */
    int matrix;                   /* index, or -1 */
    int token;                    /* which of the step's tokens */
    uint32_t row;                 /* the first of count rows */
    const struct parameter *bias; /* or NULL */
    uint32_t bias_first;
    bool adds; /* to what is there */
    struct pointwise *pointwise;
    /* integers: sums += (S multiplier[i] + 2^(shift - 1)) >> shift + bias[i] */
    int32_t *multiplier, *bias_q;
    int shift;
};

struct program {
    const struct unroll_model *model;
    bool is_integer;
    int tokens;       /* columns of a step; 0: it reads numbers alone */
    int operand_bits; /* of integers: that products read of the 16; 8: rounded, within +-127 */
    double delta; /* an operand that is no farther than this from what products had of it last stays; < 0: none do */
    struct vector vector[8 * MODEL_LAYERS_MAX];
    struct matrix matrix[4 * MODEL_LAYERS_MAX];
    struct act act[16 * MODEL_LAYERS_MAX];
    int vectors, matrices, acts;
    int input, output; /* vectors of the caller; the input is absent where no numbers are read */
    uint32_t work[2];  /* numbers of the pools: sums (of floats: everything), others */
};

/* UNROLL_UNSUPPORTED with a sentence for what can't go step by step. The model outlives the program. */
unroll_status program_new(const struct unroll_model *model, bool is_integer, struct program **program);
void program_free(struct program *program); /* NULL is allowed */

/* ---- for program_*.c ---- */
unroll_status program_add_vector(struct program *, const char *name, uint32_t size, enum place, int *index);
unroll_status program_push(struct program *, const struct act *act);
/* The products and the pointwise part of a recurrent layer: its sums, states (h, the others) and results. */
struct recurrence {
    int layer, sums, h, others;
};
unroll_status program_add_recurrence(struct program *, const struct recurrence *);
unroll_status program_add_activation(struct program *, int layer, int from, int to);
int program_matrix(struct program *, enum parameter_role role, int layer); /* its index; -1: none there */

/* A token alone is the argument of a step; beside others or numbers it is one of an array. */
static inline bool program_is_of_one_token(const struct program *p) { return p->model->tokens; }

/* What may stand in a name of C for it. */
static inline char letter_of_c(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

static inline const float *parameter_values(const struct program *p, const struct parameter *q)
{
    return p->model->values + q->first;
}

/* 0: the pool of sums (of a program of floats: of everything), 1: the other. */
static inline int vector_pool(const struct program *p, const struct vector *v) { return p->is_integer && !v->is_sum; }

#endif
