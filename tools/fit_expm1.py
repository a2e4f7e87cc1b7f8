"""Prints the constants of v_exponential in src/nn/vector/v_math.h: P in e^r - 1 = r + r^2 P(r)
for |r| <= ln 2 / 2, by interpolation at Chebyshev nodes in exact fractions, rounded to floats;
and ln 2 in two parts, the first short enough that its product with n is exact."""
from fractions import Fraction
from math import cos, expm1, factorial, log, pi
from struct import pack, unpack

LIMIT = log(2) / 2 * 1.0001
COEFFICIENTS = 5


def to_float32(x):
    return unpack("f", pack("f", x))[0]


def exact_p(r):
    """(e^r - 1 - r) / r^2 by its series, which has no cancellation."""
    return sum(r**k / factorial(k + 2) for k in range(24))


def interpolate(nodes, exact):
    """The polynomial through exact(node), by Gauss-Jordan on the Vandermonde system; returns the
    coefficients, constant first."""
    n = len(nodes)
    rows = [[Fraction(x) ** j for j in range(n)] + [Fraction(exact(x))] for x in nodes]
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(n):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [float(row[n]) for row in rows]


def relative_error(p):
    points = (i / 2000 * log(2) / 2 for i in range(-2000, 2001) if i)
    return max(abs((r + r * r * sum(c * r**j for j, c in enumerate(p))) / expm1(r) - 1) for r in points)


if __name__ == "__main__":
    nodes = [LIMIT * cos(pi * (2 * i + 1) / (2 * COEFFICIENTS)) for i in range(COEFFICIENTS)]
    p = [to_float32(c) for c in interpolate(nodes, exact_p)]
    ln2_high = unpack("f", pack("I", unpack("I", pack("f", log(2)))[0] & 0xFFFF8000))[0]
    print("P, constant first:", " ".join("%.9g" % c for c in p))
    print("relative error of e^r - 1: %.1e" % relative_error(p))
    print("1 / ln 2 = %.9g" % to_float32(1 / log(2)))
    print("ln 2 = %.9g + %.9g" % (ln2_high, to_float32(log(2) - ln2_high)))
