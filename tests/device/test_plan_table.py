#!/usr/bin/env python3
# test: run=env; args=$B/unroll; needs=$B/unroll
"""Compares the table of docs/internals/cuda-recurrences.md with what `unroll plan --device cuda` prints for 40 shapes.

Every shape must have a persistent form in both directions, even where the planner prefers the other way. UPDATE=1 in the
environment writes the table. Usage: test_plan_table.py UNROLL
"""
import os
import re
import subprocess
import sys

PAGE = "docs/internals/cuda-recurrences.md"
PRECISIONS, UNITS, ROWS = ["fp32", "tf32", "bf16", "fp16"], [128, 256, 512, 768, 1024], [16, 128]
counts = {"passed": 0, "failed": 0}


def check(holds, sentence):
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print("FAILED:", sentence)


def ways(unroll, precision, units, rows, only):
    """Returns the way of a layer, forward and backward: "grid 2 x 64", "clusters 2 x 4", "step by step"."""
    place = dict(os.environ, UNROLL_CUDA_DRIVER="/nowhere", UNROLL_CUDA_ALGORITHM=only)
    text = subprocess.run([unroll, "plan", "--device", "cuda", "--precision", precision, "--layers", "1", "--hidden", str(units),
                           "--batch", str(rows), "--bptt", "100"], capture_output=True, text=True, check=True, env=place).stdout
    found = re.findall(r"^ +\d+  rnn(?:_back)? g\.l0 +(?:a )?(grid|clusters|step by step):? ?(\d+ x \d+)?", text, re.M)
    return [" ".join(part for part in way if part) for way in found]


def main(unroll):
    lines = [f"| LSTM | H | {' | '.join(f'B = {b}, forward | B = {b}, backward' for b in ROWS)} |",
             "| --- | --- |" + " --- |" * (2 * len(ROWS))]
    for precision in PRECISIONS:
        for units in UNITS:
            found = [way for rows in ROWS for way in ways(unroll, precision, units, rows, "")]
            check(len(found) == 2 * len(ROWS), f"{precision}, {units} units: the plan has {found}")
            lines.append(f"| {precision} | {units} | {' | '.join(found)} |")
            for rows in ROWS:
                forced = ways(unroll, precision, units, rows, "grid")
                check(forced and all(way.startswith("grid") for way in forced),
                      f"{precision}, {units} units, {rows} rows: no grid fits: {forced}")
    table = "\n".join(lines)
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before = re.search(r"\| LSTM \| H \|.*?(?=\n\n)", page, re.S)
    check(before is not None, f"{PAGE} has no table of ways")
    if before and os.environ.get("UPDATE"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page.replace(before.group(), table))
    elif before:
        check(before.group() == table, f"the table of {PAGE} is not that of the plan; fix: UPDATE=1 {sys.argv[0]} {unroll}\n{table}")
    print(f"test_plan_table: {counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    sys.exit(counts["failed"] > 0)


main(sys.argv[1])
