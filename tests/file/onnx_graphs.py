"""ONNX graphs with unusual features, and the expected result of each: the values of ONNX Runtime, with axes and arrays as
in the import's report, or a refusal with these words. Run by check_onnx_live.py. Graphs of common exporters are in
tests/vectors/onnx."""
import io
import json
import os
import re
import struct
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

T, B, I, H = 5, 3, 4, 6
CASES = []


def case(name, refused=None, opset=17, says=None, **sizes):
    """refused: words of the refusal, or None if the values must be equal. says: words of the report."""
    def add(build):
        CASES.append((name, build, refused, says, dict(opset=opset, **sizes)))
        return build
    return add


class Graph:
    """Builds nodes with random weights; x is [time, batch, 4] with symbolic time and batch."""

    def __init__(self, seed, opset=17, time="T", batch="B", width=I):
        self.rng, self.opset, self.nodes, self.constants = np.random.default_rng(seed), opset, [], []
        self.inputs, self.feeds, self.sizes = [], {}, {"T": T, "B": B}
        self.time, self.batch, self.width = time, batch, width

    def input(self, name, *dims, kind=np.float32, values=None):
        shape = [self.sizes.get(d, d) for d in dims]
        self.feeds[name] = np.asarray(values if values is not None else self.rng.uniform(-1.5, 1.5, shape), kind)
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), dims))
        return name

    def x(self):
        return self.input("x", self.time, self.batch, self.width)

    def constant(self, values, kind=np.float32):
        self.constants.append(numpy_helper.from_array(np.asarray(values, kind), f"constant{len(self.constants)}"))
        return self.constants[-1].name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def random(self, *shape):
        return self.constant(self.rng.uniform(-0.8, 0.8, shape))

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def recurrent(self, x, inputs=I, hidden=H, op="LSTM", both=False, lengths="", state="", **attributes):
        """Returns Y [T, directions, B, H] and Y_h [directions, B, H]."""
        rows, directions = {"LSTM": 4, "GRU": 3, "RNN": 1}[op] * hidden, 1 + both
        weights = [self.random(directions, rows, n) for n in (inputs, hidden)] + [self.random(directions, 2 * rows)]
        if op == "GRU":
            attributes["linear_before_reset"] = 1
        if both:
            attributes["direction"] = "bidirectional"
        return self.add(op, x, *weights, lengths, state, outputs=2, hidden_size=hidden, **attributes)

    def flat(self, y, both=False):
        """Returns [T, B, directions x H], as exporters write it."""
        return self.add("Reshape", self.transpose(y, 0, 2, 1, 3), self.ints(0, 0, -1)) if both else self.squeeze(y, 1)

    def sequence(self, x=None, both=False, **more):
        return self.flat(self.recurrent(x or self.x(), both=both, **more)[0], both)

    def fc(self, y, outputs, inputs=H):
        return self.add("Add", self.add("MatMul", y, self.random(inputs, outputs)), self.random(outputs))

    def transpose(self, y, *perm):
        return self.add("Transpose", y, perm=perm)

    def squeeze(self, y, *axes):
        return self.add("Squeeze", y, self.ints(*axes)) if self.opset >= 13 else self.add("Squeeze", y, axes=axes)

    def slice(self, y, first, end, axis, step=1):
        return self.add("Slice", y, self.ints(first), self.ints(end), self.ints(axis), self.ints(step))

    def shape(self, *parts):
        """Returns sizes of x, such as ("T",), and numbers as one list."""
        size = lambda p: self.ints(p) if isinstance(p, int) else self.add(
            "Gather", self.add("Shape", "x"), self.ints("TB".index(p)), axis=0)
        return self.add("Concat", *[size(p) for p in parts], axis=0)

    def model(self, outputs):
        infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="graphs")
        model.ir_version = 8
        return model


LAST = 2 ** 31 - 1

# ---- functions over an axis ----------------------------------------------------------------

case("softmax over features")(lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=-1))
case("softmax over features, axis 2")(lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=2))
case("softmax of squeezed scores", "over the batch")(
    lambda g: g.add("Softmax", g.squeeze(g.fc(g.sequence(), 1), 2), axis=-1))
case("softmax of squeezed scores over time", "over time")(
    lambda g: g.add("Softmax", g.transpose(g.squeeze(g.fc(g.sequence(), 1), 2), 1, 0), axis=-1))
