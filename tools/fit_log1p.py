"""Prints the constants of v_log in src/nn/vector/v_math.h: P in log(1 + f) = f - f^2 / 2 + f^3 P(f)
for 1 + f from sqrt(1/2) to sqrt(2), by interpolation at Chebyshev nodes."""
from math import cos, log1p, pi, sqrt

from fit_expm1 import interpolate, to_float32

LOW, HIGH = sqrt(0.5) - 1, sqrt(2) - 1
COEFFICIENTS = 9


def exact_p(f):
    """(log(1 + f) - f + f^2 / 2) / f^3 by its series, which has no cancellation."""
    return sum((-f) ** k / (k + 3) for k in range(60))


def relative_error(p):
    points = (LOW + (HIGH - LOW) * i / 3000 for i in range(3001))
    values = ((f, f - f * f / 2 + f**3 * sum(c * f**j for j, c in enumerate(p))) for f in points)
    return max(abs(value / log1p(f) - 1) for f, value in values if f)


if __name__ == "__main__":
    middle, half = (LOW + HIGH) / 2, (HIGH - LOW) / 2
    nodes = [middle + half * cos(pi * (2 * i + 1) / (2 * COEFFICIENTS)) for i in range(COEFFICIENTS)]
    p = [to_float32(c) for c in interpolate(nodes, exact_p)]
    print("P, constant first:", " ".join("%.9g" % c for c in p))
    print("relative error of log(1 + f): %.1e" % relative_error(p))
