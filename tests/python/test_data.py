"""Data from Python: arrays, frames, rows; training on them in one call, predictions, tests."""

import array
import datetime
import json
import math
import os
import pathlib
import pickle
import random
import subprocess
import tempfile
import unittest
import wave

import unroll
from common import BUILD, needs_numpy, numpy

try:
    import pandas
except ImportError:
    pandas = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

needs_pyarrow = unittest.skipUnless(pyarrow, "pyarrow could not be installed")


def columns(data):
    """Returns type, position and missing values of each column by name."""
    found = data.describe()
    return {c["name"]: (c["type"], c["of"], c["missing"]) for c in found["columns"]}


def first(data):
    return data.describe()["first"]


class Arrays(unittest.TestCase):
    def test_lists(self):
        data = unroll.Dataset([[1, 2, 3], [4.5, None]], ["a", "b"])
        self.assertEqual(columns(data), {"x": ("numbers", "step", 1), "label": ("category", "example", 0)})
        found = data.describe()
        self.assertEqual([found[k] for k in ("rows", "sequences", "steps")], ["examples", 2, 5])
        self.assertEqual(columns(unroll.Dataset([[[1, 2]], [[3, 4], [5, 6]]], [0.5, 1])),
                         {"x": ("numbers", "step", 0), "label": ("category", "example", 0)})      # 0.5 and 1: not all float
        self.assertEqual(columns(unroll.Dataset([[1], [2, 3]], [0.5, 1.0]))["target"], ("numbers", "example", 0))
        self.assertEqual(columns(unroll.Dataset([[1], [2, 3]], [["a"], ["b", None]]))["tag"], ("category", "step", 1))
        self.assertEqual(columns(unroll.Dataset([[1], [2, 3]], [[0.1], [0.2, 0.3]]))["target"], ("numbers", "step", 0))
        self.assertEqual(columns(unroll.Dataset([[1, 2], [2, 3]], [[0.1, 1, 2], [0.2, 0.3, 0.4]]))["target"],
                         ("numbers", "example", 0))
        series = unroll.Dataset([math.sin(i) for i in range(50)]).describe()
        self.assertEqual([series[k] for k in ("rows", "sequences", "steps")], ["steps", 1, 50])

    def test_texts(self):
        data = unroll.Dataset(["so good", "bad"], ["p", "n"], tokens="words")
        self.assertEqual(columns(data), {"text": ("tokens", "step", 0), "label": ("category", "example", 0)})
        self.assertEqual([data.vocabulary[i] for i in data.tokens.tolist()], ["so", " good", "bad"])

    def test_rows(self):
        rows = [{"text": "ab", "label": "x"}, {"text": "c", "label": None}, {"text": "d", "label": "y"}]
        for data in (rows, iter(rows), {"text": ["ab", "c", "d"], "label": ["x", None, "y"]}):
            self.assertEqual(columns(unroll.Dataset(data, columns={"text": "text"})),
                             {"text": ("tokens", "step", 0), "label": ("category", "example", 1)})
        pairs = unroll.Dataset(([[i, i + 1]], "ab"[i % 2]) for i in range(4))
        self.assertEqual(columns(pairs), {"x": ("numbers", "step", 0), "label": ("category", "example", 0)})
        days = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(30)]
        series = unroll.Dataset({"day": days, "load": [float(i) for i in range(30)], "level": [1, None, 3] * 10})
        self.assertEqual(columns(series), {"day": ("time", "step", 0), "load": ("numbers", "step", 0),
                                           "level": ("numbers", "step", 10)})
        self.assertEqual(first(series)[1], {"day": "2024-01-02", "load": 1, "level": None})
        groups = unroll.Dataset({"store": list("aabb"), "load": [1.0, 2, 3, 4]}, group="store").describe()
        self.assertEqual([groups[k] for k in ("sequences", "steps")], [2, 4])

    @needs_numpy
    def test_numpy(self):
        x = numpy.random.default_rng(1).standard_normal((6, 5, 2))
        for y, name, of in ((numpy.arange(6) % 3, "label", "example"), (numpy.array(list("abcabc")), "label", "example"),
                            (numpy.linspace(0, 1, 6), "target", "example"), (x[:, :, 0], "target", "step"),
                            (x[:, 0, :].astype("f4"), "target", "example")):  # fmt: skip
            data = unroll.Dataset(x, y)
            self.assertEqual(columns(data)[name][1:], (of, 0))
            self.assertEqual(data.describe()["steps"], 30)
        ragged = unroll.Dataset([x[i, : i % 3 + 1].astype("f4") for i in range(6)], list("ababab"))
        self.assertEqual(ragged.describe()["steps"], 12)
        packed = numpy.empty(2, dtype=object)
        packed[:] = [x[0], x[1, :2]]
        self.assertEqual(unroll.Dataset(packed, [0, 1]).describe()["steps"], 7)
        dates = numpy.arange("2024-01-01", "2024-02-10", dtype="M8[D]")
        self.assertEqual(columns(unroll.Dataset({"date": dates, "y": x[0, 0, 0] + numpy.arange(40)}))["date"][0], "time")

    def test_refusals(self):
        for data, kind, words in (
            (([],), ValueError, "x is empty"), (([[1], [2]], ["a"]), ValueError, "2 examples and y 1"),
            ((3,), TypeError, "a path, a frame"), (([[1, 2], ["a"]],), TypeError, "row 2: expected numbers"),
            (([[[1, 2], [3]]],), ValueError, "1 and 2 features"), (({"a": [1], "b": [1, 2]},), ValueError, "'a' 1, 'b' 2"),
            (({"a": ["x"], "b": [{}]},), TypeError, "'b': .*not dict"), (({"a": [object()]},), TypeError, "not object"),
            (({"": [1, 2]},), unroll.UsageError, "needs a name"), (("file", [1]), TypeError, "targets inside"),
        ):  # fmt: skip
            with self.assertRaisesRegex(kind, words):
                unroll.Dataset(*data)
        with self.assertRaisesRegex(ValueError, "has a comma"):
            unroll.Dataset({"a,b": [1, 2]}, columns={"a,b": "number"})
        with self.assertRaisesRegex(unroll.UsageError, "tokens = 'nope'"):
            unroll.Dataset([[1]], tokens="nope")


