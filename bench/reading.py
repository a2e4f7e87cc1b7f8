#!/usr/bin/env python3
"""Measures how fast csv files are read, next to pandas and pyarrow on one thread each. The files are generated and then
removed. Usage: bench/reading.py [--reading build/reading] [--megabytes N] [--turns N]

The three take turns and the best turn of each counts, in CPU seconds, because other programs only add time. pandas or
pyarrow is left out if this Python does not have it."""

import argparse
import datetime
import os
import random
import subprocess
import tempfile
import time

FILES = {
    "numbers": [lambda draw: f"{draw.gauss(0, 100):.5f}", lambda draw: str(draw.randrange(100000))] * 6,
    "doubles": [lambda draw: repr(draw.gauss(0, 1))] * 8,
    "series": [lambda draw: f"{draw.gauss(20, 5):.2f}", lambda draw: str(draw.randrange(100)), lambda draw: draw.choice("abc")],
}


def make_file(path, kind, size):
    """Writes 10,000 random rows again and again; the rows of a series have times that rise."""
    draw = random.Random(1)
    rows = [",".join(cell(draw) for cell in FILES[kind]) for _ in range(10000)]
    begin, count = datetime.datetime(2000, 1, 1), 0
    with open(path, "w", encoding="ascii") as file:
        names = [f"x{i}" for i in range(len(FILES[kind]))]
        file.write(",".join((["time"] if kind == "series" else []) + names) + "\n")
        while file.tell() < size:
            if kind == "series":
                minute = datetime.timedelta(minutes=1)
                file.write("".join(f"{begin + (count + i) * minute},{row}\n" for i, row in enumerate(rows)))
            else:
                file.write("\n".join(rows) + "\n")
            count += len(rows)


def by_unroll(program):
    def read(path):
        run = subprocess.run([program, path], env=os.environ | {"UNROLL_CACHE": "off"}, capture_output=True, text=True, check=False)
        if run.returncode:
            raise SystemExit(f"reading.py: {run.stderr.strip()}; fix: make build/reading")
        return float(run.stdout)

    return read


def timed(function):
    def read(path):
        begin = time.process_time()
        function(path)
        return time.process_time() - begin

    return read


def readers(program):
    found = {"unroll": by_unroll(program)}
    try:
        import pandas

        found["pandas"] = timed(lambda path: pandas.read_csv(path, engine="c"))
    except ImportError:
        print("pandas is left out: this Python does not have it")
    try:
        from pyarrow import csv

        found["pyarrow"] = timed(lambda path: csv.read_csv(path, read_options=csv.ReadOptions(use_threads=False)))
    except ImportError:
        print("pyarrow is left out: this Python does not have it")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reading", default="build/reading")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    found = readers(options.reading)
    print("MB/s of CPU time" + "".join(f"{name:>10}" for name in found))
    for kind in FILES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv")
            make_file(path, kind, options.megabytes * 1e6)
            best = dict.fromkeys(found, float("inf"))
            for _ in range(options.turns):
                for name, read in found.items():
                    best[name] = min(best[name], read(path))
            size = os.path.getsize(path) / 1e6
        print(f"{kind:16}" + "".join(f"{size / seconds:10.0f}" for seconds in best.values()))


if __name__ == "__main__":
    main()
