"""Makes tests/vectors/onnx: ONNX graphs with random weights, and the results of ONNX Runtime.

    python3 tools/make_onnx_vectors.py --out tests/vectors/onnx

Needs numpy, onnx and onnxruntime; torch and onnxscript for the graphs of PyTorch's two exporters (--torch). Each case
is NAME.onnx and NAME.npz: the arrays of the graph's inputs and outputs by name. Layout 1, which ONNX Runtime refuses,
is computed with layout 0 and transposed.
"""
import argparse
import os
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

T, B, I, H = 5, 3, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def random(rng, *shape, scale=0.8):
    return rng.uniform(-scale, scale, shape).astype(np.float32)


def info(name, array, dims=None):
    kind = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}[str(array.dtype)]
    return helper.make_tensor_value_info(name, kind, dims or list(array.shape))


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def make_model(nodes, inputs, outputs, initializers, opset, producer="vectors"):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name=producer)
    model.ir_version = 8 if opset < 20 else 10
    return model


def save(out, name, model, arrays):
    onnx.save(model, os.path.join(out, name + ".onnx"))
    np.savez(os.path.join(out, name + ".npz"), **arrays)


# ---- single nodes over all options --------------------------------------------------------

def node_case(out, name, op, opset=14, direction="forward", bias=True, lengths=None, states=False, peephole=False, layout=0,
              **attributes):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * H
    weights = {"W": random(rng, directions, rows, I), "R": random(rng, directions, rows, H)}
    if bias:
        weights["B"] = random(rng, directions, 2 * rows)
    if peephole:
        weights["P"] = random(rng, directions, 3 * H)
    feeds = {"X": random(rng, T, B, I, scale=1.5)}
    if lengths is not None:
        feeds["lens"] = np.array(lengths, np.int32)
    if states:
        feeds["h0"] = random(rng, directions, B, H)
        if op == "LSTM":
            feeds["c0"] = random(rng, directions, B, H)
    present = lambda key: key if key in weights or key in feeds else ""
    inputs = ["X", "W", "R", present("B"), present("lens"), present("h0")]
    outputs = ["Y", "Y_h"]
    if op == "LSTM":
        inputs += [present("c0"), present("P")]
        outputs += ["Y_c"]
    while not inputs[-1]:
        inputs.pop()
    if op == "GRU" and "linear_before_reset" not in attributes:
        attributes["linear_before_reset"] = 0
    make = lambda layout: helper.make_node(op, inputs, outputs, name="node", hidden_size=H, direction=direction, **attributes,
                                           **({"layout": layout} if layout else {}))
    constants = [numpy_helper.from_array(array, key) for key, array in weights.items()]

    def build(layout, feeds, results):
        dims = {"X": ["batch", "time", I] if layout else ["time", "batch", I]}
        return make_model([make(layout)], [info(k, v, dims.get(k)) for k, v in feeds.items()],
                          [helper.make_tensor_value_info(o, TensorProto.FLOAT, None if results is None else list(results[i].shape))
                           for i, o in enumerate(outputs)], constants, opset)

    results = run(build(0, feeds, None), feeds)
    if layout:
        turn = lambda a: np.ascontiguousarray(np.swapaxes(a, 0, 1))
        feeds = {k: v if v.ndim == 1 else turn(v) for k, v in feeds.items()}
        results = [np.ascontiguousarray(results[0].transpose(2, 0, 1, 3))] + [turn(r) for r in results[1:]]
    save(out, name, build(layout, feeds, results), {**feeds, **dict(zip(outputs, results))})


