/* Conversion between ONNX's and our layers: activation functions, and the model built from an imported graph. */
#pragma once
#include "nn/cells/activation.h"
#include "convert/onnx/onnx_import.h"

/* Finds a function by ONNX's name, such as "HardSigmoid", with the default alpha and beta. */
bool onnx_function(const char *name, struct activation *);

unroll_status onnx_build(struct onnx_import *);
bool onnx_is_recurrent(const struct imported_layer *);

/* Makes each output of the graph a whole layer or states. onnx_sign, called after the model is built, creates its
 * signature. */
unroll_status onnx_settle_outputs(struct onnx_import *);
unroll_status onnx_sign(struct onnx_import *);
void onnx_report(const struct onnx_import *);
unroll_status onnx_export(const unroll_model *, const char *path, const unroll_export_config *);
