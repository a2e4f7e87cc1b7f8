"""Prints the constants of v_tanh in src/nn/vector/v_math.h, which v_sigmoid uses for r / 2: tanh r = r + r^3 P(r^2) for
|r| <= ln 2 / 4 with the smallest relative error, by Remez's exchange."""
from math import log, tanh

from fit_expm1 import to_float32

LIMIT = log(2) / 4 * 1.0001


def error_of_tanh(p, r):
    return (r + r**3 * (p[0] + p[1] * r * r)) / tanh(r) - 1


def solve(rows):
    """Gauss-Jordan with pivots on rows [a.. | b]."""
    n = len(rows)
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(n):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [row[n] for row in rows]


def fit_tanh():
    """Fits at three points with the errors +e, -e, +e, and moves the points to the largest errors."""
    points = [LIMIT * x for x in (0.4, 0.8, 1)]
    grid = [LIMIT * i / 4000 for i in range(1, 4001)]
    for _ in range(20):
        rows = [[r**3 / tanh(r), r**5 / tanh(r), (-1) ** i, 1 - r / tanh(r)] for i, r in enumerate(points)]
        p = solve(rows)[:2]
        signs = [error_of_tanh(p, r) > 0 for r in points]
        points = [max((r for r in grid if (error_of_tanh(p, r) > 0) == sign and near(r, points, i)),
                      key=lambda r: abs(error_of_tanh(p, r))) for i, sign in enumerate(signs)]
    return [to_float32(c) for c in p]


def near(r, points, i):
    return (i == 0 or r > points[i - 1]) and (i + 1 == len(points) or r < points[i + 1])


if __name__ == "__main__":
    p = fit_tanh()
    print("P, constant first:", " ".join("%.9g" % c for c in p))
    print("relative error of tanh r: %.1e" % max(abs(error_of_tanh(p, LIMIT * i / 4000))
                                                 for i in range(1, 4001)))
