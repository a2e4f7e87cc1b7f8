# What the extension has, for type checkers. `Any` stands for arrays: whatever has the buffer protocol or DLPack.
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Self, TypeVar, Union, final

from typing_extensions import disjoint_base

_Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
_Model = TypeVar("_Model", bound=Model)

version: str

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def tolist(self) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@disjoint_base
class Model:
    def __new__(
        cls,
        dataset: Optional[Dataset] = None,
        task: Optional[str] = None,
        /,
        *,
        task_options: Union[None, str, Mapping[str, Any]] = None,
        cell: str = ...,
        layers: int = ...,
        hidden: int = ...,
        bidirectional: int = ...,
        projection: int = 0,
        peephole: int = 0,
        clip: float = 0,
        bias: int = 1,
        dropout: float = 0,
        tokens: int = 0,
        input: int = ...,
        embed: int = 0,
        tied: int = 0,
        pool: Optional[str] = None,
        output: int = 0,
        loss: str = "none",
        inputs: Optional[Sequence[Mapping[str, Any]]] = None,
        input_dropout: float = 0,
        init: Optional[str] = None,
        forget_bias: float = 0,
        seed: int = 1,
    ) -> Self: ...
    @classmethod
    def from_network(
        cls,
        layers: Sequence[Mapping[str, Any]],
        *,
        input: int = ...,
        tokens: int = 0,
        embed: int = 0,
        tied: int = 0,
        embedding: Optional[str] = None,
        inputs: Optional[Sequence[Mapping[str, Any]]] = None,
        input_dropout: float = 0,
        loss: str = "none",
        init: Optional[str] = None,
        forget_bias: float = 0,
        seed: int = 1,
    ) -> Self: ...
    @classmethod
    def load(cls, path: _Path, /) -> Self: ...
    def save(self, path: _Path, /) -> None: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def layers(self) -> list[dict[str, Any]]: ...
    @property
    def sessions(self) -> int: ...
    @property
    def vocabulary(self) -> Optional[list[str]]: ...
    @property
    def schema(self) -> Optional[str]: ...
    @property
    def signature(self) -> list[str]: ...
    def parameters(self) -> dict[str, Array]: ...
    def set_schema(
        self, dataset: Dataset, task: Optional[str] = None, /, *, task_options: Union[None, str, Mapping[str, Any]] = None
    ) -> None: ...
    def _to_units(self, series: Optional[str] = None, /) -> Self: ...

@final
class Session:
    def __new__(
        cls,
        model: Model,
        /,
        *,
        mode: str = "infer",
        steps: int = 1,
        rows: int = 1,
        lengths: int = 0,
        resets: int = 0,
        results: int = 0,
        stateful: int = 0,
        input_gradient: int = 0,
        no_dropout: int = 0,
        updates: int = 0,
        label_smoothing: float = 0,
        class_weights: Any = None,
        optimizer: Optional[str] = "adam",
        seed: int = 0,
        threads: int = 0,
        queues: int = 0,
        chunks: int = 0,
        checkpoint_time: int = 0,
        pieces: int = 1,
        time_tolerance: float = 1e-06,
        shards: int = 1,
        device: Optional[str] = None,
        isa: Optional[str] = None,
        precision: Optional[str] = None,
        dtype: Optional[str] = None,
        raw: int = 0,
        series: Optional[str] = None,
        exact: int = 0,
        memory: int = 0,
    ) -> Self: ...
    def forward(
        self,
        *,
        inputs: Any = None,
        tokens: Any = None,
        targets: Any = None,
        target_values: Any = None,
        lengths: Any = None,
        reset: Any = None,
    ) -> None: ...
    def backward(self, slopes: Any = None, /) -> None: ...
    def result(self) -> dict[str, float]: ...
    def update(
        self,
        optimizer: str,
        /,
        *,
        learning_rate: float = ...,
        clip: float = ...,
        **hyperparameters: float,
    ) -> dict[str, float]: ...
    def step(
        self,
        optimizer: str,
        /,
        *,
        inputs: Any = None,
        tokens: Any = None,
        targets: Any = None,
        target_values: Any = None,
        lengths: Any = None,
        reset: Any = None,
        learning_rate: float = ...,
        clip: float = ...,
        sync: bool = True,
        **hyperparameters: float,
    ) -> Optional[dict[str, float]]: ...
    def read(self, name: str, out: Any = None, /) -> Any: ...
    def write(self, name: str, array: Any, /) -> None: ...
    def has(self, name: str, /) -> bool: ...
    def buffers(self) -> list[tuple[str, tuple[int, ...], str]]: ...
    def set_weights(self, arrays: Sequence[Any], /) -> None: ...
    def gradients(self, outs: Sequence[Any], /) -> None: ...
    def pull(self) -> None: ...
    def push(self) -> None: ...
    def reset(self) -> None: ...
    counters: tuple[int, int]
    loss_scale: tuple[float, int]
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def model(self) -> Model: ...

