#!/usr/bin/env python3
"""Trains on data larger than memory: a text of 2 GB and a table of 20 million rows, within 500 MB of private memory.
The data are generated and then removed. Usage: bench/large.py [--unroll build/unroll] [--folder DIR] [--part N]
[--json]

Every 20 ms it reads the anonymous memory of the process (RssAnon of /proc). Pages of mapped files do not count, because
the system can reclaim them. The first run on a file parses it into the cache and trains; the second run finds it in the
cache. --part N: an Nth of the data."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT = 500 * 10**6
TEXT_BYTES, ROWS = 2 * 10**9, 20 * 10**6


def make_text(path, part):
    """Writes 4 MB of lines of random words, then the same lines in other orders."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(5000)]
    lines = [" ".join(draw.choices(words, k=12)) for _ in range(60000)]
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < TEXT_BYTES // part:
            draw.shuffle(lines)
            file.write("\n".join(lines) + "\n")


def make_table(path, part):
    """Writes four numbers per row: a daily cycle and three random columns."""
    draw = random.Random(2)
    rest = [f"{draw.random():.3f},{draw.gauss(0, 1):.3f},{draw.randint(0, 999)}\n" for _ in range(100003)]
    swing = [f"{10 + 5 * abs(hour - 12) + draw.random():.3f}," for _ in range(1001) for hour in range(24)]
    with open(path, "w", encoding="ascii") as file:
        file.write("load,wind,price,count\n")
        for begin in range(0, ROWS // part, 100000):
            file.write("".join(swing[i % len(swing)] + rest[i % len(rest)]
                               for i in range(begin, min(begin + 100000, ROWS // part))))


def anonymous(pid):
    """Returns bytes; 0: the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:")), 0)
    except OSError:
        return 0


def measure(command, environment):
    begin, most = time.monotonic(), 0
    before = os.times()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        while run.poll() is None:
            most = max(most, anonymous(run.pid))
            time.sleep(0.02)
        said = run.stdout.read()
        if run.returncode:
            sys.exit(f"{' '.join(command)}\n{run.stderr.read()}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"anonymous_mb": round(most / 1e6, 1), "seconds": round(time.monotonic() - begin, 1), "cpu_seconds": round(cpu, 1),
            "steps": json.loads(said.splitlines()[-1])["steps"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unroll", default="build/unroll")
    parser.add_argument("--folder", help="where the data, 5 GB of files in all, are made; default: a temporary one")
    parser.add_argument("--part", type=int, default=1, help="an Nth of the data")
    parser.add_argument("--json", action="store_true", help="each result as a line of JSON")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="unroll-large-", dir=given.folder)
    environment = {**os.environ, "UNROLL_CACHE": os.path.join(folder, "cache")}
    wrong = 0
    try:
        for name, make, network in (("text.txt", make_text, ["--layers", "1", "--hidden", "64"]),
                                    ("table.csv", make_table, ["--task", "forecast", "--target", "load"])):
            path = os.path.join(folder, name)
            make(path, given.part)
            size = os.path.getsize(path)
            for what in "parsed", "opened again":
                found = measure([given.unroll, "train", path, *network, "--steps", "50", "--val", "10000", "--threads", "1", "--json",
                                 "--overwrite", "--out", os.path.join(folder, "run")], environment)
                wrong += found["anonymous_mb"] * 1e6 > LIMIT
                if given.json:
                    print(json.dumps({"data": name, "bytes": size, "what": what, **found}), flush=True)
                else:
                    print(f"{name:10} {size / 1e6:7.0f} MB  {what:12} {found['steps']:3} steps  {found['anonymous_mb']:6.1f} MB "
                          f"of its own, {found['cpu_seconds']:5.1f} s of CPU, {found['seconds']:5.1f} s", flush=True)
            os.remove(path)
    finally:
        shutil.rmtree(folder)
    if wrong:
        sys.exit(f"{wrong} runs take more than {LIMIT // 10**6} MB of their own")


main()
