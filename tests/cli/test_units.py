# Consistent scales: a regression and a classifier, trained on columns far from 0 and 1, and a forecast of two stores
# give the same results for the same rows everywhere. That is in predict, run, stream, a stream, a pool and a
# session in C, an exported C99 program and ONNX Runtime. Raw access must be requested. Python is tested in
# tests/python/test_training.py. Usage: test_units.py UNROLL LIBRARY BUILD
# test: args=$B/unroll $B/libunroll.a $B; seconds=20
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
UNROLL, LIBRARY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
STEPS = 6
count = {"passed": 0, "failed": 0, "skipped": 0}

USE = r"""
#include <stdlib.h>
#include <string.h>
#include <unroll_train.h>
#define MUST(call) if ((call) != UNROLL_OK) return fprintf(stderr, "%s\n", unroll_last_error()), 1
/* use MODEL stream|session|pool SERIES|- RAW: the outputs of the last frame of standard input */
int main(int argc, char **argv)
{
    unroll_model *model;
    unroll_stream *stream;
    unroll_session *session;
    unroll_network network = {.size = sizeof network};
    unroll_stream_config config = unroll_stream_config_default();
    unroll_session_config of_session = unroll_session_config_default();
    static float x[1000], y[1000];
    static char line[65536];
    if (argc != 5) return 2;
    config.series = of_session.series = strcmp(argv[3], "-") ? argv[3] : NULL;
    config.raw = of_session.raw = atoi(argv[4]);
    MUST(unroll_model_load(argv[1], &model));
    size_t bytes = unroll_stream_bytes(model, &config);
    if (!bytes) return fprintf(stderr, "%s\n", unroll_last_error()), 1;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    MUST(unroll_stream_init(memory, bytes, model, &config, &stream));
    unroll_stream_pool_config of_pool = unroll_stream_pool_config_default();
    unroll_stream_pool *pool;
    of_pool.raw = config.raw, of_pool.series = config.series, of_pool.slots = 3;
    const size_t pool_bytes = unroll_stream_pool_bytes(model, &of_pool);
    void *pool_memory = aligned_alloc(64, (pool_bytes + 63) / 64 * 64);
    MUST(unroll_stream_pool_init(pool_memory, pool_bytes, model, &of_pool, &pool));
    of_session.stateful = 1;
    of_session.machine.threads = 1;
    MUST(unroll_session_new(model, &of_session, &session));
    unroll_model_network(unroll_session_model(session), &network);
    if (network.input != unroll_stream_inputs(stream)) return 2;
    const int outputs = unroll_stream_outputs(stream);
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        for (int i = 0; i < network.input; i++, at += *at == ',') x[i] = strtof(at, &at);
        unroll_batch batch = { .size = sizeof batch, .inputs = x };
        if (!strcmp(argv[2], "stream")) {
            MUST(unroll_stream_step(stream, NULL, x, y));
            continue;
        }
        if (!strcmp(argv[2], "pool")) {
            MUST(unroll_stream_pool_step(pool, 1, (const int32_t[]){1}, NULL, x, y));
            continue;
        }
        MUST(unroll_session_forward(session, &batch));
        MUST(unroll_session_read(session, "z", y, (size_t)outputs));
    }
    for (int i = 0; i < outputs; i++) printf("%.9g%c", (double)y[i], i + 1 < outputs ? ',' : '\n');
    unroll_session_free(session);
    unroll_model_free(model);
    free(memory);
    free(pool_memory);
    return 0;
}
"""

C99 = r"""
#include <stdio.h>
#include <stdlib.h>
#include "unroll_model.h"
int main(void)
{
    static struct unroll_model s;
    static float x[UNROLL_MODEL_INPUTS], y[UNROLL_MODEL_OUTPUTS];
    static char line[65536];
    unroll_model_init(&s);
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        for (int i = 0; i < UNROLL_MODEL_INPUTS; i++, at += *at == ',') x[i] = strtof(at, &at);
        unroll_model_step(&s, x, y);
    }
    for (int i = 0; i < UNROLL_MODEL_OUTPUTS; i++) printf("%.9g%c", (double)y[i], i + 1 < UNROLL_MODEL_OUTPUTS ? ',' : '\n');
    return 0;
}
"""