@final
class Stream:
    def __new__(
        cls, model: Model, /, *, rows: int = 1, dtype: str = "fp32", isa: Optional[str] = None, raw: bool = False,
        series: Optional[str] = None,
    ) -> Self: ...
    def step(self, x: Any = None, /, out: Any = None, *, inputs: Any = None, tokens: Any = None) -> Any: ...
    def run(self, x: Any = None, /, out: Any = None, *, inputs: Any = None, tokens: Any = None) -> Any: ...
    def reset(self, row: int = -1, /) -> None: ...
    def save(self) -> bytes: ...
    def load(self, state: Any, /) -> None: ...
    def copy(self) -> Stream: ...
    @property
    def info(self) -> dict[str, Any]: ...

@final
class StreamPool:
    def __new__(
        cls, model: Model, /, *, slots: int = 1, dtype: str = "fp32", isa: Optional[str] = None, raw: bool = False,
        series: Optional[str] = None,
    ) -> Self: ...
    def step(self, slots: Any, /, inputs: Any = None, *, tokens: Any = None, out: Any = None) -> Any: ...
    def reset(self, slot: int = -1, /) -> None: ...
    def move(self, from_: int, to: int, /) -> None: ...
    def save(self, slot: int, /) -> bytes: ...
    def load(self, slot: int, state: Any, /) -> None: ...
    @property
    def info(self) -> dict[str, Any]: ...

