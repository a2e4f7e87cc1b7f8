#!/usr/bin/env python3
"""Compares the speed of two builds, such as this one and the last release, in 12 regimes of regimes.txt on one thread.
Usage: bench/guard.py --old BINARY [--unroll build/unroll] [--turns N] [--limit X] [--only PART,..]

The two take turns and the best run of each counts, because other programs only add time. A regime that is too slow gets
up to three times as many turns. Returns 1 if the ratio of a regime, the old time divided by the new one, is below the
limit."""

import argparse
import math
import sys

import regimes
from run import Unroll

GUARDED = [
    "lstm-train/A", "lstm-train/B", "lstm-train/F", "gru-train/C", "rnn-train/C", "both-train/256",
    "ragged/rows", "few-train/1", "lstm-infer/B", "few-infer/4", "one-row/fp32", "stream/32",
]  # fmt: skip


def turn(build, seconds):
    answer = build.turn(seconds)
    if "refused" in answer:
        raise SystemExit(f"guard.py: {build.command[0]}: {answer['refused']}; fix: give a binary that has this regime")
    return answer["ms"]


def ratio(old, new, turns, seconds, limit):
    """Returns the old time divided by the new one, and the turns that were measured."""
    best = [math.inf, math.inf]
    done = 0
    while done < turns or (done < 3 * turns and best[0] / best[1] < limit):
        for which in (0, 1) if done % 2 == 0 else (1, 0):
            best[which] = min(best[which], turn((old, new)[which], seconds))
        done += 1
    return best[0] / best[1], done


def measure(options):
    """Prints a line for each regime and returns the names of those below the limit."""
    slower = []
    for regime in regimes.chosen(regimes.read(), options.only or ",".join(GUARDED)):
        old, new = (Unroll(argparse.Namespace(unroll=path), regime, 1) for path in (options.old, options.unroll))
        found, turns = ratio(old, new, options.turns, options.seconds, options.limit)
        print(f"{regime.key:16} {found:6.3f}  {turns} turns{'' if found >= options.limit else '  too slow'}", flush=True)
        slower += [regime.key] if found < options.limit else []
    return slower


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", required=True)
    parser.add_argument("--unroll", default="build/unroll")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--limit", type=float, default=0.97)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("regime           old / new")
    slower = measure(options)
    if slower:
        print(f"guard.py: slower than {options.limit} of the old speed: {', '.join(slower)}; fix: measure again on a quiet "
              "machine with --turns 20, then look for the change with git bisect")  # fmt: skip
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
