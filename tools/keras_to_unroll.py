#!/usr/bin/env python3
"""Writes the weights of a Keras 3 model as a safetensors file that `unroll import` reads.

    python keras_to_unroll.py model.keras -o weights.safetensors --reference ref.npz
    unroll import weights.safetensors --verify ref.npz --batch-first -o model.safetensors

or from Python, for a model that has only .weights.h5 files:

    model.load_weights("model.weights.h5")
    keras_to_unroll.save(model, "weights.safetensors")

It needs keras (any backend) and numpy. The model must be a sequence of these layers: Embedding, LSTM, GRU (both
kinds), SimpleRNN, Bidirectional of these (concat), Dense, also TimeDistributed, and Activation. Dropout is ignored,
because it has no effect in inference. Other layers are refused by name.

Kernels are transposed. The GRU's gates z r h become r z n; the LSTM's i f c o are already in PyTorch's order. A
single bias becomes two, the second of which is zero; a GRU's bias (2, 3 units) becomes two. The file holds PyTorch's
names; its metadata holds the order of the layers and what the names do not specify.
"""
import argparse
import json
import struct
import sys

import numpy as np

CELLS = {"LSTM": ("lstm", 4), "GRU": ("gru", 3), "SimpleRNN": ("rnn", 1)}
ACTIVATIONS = ("linear", "relu", "tanh", "sigmoid", "softmax", "elu", "softplus", "softsign")
IGNORED = ("InputLayer", "Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout")


def refuse(layer, why):
    raise SystemExit(f"error: layer '{layer.name}' ({type(layer).__name__}): {why}")


def activation_name(layer, function):
    name = getattr(function, "__name__", str(function))
    if name not in ACTIVATIONS:
        refuse(layer, f"the activation '{name}' is none of {', '.join(ACTIVATIONS)}")
    return name


def gates_to_rows(matrix, gates):
    """[inputs, gates x units] -> [gates x units, inputs], gates in PyTorch's order."""
    parts = np.split(matrix, gates, axis=-1)
    if gates == 3:
        parts = [parts[1], parts[0], parts[2]]      # z r h -> r z n
    return np.ascontiguousarray(np.concatenate(parts, axis=-1).T)


def cell_tensors(layer, gates, suffix):
    """Returns the tensors of one direction by PyTorch's names."""
    kernel, recurrent, *bias = [np.asarray(w, np.float32) for w in layer.get_weights()]
    tensors = {f"weight_ih_{suffix}": gates_to_rows(kernel, gates),
               f"weight_hh_{suffix}": gates_to_rows(recurrent, gates)}
    if bias:
        two = bias[0] if bias[0].ndim == 2 else np.stack([bias[0], np.zeros_like(bias[0])])
        tensors[f"bias_ih_{suffix}"] = gates_to_rows(two[0], gates)
        tensors[f"bias_hh_{suffix}"] = gates_to_rows(two[1], gates)
    return tensors


def check_recurrent(layer, inner):
    if type(inner).__name__ not in CELLS:
        refuse(layer, "is not LSTM, GRU or SimpleRNN")
    if inner.go_backwards and layer is inner:
        refuse(layer, "go_backwards: use Bidirectional, or reverse the input")
    kind = CELLS[type(inner).__name__][0]
    activation = activation_name(layer, inner.activation)
    if kind != "rnn" and (activation, activation_name(layer, inner.recurrent_activation)) != ("tanh", "sigmoid"):
        refuse(layer, "has other activations than tanh and sigmoid")
    if kind == "rnn" and activation not in ("tanh", "relu"):
        refuse(layer, f"SimpleRNN with {activation}; tanh and relu can be converted")
    return activation