class Frames(unittest.TestCase):
    """Through the Arrow C interface."""

    @needs_pyarrow
    def test_types(self):
        """Each type as a file would have it; also a slice whose null bits do not begin at a byte."""
        a = pyarrow.array
        times = [datetime.datetime(1969, 12, 31, 23, 59, 59, 250000), datetime.datetime(2024, 2, 29), None] * 4
        whole = {"u8": [1, None, 3], "i64": [-5, 6, None], "f16": [0.5, -2, None], "bool": [True, None, False],
                 "cat": ["x", None, "y"], "long": ["a string of more than twelve bytes", "short", None]}  # fmt: skip
        table = pyarrow.table({
            "u8": a(whole["u8"] * 4, pyarrow.uint8()), "i64": a(whole["i64"] * 4, pyarrow.int64()),
            "f16": a([None if v is None else numpy.float16(v) for v in whole["f16"] * 4], pyarrow.float16()),
            "bool": a(whole["bool"] * 4), "cat": a(whole["cat"] * 4).dictionary_encode(),
            "long": a(whole["long"] * 4, pyarrow.string_view()), "t": a(times, pyarrow.timestamp("us", "UTC")),
            "day": a([None if t is None else t.date() for t in times]), "void": pyarrow.nulls(12),
            "wide": a(whole["long"] * 4, pyarrow.large_string())})  # fmt: skip
        types = {"cat": "category", "bool": "category", "long": "category", "wide": "category", "t": "time", "day": "time"}
        for frame, begin in ((table, 0), (table.slice(1, 10), 1), (pyarrow.concat_tables([table.slice(2, 2), table]), 2)):
            data = unroll.Dataset(frame, columns={"long": "category", "wide": "category", "void": "ignore"})
            found = columns(data)
            self.assertNotIn("void", found)
            for name, (kind, of, missing) in found.items():
                self.assertEqual((kind, of), (types.get(name, "numbers"), "step"), name)
                self.assertEqual(missing, frame.column(name).null_count, name)
            row = first(data)[0]
            for name, values in whole.items():
                wanted = values[begin % 3]
                self.assertEqual(row[name], {True: "true", False: "false"}.get(wanted, wanted) if name == "bool" else wanted)
            stamp = {0: "1969-12-31 23:59:59", 1: "2024-02-29 00:00:00", 2: None}[begin]
            self.assertEqual(row["t"] and row["t"][:19], stamp)

    @needs_pyarrow
    def test_lists(self):
        lists = pyarrow.table({
            "x": pyarrow.array([[[1, 2], [3, 4]], [[5, 6]], None, [[7, 8]]], pyarrow.list_(pyarrow.list_(pyarrow.float32(), 2))),
            "label": ["a", "b", "a", "b"]})  # fmt: skip
        self.assertEqual(unroll.Dataset(lists).describe()["steps"], 4)
        cut = unroll.Dataset(lists.slice(1, 3))
        self.assertEqual(columns(cut), {"x": ("numbers", "step", 0), "label": ("category", "example", 0)})
        self.assertEqual(cut.describe()["steps"], 2)
        words = unroll.Dataset(pyarrow.table({"w": [["a", "b"], ["c"]], "tag": [["N", "V"], ["N"]]}))
        self.assertEqual(columns(words), {"w": ("category", "step", 0), "tag": ("category", "step", 0)})
        fixed = pyarrow.table({"x": pyarrow.array([[1.0, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.float64(), 2))}).slice(1)
        self.assertEqual(unroll.Dataset(fixed, ["p", "q"]).describe()["steps"], 4)
        for bad in ({"z": [{"q": 1}]}, {"z": [[["a"]]]}):
            with self.assertRaisesRegex(TypeError, "column 'z' has Arrow's type"):
                unroll.Dataset(pyarrow.table(bad))
        with self.assertRaisesRegex(ValueError, "2 rows, and there are 1 targets"):
            unroll.Dataset(fixed, ["p"])
        self.assertEqual(unroll.Dataset(pyarrow.chunked_array([["ab", "c"]]), pyarrow.array(["x", "y"])).vocabulary, ["a", "b", "c"])

    @unittest.skipUnless(pandas and pyarrow, "pandas could not be installed")
    def test_pandas_is_the_file(self):
        """A frame and its csv file are the same data."""
        frame = pandas.DataFrame({
            "date": pandas.date_range("2024-01-01", periods=40, freq="15min"), "load": numpy.linspace(0, 1, 40).astype("f4"),
            "level": range(40), "kind": pandas.Categorical(["u", "v"] * 20), "note": ["k l", None] * 20})  # fmt: skip
        frame.loc[3, "load"] = numpy.nan
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "frame.csv")
            frame.to_csv(path, index=False)
            of_file, of_frame = unroll.Dataset(path).describe(), unroll.Dataset(frame).describe()
        for key in ("rows", "sequences", "steps", "time", "columns", "first"):
            self.assertEqual(of_frame.get(key), of_file.get(key), key)
        texts = unroll.Dataset(pandas.Series(["ab", "c"]), pandas.Series(["x", "y"]))
        self.assertEqual(columns(texts)["text"], ("tokens", "step", 0))


    @unittest.skipUnless(pandas and pyarrow, "pandas could not be installed")
    def test_index(self):
        """The index orders or names the rows: it is read as in the csv file that pandas writes."""
        hours = pandas.date_range("2024-01-01", periods=30, freq="h")
        load = numpy.arange(30.0) ** 2
        for index, time, first_time in (
            (hours, "index", "2024-01-01"),
            (hours.rename("when"), "when", "2024-01-01"),
            (hours.tz_localize("UTC"), "index", "2024-01-01 00:00:00Z"),
            (hours.tz_localize("Etc/GMT-2").tz_convert("+02:00"), "index", "2024-01-01 00:00:00+02:00"),
            (pandas.period_range("2000Q1", periods=30, freq="Q", name="quarter"), "quarter", "2000Q1"),
            (pandas.period_range("2000-01", periods=30, freq="M"), "index", "2000-01-01"),
            (pandas.period_range("2024-01-01", periods=30, freq="W"), "index", "2024-01-01"),
        ):
            for held in (pandas.DataFrame({"load": load}, index=index), pandas.Series(load, index=index, name="load")):
                data = unroll.Dataset(held)
                self.assertEqual(data.describe()["time"], time)
                self.assertEqual(first(data)[0], {time: first_time, "load": 0})
        frame = pandas.DataFrame({"load": load, "kind": ["u", "v"] * 15})
        self.assertEqual(list(columns(unroll.Dataset(frame[frame.load % 3 != 1]))), ["load", "kind"])
        self.assertEqual(list(columns(unroll.Dataset(frame))), ["load", "kind"])
        years = unroll.Dataset(frame.set_index(pandas.Index(range(1990, 2020), name="year")))
        self.assertEqual(years.describe()["time"], "year")

    @unittest.skipUnless(pandas and pyarrow, "pandas could not be installed")
    def test_kinds_of_columns(self):
        codes = [3, 1, 3, 2] * 5
        frame = pandas.DataFrame({
            "size": pandas.Categorical(codes), "whole": pandas.array([1, None, 3, 4] * 5, dtype="Int64"),
            "flag": pandas.array([True, None, False, True] * 5, dtype="boolean"),
            "kind": pandas.array(["a", None, "b", "NA"] * 5, dtype="string"),
            "month": pandas.period_range("2000-01", periods=20, freq="M").to_series(index=range(20))})  # fmt: skip
        found = columns(unroll.Dataset(frame))
        self.assertEqual(found, {"size": ("category", "step", 0), "whole": ("numbers", "step", 5), "flag": ("category", "step", 5),
                                 "kind": ("category", "step", 5), "month": ("time", "step", 0)})
        try:
            import polars
        except ImportError:
            self.skipTest("polars could not be installed")
        frame = polars.DataFrame({"t": [datetime.datetime(2024, 1, 1, h) for h in range(20)],
                                  "size": polars.Series(["u", "v", None, "u"] * 5, dtype=polars.Categorical),
                                  "load": [1.5, None, 2, 3] * 5})  # fmt: skip
        self.assertEqual(columns(unroll.Dataset(frame)), {"t": ("time", "step", 0), "size": ("category", "step", 5),
                                                           "load": ("numbers", "step", 5)})

    @needs_numpy
    def test_masked(self):
        """Masked values are missing, whatever is stored below the mask."""
        whole = numpy.ma.masked_equal([1, 2, 999, 4] * 5, 999)
        found = columns(unroll.Dataset({"a": whole, "b": numpy.ma.masked_greater(numpy.linspace(0, 1, 20), 0.9)}))
        self.assertEqual(found, {"a": ("numbers", "step", 5), "b": ("numbers", "step", 2)})
        cube = numpy.ma.masked_less(numpy.arange(24.0).reshape(4, 3, 2), 5)
        self.assertEqual(columns(unroll.Dataset(cube, ["p", "q"] * 2))["x"][2], 5)
        self.assertEqual(columns(unroll.Dataset([row for row in cube], ["p", "q"] * 2))["x"][2], 5)
        self.assertEqual(columns(unroll.Dataset(whole.reshape(5, 4)))["x"][2], 5)
        labels = columns(unroll.Dataset([[1, 2], [2, 3], [3, 4]], numpy.ma.masked_equal([0, 1, 9], 9)))
        self.assertEqual(labels["label"], ("category", "example", 1))
        target = columns(unroll.Dataset([[1, 2], [2, 3], [3, 4]], numpy.ma.masked_invalid([0.5, numpy.nan, 9])))
        self.assertEqual(target["target"], ("numbers", "example", 1))
        self.assertEqual(columns(unroll.Dataset(numpy.ma.masked_less(numpy.arange(20.0), 3)))["x"][2], 3)


