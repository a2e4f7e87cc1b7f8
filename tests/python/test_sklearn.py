"""unroll.sklearn with scikit-learn's own checks, and in its pipelines and searches."""

import pickle
import random
import subprocess
import sys
import unittest
import warnings

from common import needs_sklearn, numpy, sklearn

if sklearn:
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.estimator_checks import check_estimator

    from unroll.sklearn import SequenceClassifier, SequenceRegressor


class Import(unittest.TestCase):
    def test_without_scikit_learn(self):
        program = "import sys; sys.modules['sklearn'] = None\nimport unroll\nimport unroll.sklearn"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertIn("unroll.sklearn needs scikit-learn 1.6 or newer", done.stderr)
        self.assertIn("fix: pip install scikit-learn", done.stderr)


@needs_sklearn
class Checks(unittest.TestCase):
    def check(self, estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")             # for checks that are skipped without SCIPY_ARRAY_API
            results = check_estimator(estimator, on_fail=None)
        self.assertGreater(len(results), 40)
        failed = [(r["check_name"], str(r["exception"])[:300]) for r in results if r["status"] not in ("passed", "skipped")]
        self.assertEqual(failed, [])

    def test_classifier(self):
        self.check(SequenceClassifier(hidden=8, epochs=40, learning_rate=0.02))

    def test_regressor(self):
        self.check(SequenceRegressor(hidden=8, epochs=60, learning_rate=0.02))


def rising(count, seed=1):
    x = numpy.random.default_rng(seed).standard_normal((count, 10)).cumsum(1)
    return x, numpy.where(x[:, -1] > x[:, 0], "rose", "fell")


@needs_sklearn
class Use(unittest.TestCase):
    def test_pipeline_and_search(self):
        x, y = rising(120)
        model = make_pipeline(StandardScaler(), SequenceClassifier(hidden=8, epochs=25, learning_rate=0.02, random_state=0))
        self.assertGreater(cross_val_score(model, x, y, cv=2).mean(), 0.8)
        search = GridSearchCV(model, {"sequenceclassifier__hidden": [1, 8]}, cv=2).fit(x, y)
        self.assertGreater(search.best_score_, 0.8)

    def test_classifier(self):
        x, y = rising(100)
        made = SequenceClassifier(hidden=8, epochs=20, learning_rate=0.02, random_state=7, class_weight="balanced")
        first, again = made.fit(x, y), clone(made).fit(x, y)
        proba = first.predict_proba(x)
        self.assertTrue((proba == again.predict_proba(x)).all())            # random_state
        self.assertTrue(numpy.allclose(proba.sum(1), 1, atol=1e-6) and proba.shape == (100, 2))
        self.assertEqual(list(first.classes_), ["fell", "rose"])
        self.assertTrue((first.classes_[proba.argmax(1)] == first.predict(x)).all())
        self.assertGreater(first.score(x, y), 0.8)
        kept = pickle.loads(pickle.dumps(first))
        self.assertTrue((kept.predict_proba(x) == proba).all())
        self.assertEqual(len(first.history_), first.n_iter_)
        with self.assertRaises(NotFittedError):
            clone(first).predict(x)

    def test_sequences(self):
        """Sequences of different lengths, of several features, and texts."""
        draw = random.Random(1)
        ragged = [[draw.uniform(-1, 1) for _ in range(draw.randrange(2, 9))] for _ in range(100)]
        longer = numpy.array([len(r) > 4 for r in ragged])
        options = {"hidden": 8, "epochs": 25, "learning_rate": 0.03, "random_state": 1}
        self.assertGreater(SequenceClassifier(**options).fit(ragged, longer).score(ragged, longer), 0.9)
        packed = numpy.empty(100, dtype=object)
        packed[:] = [numpy.array(r) for r in ragged]
        sums = numpy.array([sum(r) for r in ragged])
        regressor = SequenceRegressor(**options, validation=0.2).fit(packed, sums)
        self.assertGreater(regressor.score(packed, sums), 0.8)
        self.assertIn("validation", regressor.history_[0])
        x = numpy.random.default_rng(2).standard_normal((80, 6, 2))
        y = x[:, :, 0].sum(1) > 0
        wide = SequenceClassifier(**options).fit(x, y)
        self.assertGreater(wide.score(x, y), 0.9)
        with self.assertRaisesRegex(ValueError, "'x' has 3 numbers here and 2 in the model"):
            wide.predict(numpy.zeros((2, 6, 3)))
        texts = [f"{draw.choice(['so', 'very'])} {word}" for word in draw.choices(["good", "fine", "bad", "poor"], k=80)]
        kinds = [text.split()[1] in ("good", "fine") for text in texts]
        for given in (texts, numpy.array(texts), numpy.array(texts, dtype=object)):
            words = SequenceClassifier(tokens="words", **options).fit(given, kinds)
            self.assertEqual(words.score(given, kinds), 1)

    def test_class_weights_of_labels(self):
        x = numpy.random.default_rng(3).standard_normal((60, 4))
        y = numpy.arange(60) % 3 + 9                    # 9, 10, 11: independent of x
        heavy = SequenceClassifier(hidden=4, epochs=10, learning_rate=0.03, random_state=0, class_weight={9: 1, 10: 50, 11: 1})
        self.assertGreater((heavy.fit(x, y).predict(x) == 10).mean(), 0.95)

    def test_refusals(self):
        x, y = rising(20)
        for call, words in ((lambda: SequenceClassifier().fit(x, y[:5]), "20 examples and y 5"),
                            (lambda: SequenceClassifier().fit(x, ["a"] * 20), "only one class"),
                            (lambda: SequenceRegressor().fit(x, [numpy.nan] * 20), "y has NaN"),
                            (lambda: SequenceClassifier(epochs=1).fit(x, y).predict(x[:, :5]), "5 features")):  # fmt: skip
            with self.assertRaisesRegex(ValueError, words):
                call()


if __name__ == "__main__":
    unittest.main()
