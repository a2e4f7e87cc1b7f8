"""Recurrent networks, trained and run at the speed of the hardware.

    model = unroll.load("model.safetensors")
    result = model.run(x)                       # x [steps, rows, input] of float32
    numpy.asarray(result.outputs)               # no copy

Array arguments use the buffer protocol (NumPy, array.array, memoryview) or DLPack (PyTorch and others) without a copy.
They are row-major and time-major. Results are of type `Array`, which supports both protocols. The GIL is released
while kernels run. `unroll.torch` has replacements for LSTM, GRU and RNN of torch.nn. See docs/howto/python.md.
"""

from __future__ import annotations

import collections
import itertools
import json
import math
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _core
from ._core import Array, StreamPool, Session, Stream, cells, evaluate, formats, isas, optimizers, sample, sampler_order, task_defaults
from ._data import is_path, table_of
from ._errors import (
    CommunicationError,
    DataError,
    DivergedError,
    Error,
    NoteWarning,
    ResourceError,
    UnsupportedError,
    UsageError,
)
from ._fit import Fitted, fit
from ._frame import frame_of

__all__ = [
    "Array", "CommunicationError", "DataError", "Dataset", "DivergedError", "Error", "Fitted", "Model", "NoteWarning", "ResourceError", "Result", "Session",
    "StreamPool", "Stream", "Trainer", "UnsupportedError", "UsageError", "cells", "evaluate", "fit", "formats", "import_model",
    "isas", "load", "optimizers", "sample", "sampler_order", "task_defaults",
]  # fmt: skip

__version__: str = _core.version

_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Result(NamedTuple):
    """The result of a run: outputs [steps, rows, width], and the final states [rows, width] by name: "h.l0", for LSTMs
    also "s.l0", for the backward direction "h.l0.reverse". They can be passed to the next run as initial states."""

    outputs: Array
    states: dict[str, Array]


class Dataset(_core.Dataset):
    """Data to train on, to evaluate and to predict.

    Dataset(path): a file or a folder, with the named reader or the one that recognizes it.
    Dataset(frame): of pandas, polars or pyarrow; Dataset({"name": column, ...}): lists or arrays; Dataset(rows):
    an iterable of dicts. A row is a step of a series or, if it contains texts or lists, an example.
    Dataset(x, y): x [examples, steps] or [examples, steps, features], a list of sequences, or texts; y [examples]
    labels (str, int) or numbers (float), a list of these for each step, or None. Dataset(iterable of (x, y)) is
    the same. None and NaN are missing.

    model: reads the data like this model, with its vocabulary; targets may be absent. Other keywords are the
    reader's: tokens="words", vocab=5000, columns={"name": "category"}, for files also group=, time=."""

    def __new__(
        cls, data: Any, y: Any = None, /, *, reader: Optional[str] = None, model: Optional[Model] = None, **options: Any
    ) -> Dataset:
        if is_path(data):
            if y is not None:
                raise TypeError("a file has its targets inside; fix: leave out y")
            return super().__new__(cls, data, reader=reader, model=model, **options)
        return cls._of_table(*table_of(data, y), model=model, **options)

    def __repr__(self) -> str:
        found: Any = self.describe()
        names = [column["name"] for column in found["columns"]]
        return (f"<Dataset of {found['sequences']} sequences, {found['steps']} steps: {', '.join(names[:6])}"
                f"{', ..' if len(names) > 6 else ''}>")


