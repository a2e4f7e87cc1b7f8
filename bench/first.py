#!/usr/bin/env python3
"""Measures the first second of use: creating a stream, one prediction, the begin of a training, `import unroll`, and
the scalar kernels next to AVX2's. Usage: bench/first.py [--unroll build/unroll] [--first build/first] [--site FOLDER]

Each is the best of several runs, in CPU time and in real time. CPU time excludes what other programs take. --site is a
folder with the installed Python package; without it `import unroll` is left out."""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

RUNS = 10


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise SystemExit(f"first.py: {' '.join(command)}: {done.stderr.strip()[-300:]}; fix: run it by itself")
    return done.stdout


def best_of_runs(function):
    return tuple(min(values) for values in zip(*(function() for _ in range(RUNS))))


def timed(*command, **more):
    """Returns the CPU and the real milliseconds of a command."""
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before, begin = cpu(), time.perf_counter()
    run(*command, **more)
    real = time.perf_counter() - begin
    return 1e3 * (cpu() - before), 1e3 * real


def until_update(unroll, text, folder):
    """Returns the CPU and real milliseconds from the start of a training to the line before its first update."""
    out = os.path.join(folder, "begin")
    command = [unroll, "train", text, "--out", out, "--overwrite", "--steps", "1", "--val", "0"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    cpu = real = math.nan
    for line in process.stderr:
        if "params" in line:
            real = time.perf_counter() - begin
            with open(f"/proc/{process.pid}/schedstat") as file:
                cpu = int(file.read().split()[0]) / 1e9
    if process.wait():
        raise SystemExit(f"first.py: {' '.join(command)} failed; fix: run it by itself")
    return 1e3 * cpu, 1e3 * real


def make_data(folder):
    draw = random.Random(1)
    words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9))) for _ in range(3000)]
    text, table, row = (os.path.join(folder, name) for name in ("text.txt", "table.csv", "row.csv"))
    with open(text, "w") as file:
        while file.tell() < 1e6:
            file.write(" ".join(draw.choice(words) for _ in range(1000)) + "\n")
    rows = ["a,b,c,target"]
    for _ in range(500):
        a, b, c = (draw.gauss(5, 3) for _ in range(3))
        rows.append(f"{a:.4f},{b:.4f},{c:.4f},{3 * a - b + 20:.4f}")
    for path, lines in ((table, rows), (row, rows[:2])):
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
    return text, table, row


def scalar_ratio(unroll, purpose):
    def ms(isa):
        done = run(unroll, "bench", "--json", "--shape", "1,16,16,128,128", "--pass", purpose, "--isa", isa, "--threads", "1")
        return json.loads(done.splitlines()[-1])["ms"]

    return min(ms("scalar") for _ in range(3)) / min(ms("avx2") for _ in range(3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unroll", default="build/unroll")
    parser.add_argument("--first", default="build/first")
    parser.add_argument("--site")
    options = parser.parse_args()
    unroll = os.path.abspath(options.unroll)
    with tempfile.TemporaryDirectory() as folder:
        text, table, row = make_data(folder)
        models = {name: os.path.join(folder, name) for name in ("text", "regression")}
        run(unroll, "train", text, "--hidden", "16", "--layers", "1", "--steps", "1", "--val", "0", "--out", models["text"])
        run(unroll, "train", table, "--target", "target", "--epochs", "1", "--out", models["regression"])
        for name, model in models.items():
            least, median = map(float, run(options.first, os.path.join(model, "model.safetensors")).split())
            print(f"a stream, {name:10}          {least:7.1f} us of CPU time, median {median:.1f}")
        for name, (cpu, real) in {
            "unroll predict, one row": best_of_runs(lambda: timed(unroll, "predict", models["regression"], row)),
            "unroll train, to its first update": best_of_runs(lambda: until_update(unroll, text, folder)),
        }.items():
            print(f"{name:33}{cpu:5.1f} ms of CPU time, {real:.0f} ms in all")
        if options.site:
            environment = os.environ | {"PYTHONPATH": os.path.abspath(options.site)}
            cpu, real = best_of_runs(lambda: timed(sys.executable, "-c", "import unroll", env=environment))
            print(f"{'import unroll, with Python':33}{cpu:5.1f} ms of CPU time, {real:.0f} ms in all")
        for purpose in ("infer", "train"):
            print(f"scalar / avx2, {purpose:18}{scalar_ratio(unroll, purpose):5.1f} times the time")


if __name__ == "__main__":
    sys.exit(main())
