"""What processes of a pool do in the tests. Those that are spawned import this alone, not NumPy and PyTorch; those that
are forked find the model of their parent."""

import array
import math

import unroll

MODEL = []


def load(path):
    MODEL[:] = [unroll.Model.load(path)]


def run(seed):
    """The bytes of what the model gives for some inputs, computed by two threads."""
    numbers = array.array("f", [math.sin(seed + i) for i in range(16 * 8 * 32)])
    inputs = memoryview(numbers).cast("B").cast("f", (16, 8, 32))
    return bytes(memoryview(MODEL[0].run(inputs, threads=2).outputs).cast("B"))