class Model(_core.Model):
    """A network and its weights.

    Model(cell="lstm", layers=1, hidden=128, input=N, ...) draws random weights from `seed`; the keywords are the
    members of unroll_model_config in unroll.h, with loss "none", "xent", "mse", "mae", "huber", "bce", "poisson",
    "quantile:0.1,0.5,0.9", "gaussian", "student-t", "crf" or "ctc".
    Model(dataset, task=None, task_options=None, ...) derives everything else from a `Dataset` and the task.
    `Model.from_network(layers, ...)` accepts any layers. `config`, `layers`, `vocabulary` and `parameters()` describe the
    model."""

    #: Number of sessions that `run` keeps, each for one shape.
    SESSIONS = 4

    _kept: Optional[collections.OrderedDict[tuple[Any, ...], Session]] = None
    _kept_for: tuple[Any, ...] = ()     # the process and the type of weights
    _shown = False                      # parameters() was called: the caller may write there
    _units: Optional[tuple[tuple[bytes, Optional[str]], Model]] = None      # last result of `to_units`, its arguments
    _OF_SESSIONS = frozenset({"_kept", "_kept_for", "_locks", "_shown", "_units"})

    def run(
        self,
        x: Any = None,
        /,
        *,
        inputs: Any = None,
        tokens: Any = None,
        lengths: Any = None,
        states: Optional[Mapping[str, Any]] = None,
        dtype: str = "fp32",
        threads: int = 0,
        raw: bool = False,
        series: Optional[str] = None,
    ) -> Result:
        """Runs whole sequences: inputs [steps, rows, input] of float32, or for a model with tokens [steps, rows] of
        int32. The name may be omitted. For a model with several columns: tokens= [steps, rows, token columns]
        and inputs= [steps, rows, numbers].

        lengths [rows] of int32: outputs beyond them are zero, and final states are those after a row's last
        step. states: initial ones [rows, width], as in an earlier result; others are zero. dtype: of weights,
        "fp32", "bf16" or "int8" in products. threads: a number, or 0 for the fastest. Numbers are in the units
        of the training data; raw: those of the network. series: as for `to_units`."""
        if not raw and self._is_scaled():
            copy = self.to_units(series)
            return copy.run(x, inputs=inputs, tokens=tokens, lengths=lengths, states=states, dtype=dtype,
                            threads=threads, raw=True)  # fmt: skip
        config = self.config
        arrays = _inputs(config, x, inputs, tokens)
        for name, array in arrays.items():              # the session checks that steps and rows agree
            shape = _core.shape(array, name, "int32" if name == "tokens" else "float32")
            if len(shape) != (2 if config["tokens"] else 3):
                last = "" if config["tokens"] else ", token columns" if name == "tokens" else ", input"
                axes = f"[steps, rows{last}]"
                raise ValueError(f"{name}: expected the shape {axes}, not {list(shape)}")
        with self._alone():                             # states, forward and results belong together
            session = self._session((shape[0], shape[1], lengths is not None, threads), dtype)
            if self._shown and self.sessions == len(self._kept or ()):
                session.set_weights(list(super().parameters().values()))        # compares them first
            names = [n for n in _state_names(len(self.layers)) if session.has(_of_session(n, "n"))]
            _give_states(session, names, states or {})
            session.forward(**arrays, lengths=lengths)
            outputs = session.read("z" if session.has("z") else f"y.l{len(self.layers) - 1}")
            return Result(outputs, {n: session.read(_of_session(n, "n")) for n in names})

    def _session(self, key: tuple[int, int, bool, int], dtype: str) -> Session:
        """The session that `run` keeps for this shape. All sessions of a model share its weights. A forked child has its
        own sessions, because another thread may have been using those of its parent."""
        if self._kept is None or self._kept_for != (os.getpid(), dtype):
            self._kept, self._kept_for = collections.OrderedDict(), (os.getpid(), dtype)
        if key not in self._kept:
            steps, rows, lengths, threads = key
            self._kept[key] = Session(
                self, steps=steps, rows=rows, lengths=lengths, threads=threads, dtype=dtype, raw=True
            )
        self._kept.move_to_end(key)
        while len(self._kept) > self.SESSIONS:
            self._kept.popitem(last=False)
        return self._kept[key]

    def _is_scaled(self) -> bool:
        """True if the schema has scales that are not in the weights."""
        task = json.loads(self.schema or "{}").get("task") or {}
        scales = [one for one in task.get("inputs", []) if isinstance(one, dict)]
        inputs = any(s != 0 for one in scales for s in one.get("shift", [])) or any(
            s != 1 for one in scales for s in one.get("scale", []))
        outputs = any(m != 0 for m in task.get("mean", [])) or any(d != 1 for d in task.get("deviation", []))
        return inputs or outputs or "channels" in task

    def to_units(self, series: Optional[str] = None) -> Model:
        """Returns a copy that reads and returns numbers in the units of the training data: scales become a part of the
        weights, as in `unroll stream` and exported programs. series: for a forecast of several series, the one
        whose scale is used."""
        with self._alone():
            if self.sessions > len(self._kept or ()):       # a trainer or a session has the weights
                self.session(steps=1, rows=1, raw=True).pull()
            made_of = _to_bytes(self), series
            if self._units is None or self._units[0] != made_of:
                self._units = made_of, self._to_units(series)
            return self._units[1]

    def parameters(self) -> dict[str, Array]:
        """The weights by name: Arrays in the model's own memory. Changes apply from the next `run`, `stream` or `save`
        on. While sessions or a trainer of yours exist, the weights are theirs: `Session.push` copies these to
        them. `Session.pull`, or the end of a session that changed them, copies them back."""
        self._shown = True
        return super().parameters()

    def __repr__(self) -> str:
        config = self.config
        parts = [f"{len(config['inputs'])} columns" if config["inputs"] else
                 f"{config['input']} {'tokens' if config['tokens'] else 'inputs'}"]
        if config["embed"]:
            parts.append(f"embedding {config['embed']}")
        for name, alike in itertools.groupby(_layer_name(layer) for layer in self.layers):
            count = len(list(alike))
            parts.append(f"{count} x {name}" if count > 1 else name)
        numbers = sum(math.prod(array.shape) for array in super().parameters().values())
        return f"<{type(self).__name__} {' -> '.join(parts)}, loss {config['loss']}, {numbers} parameters>"

    def __reduce__(self) -> tuple[Any, ...]:
        """The bytes of the file that `save` writes, which include their version, and the object's own attributes. So
        copies and pickles have the weights in `parameters()`, bit for bit, and no sessions."""
        own = {name: value for name, value in self.__dict__.items() if name not in Model._OF_SESSIONS}
        return _from_bytes, (type(self), _to_bytes(self)), own or None

    def close(self) -> None:
        """Frees the sessions that `run` keeps."""
        with self._alone():
            self._kept = None

    def _alone(self) -> Any:
        """Returns the lock of this process: in a forked child, the thread that may hold the parent's lock does not exist.
        """
        return self.__dict__.setdefault("_locks", {}).setdefault(os.getpid(), threading.RLock())

    def session(self, mode: str = "infer", **config: Any) -> Session:
        """Creates a session: the members of unroll_session_config are its keywords (steps, rows, lengths, ...). For
        inference and evaluation, numbers are in the units of the data unless raw=True, with a copy of the
        current weights. For training, raw=True is required if the schema scales numbers."""
        return Session(self, mode=mode, **config)

    def stream(
        self, rows: int = 1, dtype: str = "fp32", isa: Optional[str] = None, *, raw: bool = False, series: Optional[str] = None
    ) -> Stream:
        """Creates a stream: the model step by step, with a copy of its current weights; after training, call
        `session.pull()` first. raw and series: as for `run`."""
        if not raw and self._is_scaled():
            return Stream(self.to_units(series), rows=rows, dtype=dtype, isa=isa)
        return Stream(self, rows=rows, dtype=dtype, isa=isa, raw=raw, series=series)

    def stream_pool(
        self, slots: int = 1, dtype: str = "fp32", isa: Optional[str] = None, *, raw: bool = False, series: Optional[str] = None
    ) -> StreamPool:
        """Creates a pool: the states of many sequences, any of which step together. raw and series: as for `run`."""
        return StreamPool(self, slots=slots, dtype=dtype, isa=isa, raw=raw, series=series)

    def predict(self, data: Any, /, *, as_frame: bool = False, **machine: Any) -> Any:
        """Returns predictions for data, whose targets may be absent, in their order, labels and units: for a classifier
        {"label": .., "probability": .., "probabilities": {..}} for each sequence, for other tasks their
        results. data: a `Dataset` that was read with this model, or its arguments; of a model that reads one text also a
        list of texts. as_frame: a pandas frame with the columns of `unroll predict` instead of a list of dicts. Keywords:
        threads, dtype, device. What was left out is a `NoteWarning`."""
        if not isinstance(data, Dataset):
            data = Dataset(_as_column(data, self.schema), model=self)
        answers: list[dict[str, Any]] = _core.predict(self, data, **machine)
        for note in _core.notes():
            warnings.warn(note, NoteWarning, stacklevel=2)
        return frame_of(answers) if as_frame else answers

    def plan(self, mode: str = "train", **config: Any) -> dict[str, Any]:
        """Returns the operations of one step, their cost and memory, as printed by `unroll plan --json`."""
        planned: dict[str, Any] = json.loads(_core.plan(self, mode=mode, **config))
        return planned

    def export(self, path: _Path, format: str, **config: Any) -> str:
        """Writes a file for another tool (`formats()`) and returns a report. Its numbers are in the units of the data
        unless raw=True."""
        return _core.export_model(self, path, format=format, **config)


