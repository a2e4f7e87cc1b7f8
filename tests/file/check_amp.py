#!/usr/bin/env python3
"""Compares exported files of amplifiers with the formulas of the programs that read them, as their sources document the
layout of the weights, and with Neural Amp Modeler itself if it is installed. Usage: check_amp.py UNROLL"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

unroll = os.path.realpath(sys.argv[1])
SAMPLES, SILENCE = 400, 48000
passed = failed = skipped = 0


def holds(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", what)


def run(*words):
    done = subprocess.run([unroll, *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def must(*words):
    status, text = run(*words)
    if status:
        sys.exit(f"unroll {' '.join(words)}: {text}")


def write_wav(path, x):
    data = struct.pack(f"<{len(x)}f", *x)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 3, 1, 48000, 192000, 4, 32) + b"data" + struct.pack("<I", len(data))
    open(path, "wb").write(b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data)


def read_wav(path):
    data = open(path, "rb").read()
    begin = data.index(b"data") + 8
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def outputs(model, x):
    write_wav("x.wav", x)
    must("predict", model, "x.wav", "-o", "y.wav")
    return read_wav("y.wav")


def apart(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) else math.inf


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def dot(row, x):
    return sum(map(lambda a, b: a * b, row, x))


def lstm(rows, bias, x, h, c):
    """A step; rows: [4 H][inputs + H], gates i f g o."""
    n = len(h)
    g = [dot(row, x + h) + b for row, b in zip(rows, bias)]
    c[:] = [sigmoid(g[n + k]) * c[k] + sigmoid(g[k]) * math.tanh(g[2 * n + k]) for k in range(n)]
    h[:] = [sigmoid(g[3 * n + k]) * math.tanh(c[k]) for k in range(n)]


def gru(w, u, b, d, x, h):
    """A step with PyTorch's gates r z n, which applies the reset after the product."""
    n = len(h)
    a, q = [dot(row, x) + v for row, v in zip(w, b)], [dot(row, h) + v for row, v in zip(u, d)]
    r, z = ([sigmoid(a[g * n + k] + q[g * n + k]) for k in range(n)] for g in (0, 1))
    h[:] = [(1 - z[k]) * math.tanh(a[2 * n + k] + r[k] * q[2 * n + k]) + z[k] * h[k] for k in range(n)]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def rtneural(file, x):
    """RTNeural's formulas, with the skip of AIDA-X. A GRU has Keras' gates z r n."""
    layers, y = file["layers"], []
    states = [([0.0] * l["shape"][2], [0.0] * l["shape"][2]) for l in layers]
    for sample in x:
        value = [sample]
        for l, (h, c) in zip(layers, states):
            w = [transposed(m) for m in l["weights"][:-1]]
            if l["type"] == "dense":
                value = [dot(row, value) + b for row, b in zip(w[0], l["weights"][1])]
                continue
            if l["type"] == "lstm":
                lstm([a + b for a, b in zip(*w)], l["weights"][2], value, h, c)
            else:
                n = len(h)
                def order(rows):
                    return rows[n:2 * n] + rows[:n] + rows[2 * n:]
                gru(order(w[0]), order(w[1]), order(l["weights"][2][0]), order(l["weights"][2][1]), value, h)
            value = list(h)
        y.append(value[0] + (sample if file.get("in_skip") else 0))
    return y


