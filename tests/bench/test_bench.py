# Tests the parts of the benchmark that work without other libraries: the table of regimes, the alternation between a
# fake peer and a fake command, and the page and the chart from recorded results.
# test: kinds=plain
import argparse
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True
import chart
import gallery
import gpu
import guard
import peer
import regimes
import report
import run
import speed
import tasks

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


def test_guard(folder):
    """A build with the same times passes; one that is a tenth slower in a regime fails, after more turns."""
    say = "#!/bin/sh\necho x >>\"$0.calls\"\ncase $* in *1,1,1,32,32*) ms={};; *) ms=2;; esac\n" \
          "echo \"{{\\\"ms\\\":$ms,\\\"gflops\\\":1}}\"\n"
    old, slow = (executable(folder, name, say.format(ms)) for name, ms in (("old", 1), ("slow", 1.1)))
    options = argparse.Namespace(old=old, unroll=old, only="", turns=2, seconds=0.01, limit=0.97)
    check("12 regimes are guarded", len(guard.GUARDED) == 12)
    check("the same speed", guard.measure(options) == [])
    options.unroll = slow
    check("a slower regime", guard.measure(options) == ["stream/32"])
    with open(slow + ".calls") as file:
        check("which gets more turns", len(file.readlines()) == 11 * 2 + 6)
    options.only = "few-train/1"
    check("a part", guard.measure(options) == [])


# ---- the table ----