def _as_column(data: Any, schema: Optional[str]) -> Any:
    """A list of texts as the only column of text that the model reads, whatever it is named."""
    if not isinstance(data, (list, tuple)) or not data or not all(isinstance(text, str) for text in data):
        return data
    columns = json.loads(schema or "{}").get("data", {}).get("columns", [])
    texts = [column["name"] for column in columns if column["type"] == "tokens"]
    return {texts[0]: list(data)} if len(texts) == 1 else data


def _inputs(config: dict[str, Any], x: Any, inputs: Any, tokens: Any) -> dict[str, Any]:
    """Returns the arrays that a model reads, by name; a single one may have been passed without its name."""
    columns = config["inputs"] or [{"tokens": config["tokens"]}]
    names = [n for n, reads in (("tokens", any(c["tokens"] for c in columns)),
                                ("inputs", not all(c["tokens"] for c in columns))) if reads]
    given = {n: a for n, a in (("tokens", tokens), ("inputs", inputs)) if a is not None}
    if len(names) == 1 and not given and x is not None:
        return {names[0]: x}
    if x is not None or sorted(given) != sorted(names):
        if len(names) == 1:
            raise TypeError(f"the model reads {names[0]}: expected one array of them, by position or as {names[0]}=")
        raise TypeError("the model reads tokens and inputs: give both, as tokens= and inputs=")
    return given


