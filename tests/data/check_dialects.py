# test: args=$B/unroll
"""Random tables in the dialects of spreadsheets and programs: each is read correctly, or refused or noted with the cause.
Usage: check_dialects.py UNROLL [TABLES [SEED]]

A table has a column of times and columns of numbers or categories. Compared are the types of columns, the first five
rows, and the minimum, maximum and number of missing values of each."""
import datetime
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TABLES = 2000
EPOCH = datetime.datetime(1970, 1, 1)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
LONG_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October"]
LONG_MONTHS += ["November", "December"]
NUMBER_MISSING = ["", "NA", "NaN", "null", "?", "N/A", "none"]
TIME_FORMS = {
    "iso": lambda t: t.strftime("%Y-%m-%d"),
    "slashes": lambda t: t.strftime("%Y/%m/%d"),
    "seconds": lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
    "T": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S"),
    "Z": lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "zone": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S+05:30"),
    "dots": lambda t: t.strftime("%d.%m.%Y"),
    "us": lambda t: t.strftime("%m/%d/%Y"),
    "uk": lambda t: t.strftime("%d/%m/%Y %H:%M"),
    "month first": lambda t: f"{MONTHS[t.month - 1]} {t.day}, {t.year}",
    "day first": lambda t: f"{t.day} {LONG_MONTHS[t.month - 1]} {t.year}",
    "hyphens": lambda t: f"{t.day:02}-{MONTHS[t.month - 1]}-{t.year % 100:02}",
    "compact": lambda t: t.strftime("%Y%m%d"),
    "unix": lambda t: str(int((t - EPOCH).total_seconds())),
    "milli": lambda t: str(int((t - EPOCH).total_seconds()) * 1000),
    "micro": lambda t: str(int((t - EPOCH).total_seconds()) * 1000000),
}
DAILY = {"iso", "slashes", "dots", "us", "month first", "day first", "hyphens", "compact"}


class Dialect:
    def __init__(self, rng):
        self.delimiter = rng.choice([",", ",", ";", "\t", "|"])
        self.decimal = rng.choice([",", "."]) if self.delimiter in ";\t|" else "."
        self.thousands = rng.choice(["", "", "", " ", "\u00a0", "'", "." if self.decimal == "," else ","])
        self.minus = rng.choice(["-", "-", "-", "\u2212", "("])
        self.unit = rng.choice(["", "", "", "", " kg", "%", "\u20ac"])
        self.missing = rng.choice(NUMBER_MISSING)
        self.quotes = rng.choice(["needed", "needed", "all"])
        self.end = rng.choice(["\n", "\n", "\r\n", "\r"])
        self.mark = rng.choice(["", "", "\ufeff"])
        self.header = rng.random() < 0.8
        self.comment = rng.choice(["", "", "", "# made by a program\n"]) if self.end == "\n" else ""
        self.index = self.header and rng.random() < 0.2
        self.time = rng.choice(sorted(TIME_FORMS))
        self.order = rng.choice(["rising", "rising", "falling"])
        self.gap = rng.random() < 0.2
        self.places = rng.choice([0, 1, 2])

    def number(self, value):
        if value is None:
            return self.missing
        whole, _, part = f"{abs(value):.{self.places}f}".partition(".")
        if self.thousands:
            groups = []
            while len(whole) > 3:
                groups.insert(0, whole[-3:])
                whole = whole[:-3]
            whole = self.thousands.join([whole, *groups])
        text = whole + (self.decimal + part if part else "")
        if value < 0:
            text = f"({text})" if self.minus == "(" else self.minus + text
        return text + self.unit

    def cell(self, text):
        if self.quotes == "all" or any(c in text for c in (self.delimiter, '"', "\n", "\r")):
            return '"' + text.replace('"', '""') + '"'
        return text

    def write(self, names, rows):
        lines = [self.delimiter.join(self.cell(c) for c in row) for row in ([names] if self.header else []) + rows]
        return self.mark + self.comment.replace("\n", self.end) + self.end.join(lines) + self.end


def make_numbers(rng, rows, places):
    scale = 10 ** rng.randrange(1, 6)
    values = [round(rng.uniform(-scale, scale), places) for _ in range(rows)]
    return [None if rng.random() < 0.05 else v for v in values]


