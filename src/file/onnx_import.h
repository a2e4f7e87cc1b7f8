/* What an ONNX graph means as a network: each value of the graph is a constant, or a flow, numbers of which
 * is known what they are: which axis is time or batch, which layer's outputs lie side by side. Operators map
 * such values to such values; layers fall out on the way. Not a general runtime of ONNX: what can't be said
 * as layers of a network is refused, with the node's name. */
#ifndef FILE_ONNX_IMPORT_H
#define FILE_ONNX_IMPORT_H
#include "file/onnx_file.h"
#include "unroll.h"

/* ---- values ---------------------------------------------------------------------------- */

/* What an axis is. Those of a graph's inputs have a number each, from AXIS_OF_INPUT on; one of them turns out
 * to be time and one the batch when a recurrent node reads them. */
enum { AXIS_ONE, AXIS_FEATURE, AXIS_STACK, AXIS_OF_INPUT };

struct axis {
    int id;
    int64_t size; /* -1: unknown */
    int second;   /* merged with the axis that followed, row by row; 0: not */
    int64_t second_size;
};

enum piece_kind {
    PIECE_INPUT, /* of an input of the graph */
    PIECE_Y,     /* what a layer gives */
    PIECE_H,
    PIECE_C /* states that a recurrent layer ends with */
};

/* Some numbers that lie side by side along the feature axis. */
struct part {
    enum piece_kind kind;
    int index, direction; /* of an input, of a layer; of states: which direction */
    int row, axis;        /* of inputs: which of the first axis, if that was taken apart, else -1; the
                             axis that became features */
    int64_t first, width; /* of the layer's outputs, of the state; width -1: unknown */
};

/* Steps that were taken out of a sequence. */
enum reading { ALL_STEPS, LAST_STEP, LAST_VALID };

struct symbolic {
    int rank;
    struct axis axis[ONNX_RANK];
    int stacks, pieces; /* entries along AXIS_STACK (1: may be none), pieces of each */
    struct part *piece; /* [stacks][pieces] */
    enum reading reading;
    bool is_integer;
};

enum value_kind { VALUE_UNKNOWN, VALUE_CONSTANT, VALUE_FILL, VALUE_SYMBOLIC };

struct value {
    const char *name;
    enum value_kind kind;
    int uses, readers;                  /* by needed nodes and as outputs of the graph; readers look at
                                           numbers, not at the shape alone */
    const struct onnx_tensor *constant; /* int64 among its numbers may be symbols, see below */
    float fill; /* all numbers of a constant whose shape does not matter; integers: `constant` is
                   one of them */
    struct symbolic symbolic;
};

/* Sizes that are known when the network runs, in integer constants: of an axis,
 * and what is computed of them. */
#define SYMBOL(id)     (INT64_MIN + (id))
#define SYMBOL_UNKNOWN (INT64_MIN + (1 << 24))
static inline bool is_symbol(int64_t n) { return n <= SYMBOL_UNKNOWN; }

/* ---- layers ---------------------------------------------------------------------------- */

enum { IMPORT_LAYERS = 64, IMPORT_STATES = 256 };

struct imported_layer {
    unroll_layer layer;
    char name[32], kind[16], activations[192], activation[64];
    int node;
    /* recurrent: ONNX's arrays; block d of the first axis is direction first_block + d of the layer */
    const struct onnx_tensor *W, *R, *B, *P;
    int first_block, directions;
    /* dense: [N, K], or its transpose; NULL: the identity */
    const struct onnx_tensor *weight, *bias;
    bool transposed;
    bool is_unnamed;
    const int *column; /* which of its sources' numbers, side by side, each input of the node is;
                          NULL: all of them, in their order */
    bool shared;       /* several read it: what one of them does can't become part of it */
};

/* Where a layer's first state comes from: a row of an input of the graph, whose axes of the batch and of units have
 * these numbers (-1: it has none). */
struct state_use {
    int input, row, layer, direction, batch, features;
    bool is_cell, batch_first;
};

struct onnx_import {
    struct onnx_file *file;
    const unroll_import_config *config;
    struct value *value;
    int values, table_size;
    int *table;                   /* values by hash of their names */
    bool *needed;                 /* [nodes] */
    const struct onnx_node *node; /* the one that is looked at */

    bool bound;                  /* time and batch are known */
    int time, batch, features;   /* axis ids; features: of the input, -1: not known yet */
    int sequence, lengths;       /* inputs of the graph; -1: none */
    int recurrent, with_lengths; /* nodes, and those of them that read lengths */
    const struct onnx_tensor *embedding;
    bool tokens;
    int64_t input;                /* width, or how many symbols */
    struct imported_layer *layer; /* [IMPORT_LAYERS] */
    int layers, states;
    struct state_use *state; /* [IMPORT_STATES] */
    unroll_model *model;
};

