"""Recurrent networks, trained and run at the speed of the hardware.

    model = unroll.load("model.safetensors")
    result = model.run(x)                       # x [steps, rows, input] of float32
    numpy.asarray(result.outputs)               # no copy

Arrays go in by the buffer protocol (NumPy, array.array, memoryview) or DLPack (PyTorch and others) where they lie,
row by row and time-major, and come out as `Array`, which shows both. The GIL is released while kernels run.
`unroll.torch` has LSTM, GRU and RNN to use instead of those of torch.nn. docs/howto/python.md describes them.
"""

from __future__ import annotations

import collections
import itertools
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _core
from ._core import Array, Session, Stream, cells, evaluate, formats, isas, optimizers, sample, sample_order, task_defaults
from ._data import is_path, table_of
from ._errors import (
    CommunicationError,
    DataError,
    DivergedError,
    Error,
    ResourceError,
    UnsupportedError,
    UsageError,
)
from ._fit import Fitted, fit

__all__ = [
    "Array", "CommunicationError", "DataError", "Dataset", "DivergedError", "Error", "Fitted", "Model", "ResourceError", "Result", "Session",
    "Stream", "Trainer", "UnsupportedError", "UsageError", "cells", "evaluate", "fit", "formats", "import_model",
    "isas", "load", "optimizers", "sample", "sample_order", "task_defaults",
]  # fmt: skip

__version__: str = _core.version

_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Result(NamedTuple):
    """What a run gives: outputs [steps, rows, width], and the final states [rows, width] by name: "h.l0", of LSTMs also
    "s.l0", of the backward direction "h.l0.reverse". They may be the next run's initial states."""

    outputs: Array
    states: dict[str, Array]


class Dataset(_core.Dataset):
    """Data to learn from, to evaluate and to answer.

    Dataset(path): a file or a folder, with the reader of that name or the one that recognises it.
    Dataset(frame): of pandas, polars or pyarrow; Dataset({"name": column, ...}): lists or arrays; Dataset(rows): an
    iterable of dicts. A row is a step of a series, or, with texts or lists in it, an example.
    Dataset(x, y): x [examples, steps] or [examples, steps, features], a list of sequences, or texts; y [examples] labels
    (str, int) or numbers (float), a list of these for each step, or None. Dataset(iterable of (x, y)) is the same.
    None and NaN are missing.

    model: the data are read as that model reads, with its vocabulary, and may lack the targets. Other keywords are the
    reader's: tokens="words", vocab=5000, columns={"name": "category"}, group=, time=, of files more."""

    def __new__(
        cls, data: Any, y: Any = None, /, *, reader: Optional[str] = None, model: Optional[Model] = None, **options: Any
    ) -> Dataset:
        if is_path(data):
            if y is not None:
                raise TypeError("a file has its targets inside; fix: leave out y")
            return super().__new__(cls, data, reader=reader, model=model, **options)
        return cls._of_table(*table_of(data, y), model=model, **options)