class Conversion:
    def __init__(self):
        self.tensors = {}
        self.order = []             # [name, variant] of each module
        self.last = None            # the recurrent module that the next layer of its kind may join
        self.levels = 0
        self.returned_last = None   # a layer that returns only its last step; only Dense may follow it

    def add_module(self, name, variant, tensors):
        name = name.replace(".", "_").replace(",", "_").replace(":", "_")[-63:]
        self.order.append([name, variant])
        self.tensors.update({f"{name}.{k}": v for k, v in tensors.items()})
        self.last = None

    def add_embedding(self, layer):
        if self.order:
            refuse(layer, "an embedding can only be the first layer")
        if layer.mask_zero:
            print(f"note: '{layer.name}' masks symbol 0: pad at the end of rows, and give their lengths next to the tokens; "
                  "without lengths, or with 0 inside of a row, the results are others than Keras'")
        self.add_module(layer.name, "", {"weight": np.asarray(layer.get_weights()[0], np.float32)})

    def add_recurrent(self, layer):
        both = type(layer).__name__ == "Bidirectional"
        inner = layer.forward_layer if both else layer
        activation = check_recurrent(layer, inner)
        if both and (layer.merge_mode != "concat" or not inner.return_sequences):
            refuse(layer, "only merge_mode='concat' with return_sequences=True: the last step of one direction is the "
                   "first of the other")
        if self.returned_last:
            refuse(layer, f"reads '{self.returned_last}', which gives its last step only")
        if not inner.return_sequences:
            self.returned_last = layer.name
        kind, gates = CELLS[type(inner).__name__]
        variant = {"gru": "" if getattr(inner, "reset_after", True) else "before",
                   "rnn": "relu" if activation == "relu" else ""}.get(kind, "")
        same = (kind, variant, inner.units, inner.use_bias, both)
        level = self.levels if self.last == same else 0     # a stack of equal layers is one module
        tensors = cell_tensors(inner, gates, f"l{level}")
        if both:
            tensors.update(cell_tensors(layer.backward_layer, gates, f"l{level}_reverse"))
        if level:
            name = self.order[-1][0]
            self.tensors.update({f"{name}.{k}": v for k, v in tensors.items()})
        else:
            self.add_module(layer.name, variant, tensors)
        self.last, self.levels = same, level + 1

    def add_dense(self, layer, dense):
        kernel, *bias = [np.asarray(w, np.float32) for w in dense.get_weights()]
        tensors = {"weight": np.ascontiguousarray(kernel.T)}
        if bias:
            tensors["bias"] = bias[0]
        self.add_module(layer.name, activation_name(layer, dense.activation), tensors)

    def add_activation(self, layer):
        if not self.order or self.last or self.order[-1][1] != "linear":
            refuse(layer, "an activation must follow a linear Dense")
        self.order[-1][1] = activation_name(layer, layer.activation)

    def add(self, layer):
        kind = type(layer).__name__
        if kind in IGNORED:
            return
        if kind == "Embedding":
            self.add_embedding(layer)
        elif kind in CELLS or kind == "Bidirectional":
            self.add_recurrent(layer)
        elif kind == "Dense":
            self.add_dense(layer, layer)
        elif kind == "TimeDistributed" and type(layer.layer).__name__ == "Dense":
            self.add_dense(layer, layer.layer)
        elif kind == "Activation":
            self.add_activation(layer)
        else:
            refuse(layer, "can't be converted; what can is in the head of this script")


def check_chain(model):
    """Checks that each layer reads only the one before it."""
    if type(model).__name__ == "Sequential":
        return
    if type(model).__name__ != "Functional" or len(model.inputs) != 1 or len(model.outputs) != 1:
        raise SystemExit("error: the model is neither Sequential nor Functional with one input and one output")
    before = None
    for layer, entry in zip(model.layers, model.get_config()["layers"]):
        read = list(histories(entry["inbound_nodes"]))
        if read != ([before] if before else []):
            refuse(layer, "does not read the layer before it alone, or is used twice")
        before = layer.name


def histories(value):
    """Yields the names of the layers that a node of a Functional model's configuration reads."""
    if isinstance(value, dict):
        if "keras_history" in value:
            yield value["keras_history"][0]
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from histories(item)


def write_safetensors(path, tensors, metadata):
    header, data, offset = {"__metadata__": metadata}, [], 0
    for name in sorted(tensors):
        blob = np.ascontiguousarray(tensors[name], "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        data.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def save(model, path):
    """Writes the weights of a built Keras model for `unroll import`; returns the order of the modules."""
    check_chain(model)
    conversion = Conversion()
    for layer in model.layers:
        conversion.add(layer)
    order = ",".join(name + (":" + variant if variant else "") for name, variant in conversion.order)
    write_safetensors(path, conversion.tensors, {"format": "keras", "order": order})
    return order


def write_reference(model, path, steps, rows, seed=1):
    """Writes random inputs and Keras' outputs, batch-first; with rows of all lengths if the model masks symbol 0."""
    random = np.random.default_rng(seed)
    first = next(layer for layer in model.layers if type(layer).__name__ != "InputLayer")
    arrays = {}
    if type(first).__name__ == "Embedding":
        name, x = "tokens", random.integers(1, first.input_dim, (rows, steps))
        if first.mask_zero:
            arrays["lengths"] = np.linspace(1, steps, rows).astype(np.int32)
            x[np.arange(steps) >= arrays["lengths"][:, None]] = 0
    else:
        name, x = "x", random.standard_normal((rows, steps, model.inputs[0].shape[-1])).astype(np.float32)
    np.savez(path, **{name: x, "y": np.asarray(model.predict(x, verbose=0), np.float32)}, **arrays)


def main(words=None):
    parser = argparse.ArgumentParser(description="The weights of a Keras 3 model as safetensors, for unroll import")
    parser.add_argument("model", help="model.keras")
    parser.add_argument("-o", "--output", required=True, help="FILE.safetensors")
    parser.add_argument("--reference", help="FILE.npz: random inputs and Keras' outputs, for --verify")
    parser.add_argument("--steps", type=int, default=20, help="of the reference, where the model leaves them open")
    parser.add_argument("--rows", type=int, default=3)
    arguments = parser.parse_args(words)
    import keras
    model = keras.saving.load_model(arguments.model, compile=False)
    order = save(model, arguments.output)
    steps = model.inputs[0].shape[1] or arguments.steps
    if arguments.reference:
        write_reference(model, arguments.reference, steps, arguments.rows)
    print(f"{order}\nsaved {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
