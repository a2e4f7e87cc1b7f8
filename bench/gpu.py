#!/usr/bin/env python3
"""Compares Unroll with PyTorch and cuDNN on a GPU and writes bench/RESULTS-gpu.md; `make gpu-bench` calls it.

In each regime of bench/regimes-gpu.txt the libraries take turns. Each turn gives the median of its runs, and the best
turn counts. All are timed by CUDA events around a run, with inputs in GPU memory. Ours is `unroll bench`, which reports
its clock; times of the host are rejected. It needs a GPU, but no network. Peers that are not installed are left out."""
import argparse
import datetime
import glob
import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import run

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "regimes-gpu.txt")
CELLS, PRECISIONS = ("lstm", "gru", "rnn"), ("fp32", "tf32", "bf16", "fp16")
PASSES = ("infer", "train")
PEERS = ("PyTorch", "cuDNN")
SECONDS, ROUNDS, PATIENCE = 0.15, 3, 6      # seconds of a turn; turns; seconds after which the third is skipped
LIMIT = 60                                  # seconds for one answer of a peer or of ours


@dataclass(frozen=True)
class Regime:
    part: str
    name: str
    cell: str
    dtype: str
    shape: tuple  # layers, steps, rows, inputs, hidden units
    form: str
    floors: tuple  # ms forward, ms backward; empty: not estimated

    @property
    def key(self):
        return f"{self.part}/{self.name}"

    def floor(self, purpose):
        """Returns ms, of both passes for training; None: not estimated."""
        return None if not self.floors else self.floors[0] if purpose == "infer" else sum(self.floors)

    def request(self, purpose):
        return " ".join(map(str, ("prepare", self.cell, purpose, self.dtype, *self.shape, 1,
                                  int(self.form == "ragged"))))


def parse_line(line):
    part, name, cell, dtype, shape, form, floors = line.split()
    shape = tuple(map(int, shape.split(",")))
    floors = () if floors == "-" else tuple(map(float, floors.split(",")))
    if len(shape) != 5 or min(shape) < 1 or len(floors) not in (0, 2):
        raise ValueError(f"{part}/{name}: five sizes of at least 1, and two floors or -")
    if cell not in CELLS or dtype not in PRECISIONS or form not in ("-", "ragged"):
        raise ValueError(f"{part}/{name}: {cell}, {dtype} or {form} is unknown")
    return Regime(part, name, cell, dtype, shape, form, floors)


def read(only=""):
    """Returns the regimes whose part or key is a word of `only`; all if it is empty."""
    with open(TABLE) as file:
        lines = [line.split("#")[0].strip() for line in file]
    regimes, words = [parse_line(line) for line in lines if line], only.replace(",", " ").split()
    unknown = [word for word in words if not any(word in (r.part, r.key) for r in regimes)]
    if unknown:
        raise ValueError(f"no regime is called {unknown[0]}; there are: " + " ".join(r.key for r in regimes))
    return [r for r in regimes if not words or r.part in words or r.key in words]


# ---- measuring ----


class Unroll:
    """`unroll bench`, started again for each turn."""

    def __init__(self, options, regime, purpose):
        self.command = [options.unroll, "bench", "--device", "cuda", "--json", "--cell", regime.cell, "--pass", purpose,
                        "--precision", regime.dtype, "--shape", ",".join(map(str, regime.shape)),
                        "--seconds", str(SECONDS), *(["--ragged"] if regime.form == "ragged" else [])]

    def turn(self):
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return {"refused": f"no answer within {LIMIT} s"}
        return parse_ours(done.returncode, done.stdout, done.stderr)


def parse_ours(code, out, err):
    if code:
        return {"refused": (err.strip().splitlines() or ["it failed"])[0]}
    answer = json.loads(out.splitlines()[-1])
    if answer.get("clock") != "device":
        return {"refused": "timed by the host"}
    return {"ms_median": answer["ms_median"], "runs": answer["runs"], "version": answer["isa"]}


