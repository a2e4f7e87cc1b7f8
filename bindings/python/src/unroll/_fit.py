"""Training in one call, like the command `unroll train`, in memory."""

from __future__ import annotations

import array
import difflib
import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from . import _core
from ._data import Options, options_text

if TYPE_CHECKING:
    from . import Model

#: Options that `fit` passes to the network; the others are the trainer's.
_OF_NETWORK = frozenset("cell layers hidden bidirectional projection peephole dropout embed tied pool loss init "
                        "input_dropout forget_bias".split())  # fmt: skip
_OF_MACHINE = frozenset("device isa precision dtype threads queues chunks checkpoint_time pieces time_tolerance memory "
                        "exact".split())  # fmt: skip
_OF_FIT = ("task_options", "epochs", "steps", "patience", "validation", "test", "seed", "on_epoch", "group", "time", "columns")
#: The other keywords of `Trainer`, and the hyperparameters of the optimizers.
_OF_TRAINER = frozenset("divide_by augment workers sync compress arrivals replay split_batch split_layer split_hidden split_time "
                        "sum timeout class_weights batch batch_tokens accumulate label_smoothing balanced_classes prefetch bptt "
                        "stateful optimizer schedule warmup total_steps log_interval new_hyperparameters learning_rate clip "
                        "beta1 beta2 epsilon decay momentum".split())  # fmt: skip


class Fitted(NamedTuple):
    """The result of `fit`: the model with the best weights; validation and test, evaluated as by `evaluate` (None:
    nothing was held out); history, a dict for each epoch, as in `Trainer.progress`. test["notes"] exists if there is
    something to know, such as an interval that does not hold."""

    model: Model
    validation: Optional[dict[str, Any]]
    test: Optional[dict[str, Any]]
    history: list[dict[str, Any]]

    def __repr__(self) -> str:
        worth = {name: found and {k: v for k, v in found.items() if k != "details"}
                 for name, found in (("validation", self.validation), ("test", self.test))}
        return f"<Fitted {self.model!r}, {len(self.history)} epochs, validation {worth['validation']}, test {worth['test']}>"


def fit(
    data: Any,
    task: Optional[str] = None,
    /,
    *,
    task_options: Options = None,
    epochs: Optional[float] = None,
    steps: Optional[int] = None,
    patience: Optional[int] = None,
    validation: Any = None,
    test: Any = None,
    seed: int = 1,
    on_epoch: Optional[Callable[[dict[str, Any]], object]] = None,
    group: Optional[str] = None,
    time: Optional[str] = None,
    columns: Optional[Mapping[str, str]] = None,
    **options: Any,
) -> Fitted:
    """Trains a model on data. Unless specified, the network and the training are the task's defaults.

    data: a `Dataset`, or its arguments. task: a name ("classify", "forecast", ...), or None to detect it from the
    data. Training ends after `epochs`, or `patience` epochs whose validation was no better than the best, or
    `steps` updates. validation, test: a fraction (0.1), a number of examples (500), "groups:0.2" (whole series),
    0, or data. on_epoch is called with each entry of the history. group, time, columns: keywords of `Dataset` for
    data that is not one. Other options are keywords of `Model` (hidden, layers, ...) and `Trainer` (batch,
    learning_rate, ...); class_weights may be a dict of labels."""
    from . import Dataset, Model, Trainer

    if epochs is not None and steps is not None:
        raise TypeError("epochs and steps: each says when to end; fix: give one of them")
    _check_names(options)
    given: dict[str, Any] = {"group": group, "time": time, "columns": columns}
    reading = {name: value for name, value in given.items() if value is not None}
    if reading and isinstance(data, Dataset):
        raise TypeError(f"{', '.join(reading)}: the Dataset is read already; fix: give it to Dataset(...)")
    dataset = data if isinstance(data, Dataset) else Dataset(data, **reading)
    standard = _core.task_defaults(dataset, task, task_options=options_text(task_options))
    network = {name: options.pop(name) for name in _OF_NETWORK & options.keys()}
    machine = {name: options[name] for name in _OF_MACHINE & options.keys()}
    model = Model(dataset, standard["task"], task_options=task_options, seed=seed, **network)
    if validation is None:                              # of whole groups, unless the test part is the end of each
        validation = f"groups:{standard['validation']}" if standard["groups"] and not test else standard["validation"]
    held = [_held_out(part, model) for part in (validation, test)]
    if options.get("optimizer", "adam") == "adam":      # the task's learning rate is for the default optimizer
        options.setdefault("learning_rate", standard["learning_rate"])
    if isinstance(options.get("class_weights"), Mapping):
        options["class_weights"] = _class_weights(model, options["class_weights"])
    for name in ("batch", "bptt", "warmup", "schedule", "augment"):
        options.setdefault(name, standard[name])
    trainer = Trainer(model, dataset, task=standard["task"], task_options=task_options, validation=held[0],
                      test=held[1], seed=seed, **options)  # fmt: skip
    epoch = trainer.progress["steps_per_epoch"]
    last = steps or max(1, math.ceil((standard["epochs"] if epochs is None else epochs) * epoch - 1e-9))
    trainer.set_total_steps(last)
    if patience is None:
        patience = standard["patience"] if steps is None else 0
    return _train(trainer, model, last, epoch, patience, held, machine, on_epoch)