case("softmax over time, last", "over time")(
    lambda g: g.add("Softmax", g.transpose(g.fc(g.sequence(), 5), 1, 2, 0), axis=-1))
case("softmax over time, first", "over time")(lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=0))
case("softmax over the batch", "over the batch")(lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=-2))
case("softmax of reshaped scores", "over the batch")(
    lambda g: g.add("Softmax", g.add("Reshape", g.fc(g.sequence(), 1), g.shape("T", -1)), axis=-1))
case("softmax of reshaped scores, fixed sizes", "over the batch", time=T, batch=B)(
    lambda g: g.add("Softmax", g.add("Reshape", g.fc(g.sequence(), 1), g.ints(T, -1)), axis=-1))
case("softmax over transposed features")(
    lambda g: g.add("Softmax", g.transpose(g.fc(g.sequence(), 5), 1, 2, 0), axis=1))
case("softmax of all rows and steps", "over time")(
    lambda g: g.add("Softmax", g.add("Reshape", g.fc(g.sequence(), 1), g.ints(-1)), axis=0))
case("softmax of each direction", "a stack of 2")(
    lambda g: g.add("Softmax", g.recurrent(g.x(), both=True)[0], axis=-1))
case("softmax of opset 11, flattened", "several axes", opset=11)(
    lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=1))
case("softmax of opset 11, last axis", opset=11)(lambda g: g.add("Softmax", g.fc(g.sequence(), 5), axis=2))
case("softmax of opset 11, last step", opset=11)(
    lambda g: g.add("Softmax", g.fc(g.squeeze(g.slice(g.sequence(), -1, LAST, 0), 0), 5)))
case("relu of transposed features")(lambda g: g.add("Relu", g.transpose(g.fc(g.sequence(), 5), 1, 2, 0)))
case("tanh of transposed outputs")(lambda g: g.add("Tanh", g.transpose(g.sequence(), 1, 2, 0)))
case("log softmax", "this operator is not supported")(lambda g: g.add("LogSoftmax", g.fc(g.sequence(), 5), axis=-1))
case("mean over time", "this operator is not supported")(lambda g: g.add("ReduceMean", g.sequence(), axes=[0], keepdims=0))
case("a bias along time", "not the bias of a product", time=T)(
    lambda g: g.add("Add", g.transpose(g.add("MatMul", g.sequence(), g.random(H, T)), 1, 2, 0), g.random(T)))
case("a bias of more axes", "not the bias of a product")(
    lambda g: g.add("Add", g.add("MatMul", g.sequence(), g.random(H, 5)), g.random(1, 1, 1, 5)))
case("a bias of squeezed scores")(
    lambda g: g.add("Add", g.squeeze(g.add("MatMul", g.sequence(), g.random(H, 1)), 2), g.random(1)))
case("a product over time", "not a feature axis", time=T)(
    lambda g: g.add("MatMul", g.transpose(g.sequence(), 1, 2, 0), g.random(T, 5)))


@case("x is read along two axes", "different axis", time=I)
def _(g):
    x = g.x()
    mixed = g.transpose(g.add("MatMul", g.transpose(x, 1, 2, 0), g.random(I, I)), 2, 0, 1)
    return g.add("Relu", mixed), g.sequence(x)


# ---- parts of layers ------------------------------------------------------------------------

def halves(g, y, *order):
    part = lambda k: g.slice(y, k * H, (k + 1) * H, 2)
    return g.add("Concat", *[part(k) for k in order], axis=-1) if len(order) > 1 else part(*order)


case("swapped directions")(lambda g: halves(g, g.sequence(both=True), 1, 0))
case("directions in order")(lambda g: halves(g, g.sequence(both=True), 0, 1))
case("the forward direction")(lambda g: halves(g, g.sequence(both=True), 0))
case("the backward direction")(lambda g: halves(g, g.sequence(both=True), 1))
case("a direction twice")(lambda g: halves(g, g.sequence(both=True), 1, 1))
case("a head on one direction")(lambda g: g.fc(halves(g, g.sequence(both=True), 1), 5))
case("a head on swapped directions")(lambda g: g.fc(halves(g, g.sequence(both=True), 1, 0), 5, 2 * H))
case("a layer on a direction twice")(
    lambda g: g.sequence(halves(g, g.sequence(both=True), 1, 1), inputs=2 * H, op="GRU"))