LINE = "p n lstm train fp32 1,100,64,512,512 - fp32 1,2 1.3 80 1.0,90"


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
        (regime.shape, regime.threads, regime.target, regime.peak, regime.plain)
        == ((1, 100, 64, 512, 512), (1, 2), 1.3, 80, (1.0, 90)),
    )
    check("flop of one layer", regime.flop() == 3 * 2 * 4 * 512 * 1024 * 100 * 64)
    check(
        "flop of two layers both ways",
        regimes.parse_line("p n gru infer fp32 2,5,1,3,4 both fp32 1 - - -").flop()
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
echo '{"isa":"played","runs":3,"clock":"device","ms":5,"ms_median":6,"gflops":2,"peak_gflops":100,"peak_fraction":0.02}'
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
    """The first lengths are those that `unroll bench --ragged` draws for T = 128."""
    request = peer.Request("lstm", "train", "fp32", 1, 128, 32, 256, 256, 1, True)
    found = peer.lengths(request)
    check("lengths", len(found) == 32 and min(found) >= 1 and max(found) <= 128)
    check("lengths are spread", 40 < sum(found) / 32 < 90)


# ---- page and picture ----


def test_page():
    table, results = regimes.read(), report.load(os.path.join(HERE, "recorded"))
    plain = report.page(table, results, "a machine")
    check("without AMX other targets", "| LSTM, forward and backward: A | 1x, 90% | 1.36 | 1.20 |" in plain)
    check("a page of each kind", "(percent-of-peak-avx512.svg)" in plain and report.kind(results) == "-avx512")
    results["stream/16", 1]["ours"] |= {"isa": "amx"}
    page = report.page(table, results, "a machine")
    check("AMX has the page without a name", "(percent-of-peak.svg)" in page)
    check(
        "the worse of two ratios decides",
        "| LSTM, forward and backward: A | 1.3x, 80% | 1.36 | 1.20 |  | 89% 89% | 89% 89% | oneDNN 2 | no |" in page,
    )
    check("a target that is met", "| LSTM, inference: 8 | 1.4x |  | 2.00 |  | 99% | 99% | oneDNN 3 | yes |" in page)
    check("reading alone is a floor and no peer", "| LSTM, streaming: 16 | 25x | - |  | 40.00 |  |  | oneDNN 2 | not measured |" in page)
    both = {
        ("a", 1): {"ours": {"isa": "amx", "peak_gflops": 500}},
        ("b", 1): {"ours": {"isa": "avx512", "peak_gflops": 200}},
    }
    check("tiles have a peak of their own", [report.peaks(both, on) for on in (True, False)] == [{1: 500}, {1: 200}])
    check(
        "ragged share",
        "Ragged, 2 threads: 50% of the steps are valid and take 55% of the full batch's time, 1.10 x" in page,
    )
    check("reorders in brackets", "680 ms, 66% (690)" in page)
    check("stated figures", "| lstm 16 | 0.1 us | 12.1% | 0.122 us | 11.6% | 1.04 |" in page)
    check("tails", "| lstm fp32 I 1 H 16 | 118 | 130 | 402 | 15210 |" in page)
    check("characters", "| LSTM" in page and "| 3.00 |" in page)
    check("machine and versions", "a machine. Peers:" in page and "oneDNN 2.6.3" in page)


def test_speed_chart():
    with open(os.path.join(BENCH, "RESULTS.md")) as file:
        page = file.read()
    for name, colors in speed.COLORS.items():
        drawn = speed.svg(page, colors)
        with open(os.path.join(BENCH, f"speed-{name}.svg")) as file:
            check(f"speed-{name}.svg shows RESULTS.md; fix: python3 bench/speed.py", file.read() == drawn)
        root = xml.fromstring(drawn)
        bars = [e for e in root.iter() if e.tag.endswith("rect") and len(e)]
        check("a bar for each library that offers the shape", len(bars) == sum(map(len, speed.speeds(page))))
    section = "### A, inference\n\n|  | L,T,B,I,H | threads | Unroll | PyTorch |\n| - | - | - | - | - |\n"
    table = section + "| A | 1,1,1,1,1 | 2 | 2 ms, 9% | 5 ms (6) |\n\n"
    check("a row of a page", speed.milliseconds(table, "A, inference", "A") == {"Unroll": 2, "PyTorch": 5})
    refuses("no row", "has no row 'B'", speed.milliseconds, table, "A, inference", "B")
    refuses("no section", "there is no section 'C'", speed.milliseconds, table, "C", "A")


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
    for result in results.values():
        result["peak"] = 0
    check("a picture without a peak has no bars", "<title>" not in chart.svg(list(report.panels(table, results))))


def test_parts(folder):
    """Creates the page and the chart for every single part and for pairs of parts, as with ONLY=..."""
    recorded = os.path.join(HERE, "recorded")
    names = sorted(os.listdir(recorded))
    for first in names:
        for second in names:
            part = tempfile.mkdtemp(dir=folder)
            for name in {first, second}:
                shutil.copy(os.path.join(recorded, name), part)
            made = report_of(part)
            check(f"a page of {first} and {second}: {made}", made == "")


def report_of(folder):
    """Returns "", or the last line of the error."""
    command = [sys.executable, "-B", os.path.join(BENCH, "report.py"), folder, "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


# ---- on a GPU ----

GPU_LINE = "p n lstm bf16 1,512,16,768,768 - 0.5,0.75"
ANSWERS = {
    "Unroll": {"ms_median": 2.0, "version": "sm_90 persistent"},
    "PyTorch": {"ms_median": 8.0, "version": "PyTorch 2.13.0 graph"},
    "cuDNN": {"ms_median": 5.0, "version": "cuDNN 91002 PERSIST_STATIC"},
}


def test_gpu_table():
    table = gpu.read()
    keys = [regime.key for regime in table]
    check("no two regimes have a name", len(set(keys)) == len(keys))
    check("floors of five shapes", sum(bool(regime.floors) for regime in table) == 5)
    check("every type and cell", {r.dtype for r in table} == {"fp32", "tf32", "bf16", "fp16"}
          and {r.cell for r in table} == {"lstm", "gru", "rnn"} and any(r.form == "ragged" for r in table))
    check("one part", {r.part for r in gpu.read("gru-bf16")} == {"gru-bf16"})
    check("one regime", [r.key for r in gpu.read("letters-tf32/D")] == ["letters-tf32/D"])
    refuses("unknown regime", "no regime is called gru-bf61", gpu.read, "gru-bf61")
    refuses("one floor", "two floors", gpu.parse_line, GPU_LINE.replace(",0.75", ""))
    refuses("unknown precision", "unknown", gpu.parse_line, GPU_LINE.replace("bf16", "int8"))


def test_gpu_numbers():
    regime = gpu.parse_line(GPU_LINE)
    check("floors", (regime.floor("infer"), regime.floor("train")) == (0.5, 1.25))
    check("a missing floor", gpu.parse_line(GPU_LINE.replace("0.5,0.75", "-")).floor("train") is None)
    check("the best peer counts", gpu.ratio(ANSWERS) == 2.5)
    check("no ratio without us", gpu.ratio({**ANSWERS, "Unroll": {"refused": "no"}}) is None)
    check("one peer is enough", gpu.ratio({**ANSWERS, "cuDNN": {"refused": "no"}}) == 4)
    check("geometric mean", gpu.geometric_mean([2, 8]) == 4 and gpu.geometric_mean([]) is None)
    check("row", gpu.row(regime, "train", ANSWERS) == "| p/n | both | 1,512,16,768,768 | 2 persistent | 8 graph | "
          "5 PERSIST_STATIC | 2.50 | 1.25 | 62% |")
    check("the smaller median is kept", gpu.better({"ms_median": 2, "version": "v"}, {"ms_median": 3}) ==
          gpu.better({"ms_median": 3, "version": "v"}, {"ms_median": 2}) == {"ms_median": 2, "version": "v"})
    printed = '{"isa":"sm_90 persistent","runs":3,"clock":"device","ms":5,"ms_median":6}'
    check("what we print", gpu.parse_ours(0, "words\n" + printed, "")
          == {"ms_median": 6, "runs": 3, "version": "sm_90 persistent"})
    for other in ('"clock":"host"', '"turns":3'):
        check("one clock", gpu.parse_ours(0, printed.replace('"clock":"device"', other), "")
              == {"refused": "timed by the host"})
    check("what we refuse", gpu.parse_ours(4, "", "error: too large\n  fix: less\n") == {"refused": "error: too large"})


def test_gpu_turns(folder):
    """With a fake command and fake peers."""
    fake = executable(folder, "peer", FAKE_PEER.format(python=sys.executable, bench=os.path.abspath(BENCH)))
    unroll = executable(folder, "gpu-unroll", FAKE_UNROLL)
    options = argparse.Namespace(unroll=unroll, cudnn=fake, only="", build="abc", errors=None)
    gpu.SECONDS = 0.001
    torch, regime = run.Peer([fake], 1), gpu.parse_line(GPU_LINE.replace(" - ", " ragged "))
    answers = gpu.measure(options, torch, regime, "train")
    refused = gpu.measure(options, torch, gpu.parse_line(GPU_LINE.replace("lstm", "gru")), "infer")
    torch.close()
    silent = run.Peer(["sleep", "600"], 1, limit=0.1)
    check("a peer that does not answer", silent.ask("prepare").answer() == {"refused": "no answer within 0.1 s"})
    silent.close()
    with open(unroll + ".calls") as file:
        calls = file.read().splitlines()
    check("our turns", len(calls) == 2 * gpu.ROUNDS and "--precision bf16" in calls[0] and "--ragged" in calls[0]
          and answers["Unroll"]["ms_median"] == 6)
    found = [answers[name] for name in gpu.PEERS]
    check("both peers", all(a["version"] == "Fake 768" and "ms_median" in a for a in found))
    check("their refusals", all(refused[name] == {"refused": "no such cell here"} for name in gpu.PEERS))
    results = [(regime, "train", ANSWERS), (regime, "train", {**ANSWERS, "PyTorch": {"ms_median": 32.0}}),
               (regime, "infer", {**ANSWERS, "Unroll": {"refused": "no"}})]
    text = gpu.page(options, "Some GPU", results, ["p/n infer"])
    end = "of 2 ratios: 2.50. Not measured in the time that there was: p/n infer."
    check("page", "Some GPU, 20" in text and end in text)
    check("means of a part", "| p | both | 8.00 (2) | 2.50 (2) |\n| p | forward |  |  |" in text)


def test_gpu_refusal(folder):
    unroll = executable(folder, "no-gpu", "#!/bin/sh\necho 'cuda   none: there is no driver'\n")
    out = os.path.join(folder, "RESULTS-gpu.md")
    command = [sys.executable, os.path.join(BENCH, "gpu.py"), "--unroll", unroll, "--out", out]
    done = subprocess.run(command, capture_output=True, text=True)
    check("no GPU", done.returncode == 1 and "there is no driver; nothing was measured" in done.stderr)
    check("no GPU: no page", not os.path.exists(out))


def test_cudnn_peer(folder):
    """The driver compiles without warnings and responds, whether or not this machine has cuDNN."""
    driver = os.path.join(folder, "peer_cudnn")
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               os.path.join(BENCH, "peer_cudnn.c"), "-ldl", "-o", driver]
    done = subprocess.run(command, capture_output=True, text=True)
    check(f"peer_cudnn.c compiles: {done.stderr[:300]}", done.returncode == 0)
    cudnn = run.Peer([driver], 1)
    check("a cell that cuDNN lacks", cudnn.ask("prepare minGRU train bf16 1 8 2 4 4 1 0").answer()
          == {"refused": "cuDNN has no such cell"})
    check("not the protocol", "neither" in cudnn.ask("hello").answer()["refused"])
    answer = cudnn.ask("prepare lstm train bf16 1 8 2 4 4 1 0").answer()
    check("cuDNN or why not", "refused" in answer or answer["version"].startswith("cuDNN"))
    cudnn.close()


def test_gallery(folder):
    """A section shows every command: if only the first rows of a file are read, also the one that cuts it."""
    source = next(row for row in tasks.SCORES if row["name"] == "ETTh1")
    os.makedirs(os.path.join(folder, "ett"))
    with open(os.path.join(folder, source["data"]), "w") as file:
        file.writelines(f"{row}\n" for row in range(source["rows"] + 10))
    given = argparse.Namespace(data=folder)
    cut = os.path.join(folder, "cut")
    os.makedirs(cut)
    path, _ = tasks.find_data(source, given, cut)
    with open(path) as file:
        check("the first rows are read", len(file.readlines()) == source["rows"])
    typed = gallery.commands(source, path, source["options"], cut, given)
    check(f"the cut is shown: {typed}", typed[0] == "head -n 14401 ETTh1.csv > ETTh1_14400.csv" and len(typed) == 2)
    with open(os.path.join(BENCH, "..", "docs", "guide", "gallery.md")) as file:
        page = file.read()
    check("the page shows both commands", "\n".join(f"$ {command}" for command in typed) + "\n" in page)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_table(folder)
        test_turns(folder)
        test_guard(folder)
        test_gpu_turns(folder)
        test_gpu_refusal(folder)
        test_cudnn_peer(folder)
        test_parts(folder)
        test_gallery(folder)
    test_gpu_table()
    test_gpu_numbers()
    test_lengths()
    test_page()
    test_picture()
    test_speed_chart()
    print(f"test_bench: {count['passed']} passed, {count['failed']} failed, 0 skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