def node_cases(out):
    ragged = [3, 5, 1]
    for op in GATES:
        low = op.lower()
        after = {"linear_before_reset": 1} if op == "GRU" else {}
        for opset in 7, 14, 22:
            node_case(out, f"{low}-opset{opset}", op, opset, "bidirectional", lengths=ragged, states=True, **after)
        node_case(out, f"{low}-reverse", op, direction="reverse", lengths=ragged, states=True)
        node_case(out, f"{low}-forward-clip", op, clip=0.3, states=True)
        node_case(out, f"{low}-clip-bi", op, clip=0.25, direction="bidirectional", lengths=ragged, states=True, **after)
        node_case(out, f"{low}-no-bias", op, bias=False)
        node_case(out, f"{low}-layout1", op, layout=1, direction="bidirectional", states=True)
        node_case(out, f"{low}-layout1-reverse", op, layout=1, direction="reverse", lengths=ragged)
    node_case(out, "gru-before", "GRU", states=True, lengths=ragged)
    node_case(out, "gru-after-clip", "GRU", states=True, clip=0.3, linear_before_reset=1)
    node_case(out, "lstm-peephole", "LSTM", peephole=True, states=True, lengths=ragged, direction="bidirectional")
    node_case(out, "lstm-peephole-clip", "LSTM", peephole=True, states=True, clip=0.3)
    node_case(out, "lstm-coupled", "LSTM", input_forget=1, states=True, lengths=ragged, direction="bidirectional")
    node_case(out, "lstm-coupled-clip", "LSTM", input_forget=1, states=True, clip=0.3)
    node_case(out, "lstm-coupled-peephole", "LSTM", input_forget=1, states=True, peephole=True)
    node_case(out, "lstm-functions", "LSTM", states=True, activations=["HardSigmoid", "Softsign", "Elu"],
              activation_alpha=[0.3, 0.7], activation_beta=[0.4])
    node_case(out, "lstm-functions-bi", "LSTM", states=True, lengths=ragged, direction="bidirectional",
              activations=["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "ScaledTanh", "Softplus"],
              activation_alpha=[0.25, 1.3], activation_beta=[0.45, 0.6])
    node_case(out, "lstm-functions-clip-peephole", "LSTM", states=True, peephole=True, clip=0.6,
              activations=["Sigmoid", "LeakyRelu", "Tanh"], activation_alpha=[0.2])
    node_case(out, "gru-functions", "GRU", states=True, linear_before_reset=1, activations=["HardSigmoid", "Relu"],
              activation_alpha=[0.3], activation_beta=[0.45])
    node_case(out, "gru-before-functions-bi", "GRU", states=True, direction="bidirectional", lengths=ragged,
              activations=["Sigmoid", "Softsign", "HardSigmoid", "Tanh"])
    for function, alpha, beta in (("Relu", None, None), ("Affine", 0.6, 0.1), ("ThresholdedRelu", 0.2, None), ("Elu", 0.6, None),
                                  ("LeakyRelu", 0.1, None), ("ScaledTanh", 0.7, 0.8), ("Softsign", None, None), ("Softplus", None, None),
                                  ("Sigmoid", None, None), ("HardSigmoid", 0.3, 0.4)):
        numbers = {k: [v] for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v is not None}
        node_case(out, f"rnn-{function.lower()}", "RNN", states=True, activations=[function], **numbers)


# ---- graphs as converters from Keras write them --------------------------------------------

def keras_lstm(out):
    """[batch, time, I] -> Transpose, LSTM, Squeeze, Transpose -> MatMul, Add, Softmax"""
    rng = np.random.default_rng(7)
    constants = {"W": random(rng, 1, 4 * H, I), "R": random(rng, 1, 4 * H, H), "B": random(rng, 1, 8 * H),
                 "kernel": random(rng, H, 6), "bias": random(rng, 6), "axes": np.array([1], np.int64)}
    nodes = [helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0, 2]),
             helper.make_node("LSTM", ["xt", "W", "R", "B"], ["Y"], hidden_size=H),
             helper.make_node("Squeeze", ["Y", "axes"], ["ys"]),
             helper.make_node("Transpose", ["ys"], ["yt"], perm=[1, 0, 2]),
             helper.make_node("MatMul", ["yt", "kernel"], ["p"]), helper.make_node("Add", ["p", "bias"], ["s"]),
             helper.make_node("Softmax", ["s"], ["out"], axis=-1)]
    finish(out, "keras-lstm", nodes, constants, {"x": (random(rng, B, T, I), ["batch", "time", I])}, 13)


def keras_gru(out):
    """Embedding, two GRUs (the second returns its last state): Gather, GRU, Squeeze, GRU, Squeeze, Gemm, Sigmoid"""
    rng = np.random.default_rng(8)
    constants = {"table": random(rng, 9, I), "bias": random(rng, 2), "kernel": random(rng, H, 2)}
    for k, inputs in enumerate((I, H)):
        constants |= {f"W{k}": random(rng, 1, 3 * H, inputs), f"R{k}": random(rng, 1, 3 * H, H), f"B{k}": random(rng, 1, 6 * H)}
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]),
             helper.make_node("Transpose", ["e"], ["et"], perm=[1, 0, 2]),
             helper.make_node("GRU", ["et", "W0", "R0", "B0"], ["Y0"], hidden_size=H, linear_before_reset=1),
             helper.make_node("Squeeze", ["Y0"], ["y0"], axes=[1]),
             helper.make_node("GRU", ["y0", "W1", "R1", "B1"], ["", "Y1h"], hidden_size=H, linear_before_reset=1),
             helper.make_node("Squeeze", ["Y1h"], ["h"], axes=[0]),
             helper.make_node("Gemm", ["h", "kernel", "bias"], ["g"]), helper.make_node("Sigmoid", ["g"], ["out"])]
    finish(out, "keras-gru", nodes, constants, {"tokens": (rng.integers(0, 9, (B, T)).astype(np.int32), ["batch", "time"])}, 11)