# If the test environment has ONNX Runtime.
ONNX = r"""
import json, numpy, onnxruntime, sys
x = numpy.load(sys.argv[1])
session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
feed = {i.name: numpy.zeros([n if isinstance(n, int) else 1 for n in i.shape], "float32") for i in session.get_inputs()}
found = session.run(["y"], feed | {session.get_inputs()[0].name: x})[0]
print(json.dumps([float(v) for v in found.reshape(-1, found.shape[-1])[-1]]))
"""


def command(*words, text=None, code=0):
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout if code == 0 else done.stderr


def unroll(*words, **more):
    return command(UNROLL, *words, **more)


def check(condition, message):
    count["passed" if condition else "failed"] += 1
    if not condition:
        print("FAILED", message)


def near(name, wanted, found):
    scale = max(abs(w) for w in wanted)
    off = max(abs(w - f) for w, f in zip(wanted, found)) / scale if len(wanted) == len(found) else math.inf
    check(off < 1e-4, f"{name}: {found[:3]}, not {wanted[:3]}")


def numbers(line):
    return [float(n) for n in line.strip().splitlines()[-1].split(",")]


def write_npy(path, frames):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(frames)}, 1, {len(frames[0])}), }}"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + (header.ljust(117) + "\n").encode())
        for frame in frames:
            file.write(struct.pack(f"<{len(frame)}f", *frame))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def build(source, name, *flags):
    with open(name + ".c", "w") as file:
        file.write(source)
    command("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", name + ".c", *flags, "-o", name)


def compare_onnx(name, wanted, run, chosen):
    python = subprocess.run([os.path.join(ROOT, "tests/venv.sh"), sys.argv[3], "numpy", "onnxruntime"], cwd=WAS,
                            capture_output=True, text=True)  # fmt: skip
    if python.returncode:
        print(f"skipped: {python.stdout.strip()}")
        count["skipped"] += 1
        return
    unroll("export", run, *chosen, "--to", "onnx", "-o", "model.onnx")
    near(f"{name}: ONNX", wanted, json.loads(command(python.stdout.strip(), "-c", ONNX, "x.npy", "model.onnx")))


def compare(run, frames, wanted, series, name):
    """wanted: the outputs after the last frame."""
    text = "".join(",".join(f"{v:.9g}" for v in frame) + "\n" for frame in frames)
    chosen = ["--series", series] if series != "-" else []
    write_npy("x.npy", frames)
    stream = numbers(unroll("stream", run, *chosen, text=text))
    logits = numbers(command("./use", f"{run}/model.safetensors", "stream", series, "0", text=text))
    if name == "classify":                              # the command prints probabilities
        near(f"{name}: stream", softmax(logits), stream)
        near(f"{name}: stream in C", wanted, softmax(logits))
    else:
        near(f"{name}: stream", wanted, stream)
        near(f"{name}: stream in C", wanted, logits)
    near(f"{name}: session in C", logits, numbers(command("./use", f"{run}/model.safetensors", "session", series, "0", text=text)))
    near(f"{name}: pool in C", logits, numbers(command("./use", f"{run}/model.safetensors", "pool", series, "0", text=text)))
    unroll("run", run, "x.npy", *chosen, "-o", "y.npy")
    near(f"{name}: run", logits, read_npy("y.npy")[-len(logits):])
    unroll("export", run, *chosen, "--to", "c99", "-o", f"c99-{name}")
    build(C99, f"c99-{name}/main", f"-Ic99-{name}", f"c99-{name}/unroll_model.c", "-lm")
    near(f"{name}: C99", logits, numbers(command(f"c99-{name}/main", text=text)))
    compare_onnx(name, logits, run, chosen)
    raw = numbers(command("./use", f"{run}/model.safetensors", "stream", "-", "1", text=text)) if series == "-" else None
    if raw:
        check(max(abs(r - f) for r, f in zip(raw, logits)) > 1e-3, f"{name}: raw numbers give the same")
        near(f"{name}: --raw", softmax(raw) if name == "classify" else raw, numbers(unroll("stream", run, "--raw", text=text)))


