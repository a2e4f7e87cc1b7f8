"""The Python code of the documents runs, and the package is typed."""

import ast
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

from common import BUILD, ROOT, numpy, sklearn, torch

PACKAGE = os.path.join(ROOT, "bindings", "python", "src", "unroll")
DOCUMENTS = ("README.md", "bindings/python/README.md", "docs/howto/python.md")
TUTORIAL = "docs/guide/tutorial.md"


def programs(path):
    """Returns the ```python blocks of a document, each a program of its own."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)


class Documents(unittest.TestCase):
    def test_programs_run(self):
        for path in DOCUMENTS:
            found = programs(path)
            self.assertTrue(found, path)
            for number, program in enumerate(found):
                if ("torch" in program and not torch) or ("numpy" in program and not numpy):
                    self.skipTest("torch and numpy could not be installed")
                if "sklearn" in program and not sklearn:
                    continue                            # test_sklearn.py reports it
                with self.subTest(path, number=number), tempfile.TemporaryDirectory() as folder:
                    os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
                    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=folder, text=True,
                                          capture_output=True, check=False, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_tutorial_runs(self):
        """Its program in Python prints the temperatures of its program in C, with the model that its command trains."""
        with open(os.path.join(ROOT, TUTORIAL), encoding="utf-8") as file:
            page = file.read()
        train = re.search(r"^\$ (unroll train .*)$", page, re.MULTILINE)[1]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
            path = os.pathsep.join([BUILD, os.environ["PATH"]])
            subprocess.run(train, shell=True, cwd=folder, check=True, capture_output=True, env=os.environ | {"PATH": path})
            done = subprocess.run([sys.executable, "-c", programs(TUTORIAL)[0]], cwd=folder, text=True,
                                  capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = re.findall(r"^M09 .*", done.stdout, re.MULTILINE)
        shown = re.findall(r"^M09 .*", page, re.MULTILINE)
        self.assertEqual(len(shown), 3)
        for ours, theirs in zip(printed, shown, strict=True):       # AMX has other bits
            self.assertLess(abs(float(ours.split()[2]) - float(theirs.split()[2])), 5, done.stdout)

    def test_the_examples_run(self):
        if not torch:
            self.skipTest("torch could not be installed")
        script = os.path.join(ROOT, "examples", "python", "char_lm.py")
        curves = []
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "text.txt")
            with open(text, "w", encoding="utf-8") as file:
                file.write("a stitch in time saves nine; the quick brown fox jumps over the lazy dog.\n" * 60)
            for module in ("torch.nn", "unroll.torch"):
                done = subprocess.run(
                    [sys.executable, script, text, "--lstm", module, "--hidden", "24", "--steps", "12", "--batch", "4",
                     "--bptt", "16", "--threads", "1"], capture_output=True, text=True, check=False, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                curves.append([float(x) for x in re.findall(r"loss ([0-9.]+)", done.stdout)])
        self.assertTrue(len(curves[0]) > 2 and len(curves[0]) == len(curves[1]), curves)
        self.assertLess(max(abs(a - b) for a, b in zip(*curves)), 1e-4)

    def test_types(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("mypy could not be installed")
        if not torch:
            self.skipTest("torch could not be installed")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "mypy", PACKAGE],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_types_are_those_of_the_extension(self):
        try:
            import mypy.stubtest  # noqa: F401
        except ImportError:
            self.skipTest("mypy could not be installed")
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "unroll._core"], capture_output=True, text=True,
                              check=False, env=os.environ | {"MYPYPATH": os.path.dirname(PACKAGE)})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_keyword_is_typed(self):
        """The arguments in a call's error message are those of the stub."""
        import unroll

        with open(os.path.join(PACKAGE, "_core.pyi"), encoding="utf-8") as file:
            stub = ast.parse(file.read())
        keywords = {f"{getattr(outer, 'name', '')}.{f.name}": {a.arg for a in f.args.kwonlyargs}
                    for outer in [stub, *stub.body] for f in getattr(outer, "body", []) if isinstance(f, ast.FunctionDef)}
        model = unroll.Model(tokens=1, input=3, output=3, loss="xent")
        train = model.session("train")
        text = unroll.Dataset(os.path.join(ROOT, "LICENSE"))
        calls = {
            "Model.__new__": (unroll._core.Model, {"seed", "inputs", "task_options"}),
            "Model.from_network": (lambda **k: unroll.Model.from_network([], **k), {"seed", "inputs"}),
            "Session.__new__": (lambda **k: unroll.Session(model, **k), {"class_weights"}),
            "Session.update": (lambda **k: train.update("adam", **k), set()),
            "Session.step": (lambda **k: train.step("adam", **k),
                             {"inputs", "tokens", "targets", "target_values", "lengths", "reset", "sync"}),
            "Stream.__new__": (lambda **k: unroll.Stream(model, **k), set()),
            "Trainer.__new__": (lambda **k: unroll.Trainer(model, text, **k), {"validation", "test", "class_weights", "task_options", "timeout"}),
            ".sample": (lambda **k: unroll.sample(model, **k), set()),
            ".sampler_order": (unroll.sampler_order, {"lengths", "classes"}),
        }
        hyperparameters = {"beta1", "beta2", "epsilon", "decay"}        # of adam, listed by the library
        for name, (call, more) in calls.items():
            with self.assertRaises(TypeError) as caught:
                call(nothing=1)
            known = set(re.search("it has (.*)", str(caught.exception))[1].split(", ")) | more
            if name in ("Session.update", "Session.step", "Trainer.__new__"):
                self.assertLessEqual(hyperparameters, known, name)
                known -= hyperparameters
            self.assertEqual(known, keywords[name], name)

    def test_names_are_those_of_c(self):
        """A method of a class is a function of the C object of that name, except what only Python has."""
        import unroll

        declared = set()
        for path in glob.glob(f"{ROOT}/include/*.h"):
            with open(path, encoding="utf-8") as file:
                declared |= set(re.findall(r"\bunroll_\w+(?=\()", file.read()))
        prefixes = {"Model": "model", "Session": "session", "Stream": "stream", "StreamPool": "stream_pool",
                    "Dataset": "dataset", "Trainer": "trainer"}
        own = {
            "Model": {"SESSIONS", "close", "config", "session", "sessions", "stream", "stream_pool", "plan"},
            "Session": {"has", "buffers", "info"}, "Stream": {"copy", "info"}, "StreamPool": {"info"}, "Dataset": set(),
            "Trainer": {"rank", "train"},
        }
        for name, prefix in prefixes.items():
            methods = {m for m in dir(getattr(unroll, name)) if not m.startswith("_")}
            self.assertEqual({m for m in methods if f"unroll_{prefix}_{m}" not in declared}, own[name], name)

    def test_every_name_is_documented(self):
        import unroll._core as core

        for name in dir(core):
            self.assertTrue(name.startswith("_") or getattr(core, name).__doc__, f"{name} has no docstring")


if __name__ == "__main__":
    unittest.main()
