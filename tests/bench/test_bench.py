# Tests what the benchmark against other libraries is made of and needs none of them: the table of regimes, the
# taking of turns with a peer and a command that are played here, the page and the picture from recorded answers.
import argparse
import os
import stat
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True
import chart
import peer
import regimes
import report
import run

count = {"passed": 0, "failed": 0}


def check(name, holds):
    count["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED {name}")


def refuses(name, words, function, *arguments):
    try:
        function(*arguments)
        check(f"{name}: refused", False)
    except ValueError as error:
        check(f"{name}: says '{words}'", words in str(error))


# ---- the table ----

LINE = "p n lstm train fp32 1,100,64,512,512 - fp32 1,2 1.3 80"


def written(folder, text):
    path = os.path.join(folder, "regimes.txt")
    with open(path, "w") as file:
        file.write(text)
    return path


def test_table(folder):
    table = regimes.read()
    keys = [regime.key for regime in table]
    for letter in "ABCDFG":
        check(f"lstm-train/{letter} is measured", f"lstm-train/{letter}" in keys)
    check("every part has a title", all(regime.part in report.TITLES for regime in table))
    regime = regimes.parse_line(LINE)
    check(
        "fields",
        (regime.shape, regime.threads, regime.target, regime.peak)
        == ((1, 100, 64, 512, 512), (1, 2), 1.3, 80),
    )
    check("flop of one layer", regime.flop() == 3 * 2 * 4 * 512 * 1024 * 100 * 64)
    check(
        "flop of two layers both ways",
        regimes.parse_line("p n gru infer fp32 2,5,1,3,4 both fp32 1 - -").flop()
        == 2 * 3 * 4 * (3 + 4 + 8 + 4) * 2 * 5,
    )
    check("one part", {r.part for r in regimes.chosen(table, "stream,one-row")} == {"stream", "one-row"})
    check("one regime", [r.key for r in regimes.chosen(table, "lstm-train/A")] == ["lstm-train/A"])
    check("all", regimes.chosen(table, "") == table)
    refuses("unknown part", "no regime is called lstm-tarin", regimes.chosen, table, "lstm-tarin")
    refuses("unknown cell", "cell is lstn", regimes.parse_line, LINE.replace("lstm", "lstn"))
    refuses("short shape", "five numbers", regimes.parse_line, LINE.replace(",512,512", ",512"))
    refuses(
        "line number", "regimes.txt:2:", regimes.read, written(folder, LINE + "\n" + LINE.replace("1.3", "x"))
    )
    refuses("twice", "one name", regimes.read, written(folder, LINE + "\n" + LINE))


# ---- turns ----

FAKE_PEER = """#!{python}
import sys
sys.path.insert(0, {bench!r})
from peer import Refused, serve
def prepare(request):
    if request.cell == "gru":
        raise Refused("no such cell here")
    return f"Fake {{request.hidden}}", lambda: None
serve(prepare)
"""
FAKE_UNROLL = """#!/bin/sh
echo "$@" >>"$0.calls"
echo some words
echo '{"isa":"played","runs":3,"ms":5,"ms_median":6,"gflops":2,"peak_gflops":100,"peak_fraction":0.02}'
"""