case("units out of the middle")(lambda g: g.slice(g.sequence(), 1, 4, 2))
case("units out of the middle, counted from the end")(lambda g: g.slice(g.sequence(), -5, -2, -1))
case("units from before the first")(lambda g: g.slice(g.sequence(), -100, 3, -1))
case("no units", "takes zero entries")(lambda g: g.slice(g.sequence(), 5, 3, 2))
case("no units, counted from the end", "takes zero entries")(lambda g: g.slice(g.sequence(), 0, -100, 2))
case("every second unit", "every 2th entry")(lambda g: g.slice(g.sequence(), 0, LAST, 2, 2))
case("units backward", "every -1th entry")(lambda g: g.slice(g.sequence(), -1, -100, 2, -1))
case("units by a list")(lambda g: g.add("Gather", g.sequence(), g.ints(2, 3, 4), axis=2))
case("units by a list across the end", "reorders entries")(lambda g: g.add("Gather", g.sequence(), g.ints(-1, 0), axis=2))
case("a unit")(lambda g: g.add("Gather", g.sequence(), g.constant(3, np.int64), axis=2))
case("functions of two halves")(lambda g: (lambda a, b: g.add("Concat", g.add("Tanh", b), g.add("Sigmoid", a), axis=2))(
    *g.add("Split", g.fc(g.sequence(), 8), g.ints(3, 5), outputs=2, axis=2)))
case("a bias of a half", "not the bias of a product")(
    lambda g: g.add("Add", g.slice(g.add("MatMul", g.sequence(), g.random(H, 8)), 0, 4, 2), g.random(4)))
case("one of two parts of unequal widths")(
    lambda g: g.add("Split", g.fc(g.sequence(), 8), g.ints(3, 5), outputs=2, axis=-1)[1])
case("outputs in groups")(
    lambda g: g.transpose(g.add("Reshape", g.fc(g.sequence(), 6), g.shape("T", "B", 2, 3)), 2, 1, 0, 3))
case("groups across layers of unequal width")(
    lambda g: (lambda x: g.add("Reshape", g.add("Concat", g.fc(g.sequence(x), 8), g.fc(g.sequence(x), 4), axis=2),
                               g.shape("T", "B", 2, 6)))(g.x()))
case("features taken apart another way", "which layers do not support")(
    lambda g: g.transpose(g.add("Reshape", g.fc(g.sequence(), 6), g.shape("T", "B", 2, 3)), 0, 1, 3, 2) and
    g.add("Reshape", g.nodes[-1].output[0], g.shape("T", "B", 6)))
case("raw outputs of both directions")(lambda g: g.recurrent(g.x(), both=True)[0])
case("the backward direction of raw outputs")(
    lambda g: g.add("Gather", g.recurrent(g.x(), both=True)[0], g.constant(1, np.int64), axis=1))
case("directions split")(lambda g: g.add("Split", g.recurrent(g.x(), both=True)[0], outputs=2, axis=1)[1])


@case("two layers side by side")
def _(g):
    x = g.x()
    return g.add("Concat", g.sequence(x), g.sequence(x, op="GRU"), axis=2)


@case("x and a layer")
def _(g):
    x = g.x()
    return g.add("Concat", g.sequence(x), x, axis=-1)


@case("two layers, summed", "adds the outputs of two layers")
def _(g):
    x = g.x()
    return g.add("Add", g.sequence(x), g.sequence(x))


# ---- axes of outputs, and several of them ---------------------------------------------------

case("features before time", says="y as [batch features time]")(lambda g: g.transpose(g.fc(g.sequence(), 5), 1, 2, 0))
case("batch first", says="y as [batch time features]")(lambda g: g.transpose(g.fc(g.sequence(), 5), 1, 0, 2))
case("rows and steps merged", says="y as [time*batch features]")(
    lambda g: g.add("Reshape", g.fc(g.sequence(), 5), g.ints(-1, 5)))
case("rows and steps merged by Flatten")(lambda g: g.add("Flatten", g.fc(g.sequence(), 5), axis=2))
case("a step in one row", "which layers do not support")(lambda g: g.add("Flatten", g.fc(g.sequence(), 5), axis=1))
case("a shape that depends on the number of steps", "known only when the network runs")(
    lambda g: g.add("Reshape", g.fc(g.sequence(), 1), g.add("Concat", g.add(
        "Where", g.add("Equal", g.shape("T"), g.ints(7)), g.ints(1), g.shape("T")), g.ints(-1), axis=0)))
