/* An ONNX file as data: nodes, constants, inputs and outputs of the graph. Field numbers and types are those of
 * onnx.proto3. Operators are interpreted in onnx_import.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/protobuf.h"

#define SIMPLIFY_MODEL "simplify the model, for example with onnxsim, and export it again" /* a fix, for messages */

/* Limits: dimensions of a tensor; nodes and constants of a graph. */
enum { ONNX_RANK = 8, ONNX_NODES = 1 << 16 };

/* TensorProto.DataType */
enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT16 = 5,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_STRING = 8,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13,
    ONNX_BFLOAT16 = 16,
};

static inline bool onnx_is_float(int64_t type)
{
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_DOUBLE || type == ONNX_BFLOAT16;
}

/* A constant. Values of all floating-point types are stored as float, all others as int64. */
struct onnx_tensor {
    const char *name;
    int type; /* as in the file */
    int rank;
    int64_t dim[ONNX_RANK];
    size_t count;
    float *f; /* [count]; either f or i is NULL */
    int64_t *i;
};

/* Computes the product of a shape. Returns false if a size is negative or the product of the nonzero sizes exceeds
 * 2^40. */
static inline bool onnx_count(int rank, const int64_t *dim, size_t *count)
{
    int64_t spread = 1;
    *count = 1;
    for (int k = 0; k < rank; k++) {
        if (dim[k] < 0 || __builtin_mul_overflow(spread, dim[k] ? dim[k] : 1, &spread) || spread > (int64_t)1 << 40)
            return false;
        *count = dim[k] ? *count : 0;
    }
    *count *= (size_t)spread;
    return true;
}

/* AttributeProto.AttributeType */
enum onnx_attribute_type {
    ONNX_A_FLOAT = 1,
    ONNX_A_INT,
    ONNX_A_STRING,
    ONNX_A_TENSOR,
    ONNX_A_GRAPH,
    ONNX_A_FLOATS,
    ONNX_A_INTS,
    ONNX_A_STRINGS,
};

struct onnx_attribute {
    const char *name;
    int type;
    float f;
    int64_t i;
    const char *s;
    const struct onnx_tensor *t;
    int count; /* length of the lists */
    const float *floats;
    const int64_t *ints;
    const char **strings;
};

struct onnx_node {
    const char *name, *op, *domain;
    const char **input, **output; /* "": omitted */
    int inputs, outputs, attributes;
    struct onnx_attribute *attribute;
};

struct onnx_dim {
    int64_t size;
    const char *name;
}; /* size -1: unknown, possibly named */

struct onnx_value_info {
    const char *name;
    int type; /* 0: absent, or not a tensor */
    int rank; /* -1: unknown */
    struct onnx_dim dim[ONNX_RANK];
};

struct onnx_block;

struct onnx_file {
    const char *path, *producer, *producer_version;
    int64_t ir_version, opset; /* opset: of operators without a domain */
    int nodes, tensors, inputs, outputs;
    struct onnx_node *node;
    struct onnx_tensor *tensor; /* initializers */
    struct onnx_value_info *input, *output;
    void *outside; /* the last external data file that was read, and its name */
    size_t outside_bytes;
    const char *outside_name;
    struct onnx_block *blocks; /* all memory of the file, released together */
};

/* Parses a file. The bytes need not outlive the call. `path` is used in messages and to find external data files, which
 * must be in the same folder. */
unroll_status onnx_parse(const void *bytes, size_t size, const char *path, struct onnx_file **);
unroll_status onnx_open(const char *path, struct onnx_file **);
void onnx_close(struct onnx_file *);

/* Parses a single TensorProto, as in ONNX's test data. Its memory belongs to the file. */
unroll_status onnx_parse_tensor(struct onnx_file *, const void *bytes, size_t size, struct onnx_tensor *);

/* Allocates memory that is released with the file. Returns NULL if there is none left. */
void *onnx_allocate(struct onnx_file *, size_t count, size_t size);

const struct onnx_attribute *onnx_attribute(const struct onnx_node *, const char *name); /* NULL: not found */