def guitarml(file, x):
    about, p = file["model_data"], file["state_dict"]
    n, y = about["hidden_size"], []
    states = [([0.0] * n, [0.0] * n) for _ in range(about["num_layers"])]
    for sample in x:
        value = [sample]
        for i, (h, c) in enumerate(states):
            w, u, b, d = (p[f"rec.{name}_l{i}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            if about["unit_type"] == "LSTM":
                lstm([r + q for r, q in zip(w, u)], [r + q for r, q in zip(b, d)], value, h, c)
            else:
                gru(w, u, b, d, value, h)
            value = list(h)
        y.append(dot(p["lin.weight"][0], value) + p["lin.bias"][0] + (sample if about["skip"] else 0))
    return y


def nam(file, x):
    config, w, at = file["config"], file["weights"], 0
    n, layers, y = config["hidden_size"], [], []
    for i in range(config["num_layers"]):
        width = n + (n if i else config["input_size"])
        rows = [w[at + r * width:at + (r + 1) * width] for r in range(4 * n)]
        at += 4 * n * width
        layers.append((rows, w[at:at + 4 * n], w[at + 4 * n:at + 5 * n], w[at + 5 * n:at + 6 * n]))
        at += 6 * n
    holds("nam has all weights", len(w) == at + n + 1)
    for sample in x:
        value = [sample]
        for rows, bias, h, c in layers:
            lstm(rows, bias, value, h, c)
            value = list(h)
        y.append(dot(w[at:at + n], value) + w[at + n])
    return y


def write_guitarml(path, cell, layers, hidden, skip, rng):
    """Writes a file with random weights."""
    gates, state = {"LSTM": 4, "GRU": 3}[cell], {}
    def numbers(count, scale=.4):
        return [struct.unpack("f", struct.pack("f", rng.uniform(-scale, scale)))[0] for _ in range(count)]
    for i in range(layers):
        state[f"rec.weight_ih_l{i}"] = [numbers(hidden if i else 1, .8) for _ in range(gates * hidden)]
        state[f"rec.weight_hh_l{i}"] = [numbers(hidden) for _ in range(gates * hidden)]
        state[f"rec.bias_ih_l{i}"] = numbers(gates * hidden)
        state[f"rec.bias_hh_l{i}"] = numbers(gates * hidden)
    state["lin.weight"], state["lin.bias"] = [numbers(hidden)], numbers(1)
    about = dict(model="SimpleRNN", input_size=1, skip=skip, output_size=1, unit_type=cell, num_layers=layers,
                 hidden_size=hidden, bias_fl=True)
    json.dump(dict(model_data=about, state_dict=state), open(path, "w"))


def check_network(cell, layers, skip, rng):
    name = f"{cell} {layers} {'skip' if skip else ''}"
    write_guitarml("given.json", cell, layers, 5, skip, rng)
    must("import", "given.json", "-o", "m.safetensors")
    x = [struct.unpack("f", struct.pack("f", rng.uniform(-1, 1)))[0] for _ in range(SAMPLES)]
    y = outputs("m.safetensors", x)
    holds(f"{name}: guitarml in", apart(y, guitarml(json.load(open("given.json")), x)) < 1e-6)
    for form, formula in (("guitarml", guitarml), ("aidax", rtneural), ("rtneural", rtneural), ("nam", nam)):
        path = f"made.{'nam' if form == 'nam' else 'json'}"
        if (form == "rtneural" and skip) or (form == "nam" and (skip or cell == "GRU")):
            status, text = run("export", "m.safetensors", "--to", form, "-o", path)
            holds(f"{name}: {form} is refused: {text}", status == 4 and "fix: export to aidax" in text)
            continue
        must("export", "m.safetensors", "--to", form, "-o", path)
        file = json.load(open(path))
        if form != "nam":
            holds(f"{name}: {form} out", apart(y, formula(file, x)) < 1e-6)
        else:                                               # its states are those after silence
            settled = outputs("m.safetensors", [0.0] * SILENCE + x)[SILENCE:]
            holds(f"{name}: nam out", apart(settled, nam(file, x)) < 1e-6)
            check_peer(name, x, settled)
        must("import", path, "-o", "again.safetensors")
        holds(f"{name}: {form} in", apart(y, outputs("again.safetensors", x)) < 1e-6)
        os.remove(path)


def check_peer(name, x, y):
    global skipped
    try:
        import torch
        from nam.models._from_nam import init_from_nam
    except ImportError:
        skipped += 1
        return
    model = init_from_nam(json.load(open("made.nam")))
    model.eval()
    with torch.no_grad():
        found = model(torch.tensor(x, dtype=torch.float32)).tolist()
    holds(f"{name}: neural-amp-modeler", apart(y, found) < 1e-6)


def check_refusals(rng):
    """Files that are damaged or not supported, and models that the formats cannot hold."""
    write_guitarml("given.json", "LSTM", 1, 5, 0, rng)
    good = json.load(open("given.json"))

    def refused(what, text, change, path="bad.json", base=good):
        file = json.loads(json.dumps(base))
        change(file)
        json.dump(file, open(path, "w"))
        status, said = run("import", path, "-o", "no.safetensors")
        holds(f"{what}: {said}", status and text in said and "fix: " in said and not os.path.exists("no.safetensors"))

    refused("a missing tensor", "'rec.weight_hh_l0' is missing or does not have 20 rows", lambda f: f["state_dict"].pop("rec.weight_hh_l0"))
    refused("a short tensor", "'rec.bias_ih_l0' has 19 numbers, not 20", lambda f: f["state_dict"]["rec.bias_ih_l0"].pop())
    refused("another unit", "the unit_type is 'RNN'", lambda f: f["model_data"].update(unit_type="RNN"))
    refused("a text", "not finite numbers", lambda f: f["state_dict"].update({"lin.bias": ["x"]}))
    wavenet = dict(version="0.5.4", architecture="WaveNet", config={}, weights=[], sample_rate=48000)
    refused("a WaveNet", "the architecture is 'WaveNet'", lambda f: None, "bad.nam", wavenet)
    short = dict(architecture="LSTM", config=dict(input_size=1, hidden_size=3, num_layers=1), weights=[0.0] * 5)
    refused("few weights", "'weights' has 5 numbers, not 70", lambda f: None, "bad.nam", short)
    open("text.txt", "w").write("to be or not to be " * 200)
    must("train", "text.txt", "--hidden", "4", "--batch", "2", "--steps", "1", "--val", "0", "--quiet", "--out", "lm")
    status, said = run("export", "lm", "--to", "nam", "-o", "no.nam")
    holds(f"a language model: {said}", status == 4 and "holds recurrent layers that read numbers" in said)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rng = random.Random(1)
    for network in (("LSTM", 1, 0), ("LSTM", 2, 0), ("LSTM", 1, 1), ("GRU", 1, 0), ("GRU", 2, 1)):
        check_network(*network, rng)
    check_refusals(rng)
print(f"amp: {passed} passed, {failed} failed, {skipped} skipped" + (": neural-amp-modeler is not installed (pip install neural-amp-modeler==0.13.0 for PEERS_PYTHON)" if skipped else ""))
sys.exit(failed > 0)