case("scores of all steps", says="y as [batch time]")(lambda g: g.transpose(g.squeeze(g.fc(g.sequence(), 1), -1), 1, 0))
case("scores as one row", says="y as [time*batch]")(lambda g: g.add("Reshape", g.fc(g.sequence(), 1), g.ints(-1)))
case("an axis more")(lambda g: g.add("Unsqueeze", g.transpose(g.fc(g.sequence(), 5), 1, 0, 2), g.ints(1)))
case("the last step", says="y[-1] as [batch features]")(
    lambda g: g.fc(g.add("Gather", g.sequence(), g.constant(-1, np.int64), axis=0), 5))
case("the last step of fixed ones", time=T)(lambda g: g.fc(g.squeeze(g.slice(g.sequence(), T - 1, T, 0), 0), 5))
case("the last step as a list", says="y[-1] as [1 batch features]")(
    lambda g: g.add("Gather", g.fc(g.sequence(), 5), g.ints(-1), axis=0))
case("the last step, then the first", "reorders entries")(lambda g: g.add("Gather", g.sequence(), g.ints(-1, 0), axis=0))
case("the first step", "only the last one")(lambda g: g.add("Gather", g.sequence(), g.constant(0, np.int64), axis=0))
case("all steps but the last", "only the last one")(lambda g: g.slice(g.sequence(), 0, -1, 0))
case("the last two steps", "only the last one")(lambda g: g.slice(g.sequence(), -2, LAST, 0))
case("all merged rows but one", "is known only when the network runs")(
    lambda g: g.add("Slice", g.add("Reshape", g.sequence(), g.ints(-1, H)), g.ints(0),
                    g.add("Sub", g.add("Mul", g.shape("T"), g.shape("B")), g.ints(1)), g.ints(0)))
case("every second step", "every 2th entry")(lambda g: g.slice(g.sequence(), 0, LAST, 0, 2))
case("a row", "a part of the batch", batch=B)(lambda g: g.slice(g.sequence(), 0, 1, 1))


@case("two heads", says="y.dense1 as [batch time features]")
def _(g):
    y = g.sequence()
    return g.transpose(g.fc(y, 5), 1, 0, 2), g.squeeze(g.fc(y, 1), 2)


@case("two heads, the later one first")
def _(g):
    y = g.sequence()
    first, second = g.fc(y, 5), g.fc(y, 3)
    return second, first


@case("outputs of two levels", says="y.rnn_l1 as [time batch features]")
def _(g):
    first = g.sequence()
    second = g.sequence(first, inputs=H)
    return second, first, g.fc(second, 5)


@case("an output twice")
def _(g):
    y = g.fc(g.sequence(), 5)
    return g.add("Identity", g.add("Identity", y)), y


@case("an inner value and its function")
def _(g):
    y = g.fc(g.sequence(), 5)
    return y, g.add("Softmax", y, axis=-1)


@case("a product and its sum with a bias", "not the bias of a product")
def _(g):
    y = g.add("MatMul", g.sequence(), g.random(H, 5))
    return y, g.add("Add", y, g.random(5))


@case("shared weights")
def _(g):
    y, w, b = g.sequence(both=True), g.random(H, 3), g.random(3)
    return tuple(g.add("Add", g.add("MatMul", halves(g, y, k), w), b) for k in (0, 1))


case("the last states")(lambda g: g.recurrent(g.x(), both=True))
case("the last state alone", says="hn[0] as [batch features]")(lambda g: g.squeeze(g.recurrent(g.x())[1], 0))


def last_states(g, *order):
    h = g.recurrent(g.x(), both=True)[1]
    return g.add("Concat", *[g.add("Gather", h, g.constant(k, np.int64), axis=0) for k in order], axis=1)


case("the last states of both directions side by side", says="hn[0,1] as [batch features]")(
    lambda g: last_states(g, 0, 1))
case("the last states of both directions, exchanged", says="hn[1,0] as [batch features]")(
    lambda g: last_states(g, -1, -2))
case("the backward state in a head", "the backward direction")(
    lambda g: g.fc(g.add("Gather", g.recurrent(g.x(), both=True)[1], g.constant(1, np.int64), axis=0), 5))
