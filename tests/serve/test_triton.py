"""tritonclient of PyPI, unmodified, against `unroll serve`. Usage: test_triton.py COMMAND BUILD"""
# test: args=$B/unroll $B; seconds=30
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
if "TRITON_PYTHON" not in os.environ:
    found = subprocess.run([os.path.join(here, "..", "venv.sh"), sys.argv[2], "tritonclient.http", "numpy"], capture_output=True, text=True)
    if found.returncode:
        print(f"skipped: {found.stdout.strip()}\ntriton: 0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    os.execve(found.stdout.strip(), [found.stdout.strip(), *sys.argv], os.environ | {"TRITON_PYTHON": "1"})

import numpy as np
import tritonclient.http as triton

sys.path.insert(0, here)
from client import Server, check, finish

binary = os.path.abspath(sys.argv[1])


def tensor(name, values, kind, is_binary=True):
    values = np.asarray(values)
    made = triton.InferInput(name, list(values.shape), kind)
    made.set_data_from_numpy(values, binary_data=is_binary)
    return made


def use(client, expected):
    check("it is live and ready", client.is_server_live() and client.is_server_ready() and client.is_model_ready("book"))
    check("metadata", client.get_server_metadata()["name"] == "unroll" and client.get_model_metadata("book")["inputs"][0]["name"] == "tokens")
    check("the index", client.get_model_repository_index()[0]["name"] == "book")
    tokens = np.array([1, 2, 3, 0, 4], np.int32)
    for is_binary in (True, False):
        wanted = [triton.InferRequestedOutput("logits", binary_data=is_binary)]
        got = client.infer("book", [tensor("tokens", tokens, "INT32", is_binary)], outputs=wanted, request_id="a").as_numpy("logits")
        check(f"logits, binary {is_binary}", got.shape == expected.shape and np.array_equal(got, expected), got - expected)
    rows = [client.infer("book", [tensor("tokens", tokens[i:i + 1], "INT32")], sequence_id=9, sequence_start=i == 0, sequence_end=i == 4,
                         priority=1, timeout=10 ** 7).as_numpy("logits")[0] for i in range(5)]
    check("a sequence has the same bits", np.array_equal(np.stack(rows), expected))
    words = client.infer("book", [tensor("text", np.array([b"ab"], object), "BYTES")], parameters={"length": 10, "seed": 1}).as_numpy("text")
    check("a text", len(words[0].decode()) == 10, words)
    for what, call in {"an unknown model": lambda: client.infer("none", [tensor("tokens", tokens, "INT32")]),
                       "an unknown session": lambda: client.infer("book", [tensor("tokens", tokens, "INT32")], sequence_id=5),
                       "a token outside": lambda: client.infer("book", [tensor("tokens", tokens + 99, "INT32")])}.items():
        try:
            call()
            check(what, False)
        except triton.InferenceServerException as error:
            check(what, "fix: " in str(error), error)


with tempfile.TemporaryDirectory() as work:
    with open(os.path.join(work, "book.txt"), "w") as file:
        file.write("abcd efgh\n" * 300)
    subprocess.run([binary, "train", "book.txt", "--hidden", "16", "--steps", "4", "--batch", "4", "--bptt", "16", "--quiet", "--out", "book"],
                   cwd=work, check=True, capture_output=True)
    # `unroll run` writes the outputs of the whole sequence.
    np.save(os.path.join(work, "x.npy"), np.array([1, 2, 3, 0, 4], np.int32))
    subprocess.run([binary, "run", "book", "x.npy", "-o", "y.npy"], cwd=work, check=True, capture_output=True)
    expected = np.load(os.path.join(work, "y.npy")).reshape(5, -1)
    with Server(binary, "book", "--deadline", "10s", folder=work) as server:
        if "libwebsockets was not found" in server.text():
            print("skipped: the server wants libwebsockets-dev\ntriton: 0 passed, 0 failed, 1 skipped")
            sys.exit(0)
        with triton.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
            use(client, expected)
finish("triton")
