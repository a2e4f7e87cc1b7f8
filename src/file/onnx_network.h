/* ONNX's layers and ours: functions, and the model that is made of what a graph was read as. */
#ifndef FILE_ONNX_NETWORK_H
#define FILE_ONNX_NETWORK_H
#include "cells/activation.h"
#include "file/onnx_import.h"

/* A function by ONNX's name, "HardSigmoid", with the default alpha and beta. */
bool onnx_function(const char *name, struct activation *);

unroll_status onnx_build(struct onnx_import *);
bool onnx_is_recurrent(const struct imported_layer *);

/* Each output of the graph becomes whole layers or states; then, of the model that was built, the signature. */
unroll_status onnx_settle_outputs(struct onnx_import *);
unroll_status onnx_sign(struct onnx_import *);
void onnx_report(const struct onnx_import *);
unroll_status onnx_export(const unroll_model *, const char *path, const unroll_export_config *);

#endif
