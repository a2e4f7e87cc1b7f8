"""Shared by the tests: arrays without NumPy, and optional packages."""

import array
import os
import random
import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None
try:
    import sklearn
except ImportError:
    sklearn = None

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
BUILD = os.environ.get("BUILD_OF_UNROLL", os.path.join(ROOT, "build"))

needs_numpy = unittest.skipUnless(numpy, "numpy could not be installed")
needs_sklearn = unittest.skipUnless(sklearn, "scikit-learn could not be installed")
needs_torch = unittest.skipUnless(torch, "torch could not be installed")


def floats(*shape, seed=1):
    """Returns a memoryview of random float32 values in this shape, made with the standard library."""
    draw = random.Random(seed)
    count = 1
    for size in shape:
        count *= size
    flat = array.array("f", [draw.uniform(-1, 1) for _ in range(count)])
    return memoryview(flat).cast("B").cast("f", shape)


def lengths(*values):
    return array.array("i", values)


def integers(*shape, below, seed=1):
    draw = random.Random(seed)
    count = 1
    for size in shape:
        count *= size
    flat = array.array("i", [draw.randrange(below) for _ in range(count)])
    return memoryview(flat).cast("B").cast("i", shape)


def flat(nested):
    """Returns the values of nested lists, or of an array, in order."""
    if hasattr(nested, "tolist"):
        nested = nested.tolist()
    return [x for item in nested for x in flat(item)] if isinstance(nested, list) else [nested]