class Model(_core.Model):
    """A network and its weights.

    Model(cell="lstm", layers=1, hidden=128, input=N, ...) draws random weights from `seed`; the keywords are the
    members of unroll_spec in unroll.h, with loss "none", "xent", "mse", "mae", "huber", "bce", "poisson",
    "quantile:0.1,0.5,0.9", "gaussian" or "student-t".
    Model(dataset, task=None, task_options=None, ...) takes what is not given from a `Dataset` and what is to be learned
    from it. `Model.network(layers, ...)` takes any layers. `spec`, `layers`, `vocabulary` and `parameters()` tell what
    it is."""

    #: Sessions that `run` keeps, each for one shape.
    SESSIONS = 4

    _kept: Optional[collections.OrderedDict[tuple[Any, ...], Session]] = None
    _kept_for: tuple[Any, ...] = ()     # the process and the type of weights
    _shown = False                      # parameters() was called: somebody may write there
    _units: Optional[tuple[tuple[bytes, Optional[str]], Model]] = None      # what `in_units` made last, and of what
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
        """Whole sequences: inputs [steps, rows, input] of float32, or of a model of tokens [steps, rows] of int32. Their
        name may be left out. Of a model with columns tokens= [steps, rows, token columns] and inputs= [steps, rows,
        numbers].

        lengths [rows] of int32: outputs beyond them are zero, and final states are those after a row's last step.
        states: initial ones [rows, width], as an earlier result has them; what is not given is zero. dtype: of weights,
        "fp32", "bf16" or "int8" in products. threads: 0, as many as are faster, or a number. Numbers are in the units of
        the data that the model was trained on; raw: as the network reads and gives them. series: as for `in_units`."""
        if not raw and self._is_scaled():
            copy = self.in_units(series)
            return copy.run(x, inputs=inputs, tokens=tokens, lengths=lengths, states=states, dtype=dtype,
                            threads=threads, raw=True)  # fmt: skip
        spec = self.spec
        arrays = _inputs(spec, x, inputs, tokens)
        for name, array in arrays.items():              # of equal steps and rows, as the session sees to
            shape = _core.shape(array, name, "int32" if name == "tokens" else "float32")
            if len(shape) != (2 if spec["tokens"] else 3):
                last = "" if spec["tokens"] else ", token columns" if name == "tokens" else ", input"
                axes = f"[steps, rows{last}]"
                raise ValueError(f"{name}: the shape {axes} is wanted, not {list(shape)}")
        with self._alone():                             # states, forward and results are one
            session = self._session((shape[0], shape[1], lengths is not None, threads), dtype)
            if self._shown and self.sessions == len(self._kept or ()):
                session.set_weights(list(super().parameters().values()))        # looks whether they are the same
            names = [n for n in _state_names(len(self.layers)) if session.has(_of_session(n, "n"))]
            _give_states(session, names, states or {})
            session.forward(**arrays, lengths=lengths)
            outputs = session.read("z" if session.has("z") else f"y.l{len(self.layers) - 1}")
            return Result(outputs, {n: session.read(_of_session(n, "n")) for n in names})

    def _session(self, key: tuple[int, int, bool, int], dtype: str) -> Session:
        """The session that `run` keeps for this shape. All sessions of a model keep their weights alike. A child that
        was forked has its own: another thread may have been using those of its parent."""
        if self._kept is None or self._kept_for != (os.getpid(), dtype):
            self._kept, self._kept_for = collections.OrderedDict(), (os.getpid(), dtype)
        if key not in self._kept:
            steps, rows, lengths, threads = key
            self._kept[key] = Session(
                self, steps=steps, rows=rows, lengths=lengths, threads=threads, dtype=dtype
            )
        self._kept.move_to_end(key)
        while len(self._kept) > self.SESSIONS:
            self._kept.popitem(last=False)
        return self._kept[key]

    def _is_scaled(self) -> bool:
        """Does the schema have scales that are not in the weights?"""
        task = json.loads(self.schema or "{}").get("task") or {}
        scales = [one for one in task.get("inputs", []) if isinstance(one, dict)]
        inputs = any(s != 0 for one in scales for s in one.get("shift", [])) or any(
            s != 1 for one in scales for s in one.get("scale", []))
        outputs = any(m != 0 for m in task.get("mean", [])) or any(d != 1 for d in task.get("deviation", []))
        return inputs or outputs or "channels" in task

    def in_units(self, series: Optional[str] = None) -> Model:
        """A copy that reads and gives numbers in the units of the data that the model was trained on: their scales become
        a part of the weights, as in `unroll stream` and exported programs. series: of a forecast of several series, the
        one whose scale it has."""
        with self._alone():
            if self.sessions > len(self._kept or ()):       # a trainer or a session has the weights
                self.session(steps=1, rows=1).pull()
            made_of = _to_bytes(self), series
            if self._units is None or self._units[0] != made_of:
                copy = _from_bytes(type(self), made_of[0])
                copy._take_units(series)
                self._units = made_of, copy
            return self._units[1]

    def parameters(self) -> dict[str, Array]:
        """The weights by name: Arrays in the model's own memory. What is written there holds from the next `run`,
        `stream` or `save` on; while there are sessions or a trainer of yours the weights are theirs: `Session.push`
        takes these there, `Session.pull` brings them here, and so does the end of one that changed them."""
        self._shown = True
        return super().parameters()

    def __repr__(self) -> str:
        spec = self.spec
        parts = [f"{len(spec['inputs'])} columns" if spec["inputs"] else
                 f"{spec['input']} {'tokens' if spec['tokens'] else 'inputs'}"]
        if spec["embed"]:
            parts.append(f"embedding {spec['embed']}")
        for name, alike in itertools.groupby(_layer_name(layer) for layer in self.layers):
            count = len(list(alike))
            parts.append(f"{count} x {name}" if count > 1 else name)
        numbers = sum(math.prod(array.shape) for array in super().parameters().values())
        return f"<{type(self).__name__} {' -> '.join(parts)}, loss {spec['loss']}, {numbers} parameters>"

    def __reduce__(self) -> tuple[Any, ...]:
        """The bytes of the file that `save` writes, which say their version, and what a user has put into the object.
        So copies and pickles have the weights that are in `parameters()`, bit for bit, and no sessions."""
        own = {name: value for name, value in self.__dict__.items() if name not in Model._OF_SESSIONS}
        return _from_bytes, (type(self), _to_bytes(self)), own or None

    def close(self) -> None:
        """Frees the sessions that `run` keeps."""
        with self._alone():
            self._kept = None

    def _alone(self) -> Any:
        """The lock of this process: in a child that was forked no thread is left that would give back its parent's."""
        return self.__dict__.setdefault("_locks", {}).setdefault(os.getpid(), threading.RLock())

    def session(self, mode: str = "infer", **config: Any) -> Session:
        """A session: the members of unroll_session_config are its keywords (steps, rows, lengths, ...)."""
        return Session(self, mode=mode, **config)

    def stream(
        self, rows: int = 1, dtype: str = "fp32", isa: Optional[str] = None, *, raw: bool = False, series: Optional[str] = None
    ) -> Stream:
        """A stream: the model step by step, with its weights as they are now; after training, `session.pull()` first. raw
        and series: as for `run`."""
        model = self if raw or not self._is_scaled() else self.in_units(series)
        return Stream(model, rows=rows, dtype=dtype, isa=isa)

    def predict(self, data: Any, /, **machine: Any) -> list[dict[str, Any]]:
        """The answers to data, which may lack the targets, in their order and in their labels and units: of a classifier
        {"label": .., "probability": .., "probabilities": {..}} for each sequence, of other tasks what they answer. data: a
        `Dataset` that was read with this model, or what one is made of. The keywords say where: threads, dtype, device."""
        return _core.predict(self, data if isinstance(data, Dataset) else Dataset(data, model=self), **machine)

    def plan(self, mode: str = "train", **config: Any) -> dict[str, Any]:
        """The operations of one step, their cost and memory, as `unroll plan --json` prints them."""
        planned: dict[str, Any] = json.loads(_core.plan(self, mode=mode, **config))
        return planned

    def export(self, path: _Path, format: str, **config: Any) -> str:
        """Writes a file for another tool (`formats()`); gives what there is to know about it."""
        return _core.export_model(self, path, format=format, **config)


