# Writes bench/RESULTS.md, or RESULTS-avx512.md and so on for processors without AMX, from the answers that bench/run.py
# stores: ratios first, then all times. Measures nothing. Regimes without measurements are left out, and missed targets
# are reported.
import argparse
import json
import os
import re

import chart
import regimes
import run

PEERS = ("oneDNN 2", "oneDNN 3", "PyTorch", "ONNX Runtime", "OpenVINO")
TITLES = {
    "lstm-train": "LSTM, forward and backward",
    "lstm-infer": "LSTM, inference",
    "gru-train": "GRU (resets after the product), forward and backward",
    "gru-before-train": "GRU (resets before the product), forward and backward",
    "rnn-train": "RNN, forward and backward",
    "gru-infer": "GRU (after), inference",
    "gru-before-infer": "GRU (before), inference",
    "rnn-infer": "RNN, inference",
    "both-train": "LSTM in two directions, forward and backward",
    "both-infer": "LSTM in two directions, inference",
    "few-train": "LSTM, few rows, forward and backward",
    "few-infer": "LSTM, few rows, inference",
    "one-row": "LSTM, one row, inference",
    "ragged": "LSTM, forward and backward, rows of lengths 1 to T",
    "stream": "LSTM, streaming",
    "stream-bf16": "LSTM, streaming, our bf16 weights compared with the peers' fp32",
    "stream-bf16s": "LSTM, streaming, bf16 on both sides",
    "stream-int8": "LSTM, streaming, int8 weights",
    "stream-1": "One input, streaming",
    "text": "An update of a language model, 2 x 256",
}
# RTNeural's microseconds per step for one input and H units, as stated for one core with a peak of 153.6 GFLOP/s
# (Cascade Lake). Not measured here, so only percentages of the peak can be compared.
STATED = {
    ("lstm", 16): 0.122,
    ("lstm", 32): 0.39,
    ("lstm", 64): 1.60,
    ("gru", 16): 0.091,
    ("gru", 32): 0.35,
    ("gru", 64): 1.22,
}
STATED_PEAK = 153.6


def load(folder):
    """Returns (key, threads) -> result."""
    results = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                result = json.load(file)
            results[result["key"], result["threads"]] = result
    for (_, threads), result in results.items():
        result["own_peak"] = peaks(results, on_tiles(result)).get(threads)
        result["peak"] = peaks(results, False).get(threads, result["own_peak"])
    return results


def on_tiles(result):
    """Returns whether our products ran on AMX as bf16x3 splits of floats; its peak is not that of multiply-adds."""
    return result["ours"].get("isa") == "amx"


def peaks(results, tiles):
    """Returns threads -> GFLOP/s, the maximum measured during runs of this kind: other load can only lower it."""
    best = {}
    for (_, threads), result in results.items():
        peak = result["ours"].get("peak_gflops", 0)  # runs of the command `train` measure none
        if on_tiles(result) == tiles and peak:
            best[threads] = max(best.get(threads, 0), peak)
    return best


def peak_words(best):
    return ", ".join(f"{n} thread{'s' * (n > 1)} {peak:.0f} GFLOP/s" for n, peak in sorted(best.items()))


def times(result):
    """Returns name -> best ms, of the peers that ran."""
    return {name: result["peers"][name]["ms"] for name in PEERS if "ms" in result["peers"].get(name, {})}


def best_peer(result):
    return min(times(result).items(), key=lambda item: item[1], default=None)


def ratio(result):
    """Returns the speed relative to the best peer; None if either did not run."""
    peer = best_peer(result)
    return peer[1] / result["ours"]["ms"] if peer and "ms" in result["ours"] else None


def reading_ratio(result):
    """Returns the speed of only reading the weights, relative to the best peer; None if several rows share a read."""
    peer, floor = best_peer(result), result["peers"].get(run.FLOOR, {})
    return peer[1] / floor["ms"] if peer and "ms" in floor else None


def peak_percent(regime, result, ms, peak="peak"):
    """Returns None for ragged rows, because only their valid steps count as operations."""
    return (
        100 * regime.flop() / (ms * 1e6) / result[peak]
        if result[peak] and regime.form != "ragged"
        else None
    )


def percents(regime, measured, peak):
    """Returns our percentages, of the runs that have one."""
    found = [
        peak_percent(regime, result, result["ours"]["ms"], peak)
        for result in measured
        if "ms" in result["ours"]
    ]
    return [percent for percent in found if percent is not None]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def shown_time(regime, ms):
    return f"{1e3 * ms:.3g} us" if regime.purpose == "stream" else f"{ms:.4g} ms"


def shown(regime, result, ms):
    part = peak_percent(regime, result, ms)
    return shown_time(regime, ms) + (f", {part:.0f}%" if part is not None else "")


# ---- targets ----


def verdict(target, found):
    if None in found:
        return "not measured"
    return "yes" if min(found) >= target else "no"