def better(kept, turn):
    """Returns the turn with the smaller median; a refusal stays."""
    if "refused" in kept or ("ms_median" in kept and turn.get("ms_median", 0) >= kept["ms_median"]):
        return kept
    return {**kept, **turn}


def nvidia_libraries():
    """Returns the folders of the NVIDIA libraries in PyTorch's packages, where Unroll and cuDNN find cuBLAS."""
    return sorted({os.path.dirname(path) for folder in sys.path
                   for path in glob.glob(os.path.join(folder, "nvidia", "**", "lib", "*.so*"), recursive=True)})


def start_cudnn(options):
    return run.Peer([options.cudnn], 1, LIMIT, options.errors)


class Absent:
    """A peer that is not installed."""

    def ask(self, _line):
        return self

    def answer(self):
        return {"refused": "not here"}

    def close(self):
        pass


def start_torch(options):
    found = importlib.util.find_spec("torch")
    command = [sys.executable, os.path.join(HERE, "peer_torch_cuda.py")]
    return run.Peer(command, 1, LIMIT, options.errors) if found else Absent()


def measure(options, torch, regime, purpose):
    peers = {"PyTorch": torch, "cuDNN": start_cudnn(options)}
    answers = {name: peer.ask(regime.request(purpose)).answer() for name, peer in peers.items()}
    answers["Unroll"], ours, begin = {}, Unroll(options, regime, purpose), time.monotonic()
    for turn in range(ROUNDS):
        if turn == ROUNDS - 1 and time.monotonic() - begin > PATIENCE:
            break
        if "refused" not in answers["Unroll"]:
            answers["Unroll"] = better(answers["Unroll"], ours.turn())
        for name, peer in peers.items():
            if "refused" not in answers[name]:
                answers[name] = better(answers[name], peer.ask(f"run {SECONDS}").answer())
    peers["cuDNN"].close()
    return answers


# ---- the page ----


def ratio(answers):
    """Returns the time of the best peer divided by ours; None if either is missing."""
    theirs = [answers[name]["ms_median"] for name in PEERS if "ms_median" in answers.get(name, {})]
    ours = answers.get("Unroll", {}).get("ms_median")
    return min(theirs) / ours if theirs and ours else None


def parts(results):
    """Yields a row for each part and pass: geometric means of each peer's time divided by ours."""
    found = {}
    for regime, purpose, answers in results:
        ours = answers["Unroll"].get("ms_median")
        for name in PEERS:
            theirs = answers[name].get("ms_median")
            ratios = found.setdefault((regime.part, purpose), {}).setdefault(name, [])
            ratios += [theirs / ours] if ours and theirs else []
    for (part, purpose), by_peer in found.items():
        means = ["%.2f (%d)" % (geometric_mean(by_peer[name]), len(by_peer[name])) if by_peer[name] else ""
                 for name in PEERS]
        yield "| %s | %s | %s |" % (part, "forward" if purpose == "infer" else "both", " | ".join(means))


def cell_of(answer):
    if "ms_median" not in answer:
        return answer.get("refused", "no answer").replace("|", "/")
    words = answer.get("version", "").split()[1:]           # "PyTorch 2.13 graph", "cuDNN 90100 STANDARD", "sm_90 .."
    words = [word for word in words if not word[0].isdigit()]
    return " ".join(["%.4g" % answer["ms_median"], *words])


def row(regime, purpose, answers):
    times, floor = ratio(answers), regime.floor(purpose)
    ours = answers["Unroll"].get("ms_median")
    return "| %s | %s | %s | %s | %s | %s | %s |" % (
        regime.key, "forward" if purpose == "infer" else "both", ",".join(map(str, regime.shape)),
        " | ".join(cell_of(answers[name]) for name in ("Unroll", *PEERS)), "" if times is None else "%.2f" % times,
        "" if floor is None else "%.3g" % floor, "" if floor is None or not ours else "%.0f%%" % (100 * floor / ours))


def geometric_mean(numbers):
    product = 1.0
    for number in numbers:
        product *= number
    return product ** (1 / len(numbers)) if numbers else None


