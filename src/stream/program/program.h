/* A program: a model's streaming plan for a small processor, a list of acts on vectors. It is made from the plan of one
 * row, then gets integers (quantize.c), and is printed (c99.c) or run as a reference (fixed.c). It contains cells only
 * as records, not by name. Unlike a plan, it has no axes or queues. */
#pragma once
#include "nn/record/record.h"
#include "model/model.h"
#include <stdbool.h>
#include <stdint.h>

enum { ABSENT_VECTOR = -1 };

enum place {
    PLACE_CALLER, /* the caller's x or y: floats */
    PLACE_STATE,  /* kept between steps */
    PLACE_WORK    /* used in one step: vectors not needed at the same time share memory */
};

struct vector {
    char name[40]; /* a C identifier */
    uint32_t size;
    enum place place;
    bool is_sum;     /* a result of products: 32 bits in integers, where others have 16 */
    int first, last; /* acts that use it */
    uint32_t offset; /* PLACE_WORK: numbers from the start of its pool */
    /* integers */
    double largest; /* largest magnitude, measured or certain */
    int fraction;   /* a number q represents q 2^-fraction */
};

struct matrix {
    const struct parameter *parameter;
    const float *values; /* [rows, width] */
    uint32_t rows, width;
    bool by_columns; /* read by columns */
    int8_t *q;       /* [rows, width] integers; scale is the value of one unit in each row */
    double *scale;   /* [rows] */
};

/* A node in integers: the arguments of the functions in integer_functions.h (fixed.c, c99_fixed.c). */
struct fixed_node {
    const struct binding *field; /* of an input that is needed */
    bool is_needed, is_constant;
    double value;   /* of a constant */
    double largest; /* magnitude, measured or certain */
    bool is_bounded;
    double low, high; /* certain bounds, if is_bounded */
    int fraction;
    int32_t constant[NODE_OPERANDS]; /* constant operands, in the format that the node needs */
    int shift[NODE_OPERANDS], out;
};

/* The source of a record's field: a vector, weights, or a constant. */
struct binding {
    const struct node *node; /* in the record */
    int vector;              /* or ABSENT_VECTOR */
    const struct parameter *weights;
    uint32_t first;
    double constant;
};

enum { BINDINGS = 48 };

/* A pointwise function, the same for all units. */
struct pointwise {
    char name[40]; /* a C identifier */
    uint32_t units;
    struct record *record;
    struct binding input[BINDINGS], result[BINDINGS];
    int inputs, results;
    struct fixed_node node[RECORD_NODES];
};

enum act_kind {
    ACT_ENTER,   /* converts the caller's floats to integers */
    ACT_LEAVE,   /* converts back */
    ACT_EMBED,   /* to = row `token` of a matrix, or one-hot; zeros for an invalid token */
    ACT_PRODUCT, /* to (+)= bias + W from */
    ACT_COLUMN,  /* to (+)= bias + column `token` of W */
    ACT_POINTWISE,
    ACT_SOFTMAX,
    ACT_POOL, /* to = mean or maximum of `from` and the steps before, which are in `state` */
    ACT_COPY  /* converts the format if it differs */
};

struct act {
    enum act_kind kind;
    int layer;                    /* of the model, or -1 */
    int from, to;                 /* vectors */
    int state;                    /* pool: the accumulated values, then the number of steps */
    bool is_mean;                 /* pool: mean, otherwise maximum */
    uint32_t to_first, count;     /* the part of `to` */
    int matrix;                   /* index, or -1 */
    int token;                    /* index among the step's tokens */
    uint32_t row;                 /* the first of `count` rows */
    const struct parameter *bias; /* or NULL */
    uint32_t bias_first;
    bool adds; /* adds to the old values */
    struct pointwise *pointwise;
    /* integers: sums += (S multiplier[i] + 2^(shift - 1)) >> shift + bias[i] */
    int32_t *multiplier, *bias_q;
    int shift;
};

struct program {
    const struct unroll_model *model;
    bool is_integer;
    int tokens;       /* columns in a step; 0: it reads only numbers */
    int operand_bits; /* integers: bits that products read of the 16; 8: rounded, within +-127 */
    double delta;     /* an operand keeps its last value if its change is at most this; < 0: never */
    struct vector vector[8 * MODEL_LAYERS_MAX];
    struct matrix matrix[4 * MODEL_LAYERS_MAX];
    struct act act[16 * MODEL_LAYERS_MAX];
    int vectors, matrices, acts;
    int input, output; /* the caller's vectors; input is absent if no numbers are read */
    uint32_t work[2];  /* sizes of the pools: sums (in floats: everything), others */
};

/* Fails with UNROLL_UNSUPPORTED and a message if the model cannot run step by step. The model must outlive the
 * program. */
unroll_status program_new(const struct unroll_model *model, bool is_integer, struct program **program);
void program_free(struct program *program); /* NULL is allowed */

/* ---- for program_*.c ---- */
unroll_status program_add_vector(struct program *, const char *name, uint32_t size, enum place, int *index);
unroll_status program_push(struct program *, const struct act *act);
/* The vectors of a recurrent layer for program_add_recurrence: its sums, h and the other states. This adds its
 * products, pointwise part and results. */
struct recurrence {
    int layer, sums, h, others;
};
unroll_status program_add_recurrence(struct program *, const struct recurrence *);
unroll_status program_add_activation(struct program *, int layer, int from, int to);
int program_matrix(struct program *, enum parameter_role role, int layer); /* its index, or -1 */

/* A single token is an argument of the step. Several tokens, or tokens and numbers, are in arrays. */
static inline bool program_is_of_one_token(const struct program *p) { return p->model->tokens; }

/* Replaces characters that a C identifier cannot contain. */
static inline char letter_of_c(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

static inline const float *parameter_values(const struct program *p, const struct parameter *q)
{
    return p->model->values + q->first;
}

/* Returns 0 for the pool of sums (in floats: of everything), 1 for the other one. */
static inline int vector_pool(const struct program *p, const struct vector *v) { return p->is_integer && !v->is_sum; }
