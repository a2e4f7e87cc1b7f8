"""Training from Python: sessions step by step, modules, meshes, texts; without NumPy."""

import array
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import unroll
from common import BUILD, flat, floats, integers, lengths

T, B, INPUT, HIDDEN = 7, 3, 4, 6
TEXT = "the quick brown fox jumps over the lazy dog; a stitch in time saves nine.\n" * 60


class Training(unittest.TestCase):
    def test_arrays(self):
        """Each optimizer learns a sine wave."""
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
        """A step is a forward, a backward and an update; a loss that is not read is part of the next mean."""
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
        seen = s.result()
        self.assertEqual(seen["weight"], 2 * ways[0]["weight"])
        self.assertLess(seen["loss"], ways[0]["loss"])
        self.assertGreater(seen["norm"], 0)
        for call in (s.step, s.update):
            with self.assertRaisesRegex(ValueError, "there is no optimizer 'adamm'; choose one of sgd, .*adamw"):
                call("adamm")
            with self.assertRaisesRegex(ValueError, "created to train with 'adam', not 'sgd'"):
                call("sgd")
        with self.assertRaisesRegex(TypeError, "learning_rat"):
            s.step("adam", inputs=x, target_values=y, learning_rat=1)
        with self.assertRaisesRegex(unroll.UsageError, "values"):
            s.step("adam", inputs=x)
        with self.assertRaises(ValueError):
            s.step("adam", inputs=floats(T, B, INPUT + 1), target_values=y)
        self.assertEqual(s.counters, (5, 5))

    def test_pool(self):
        """One output for each sequence: targets and outputs have no time axis."""
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
        self.assertEqual(m.config["pool"], "mean+max")
        self.assertEqual([l.get("pool") for l in m.layers], [None, "mean", "max", None])

    def test_tokens(self):
        m = unroll.Model(cell="gru", tokens=1, input=5, embed=3, hidden=HIDDEN, output=5, loss="xent")
        s = m.session("eval", steps=T, rows=B)
        s.forward(tokens=integers(T, B, below=5), targets=integers(T, B, below=5, seed=2))
        loss = s.result()
        self.assertEqual(loss["weight"], T * B)
        self.assertTrue(1 < loss["loss"] < 2.5, loss)
        with self.assertRaises(unroll.DataError):
            s.forward(tokens=integers(T, B, below=9), targets=integers(T, B, below=5))
        with self.assertRaisesRegex(unroll.UsageError, "targets"):
            s.forward(tokens=integers(T, B, below=5))

    def test_module_gradients_are_those_of_training(self):
        """The same loss computed by hand and by the library: d(mse) passed to a module gives the trainer's gradients.
        """
        spec = {"input": INPUT, "hidden": HIDDEN, "output": 2, "loss": "mse", "seed": 4}
        x, y = floats(T, B, INPUT), floats(T, B, 2, seed=9)
        trained, module = unroll.Model(**spec), unroll.Model(**spec)
        s = trained.session("train", steps=T, rows=B)
        s.forward(inputs=x, target_values=y)
        s.backward()
        m = module.session("module", steps=T, rows=B, input_gradient=1)
        m.forward(inputs=x)
        z, target = flat(m.read("z")), flat(y)
        dz = array.array("f", [2 * (a - b) / 2 for a, b in zip(z, target)])     # mean over 2 outputs, summed over rows
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