/* Reads the file's graph; the caller frees the result, then the file;
 * the model is the caller's from then on. */
unroll_status onnx_import_graph(struct onnx_file *, const unroll_import_config *, struct onnx_import **);
void onnx_import_free(struct onnx_import *);
const struct value *onnx_value(const struct onnx_import *, const char *name);

/* ---- for the operators ----------------------------------------------------------------- */

typedef unroll_status onnx_operator(struct onnx_import *);

/* A sentence with the node that is looked at. */
#define refuse_node(im, ...) (onnx_set_error(im, __VA_ARGS__), UNROLL_UNSUPPORTED)
void onnx_set_error(const struct onnx_import *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Input k of the node: NULL where it is left out. Output k: a value to be set, at least in a corner. */
struct value *onnx_input(struct onnx_import *, int k);
struct value *onnx_output(struct onnx_import *, int k);
unroll_status onnx_want(struct onnx_import *, int k, enum value_kind kind, struct value **);
int64_t onnx_int(const struct onnx_import *, const char *attribute, int64_t otherwise);
float onnx_float(const struct onnx_import *, const char *attribute, float otherwise);

/* Integers from input k, or from the attribute of older opsets; *count -1: neither is there. */
unroll_status onnx_ints(struct onnx_import *, int k, const char *attribute, const int64_t **list, int *count);

unroll_status onnx_new_tensor(struct onnx_import *, int rank, const int64_t *dim, bool is_float, struct onnx_tensor **);
unroll_status onnx_set_constant(struct onnx_import *, int output, const struct onnx_tensor *);
unroll_status onnx_set_fill(struct onnx_import *, int output, float fill);
unroll_status onnx_new_pieces(struct onnx_import *, struct symbolic *, int stacks, int pieces);
int onnx_axis(int64_t axis, int rank);                          /* negative ones from the end; -1: out of range */
int onnx_rank(const struct value *);                            /* of a constant, of a flow */
int64_t onnx_axis_size(const struct axis *);                    /* or its symbol */
const char *onnx_axis_word(const struct onnx_import *, int id); /* "time", "the batch", ... */
unroll_status onnx_set_symbolic(struct onnx_import *, int output, const struct symbolic *);

/* The axis of features must be the last one: of an input it becomes that. */
unroll_status onnx_take_features(struct onnx_import *, struct symbolic *);
int onnx_feature_axis(const struct symbolic *); /* -1: it has none, or is an input */

/* Columns [first, first + count) of each entry of a stack; or a stack of so many entries of `count` columns each, which
 * are all of a flow. */
unroll_status onnx_cut(struct onnx_import *, struct symbolic *, int stacks, int64_t first, int64_t count);

/* The layer reads this flow, of `width` features. */
unroll_status onnx_sources(struct onnx_import *, const struct symbolic *, int64_t width, struct imported_layer *);
int64_t onnx_layer_width(const struct imported_layer *); /* of what it gives */
unroll_status onnx_add_layer(struct onnx_import *, const char *kind, const char *name, struct imported_layer **);

/* The flow becomes what a layer with the identity as its weights makes of it. */
unroll_status onnx_add_identity(struct onnx_import *, struct symbolic *, const char *name, struct imported_layer **);

/* One function of an operator's name each; see onnx_import.c. */
onnx_operator onnx_recurrent, onnx_matmul, onnx_gemm, onnx_add, onnx_arithmetic, onnx_activation,
    onnx_embedding_or_gather, onnx_one_hot, onnx_transpose, onnx_squeeze, onnx_unsqueeze, onnx_reshape, onnx_flatten,
    onnx_concat, onnx_slice, onnx_split, onnx_shape, onnx_constant, onnx_constant_of_shape, onnx_expand, onnx_cast,
    onnx_pass, onnx_dropout, onnx_equal, onnx_where;

/* Constants taken apart and put together (onnx_constants.c): the node's output, but for a slice, which is one of many.
 */
unroll_status onnx_constant_transpose(struct onnx_import *, const struct onnx_tensor *, const int64_t *order);
unroll_status onnx_constant_slice(struct onnx_import *, const struct onnx_tensor *, int axis, int64_t first,
                                  int64_t step, int64_t count, struct onnx_tensor **);
unroll_status onnx_constant_gather(struct onnx_import *, const struct onnx_tensor *, int axis,
                                   const struct onnx_tensor *index);
unroll_status onnx_constant_concat(struct onnx_import *, int axis);
unroll_status onnx_constant_reshape(struct onnx_import *, const struct onnx_tensor *, int rank, const int64_t *dim);

#endif
