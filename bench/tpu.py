#!/usr/bin/env python3
"""What training steps would take on TPUs, by the TPU's own compiler: writes bench/RESULTS-tpu.md. No TPU is used and
nothing is measured. Usage: bench/tpu.py UNROLL libtpu.so [--only A,C] [--chips v5e:2x2] [--precision bf16]
[--seconds N]: no compilation is begun after so many."""
import argparse
import datetime
import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHIPS = ["v4:2x2x1", "v5e:2x2", "v5p:2x2x1", "v6e:2x2"]


def shapes():
    """The regimes of lstm-train: name, [L, T, B, I, H]."""
    for line in open(os.path.join(HERE, "regimes.txt")):
        words = line.split()
        if words[:1] == ["lstm-train"]:
            yield words[1], [int(n) for n in words[5].split(",")]


def command(arguments, shape, chips):
    layers, steps, rows, inputs, hidden = shape
    return [arguments.unroll, "plan", "--device", "xla:" + arguments.plugin, "--topology", chips, "--precision",
            arguments.precision, "--layers", str(layers), "--bptt", str(steps), "--batch", str(rows), "--embed",
            str(inputs), "--hidden", str(hidden), "--json"]


def estimate(arguments, shape, chips):
    done = subprocess.run(command(arguments, shape, chips), capture_output=True, text=True)
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no answer"}
    return json.loads(done.stdout.splitlines()[-1])


def row(name, shape, chips, e):
    start = "| %s | %s | %s " % (name, ",".join(map(str, shape)), chips)
    if "refused" in e:
        return start + "| %s | | | | | |" % e["refused"]
    memory = e["memory"]
    return start + "| %.2f | %.0f%% | %.2g%% | %.1f MB of %.0f GiB%s | %d of %d | %.0f s |" % (
        1e3 * e["seconds"], 100 * e["loop_cycles"] / e["cycles"], 100 * e["matrix_unit_use"], memory["bytes"] / 1e6,
        memory["capacity"] / 2**30, "" if memory["fits"] else ", DOES NOT FIT", e["in_place"], e["donated"],
        e["compile_seconds"])


def options(arguments):
    only = "--only %s " % arguments.only if arguments.only else ""
    return "%s--chips %s --precision %s" % (only, arguments.chips, arguments.precision)


def page(arguments, rows, version):
    return """# Training steps on TPUs: estimates

Nothing on this page was measured: no TPU was used. Each line is a whole training step (forward, backward, sums, clip,
Adam) of a language model of 65 symbols whose layers have the shape, compiled ahead of time by libtpu (interface %s)
for one device of the topology, products in %s. Time is the compiler's own estimate of cycles, loops times their
turns, at a clock that is itself an estimate (src/device/xla/tpu.c); what the estimate leaves out (waiting for copies
of memory, the host) comes on top. Use is of the bf16 peak of the chip. Compiling took as long as said beside other
work on two cores.

`bench/tpu.py build/unroll .../libtpu.so %s`, %s. Regimes and chips that are missing were not compiled in that run.

| | L,T,B,I,H | chips | est. ms a step | in loops | est. use | memory | donated in place | compiled in |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
%s
""" % (version, arguments.precision, options(arguments), datetime.date.today(), "\n".join(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unroll")
    parser.add_argument("plugin")
    parser.add_argument("--only", default="")
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    rows, version, begun = [], "?", time.time()
    for name, shape in shapes():
        if arguments.only and name not in arguments.only.split(","):
            continue
        for chips in arguments.chips.split(","):
            if time.time() - begun > arguments.seconds:
                break
            e = estimate(arguments, shape, chips)
            version = e.get("interface", version)
            rows.append(row(name, shape, chips, e))
            print(rows[-1], flush=True)
            with open(os.path.join(HERE, "RESULTS-tpu.md"), "w") as file:
                file.write(page(arguments, rows, version))


main()
