"""Prints the constants of v_sigmoid, v_tanh and v_quotient in src/cells/v/v_math.h:
e^-m = 1 + m Q(m) for |m| <= ln 2 / 2, by interpolation at Chebyshev nodes; tanh r = r + r^3 P(r^2) for
|r| <= ln 2 / 4 with the smallest relative error, by Remez's exchange; and the K whose bits minus those of y
are nearest to 1 / y."""
from math import cos, exp, factorial, log, pi, tanh

from fit_expm1 import interpolate, to_float32

LIMIT = log(2) / 2 * 1.0001
COEFFICIENTS = 6


def exact_q(m):
    """(e^-m - 1) / m by its series, which has no cancellation."""
    return sum((-1) ** (k + 1) * m**k / factorial(k + 1) for k in range(24))


def error_of_exponential(q, m):
    return (1 + m * sum(c * m**j for j, c in enumerate(q))) / exp(-m) - 1


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
    """Three points where the error is +e, -e, +e, moved to where it is largest until they stay."""
    limit = LIMIT / 2
    points = [limit * x for x in (0.4, 0.8, 1)]
    grid = [limit * i / 4000 for i in range(1, 4001)]
    for _ in range(20):
        rows = [[r**3 / tanh(r), r**5 / tanh(r), (-1) ** i, 1 - r / tanh(r)] for i, r in enumerate(points)]
        p = solve(rows)[:2]
        signs = [error_of_tanh(p, r) > 0 for r in points]
        points = [max((r for r in grid if (error_of_tanh(p, r) > 0) == sign and near(r, points, i)),
                      key=lambda r: abs(error_of_tanh(p, r))) for i, sign in enumerate(signs)]
    return [to_float32(c) for c in p]


def near(r, points, i):
    return (i == 0 or r > points[i - 1]) and (i + 1 == len(points) or r < points[i + 1])


def seed_errors(k):
    """Of 1 - y r for y in [1, 2): r is linear in the bits of y below and above the y whose r is 1 / 2."""
    top = (k - 0x3F800000 - (126 << 23)) / 2**23        # r = (1 + top - f) / 2 while the bracket is >= 1
    y = [1, 1 + top, 2, (2 + top) / 2, (3 + top) / 2]   # ends, the bend, and where y r is extreme
    r = [(1 + top - (v - 1)) / 2 if v <= 1 + top else (2 + top - (v - 1)) / 4 for v in y]
    return [1 - a * b for a, b in zip(y, r)]


if __name__ == "__main__":
    nodes = [LIMIT * cos(pi * (2 * i + 1) / (2 * COEFFICIENTS)) for i in range(COEFFICIENTS)]
    q = [to_float32(c) for c in interpolate(nodes, exact_q)]
    print("Q, constant first:", " ".join("%.9g" % c for c in q))
    print("relative error of e^-m: %.1e" % max(abs(error_of_exponential(q, LIMIT * i / 2000))
                                               for i in range(-2000, 2001)))
    p = fit_tanh()
    print("P, constant first:", " ".join("%.9g" % c for c in p))
    print("relative error of tanh r: %.1e" % max(abs(error_of_tanh(p, LIMIT * i / 4000))
                                                 for i in range(1, 2001)))
    k = min(range(0x7EF00000, 0x7F000000), key=lambda k: max(map(abs, seed_errors(k))))
    print("K = %#x, relative error of 1 / y: %.4f" % (k, max(map(abs, seed_errors(k)))))
