/* Interprets an ONNX graph as a network. Each value of the graph is a constant or symbolic. A symbolic value records
 * which axis is time or batch, and which layers' outputs it consists of. Operators map values to values and create
 * layers. This is not a general ONNX runtime: graphs that cannot be expressed as layers are refused, with the node's
 * name. */
#pragma once
#include "convert/onnx/onnx_file.h"
#include "unroll_network.h"

/* ---- values ---------------------------------------------------------------------------- */

/* The meaning of an axis. Axes of the graph's inputs are numbered from AXIS_OF_INPUT on. A recurrent node determines
 * which of them are time and batch. */
enum { AXIS_ONE, AXIS_FEATURE, AXIS_STACK, AXIS_OF_INPUT };

struct symbolic_axis {
    int id;
    int64_t size; /* -1: unknown */
    int second;   /* the next axis, merged into this one in row-major order; 0: none */
    int64_t second_size;
};

enum piece_kind {
    PIECE_INPUT, /* an input of the graph */
    PIECE_Y,     /* output of a layer */
    PIECE_H,
    PIECE_C /* last states of a recurrent layer */
};

/* A range along the feature axis that comes from one input, output or state. */
struct onnx_part {
    enum piece_kind kind;
    int index, direction; /* input or layer; direction of a state */
    int row, axis;        /* row: entry of the first axis if that was split, else -1; axis: became features */
    int64_t first, width; /* range in the layer's output or the state; width -1: unknown */
};

/* Which steps of a sequence the value holds. */
enum steps_read { ALL_STEPS, LAST_STEP, LAST_VALID };

struct symbolic {
    int rank;
    struct symbolic_axis axis[ONNX_RANK];
    int stacks, pieces;      /* entries along AXIS_STACK (1 also without that axis), pieces in each */
    struct onnx_part *piece; /* [stacks][pieces] */
    enum steps_read reading;
    bool is_integer;
};

enum value_kind { VALUE_UNKNOWN, VALUE_CONSTANT, VALUE_FILL, VALUE_SYMBOLIC };

struct value {
    const char *name;
    enum value_kind kind;
    int uses, readers;                  /* needed nodes and graph outputs that use it; that read its values */
    const struct onnx_tensor *constant; /* integer constants may contain symbols, see below */
    float fill; /* the common value of a constant whose shape does not matter; integers: see `constant` */
    struct symbolic symbolic;
};

/* Symbols in integer constants: the size of an axis known only at run time, or an unknown result computed from
 * sizes. */
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
    /* dense: [N, K] or its transpose; NULL: the identity */
    const struct onnx_tensor *weight, *bias;
    bool transposed;
    bool is_unnamed;
    const int *column; /* index of each of the node's inputs in its concatenated sources; NULL: all in order */
    bool shared;       /* has several readers, so nothing can be merged into it */
};

/* Source of a layer's first state: a row of an input of the graph, and the batch and unit axes of that input (-1:
 * none). */
struct state_use {
    int input, row, layer, direction, batch, features;
    bool is_cell, batch_first;
};

struct onnx_import {
    struct onnx_file *file;
    const unroll_import_config *config;
    struct value *value;
    int values, table_size;
    int *table;                   /* values by the hash of their names */
    bool *needed;                 /* [nodes] */
    const struct onnx_node *node; /* the current node */

    bool bound;                  /* time and batch axes are known */
    int time, batch, features;   /* axis ids; features: of the input; -1: not known yet */
    int sequence, lengths;       /* inputs of the graph; -1: none */
    int recurrent, with_lengths; /* recurrent nodes, and how many of them read lengths */
    const struct onnx_tensor *embedding;
    bool tokens;
    int64_t input;                /* width, or number of symbols */
    struct imported_layer *layer; /* [IMPORT_LAYERS] */
    int layers, states;
    struct state_use *state; /* [IMPORT_STATES] */
    unroll_model *model;
};

/* Imports the graph of a file. The caller takes the model, then frees the import before the file. */
unroll_status onnx_import_graph(struct onnx_file *, const unroll_import_config *, struct onnx_import **);
void onnx_import_free(struct onnx_import *);
const struct value *onnx_value(const struct onnx_import *, const char *name);

/* ---- for the operators ----------------------------------------------------------------- */

