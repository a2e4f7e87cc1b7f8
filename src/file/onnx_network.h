/* ONNX's layers and ours: the order of gates, and the model that is made of what a graph was read as. */
#ifndef FILE_ONNX_NETWORK_H
#define FILE_ONNX_NETWORK_H
#include "cells/activation.h"
#include "file/onnx_import.h"

/* Where gate k of our order (LSTM i f g o, GRU r z n) lies in ONNX's (i o f c, z r h), and peephole k of ours
 * (i f o) in ONNX's (i o f). */
static const int onnx_lstm_gates[] = { 0, 2, 3, 1 }, onnx_gru_gates[] = { 1, 0, 2 }, onnx_rnn_gates[] = { 0 },
                 onnx_peepholes[] = { 0, 2, 1 };

static inline const int *onnx_gates(const char *kind, int *count)
{
    *count = kind[0] == 'l' ? 4 : kind[0] == 'g' ? 3 : 1;
    return kind[0] == 'l' ? onnx_lstm_gates : kind[0] == 'g' ? onnx_gru_gates : onnx_rnn_gates;
}

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
