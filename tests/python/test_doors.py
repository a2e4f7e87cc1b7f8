"""Consistent interfaces: a table gives the same data set, task and predictions through the command, C and Python."""

import csv
import datetime
import json
import os
import random
import subprocess
import tempfile
import unittest

import unroll
from common import BUILD

try:
    import pandas
    import polars
    import pyarrow
except ImportError:
    pandas = None

TABLES, STEPS = 200, 2
ALIKE = ("rows", "sequences", "steps", "lengths", "group", "time", "columns", "first")
INTERVALS = {"day": 86400, "hour": 3600, "quarter": 900, "second": 1}


def times(draw, rows):
    """Draws datetimes, dates or years."""
    kind = draw.choice([*INTERVALS, "date", "year"])
    if kind == "year":
        return [1950 + i for i in range(rows)]
    if kind == "date":
        return [datetime.date(2023, 11, 1) + datetime.timedelta(days=i) for i in range(rows)]
    step = datetime.timedelta(seconds=INTERVALS[kind])
    found = [datetime.datetime(2024, 2, 20, 6, 30) + i * step for i in range(rows)]
    if draw.random() < 0.2:
        gap = draw.randrange(5, rows - 5)
        found[gap:] = [t + 2 * step for t in found[gap:]]
    return found


def numbers(draw, rows):
    level, whole = draw.choice([0, 50, 20000]), draw.random() < 0.3
    values = [level + draw.gauss(0, 10) for _ in range(rows)]
    values = [round(v) if whole else round(v, draw.randrange(1, 7)) for v in values]
    return [None if draw.random() < 0.05 else v for v in values] if draw.random() < 0.3 else values


def series_table(draw):
    rows = draw.randrange(60, 90)
    table = {draw.choice(["date", "time", "timestamp", "ds"]): times(draw, rows)}
    if isinstance(next(iter(table.values()))[0], int):
        table = {"year": next(iter(table.values()))}
    for name in draw.sample(["load", "price", "temp", "x1"], draw.randrange(1, 4)):
        table[name] = numbers(draw, rows)
    if draw.random() < 0.3:
        table["weather"] = [draw.choice(["sun", "rain", "NA"]) for _ in range(rows)]
    options = {}
    if draw.random() < 0.3:
        table = {name: values * 2 for name, values in table.items()}
        table["store"] = ["north"] * rows + ["south"] * rows
        options["group"] = "store"
    order = list(range(len(next(iter(table.values())))))
    change = draw.random()
    if change < 0.2:
        draw.shuffle(order)
    elif change < 0.4:
        order.reverse()
    return {name: [values[i] for i in order] for name, values in table.items()}, options


def text_table(draw):
    rows = draw.randrange(40, 60)
    label = draw.choice(["label", "sentiment", "toxic"])
    values = [0, 1] if label == "toxic" else draw.choice([["pos", "neg"], ["EU", "NA", "AS"], [1, 2, 3]])
    words = ["good", "bad", "long", "short", "film", "plot", "ünïcode"]
    table = {"text": [" ".join(draw.choices(words, k=draw.randrange(3, 9))) for _ in range(rows)],
             label: [values[i % len(values)] for i in range(rows)]}  # fmt: skip
    if draw.random() < 0.3:
        table = {"id": list(range(1, rows + 1)), **table}
    if draw.random() < 0.3:
        table[label] = [None if i % 7 == 3 else v for i, v in enumerate(table[label])]
    return table, {}


def example_table(draw):
    rows = draw.randrange(40, 60)
    table = {name: numbers(draw, rows) for name in ("length", "width", "depth")}
    table[draw.choice(["species", "class"])] = [draw.choice(["setosa", "virginica", "other"]) for _ in range(rows)]
    return table, {"layout": "examples"}


def make_table(number):
    draw = random.Random(number)
    return draw.choice([series_table, series_table, text_table, example_table])(draw), draw.randrange(5)


def cell(value):
    return "" if value is None else value if isinstance(value, str) else str(value)


def frame_of(table, door):
    """Converts the table to one of five kinds of Python data."""
    rows = list(zip(*table.values()))
    if door == 0:
        return table
    if door == 1:
        return [dict(zip(table, row)) for row in rows]
    if door == 2:
        return pyarrow.table(table)
    if door == 3:
        return polars.DataFrame(table, strict=False)
    frame = pandas.DataFrame({n: pandas.Series(v, dtype="Int64" if is_whole(v) else None) for n, v in table.items()})
    first = next(iter(table))
    return frame.set_index(first) if first not in ("text", "length") else frame


def is_whole(values):
    return all(v is None or isinstance(v, int) for v in values)


def close(one, other):
    if isinstance(one, float) and isinstance(other, (int, float)):
        return abs(one - other) <= 1e-5 * max(1, abs(one))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other


class Doors(unittest.TestCase):
    def by_command(self, path, options):
        flags = [word for name, value in options.items() for word in ("--" + name, value)]
        command, run = os.path.join(BUILD, "unroll"), path + ".run"
        found = json.loads(self.run_one([command, "inspect", path, "--json", *flags]))
        if found["task"] is None:
            return found, None, []
        self.run_one([command, "train", path, *flags, "--hidden", "4", "--steps", str(STEPS), "--val", "0", "--out", run])
        lines = self.run_one([command, "predict", run, path, "--json"]).splitlines()
        return found, found["task"], [json.loads(line) for line in lines]

    def by_c(self, table, path, options):
        text = "\n".join("\t".join(map(cell, row)) for row in [list(table), *zip(*table.values())]) + "\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        chosen = ",".join(f"{name}={value}" for name, value in options.items())
        lines = self.run_one([os.path.join(BUILD, "tests/python/doors"), path, chosen, str(STEPS)]).splitlines()
        return json.loads(lines[0]), None if lines[1] == "none" else lines[1], [json.loads(line) for line in lines[2:]]

    def by_python(self, frame, options):
        data = unroll.Dataset(frame, **options)
        found = data.describe()
        self.assertEqual(data.summary, found["summary"])
        fitted = unroll.fit(data, steps=STEPS, validation=0, hidden=4)
        return found, unroll.task_defaults(data)["task"], fitted.model.predict(unroll.Dataset(frame, model=fitted.model))

    def run_one(self, words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def compare(self, number, folder):
        (table, options), door = make_table(number)
        path = os.path.join(folder, f"{number}.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(table), *([cell(v) for v in row] for row in zip(*table.values()))])
        doors = {"command": self.by_command(path, options), "C": self.by_c(table, path + ".cells", options),
                 "Python": self.by_python(frame_of(table, door), options)}  # fmt: skip
        theirs = doors.pop("command")
        for name, ours in doors.items():
            place = f"table {number}, {name} (way {door}), {path}"
            for key in ALIKE:
                self.assertTrue(close(theirs[0][key], ours[0][key]), f"{place}: {key} {ours[0][key]} is {theirs[0][key]}")
            self.assertEqual(theirs[1], ours[1], place)
            self.assertTrue(close(theirs[2][:3], ours[2][:3]), f"{place}: {ours[2][:3]} is {theirs[2][:3]}")

    @unittest.skipUnless(pandas, "pandas, polars or pyarrow could not be installed")
    def test_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(TABLES):
                with self.subTest(number):
                    self.compare(number, folder)


if __name__ == "__main__":
    unittest.main()
