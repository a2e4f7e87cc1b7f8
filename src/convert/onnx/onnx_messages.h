/* Shared by the parsers of ONNX messages: onnx_file.c (the graph) and onnx_tensor.c (its constants). */
#pragma once
#include "base/dtype.h"
#include "convert/onnx/onnx_file.h"

/* Allocates `count` elements that belong to the file and stores their address in *array. */
unroll_status onnx_take(struct onnx_file *, size_t count, size_t size, void *array);
unroll_status onnx_take_text(struct onnx_file *, const struct pb_reader *, const struct pb_field *, const char **text);
unroll_status onnx_read_tensor(struct onnx_file *, struct pb_reader, struct onnx_tensor *);
