"""Recurrent networks with scikit-learn's interface: fit, predict, predict_proba, score; for pipelines, searches and
cross-validation.

    from unroll.sklearn import SequenceClassifier
    print(cross_val_score(SequenceClassifier(hidden=32, epochs=20), X, y))

X is an array [examples, steps] or [examples, steps, features], a list of sequences [steps] or [steps, features] of
different lengths, or texts. Training uses `unroll.fit`; the fitted `model_` is an `unroll.Model`."""

# mypy: disable-error-code="import-untyped,import-not-found,misc"

from __future__ import annotations

from typing import Any, Optional, Union

from . import Dataset, Model, fit

try:
    import numpy
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError(f"unroll.sklearn needs scikit-learn 1.6 or newer ({error}); fix: pip install scikit-learn") from error

__all__ = ["SequenceClassifier", "SequenceRegressor"]


class _Sequences(BaseEstimator):
    """Shared by both estimators. None: the task's default (`unroll.task_defaults`). validation: the fraction of examples
    for early stopping; `options`: more keywords of `unroll.fit` (optimizer, clip, task_options, ...)."""

    model_: Model

    def __init__(
        self,
        *,
        hidden: Optional[int] = None,
        layers: Optional[int] = None,
        cell: Optional[str] = None,
        bidirectional: Optional[bool] = None,
        dropout: Optional[float] = None,
        epochs: Optional[float] = None,
        batch: Optional[int] = None,
        learning_rate: Optional[float] = None,
        patience: Optional[int] = None,
        validation: Optional[float] = None,
        tokens: Optional[str] = None,
        threads: int = 1,
        random_state: Any = None,
        options: Optional[dict[str, Any]] = None,
    ) -> None:
        self.hidden = hidden
        self.layers = layers
        self.cell = cell
        self.bidirectional = bidirectional
        self.dropout = dropout
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.patience = patience
        self.validation = validation
        self.tokens = tokens
        self.threads = threads
        self.random_state = random_state
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True                # they are missing values
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags

    def _data(self, X: Any, y: Any = None, fitting: bool = False) -> Any:
        """Converts X to an argument of `Dataset`. Tables in scikit-learn's sense, [examples, steps], are checked by its
        rules.
        """
        if _are_texts(X) or _are_ragged(X):
            return list(X)
        if len(_shape(X)) == 3:
            X = numpy.asarray(X)
            return X.astype("float32") if X.dtype.kind == "O" else X
        checked: Any = validate_data(self, X, dtype="numeric", ensure_all_finite="allow-nan", reset=fitting,
                                     ensure_min_samples=2 if fitting else 1)  # fmt: skip
        return checked

    def _fit(self, task: str, data: Any, y: Any, more: dict[str, Any]) -> None:
        chosen = self.get_params(deep=False)
        for name in ("random_state", "options", "tokens", "class_weight"):
            chosen.pop(name, None)
        keywords = {name: value for name, value in chosen.items() if value is not None} | more | (self.options or {})
        if "bidirectional" in keywords:
            keywords["bidirectional"] = int(keywords["bidirectional"])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        reading: dict[str, Any] = {} if self.tokens is None else {"tokens": self.tokens}
        fitted = fit(Dataset(data, y, **reading), task, seed=seed, **keywords)
        self.model_ = fitted.model
        self.n_iter_ = len(fitted.history)
        self.history_ = fitted.history

    def _answers(self, X: Any) -> list[dict[str, Any]]:
        check_is_fitted(self)
        predictions: list[dict[str, Any]] = self.model_.predict(self._data(X), threads=self.threads)
        return predictions


class SequenceClassifier(ClassifierMixin, _Sequences):
    """Predicts a label for each sequence. class_weight: None, "balanced", or {class: weight}."""

    def __init__(
        self,
        *,
        hidden: Optional[int] = None,
        layers: Optional[int] = None,
        cell: Optional[str] = None,
        bidirectional: Optional[bool] = None,
        dropout: Optional[float] = None,
        epochs: Optional[float] = None,
        batch: Optional[int] = None,
        learning_rate: Optional[float] = None,
        patience: Optional[int] = None,
        validation: Optional[float] = None,
        tokens: Optional[str] = None,
        class_weight: Union[None, str, dict[Any, float]] = None,
        threads: int = 1,
        random_state: Any = None,
        options: Optional[dict[str, Any]] = None,
    ) -> None:
        super().__init__(hidden=hidden, layers=layers, cell=cell, bidirectional=bidirectional, dropout=dropout,
                         epochs=epochs, batch=batch, learning_rate=learning_rate, patience=patience,
                         validation=validation, tokens=tokens, threads=threads, random_state=random_state,
                         options=options)  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any) -> SequenceClassifier:
        """X: see the module; y [examples] labels of any kind."""
        data = self._data(X, fitting=True)
        y = _checked(y, self, len(data))
        check_classification_targets(y)
        self.classes_, numbers = numpy.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"there is only one class, {self.classes_[0]!r}; fix: give examples of two at least")
        more = {}
        if self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            more["class_weights"] = {str(i): float(w) for i, w in enumerate(weights)}
        self._fit("classify", data, [str(i) for i in numbers], more)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Returns [examples, classes], in the order of `classes_`."""
        answers = self._answers(X)
        return numpy.array([[a["probabilities"][str(i)] for i in range(len(self.classes_))] for a in answers])

    def predict(self, X: Any) -> Any:
        """Returns the likeliest class of each example."""
        numbers = [int(answer["label"]) for answer in self._answers(X)]
        return self.classes_[numbers]


class SequenceRegressor(RegressorMixin, _Sequences):
    """Predicts a number for each sequence."""

    def fit(self, X: Any, y: Any) -> SequenceRegressor:
        """X: see the module; y [examples] numbers."""
        data = self._data(X, fitting=True)
        y = numpy.asarray(_checked(y, self, len(data)), dtype="float64")
        if not numpy.isfinite(y).all():
            raise ValueError("y has NaN or infinity; fix: leave those examples out")
        self._fit("regress", data, y, {})
        return self

    def predict(self, X: Any) -> Any:
        """Returns [examples]."""
        return numpy.array([answer["target"] for answer in self._answers(X)])


def _checked(y: Any, estimator: Any, count: int) -> Any:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if len(y) != count:
        raise ValueError(f"X has {count} examples and y {len(y)}; fix: give a target for each")
    return y


def _shape(X: Any) -> tuple[int, ...]:
    """Returns the shape, () for what is not an array."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return tuple(shape)
    try:
        return numpy.shape(X) if isinstance(X, (list, tuple)) else ()
    except ValueError:
        return ()


def _first(X: Any) -> Any:
    return next(iter(X), None) if isinstance(X, (list, tuple)) or len(_shape(X)) == 1 else None


def _are_texts(X: Any) -> bool:
    return isinstance(_first(X), str)


def _are_ragged(X: Any) -> bool:
    """True for a list, or an array of objects, with sequences of different lengths."""
    first = _first(X)
    return len(_shape(X)) < 2 and hasattr(first, "__len__") and not isinstance(first, str)