class Units(unittest.TestCase):
    """Consistent scales: predict, run and stream read and return the units of the data unless raw is set."""

    ROWS = 60

    def fitted(self, task, y):
        self.x = [[[1000 + 7 * ((3 * i + t) % 11), 0.001 * ((i + t) % 5)] for t in range(T)] for i in range(self.ROWS)]
        labels = [y(steps) for steps in self.x]
        return unroll.fit(unroll.Dataset(self.x, labels), task, steps=40, validation=0, hidden=8, bidirectional=0,
                          pool="last", threads=1).model  # fmt: skip

    def frames(self, i):
        return memoryview(array.array("f", [v for step in self.x[i] for v in step])).cast("B").cast("f", (T, 1, 2))

    def test_numbers(self):
        model = self.fitted("regress", lambda steps: 5e4 + 100 * steps[-1][0])
        wanted = [answer for answer in model.predict(unroll.Dataset(self.x, None, model=model))]
        for i in range(0, self.ROWS, 13):
            number = next(value for name, value in wanted[i].items() if isinstance(value, float))
            self.assertAlmostEqual(flat(model.run(self.frames(i)).outputs)[0] / number, 1, places=4)
            self.assertGreater(abs(flat(model.run(self.frames(i), raw=True).outputs)[0] - number), 1e3)

    def test_labels(self):
        model = self.fitted("classify", lambda steps: "low" if steps[-1][0] < 1035 else "high")
        wanted = model.predict(unroll.Dataset(self.x, None, model=model))
        names = sorted({"low", "high"})
        for i in range(0, self.ROWS, 7):
            results = flat(model.run(self.frames(i)).outputs)
            self.assertEqual(names[results.index(max(results))], wanted[i]["label"])

    def test_weights_that_change(self):
        """The units are those of the weights at the time of the call, also those of a trainer."""
        model = self.fitted("regress", lambda steps: 5e4 + 100 * steps[-1][0])
        before = flat(model.run(self.frames(0)).outputs)
        trainer = unroll.Trainer(model, unroll.Dataset(self.x, [1e5] * self.ROWS), task="regress", validation=0, batch=8,
                                 learning_rate=0.05, threads=1)  # fmt: skip
        for _ in range(5):
            trainer.step()
        self.assertNotEqual(flat(model.run(self.frames(0)).outputs), before)


class Predictions(unittest.TestCase):
    """Frames, lists of texts, notes and short representations."""

    TABLE = {"store": ["a", "b"] * 60, "day": list(range(120)), "sales": [10 + i % 7 + math.sin(i) for i in range(120)]}

    def test_texts(self):
        rows = [{"review": word, "mood": mood} for word, mood in [("so good", "pos"), ("so bad", "neg")] * 30]
        model = unroll.fit(rows, "classify", steps=30, validation=0, hidden=8, threads=1).model
        answers = model.predict(["so good", "so bad"])
        self.assertEqual([answer["label"] for answer in answers], ["pos", "neg"])
        self.assertEqual([a["label"] for a in model.predict([{"review": "so good"}])], ["pos"])

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")
    def test_frame(self):
        fitted = unroll.fit(self.TABLE, "forecast", group="store", time="day", columns={"day": "time"},
                            task_options={"horizon": 4, "season": 7, "target": "sales"}, steps=2, validation=0, hidden=4, threads=1)  # fmt: skip
        data = unroll.Dataset(self.TABLE, model=fitted.model)
        frame = fitted.model.predict(data, as_frame=True)
        self.assertEqual(list(frame.columns), ["store", "day", "sales", "sales_0.1", "sales_0.9"])
        self.assertEqual(list(frame["store"]), ["a"] * 4 + ["b"] * 4)
        first = fitted.model.predict(data)[0]
        self.assertEqual(list(frame["sales"][:4]), first["forecast"]["sales"])
        self.assertEqual(list(frame["sales_0.9"][:4]), first["quantiles"]["sales"][-1])

    def test_short(self):
        fitted = unroll.fit(self.TABLE, "forecast", group="store", time="day", columns={"day": "time"},
                            task_options={"horizon": 4, "season": 7}, steps=2, validation=0, hidden=4, threads=1)  # fmt: skip
        self.assertLess(len(repr(fitted)), 300)
        self.assertRegex(repr(fitted), "^<Fitted <Model ")
        self.assertEqual(repr(unroll.Dataset(self.TABLE, group="store")), "<Dataset of 2 sequences, 120 steps: store, day, sales>")

    def test_notes(self):
        table = {"store": ["a"] * 100 + ["b"] * 3, "sales": [10 + i % 7 for i in range(103)]}
        fitted = unroll.fit(table, "forecast", group="store", task_options={"horizon": 4, "season": 7}, steps=2, validation=0,
                            hidden=4, threads=1)  # fmt: skip
        with self.assertWarnsRegex(unroll.NoteWarning, "series 'b' has 3 steps"):
            fitted.model.predict(table)

    def test_names(self):
        self.assertEqual([name for name in unroll.__all__ if not hasattr(unroll, name)], [])


