"""Memory leaks: each action is repeated many times, and the process may not grow. `make test-python-long`."""

import copy
import gc
import os
import pickle
import tempfile
import unittest

import unroll
from common import floats, integers, needs_torch, torch

MANY = int(os.environ.get("TIMES", "3000"))


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    def steady(self, work, times=MANY, most=1_000_000):
        """A leak grows in every window; allocators and the collector settle in one of them."""
        grown = []
        for _ in range(4):
            before = resident()
            for _ in range(times):
                work()
            gc.collect()
            grown.append(resident() - before)
            if grown[-1] < most:
                return
        self.fail(f"the process grew by {grown} bytes, {grown[-1] / times:.0f} each time")

    def test_models(self):
        x = floats(4, 2, 3)

        def work():
            m = unroll.Model(input=3, hidden=16, layers=2, output=2)
            m.run(x)
            m.parameters()
            m.config, m.layers
            unroll.Model.from_network([{"kind": "gru", "name": "a", "width": 4}], input=3)

        self.steady(work)

    def test_copies(self):
        m = unroll.Model(input=3, hidden=16, layers=2, output=2)
        s, stream = m.session(), m.stream()
        x = floats(4, 2, 3)
        result = m.run(x)

        def work():
            pickle.loads(pickle.dumps(m))
            pickle.loads(pickle.dumps(result))
            copy.copy(m).run(x)
            repr(m), repr(s), repr(stream)

        self.steady(work, MANY // 3)

    def test_runs(self):
        m = unroll.Model(input=3, hidden=16, layers=2)
        inputs = [floats(t, 2, 3) for t in range(1, 12)]

        def work():
            for x in inputs:
                states = m.run(x).states
                m.run(x, states=states)

        self.steady(work, MANY // 20)

    def test_arrays(self):
        y = unroll.Model(input=3, hidden=64).run(floats(40, 8, 3)).outputs

        def work():
            y.__dlpack__()
            y.__dlpack__(max_version=(1, 0), copy=True)
            memoryview(y).tolist()[0][0]
            y.shape, y.dtype, repr(y)

        self.steady(work, MANY // 3)

    def test_refusals(self):
        m = unroll.Model(input=3, hidden=4)
        trained = unroll.Model(input=3, hidden=4, output=1, loss="mse").session("train")
        x, wrong, number = floats(4, 2, 3), floats(4, 2, 5), integers(4, 2, 3, below=2)
        calls = [lambda: m.run(wrong), lambda: m.run(number), lambda: m.run([1]), lambda: m.run(x, states={"z": x}),
                 lambda: unroll.Model(input=0), lambda: unroll.Model(inputs=3), lambda: unroll.load("/nowhere"),
                 lambda: m.session("train"), lambda: unroll.Dataset("/nowhere"), lambda: m.stream(dtype="x"),
                 lambda: m.session(steps=1 << 40), lambda: m.stream().reset(1 << 40), lambda: m.run(x, tokens=x),
                 lambda: unroll._core.array(b"12", (3,), "uint8"), lambda: trained.step("adamm", inputs=x),
                 lambda: unroll.Model.from_network([{"kind": "gru", "sources": [1 << 40]}], input=2),
                 lambda: unroll.Model.from_network([{"kind": "gru"}], input=2), lambda: m.export("/nowhere/x", "torch")]

        def work():
            for call in calls:
                try:
                    call()
                except (ValueError, TypeError, OverflowError, unroll.Error):
                    continue
                raise AssertionError(call)

        self.steady(work, MANY // 3)

    def test_streams(self):
        m = unroll.Model(input=3, hidden=16)
        x = floats(5, 2, 3)

        def work():
            stream = m.stream(rows=2)
            stream.run(x)
            stream.load(stream.save())
            stream.copy().run(x)

        self.steady(work)

    def test_training(self):
        m = unroll.Model(input=3, hidden=16, output=1, loss="mse")
        x, y = floats(4, 2, 3), floats(4, 2, 1)

        def work():
            s = m.session("train", steps=4, rows=2, threads=1)
            for _ in range(5):
                s.forward(inputs=x, target_values=y)
                s.backward()
                s.update("adam", clip=1.0)
            s.pull()

        self.steady(work)

    def test_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text")
            with open(path, "w", encoding="utf-8") as file:
                file.write("a stitch in time saves nine. " * 50)

            def work():
                text = unroll.Dataset(path)
                n = len(text.vocabulary)
                m = unroll.Model(tokens=1, input=n, output=n, hidden=8, loss="xent")
                m.set_schema(text)
                list(unroll.Trainer(m, text, batch=2, bptt=8, threads=1).train(2))
                unroll.sample(m, length=5)
                text.tokens.shape

            self.steady(work, MANY // 5)

    @needs_torch
    def test_torch(self):
        import unroll.torch as ours

        lstm = ours.LSTM(8, 32, 2)

        def work():
            for steps in (5, 9, 17, 33):
                y, (h, c) = lstm(torch.randn(steps, 3, 8))
                (y.sum() + h.sum() + c.sum()).backward()
            lstm(torch.randn(4, 3, 8))                  # a graph without a backward
            with torch.no_grad():
                lstm(torch.randn(6, 3, 8))

        self.steady(work, MANY // 10)

    @needs_torch
    def test_modules_that_end(self):
        import unroll.torch as ours

        def work():
            gru = ours.GRU(8, 32)
            gru(torch.randn(4, 3, 8))[0].sum().backward()

        self.steady(work, MANY // 3)


if __name__ == "__main__":
    unittest.main()
