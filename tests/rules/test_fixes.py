# Every error has a fix. First checks the source: each call of fail() and complain() with its own message contains "fix:
# ", or reports a lack of memory, to which set_error adds one; calls that pass on a message name its source. Then runs
# commands on a corpus: files of every format and options, truncated and modified. Refusals print a line "  fix: ", and
# no command ends without one of its exit codes.
#     test_fixes.py UNROLL
# test: args=$B/unroll; seconds=20
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
SEEDS = os.path.join(ROOT, "tests", "fuzz", "seeds")
PASSED_ON = ("unroll_last_error()", "message", "what")  # messages from elsewhere, which have a fix; "%s" alone

count = {"passed": 0, "failed": 0}


def check(name, holds):
    count["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED {name}")


# ---- the source ----


def arguments(text, at):
    """Returns the arguments of a call whose parenthesis opens before `at`."""
    depth, begin, found = 0, at, []
    while True:
        c = text[at]
        if c in "\"'":
            at += 1
            while text[at] != c:
                at += 2 if text[at] == "\\" else 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return found + [text[begin:at].strip()]
            depth -= 1
        elif c == "," and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
        at += 1


def has_fix(call):
    words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', " ".join(call[1:])))
    if not words or "fix: " in words or "no memory" in words:
        return True
    return words == "%s" or (words.endswith("%s") and call[-1].endswith(PASSED_ON))


BARE = re.compile(r"\bfix: (?:\"\s+\")?(?:--|`[a-z_]+` |an? |another |fewer |the |one of |\d+(?:\.\d+)? (?:to|or) )")


def check_source():
    calls = 0
    check("a noun phrase is no fix", BARE.search("fix: 0 to 0.95") and not BARE.search("fix: choose a value from 0 to 0.95"))
    for folder in ("src", "extensions", "cli"):
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(place, name)
                with open(path) as file:
                    text = file.read()
                bare = BARE.search(text)
                check(f"{os.path.relpath(path, ROOT)}: a fix begins with a verb: {bare and bare.group(0)}", not bare)
                calling = r"\b(?:fail|complain|refuse)\s*\(" if name == "frames.c" else r"\b(?:fail|complain)\s*\("
                for match in re.finditer(calling, text):
                    call = arguments(text, match.end())
                    calls += 1
                    line = text[: match.start()].count("\n") + 1
                    check(f"{os.path.relpath(path, ROOT)}:{line} has no fix: {' '.join(call)[:160]}", has_fix(call))
    check(f"{calls} calls were found", calls > 1000)


# ---- the corpus ----


def damaged(data, chance):
    """Truncates the data, or changes, removes or inserts bytes."""
    data, how = bytearray(data), chance.randrange(4)
    at = chance.randrange(max(1, min(len(data), 400 if chance.random() < 0.6 else len(data))))
    if how == 0:
        return bytes(data[:at])
    if how == 1:
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif how == 2:
        del data[at : at + chance.randint(1, 9)]
    else:
        data[at:at] = bytes(chance.randrange(32, 127) for _ in range(chance.randint(1, 9)))
    return bytes(data)


def commands(kind, path, run):
    """Returns the commands that read such a file."""
    return {
        "import": [["import", path, "-o", path + ".out"]],
        "npy": [["run", run, path, "-o", path + ".out.npy"], ["train", path, "--steps", "1", "--val", "0", "--out", path + ".run"],
                ["export", run, "--to", "c99", "--dtype", "int8", "--calibrate", path, "-o", path + ".c"]],
        "readers": [["inspect", path]],
        "cluster": [["plan", "--auto", "--hosts", "2", "--network", path]],
        "safetensors": [["inspect", path], ["import", path, "-o", path + ".out"]],
        "json": [["train", path, "--config", path, "--dry-run"]],
    }[kind]


def ask(unroll, words, name):
    done = subprocess.run([unroll, *words], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    said = done.stderr.decode("utf-8", "replace")
    check(f"{name}: {' '.join(words)}: exit {done.returncode}", done.returncode in range(8))
    if done.returncode:
        check(f"{name}: no fix: {' '.join(words)}: {said.strip()[-200:]}", "\n  fix: " in said)
    return done.returncode != 0


OPTIONS = """plan --topology v9:2; plan --chunks 64 --bptt 4; plan --cell gru --peephole; plan --embed 4 --tied --input 0
bench --cell none; export RUN --to c99 --prefix 1-2 -o x; export RUN --to onnx --opset 3 -o x; devices --what
train TEXT --loss quantile:2,1; train TEXT --loss mse:0.5; train TEXT --tied; train TEXT --batch 99999999999999-tokens
train TEXT --init-weights none; train TEXT --task forecast; train TEXT --task tag; sample RUN --prompt \x01
sample RUN --temperature 1e9; run RUN TEXT -o y.npy; import TEXT; stream RUN --format wav; eval RUN /; inspect /dev/null
launch --ranks 2 train; launch --ranks x train TEXT; launch --hosts nowhere --ranks 2 train TEXT; plot TEXT; plot /
train TEXT --sync local:0 --workers 2; train TEXT --compress topk:9 --workers 2; train TEXT --device cuda:x
train TEXT --device none; train TEXT --split two; train --resume TEXT; predict RUN TEXT; help sampel; trian TEXT"""


def check_options(unroll, folder, run, text):
    for line in re.split(r"[;\n]\s*", OPTIONS):
        words = [{"RUN": run, "TEXT": text}.get(word, word) for word in line.split()]
        refused = ask(unroll, words, "options")
        check(f"options: '{line}' is refused", refused)


def check_corpus(unroll):
    chance = random.Random(7)
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        text, run = os.path.join(folder, "text.txt"), os.path.join(folder, "run")
        with open(text, "w") as file:
            file.write("to be or not to be, that is the question\n" * 40)
        small = ["--hidden", "8", "--layers", "1", "--batch", "4", "--bptt", "8", "--steps", "2", "--val", "0", "--quiet"]
        check("a run to read with", subprocess.run([unroll, "train", text, *small, "--out", run]).returncode == 0)
        os.chdir(folder)
        check_options(unroll, folder, run, text)
        for kind in ("import", "npy", "readers", "cluster", "safetensors", "json"):
            for seed in sorted(os.listdir(os.path.join(SEEDS, kind))):
                with open(os.path.join(SEEDS, kind, seed), "rb") as file:
                    whole = file.read()
                for _ in range(3 if whole else 0):
                    path = os.path.join(folder, seed + {"npy": ".npy", "cluster": ".json"}.get(kind, ""))
                    with open(path, "wb") as file:
                        file.write(damaged(whole, chance))
                    for words in commands(kind, path, run):
                        refused += ask(unroll, words, f"{kind}/{seed}")
    check(f"{refused} are refused", refused > 100)


def main():
    unroll = os.path.abspath(sys.argv[1])
    for name in [name for name in os.environ if name.startswith("UNROLL_")]:
        del os.environ[name]
    check_source()
    check_corpus(unroll)
    print(f"test_fixes: {count['passed']} passed, {count['failed']} failed, 0 skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