typedef unroll_status onnx_operator(struct onnx_import *);

/* Fails with a message that names the current node. */
#define refuse_node(im, ...) (onnx_set_error(im, __VA_ARGS__), UNROLL_UNSUPPORTED)
void onnx_set_error(const struct onnx_import *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Input k of the current node, or NULL if omitted. Output k: a value for the operator to set. */
struct value *onnx_input(struct onnx_import *, int k);
struct value *onnx_output(struct onnx_import *, int k);
unroll_status onnx_operand(struct onnx_import *, int k, enum value_kind kind, struct value **);
int64_t onnx_int(const struct onnx_import *, const char *attribute, int64_t otherwise);
float onnx_float(const struct onnx_import *, const char *attribute, float otherwise);

/* Reads integers from input k, or from the attribute that older opsets use. *count is -1 if both are absent. */
unroll_status onnx_ints(struct onnx_import *, int k, const char *attribute, const int64_t **list, int *count);

unroll_status onnx_new_tensor(struct onnx_import *, int rank, const int64_t *dim, bool is_float, struct onnx_tensor **);
unroll_status onnx_set_constant(struct onnx_import *, int output, const struct onnx_tensor *);
unroll_status onnx_set_fill(struct onnx_import *, int output, float fill);
unroll_status onnx_new_pieces(struct onnx_import *, struct symbolic *, int stacks, int pieces);
int onnx_axis(int64_t axis, int rank);                          /* negative ones count from the end; -1: out of range */
int onnx_rank(const struct value *);                            /* of a constant or symbolic value */
int64_t onnx_axis_size(const struct symbolic_axis *);           /* its size or symbol */
const char *onnx_axis_word(const struct onnx_import *, int id); /* "time", "the batch", ... */
unroll_status onnx_set_symbolic(struct onnx_import *, int output, const struct symbolic *);

/* Makes the last axis the feature axis, if it is still an axis of an input. Fails if the features are not last. */
unroll_status onnx_take_features(struct onnx_import *, struct symbolic *);
int onnx_feature_axis(const struct symbolic *); /* -1: none, or an input */

/* Selects columns [first, first + count) of each entry of a stack. Or splits all columns of a value into a stack of
 * `stacks` entries of `count` columns each. */
unroll_status onnx_cut(struct onnx_import *, struct symbolic *, int stacks, int64_t first, int64_t count);

/* Makes this value, with `width` features, the source of a layer. */
unroll_status onnx_sources(struct onnx_import *, const struct symbolic *, int64_t width, struct imported_layer *);
int64_t onnx_layer_width(const struct imported_layer *); /* width of the layer's output */
unroll_status onnx_add_layer(struct onnx_import *, const char *kind, const char *name, struct imported_layer **);

/* Appends a dense layer with identity weights to a value. */
unroll_status onnx_add_identity(struct onnx_import *, struct symbolic *, const char *name, struct imported_layer **);

/* One function for each operator; see onnx_import.c. */
onnx_operator onnx_recurrent, onnx_matmul, onnx_gemm, onnx_add, onnx_arithmetic, onnx_activation,
    onnx_embedding_or_gather, onnx_one_hot, onnx_transpose, onnx_squeeze, onnx_unsqueeze, onnx_reshape, onnx_flatten,
    onnx_concat, onnx_slice, onnx_split, onnx_shape, onnx_constant, onnx_constant_of_shape, onnx_expand, onnx_cast,
    onnx_pass, onnx_dropout, onnx_equal, onnx_where;

/* Operations on constants (onnx_constants.c). They set the node's output, except for the slice. */
unroll_status onnx_constant_transpose(struct onnx_import *, const struct onnx_tensor *, const int64_t *order);
unroll_status onnx_constant_slice(struct onnx_import *, const struct onnx_tensor *, int axis, int64_t first,
                                  int64_t step, int64_t count, struct onnx_tensor **);
unroll_status onnx_constant_gather(struct onnx_import *, const struct onnx_tensor *, int axis,
                                   const struct onnx_tensor *index);
unroll_status onnx_constant_concat(struct onnx_import *, int axis);
unroll_status onnx_constant_reshape(struct onnx_import *, const struct onnx_tensor *, int rank, const int64_t *dim);