@disjoint_base
class Dataset:
    def __new__(
        cls,
        path: _Path,
        /,
        *,
        reader: Optional[str] = None,
        model: Optional[Model] = None,
        **options: Any,
    ) -> Self: ...
    @classmethod
    def _of_table(
        cls,
        frame: Any,
        columns: list[Any],
        rows: int,
        rows_are_steps: int,
        /,
        *,
        model: Optional[Model] = None,
        **options: Any,
    ) -> Self: ...
    @property
    def tokens(self) -> Optional[Array]: ...
    @property
    def vocabulary(self) -> list[str]: ...
    @property
    def summary(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    def describe(self) -> dict[str, object]: ...

@disjoint_base
class Trainer:
    def __new__(
        cls,
        model: Model,
        dataset: Dataset,
        /,
        *,
        task: Optional[str] = None,
        divide_by: Optional[str] = None,
        augment: Optional[str] = None,
        workers: int = 0,
        sync: Optional[str] = None,
        compress: Optional[str] = None,
        arrivals: Optional[str] = None,
        replay: Optional[str] = None,
        split_batch: int = 1,
        split_layer: int = 1,
        split_hidden: int = 1,
        split_time: int = 1,
        sum: Optional[str] = None,
        timeout: float = 60,
        task_options: Union[None, str, Mapping[str, Any]] = None,
        class_weights: Any = None,
        batch: int = 32,
        batch_tokens: int = 0,
        accumulate: int = 1,
        label_smoothing: float = 0,
        balanced_classes: int = 0,
        prefetch: int = -1,
        test: Union[None, int, float, Dataset] = None,
        bptt: int = 64,
        stateful: int = 1,
        optimizer: str = "adam",
        schedule: str = "cosine",
        warmup: int = 100,
        total_steps: int = 0,
        validation: Union[None, int, float, Dataset] = 0.1,
        seed: int = 1,
        memory: int = 0,
        threads: int = 0,
        queues: int = 0,
        chunks: int = 0,
        checkpoint_time: int = 0,
        pieces: int = 1,
        time_tolerance: float = 1e-06,
        isa: Optional[str] = None,
        device: Optional[str] = None,
        precision: Optional[str] = None,
        dtype: Optional[str] = None,
        exact: int = 0,
        log_interval: int = 0,
        new_hyperparameters: int = 0,
        learning_rate: float = ...,
        clip: float = ...,
        **hyperparameters: float,
    ) -> Self: ...
    def step(self) -> dict[str, Any]: ...
    def validate(self) -> dict[str, Any]: ...
    def test(self) -> dict[str, Any]: ...
    def save(self, directory: _Path, /) -> None: ...
    def load(self, directory: _Path, /) -> None: ...
    def set_total_steps(self, steps: int, /) -> None: ...
    def meet_at(self, step: int, /) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def progress(self) -> dict[str, Any]: ...
    @property
    def memory_estimate(self) -> int: ...

def evaluate(
    model: Model,
    dataset: Dataset,
    /,
    *,
    threads: int = 0,
    dtype: Optional[str] = None,
    device: Optional[str] = None,
    isa: Optional[str] = None,
    precision: Optional[str] = None,
    memory: int = 0,
    queues: int = 0,
    chunks: int = 0,
    checkpoint_time: int = 0,
    pieces: int = 1,
    time_tolerance: float = 1e-06,
    exact: int = 0,
) -> dict[str, Any]: ...
def predict(
    model: Model,
    dataset: Dataset,
    /,
    *,
    threads: int = 0,
    dtype: Optional[str] = None,
    device: Optional[str] = None,
    isa: Optional[str] = None,
    precision: Optional[str] = None,
    memory: int = 0,
    queues: int = 0,
    chunks: int = 0,
    checkpoint_time: int = 0,
    pieces: int = 1,
    time_tolerance: float = 1e-06,
    exact: int = 0,
) -> list[dict[str, Any]]: ...
def task_defaults(
    dataset: Dataset, task: Optional[str] = None, /, *, task_options: Union[None, str, Mapping[str, Any]] = None
) -> dict[str, Any]: ...
def sample(
    model: Model,
    /,
    *,
    prompt: Optional[str] = None,
    length: int = ...,
    temperature: float = ...,
    top_k: int = ...,
    top_p: float = ...,
    beam: int = ...,
    seed: int = ...,
    dtype: Optional[str] = None,
    device: Optional[str] = None,
    precision: Optional[str] = None,
    isa: Optional[str] = None,
    threads: int = 0,
    queues: int = 0,
    chunks: int = 0,
    checkpoint_time: int = 0,
    pieces: int = 1,
    time_tolerance: float = 1e-06,
    memory: int = 0,
    exact: int = 0,
) -> str: ...
def sampler_order(
    *,
    rows: int = 1,
    count: int = 0,
    lengths: Any = None,
    classes: Any = None,
    how: str = "even",
    replicas: int = 1,
    seed: int = 0,
    epoch: int = 0,
) -> Array: ...
def plan(model: Model, /, **config: Any) -> str: ...
def import_model(type: type[_Model], path: _Path, /, **config: Any) -> tuple[_Model, str]: ...
def notes() -> list[str]: ...
def export_model(model: Model, path: _Path, /, **config: Any) -> str: ...
def formats() -> dict[str, tuple[bool, bool, str]]: ...
def array(data: bytes, shape: tuple[int, ...], dtype: str, /) -> Array: ...
def shape(array: Any, name: str, dtype: str, /) -> tuple[int, ...]: ...
def status_name(status: int, /) -> Optional[str]: ...
def isas() -> list[str]: ...
def cells() -> list[str]: ...
def optimizers() -> list[str]: ...
