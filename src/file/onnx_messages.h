/* What the readers of ONNX's messages share: onnx_file.c (the graph) and onnx_tensor.c (its constants). */
#ifndef FILE_ONNX_MESSAGES_H
#define FILE_ONNX_MESSAGES_H
#include "base/dtype.h"
#include "file/onnx_file.h"
#include "file/protobuf.h"

/* *array = count things of the file's memory. */
unroll_status onnx_take(struct onnx_file *, size_t count, size_t size, void *array);
unroll_status onnx_take_text(struct onnx_file *, const struct pb_reader *, const struct pb_field *, const char **text);
unroll_status onnx_read_tensor(struct onnx_file *, struct pb_reader, struct onnx_tensor *);

#endif