def _layer_name(layer: dict[str, Any]) -> str:
    projected = f" to {layer['projection']}" if layer["projection"] else ""
    return f"{layer['kind']} {layer['width']}{projected}{' both ways' if layer['bidirectional'] else ''}"


def _to_bytes(model: _core.Model) -> bytes:
    with os.fdopen(os.memfd_create("model"), "rb") as file:
        model.save(f"/proc/self/fd/{file.fileno()}")
        file.seek(0)
        return file.read()


def _from_bytes(kind: type[Model], data: bytes) -> Model:
    with os.fdopen(os.memfd_create("model"), "wb") as file:
        file.write(data)
        file.flush()
        return kind.load(f"/proc/self/fd/{file.fileno()}")


def _state_names(layers: int) -> list[str]:
    """Lists all possible states: h and s of each layer, both directions."""
    return [f"{kind}.l{i}{way}" for i in range(layers) for way in ("", ".reverse") for kind in "hs"]


def _of_session(name: str, which: str) -> str:
    """Returns the session's name of a state: "h.l0" is its "h0.l0" before a run and "hn.l0" after it."""
    return name[0] + which + name[1:]


def _give_states(session: Session, names: list[str], states: Mapping[str, Any]) -> None:
    for name in states:
        if name not in names:
            raise ValueError(f"states: the model has no '{name}'; it has {', '.join(names)}")
    session.reset()
    for name, state in states.items():
        session.write(_of_session(name, "0"), state)


def load(path: _Path) -> Model:
    """Loads a model from one of Unroll's safetensors files."""
    return Model.load(path)


def import_model(path: _Path, **config: Any) -> tuple[Model, str]:
    """Imports a model from another tool's file (`formats()`). Returns it and a report, line by line. The keywords are
    those of unroll_import_config: format, prefix, order, nonlinearity, gru_reset."""
    model, report = _core.import_model(Model, path, **config)
    assert isinstance(model, Model)
    return model, report


class Trainer(_core.Trainer):
    """Training as in `unroll train`. Trainer(model, dataset, *, task=None, batch=32, bptt=64, optimizer="adam",
    learning_rate=..., validation=0.1, seed=1, ...): the keywords are the members of unroll_trainer_config, including
    the rates. `step()` makes one update, `validate()` validates. `save(directory)` and `load(directory)` write and
    read checkpoints, from which training resumes bit for bit. `progress` is the current state, with the best
    validation so far."""

    def train(self, steps: int, validate_every: int = 0, patience: int = 0) -> Iterator[dict[str, Any]]:
        """Trains for the given number of updates. Yields a dict after each: `progress`, and after every `validate_every`
        updates also validation; a new best one has since_best == 0. Ends after `patience` validations that
        were no better than the best one; 0: never."""
        for count in range(1, steps + 1):
            measured: dict[str, Any] = self.step()
            if validate_every and count % validate_every == 0:
                loss = self.validate()["loss"]
                measured = self.progress | {"validation": loss}
            yield measured
            if patience and self.progress["since_best"] >= patience:
                return