PAGE = """# Unroll compared with PyTorch and cuDNN on a GPU

%s. Written by `make gpu-bench%s`; build %s.

Medians in ms. The ratio is the best peer's time divided by ours: above 1, Unroll is faster. All runs are
timed by CUDA events; inputs are stored on the GPU. *graph*: PyTorch as a CUDA graph, where that is faster.
cuDNN is called directly, its algorithm the fastest of four. *persistent*: our recurrences take one launch each
(docs/internals/cuda-recurrences.md). *both*: forward and backward. Floors are estimates for an H200 (bench/regimes-gpu.txt).

| regime | pass | L,T,B,I,H | Unroll | PyTorch | cuDNN | ratio | floor | of it |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
%s

%s Of each part, a peer's time by ours, and of how many regimes:

| part | pass | PyTorch | cuDNN |
| --- | --- | --- | --- |
%s
"""


def page(options, device, results, left):
    ratios = list(filter(None, (ratio(answers) for _, _, answers in results)))
    mean = geometric_mean(ratios)
    end = "Geometric mean of %d ratios: %.2f." % (len(ratios), mean) if mean else "There is no ratio."
    if left:
        end += " Not measured in the time that there was: " + ", ".join(left) + "."
    command = f" ONLY={options.only}" if options.only else ""
    rows = "\n".join(row(*result) for result in results)
    return PAGE % (f"{device}, {datetime.date.today()}", command, options.build or "unknown", rows, end,
                   "\n".join(parts(results)))


# ---- the run ----


def fail(sentence):
    sys.exit(f"gpu-bench: {sentence}")


def device_of(options):
    """Returns the GPU's name from `unroll devices` and the driver's version. Exits if there is no GPU."""
    done = subprocess.run([options.unroll, "devices"], capture_output=True, text=True)
    lines = [line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("cuda ")]
    if not lines or lines[0].startswith("none"):
        fail((lines or ["this build knows no GPU"])[0] + "; nothing was measured")
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True).stdout.split()
    except OSError:
        driver = []
    return lines[0] + (f", {driver[0]}" if driver else "")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unroll", default="build/unroll")
    parser.add_argument("--cudnn", default="build/peers/peer_cudnn", help="bench/peer_cudnn.c, compiled")
    parser.add_argument("--only", default="", help="parts or regimes of bench/regimes-gpu.txt")
    parser.add_argument("--minutes", type=float, default=9, help="after which no measurement is begun")
    parser.add_argument("--begin", type=float, default=time.time(), help="from when they count, in seconds since 1970")
    parser.add_argument("--build", default="")
    parser.add_argument("--errors", type=argparse.FileType("w"), help="a file for what the peers write to stderr")
    parser.add_argument("--out", default=os.path.join(HERE, "RESULTS-gpu.md"))
    return parser.parse_args()


def main():
    options = arguments()
    try:
        runs = [(regime, purpose) for regime in read(options.only) for purpose in PASSES]
    except ValueError as error:
        fail(error)
    os.environ["LD_LIBRARY_PATH"] = ":".join([*nvidia_libraries(), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    device = device_of(options)
    torch = start_torch(options)
    if isinstance(torch, Absent):
        print(f"gpu-bench: {sys.executable} has no PyTorch: it is left out; PYTHON=that of an environment that has it")
    results, left = [], []
    for regime, purpose in runs:
        if time.time() - options.begin > 60 * options.minutes:
            left.append(f"{regime.key} {purpose}")
            continue
        results.append((regime, purpose, measure(options, torch, regime, purpose)))
        print(row(*results[-1]), flush=True)
        with open(options.out, "w") as file:
            file.write(page(options, device, results, left))
    torch.close()
    with open(options.out, "w") as file:
        file.write(page(options, device, results, left))
    if not any("ms_median" in answers["Unroll"] for _, _, answers in results):
        fail("nothing was measured: see " + options.out)


if __name__ == "__main__":
    main()
