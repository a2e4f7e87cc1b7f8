# test: args=$B/tests/data/test_csv
"""Compares the rows of 10,000 random tables with those of Python's csv module. Usage: check_csv.py TEST_CSV

Blanks at the end of a cell, which Python keeps, and lines without a cell are compared separately (test_csv.c)."""
import csv
import io
import random
import re
import subprocess
import sys

TABLES = 10000
PIECES = ["a", "bc", "7", "0.5", '"', '""', '"x"', '"y ""z"""', " ", "\n", "\r\n", "\r", "é", "€", "#", "'", "\t"]


def make_table(rng, delimiter):
    pieces = PIECES + [delimiter] * 6 + ["\n", "\r\n"] * 2 + [f'"{delimiter}\n"', '"\r\n"']
    return "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 40)))


def rows_of_python(text, delimiter):
    """Returns None if a quote is not closed, because a row appended to it is part of the last cell."""
    end = "\nTHE END\n"
    rows = list(csv.reader(io.StringIO(text + end, newline=""), delimiter=delimiter, skipinitialspace=True))
    if rows[-1] != ["THE END"]:
        return None
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows = [[cell.rstrip(" ") for cell in row] for row in rows]
    return "".join("/" + "".join(f"[{cell}]" for cell in row) for row in rows if row not in ([], [""]))


def rows_of_ours(text):
    rows = re.sub(r" +\]", "]", text).split("/[")
    return "".join("/[" + row for row in rows[1:] if row != "]")


def main():
    rng = random.Random(1)
    tables = [(d, make_table(rng, d)) for d in (rng.choice(",;|\t") for _ in range(TABLES))]
    given = b"".join(d.encode() + b" %d\n" % len(t.encode()) + t.encode() for d, t in tables)
    said = subprocess.run([sys.argv[1], "tables"], input=given, stdout=subprocess.PIPE, check=True).stdout
    ours = said.decode().split("\0")[:-1]
    failed = refused = 0
    for (delimiter, text), got in zip(tables, ours, strict=True):
        wanted = rows_of_python(text, delimiter)
        refused += wanted is None
        right = "a quote that is not closed" in got if wanted is None else rows_of_ours(got) == wanted
        if not right:
            failed += 1
            print(f"FAILED {text!r} with {delimiter!r}: {got!r} instead of {wanted!r}")
    if not TABLES / 10 < refused < TABLES / 2:
        failed += 1
        print(f"FAILED {refused} of {TABLES} tables have an open quote: no good sample")
    print(f"check_csv: {1 - (failed > 0)} passed, {int(failed > 0)} failed, 0 skipped")
    return failed > 0


sys.exit(main())
