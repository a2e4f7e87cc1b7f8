"""Models, sessions, streams, texts and training, as unroll.h has them; without NumPy."""

import array
import copy
import mmap
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pool_work
import unroll
from common import BUILD, ROOT, flat, floats, integers

T, B, INPUT, HIDDEN = 7, 3, 4, 6
TEXT = "the quick brown fox jumps over the lazy dog; a stitch in time saves nine.\n" * 60


def lengths(*values):
    return array.array("i", values)


class Package(unittest.TestCase):
    def test_imports_without_numpy(self):
        code = "import sys; sys.modules['numpy'] = None; import unroll; assert 'torch' not in sys.modules; print(unroll.__version__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
        self.assertEqual(done.stdout.strip(), unroll.__version__)

    def test_imports_where_it_was_installed_from(self):
        done = subprocess.run([sys.executable, "-c", "import unroll; unroll.cells()"], capture_output=True, text=True,
                              check=False, cwd=os.path.join(ROOT, "bindings", "python"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_is_abi3(self):
        self.assertTrue(unroll._core.__file__.endswith("_core.abi3.so"), unroll._core.__file__)
        wheels = os.listdir(os.path.join(BUILD, "python", "wheel"))
        self.assertTrue(len(wheels) == 1 and f"unroll-{unroll.__version__}-cp311-abi3-linux" in wheels[0], wheels)

    def test_version_is_the_headers(self):
        with open(os.path.join(ROOT, "include", "unroll.h"), encoding="utf-8") as file:
            numbers = [line.split()[-1] for line in file if line.startswith("#define UNROLL_VERSION_")]
        self.assertEqual(".".join(numbers), unroll.__version__)

    def test_only_the_limited_api(self):
        """Every name of Python's that the extension wants is of the stable ABI, as far as this Python can tell."""
        symbols = subprocess.run(["nm", "-D", unroll._core.__file__], capture_output=True, text=True, check=False)
        if symbols.returncode:
            self.skipTest("there is no nm")
        ours = [line.split()[-1] for line in symbols.stdout.splitlines() if " T " in line]
        self.assertEqual(ours, ["PyInit__core"])
        stable = {"_Py_Dealloc", "_Py_NoneStruct", "_Py_TrueStruct", "_PyObject_New"}       # and _PyArg_.._SizeT
        wanted = {line.split()[-1] for line in symbols.stdout.splitlines() if " U _Py" in line}
        private = [name for name in wanted - stable if not name.endswith("_SizeT")]
        self.assertEqual(private, [])

    def test_source_distribution(self):
        """It holds what the library's Makefile wants (which is asked, not run)."""
        code = "import sys, unroll_build; print(unroll_build.build_sdist(sys.argv[1]))"
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True,
                                  cwd=os.path.join(ROOT, "bindings", "python", "backend"))
            subprocess.run(["tar", "xzf", done.stdout.strip()], cwd=folder, check=True)
            tree = os.path.join(folder, f"unroll-{unroll.__version__}")
            made = subprocess.run(["make", "-n", "-C", os.path.join(tree, "library"), "build/libunroll.a"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn("src/session/session.c", made.stdout)
            for name in ("src/unroll/torch.py", "src/unroll/py.typed", "extension/py_core.h", "backend/unroll_build.py", "PKG-INFO"):
                self.assertTrue(os.path.exists(os.path.join(tree, name)), name)

    def test_errors(self):
        for call, kind, base, status in (
            (lambda: unroll.Model(input=0), unroll.UsageError, ValueError, 2),
            (lambda: unroll.load("/nowhere"), unroll.DataError, ValueError, 3),
            (lambda: unroll.load(b"/nowhere/\xff"), unroll.DataError, ValueError, 3),
            (lambda: unroll.Model(input=1, cell="gru", projection=2), unroll.UnsupportedError, NotImplementedError, 4),
            (lambda: unroll.Model(input=1).session(memory=10), unroll.ResourceError, MemoryError, 5),
        ):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIsInstance(caught.exception, base)
            self.assertIsInstance(caught.exception, unroll.Error)
            self.assertEqual(caught.exception.status, status)
            self.assertGreater(len(str(caught.exception)), 10)

    def test_keywords(self):
        for keywords, kind, words in (
            ({"hiden": 3}, TypeError, "a model has no 'hiden'; it has cell, layers, hidden"),
            ({"hidden": "3"}, TypeError, "hidden: a whole number is wanted, not str"),
            ({"hidden": 1 << 40}, OverflowError, "hidden = 1099511627776 is outside -2147483648..2147483647"),
            ({"hidden": 1 << 70}, OverflowError, "hidden = 1180591620717411303424 is outside -2147483648..2147483647"),
            ({"hidden": 2.5}, TypeError, "whole number"),
            ({"clip": 1e300}, OverflowError, "clip = 1e+300 is outside -3.4e38..3.4e38"),
            ({"dropout": "x"}, TypeError, "a number"),
            ({"cell": 3}, TypeError, "a str is wanted"),
            ({"cell": "ls\0tm"}, ValueError, "null"),
            ({"cell": "ltsm"}, unroll.UsageError, "choose one of"),
            ({"loss": "l1"}, unroll.UsageError, "there is no loss 'l1'; fix: choose one of xent, mse, mae"),
            ({"seed": -1}, OverflowError, "seed = -1 is outside 0..2^64 - 1"),
        ):
            with self.assertRaises(kind) as caught:
                unroll.Model(**({"input": 2} | keywords))
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(TypeError):
            unroll.Model(3)

    def test_numbers_that_are_no_int(self):
        """Each whole number that becomes an int of C's: none wraps, all say what they may be."""
        m = unroll.Model(input=INPUT, hidden=HIDDEN)
        layers = [{"kind": "gru", "name": "a", "width": 4}, {"kind": "dense", "name": "b", "width": 1, "sources": [1 << 32]}]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text")
            with open(path, "w", encoding="utf-8") as file:
                file.write("abc" * 9)
            text = unroll.Dataset(path)
            read = unroll.Model(tokens=1, input=3, output=3, hidden=4, loss="xent")
            read.set_schema(text)
            big = 1 << 32
            for name, call in (
                ("steps", lambda: m.session(steps=big)), ("rows", lambda: m.stream(rows=big)),
                ("threads", lambda: m.run(floats(T, B, INPUT), threads=big)), ("row", lambda: m.stream().reset(big)),
                ("sources", lambda: unroll.Model.network(layers, input=INPUT)), ("rows", lambda: m.plan(rows=big)),
                ("threads", lambda: unroll.evaluate(read, text, threads=big)), ("length", lambda: unroll.sample(read, length=big)),
                ("batch", lambda: unroll.Trainer(read, text, batch=big)), ("replicas", lambda: unroll.sample_order(rows=1, count=2, replicas=big)),
                ("max_version", lambda: m.parameters()["rnn.bias_ih_l0"].__dlpack__(max_version=(big, 0))),
            ):
                with self.assertRaisesRegex(OverflowError, rf"{name} = 4294967296 is outside -2147483648..2147483647"):
                    call()
            with open(path, "r+b") as file:             # more steps than an int counts, of a file that is nearly all hole
                file.truncate(4 << 31)
                tokens = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("i", (1 << 31, 1))
                with self.assertRaisesRegex(OverflowError, "tokens: 2147483648 steps at once are outside 1..2147483647"):
                    read.stream().run(tokens)
                with self.assertRaisesRegex(OverflowError, "steps = 2147483648 is outside"):
                    read.run(tokens)

    def test_lists(self):
        self.assertIn("lstm", unroll.cells())
        self.assertIn("adam", unroll.optimizers())
        self.assertIn("scalar", unroll.isas())
        self.assertIn("torch", unroll.formats())


class Models(unittest.TestCase):
    def test_save_and_load(self):
        m = unroll.Model(cell="gru", input=INPUT, hidden=HIDDEN, layers=2, output=3, loss="mse", seed=5)
        x = floats(T, B, INPUT)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            m.save(path)
            other = unroll.load(path)
            self.assertIsInstance(other, unroll.Model)
            self.assertEqual(other.spec, m.spec)
            self.assertEqual(flat(other.run(x).outputs), flat(m.run(x).outputs))
            with self.assertRaises(unroll.Error):
                m.save(os.path.join(folder, "no", "m.safetensors"))

    def test_pickles_and_copies(self):
        stack = unroll.Model(tokens=1, input=5, embed=3, hidden=HIDDEN, layers=2, bidirectional=1, output=5, loss="xent")
        network = unroll.Model.network([{"kind": "dense", "name": "front", "width": 5, "activation": "tanh"},
                                        {"kind": "gru", "name": "inner", "width": 4, "sources": [0, -1]}], input=INPUT)
        for m, x in (stack, integers(T, B, below=5)), (network, floats(T, B, INPUT)):
            expected = flat(m.run(x).outputs)
            weights = {name: bytes(w) for name, w in m.parameters().items()}
            m.note = ["a user's"]
            for other in [pickle.loads(pickle.dumps(m, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + \
                    [copy.copy(m), copy.deepcopy(m)]:
                self.assertEqual((type(other), other.spec, other.layers, other.note),
                                 (type(m), m.spec, m.layers, m.note))
                self.assertEqual({name: bytes(w) for name, w in other.parameters().items()}, weights)
                self.assertEqual(flat(other.run(x).outputs), expected)
                memoryview(other.parameters()[next(iter(weights))]).cast("B").cast("f")[0] = 9      # its own weights
                self.assertEqual(flat(m.run(x).outputs), expected)
        data = pickle.dumps(network)
        other = data.replace(b'"format_version":"2"', b'"format_version":"0"')
        self.assertNotEqual(other, data)
        with self.assertRaisesRegex(unroll.DataError, "is damaged"):
            pickle.loads(other)
        other = other.replace(b'"unroll_checksum"', b'"another_program"')
        with self.assertRaisesRegex(unroll.UnsupportedError, "format version 0; this library reads versions 1 and 2"):
            pickle.loads(other)

    def test_looks(self):
        m = unroll.Model(tokens=1, input=5, embed=3, hidden=6, projection=2, layers=2, bidirectional=1, output=5, loss="xent")
        count = sum(len(flat(w)) for w in m.parameters().values())
        self.assertEqual(repr(m), f"<Model 5 tokens -> embedding 3 -> 2 x lstm 6 to 2 both ways -> dense 5, loss xent, {count} parameters>")
        m = unroll.Model(cell="gru", input=2, hidden=3)
        self.assertEqual(repr(m), "<Model 2 inputs -> gru 3, loss none, 63 parameters>")
        self.assertIn("<Session mode='infer', steps=7, rows=2, isa='", repr(m.session(steps=7, rows=2)))
        self.assertIn("<Stream rows=2, inputs=2, outputs=3, isa='", repr(m.stream(rows=2)))

    def test_seed(self):
        def first(seed):
            return flat(unroll.Model(input=2, hidden=3, seed=seed).parameters()["rnn.weight_ih_l0"])

        self.assertEqual(first(7), first(7))
        self.assertNotEqual(first(7), first(8))

    def test_network(self):
        layers = [
            {"kind": "dense", "name": "front", "width": 5, "activation": "tanh"},
            {"kind": "gru", "name": "inner", "width": 4},
            {"kind": "dense", "name": "result", "width": 2, "sources": [1, -1]},
        ]
        m = unroll.Model.network(layers, input=INPUT, loss="mse")
        self.assertIsInstance(m, unroll.Model)
        self.assertEqual([layer["name"] for layer in m.layers], ["front", "inner", "result"])
        self.assertEqual(m.layers[2]["sources"], [1, -1])
        self.assertEqual(m.run(floats(T, B, INPUT)).outputs.shape, (T, B, 2))
        self.assertEqual(layers[2]["sources"], [1, -1])         # the caller's are left alone
        for wrong, kind in (([{"kind": "gru", "name": "a", "width": 0}], unroll.UsageError), ([3], TypeError),
                            ([{"knd": 1}], TypeError), (3, TypeError), ([{"sources": 3}], TypeError)):
            with self.assertRaises(kind):
                unroll.Model.network(wrong, input=INPUT)

    def test_run_in_pieces_is_one_run(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN, layers=2, projection=3)
        x = floats(2 * T, B, INPUT)
        whole = m.run(x)
        first = m.run(x[:T])
        second = m.run(x[T:], states=first.states)
        self.assertEqual(flat(first.outputs) + flat(second.outputs), flat(whole.outputs))
        self.assertEqual(sorted(whole.states), ["h.l0", "h.l1", "s.l0", "s.l1"])
        for name in whole.states:
            self.assertEqual(flat(second.states[name]), flat(whole.states[name]))

    def test_states_have_one_shape(self):
        """[rows, width], of every cell, out of runs and sessions and into them."""
        for cell, kinds in (("lstm", "hs"), ("gru", "h"), ("rnn", "h")):
            m = unroll.Model(cell=cell, input=INPUT, hidden=HIDDEN, bidirectional=1)
            x = floats(T, B, INPUT)
            states = m.run(x).states
            s = m.session("module", steps=T, rows=B)
            self.assertEqual(sorted(states), sorted(f"{k}.l0{way}" for k in kinds for way in ("", ".reverse")))
            for name, state in states.items():
                self.assertEqual(state.shape, (B, HIDDEN), name)
                for which in ("0", "n"):
                    self.assertEqual(s.read(name[0] + which + name[1:]).shape, (B, HIDDEN))
                    self.assertEqual(s.read(f"d.{name[0]}{which}{name[1:]}").shape, (B, HIDDEN))
                for wrong in ((1, B, HIDDEN), (B * HIDDEN,), (HIDDEN, B)):
                    with self.assertRaisesRegex(ValueError, rf"{name[0]}0{name[1:]}: the shape \[{B}, {HIDDEN}\] is wanted"):
                        m.run(x, states={name: floats(*wrong)})
                    with self.assertRaisesRegex(ValueError, "is wanted"):
                        s.write(name[0] + "0" + name[1:], floats(*wrong))
            s.forward(inputs=x)
            s.backward()
            for name, parameter in m.parameters().items():
                self.assertEqual(s.read(name).shape, parameter.shape, name)
                self.assertEqual(s.read("d." + name).shape, parameter.shape, name)

    def test_inputs_have_one_name(self):
        """What a model reads is inputs= or tokens=, or has no name where it is the only array."""
        vectors = unroll.Model(input=INPUT, hidden=HIDDEN)
        symbols = unroll.Model(tokens=1, input=5, embed=3, hidden=HIDDEN)
        for m, name, x in (vectors, "inputs", floats(T, B, INPUT)), (symbols, "tokens", integers(T, B, below=5)):
            other = "tokens" if name == "inputs" else "inputs"
            expected = flat(m.run(x).outputs)
            self.assertEqual(flat(m.run(**{name: x}).outputs), expected)
            self.assertEqual(flat(m.stream(rows=B).run(**{name: x})), expected)
            step = x[:1].cast("B").cast(x.format, x.shape[1:])
            out = floats(B, HIDDEN)
            m.stream(rows=B).step(**{name: step, "out": out})
            self.assertEqual(flat(out), expected[:B * HIDDEN])
            for call in (m.run, m.stream(rows=B).step, m.stream(rows=B).run):
                for args, more in ((), {}), ((), {other: x}), ((x,), {other: x}), ((x,), {name: x}):
                    with self.assertRaisesRegex(TypeError, f"the model reads {name}: one array"):
                        call(*args, **more)

    def test_columns(self):
        """Categories and numbers side by side: a run, a step of training, a stream, the file."""
        columns = [{"name": "word", "tokens": 9, "width": 4}, {"width": 2}, {"name": "day", "tokens": 7, "width": 3}]
        model = unroll.Model(inputs=columns, hidden=5, output=3, loss="xent", input_dropout=0.25)
        self.assertEqual([c["name"] for c in model.spec["inputs"]], ["word", "numbers", "day"])
        self.assertEqual(model.spec["inputs"][2], columns[2])
        self.assertEqual(list(model.parameters())[:2], ["embedding.word.weight", "embedding.day.weight"])
        self.assertIn("3 columns", repr(model))
        tokens, numbers = integers(T, B, 2, below=7), floats(T, B, 2)
        y = model.run(tokens=tokens, inputs=numbers).outputs
        self.assertEqual(flat(copy.copy(model).run(tokens=tokens, inputs=numbers).outputs), flat(y))
        stream = model.stream(B)
        self.assertEqual(flat(stream.copy().run(tokens=tokens, inputs=numbers)), flat(y))
        first = stream.step(tokens=integers(B, 2, below=7), inputs=floats(B, 2))     # the same numbers' beginning
        self.assertEqual(flat(first), flat(y)[:B * 3])
        for wrong in ({"tokens": tokens}, {"inputs": numbers}):
            with self.assertRaisesRegex(TypeError, "reads tokens and inputs: give both"):
                model.run(**wrong)
            with self.assertRaisesRegex(TypeError, "reads tokens and inputs: give both"):
                stream.run(**wrong)
        with self.assertRaisesRegex(ValueError, "tokens"):
            model.run(tokens=integers(T, B, 3, below=7), inputs=numbers)
        with self.assertRaisesRegex(unroll.Error, "'day'\\] = [78] is outside 0..6"):
            model.run(tokens=integers(T, B, 2, below=9), inputs=numbers)
        with self.assertRaisesRegex(TypeError, "inputs: each is a dict"):
            unroll.Model(inputs=[3], hidden=5)
        with self.assertRaisesRegex(unroll.Error, "both named 'word'"):
            unroll.Model(inputs=[columns[0], columns[0]], hidden=5)

    def test_lengths(self):
        m = unroll.Model(cell="gru", input=INPUT, hidden=HIDDEN, bidirectional=1)
        x = floats(T, B, INPUT)
        rows = m.run(x, lengths=lengths(2, 0, T))
        y = rows.outputs.tolist()
        self.assertEqual(flat([step[1] for step in y]), [0.0] * (T * 2 * HIDDEN))
        self.assertEqual(flat([step[0] for step in y[2:]]), [0.0] * ((T - 2) * 2 * HIDDEN))
        self.assertEqual(flat([step[2] for step in y]), flat([step[2] for step in m.run(x).outputs.tolist()]))
        self.assertIn("h.l0.reverse", rows.states)

    def test_sessions_are_few(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN)
        for steps in range(1, 20):
            m.run(floats(steps, B, INPUT))
        self.assertEqual(len(m._kept), m.SESSIONS)
        bf16 = flat(m.run(floats(T, B, INPUT), dtype="bf16").outputs)
        self.assertNotEqual(bf16, flat(m.run(floats(T, B, INPUT)).outputs))

    def test_weights_that_are_written(self):
        """They hold from the next run on; sessions and trainers of the user's have theirs."""
        x = floats(T, B, INPUT)

        def expected(bias):
            fresh = unroll.Model(input=INPUT, hidden=HIDDEN, output=2, loss="mse")
            memoryview(fresh.parameters()["rnn.bias_ih_l0"])[0] = bias
            return flat(fresh.run(x).outputs)

        m = unroll.Model(input=INPUT, hidden=HIDDEN, output=2, loss="mse")
        m.run(x)
        bias = memoryview(m.parameters()["rnn.bias_ih_l0"])
        for value in (2.0, 3.0):
            bias[0] = value
            self.assertEqual(flat(m.run(x).outputs), expected(value))
        bias[0] = 4.0
        m.close()
        self.assertEqual(bias[0], 4.0)
        self.assertEqual(flat(m.run(x).outputs), expected(4.0))
        s = m.session("train", steps=T, rows=B, optimizer="sgd")
        self.assertEqual(m.sessions, 2)
        s.step("sgd", inputs=x, target_values=floats(T, B, 2, seed=9), learning_rate=0.5)
        learned = flat(m.run(x).outputs)
        self.assertNotEqual(learned, expected(4.0))
        self.assertEqual(bias[0], 4.0)                  # until a pull, or the end of what learned it
        del s
        self.assertEqual(m.sessions, 1)
        self.assertNotEqual(bias[0], 4.0)
        self.assertEqual(flat(m.run(x).outputs), learned)

    def test_plan(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN, output=1, loss="mse")
        planned = m.plan(steps=T, rows=B)
        self.assertTrue(planned["operations"] and planned["peak_bytes"] > 0)
        with self.assertRaises(TypeError):
            m.plan(stps=3)

    def test_export(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.safetensors")
            self.assertIsInstance(m.export(path, "torch"), str)
            self.assertTrue(os.path.getsize(path) > 0)
            with self.assertRaises(unroll.Error):
                m.export(path, "nothing")
            with self.assertRaises(unroll.Error):
                unroll.import_model(os.path.join(folder, "absent.onnx"))
        model, report = unroll.import_model(os.path.join(ROOT, "tests/vectors/onnx/torch-script-tagger.onnx"))
        self.assertEqual(model.signature, ["input 'tokens': tokens as [batch time]", "output 'out': y as [batch time features]"])
        self.assertIn(model.signature[1], report)
        self.assertEqual(unroll.Model(input=2, hidden=3).signature, [])


class Training(unittest.TestCase):
    def test_arrays(self):
        """A sine wave is learned with each optimizer."""
        import math

        flat_x = array.array("f", [math.sin(0.3 * t + b) for t in range(T + 1) for b in range(B)])
        view = memoryview(flat_x)
        x = view[:T * B].cast("B").cast("f", (T, B, 1))
        y = view[B:].cast("B").cast("f", (T, B, 1))
        for optimizer in unroll.optimizers():
            m = unroll.Model(input=1, hidden=8, output=1, loss="mse")
            s = m.session("train", steps=T, rows=B, optimizer=optimizer)
            losses = []
            for _ in range(40):
                s.forward(inputs=x, target_values=y)
                s.backward()
                rates = {} if optimizer in ("adam", "adamw") else {"learning_rate": 0.05}
                losses.append(s.update(optimizer, clip=1, **rates)["loss"])
            self.assertLess(losses[-1], losses[0], optimizer)
            self.assertEqual(s.counters, (40, 40))
            self.assertEqual(s.loss_scale, (0.0, 0))
            before = flat(m.parameters()["head.bias"])
            s.pull()
            self.assertNotEqual(flat(m.parameters()["head.bias"]), before)

    def test_step(self):
        """A step is a forward, a backward and an update; unseen, its loss is part of the next mean."""
        x, y = floats(T, B, INPUT), floats(T, B, 2, seed=9)
        ways, weights = [], []
        for whole in (False, True):
            m = unroll.Model(input=INPUT, hidden=HIDDEN, output=2, loss="mse", seed=4)
            s = m.session("train", steps=T, rows=B)
            for _ in range(3):
                if whole:
                    found = s.step("adam", inputs=x, target_values=y, learning_rate=0.01, clip=1)
                else:
                    s.forward(inputs=x, target_values=y)
                    s.backward()
                    found = s.update("adam", learning_rate=0.01, clip=1)
            s.pull()
            ways.append(found)
            weights.append(flat(m.parameters()["head.weight"]))
        self.assertEqual(*ways)
        self.assertEqual(*weights)
        self.assertIsNone(s.step("adam", inputs=x, target_values=y, learning_rate=0.01, sync=False))
        self.assertIsNone(s.step("adam", inputs=x, target_values=y, learning_rate=0.01, sync=False))
        seen = s.loss()
        self.assertEqual(seen["weight"], 2 * ways[0]["weight"])
        self.assertLess(seen["loss"], ways[0]["loss"])
        self.assertGreater(seen["norm"], 0)
        for call in (s.step, s.update):
            with self.assertRaisesRegex(ValueError, "there is no optimizer 'adamm'; choose one of sgd, .*adamw"):
                call("adamm")
            with self.assertRaisesRegex(ValueError, "made to train with 'adam', not 'sgd'"):
                call("sgd")
        with self.assertRaisesRegex(TypeError, "learning_rat"):
            s.step("adam", inputs=x, target_values=y, learning_rat=1)
        with self.assertRaisesRegex(unroll.UsageError, "values"):
            s.step("adam", inputs=x)
        with self.assertRaises(ValueError):
            s.step("adam", inputs=floats(T, B, INPUT + 1), target_values=y)
        self.assertEqual(s.counters, (5, 5))

    def test_pool(self):
        """One answer for each sequence: targets and results have no steps."""
        m = unroll.Model(cell="gru", input=INPUT, hidden=HIDDEN, pool="mean+max", output=2, loss="mse", seed=4)
        s = m.session("train", steps=T, rows=B, lengths=1)
        x, y = floats(T, B, INPUT), floats(B, 2, seed=9)
        found = s.step("adam", inputs=x, target_values=y, lengths=lengths(T, 0, 0), learning_rate=0.01)
        self.assertEqual(found["weight"], 1)
        with self.assertRaises(ValueError):
            s.step("adam", inputs=x, target_values=floats(T, B, 2), lengths=lengths(T, 1, 0))
        s = m.session(steps=T, rows=B)
        s.forward(inputs=x)
        self.assertEqual(s.read("z").shape, (B, 2))
        self.assertEqual(m.spec["pool"], "mean+max")
        self.assertEqual([l.get("pool") for l in m.layers], [None, "mean", "max", None])

    def test_tokens(self):
        m = unroll.Model(cell="gru", tokens=1, input=5, embed=3, hidden=HIDDEN, output=5, loss="xent")
        s = m.session("eval", steps=T, rows=B)
        s.forward(tokens=integers(T, B, below=5), targets=integers(T, B, below=5, seed=2))
        loss = s.loss()
        self.assertEqual(loss["weight"], T * B)
        self.assertTrue(1 < loss["loss"] < 2.5, loss)
        with self.assertRaises(unroll.DataError):
            s.forward(tokens=integers(T, B, below=9), targets=integers(T, B, below=5))
        with self.assertRaisesRegex(unroll.UsageError, "targets"):
            s.forward(tokens=integers(T, B, below=5))

    def test_module_gradients_are_those_of_training(self):
        """The same loss by hand and by the library: d(mse) into a module gives the trainer's gradients."""
        spec = {"input": INPUT, "hidden": HIDDEN, "output": 2, "loss": "mse", "seed": 4}
        x, y = floats(T, B, INPUT), floats(T, B, 2, seed=9)
        trained, module = unroll.Model(**spec), unroll.Model(**spec)
        s = trained.session("train", steps=T, rows=B)
        s.forward(inputs=x, target_values=y)
        s.backward()
        m = module.session("module", steps=T, rows=B, input_gradient=1)
        m.forward(inputs=x)
        z, target = flat(m.read("z")), flat(y)
        dz = array.array("f", [2 * (a - b) / 2 for a, b in zip(z, target)])     # mean over 2 outputs, rows summed
        m.write("d.z", memoryview(dz).cast("B").cast("f", (T, B, 2)))
        m.backward()
        outs = [floats(*p.shape) for p in module.parameters().values()]
        m.gradients(outs)
        for name, out in zip(module.parameters(), outs):
            expected = flat(s.read("d." + name))
            for a, b in zip(flat(out), expected):
                self.assertAlmostEqual(a, b, delta=1e-5 * (1 + abs(b)))
        self.assertEqual(m.read("d.x").shape, (T, B, INPUT))
        with self.assertRaises(ValueError):
            m.gradients(outs[:-1])
        with self.assertRaises(ValueError):
            m.set_weights([None] * (len(outs) - 1) + [floats(1)])
        with self.assertRaises(KeyError):
            m.read("nothing")
        with self.assertRaises(unroll.UsageError):
            m.write("nothing", outs[0])
        with self.assertRaises(unroll.UsageError):
            m.backward()

    def test_diverged(self):
        m = unroll.Model(input=1, hidden=2, output=1, loss="mse")
        s = m.session("train", steps=1, rows=1)
        s.forward(inputs=memoryview(array.array("f", [1])).cast("B").cast("f", (1, 1, 1)),
                  target_values=memoryview(array.array("f", [3e38])).cast("B").cast("f", (1, 1, 1)))
        s.backward()
        with self.assertRaises(unroll.DivergedError) as caught:
            s.update("adam", learning_rate=1.0)
        self.assertEqual(caught.exception.status, 6)


class Division(unittest.TestCase):
    def divide(self, **more):
        return unroll.sample_order(**({"rows": 6, "lengths": lengths(*(1 + i % 23 for i in range(100))), "replicas": 3} | more)).tolist()

    def test_each_sequence_once(self):
        for how in ("shuffle", "length", "stratified"):
            batches = self.divide(how=how, classes=lengths(*(i % 4 for i in range(100))), seed=2)
            self.assertEqual([len(rows) for rows in batches], [6] * 17)
            self.assertEqual(sorted(flat(batches)), [-1, -1, *range(100)])
            self.assertNotEqual(batches, self.divide(how=how, classes=lengths(*(i % 4 for i in range(100))), epoch=1))

    def test_by_length(self):
        for rows in self.divide(how="length"):
            here = [1 + i % 23 for i in rows if i >= 0]
            self.assertLessEqual(max(here) - min(here), 2)

    def test_refusals(self):
        with self.assertRaisesRegex(unroll.UsageError, "needs the lengths"):
            unroll.sample_order(rows=2, count=5, how="length")
        with self.assertRaisesRegex(unroll.UsageError, "at least one sequence"):
            unroll.sample_order(rows=2)
        with self.assertRaisesRegex(ValueError, "classes"):
            self.divide(classes=lengths(1, 2, 3))
        with self.assertRaisesRegex(unroll.UsageError, "even, length or stratified"):
            self.divide(how="fairly")
        with self.assertRaisesRegex(TypeError, "batches"):
            self.divide(batches=3)


class Texts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "text.txt")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(TEXT)
        self.text = unroll.Dataset(self.path)

    def tearDown(self):
        self.folder.cleanup()

    def model(self, **more):
        made = unroll.Model(self.text, hidden=12, layers=1, **more)
        n = len(self.text.vocabulary)
        self.assertEqual([made.spec[k] for k in ("input", "output", "loss", "embed")], [n, n, "xent", 0])
        return made

    def test_text(self):
        self.assertEqual("".join(self.text.vocabulary[i] for i in self.text.tokens.tolist()), TEXT)
        self.assertFalse(memoryview(self.text.tokens).readonly)        # a copy of narrower ids
        words = unroll.Dataset(self.path, tokens="words", vocab=50)
        self.assertEqual("".join(words.vocabulary[i] for i in words.tokens.tolist()), TEXT)
        with self.assertRaises(unroll.DataError):
            unroll.Dataset(self.path + ".absent")
        for options, said in ({"header": 1}, "no option 'header'"), ({"vocab": 1 << 32}, "from 2 to 1048576"), ({"reader": "csb"}, "'csb'"):
            with self.assertRaisesRegex(unroll.UsageError, said):
                unroll.Dataset(self.path, **options)
        few = unroll.Dataset(self.path, tokens="words", vocab=2)
        model = unroll.Model(tokens=1, input=2, output=2, hidden=4, loss="xent")
        model.set_schema(few)
        self.assertEqual(unroll.Dataset(self.path, model=model).vocabulary, few.vocabulary)
        with self.assertRaises(TypeError):
            unroll.Dataset(self.path, model=3)

    def test_trains_as_the_command_does(self):
        """After 12 updates the weights are the command's, bit for bit."""
        command = os.path.join(BUILD, "unroll")
        if not os.access(command, os.X_OK):
            self.skipTest("there is no build/unroll")
        out = os.path.join(self.folder.name, "run")
        options = "--layers 1 --hidden 12 --steps 12 --batch 4 --bptt 8 --seed 3 --warmup 5 --schedule constant"
        done = subprocess.run([command, "train", self.path, *options.split(), "--out", out], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = unroll.load(os.path.join(out, "ckpt", "step-12", "model.safetensors")).parameters()
        model = self.model(seed=3)
        trainer = unroll.Trainer(model, self.text, batch=4, bptt=8, seed=3, warmup=5, schedule="constant")
        trainer.set_total_steps(12)
        self.assertEqual([m["step"] for m in trainer.metrics(12)], list(range(1, 13)))
        del trainer                                     # what it learned goes into the model
        ours = model.parameters()
        self.assertEqual(list(ours), list(theirs))
        for name, array_ in ours.items():
            self.assertEqual(bytes(array_), bytes(theirs[name]), name)

    def test_metrics_and_checkpoint(self):
        trainer = unroll.Trainer(self.model(), self.text, batch=4, bptt=8, total_steps=30)
        rows = list(trainer.metrics(6, validate_every=3))
        self.assertEqual([m["step"] for m in rows], [1, 2, 3, 4, 5, 6])
        self.assertEqual(["validation" in m for m in rows], [False, False, True] * 2)
        saved = os.path.join(self.folder.name, "ckpt")
        trainer.save(saved)
        expected = [trainer.step()["loss"] for _ in range(3)]
        other = unroll.Trainer(self.model(seed=99), self.text, batch=4, bptt=8, total_steps=30)
        other.load(saved)
        there = ("step", "epoch", "items", "item", "learning_rate", "best_validation", "best_step", "since_best")
        self.assertEqual([other.progress[k] for k in there], [rows[-1][k] for k in there])
        self.assertEqual(other.progress["best_validation"], min(m["validation"] for m in rows if "validation" in m))
        self.assertEqual([other.step()["loss"] for _ in range(3)], expected)
        with self.assertRaises(unroll.Error):
            other.load(saved + ".absent")

    def test_patience(self):
        trainer = unroll.Trainer(self.model(), self.text, batch=4, bptt=8, learning_rate=0)
        rows = list(trainer.metrics(9, validate_every=1, patience=3))
        self.assertEqual([m["since_best"] for m in rows], [0, 1, 2, 3])
        self.assertEqual(trainer.progress["best_step"], 1)

    def test_evaluate_and_sample(self):
        m = self.model()
        found = unroll.evaluate(m, self.text)
        self.assertEqual(found["characters"], len(TEXT) - 1)
        self.assertTrue(2 < found["nats"] == found["loss"] < 5 and 1 < found["floor"] < 4, found)
        text = unroll.sample(m, prompt="the ", length=20, seed=4)
        self.assertEqual(text, unroll.sample(m, prompt="the ", length=20, seed=4))
        self.assertGreaterEqual(len(text), 20)
        with self.assertRaises(TypeError):
            unroll.sample(m, lenght=3)


class Streams(unittest.TestCase):
    def test_step_is_run_is_whole(self):
        for cell in ("lstm", "gru", "rnn"):
            m = unroll.Model(cell=cell, input=INPUT, hidden=HIDDEN, layers=2, output=3)
            x = floats(T, B, INPUT)
            expected = flat(m.run(x).outputs)
            stream = m.stream(rows=B)
            steps = flat([stream.step(x[t:t + 1].cast("B").cast("f", (B, INPUT))).tolist() for t in range(T)])
            self.assertEqual(steps, expected)
            stream.reset()
            self.assertEqual(flat(stream.run(x)), expected)

    def test_states(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN)
        x, more = floats(T, B, INPUT), floats(T, B, INPUT, seed=5)
        stream = m.stream(rows=B)
        stream.run(x)
        state, copy = stream.save(), stream.copy()
        expected = flat(stream.run(more))
        self.assertEqual(flat(copy.run(more)), expected)
        other = m.stream(rows=B)
        other.load(state)
        self.assertEqual(flat(other.run(more)), expected)
        other.load(state)
        other.reset(1)
        self.assertNotEqual(flat(other.run(more)), expected)
        with self.assertRaises(unroll.Error):
            other.load(state[:-1])
        with self.assertRaises(unroll.Error):
            other.reset(B)
        with self.assertRaises(unroll.Error):
            m.stream(rows=0)

    def test_dtypes_and_tokens(self):
        m = unroll.Model(tokens=1, input=9, hidden=32, output=9)
        tokens = integers(T, B, below=9)
        outputs = {d: flat(m.stream(rows=B, dtype=d).run(tokens)) for d in ("fp32", "bf16", "int8")}
        self.assertEqual(outputs["fp32"], flat(m.run(tokens).outputs))
        for dtype in ("bf16", "int8"):
            self.assertEqual(outputs[dtype], flat(m.run(tokens, dtype=dtype).outputs))
            self.assertNotEqual(outputs[dtype], outputs["fp32"])
        with self.assertRaises(TypeError):
            m.stream(rows=B).run(floats(T, B, 9))
        with self.assertRaises(unroll.Error):
            m.stream(dtype="fp8")

    def test_stream_outlives_the_model(self):
        stream = unroll.Model(input=INPUT, hidden=HIDDEN).stream(rows=B)
        self.assertEqual(stream.run(floats(T, B, INPUT)).shape, (T, B, HIDDEN))


class Threads(unittest.TestCase):
    def test_the_gil_is_released(self):
        """While one thread computes, another one counts."""
        m = unroll.Model(input=64, hidden=256, layers=2)
        x = floats(100, 8, 64)
        s = m.session(steps=100, rows=8, threads=1)
        s.forward(inputs=x)
        counts, done = [0], threading.Event()

        def count():
            while not done.is_set():
                counts[0] += 1
                time.sleep(0)

        old = sys.getswitchinterval()
        sys.setswitchinterval(1000)                     # nobody gives the GIL up but by himself
        counter = threading.Thread(target=count)
        try:
            counter.start()
            before = counts[0]
            for _ in range(5):
                s.forward(inputs=x)
            during = counts[0] - before
        finally:
            done.set()
            sys.setswitchinterval(old)
            counter.join()
        self.assertGreater(during, 50)

    def test_runs_in_many_threads(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN)
        inputs = [floats(T, B, INPUT, seed=i) for i in range(4)]
        expected = [[flat(m.run(x).outputs), flat(m.run(x).states["s.l0"])] for x in inputs]
        wrong = []

        def work(i):
            for _ in range(100):
                result = m.run(inputs[i])
                if [flat(result.outputs), flat(result.states["s.l0"])] != expected[i]:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_one_model_in_many_threads(self):
        m = unroll.Model(input=INPUT, hidden=HIDDEN, layers=2)
        x = floats(T, B, INPUT)
        expected = flat(m.run(x).outputs)
        s = m.session(steps=T, rows=B, threads=1)
        stream = m.stream(rows=B)
        wrong = []

        def work():
            own = m.session(steps=T, rows=B, threads=1)
            for _ in range(30):
                s.forward(inputs=x)
                own.forward(inputs=x)
                stream.run(x)
                if flat(own.read("y.l1")) != expected or flat(s.read("y.l1")) != expected:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Processes(unittest.TestCase):
    def setUp(self):
        self.model = unroll.Model(input=32, hidden=64)
        pool_work.MODEL[:] = [self.model]
        self.expected = [pool_work.run(seed) for seed in range(4)]

    def pool(self, method, *initializer):
        """Two processes give the same for four inputs; one that hangs fails."""
        with multiprocessing.get_context(method).Pool(2, *initializer) as pool:
            self.assertEqual(pool.map_async(pool_work.run, range(4)).get(timeout=60), self.expected)

    def test_pools(self):
        self.pool("fork")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            self.model.save(path)
            self.pool("spawn", pool_work.load, (path,))

    def test_fork_while_a_thread_runs(self):
        """Its locks are open in the child; a session that it was in is refused, or was not in a call."""
        x, done = floats(16, 8, 32), threading.Event()
        s = self.model.session(steps=16, rows=8, threads=2)

        def work():
            while not done.is_set():
                s.forward(inputs=x)
                pool_work.run(0)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(5):
                self.pool("fork")
                pid = os.fork()
                if pid == 0:
                    signal.alarm(20)
                    try:
                        s.forward(inputs=x)
                    except unroll.UnsupportedError as error:
                        os._exit("another thread" not in str(error))
                    except BaseException:               # not to go on with the tests
                        os._exit(2)
                    os._exit(0)
                self.assertEqual(os.waitpid(pid, 0)[1], 0)
        finally:
            done.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