def _check_names(options: Mapping[str, Any]) -> None:
    """Checks options before data is read, which may take long."""
    known = _OF_NETWORK | _OF_MACHINE | _OF_TRAINER
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *_OF_FIT], 1)
            raise TypeError(f"fit has no keyword '{name}'; fix: " + (f"'{near[0]}'" if near else "help(unroll.fit)"))


def _class_weights(model: Model, weights: Mapping[str, float]) -> array.array[float]:
    """Returns weights in the order of the model's labels; 1 for those not named."""
    labels = json.loads(model.schema or "{}").get("task", {}).get("labels", [])
    for name in weights:
        if name not in labels:
            raise ValueError(f"class_weights: there is no label '{name}'; fix: use one of {', '.join(labels)}")
    return array.array("f", [weights.get(label, 1) for label in labels])


def _is_groups(part: Any) -> bool:
    return isinstance(part, str) and (part == "groups" or part.startswith("groups:"))


def _held_out(part: Any, model: Model) -> Any:
    """Reads a data argument like the model reads."""
    from . import Dataset

    is_number = part is None or isinstance(part, (int, float, Dataset)) or _is_groups(part) or hasattr(part, "__index__")
    return part if is_number else Dataset(part, model=model)


def _train(
    trainer: Any, model: Model, last: int, epoch: int, patience: int, held: list[Any], machine: dict[str, Any], on_epoch: Any
) -> Fitted:
    """A second session, which shares the trainer's weights, keeps those of the best validation."""
    validates, tests = (isinstance(part, _core.Dataset) or bool(part) for part in held)
    keeper, worth = model.session(raw=True, **machine), None
    best: dict[str, bytes] = {}
    weights: dict[str, Any] = dict(model.parameters())
    history = []
    for step in range(1, last + 1):
        trainer.step()
        if step % epoch and step != last:
            continue
        found = trainer.validate() if validates else None
        history.append(trainer.progress | ({"validation": found} if found else {}))
        if found and trainer.progress["since_best"] == 0:
            keeper.pull()
            worth, best = found, {name: bytes(array) for name, array in weights.items()}
        if on_epoch:
            on_epoch(history[-1])
        if patience and trainer.progress["since_best"] >= patience:
            break
    for name, values in best.items():
        memoryview(weights[name]).cast("B")[:] = values
    if best:
        keeper.push()
    if best and trainer.progress["since_best"] > 0:     # the schema learns thresholds and intervals of these weights
        trainer.validate()
    tested = trainer.test() if tests else None
    notes = _core.notes() if tests else []
    if tested and notes:
        tested["notes"] = notes
    return Fitted(model, worth, tested, history)
