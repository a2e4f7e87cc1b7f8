# Measures regimes: Unroll and its peers take turns, for several rounds, in one run. Each answer is stored in a file of
# its own in the folder of results, which bench/report.py reads. Measuring a part again replaces only its files. The
# length of a turn and the number of turns are the same for all.
import argparse
import json
import os
import random
import select
import shutil
import subprocess
import sys
import time

import regimes
from peer import UPDATES_A_RUN

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON_PEERS = {
    "PyTorch": "peer_torch.py",
    "ONNX Runtime": "peer_onnxruntime.py",
    "OpenVINO": "peer_openvino.py",
}
FLOOR = "reading"  # not a peer, but with the same protocol: bench/floor.c, for weights of our type
C_PEERS = {"oneDNN 2": "peer_onednn2", "oneDNN 3": "peer_onednn3", FLOOR: "floor"}
REST = 0.02  # seconds between turns, in which the last one's threads stop spinning


class Peer:
    """A process that answers the requests of bench/peer.py. limit: seconds for one answer, after which it is killed;
    errors: a file for its stderr."""

    def __init__(self, command, threads, limit=None, errors=None):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.limit = limit
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors or subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self

    def answer(self):
        if self.limit and not select.select([self.process.stdout], [], [], self.limit)[0]:
            self.process.kill()
            return {"refused": f"no answer within {self.limit} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"refused": "it ended without an answer"}

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has already ended
        self.process.wait()


class Unroll:
    """`unroll bench`, started again for each turn."""

    def __init__(self, options, regime, threads):
        self.command = [
            options.unroll,
            "bench",
            "--json",
            "--cell",
            regime.cell,
            "--pass",
            regime.purpose,
            "--dtype",
            regime.dtype,
            "--shape",
            ",".join(map(str, regime.shape)),
            "--threads",
            str(threads),
        ]
        self.command += {"both": ["--bidirectional"], "ragged": ["--ragged"]}.get(regime.form, [])

    def turn(self, seconds):
        done = subprocess.run([*self.command, "--seconds", str(seconds)], capture_output=True, text=True)
        if done.returncode:
            return {"refused": (done.stderr.strip().splitlines() or ["it failed"])[-1]}
        answer = json.loads(done.stdout.splitlines()[-1])
        answer["mflop"] = answer["gflops"] * answer["ms"]  # of the valid steps
        return answer


class UnrollOnText:
    """`unroll train` on random text, for some updates; the time of one is computed from characters per second."""

    def __init__(self, options, regime, threads):
        layers, steps, rows, symbols, hidden = regime.shape
        text = os.path.join(options.peers, "random.txt")
        random_text(text, symbols)
        self.characters = steps * rows
        self.folder = os.path.join(options.peers, "run")
        self.command = [
            options.unroll,
            "train",
            text,
            "--cell",
            regime.cell,
            "--layers",
            str(layers),
            "--hidden",
            str(hidden),
            "--bptt",
            str(steps),
            "--batch",
            str(rows),
            "--val",
            "0",
            "--steps",
            str(UPDATES_A_RUN),
            "--threads",
            str(threads),
            "--out",
            self.folder,
            "--json",
        ]

    def turn(self, seconds):
        shutil.rmtree(self.folder, ignore_errors=True)
        done = subprocess.run(self.command, capture_output=True, text=True)
        if done.returncode:
            return {"refused": (done.stderr.strip().splitlines() or ["it failed"])[-1]}
        ms = 1e3 * self.characters / json.loads(done.stdout.splitlines()[-1])["items_per_second"]
        return {"ms": ms, "ms_median": ms, "runs": 1}


def random_text(path, symbols):
    """Writes as many letters as tinyshakespeare has: the speed does not depend on the text."""
    letters = [chr(33 + i) for i in range(symbols)]
    numbers = random.Random(1)
    with open(path, "w") as file:
        file.write("".join(letters) + "".join(numbers.choices(letters, k=1115394 - symbols)))


def request(regime, dtype):
    return " ".join(
        map(
            str,
            (
                "prepare",
                regime.cell,
                regime.purpose,
                dtype,
                *regime.shape,
                regime.directions,
                int(regime.form == "ragged"),
            ),
        )
    )


def start_peers(options, regime, threads):
    """Returns name -> peer, for those that can run the regime; and the answers of all to `prepare`."""
    commands = {name: [os.path.join(options.peers, file)] for name, file in C_PEERS.items()}
    commands |= {name: [options.python, os.path.join(HERE, file)] for name, file in PYTHON_PEERS.items()}
    started = {name: Peer(command, threads) for name, command in commands.items()}
    answers, ready = {}, {}
    for name, peer in started.items():  # one after the other, so that no two warm up at the same time
        dtype = regime.dtype if name == FLOOR else regime.peers
        answers[name] = peer.ask(request(regime, dtype)).answer()
        if "refused" in answers[name]:
            peer.close()
        else:
            ready[name] = peer
    return ready, answers


SMALLEST = ("ms", "ms_median", "ms_with_reorders", "p50_ns", "p99_ns", "p999_ns")


def better(kept, turn):
    """Merges a turn into the best of all turns. A time without reorders that exceeds the time with them is noise."""
    for key, value in turn.items():
        if key in SMALLEST:
            kept[key] = min(kept.get(key, value), value)
        elif key in ("peak_gflops", "max_ns"):
            kept[key] = max(kept.get(key, 0), value)
        elif key == "runs":
            kept[key] = kept.get(key, 0) + value
        elif key in ("isa", "mflop", "version", "refused"):
            kept[key] = value
    if "ms_with_reorders" in kept:
        kept["ms"] = min(kept["ms"], kept["ms_with_reorders"])
    return kept


def measure(options, regime, threads):
    peers, answers = start_peers(options, regime, threads)
    unroll = (UnrollOnText if regime.purpose == "text" else Unroll)(options, regime, threads)
    ours, theirs = {}, {name: dict(answer) for name, answer in answers.items()}
    begin = time.monotonic()
    for round_ in range(options.rounds):
        if round_ >= 2 and time.monotonic() - begin > options.patience:
            break
        time.sleep(REST)
        if "refused" not in ours:
            better(ours, unroll.turn(options.seconds))
        for name, peer in peers.items():
            time.sleep(REST)
            better(theirs[name], peer.ask(f"run {options.seconds}").answer())
    for peer in peers.values():
        peer.close()
    return {
        "key": regime.key,
        "threads": threads,
        "date": time.strftime("%Y-%m-%d"),
        "build": options.build,
        "ours": ours,
        "peers": theirs,
    }


def describe(result):
    times = {"unroll": result["ours"], **result["peers"]}
    words = [f"{name} {answer['ms']:.4g}" for name, answer in times.items() if "ms" in answer]
    return f"{result['key']} {result['threads']}T ms: " + ", ".join(words)


def arguments():
    parser = argparse.ArgumentParser(description="Measures Unroll and its peers in turns.")
    parser.add_argument("--unroll", default="build/unroll", help="the command")
    parser.add_argument(
        "--peers", default="build/peers", help="folder of the peers' drivers"
    )
    parser.add_argument("--python", default=sys.executable, help="of the environment that holds the peers")
    parser.add_argument("--results", default="results", help="folder of results, below that of --peers")
    parser.add_argument("--build", default="", help="what the build is called: a commit")
    parser.add_argument("--only", default="", help="parts or regimes, by name")
    parser.add_argument("--threads", type=int, help="measure this number of threads alone")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a turn")
    parser.add_argument("--rounds", type=int, default=4, help="turns that each takes; 2 if they take long")
    parser.add_argument(
        "--patience", type=float, default=8, help="seconds after which a regime has no third round"
    )
    parser.add_argument("--json", action="store_true", help="print results as lines of JSON")
    return parser.parse_args()


def main():
    options = arguments()
    results = os.path.join(options.peers, options.results)
    os.makedirs(results, exist_ok=True)
    try:
        todo = regimes.chosen(regimes.read(), options.only)
    except ValueError as error:
        sys.exit(f"bench-peers: {error}")
    for regime in todo:
        for threads in regime.threads:
            if options.threads not in (None, threads):
                continue
            result = measure(options, regime, threads)
            print(json.dumps(result) if options.json else describe(result), flush=True)
            with open(os.path.join(results, f"{regime.part}-{regime.name}-{threads}.json"), "w") as file:
                json.dump(result, file)


if __name__ == "__main__":
    main()
