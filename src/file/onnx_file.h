/* An ONNX file as data: the graph's nodes, constants, inputs and outputs, with field numbers and types taken
 * from onnx.proto3. What operators mean is not known here (onnx_import.c), nor what a model of ours is. */
#ifndef FILE_ONNX_FILE_H
#define FILE_ONNX_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* At most: dimensions of a tensor, nodes and constants of a graph. */
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

/* A constant. Numbers of all floating types are floats here, those of all others int64. */
struct onnx_tensor {
    const char *name;
    int type; /* as the file has it */
    int rank;
    int64_t dim[ONNX_RANK];
    size_t count;
    float *f; /* [count]; one of the two is NULL */
    int64_t *i;
};

/* The product of a shape; false: a size is negative,
 * or the sizes that are not zero have a product beyond 2^40. */
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
    int count; /* of the lists */
    const float *floats;
    const int64_t *ints;
    const char **strings;
};

struct onnx_node {
    const char *name, *op, *domain;
    const char **input, **output; /* "": left out */
    int inputs, outputs, attributes;
    struct onnx_attribute *attribute;
};

struct onnx_dim {
    int64_t size;
    const char *name;
}; /* size -1: unknown, perhaps named */

struct onnx_value_info {
    const char *name;
    int type; /* 0: not said, or no tensor */
    int rank; /* -1: not said */
    struct onnx_dim dim[ONNX_RANK];
};

struct onnx_block;

struct onnx_file {
    const char *path, *producer, *producer_version;
    int64_t ir_version, opset; /* opset: of the operators without a domain */
    int nodes, tensors, inputs, outputs;
    struct onnx_node *node;
    struct onnx_tensor *tensor; /* initializers */
    struct onnx_value_info *input, *output;
    void *outside; /* the last file beside the model with numbers, and its name */
    size_t outside_bytes;
    const char *outside_name;
    struct onnx_block *blocks; /* all memory of the file, released together */
};

/* The bytes need not outlive the call. path is for messages,
 * and tensors outside of the file lie beside it. */
unroll_status onnx_parse(const void *bytes, size_t size, const char *path, struct onnx_file **);
unroll_status onnx_open(const char *path, struct onnx_file **);
void onnx_close(struct onnx_file *);

/* A TensorProto by itself, as onnx's tests have them; its memory belongs to the file. */
unroll_status onnx_parse_tensor(struct onnx_file *, const void *bytes, size_t size, struct onnx_tensor *);

/* Memory that lives as long as the file; NULL: none left. */
void *onnx_allocate(struct onnx_file *, size_t count, size_t size);

const struct onnx_attribute *onnx_attribute(const struct onnx_node *, const char *name); /* or NULL */

#endif
