"""Random ONNX graphs: recurrent nodes with a few operators around them that move, cut and join values. If the import
accepts a graph, it must give ONNX Runtime's values according to its signature (onnx_graphs.py). Otherwise it must be
refused with the name of a node, input or output. Run by check_onnx_live.py for a given time."""
import os
import random
import time

import numpy as np
import onnx
import onnxruntime

from onnx_graphs import LAST, Graph, run_import


class RandomGraph(Graph):
    """Values are (name, an array of the same shape)."""

    def __init__(self, seed):
        super().__init__(seed)
        self.draw = r = random.Random(seed)
        sizes = r.choice([(5, 3), (4, 4), (2, 6), (1, 3), (3, 1), (1, 1)])
        self.sizes = dict(zip("TB", sizes))
        self.time, self.batch = [r.choice(["TB"[k], n]) for k, n in enumerate(sizes)]
        self.width = r.choice([1, 2, 4, 6])
        self.values = [self.first()]
        self.stack()
        for _ in range(r.randint(1, 6)):
            name, a = r.choice(self.values[-4:])
            step = r.choice([self.turn, self.cut, self.gather, self.join, self.thin, self.split, self.function,
                             self.product, self.merge, self.group, self.reshape])
            self.values += step(name, a, r.randrange(a.ndim)) if a.ndim else []

    def first(self):
        dims, r = [self.time, self.batch, self.width], self.draw
        if r.random() < 0.25:
            shape = [self.sizes.get(d, d) for d in dims[:2]]
            tokens = self.input("x", *dims[:2], kind=np.int64, values=self.rng.integers(0, 7, shape))
            return self.add("Gather", self.random(7, self.width), tokens), np.empty(shape + [self.width])
        order = r.sample(range(3), 3)
        x = self.input("x", *[dims[k] for k in order])
        return self.transpose(x, *[order.index(k) for k in range(3)]), np.empty([self.sizes.get(d, d) for d in dims])

    def stack(self):
        """One to three levels, possibly with lengths, and with first states in any order."""
        r, (x, a) = self.draw, self.values[0]
        steps, rows, levels, hidden = *a.shape[:2], r.choice([1, 1, 2, 3]), r.choice([1, 2, 3, 6])
        both, op, inputs, lengths, states = r.random() < 0.6, r.choice(["LSTM", "GRU", "RNN"]), a.shape[2], "", ""
        if r.random() < 0.3:
            lengths = self.input("lengths", self.batch, kind=np.int32,
                                 values=[steps] + [r.randint(1, steps) for _ in range(rows - 1)])
        if r.random() < 0.4:
            states = self.input("h0", levels * (1 + both), self.batch, hidden)
        for level in r.sample(range(levels), levels):
            first = level * (1 + both)
            y, h = self.recurrent(x, inputs, hidden, op, both, lengths,
                                  states and self.slice(states, first, first + 1 + both, 0))
            x, inputs = self.flat(y, both), hidden * (1 + both)
            self.values += [(h, np.empty([1 + both, rows, hidden])), (y, np.empty([steps, 1 + both, rows, hidden])),
                            (x, np.empty([steps, rows, inputs]))]

    def turn(self, name, a, k):
        order = self.draw.sample(range(a.ndim), a.ndim)
        return [(self.transpose(name, *order), a.transpose(order))]

    def cut(self, name, a, k):
        n = a.shape[k]
        first, end = self.draw.randrange(-n - 1, n + 1), self.draw.choice([LAST, self.draw.randrange(-n, n + 1)])
        part = a.take(range(*slice(first, end).indices(n)), k)
        return [(self.slice(name, first, end, k), part)] if part.size else []

    def gather(self, name, a, k):
        n, r = a.shape[k], self.draw
        index = r.choice([r.randrange(-n, n), sorted(r.randrange(-n, n) for _ in range(r.randint(1, 3)))])
        return [(self.add("Gather", name, self.constant(index, np.int64), axis=k), a.take(index, k))]

    def join(self, name, a, k):
        shape = lambda b: b.shape[:k] + b.shape[k + 1:]
        other, b = self.draw.choice([v for v in self.values if v[1].ndim == a.ndim and shape(v[1]) == shape(a)])
        return [(self.add("Concat", name, other, axis=k), np.concatenate([a, b], k))]

    def thin(self, name, a, k):
        if a.shape[k] == 1:
            return [(self.squeeze(name, k), a.squeeze(k))]
        return [(self.add("Unsqueeze", name, self.ints(k)), np.expand_dims(a, k))] if a.ndim < 5 else []

    def split(self, name, a, k):
        if a.shape[k] < 2:
            return []
        n = self.draw.randrange(1, a.shape[k])
        names = self.add("Split", name, self.ints(n, a.shape[k] - n), outputs=2, axis=k)
        return list(zip(names, np.split(a, [n], k)))

    def function(self, name, a, k):
        if self.draw.random() < 0.5:
            return [(self.add("Softmax", name, axis=k), a)]
        return [(self.add(self.draw.choice(["Relu", "Tanh", "Sigmoid"]), name), a)]

    def product(self, name, a, k):
        n = self.draw.randint(1, 5)
        if a.ndim < 2:
            return [(self.add("Add", name, self.random(a.shape[-1])), a)]
        return [(self.fc(name, n, a.shape[-1]), np.empty(a.shape[:-1] + (n,)))]

    def merge(self, name, a, k):
        if self.draw.random() < 0.3:
            return [(self.add("Flatten", name, axis=k), a.reshape(int(np.prod(a.shape[:k])), -1))]
        made = a.reshape(*a.shape[:k], -1, *a.shape[k + 2:])
        return [(self.add("Reshape", name, self.ints(*[0] * k, *made.shape[k:])), made)]

    def group(self, name, a, k):
        n = self.draw.choice([d for d in range(1, a.shape[k] + 1) if a.shape[k] % d == 0])
        made = a.reshape(*a.shape[:k], n, -1, *a.shape[k + 1:])
        return [(self.add("Reshape", name, self.ints(*[0] * k, *made.shape[k:])), made)] if a.ndim < 5 else []

    def reshape(self, name, a, k):
        shape, left = [], a.size
        while left > 1 and len(shape) < 3:
            shape.append(self.draw.choice([d for d in range(1, left + 1) if left % d == 0]))
            left //= shape[-1]
        target = shape + [self.draw.choice([left, -1])]
        return [(self.add("Reshape", name, self.ints(*target)), a.reshape(shape + [left]))]


