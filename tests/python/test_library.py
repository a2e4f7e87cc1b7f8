"""Models, sessions, streams, threads and processes as in unroll.h, without NumPy. Training is in test_training.py."""

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
from common import BUILD, ROOT, flat, floats, integers, lengths

T, B, INPUT, HIDDEN = 7, 3, 4, 6


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
        self.assertTrue(len(wheels) == 1 and f"unroll-{unroll.__version__}-cp39-abi3-linux" in wheels[0], wheels)

    def test_version_is_the_headers(self):
        with open(os.path.join(ROOT, "include", "unroll.h"), encoding="utf-8") as file:
            numbers = [line.split()[-1] for line in file if line.startswith("#define UNROLL_VERSION_")]
        self.assertEqual(".".join(numbers), unroll.__version__)

    def test_only_the_limited_api(self):
        """Every Python symbol used by the extension is part of the stable ABI, as far as this Python can tell."""
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
        """It contains what CMake reads, and the package."""
        code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True, cwd=ROOT)
            subprocess.run(["tar", "xzf", os.path.join(folder, done.stdout.split()[-1])], cwd=folder, check=True)
            tree = os.path.join(folder, f"unroll-{unroll.__version__}")
            made = subprocess.run(["cmake", "-S", tree, "-B", os.path.join(folder, "build"), "-DUNROLL_PYTHON=ON",
                                   f"-DPython_EXECUTABLE={sys.executable}"], capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            package = ("__init__.py", "torch.py", "py.typed", "_core.pyi")
            for name in ("PKG-INFO", "LICENSE", "src/session/session.c", *(f"bindings/python/src/unroll/{name}" for name in package)):
                self.assertTrue(os.path.exists(os.path.join(tree, name)), name)
            self.assertFalse(os.path.exists(os.path.join(tree, "tests")))

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
            ({"hidden": "3"}, TypeError, "hidden: expected a whole number, not str"),
            ({"hidden": 1 << 40}, OverflowError, "hidden = 1099511627776 is outside -2147483648..2147483647"),
            ({"hidden": 1 << 70}, OverflowError, "hidden = 1180591620717411303424 is outside -2147483648..2147483647"),
            ({"hidden": 2.5}, TypeError, "whole number"),
            ({"clip": 1e300}, OverflowError, "clip = 1e+300 is outside -3.4e38..3.4e38"),
            ({"dropout": "x"}, TypeError, "a number"),
            ({"cell": 3}, TypeError, "expected a str"),
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
        """Each integer that becomes a C int: none wraps around, and all errors state the range."""
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
                ("sources", lambda: unroll.Model.from_network(layers, input=INPUT)), ("rows", lambda: m.plan(rows=big)),
                ("threads", lambda: unroll.evaluate(read, text, threads=big)), ("length", lambda: unroll.sample(read, length=big)),
                ("batch", lambda: unroll.Trainer(read, text, batch=big)), ("replicas", lambda: unroll.sampler_order(rows=1, count=2, replicas=big)),
                ("max_version", lambda: m.parameters()["rnn.bias_ih_l0"].__dlpack__(max_version=(big, 0))),
            ):
                with self.assertRaisesRegex(OverflowError, rf"{name} = 4294967296 is outside -2147483648..2147483647"):
                    call()
            with open(path, "r+b") as file:             # more steps than an int can count, in a sparse file
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
            self.assertEqual(other.config, m.config)
            self.assertEqual(flat(other.run(x).outputs), flat(m.run(x).outputs))
            with self.assertRaises(unroll.Error):
                m.save(os.path.join(folder, "no", "m.safetensors"))

    def test_pickles_and_copies(self):
        stack = unroll.Model(tokens=1, input=5, embed=3, hidden=HIDDEN, layers=2, bidirectional=1, output=5, loss="xent")
        network = unroll.Model.from_network([{"kind": "dense", "name": "front", "width": 5, "activation": "tanh"},
                                        {"kind": "gru", "name": "inner", "width": 4, "sources": [0, -1]}], input=INPUT)
        for m, x in (stack, integers(T, B, below=5)), (network, floats(T, B, INPUT)):
            expected = flat(m.run(x).outputs)
            weights = {name: bytes(w) for name, w in m.parameters().items()}
            m.note = ["a user's"]
            for other in [pickle.loads(pickle.dumps(m, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + \
                    [copy.copy(m), copy.deepcopy(m)]:
                self.assertEqual((type(other), other.config, other.layers, other.note),
                                 (type(m), m.config, m.layers, m.note))
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
        m = unroll.Model.from_network(layers, input=INPUT, loss="mse")
        self.assertIsInstance(m, unroll.Model)
        self.assertEqual([layer["name"] for layer in m.layers], ["front", "inner", "result"])
        self.assertEqual(m.layers[2]["sources"], [1, -1])
        self.assertEqual(m.run(floats(T, B, INPUT)).outputs.shape, (T, B, 2))
        self.assertEqual(layers[2]["sources"], [1, -1])         # the caller's list is not modified
        for wrong, kind in (([{"kind": "gru", "name": "a", "width": 0}], unroll.UsageError), ([3], TypeError),
                            ([{"knd": 1}], TypeError), (3, TypeError), ([{"sources": 3}], TypeError)):
            with self.assertRaises(kind):
                unroll.Model.from_network(wrong, input=INPUT)

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
        """[rows, width], for every cell, read from and written to runs and sessions."""
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
                    with self.assertRaisesRegex(ValueError, rf"{name[0]}0{name[1:]}: expected the shape \[{B}, {HIDDEN}\]"):
                        m.run(x, states={name: floats(*wrong)})
                    with self.assertRaisesRegex(ValueError, "expected the shape"):
                        s.write(name[0] + "0" + name[1:], floats(*wrong))
            s.forward(inputs=x)
            s.backward()
            for name, parameter in m.parameters().items():
                self.assertEqual(s.read(name).shape, parameter.shape, name)
                self.assertEqual(s.read("d." + name).shape, parameter.shape, name)

    def test_buffers_are_listed(self):
        """All arrays of a session with shapes and types; read() accepts the same names."""
        m = unroll.Model(cell="gru", input=INPUT, hidden=HIDDEN)
        s = m.session("module", steps=T, rows=B)
        buffers = s.buffers()
        self.assertGreaterEqual({name for name, _, _ in buffers}, {"h0.l0", "hn.l0", "y.l0", "d.y.l0", *m.parameters()})
        self.assertEqual(len(buffers), len({name for name, _, _ in buffers}))
        for name, shape, kind in buffers:
            self.assertEqual(s.read(name).shape, shape, name)
            self.assertEqual(kind, "F64" if name in ("rates", "loss_sum", "weight_sum", "norms") else "F32", name)

    def test_statuses_have_names(self):
        names = [unroll._core.status_name(i) for i in (0, 1, 2, 3, 4, 5, 6, 7, 75)]
        self.assertEqual(names, ["ok", "failure", "usage", "data", "unsupported", "resource", "diverged",
                                 "communication", "preempted"])
        self.assertIsNone(unroll._core.status_name(8))

    def test_inputs_have_one_name(self):
        """Inputs are passed as inputs= or tokens=, or without a name if the model has only one."""
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
                    with self.assertRaisesRegex(TypeError, f"the model reads {name}: expected one array"):
                        call(*args, **more)

    def test_pool(self):
        """A slot has the outputs and states of a stream with one row, whichever slots step with it."""
        model = unroll.Model(input=2, hidden=5, output=3)
        pool, streams, x = model.stream_pool(4), [model.stream() for _ in range(4)], floats(3, 2)
        rows = [array.array("f", row) for row in x.tolist()]
        for slots in ([2, 0, 3], [3, 1, 0], [0, 2, 1]):
            expected = [streams[slot].step(memoryview(rows[i]).cast("B").cast("f", (1, 2))) for i, slot in enumerate(slots)]
            self.assertEqual(flat(pool.step(array.array("i", slots), x)), [value for one in expected for value in flat(one)])
        self.assertEqual(pool.save(2), streams[2].save())
        pool.move(2, 1)
        self.assertEqual(pool.save(1), streams[2].save())
        self.assertEqual(pool.save(2), model.stream().save())
        pool.reset()
        pool.load(3, streams[0].save())
        self.assertEqual(pool.save(3), streams[0].save())
        for wrong in ([4, 0, 1], [1, 1, 0]):
            with self.assertRaises(unroll.UsageError):
                pool.step(array.array("i", wrong), x)
        with self.assertRaisesRegex(TypeError, "the model reads inputs"):
            pool.step(array.array("i", [0]))
        with self.assertRaises(unroll.UsageError):
            model.stream_pool(0)
        words = unroll.Model(tokens=True, input=7, hidden=5, output=7)
        step = words.stream_pool(2, dtype="int8").step(array.array("i", [1]), tokens=array.array("i", [3]))
        self.assertEqual(flat(step), flat(words.stream(dtype="int8").step(array.array("i", [3]))))

    def test_columns(self):
        """Categories and numbers as columns: a run, a training step, a stream, the file."""
        columns = [{"name": "word", "tokens": 9, "width": 4}, {"width": 2}, {"name": "day", "tokens": 7, "width": 3}]
        model = unroll.Model(inputs=columns, hidden=5, output=3, loss="xent", input_dropout=0.25)
        self.assertEqual([c["name"] for c in model.config["inputs"]], ["word", "numbers", "day"])
        self.assertEqual(model.config["inputs"][2], columns[2])
        self.assertEqual(list(model.parameters())[:2], ["embedding.word.weight", "embedding.day.weight"])
        self.assertIn("3 columns", repr(model))
        tokens, numbers = integers(T, B, 2, below=7), floats(T, B, 2)
        y = model.run(tokens=tokens, inputs=numbers).outputs
        self.assertEqual(flat(copy.copy(model).run(tokens=tokens, inputs=numbers).outputs), flat(y))
        stream = model.stream(B)
        self.assertEqual(flat(stream.copy().run(tokens=tokens, inputs=numbers)), flat(y))
        first = stream.step(tokens=integers(B, 2, below=7), inputs=floats(B, 2))     # a part of the same values
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
        """New settings apply from the next run on; the user's sessions and trainers have their own."""
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
        self.assertEqual(bias[0], 4.0)                  # until a pull, or the end of the session that learned it
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
        sys.setswitchinterval(1000)                     # threads keep the GIL unless they release it themselves
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
        """Two processes give the same results for four inputs; a deadlock fails the test."""
        with multiprocessing.get_context(method).Pool(2, *initializer) as pool:
            self.assertEqual(pool.map_async(pool_work.run, range(4)).get(timeout=60), self.expected)

    def test_pools(self):
        self.pool("fork")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            self.model.save(path)
            self.pool("spawn", pool_work.load, (path,))

    def test_fork_while_a_thread_runs(self):
        """Its locks are released in the child; a session in use during the fork is refused, others work."""
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
                    except BaseException:               # must not continue with the tests
                        os._exit(2)
                    os._exit(0)
                self.assertEqual(os.waitpid(pid, 0)[1], 0)
        finally:
            done.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