def time_distributed(out):
    """Reshape [-1, H] around a dense layer, as in TimeDistributed, and two LSTMs in parallel."""
    rng = np.random.default_rng(9)
    constants = {"flat": np.array([-1, 2 * H], np.int64), "kernel": random(rng, 2 * H, 3), "bias": random(rng, 3),
                 "full": np.array([-1, T, 3], np.int64), "axes": np.array([1], np.int64)}
    nodes = [helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0, 2])]
    for k, direction in enumerate(("forward", "reverse")):
        constants |= {f"W{k}": random(rng, 1, 4 * H, I), f"R{k}": random(rng, 1, 4 * H, H), f"B{k}": random(rng, 1, 8 * H)}
        nodes += [helper.make_node("LSTM", ["xt", f"W{k}", f"R{k}", f"B{k}"], [f"Y{k}"], hidden_size=H, direction=direction),
                  helper.make_node("Squeeze", [f"Y{k}", "axes"], [f"y{k}"])]
    nodes += [helper.make_node("Concat", ["y0", "y1"], ["both"], axis=2), helper.make_node("Transpose", ["both"], ["bt"], perm=[1, 0, 2]),
              helper.make_node("Reshape", ["bt", "flat"], ["rows"]), helper.make_node("MatMul", ["rows", "kernel"], ["p"]),
              helper.make_node("Add", ["p", "bias"], ["s"]), helper.make_node("Relu", ["s"], ["r"]),
              helper.make_node("Reshape", ["r", "full"], ["out"])]
    finish(out, "keras-bidirectional", nodes, constants, {"x": (random(rng, B, T, I), ["batch", T, I])}, 13)


def finish(out, name, nodes, constants, feeds, opset):
    model = make_model(nodes, [info(k, v, d) for k, (v, d) in feeds.items()],
                       [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
                       [numpy_helper.from_array(v, k) for k, v in constants.items()], opset, "tf2onnx")
    arrays = {k: v for k, (v, d) in feeds.items()}
    result = run(model, arrays)
    model.graph.output[0].CopyFrom(info("out", result[0]))
    save(out, name, model, {**arrays, "out": result[0]})


# ---- PyTorch's exporters -------------------------------------------------------------------

def torch_cases(out):
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, I)
            self.lstm = nn.LSTM(I, H, num_layers=2, bidirectional=True, batch_first=True)
            self.fc = nn.Linear(2 * H, 5)

        def forward(self, tokens):
            return self.fc(self.lstm(self.embed(tokens))[0])

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(I, H, num_layers=2)
            self.drop = nn.Dropout(0.5)
            self.fc1 = nn.Linear(H, 6)
            self.fc2 = nn.Linear(6, 2)

        def forward(self, x):
            y, _ = self.gru(x)
            return self.fc2(torch.tanh(self.fc1(self.drop(y[-1]))))

    class States(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(I, H, num_layers=2)

        def forward(self, x, h0, c0):
            y, (h, c) = self.lstm(x, (h0, c0))
            return y, h, c

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(I, H, nonlinearity="relu", batch_first=True)
            self.fc = nn.Linear(H, 3)

        def forward(self, x):
            return torch.relu(self.fc(self.rnn(x)[1][0]))

    torch.manual_seed(1)
    cases = [("tagger", Tagger(), {"tokens": torch.randint(0, 11, (B, T))}, ["out"], {"tokens": {0: "batch", 1: "time"}}),
             ("classifier", Classifier(), {"x": torch.randn(T, B, I)}, ["out"], {"x": {0: "time", 1: "batch"}}),
             ("states", States(), {"x": torch.randn(T, B, I), "h0": torch.randn(2, B, H), "c0": torch.randn(2, B, H)},
              ["y", "hn", "cn"], {"x": {0: "time", 1: "batch"}, "h0": {1: "batch"}, "c0": {1: "batch"}}),
             ("plain", Plain(), {"x": torch.randn(B, T, I)}, ["out"], {"x": {0: "batch", 1: "time"}})]
    for name, module, feeds, outputs, axes in cases:
        module.eval()
        expected = module(*feeds.values())
        expected = expected if isinstance(expected, tuple) else (expected,)
        arrays = {k: v.numpy() for k, v in feeds.items()} | {k: v.detach().numpy() for k, v in zip(outputs, expected)}
        for exporter in "script", "dynamo":
            path = os.path.join(out, f"torch-{exporter}-{name}.onnx")
            dynamo = exporter == "dynamo"
            kind = {"dynamic_shapes": {k: {a: torch.export.Dim.DYNAMIC for a in d} for k, d in axes.items()}} if dynamo else \
                   {"dynamic_axes": axes}
            try:
                torch.onnx.export(module, tuple(feeds.values()), path, input_names=list(feeds), output_names=outputs, dynamo=dynamo,
                                  **({"external_data": name == "tagger"} if dynamo else {}), **kind)
            except Exception as error:
                print(f"{exporter} {name}: {str(error)[:300]}")
                continue
            strip(path, dynamo and name == "tagger")
            np.savez(path[:-5] + ".npz", **arrays)


def strip(path, external):
    """Removes the stack traces of the machine that exported the model."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for values in model.graph.value_info, model.graph.input, model.graph.output, model.graph.initializer:
        for value in values:
            del value.metadata_props[:]
    del model.graph.value_info[:]
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    model.graph.doc_string = model.doc_string = ""
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    if options.torch:
        torch_cases(options.out)
        return
    node_cases(options.out)
    keras_lstm(options.out)
    keras_gru(options.out)
    time_distributed(options.out)


main()
