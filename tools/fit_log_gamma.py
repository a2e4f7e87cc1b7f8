"""Prints the constants of losses/log_gamma.h: the polynomial h = u P(u), u = 1 / x, for h(x) = log(x) / 2 - (log
gamma(x + 1/2) - log gamma(x)) and x >= 1. It interpolates the derivative by u at Chebyshev nodes, so that both h and
its slope, which contains digamma(x + 1/2) - digamma(x), are accurate. P has the coefficients of the
derivative, each divided by its power."""
from math import cos, log, pi

from fit_expm1 import interpolate, to_float32

COEFFICIENTS = 10
FAR = 30  # the series in 1 / x is used from here on


def exact(u):
    """Returns h and its derivative by u: by the series for large x, below it by gamma(x + 1) = x gamma(x)."""
    x = 1 / u if u else 1e9
    steps = max(0, FAR - int(x))
    far = x + steps
    h = 1 / (8 * far) - 1 / (192 * far**3) + 1 / (640 * far**5) - 17 / (14336 * far**7)
    slope = -1 / (8 * far**2) + 1 / (64 * far**4) - 1 / (128 * far**6) + 17 / (2048 * far**8)
    if steps:
        ratio = log(far) / 2 - h + sum(log((x + i) / (x + i + 0.5)) for i in range(steps))
        ratio_slope = 1 / (2 * far) - slope + sum(1 / (x + i) - 1 / (x + i + 0.5) for i in range(steps))
        h, slope = log(x) / 2 - ratio, 1 / (2 * x) - ratio_slope
    return h, -x * x * slope


def errors(p):
    points = [exact(i / 2000) + (i / 2000,) for i in range(1, 2001)]
    value = max(abs(sum(c * u ** (j + 1) for j, c in enumerate(p)) / h - 1) for h, _, u in points)
    slope = max(abs(sum((j + 1) * c * u**j for j, c in enumerate(p)) / s - 1) for _, s, u in points)
    return value, slope


if __name__ == "__main__":
    nodes = [(1 + cos(pi * (2 * i + 1) / (2 * COEFFICIENTS))) / 2 for i in range(COEFFICIENTS)]
    p = [to_float32(c / (j + 1)) for j, c in enumerate(interpolate(nodes, lambda u: exact(u)[1]))]
    print("P, constant first:", " ".join("%.9g" % c for c in p))
    print("relative errors of h and of its slope: %.1e %.1e" % errors(p))