def target_rows(table_, results):
    for regime in table_:
        measured = [results[regime.key, n] for n in regime.threads if (regime.key, n) in results]
        target, peak = regime.plain if kind(results) else (regime.target, regime.peak)
        if target is None or not measured:
            continue
        found = [ratio(result) for result in measured]
        peer = best_peer(measured[-1])
        cells = {
            result["threads"]: f"{value:.2f}" if value else "-" for result, value in zip(measured, found)
        }
        own = percents(regime, measured, "own_peak")
        of_multiply_adds = percents(regime, measured, "peak")
        wanted = f"{target:g}x" + (f", {peak:g}%" if peak else "")
        met = verdict(target, found)
        if met == "yes" and peak and min(own, default=0) < peak:
            met = "no: the peak"
            if min(of_multiply_adds, default=0) >= peak:
                met = "ratio, and of multiply-adds' peak"
        yield [
            TITLES[regime.part] + ": " + regime.name,
            wanted,
            cells.get(1, ""),
            cells.get(2, ""),
            " ".join(f"{value:.2f}" for value in map(reading_ratio, measured) if value),
            " ".join(f"{percent:.0f}%" for percent in own),
            " ".join(f"{percent:.0f}%" for percent in of_multiply_adds),
            peer[0] if peer else "-",
            met,
        ]


def ragged_lines(results):
    """Yields lines on ragged batches. The target: 1.1 times the full batch's time, times the share of valid steps."""
    for threads in (1, 2):
        full, rows = (
            results.get((f"ragged/{name}", threads), {}).get("ours", {}) for name in ("full", "rows")
        )
        if "ms" in full and "ms" in rows:
            share = rows["mflop"] / full["mflop"]
            cost = rows["ms"] / full["ms"] / share
            yield (
                f"Ragged, {threads} thread{'s' * (threads > 1)}: {100 * share:.0f}% of the steps are valid and take "
                f"{100 * rows['ms'] / full['ms']:.0f}% of the full batch's time, {cost:.2f} x the share (target "
                f"1.1: {'met' if cost <= 1.1 else 'missed'})."
            )


# ---- all times ----


def part_tables(table_, results):
    for part in dict.fromkeys(regime.part for regime in table_):
        rows = []
        for regime in (r for r in table_ if r.part == part):
            for threads in regime.threads:
                if (regime.key, threads) in results:
                    rows.append(time_row(regime, threads, results[regime.key, threads]))
        if rows:
            yield from ["", f"### {TITLES[part]}", ""]
            yield from table(["", "L,T,B,I,H", "threads", "Unroll", *PEERS], rows)


def time_row(regime, threads, result):
    found = times(result)
    ours = shown(regime, result, result["ours"]["ms"]) if "ms" in result["ours"] else "-"
    cells = []
    for name in PEERS:
        cell = shown(regime, result, found[name]) if name in found else "-"
        reorders = result["peers"].get(name, {}).get("ms_with_reorders")
        cells.append(cell + (f" ({reorders:.4g})" if reorders else ""))
    return [regime.name, ",".join(map(str, regime.shape)), str(threads), ours, *cells]


def stated_lines(table_, results):
    rows = []
    for regime in (r for r in table_ if r.part == "stream-1"):
        ours = results.get((regime.key, 1), {}).get("ours", {})
        stated = STATED.get((regime.cell, regime.shape[4]))
        if "ms" in ours and stated:
            here = peak_percent(regime, results[regime.key, 1], ours["ms"])
            there = 100 * regime.flop() / (stated * 1e3) / STATED_PEAK
            rows.append(
                [
                    f"{regime.cell} {regime.shape[4]}",
                    f"{1e3 * ours['ms']:.3g} us",
                    f"{here:.1f}%",
                    f"{stated:g} us",
                    f"{there:.1f}%",
                    f"{here / there:.2f}",
                ]
            )
    if rows:
        yield from [
            "",
            "### RTNeural's stated figures, not measured here",
            "",
            f"One input, H units; stated for a core with a peak of {STATED_PEAK:g} GFLOP/s. The ratio is of "
            "parts of the peak.",
            "",
        ]
        yield from table(["cell, H", "Unroll", "of peak", "RTNeural, stated", "of its peak", "ratio"], rows)