def executable(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def test_turns(folder):
    fake = FAKE_PEER.format(python=sys.executable, bench=os.path.abspath(BENCH))
    for file in run.C_PEERS.values():
        executable(folder, file, fake)
    run.PYTHON_PEERS = {}
    unroll = executable(folder, "unroll", FAKE_UNROLL)
    options = argparse.Namespace(
        unroll=unroll, peers=folder, python=sys.executable, rounds=3, seconds=0.001, patience=60, build='abc'
    )
    result = run.measure(options, regimes.parse_line(LINE), 2)
    check("the build", result["build"] == "abc")
    check("our best", (result["ours"]["ms"], result["ours"]["runs"], result["ours"]["mflop"]) == (5, 9, 10))
    check(
        "a peer's time",
        result["peers"]["oneDNN 2"]["ms"] >= 0 and result["peers"]["oneDNN 3"]["version"] == "Fake 512",
    )
    with open(unroll + ".calls") as file:
        calls = file.read().splitlines()
    check(
        "three turns of ours",
        len(calls) == 3 and "--threads 2" in calls[0] and "--shape 1,100,64,512,512" in calls[0],
    )
    refused = run.measure(options, regimes.parse_line(LINE.replace("lstm", "gru")), 1)
    check("a refusal is kept", refused["peers"]["oneDNN 2"] == {"refused": "no such cell here"})
    kept = run.better(
        run.better({}, {"ms": 3, "ms_with_reorders": 4, "runs": 1}),
        {"ms": 5, "ms_with_reorders": 2, "runs": 1},
    )
    check("reorders take no time away", kept == {"ms": 2, "ms_with_reorders": 2, "runs": 2})


def test_lengths():
    """The first numbers are those that `unroll bench --ragged` draws for T = 128."""
    request = peer.Request("lstm", "train", "fp32", 1, 128, 32, 256, 256, 1, True)
    found = peer.lengths(request)
    check("lengths", len(found) == 32 and min(found) >= 1 and max(found) <= 128)
    check("lengths are spread", 40 < sum(found) / 32 < 90)


# ---- page and picture ----


def test_page():
    table, results = regimes.read(), report.load(os.path.join(HERE, "recorded"))
    page = report.page(table, results, "a machine")
    check(
        "the worse of two ratios decides",
        "| LSTM, forward and backward: A | 1.3x, 80% | 1.36 | 1.20 | 89% 89% | " "oneDNN 2 | no |" in page,
    )
    check("a target that is met", "| LSTM, inference: 8 | 1.4x |  | 2.00 | 99% | oneDNN 3 | yes |" in page)
    check("what we refuse", "| LSTM, streaming: 16 | 25x | - |  |  | oneDNN 2 | not measured |" in page)
    check(
        "ragged share",
        "Ragged, 2 threads: 50% of the steps are valid and take 55% of the full batch's time, 1.10 x" in page,
    )
    check("reorders in brackets", "680 ms, 66% (690)" in page)
    check("stated figures", "| lstm 16 | 0.1 us | 12.1% | 0.122 us | 11.6% | 1.04 |" in page)
    check("tails", "| lstm fp32 I 1 H 16 | 118 | 130 | 402 | 15210 |" in page)
    check("characters", "| LSTM" in page and "| 3.00 |" in page)
    check("machine and versions", "a machine. Peers:" in page and "oneDNN 2.6.3" in page)


def test_picture():
    table, results = regimes.read(), report.load(os.path.join(HERE, "recorded"))
    panels = list(report.panels(table, results))
    picture = chart.svg(panels)
    root = xml.fromstring(picture)
    rects = [e for e in root.iter() if e.tag.endswith("rect")]
    bars = sum(len(values) for _, groups in panels for _, values in groups)
    used = {name for _, groups in panels for _, values in groups for name in values}
    check(
        "panels",
        [title for title, _ in panels]
        == ["LSTM, forward and backward, 2 threads", "LSTM, inference, 2 threads"],
    )
    check("a bar for each time, a square for each name", len(rects) == bars + len(used))
    check("light and dark", "prefers-color-scheme:dark" in picture)
    tall, wide = float(root.get("height")), float(root.get("width"))
    inside = all(
        float(r.get("y")) + float(r.get("height")) <= tall
        and float(r.get("x")) + float(r.get("width")) <= wide
        for r in rects
    )
    check("bars are inside", inside)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_table(folder)
        test_turns(folder)
    test_lengths()
    test_page()
    test_picture()
    print(f"test_bench: {count['passed']} passed, {count['failed']} failed, 0 skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
