"""`unroll serve` and ONNX Runtime under FastAPI, both driven by `unroll bench --serve --http` in one run.

    python -m venv venv && venv/bin/pip install fastapi uvicorn uvloop httptools orjson onnxruntime numpy
    venv/bin/python bench/serve_peer.py build/unroll [--p99 5] [--sessions 100] [--seconds 2] [--dtype fp32] [--realtime]

The network is an LSTM of 256 units with 16 inputs and outputs. Each request is one step of a session, as the binary tensors
of the Open Inference Protocol over kept connections, and both servers keep the states. The peer runs each step at once on
one thread, with uvloop and httptools; its answers are compared with those of Unroll. Printed is, for each server, the
highest rate whose p99 stays below the limit, in steps of a tenth, the servers in turns. --realtime runs servers and
generator with `chrt -f 1` (root), for a machine on which other programs run."""

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

UNITS, WIDTH = 256, 16


# ---- the peer: FastAPI and ONNX Runtime ----

def serve(path, port):
    import fastapi
    import onnxruntime
    import orjson
    import uvicorn
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    network = onnxruntime.InferenceSession(path, options)
    states, app = {}, fastapi.FastAPI()
    zero = np.zeros((1, 1, UNITS), np.float32)

    @app.get("/v2/models/lstm")
    def metadata():
        return {"name": "lstm", "inputs": [{"name": "input", "datatype": "FP32", "shape": [-1, WIDTH]}],
                "outputs": [{"name": "output", "datatype": "FP32", "shape": [-1, WIDTH]}]}

    @app.post("/v2/models/lstm/infer")
    async def infer(request: fastapi.Request):
        body = await request.body()
        size = int(request.headers["inference-header-content-length"])
        about = orjson.loads(body[:size])
        said = about["parameters"]
        h, c = (zero, zero) if said["sequence_start"] else states[said["sequence_id"]]
        x = np.frombuffer(body, np.float32, offset=size).reshape(1, 1, WIDTH)
        h, c, y = network.run(None, {"x": x, "h0.l0": h, "c0.l0": c})
        if said["sequence_end"]:
            states.pop(said["sequence_id"], None)
        else:
            states[said["sequence_id"]] = h, c
        head = orjson.dumps({"model_name": "lstm", "model_version": "1", "outputs": [
            {"name": "output", "datatype": "FP32", "shape": [1, WIDTH], "parameters": {"binary_data_size": y.nbytes}}]})
        return fastapi.Response(head + y.tobytes(), media_type="application/octet-stream",
                                headers={"Inference-Header-Content-Length": str(len(head))})

    uvicorn.run(app, host="127.0.0.1", port=port, loop="uvloop", http="httptools", log_level="warning", access_log=False)


# ---- the network ----

def make_network(unroll, folder):
    draw = np.random.default_rng(1)
    shapes = {"lstm.weight_ih_l0": (4 * UNITS, WIDTH), "lstm.weight_hh_l0": (4 * UNITS, UNITS), "lstm.bias_ih_l0": (4 * UNITS,),
              "lstm.bias_hh_l0": (4 * UNITS,), "fc.weight": (WIDTH, UNITS), "fc.bias": (WIDTH,)}
    head, data = {}, b""
    for name, shape in shapes.items():
        values = draw.uniform(-1, 1, shape).astype("<f4") / UNITS ** 0.5
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(head).encode()
    with open(os.path.join(folder, "torch.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    for words in (["import", "torch.safetensors", "-o", "lstm.safetensors"], ["export", "lstm.safetensors", "--to", "onnx", "-o", "lstm.onnx"]):
        subprocess.run([unroll, *words], cwd=folder, check=True, capture_output=True)


# ---- measuring ----

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def first_outputs(port):
    """The outputs of three steps of a session, to compare the servers."""
    outputs = []
    for step in range(3):
        x = np.linspace(-1, 1, WIDTH, dtype=np.float32) * (step + 1)
        head = json.dumps({"inputs": [{"name": "input", "shape": [1, WIDTH], "datatype": "FP32", "parameters": {"binary_data_size": x.nbytes}}],
                           "outputs": [{"name": "output", "parameters": {"binary_data": True}}],
                           "parameters": {"sequence_id": 5, "sequence_start": step == 0, "sequence_end": step == 2, "timeout": 10 ** 7}}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v2/models/lstm/infer", head + x.tobytes(),
                                         {"Inference-Header-Content-Length": str(len(head))})
        outputs.append(np.frombuffer(urllib.request.urlopen(request).read()[-4 * WIDTH:], np.float32))
    return np.stack(outputs)


def measure(given, port, rate):
    """Returns the report of `unroll bench` for a total rate in steps a second."""
    done = subprocess.run([*given.before, given.unroll, "bench", "--serve", f"http://127.0.0.1:{port}/v2/models/lstm", "--http", "--json",
                           "--sessions", str(given.sessions), "--rate", f"{rate / given.sessions:.6g}", "--seconds", str(given.seconds),
                           "--deadline", "1s"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def keeps(found, rate, limit):
    return found["p99_ms"] <= limit and found["refused"] == 0 and found["frames_per_second"] > 0.98 * rate


def compare(given, servers):
    """The highest rate of each server, and what was measured there. A rate fails if it fails three times."""
    best, rates = {}, {name: 500.0 for name in servers}
    while rates:
        for name in list(rates):
            for _ in range(3):
                found = measure(given, servers[name], rates[name])
                if keeps(found, rates[name], given.p99):
                    break
            else:
                del rates[name]
                continue
            best[name] = found
            rates[name] *= 1.1
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unroll", type=os.path.abspath)
    parser.add_argument("--p99", type=float, default=5, help="limit in milliseconds")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--realtime", action="store_true")
    given = parser.parse_args()
    given.before = ["chrt", "-f", "1"] if given.realtime else []
    with tempfile.TemporaryDirectory() as folder:
        make_network(given.unroll, folder)
        ports = {"unroll serve": free_port(), "FastAPI and ONNX Runtime": free_port()}
        mine, peer = ports.values()
        running = [subprocess.Popen([*given.before, given.unroll, "serve", "lstm.safetensors", "--port", str(mine), "--sessions", "10000",
                                     "--dtype", given.dtype], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL),
                   subprocess.Popen([*given.before, sys.executable, os.path.abspath(__file__), "server", os.path.join(folder, "lstm.onnx"), str(peer)])]
        try:
            for port in ports.values():
                while socket.socket().connect_ex(("127.0.0.1", port)):
                    time.sleep(0.1)
            off = np.abs(first_outputs(mine) - first_outputs(peer)).max()
            print(f"largest difference of outputs: {off:.1e}")
            best = compare(given, ports)
        finally:
            for one in running:
                one.kill()
    for name, found in best.items():
        print(f"{name}: {found['frames_per_second']:.0f} steps a second, p50 {found['p50_ms']:.3f} ms, p99 {found['p99_ms']:.3f} ms")
    first, second = (best[name]["frames_per_second"] for name in ports)
    print(f"ratio {first / second:.1f} with p99 below {given.p99:g} ms, {given.sessions} sessions, {given.dtype}")


if __name__ == "__main__":
    serve(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "server" else main()