class Keywords(unittest.TestCase):
    TABLE = {"store": ["a", "b"] * 60, "day": list(range(120)), "sales": [10 + i % 7 + math.sin(i) for i in range(120)]}

    def test_group_and_time(self):
        found = unroll.fit(self.TABLE, "forecast", group="store", time="day", columns={"day": "time"},
                           task_options={"horizon": 4, "season": 7}, steps=2, validation=0, hidden=4, threads=1)  # fmt: skip
        self.assertIn('"store"', found.model.schema)

    def test_misspelt(self):
        """Checked before data is read: these files do not exist."""
        with self.assertRaisesRegex(TypeError, "no keyword 'grup'; fix: 'group'"):
            unroll.fit("nowhere.csv", grup="store")
        with self.assertRaisesRegex(TypeError, "group: the Dataset is read already"):
            unroll.fit(unroll.Dataset(self.TABLE), group="store")

    def test_list_of_keywords(self):
        """fit accepts all keywords of Trainer, with the same types for mypy."""
        import ast
        from unroll import _fit
        with open(os.path.join(os.path.dirname(unroll.__file__), "_core.pyi")) as file:
            trainer = next(node for node in ast.parse(file.read()).body
                           if isinstance(node, ast.ClassDef) and node.name == "Trainer")
        new = next(node for node in trainer.body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
        names = {argument.arg for argument in new.args.kwonlyargs} - {"task", *_fit._OF_FIT}
        self.assertEqual(names - (_fit._OF_TRAINER | _fit._OF_MACHINE), set())


class Division(unittest.TestCase):
    def divide(self, **more):
        return unroll.sampler_order(**({"rows": 6, "lengths": lengths(*(1 + i % 23 for i in range(100))), "replicas": 3} | more)).tolist()

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
            unroll.sampler_order(rows=2, count=5, how="length")
        with self.assertRaisesRegex(unroll.UsageError, "at least one sequence"):
            unroll.sampler_order(rows=2)
        with self.assertRaisesRegex(ValueError, "classes"):
            self.divide(classes=lengths(1, 2, 3))
        with self.assertRaisesRegex(unroll.UsageError, "even, length, stratified, column or part"):
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
        self.assertEqual([made.config[k] for k in ("input", "output", "loss", "embed")], [n, n, "xent", 0])
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
        self.assertEqual([m["step"] for m in trainer.train(12)], list(range(1, 13)))
        del trainer                                     # stores what it learned in the model
        ours = model.parameters()
        self.assertEqual(list(ours), list(theirs))
        for name, array_ in ours.items():
            self.assertEqual(bytes(array_), bytes(theirs[name]), name)

    def test_workers(self):
        """A server that waits for all has the bits of sums, from Python, too; a single process has no workers."""
        with self.assertRaisesRegex(unroll.UsageError, "mpirun -n 2"):
            unroll.Trainer(self.model(), self.text, batch=4, bptt=8, workers=2, sync="server:0")
        if not shutil.which("mpirun.openmpi"):
            self.skipTest("there is no Open MPI")
        program = """import sys, unroll
data = unroll.Dataset(sys.argv[1])
model = unroll.Model(data, "lm", hidden=12, layers=1, seed=3)
trainer = unroll.Trainer(model, data, batch=8, bptt=8, total_steps=9, workers=2, sync=sys.argv[2], sum="tree", timeout=100)
while trainer.progress["step"] < 9:
    trainer.meet_at(9)
    trainer.step()
trainer.save(sys.argv[3])
print(trainer.rank, trainer.progress["met"])"""
        made = []
        for sync in "every", "server:0", "server:any":
            out = os.path.join(self.folder.name, sync)
            done = subprocess.run(
                ["mpirun.openmpi", "--oversubscribe", "-n", "2", sys.executable, "-c", program, self.path, sync, out],
                capture_output=True, text=True, check=False, timeout=300,
                env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted("".join(done.stdout.split())), list("0111"))  # lines of two ranks may be mixed
            with open(os.path.join(out, "model.safetensors"), "rb") as file:
                made.append(file.read())
        self.assertEqual(made[0], made[1])

    def test_metrics_and_checkpoint(self):
        trainer = unroll.Trainer(self.model(), self.text, batch=4, bptt=8, total_steps=30)
        rows = list(trainer.train(6, validate_every=3))
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
        rows = list(trainer.train(9, validate_every=1, patience=3))
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


if __name__ == "__main__":
    unittest.main()