case("a part of a state", "a part of a state")(lambda g: g.slice(g.recurrent(g.x())[1], 0, 3, 2))


@case("the last states of two levels")
def _(g):
    y, h = g.recurrent(g.x())
    last, more = g.recurrent(g.flat(y), inputs=H)
    return g.flat(last), g.add("Concat", h, more, axis=0), h


@case("the last states of two kinds")
def _(g):
    y, h = g.recurrent(g.x())
    last, more = g.recurrent(g.flat(y), inputs=H, hidden=3, op="GRU")
    return more, h


@case("a stack of last states that was merged")
def _(g):
    h = g.add("Unsqueeze", g.recurrent(g.x())[1], g.ints(0))                    # [1, 1, B, H]
    both = g.add("Concat", h, h, axis=0)                                        # [2, 1, B, H]
    return g.add("Reshape", g.transpose(both, 0, 2, 1, 3), g.ints(2, -1, H))


# ---- what recurrent nodes read --------------------------------------------------------------

def clipped(g, limit, **more):
    return g.sequence(clip=limit, **more)


case("clip of 9999")(lambda g: clipped(g, 9999.0, both=True))
case("clip of 9999 of a GRU")(lambda g: clipped(g, 9999.0, op="GRU"))
case("clip of 9999 of functions without bounds", "clip = 9999")(
    lambda g: clipped(g, 9999.0, op="RNN", activations=["Relu"]))
case("clip of a half")(lambda g: clipped(g, 0.5))
case("lengths that are all steps", time=T, batch=B)(
    lambda g: g.sequence(lengths=g.constant([T] * B, np.int32), both=True))
case("lengths that are all steps of any sequence")(
    lambda g: g.sequence(g.x(), lengths=g.add("Cast", g.add("Expand", g.shape("T"), g.shape("B")), to=6)))
case("constant lengths", "its lengths are constants", time=T, batch=B)(
    lambda g: g.sequence(lengths=g.constant([T, 2, 3], np.int32)))
case("constant lengths of any sequence", "its lengths are constants", batch=B)(
    lambda g: g.sequence(lengths=g.constant([T] * B, np.int32)))


def lengths(g):
    return g.input("lengths", "B", kind=np.int32, values=[T, 2, 3])


case("lengths, all steps")(lambda g: g.sequence(g.x(), lengths=lengths(g), both=True))
case("lengths, the last states in a head", says="y[lengths-1] as [batch features]")(
    lambda g: g.fc(g.squeeze(g.recurrent(g.x(), lengths=lengths(g))[1], 0), 5))
case("lengths, the last step in a head", "padded")(
    lambda g: g.fc(g.squeeze(g.slice(g.sequence(g.x(), lengths=lengths(g)), -1, LAST, 0), 0), 5))
case("lengths and a head", says="steps after a row's length")(lambda g: g.fc(g.sequence(g.x(), lengths=lengths(g)), 5))


def stateful(g, rows, *used):
    """Two GRUs whose first states are the given rows of an input."""
    x, h = g.x(), g.input("h0", rows, "B", H)
    below, above = [g.add("Slice", h, g.ints(k), g.ints(k + 1), g.ints(0)) for k in used]
    y = g.flat(g.recurrent(x, op="GRU", state=below)[0])
    return g.flat(g.recurrent(y, inputs=H, op="GRU", state=above)[0])


case("first states of two levels", says="h0[0,1] as")(lambda g: stateful(g, 2, 0, 1))
case("first states of two levels, exchanged", says="h0[1,0] as")(lambda g: stateful(g, 2, 1, 0))
case("first states of which one is unused", says="h0[1] + unused + h0[0] as")(lambda g: stateful(g, 3, 2, 0))


@case("a transposed first state", says="h0[0] as [batch 1 features]")
def _(g):
    x, h = g.x(), g.input("h0", "B", 1, H)
    return g.sequence(x, op="GRU", state=g.transpose(h, 1, 0, 2))


case("x batch first", says="batch-first")(
    lambda g: g.sequence(g.transpose(g.input("x", "B", "T", I), 1, 0, 2)))
case("x with features before time", says="x as [batch features time]")(
    lambda g: g.sequence(g.transpose(g.input("x", "B", I, "T"), 2, 0, 1)))
