# Runs every command of bench/README.md in a minimal form: the smallest regime of each part, one short round, fake peers
# and generated data. Fails for commands that this file has no minimal form of.
#     test_commands.py BUILD
# test: kinds=ci-plain; args=$B; needs=$B/unroll $B/reading; seconds=60
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import regimes
import run
from test_bench import FAKE_PEER, executable

count = {"passed": 0, "failed": 0}
COMMAND = re.compile(r"(?:make (?:bench-peers|gpu-bench)|bench/[a-z]+\.(?:py|sh))[^`\n]*")


def check(name, holds):
    count["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED {name}")


def succeeds(name, command, expected=0, says=""):
    """Runs a command and compares its exit status and the words it prints."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    output = done.stdout + done.stderr
    check(f"{name}: exit {done.returncode}: {output.strip()[-300:]}", done.returncode == expected and says in output)


def commands_of_page():
    """Returns the commands in fences and in backticks."""
    with open(os.path.join(BENCH, "README.md")) as file:
        page = file.read()
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", page, re.S | re.M)
    quoted = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))
    lines = [line for block in fenced for line in block.splitlines()] + quoted
    return [found.group(0).strip() for line in lines if (found := COMMAND.match(line.replace("\n", " ")))]


def smallest(names):
    """Returns the regime of each part with the fewest operations; all parts if none is named."""
    table = regimes.read()
    parts = {name.partition("/")[0] for name in names} or {regime.part for regime in table}
    chosen = [min((r for r in table if r.part == part), key=lambda r: r.flop()) for part in sorted(parts)]
    return ",".join(regime.key for regime in chosen)


def bench_peers(command, folder, unroll):
    words = dict(word.split("=") for word in command.split() if "=" in word and re.match("(ONLY|SHORT|JSON)=", word))
    only = smallest([name for name in words.get("ONLY", "").split(",") if name])
    measure = [sys.executable, "-B", os.path.join(BENCH, "run.py"), "--unroll", unroll, "--peers", folder, "--build", "x"]
    measure += ["--only", only, "--results", "short", "--rounds", "1", "--seconds", "0.001"]
    results = os.path.join(folder, "short")
    for name in os.listdir(results) if os.path.isdir(results) else []:
        os.remove(os.path.join(results, name))
    succeeds(command, measure + (["--json"] if "JSON" in words else []))
    succeeds(f"the page of {command}", [sys.executable, "-B", os.path.join(BENCH, "report.py"), results, "--out", results])


def play_peers(folder):
    """Replaces the peers in C by scripts, and those in Python by programs that end without a result."""
    for name in run.C_PEERS.values():
        executable(folder, name, FAKE_PEER.format(python=sys.executable, bench=BENCH))
    os.makedirs(os.path.join(folder, "venv", "bin"))
    executable(os.path.join(folder, "venv", "bin"), "python", "#!/bin/sh\nexit 1\n")


def large(command, folder, unroll):
    script = os.path.join(BENCH, "large.py")
    succeeds(command, [sys.executable, "-B", script, "--unroll", unroll, "--folder", folder, "--part", "200"])


def tasks(command, folder, unroll):
    os.makedirs(os.path.join(folder, "tinyshakespeare"))
    with open(os.path.join(folder, "tinyshakespeare", "input.txt"), "w") as file:
        file.write("to be or not to be, that is the question\n" * 300)
    words = [os.path.join(BENCH, "tasks.sh"), folder, "--only", "tinyshakespeare", "--unroll", unroll]
    succeeds(command, words, says="tinyshakespeare")


def reading(command, folder, unroll):
    """Without pandas and pyarrow, if this Python lacks them."""
    program = os.path.join(os.path.dirname(unroll), "reading")
    words = [sys.executable, "-B", os.path.join(BENCH, "reading.py"), "--reading", program, "--megabytes", "0.5", "--turns", "1"]
    succeeds(command, words, says="series")


def gpu(command, folder, unroll):
    """Simulates a machine without a GPU; with one it would take minutes."""
    if shutil.which("nvidia-smi"):
        return
    words = [sys.executable, "-B", os.path.join(BENCH, "gpu.py"), "--unroll", unroll, "--out", os.path.join(folder, "page.md")]
    succeeds(command, words, expected=1, says="nothing was measured")


KNOWN = {"make bench-peers": bench_peers, "bench/large.py": large, "bench/reading.py": reading, "bench/tasks.sh": tasks, "make gpu-bench": gpu}


def main():
    unroll = os.path.abspath(os.path.join(sys.argv[1], "unroll"))
    found = commands_of_page()
    check("the page has commands", len(found) >= 8)
    for command in dict.fromkeys(found):
        how = next((how for begin, how in KNOWN.items() if command.startswith(begin)), None)
        check(f"'{command}' is known here", how is not None)
        if how:
            with tempfile.TemporaryDirectory() as folder:
                play_peers(folder)
                how(command, folder, unroll)
    print(f"test_commands: {count['passed']} passed, {count['failed']} failed, 0 skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
