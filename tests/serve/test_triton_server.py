"""`unroll bench --serve` drives Triton Inference Server itself: each session's steps arrive in order and are answered.
The program comes with the package nvidia-pytriton: BUILD/venv/bin/pip install --no-deps nvidia-pytriton
Usage: test_triton_server.py COMMAND BUILD"""
# test: args=$B/unroll $B; seconds=40
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from client import LIMIT, check, finish, free_port, wait_for

CONFIG = """backend: "python"
max_batch_size: 8
input [{ name: "INPUT", data_type: TYPE_FP32, dims: [4] }]
output [{ name: "OUTPUT", data_type: TYPE_FP32, dims: [4] }]
sequence_batching {
  oldest { max_candidate_sequences: 64 }
  max_sequence_idle_microseconds: 1000000000
  control_input [
    { name: "START", control [{ kind: CONTROL_SEQUENCE_START, int32_false_true: [0, 1] }] },
    { name: "END", control [{ kind: CONTROL_SEQUENCE_END, int32_false_true: [0, 1] }] },
    { name: "CORRID", control [{ kind: CONTROL_SEQUENCE_CORRID, data_type: TYPE_UINT64 }] }
  ]
}
instance_group [{ kind: KIND_CPU, count: 1 }]
"""

# Sums the inputs of each sequence; writes the count of its steps when it ends.
MODEL = """import numpy as np
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.sums, self.steps = {}, {}

    def execute(self, requests):
        return [self.step(*(triton.get_input_tensor_by_name(r, name).as_numpy() for name in ("INPUT", "START", "END", "CORRID"))) for r in requests]

    def step(self, x, start, end, key):
        key = int(key.flat[0])
        self.sums[key] = (0 if start.flat[0] else self.sums[key]) + x
        self.steps[key] = (0 if start.flat[0] else self.steps[key]) + 1
        if end.flat[0]:
            with open("ended.txt", "a") as file:
                file.write(f"{self.steps[key]}\\n")
        return triton.InferenceResponse([triton.Tensor("OUTPUT", self.sums[key])])
"""


def find_triton(build):
    """(python, folder of the server), or why there is none."""
    found = subprocess.run([os.path.join(here, "..", "venv.sh"), build, "numpy"], capture_output=True, text=True)
    if found.returncode:
        return None, found.stdout.strip()
    python = found.stdout.strip()
    look = "import importlib.util as u, sys; s = u.find_spec('pytriton'); print('%d.%d' % sys.version_info[:2], s.submodule_search_locations[0] if s else '')"
    version, _, where = subprocess.run([python, "-c", look], capture_output=True, text=True).stdout.strip().partition(" ")
    server = os.path.join(where, "tritonserver")
    if not where or not os.path.exists(server):
        return None, "the Python of the tests has no Triton; pip install --no-deps nvidia-pytriton installs it"
    stub = os.path.join(server, "python_backend_stubs", version, "triton_python_backend_stub")
    if not os.path.exists(stub):
        return None, f"this Triton has no backend for Python {version}"
    starts = subprocess.run([os.path.join(server, "bin/tritonserver"), "--help"], capture_output=True, text=True)
    if "--model-repository" not in starts.stdout + starts.stderr:
        return None, f"tritonserver does not start: {starts.stderr.strip()[-200:]}"
    return (python, server, stub), None


def start(work, python, server, stub, port):
    shutil.copytree(os.path.join(server, "backends"), os.path.join(work, "backends"))
    shutil.copy(stub, os.path.join(work, "backends/python"))
    os.makedirs(os.path.join(work, "models/sum/1"))
    for name, text in (("config.pbtxt", CONFIG), ("1/model.py", MODEL)):
        with open(os.path.join(work, "models/sum", name), "w") as file:
            file.write(text)
    # The copies have their libraries elsewhere.
    packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True).stdout.strip()
    with open(os.path.join(work, "triton.log"), "w") as log:
        return subprocess.Popen([os.path.join(server, "bin/tritonserver"), "--model-repository=models", "--backend-directory=backends", "--http-address=127.0.0.1",
                                 f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false"], cwd=work, stdout=log, stderr=log,
                                env=os.environ | {"PYTHONPATH": packages, "LD_LIBRARY_PATH": os.path.join(packages, "nvidia_pytriton.libs"),
                                                  "PATH": os.path.dirname(python) + ":" + os.environ["PATH"]})


def is_ready(port):
    try:
        one = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        one.request("GET", "/v2/models/sum/ready")
        return one.getresponse().status == 200
    except OSError:
        return False


def drive(binary, work, port):
    def bench(*words):
        return subprocess.run([binary, "bench", "--serve", f"http://127.0.0.1:{port}/v2/models/sum", *words], capture_output=True, text=True, timeout=LIMIT)
    done = bench("--http", "--sessions", "6", "--connections", "3", "--rate", "10", "--seconds", "1", "--deadline", "500s", "--json")
    found = json.loads(done.stdout or "{}")
    check("each step is answered", done.returncode == 0 and found["frames"] == 60 and found["refused"] == 0, done)
    with open(os.path.join(work, "ended.txt")) as file:
        steps = file.read().split()
    check("each sequence has its steps, and ends", steps == ["10"] * 6, steps)
    done = bench("--sessions", "6")
    check("without --http it is refused with the fix", done.returncode != 0 and "fix: " in done.stderr and "--http" in done.stderr, done)


found, why = find_triton(sys.argv[2])
if why:
    print(f"skipped: {why}\ntriton_server: 0 passed, 0 failed, 1 skipped")
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    free = free_port()
    triton = start(folder, *found, free)
    try:
        check("Triton starts", wait_for(lambda: is_ready(free) or triton.poll() is not None) and triton.poll() is None, open(os.path.join(folder, "triton.log")).read()[-600:])
        drive(os.path.abspath(sys.argv[1]), folder, free)
    finally:
        triton.kill()
        triton.wait()
finish("triton_server")
