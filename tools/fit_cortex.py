"""Prints the costs for src/convert/c99/estimate.c, in instructions, and how well they predict models outside the fit.
The costs are non-negative and minimize squared relative errors over the counts of tools/cortex_counts.txt. It prints no
cycles: estimate.c assumes how many an instruction takes."""
from itertools import combinations
from pathlib import Path

from fit_gates import solve

KINDS = ("product", "row", "operation", "function", "conversion")
NOT_FITTED = ("lstm_projection", "tokens", "trained", "network", "cell_6")


def read_counts():
    """Returns {(core, dtype): {model: ([count of each kind], instructions)}}."""
    table = {}
    for line in Path(__file__).with_name("cortex_counts.txt").read_text().splitlines():
        if not line.startswith("#"):
            core, name, *numbers = line.split()
            model, dtype = name.rsplit("_", 1)
            *counts, instructions = map(int, numbers)
            if dtype == "fp32":
                counts[-1] = 0              # floats are not converted at input and output
            table.setdefault((core, dtype), {})[model] = counts, instructions
    return table


def fit(rows):
    """Returns the non-negative x for which each row's sum of a * x is nearest to 1: the best solution without negative
    numbers over all subsets of the columns."""
    best = len(rows), [0] * len(KINDS)
    used = [k for k in range(len(KINDS)) if any(row[k] for row in rows)]
    for size in range(1, len(used) + 1):
        for subset in combinations(used, size):
            normal = [[sum(row[i] * row[j] for row in rows) for j in subset] + [sum(row[i] for row in rows)]
                      for i in subset]
            x = [0] * len(KINDS)
            for k, value in zip(subset, solve(normal)):
                x[k] = value
            error = sum((sum(a * b for a, b in zip(row, x)) - 1) ** 2 for row in rows)
            if min(x) >= 0 and error < best[0]:
                best = error, x
    return best[1]


def show(key, models):
    fitted = [name for name in models if name not in NOT_FITTED]
    rows = [[count / models[name][1] for count in models[name][0]] for name in fitted]
    x = [float("%.3g" % price) for price in fit(rows)]
    print(*key, " ".join("%s %g" % pair for pair in zip(KINDS, x)))
    ratio = {name: sum(a * b for a, b in zip(counts, x)) / n for name, (counts, n) in models.items()}
    for what, names in (("fitted", fitted), ("not fitted", NOT_FITTED)):
        print("    %s:" % what, ", ".join("%s %.2f" % (name, ratio[name]) for name in names))


if __name__ == "__main__":
    for key, models in read_counts().items():
        show(key, models)