def _inputs(spec: dict[str, Any], x: Any, inputs: Any, tokens: Any) -> dict[str, Any]:
    """The arrays that a model reads, by name; of one the name may have been left out."""
    columns = spec["inputs"] or [{"tokens": spec["tokens"]}]
    names = [n for n, reads in (("tokens", any(c["tokens"] for c in columns)),
                                ("inputs", not all(c["tokens"] for c in columns))) if reads]
    given = {n: a for n, a in (("tokens", tokens), ("inputs", inputs)) if a is not None}
    if len(names) == 1 and not given and x is not None:
        return {names[0]: x}
    if x is not None or sorted(given) != sorted(names):
        if len(names) == 1:
            raise TypeError(f"the model reads {names[0]}: one array of them is wanted, by position or as {names[0]}=")
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
    """All that there may be: h and s of each layer, both ways."""
    return [f"{kind}.l{i}{way}" for i in range(layers) for way in ("", ".reverse") for kind in "hs"]


def _of_session(name: str, which: str) -> str:
    """The session's name of a state: "h.l0" is its "h0.l0" before a run and "hn.l0" after it."""
    return name[0] + which + name[1:]


def _give_states(session: Session, names: list[str], states: Mapping[str, Any]) -> None:
    for name in states:
        if name not in names:
            raise ValueError(f"states: the model has no '{name}'; it has {', '.join(names)}")
    session.clear_states()
    for name, state in states.items():
        session.write(_of_session(name, "0"), state)


def load(path: _Path) -> Model:
    """A model from a safetensors file of Unroll's."""
    return Model.load(path)


def import_model(path: _Path, **config: Any) -> tuple[Model, str]:
    """A model from another tool's file (`formats()`), and what was found there, line by line. The keywords are
    those of unroll_import_config: format, prefix, order, nonlinearity, gru_reset."""
    model, report = _core.import_model(Model, path, **config)
    assert isinstance(model, Model)
    return model, report


class Trainer(_core.Trainer):
    """Training as `unroll train` does it. Trainer(model, dataset, *, task=None, batch=32, bptt=64, optimizer="adam",
    learning_rate=..., validation=0.1, seed=1, ...): the keywords are the members of unroll_train_config, with the
    rates among them. `step()` makes one update, `validate()` measures, `save(directory)` and `load(directory)` keep
    what is needed to go on bit for bit; `progress` is where it stands, with the best validation so far."""

    def metrics(self, steps: int, validate_every: int = 0, patience: int = 0) -> Iterator[dict[str, Any]]:
        """Trains for so many updates; a dict after each: `progress`, and after each `validate_every` of them also
        validation: a new best one has since_best == 0. Ends after `patience` validations that were no better than the
        best; 0: never."""
        for count in range(1, steps + 1):
            measured: dict[str, Any] = self.step()
            if validate_every and count % validate_every == 0:
                loss = self.validate()["loss"]
                measured = self.progress | {"validation": loss}
            yield measured
            if patience and self.progress["since_best"] >= patience:
                return
