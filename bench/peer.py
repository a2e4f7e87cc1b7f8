# The peers' side of the benchmark's protocol, for peers in Python. Lines on standard input:
#     prepare CELL PASS DTYPE LAYERS STEPS ROWS INPUT HIDDEN DIRECTIONS RAGGED    once for each process
#     run SECONDS
# The answer to each is one line of JSON: {"version"} or {"refused"}; then {"ms", "ms_median", "runs"}.
import json
import sys
import time
from dataclasses import dataclass

MIN_RUNS = 1
STEPS_A_RUN = 64  # a streaming step's time is the mean of these, because the clock takes time too
UPDATES_A_RUN = 30  # of a language model, averaged as well: sustained speed counts


class Refused(Exception):
    pass


@dataclass
class Request:
    cell: str  # rnn, lstm, gru (PyTorch's), gru-before
    purpose: str  # infer, train, stream, text (an update of a language model)
    dtype: str  # fp32, bf16, int8
    layers: int
    steps: int
    rows: int
    input: int
    hidden: int
    directions: int
    ragged: bool


def lengths(request):
    """Returns lengths uniform in 1 .. steps, the same numbers as `unroll bench --ragged`."""
    state, found = 2, []
    for _ in range(request.rows):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        unit = (state >> 40) / 2**24
        found.append(1 + int(unit * (request.steps - 1) + 0.5))
    return found


def measure(run, seconds, repeats):
    ms, begin = [], time.perf_counter()
    while len(ms) < MIN_RUNS or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        ms.append(1e3 * (time.perf_counter() - start) / repeats)
    ms.sort()
    return {"ms": ms[0], "ms_median": ms[len(ms) // 2], "runs": len(ms)}


def answer(line, prepare, state, timed):
    word, *rest = line.split()
    if word == "prepare":
        request = Request(*rest[:3], *map(int, rest[3:9]), rest[9] == "1")
        state["repeats"] = {"stream": STEPS_A_RUN, "text": UPDATES_A_RUN}.get(request.purpose, 1)
        version, state["run"] = prepare(request)
        state["run"]()
        return {"version": version}
    return timed(state["run"], float(rest[0]), state["repeats"])


def serve(prepare, timed=measure):
    """Answers standard input. prepare(request) returns a version and a function that runs the network once, or raises
    Refused."""
    state = {}
    for line in sys.stdin:
        try:
            reply = answer(line, prepare, state, timed)
        except Refused as refusal:
            reply = {"refused": str(refusal)}
        print(json.dumps(reply), flush=True)