case("a part of x", "a part of an input")(lambda g: g.sequence(g.slice(g.input("x", "T", "B", 8), 0, I, 2)))
case("dropout in training", "training_mode")(
    lambda g: g.add("Dropout", g.sequence(), g.constant(0.5), g.constant(True, np.bool_)))
case("dropout that is off")(lambda g: g.add("Dropout", g.sequence(), g.constant(0.5), g.constant(False, np.bool_)))
case("dropout of an old opset", opset=11)(lambda g: g.add("Dropout", g.sequence(), ratio=0.5))
case("tokens as truth values", "to integers of")(
    lambda g: g.sequence(g.add("Gather", g.random(2, I), g.add("Cast", g.add("Cast", g.input(
        "x", "T", "B", kind=np.int64, values=np.arange(T * B).reshape(T, B) % 2), to=9), to=7))))


# ---- PyTorch --------------------------------------------------------------------------------

def torch_modules():
    """(name, module, refused): graphs of PyTorch's exporter, batch first."""
    import torch
    from torch import nn

    class Ends(nn.Module):
        def __init__(self, end, outputs=5):
            super().__init__()
            self.lstm, self.fc = nn.LSTM(I, H, batch_first=True, bidirectional=True), nn.Linear(2 * H, outputs)
            self.end = end

        def forward(self, x):
            y, (h, c) = self.lstm(x)
            return self.end(self, y, h)

    return [("swapped halves", Ends(lambda m, y, h: torch.cat([y[..., H:], y[..., :H]], -1)), None),
            ("the first half", Ends(lambda m, y, h: y[..., :H]), None),
            ("channels first", Ends(lambda m, y, h: m.fc(y).transpose(1, 2)), None),
            ("two outputs", Ends(lambda m, y, h: (m.fc(y), y)), None),
            ("attention scores", Ends(lambda m, y, h: torch.softmax(m.fc(y).squeeze(-1), -1), 1), "over time"),
            ("softmax over time", Ends(lambda m, y, h: torch.softmax(m.fc(y).transpose(1, 2), -1)), "over time"),
            ("both last states", Ends(lambda m, y, h: torch.cat([h[-2], h[-1]], 1)), None),
            ("dropout in training", Ends(lambda m, y, h: torch.dropout(m.fc(y), 0.5, True)), "training_mode")]


def export_torch(module):
    import torch
    file, x = io.BytesIO(), torch.rand(B, T, I)
    warnings.simplefilter("ignore")
    torch.onnx.export(module, (x,), file, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch", 1: "time"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    return onnx.load_from_string(file.getvalue()), {"x": x.numpy()}


# ---- applying the import's report -------------------------------------------------------------

def signature_of(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(size))["__metadata__"]["signature"])


def sizes_of(words, axes):
    """Splits "batch time*2 1" into single axes, and the sizes of each word; numbers are sizes of parts, starting with the
    first.
    """
    atoms = [atom for word in words for atom in word.split("*")]
    return atoms, [[axes[a] if a in axes else int(a) for a in word.split("*")] for word in words]


def to_graph(numbers, axes):
    """Rearranges values [time, batch, features] to the graph's axes: "batch 2 features"."""
    atoms = re.split(r"[ *]", axes)
    parts = [int(a) for a in atoms if a.isdigit()]
    numbers = numbers.reshape(*numbers.shape[:2], *parts, -1)
    names = ["time", "batch"] + [f"part{k}" for k in range(len(parts))] + ["features"]
    count = iter(range(len(parts)))
    atoms = [f"part{next(count)}" if a.isdigit() else a for a in atoms]
    missing = [n for n in names if n not in atoms]
    assert all(numbers.shape[names.index(n)] == 1 for n in missing), (axes, numbers.shape)
    numbers = numbers.transpose([names.index(n) for n in missing + atoms])
    sizes, shape = iter(numbers.shape[len(missing):]), []
    for word in axes.split(" "):
        shape.append(int(np.prod([next(sizes) for _ in word.split("*")])))
    return numbers.reshape(shape)


def from_graph(array, axes, order):
    """The inverse for inputs, which have no merged axes. For states, the number is that of layers and directions."""
    words = ["layers" if w.isdigit() and "layers" in order else w for w in axes.split(" ")]
    array = array.squeeze(tuple(k for k, w in enumerate(words) if w not in order))
    words = [w for w in words if w in order]
    array = array.transpose(sorted(range(len(words)), key=lambda k: order.index(words[k])))
    return np.ascontiguousarray(np.expand_dims(array, tuple(k for k, w in enumerate(order) if w not in words)))