def softmax(logits):
    e = [math.exp(v - max(logits)) for v in logits]
    return [v / sum(e) for v in e]


def sequences(kind):
    rows = [[[1000 + 7 * ((3 * i + t) % 11), ((i + t) % 5) / 1000] for t in range(STEPS)] for i in range(60)]
    with open(f"{kind}.jsonl", "w") as file:
        for x in rows:
            y = 5e4 + 100 * x[-1][0] if kind == "regress" else "low" if x[-1][0] < 1035 else "high"
            print(json.dumps({"x": x, "y": y}), file=file)
    unroll("train", f"{kind}.jsonl", "--task", kind, "--streaming", "--pool", "last", "--hidden", "8", "--steps", "80",
           "--threads", "1", "--out", kind)  # fmt: skip
    answers = [json.loads(line) for line in unroll("predict", kind, f"{kind}.jsonl", "--json").splitlines()]
    for i in (0, 7, 59):
        a = answers[i]
        wanted = [a["prediction"] if "prediction" in a else a[next(k for k in a if isinstance(a[k], float))]] \
            if kind == "regress" else [a["probabilities"][k] for k in sorted(a["probabilities"])]
        compare(kind, rows[i], wanted, "-", kind)


def stores():
    with open("stores.csv", "w") as file:
        print("store,day,sales", file=file)
        for store, level in (("large", 9000.0), ("small", 40.0)):
            for day in range(240):
                print(f"{store},{day},{level * (1 + 0.3 * math.sin(day / 7 * 2 * math.pi) + day % 3 / 30):.4f}", file=file)
    unroll("train", "stores.csv", "--group", "store", "--horizon", "3", "--season", "7", "--target", "sales", "--hidden", "8",
           "--steps", "40", "--threads", "1", "--loss", "mse", "--out", "stores")  # fmt: skip
    task = schema_of("stores")["task"]
    patch = task["patch"]
    answers = [json.loads(line) for line in unroll("predict", "stores", "stores.csv", "--json").splitlines()]
    for store in ("large", "small"):
        with open("stores.csv") as file:
            values = [float(line.split(",")[2]) for line in file if line.startswith(store)]
        values = values[len(values) - patch * min(task["patches"], len(values) // patch):]
        frames = [values[i:i + patch] for i in range(0, len(values), patch)]
        answer = next(a for a in answers if store in json.dumps(a))
        wanted = next(v for v in walk(answer) if isinstance(v, list) and len(v) == 3 and all(isinstance(n, float) for n in v))
        compare("stores", frames, wanted, store, f"forecast of {store}")
    check("a stream needs one of them" in unroll("stream", "stores", text="1\n", code=2), "a series must be chosen")
    check("--series has no effect on --raw values" in unroll("stream", "stores", "--raw", "--series", "small", text="1\n", code=2),
          "--raw and --series")


def schema_of(run):
    with open(f"{run}/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return json.loads(header["__metadata__"]["schema"])


def walk(value):
    yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from walk(one)


WAS = os.getcwd()
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    build(USE, "use", "-I", os.path.join(ROOT, "include"), LIBRARY, "-ljansson", "-lm", "-lpthread", "-ldl")
    sequences("regress")
    sequences("classify")
    stores()
    os.chdir(WAS)
print(f"units: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
sys.exit(count["failed"] > 0)
