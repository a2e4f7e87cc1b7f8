# A recurrent network as an ONNX model with random weights, for the peers that run ONNX files. ONNX stores weights by
# gate [directions, gates x hidden, inputs]; the order of the gates does not affect the speed.
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import Refused

OPERATORS = {"rnn": ("RNN", 1), "lstm": ("LSTM", 4), "gru": ("GRU", 3), "gru-before": ("GRU", 3)}


def layer(request, index, source, initializers):
    operator, gates = OPERATORS[request.cell]
    ways, hidden = request.directions, request.hidden
    width = request.input if index == 0 else ways * hidden
    random = np.random.default_rng(index)
    sizes = {
        "w": (ways, gates * hidden, width),
        "r": (ways, gates * hidden, hidden),
        "b": (ways, 2 * gates * hidden),
    }
    for name, size in sizes.items():
        values = random.uniform(-(hidden**-0.5), hidden**-0.5, size).astype(np.float32)
        initializers.append(numpy_helper.from_array(values, f"{name}{index}"))
    states = [f"h{index}"] + ([f"c{index}"] if request.cell == "lstm" else [])
    options = {"linear_before_reset": int(request.cell == "gru")} if operator == "GRU" else {}
    node = helper.make_node(
        operator,
        [source, f"w{index}", f"r{index}", f"b{index}", "", *states],
        [f"y{index}", *(f"{state}_out" for state in states)],
        hidden_size=hidden,
        direction="bidirectional" if ways == 2 else "forward",
        **options,
    )
    return node, states


def network(request):
    """Returns the serialized model, the sizes of its inputs (x [T, B, I] and the states), and its outputs' names."""
    if request.purpose in ("train", "text"):
        raise Refused("it does not train")
    if request.ragged or (request.layers > 1 and request.directions > 1):
        raise Refused("this driver has no such network")
    nodes, initializers, states, source = [], [], [], "x"
    for index in range(request.layers):
        node, names = layer(request, index, source, initializers)
        states += names
        nodes.append(node)
        if index + 1 < request.layers:  # y [T, ways, B, H] to [T, B, H]
            nodes.append(helper.make_node("Squeeze", [f"y{index}", "axis"], [f"x{index + 1}"]))
            source = f"x{index + 1}"
    initializers.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    state_size = [request.directions, request.rows, request.hidden]
    inputs = {"x": [request.steps, request.rows, request.input], **dict.fromkeys(states, state_size)}
    outputs = {
        f"y{request.layers - 1}": [request.steps, *state_size],
        **dict.fromkeys((f"{state}_out" for state in states), state_size),
    }
    described = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in part.items()]
        for part in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "network", *described, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString(), inputs, list(outputs)


def random_values(size):
    return np.random.default_rng(1).uniform(-1, 1, size).astype(np.float32)