def compare(unroll, command, folder, seed, counts):
    """Returns the error, or None."""
    g = RandomGraph(seed)
    outputs = [name for name, _ in g.values[1:][-5:]]
    model = g.model(g.draw.sample(outputs, min(len(outputs), g.draw.choice([1, 1, 2, 3]))))
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    expected = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                            providers=["CPUExecutionProvider"]).run(None, g.feeds)
    onnx.save(model, os.path.join(folder, "g.onnx"))
    good, text = command(unroll, "import", "onnx", os.path.join(folder, "g.onnx"), "-o",
                         os.path.join(folder, "g.safetensors"))
    if not good:
        counts["refused"] += 1
        named = "node '", "output '", "input '", "nodes read lengths", "has no layers"
        return None if any(words in text for words in named) else text
    if "after a row's length" in text or "read as all steps" in text:
        counts["said to differ"] += 1
        return None
    given, said = run_import(unroll, command, folder, g.feeds)
    counts["equal"] += 1
    good = given and all(a.shape == b.shape and np.abs(a - b).max() < 1e-4 for a, b in zip(given, expected))
    return None if good else text + said


def compare_all(unroll, command, check, folder, seconds, seed=None):
    counts, end = {"equal": 0, "refused": 0, "said to differ": 0}, time.monotonic() + seconds
    seed = int(time.time() if seed is None else seed) - 1
    while time.monotonic() < end:
        seed += 1
        wrong = compare(unroll, command, folder, seed, counts)
        check(wrong is None, f"random graph {seed}: {wrong}")
    check(counts["equal"] > counts["refused"] / 4, f"of random graphs {counts}")