def planes_of(array):
    """Yields (array, entry) of "h0[1] + unused + h0.rnn1[0,2]"; None: unused."""
    for term in array.split(" + "):
        name, index = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", term).groups()
        yield from [(name, int(k)) for k in index.split(",")] if index else [None]


def output_of(entry, results, lengths):
    name, index = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", entry["array"].split(" + ")[0]).groups()
    array = results[name]
    if name[0] != "y":
        planes = [results[name][k] for name, k in planes_of(entry["array"])]
        return to_graph(np.concatenate(planes, -1)[None], entry["axes"])
    return to_graph(array[-1:] if index == "-1" else array if index is None else
                    array[lengths - 1, np.arange(array.shape[1])][None], entry["axes"])


INPUTS = {"x": ("time", "batch", "features"), "tokens": ("time", "batch"), "lengths": ("batch",)}


def arrays_of(signature, feeds):
    """Returns the inputs of `unroll run` for the graph's inputs."""
    arrays, states = {}, {}
    for entry in signature:
        if "input" not in entry:
            continue
        given, name = feeds[entry["input"]], entry["array"]
        if name in INPUTS:
            arrays[name] = from_graph(given, entry["axes"], INPUTS[name])
            continue
        for plane, place in zip(from_graph(given, entry["axes"], ("layers", "batch", "features")), planes_of(name)):
            if place:
                states.setdefault(place[0], {})[place[1]] = plane
    for name, planes in states.items():
        arrays[name] = np.stack([planes[k] for k in sorted(planes)])
    return {k: v.astype(np.int32) if v.dtype == np.int64 else v for k, v in arrays.items()}


def run_import(unroll, command, folder, feeds):
    """Returns the graph's outputs according to the import's report."""
    model, data, result = (os.path.join(folder, name) for name in ("g.safetensors", "in.npz", "out.npz"))
    signature = signature_of(model)
    arrays = arrays_of(signature, feeds)
    np.savez(data, **arrays)
    good, text = command(unroll, "run", model, data, "-o", result, "--threads", "1")
    if not good:
        return None, text
    results = dict(np.load(result))
    return [output_of(e, results, arrays.get("lengths")) for e in signature if "output" in e], text


def compare(unroll, command, check, folder, name, model, feeds, refused, says):
    import onnxruntime
    path = os.path.join(folder, "g.onnx")
    onnx.save(model, path)
    good, text = command(unroll, "import", "onnx", path, "-o", os.path.join(folder, "g.safetensors"))
    if refused:
        named = re.search(r"node '\w*|output '", text)
        check(not good and refused in text and named, f"{name}: not refused with '{refused}': {text}")
    if refused or not check(good, f"{name}: {text}"):
        return
    check(says is None or says in text, f"{name}: the report does not say '{says}': {text}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    expected = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                            providers=["CPUExecutionProvider"]).run(None, feeds)
    given, text = run_import(unroll, command, folder, feeds)
    if not check(given is not None and len(given) == len(expected), f"{name}: {text}"):
        return
    for k, (ours, theirs) in enumerate(zip(given, expected)):
        if "lengths" in feeds and "after a row's length" in str(says):
            within = np.arange(T)[:, None] < feeds["lengths"]
            ours, theirs = ours[within], theirs[within]
        difference = np.abs(ours - theirs).max() if ours.shape == theirs.shape else np.inf
        check(difference < 1e-5, f"{name}: output {k} differs by {difference}: {ours.shape} {theirs.shape}")


def compare_all(unroll, command, check, folder):
    for seed, (name, build, refused, says, sizes) in enumerate(CASES):
        g = Graph(seed, **sizes)
        outputs = build(g)
        model = g.model([outputs] if isinstance(outputs, str) else outputs)
        compare(unroll, command, check, folder, name, model, g.feeds, refused, says)
    try:
        import torch  # noqa: F401
    except ImportError:
        return "PyTorch's graphs: there is no torch"
    for name, module, refused in torch_modules():
        compare(unroll, command, check, folder, "PyTorch: " + name, *export_torch(module), refused, None)
    return None