def reviews(count, seed=1):
    draw = random.Random(seed)
    for _ in range(count):
        good = draw.random() < 0.5
        mood = draw.choice(["good", "fine"] if good else ["bad", "poor"])
        yield {"text": f"{draw.choice(['a', 'the', 'that'])} {mood} one", "label": "pos" if good else "neg"}


def write_tones(folder, count):
    """Writes sounds of 0.3 s, in a folder for each class: tones that rise or fall, in noise."""
    draw = random.Random(1)
    for i in range(count):
        name, phase, samples = ("up", "down")[i % 2], 0.0, array.array("h")
        for t in range(2400):
            part = t / 2400 if name == "up" else 1 - t / 2400
            phase += 2 * math.pi * (300 + 10 * i + 900 * part) / 8000
            samples.append(round(9000 * math.sin(phase) + draw.gauss(0, 300)))
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        with wave.open(os.path.join(folder, name, f"{i}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(samples.tobytes())


class Fitting(unittest.TestCase):
    def test_sounds(self):
        """A folder of sounds and one of them are accepted as the command accepts them."""
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "tones")
            write_tones(folder, 60)
            fitted = unroll.fit(pathlib.Path(folder), epochs=20, validation=0, test=0.2, hidden=16, bidirectional=0)
            self.assertEqual(fitted.test["examples"], 12)
            self.assertGreater(fitted.test["accuracy"], 0.8)
            alone = [fitted.model.predict(os.path.join(folder, name)) for name in ("up/58.wav", "down/59.wav")]
            self.assertEqual([a["label"] for answer in alone for a in answer], ["up", "down"])
            answers = fitted.model.predict(folder)
            self.assertEqual(len(answers), 60)
            self.assertGreater(sum(a["label"] == a["truth"] for a in answers), 48)
            words = os.path.join(place, "words.wav")
            with open(words, "w", encoding="utf-8") as file:
                file.write("these are words")
            with self.assertRaisesRegex(unroll.DataError, "not a wav file"):
                fitted.model.predict(words)

    def test_fit(self):
        seen = []
        fitted = unroll.fit(reviews(120), epochs=6, hidden=8, learning_rate=0.03, warmup=0, validation=0.25, test=20,
                            on_epoch=seen.append, bidirectional=0)  # fmt: skip
        self.assertEqual([round(e["epoch"], 6) for e in seen], [1, 2, 3, 4, 5, 6])
        self.assertEqual(seen, fitted.history)
        self.assertEqual(fitted.model.config["hidden"], 8)
        self.assertEqual(fitted.validation["metric"], "accuracy")
        best = max(e["validation"]["accuracy"] for e in seen)
        self.assertEqual(fitted.validation["accuracy"], best)
        self.assertEqual((fitted.test["examples"], fitted.test["accuracy"]), (20, 1))
        self.assertEqual(sum(map(sum, fitted.test["details"]["confusion"])), 20)
        answers = fitted.model.predict(["the good one", "a poor one"])
        self.assertEqual([a["label"] for a in answers], ["pos", "neg"])
        self.assertEqual(pickle.loads(pickle.dumps(fitted.model)).predict(["the good one", "a poor one"]), answers)
        found = unroll.evaluate(fitted.model, unroll.Dataset(reviews(40, seed=2), model=fitted.model))
        self.assertEqual((found["accuracy"], found["examples"], found["naive"]), (1, 40, "majority"))

    def test_fit_is_the_command(self):
        """The test result is the same to the last digit that the command prints."""
        command = os.path.join(BUILD, "unroll")
        if not os.access(command, os.X_OK):
            self.skipTest("there is no build/unroll")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "reviews.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in reviews(90))
            options = ["--epochs", "4", "--val", "0.2", "--test", "20", "--seed", "5", "--hidden", "8", "--json"]
            done = subprocess.run([command, "train", path, *options, "--out", os.path.join(folder, "run")],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            theirs = json.loads(done.stdout.splitlines()[-1])
            ours = unroll.fit(path, epochs=4, validation=0.2, test=20, seed=5, hidden=8)
        for part, found in (("val", ours.validation), ("test", ours.test)):
            self.assertEqual(theirs[part]["examples"], found["examples"])
            self.assertAlmostEqual(theirs[part]["loss"], found["loss"], delta=1e-8 * found["loss"])

    def test_best_weights_are_kept(self):
        """Random labels: overfitting harms, and the weights before it are kept."""
        draw = random.Random(5)
        rows = [{"text": "".join(draw.choices("abcd", k=6)), "label": draw.choice("xy")} for _ in range(120)]
        data = unroll.Dataset(rows)
        held = [{"text": "".join(draw.choices("abcd", k=6)), "label": draw.choice("xy")} for _ in range(60)]
        fitted = unroll.fit(data, epochs=30, hidden=16, learning_rate=0.03, warmup=0, validation=0.25, test=held, patience=4)
        history = fitted.history
        self.assertLess(len(history), 30)
        self.assertEqual(history[-1]["since_best"], 4)
        best = history[-5]["validation"]
        self.assertEqual(fitted.validation, best)
        self.assertLess(best["loss"], history[-1]["validation"]["loss"])
        self.assertEqual(unroll.evaluate(fitted.model, unroll.Dataset(held, model=fitted.model)), fitted.test)

    def test_a_step_a_label(self):
        draw = random.Random(3)
        rows = [[draw.randrange(2) for _ in range(draw.randrange(3, 9))] for _ in range(60)]
        data = unroll.Dataset(rows, [["odd" if sum(r[: i + 1]) % 2 else "even" for i in range(len(r))] for r in rows])
        defaults = unroll.task_defaults(data)
        self.assertEqual(defaults["task"], "tag")
        self.assertIn("tag", defaults["why"])
        fitted = unroll.fit(data, steps=3, validation=0, hidden=8)
        self.assertIsNone(fitted.validation)
        self.assertEqual(len(fitted.model.predict([[1, 0, 1]])), 1)

    def test_forecast(self):
        sine = [math.sin(i / 4) for i in range(400)]
        fitted = unroll.fit({"wave": sine}, "forecast", task_options={"horizon": 4, "target": ["wave"]}, epochs=3, test=40)
        self.assertTrue(0 < fitted.test["mse"] < 1, fitted.test)
        answer = fitted.model.predict({"wave": sine})
        self.assertTrue(answer and isinstance(answer[0], dict))

    def test_trainer(self):
        data = unroll.Dataset(reviews(60))
        other = unroll.Dataset(reviews(30, seed=4), model=unroll.Model(data, hidden=4))
        model = unroll.Model(data, "classify", task_options={"target": "label"}, hidden=4)
        trainer = unroll.Trainer(model, data, validation=other, test=10, class_weights=None, task_options="target=label")
        del other                                       # the trainer keeps it
        trainer.step()
        self.assertEqual(trainer.validate()["examples"], 30)
        self.assertEqual(trainer.test()["examples"], 10)
        del trainer
        for wrong, kind, words in (({"validation": "0.1"}, TypeError, "validation: expected a share"), ({"task_options": {"targte": 1}}, unroll.UsageError, "targte"),
                                   ({"task_options": 3}, TypeError, "a dict or a str"), ({"test": 0.9}, unroll.UsageError, "test")):  # fmt: skip
            with self.assertRaisesRegex(kind, words):
                unroll.Trainer(unroll.Model(data, hidden=4), data, **wrong)
        with self.assertRaisesRegex(TypeError, "epochs and steps"):
            unroll.fit(data, epochs=1, steps=1)
        with self.assertRaisesRegex(TypeError, "hiden"):
            unroll.fit(data, hiden=1)


if __name__ == "__main__":
    unittest.main()