def make_table(rng):
    """Returns the dialect, its text, and the expected columns: name, type, values in the order of times."""
    d = Dialect(rng)
    rows = rng.randrange(12, 60)
    step = datetime.timedelta(days=1) if d.time in DAILY else datetime.timedelta(minutes=rng.choice([1, 15, 60, 1440]))
    begin = datetime.datetime(rng.randrange(1995, 2030), rng.randrange(1, 13), 1)
    times = [begin + step * i for i in range(rows)]
    names, columns = [rng.choice(["date", "time", "timestamp", "ds"])], []
    for i in range(rng.randrange(1, 4)):
        kind = "category" if rng.random() < 0.25 else "numbers"
        names.append(f"{kind[:3]}_{i}")
        columns.append((kind, make_numbers(rng, rows, d.places) if kind == "numbers" else
                        [rng.choice(["red", "green, dark", 'the "blue"', "NA"]) for _ in range(rows)]))
    kept = [i for i in range(rows) if not (d.gap and rows // 3 <= i < rows // 3 + 2)]
    order = kept if d.order == "rising" else kept[::-1]
    lines = [[TIME_FORMS[d.time](times[i])] + [d.number(v[i]) if k == "numbers" else v[i] for k, v in columns] for i in order]
    if d.index:
        lines = [[str(i), *line] for i, line in enumerate(lines)]
        names = ["", *names]
    return d, d.write(names, lines), times, columns, kept


def refusal_is_right(d, columns, said):
    """Lists the refusals that name the cause."""
    numbers = [v for k, v in columns if k == "numbers"]
    if "may have the day or the month first" in said:
        return d.time in ("us", "uk")
    if "with a decimal comma" in said and "and with a point" in said:
        return True
    if "their units are" in said:
        return bool(d.unit)
    if "is not a number" in said:
        return bool(d.unit or d.missing not in NUMBER_MISSING) and bool(numbers)
    return False


def close(found, wanted):
    return found is not None and abs(found - wanted) <= 1e-6 * max(1, abs(wanted))


def values_differ(d, column, first, wanted, decimal_doubt):
    present = [v for v in wanted if v is not None]
    if column["missing"] != len(wanted) - len(present):
        return f"{column['missing']} missing, not {len(wanted) - len(present)}"
    if present and not (close(column["min"], min(present)) and close(column["max"], max(present))):
        return f"from {column['min']} to {column['max']}, not {min(present)} to {max(present)}"
    for got, value in zip(first, wanted):
        if (got is None) != (value is None) or (value is not None and not close(got, value)):
            return f"{got}, not {value}"
    return None


def moment(text):
    text = text.replace("Z", "+00:00")
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo is None else found.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def compare(d, data, times, columns, kept):
    notes = " ".join(data["notes"])
    filled = "are added with missing values" in notes
    rows = list(range(len(times))) if filled else kept
    if data["steps"] != len(rows):
        return f"{data['steps']} steps, not {len(rows)}"
    found = data["columns"]
    if len(found) != len(columns) + 1:
        return f"{len(found)} columns, not {len(columns) + 1}"
    if found[0]["type"] != "time":
        return f"times are {found[0]['type']}"
    shift = datetime.timedelta(hours=5.5) if d.time == "zone" else datetime.timedelta()
    for row, i in zip(data["first"], rows):
        if moment(row[found[0]["name"]]) != times[i] - shift:
            return f"time {row[found[0]['name']]}, not {times[i]}"
    for column, (kind, values) in zip(found[1:], columns):
        if column["type"] != kind:
            return f"'{column['name']}' is {column['type']}, not {kind}"
        wanted = [values[i] if i in kept else None for i in rows]
        first = [row[column["name"]] for row in data["first"]]
        doubt = "reads it otherwise" in notes
        wrong = values_differ(d, column, first, wanted, doubt) if kind == "numbers" else (
            None if first == wanted[: len(first)] else f"{first}, not {wanted[:5]}")
        if wrong and not (doubt and kind == "numbers"):
            return f"'{column['name']}': {wrong}"
    return None


def check(unroll, place, number, seed):
    d, text, times, columns, kept = make_table(random.Random(f"{seed} {number}"))
    path = pathlib.Path(place) / f"{number}.csv"
    path.write_bytes(text.encode())
    run = subprocess.run([unroll, "inspect", "--json", path], capture_output=True, text=True, check=False)
    if run.returncode:
        wrong = None if refusal_is_right(d, columns, run.stderr) else run.stderr
        kind = "refused"
    else:
        wrong = compare(d, json.loads(run.stdout), times, columns, kept)
        kind = "read"
    if wrong:
        print(f"FAILED table {number}: {wrong}\n    {vars(d)}\n    {text[:300]!r}")
    path.unlink()
    return kind, wrong is None


def main():
    unroll = sys.argv[1]
    tables = int(sys.argv[2]) if len(sys.argv) > 2 else TABLES
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda n: check(unroll, place, n, seed), range(tables)))
    wrong = sum(not right for _, right in results)
    refused = sum(kind == "refused" for kind, _ in results)
    few = refused < tables / math.log2(tables)
    if not few:
        print(f"FAILED {refused} of {tables} are refused")
    print(f"{tables} tables, {refused} of them refused with their cause, {wrong} read wrong")
    print(f"check_dialects: {(wrong == 0) + few} passed, {(wrong > 0) + (not few)} failed, 0 skipped")
    return wrong > 0 or not few


sys.exit(main())
