# Writes docs/guide/gallery.md: each task with its command, time, score and picture, from one run (the rows of
# tasks.py). Not a comparison with other libraries (see tasks.sh). Usage: bench/gallery.py DATA FOLDER_OF_DOCS [--only
# NAME,..]. Sections that are not run again stay as they are.
import argparse
import os
import re
import shlex
import subprocess
import tempfile
import time

import tasks

HEAD = """# Gallery: every task from a raw file

For users with data: one command for each task on a raw file, its scores, and a picture.

Options that are not shown have their defaults. The picture is drawn by `unroll plot RUN --what answers -o
picture.svg` (by `--what curves` for language models). Seconds were measured on two cores of an AMD EPYC with AVX-512, shared
with other work. `bench/gallery.py` writes this page; [tasks.md](tasks.md) explains the tasks. Sources of the data:
{sources}.
"""

SOURCES = ("ETTh1 (github.com/zhouhaoyi/ETDataset), MNIST, names by nationality (PyTorch's tutorials), GunPoint\n"
           "(timeseriesclassification.com), UD English EWT, JSB Chorales, tinyshakespeare; the others are generated")

ROWS = [
    dict(name="forecast", of="ETTh1", title="forecast: a day of seven series of a transformer, with intervals"),
    dict(name="classify-names", of="names18", title="classify: the nationality of a name"),
    dict(name="classify-images", of="MNIST-rows", title="classify: images, row by row"),
    dict(name="classify-series", of="GunPoint", title="classify: a gesture from a series of 150 steps"),
    dict(name="tag", of="EWT", title="tag: parts of speech"),
    dict(name="lm-sets", of="JSB", title="lm: chords of chorales, sets of notes", curves=True),
    dict(name="lm", of="tinyshakespeare", title="lm: characters", curves=True),
    dict(name="regress", of="adding-200", title="regress: the sum of two marked numbers among 200"),
    dict(name="anomaly", make="anomaly", title="anomaly: steps that a forecast did not expect",
         options="--task anomaly --target pressure --label fault --val 1000 --test 1000".split()),
    dict(name="recommend", of="recommend", title="recommend: the next item of a session"),
]


def make_anomaly(folder, rows=6000):
    """Writes a noisy daily wave; in the last thousand rows one step in fifty is a fault. Returns no optimum."""
    import math
    import random

    rng = random.Random(1)
    path = os.path.join(folder, "pump.csv")
    with open(path, "w") as file:
        file.write("pressure,fault\n")
        for t in range(rows):
            fault = t >= rows - 1000 and rng.random() < 0.02
            value = 5 + math.sin(t * 2 * math.pi / 24) + 0.05 * rng.gauss(0, 1) + (rng.choice((-1, 1)) if fault else 0)
            file.write(f"{value:.4f},{int(fault)}\n")
    return path, None


tasks.MAKERS["anomaly"] = make_anomaly


def shown(words, folder, given):
    """Returns the command as a user would type it in the folder of the data."""
    line = " ".join(shlex.quote(word) for word in words)
    for place in (os.path.join(folder, ""), os.path.join(os.path.realpath(given.data), "")):
        line = line.replace(place, "")
    return re.sub(r"(?<= )[\w-]+/(?:[\w-]+/)?(?=[\w.-]+\.(?:ts|tsv|txt|gz)\b)", "", line)


def commands(source, path, options, folder, given):
    """Returns the commands of a section: the one that cuts the file, if only its first rows are read, and the training."""
    cut = [f"head -n {source['rows']} {os.path.basename(source['data'])} > {os.path.basename(path)}"] if "rows" in source else []
    return [*cut, shown(["unroll", "train", path, *options], folder, given)]


def make_section(row, given, folder):
    source = {**next((r for r in tasks.SCORES if r["name"] == row.get("of")), {}), **row}
    path, _ = tasks.find_data(source, given, folder)
    out = os.path.join(folder, row["name"])
    options = [option.replace("DATA", os.path.realpath(given.data)) for option in source["options"]]
    begin = time.monotonic()
    done = subprocess.run([given.unroll, "train", path, *options, "--out", out], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"{row['name']}: {done.stderr[-2000:]}")
    said = re.search(r"^done:.*?(?=^saved|^input-bound)", done.stderr + done.stdout, re.S | re.M).group(0).rstrip()
    picture = f"gallery/{row['name']}.svg"
    what = "curves" if row.get("curves") else "answers"
    subprocess.run([given.unroll, "plot", out, "--what", what, "-o", os.path.join(given.docs, picture)], check=True,
                   capture_output=True)
    typed = "\n".join(f"$ {command}" for command in commands(source, path, options, folder, given))
    return f"## {row['title']}\n\n```console\n{typed}\n{said}\n```\n\n{seconds:.0f} s.\n\n![{row['title']}]({picture})\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("docs")
    parser.add_argument("--only", default="")
    parser.add_argument("--unroll", default=os.path.join(tasks.HERE, "../build/unroll"))
    given = parser.parse_args()
    page = os.path.join(given.docs, "gallery.md")
    os.makedirs(os.path.join(given.docs, "gallery"), exist_ok=True)
    kept = {}
    if os.path.exists(page):
        kept = {s.split("\n")[0]: "## " + s for s in open(page).read().split("## ")[1:]}
    sections = []
    for row in ROWS:
        if given.only and row["name"] not in given.only.split(","):
            if row["title"] in kept:
                sections.append(kept[row["title"]].rstrip() + "\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                sections.append(make_section(row, given, folder))
            except tasks.Missing as missing:
                print(f"{row['name']}: skipped: {missing}")
        print(row["name"], flush=True)
    with open(page, "w") as file:
        file.write(HEAD.format(sources=SOURCES) + "\n" + "\n".join(sections))


if __name__ == "__main__":
    main()
