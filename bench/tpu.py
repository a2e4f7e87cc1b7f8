#!/usr/bin/env python3
"""Estimates training steps on TPUs with the TPU's own compiler, and writes bench/RESULTS-tpu.md. Uses no TPU and
measures nothing. Usage: bench/tpu.py UNROLL libtpu.so [--only A,C] [--chips v5e:2x2] [--precision bf16]
[--limit N]. --limit stops a compilation after N seconds, and its line reports that. Lines of the page
that this run does not replace stay, if libtpu's interface and the precision are the same."""
import argparse
import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHIPS = ["v4:2x2x1", "v5e:2x2", "v5p:2x2x1", "v6e:2x2"]
TABLE = """| | L,T,B,I,H | chips | est. ms a step | in loops | est. use | memory | donated in place | compiled in |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def shapes():
    """Yields name and [L, T, B, I, H] for each regime of lstm-train."""
    with open(os.path.join(HERE, "regimes.txt")) as file:
        for words in map(str.split, file):
            if words[:1] == ["lstm-train"]:
                yield words[1], [int(n) for n in words[5].split(",")]


def command(arguments, shape, chips):
    layers, steps, rows, inputs, hidden = shape
    return [arguments.unroll, "plan", "--device", "xla:" + arguments.plugin, "--topology", chips, "--precision",
            arguments.precision, "--layers", str(layers), "--bptt", str(steps), "--batch", str(rows), "--embed",
            str(inputs), "--hidden", str(hidden), "--json"]


def estimate(arguments, shape, chips):
    try:
        done = subprocess.run(command(arguments, shape, chips), capture_output=True, text=True,
                              timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        return {"refused": "not compiled within %.0f s" % arguments.limit}
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no answer"}
    return json.loads(done.stdout.splitlines()[-1])


def interface(arguments):
    """Returns the version of libtpu's interface, from a model that compiles at once. Exits if that fails, so that
    nothing is written."""
    e = estimate(arguments, [1, 2, 1, 8, 8], arguments.chips.split(",")[0])
    return e.get("interface") or sys.exit("bench/tpu.py: " + e["refused"])


def row(name, shape, chips, e):
    start = "| %s | %s | %s " % (name, ",".join(map(str, shape)), chips)
    if "refused" in e:
        return start + "| %s | | | | | |" % e["refused"]
    memory = e["memory"]
    return start + "| %.2f | %.0f%% | %.2g%% | %.1f MB of %.0f GiB%s | %d of %d | %.0f s |" % (
        1e3 * e["seconds"], 100 * e["loop_cycles"] / e["cycles"], 100 * e["matrix_unit_use"], memory["bytes"] / 1e6,
        memory["capacity"] / 2**30, "" if memory["fits"] else ", DOES NOT FIT", e["in_place"], e["donated"],
        e["compile_seconds"])


def page(precision, rows, version):
    return """# Training steps on TPUs: estimates

Nothing on this page was measured: no TPU was used. Each line is a whole training step (forward, backward, sums, clip,
Adam) of a language model with 65 tokens and layers of the given shape. libtpu (interface %s) compiled it ahead of time
for one device of the topology, with products in %s. Time is the compiler's estimate of cycles, with loops multiplied by
their iterations. The clock is itself an estimate (extensions/xla/tpu.c). Waiting for copies of memory and for the host
is not included. Utilization refers to the chip's bf16 peak. Compile times were taken on two cores with other work.

`bench/tpu.py build/unroll .../libtpu.so --precision %s`, %s. In one or several runs: rows of the same compiler
stay.

%s
%s
""" % (version, precision, precision, datetime.date.today(), TABLE, "\n".join(rows))


def rows_of(arguments, version):
    """Returns the page's lines by regime and chip, if they have the same interface and precision."""
    try:
        with open(arguments.page) as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    made = "interface %s)" % version in text and "products in %s." % arguments.precision in text
    lines = text.split(TABLE + "\n")[-1].splitlines() if made else []
    return {(words[1].strip(), words[3].strip()): line for line in lines for words in [line.split("|")]
            if len(words) > 3}


def write_page(arguments, made, version):
    """Writes the page. New lines replace those of the same regime and chip."""
    rows = {**rows_of(arguments, version), **made}
    order = [(name, chips) for name, _ in shapes() for chips in CHIPS]
    with open(arguments.page, "w") as file:
        file.write(page(arguments.precision, [rows[key] for key in order if key in rows], version))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unroll")
    parser.add_argument("plugin")
    parser.add_argument("--only", default="")
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--limit", type=float, default=1e6)
    parser.add_argument("--page", default=os.path.join(HERE, "RESULTS-tpu.md"))
    arguments = parser.parse_args()
    made, version = {}, interface(arguments)
    for name, shape in shapes():
        if arguments.only and name not in arguments.only.split(","):
            continue
        for chips in arguments.chips.split(","):
            e = estimate(arguments, shape, chips)
            made[name, chips] = row(name, shape, chips, e)
            print(made[name, chips], flush=True)
            write_page(arguments, made, version)


if __name__ == "__main__":
    main()
