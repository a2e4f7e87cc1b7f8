"""onnx.checker accepts the output of `unroll export --to onnx`, and ONNX Runtime computes the same values: run by
test_onnx_live.sh. Graphs with unusual features (onnx_graphs.py) are imported and compared with ONNX Runtime, too, and
random graphs (onnx_random.py) for the seconds given as second argument.

Models of all cells are imported from tests/vectors/onnx, saved, exported, run by ONNX Runtime with random first
states, and compared with `unroll run` of the saved model.
"""
import json
import os
import subprocess
import sys
import tempfile

import onnx_graphs
import onnx_random

passed = failed = 0


def check(holds, text):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print("FAILED", text)
    return bool(holds)


def command(unroll, *words):
    done = subprocess.run([unroll, *words], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def compare(unroll, folder, name, path):
    model, exported = os.path.join(folder, name + ".safetensors"), os.path.join(folder, name + ".onnx")
    good, text = command(unroll, "import", "onnx", path, "-o", model)
    check(good, f"{name}: import: {text}")
    compare_model(unroll, folder, name, model, exported)


def compare_model(unroll, folder, name, model, exported):
    import numpy as np
    import onnx
    import onnxruntime
    data, result = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    good, text = command(unroll, "export", model, "--to", "onnx", "-o", exported)
    check(good, f"{name}: export: {text}")
    if not good:
        return
    onnx.checker.check_model(exported, full_check=True)
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(5)
    time, batch = 6, 2
    feeds = {}
    for value in session.get_inputs():
        shape = [time if d == "time" else batch if d == "batch" else d for d in value.shape]
        feeds[value.name] = rng.integers(0, 5, shape) if value.type == "tensor(int64)" else \
            rng.uniform(-1, 1, shape).astype(np.float32)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    stack = lambda kind: [feeds[k] for k in sorted(feeds, key=lambda k: int(k.split(".l")[1]) if ".l" in k else -1) if k.startswith(kind)]
    arrays = {k: v.astype(np.int32) if k == "tokens" else v for k, v in feeds.items() if k in ("x", "tokens")}
    arrays["h0"] = np.concatenate(stack("h0"))
    if stack("c0"):
        arrays["c0"] = np.concatenate(stack("c0"))
    np.savez(data, **arrays)
    good, text = command(unroll, "run", model, data, "-o", result)
    if not good and "h0.rnn" in text:           # layers of two kinds have separate states
        for kind in "h0", "c0":
            for layer, states in zip(("rnn", "rnn1"), stack(kind)):
                arrays[f"{kind}.{layer}"] = states
            arrays.pop(kind, None)
        np.savez(data, **arrays)
        good, text = command(unroll, "run", model, data, "-o", result)
    check(good, f"{name}: run: {text}")
    if good:
        y = np.load(result)["y"]
        difference = np.abs(y - outputs["y"]).max() if y.shape == outputs["y"].shape else np.inf
        check(difference < 1e-5, f"{name}: y differs by {difference}, shapes {y.shape} {outputs['y'].shape}")


def write_columns(path):
    """A model with two columns of categories and three numbers, as a file of format version 1, without a checksum."""
    import numpy as np
    layer = {"kind": "gru", "name": "rnn", "sources": [-1], "level": 0, "width": 4, "bidirectional": 0, "reverse": 0,
             "coupled": 0, "projection": 0, "peephole": 0, "bias": 1, "output": 1, "clip": 0, "dropout": 0, "alpha": 0,
             "beta": 0}
    inputs = [{"name": "word", "tokens": 9, "width": 2}, {"name": "numbers", "tokens": 0, "width": 3},
              {"name": "day", "tokens": 7, "width": 1}]
    network = {"embedding": "embedding", "loss": "none", "layers": [layer], "tokens": 0, "input": 0, "embed": 0, "tied": 0,
               "inputs": inputs}
    header = {"__metadata__": {"format": "unroll", "format_version": "1", "network": json.dumps(network)}}
    data = b""
    rng = np.random.default_rng(3)
    for name, shape in {"embedding.word.weight": (9, 2), "embedding.day.weight": (7, 1), "rnn.weight_ih_l0": (12, 6),
                        "rnn.weight_hh_l0": (12, 4), "rnn.bias_ih_l0": (12,), "rnn.bias_hh_l0": (12,)}.items():
        more = rng.uniform(-1, 1, shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def main():
    unroll = os.path.abspath(sys.argv[1])
    vectors = "tests/vectors/onnx"
    with tempfile.TemporaryDirectory() as folder:
        columns = os.path.join(folder, "columns.safetensors")
        write_columns(columns)
        compare_model(unroll, folder, "columns", columns, os.path.join(folder, "columns.onnx"))
        for file in sorted(os.listdir(vectors)):
            if file.endswith(".onnx"):
                compare(unroll, folder, file[:-5], os.path.join(vectors, file))
        for file in sorted(os.listdir("tests/file/pooled")):
            compare_model(unroll, folder, file[:-12], os.path.join("tests/file/pooled", file),
                          os.path.join(folder, file[:-12] + ".onnx"))
        skipped = onnx_graphs.compare_all(unroll, command, check, folder)
        if len(sys.argv) > 2:
            onnx_random.compare_all(unroll, command, check, folder, *map(float, sys.argv[2:]))
    if skipped:
        print("skipped:", skipped)
    print(f"onnx live: {passed} passed, {failed} failed, {int(bool(skipped))} skipped")
    sys.exit(failed > 0)


main()