def tail_lines(table_, results):
    """Yields the latencies of single steps of our streams, including the clock's own time."""
    rows = []
    for regime in (r for r in table_ if r.purpose == "stream"):
        ours = results.get((regime.key, 1), {}).get("ours", {})
        if "p50_ns" in ours:
            found = [f"{ours[key]:.0f}" for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns")]
            rows.append([f"{regime.cell} {regime.dtype} I {regime.shape[3]} H {regime.shape[4]}", *found])
    if rows:
        yield from ["", "### Single steps of our streams", ""]
        yield from ["Nanoseconds, the clock's own included; the most is of all turns, others' load with it.", ""]
        yield from table(["", "p50", "p99", "p99.9", "most"], rows)


# ---- the page ----


def machine():
    with open("/proc/cpuinfo") as file:
        text = file.read()
    name = re.search(r"model name\s*: (.*)", text)
    family = re.search(r"^cpu family\s*: (\d+)", text, re.MULTILINE)
    model = re.search(r"^model\s*: (\d+)", text, re.MULTILINE)
    words = [
        name[1] if name else "unknown processor",
        f"family {family[1]}" if family else "",
        f"model {model[1]}" if model else "",
        f"{os.cpu_count()} processors",
        "virtual" if " hypervisor" in text else "",
    ]
    return ", ".join(word for word in words if word)


def versions(results):
    found = {
        answer["version"]: None
        for result in results.values()
        for answer in result["peers"].values()
        if "version" in answer
    }
    return ", ".join(sorted(found))


def builds(results):
    found = sorted({result.get("build") for result in results.values()} - {None, ""})
    return f"Unroll of commit{'s' * (len(found) > 1)} {', '.join(found)}. " if found else ""


def kind(results):
    """Returns the suffix of a page's name: the instruction set of most of our runs, or "" for AMX."""
    used = [result["ours"]["isa"].split("_")[0] for result in results.values() if "isa" in result["ours"]]
    return "" if "amx" in used or not used else "-" + max(set(used), key=used.count)


def page(table_, results, about):
    dates = sorted({result["date"] for result in results.values()})
    tiles = peaks(results, True)
    lines = [
        "# Beside the peers",
        "",
        f"Written by `make bench-peers` on {' to '.join(dict.fromkeys((dates[0], dates[-1])))}: {about}. {builds(results)}Peers: "
        f"{versions(results)}. fp32 peak, AVX-512 or the best available, measured next to each of our runs, the "
        f"best of them: {peak_words(peaks(results, False))}.",
        "",
        *(
            [
                "Unroll's products of two rows or more run on AMX as sums of six products of bf16, with smaller errors "
                "than fp32 multiply-adds, with bf16 weights as sums of three ([numbers](../docs/internals/numbers.md#bf16x3-split)); the peak of "
                "the former, measured likewise: "
                f"{peak_words(tiles)}. In the targets our percentages are of the peak of the instructions in use, "
                "and next to it of the peak of multiply-adds, which the peers' numbers refer to.",
                "",
            ]
            if tiles
            else []
        ),
        "Unroll and its peers take turns in one run, several rounds; the best run of each counts. Same threads, "
        "shapes and warm-up; random numbers. A ratio above 1 says how many times as fast as the *best* peer "
        "Unroll was. [README.md](README.md) says what is measured and how.",
        "",
        f"![Percent of peak by shape](percent-of-peak{kind(results)}.svg)",
        "",
        "## Targets",
        "",
    ]
    lines += table(
        [
            "regime",
            "target",
            "1 thread",
            "2 threads",
            "reading alone",
            "our % of peak",
            "of multiply-adds'",
            "best peer",
            "met",
        ],
        target_rows(table_, results),
    )
    lines += [
        "",
        "*Reading alone*, of lone rows: how many times as fast as the best peer a loop was that only reads the weights of "
        "each step from where they lie ([floor.c](floor.c)), no product, no gates: a target far above it is out of reach here.",
    ]
    for line in ragged_lines(results):
        lines += ["", line]
    lines += [
        "",
        "## Times",
        "",
        "The best run, and its percent of the peak; for oneDNN's training in brackets with "
        "the reorders of new weights (ms). A dash: it does not offer that, or refused.",
    ]
    lines += [*part_tables(table_, results), *tail_lines(table_, results), *stated_lines(table_, results)]
    return "\n".join(lines) + "\n"


def panels(table_, results):
    """Yields (title, [(label, {name: percent})]) for the chart, at the largest number of threads measured."""
    for part in ("lstm-train", "lstm-infer", "gru-train", "gru-before-train"):
        groups, most = [], 0
        for regime in (r for r in table_ if r.part == part):
            threads = max((n for n in regime.threads if (regime.key, n) in results), default=0)
            most = max(most, threads)
            if threads:
                result = results[regime.key, threads]
                all_times = {"Unroll": result["ours"].get("ms"), **times(result)}
                shares = {name: peak_percent(regime, result, ms) for name, ms in all_times.items() if ms}
                known = {name: percent for name, percent in shares.items() if percent is not None}
                if known:  # a short round may have measured no peak
                    groups.append((regime.name, known))
        if groups:
            yield f"{TITLES[part]}, {most} thread{'s' * (most > 1)}", groups


def main():
    parser = argparse.ArgumentParser(
        description="Writes RESULTS.md and percent-of-peak.svg, without AMX RESULTS-avx512.md and so on, from measured results."
    )
    parser.add_argument("results", help="folder of bench/run.py's answers")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--machine", default=machine(), help="how the machine is called")
    options = parser.parse_args()
    results = load(options.results)
    if not results:
        parser.exit(1, f"report: no results in {options.results}; fix: make bench-peers\n")
    table_ = regimes.read()
    with open(os.path.join(options.out, f"RESULTS{kind(results)}.md"), "w") as file:
        file.write(page(table_, results, options.machine))
    with open(os.path.join(options.out, f"percent-of-peak{kind(results)}.svg"), "w") as file:
        file.write(chart.svg(list(panels(table_, results))))


if __name__ == "__main__":
    main()
