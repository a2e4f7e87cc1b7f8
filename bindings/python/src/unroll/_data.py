"""What Python has, as a table that a data set is made of: which object is which column. The tables themselves and frames
(Arrow) are the extension's."""

from __future__ import annotations

import array
import datetime
import itertools
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

Options = Union[None, str, Mapping[str, Any]]

#: name, cell, of_example, width, data, lengths: what unroll._core.Dataset._of_table takes.
Column = tuple[str, str, bool, int, Any, Any]

AUTO = -1       # are the rows steps? found by content


class Table(NamedTuple):
    frame: Any                  # with __arrow_c_stream__, or None: columns beside those below
    columns: list[Column]
    rows: int                   # AUTO: the frame's
    rows_are_steps: int


def is_path(data: Any) -> bool:
    return isinstance(data, (str, bytes, os.PathLike))


def table_of(data: Any, y: Any = None) -> Table:
    """A frame, a dict of columns, an array or a list of sequences, texts, or an iterable of rows or of (x, y)."""
    if hasattr(data, "__arrow_c_stream__") and not _to_list(data):
        targets = [] if y is None else _targets(list(_plain(y)), None)
        return Table(data, targets, AUTO if y is None else len(y), AUTO)
    if isinstance(data, Mapping):
        columns = [_column(str(name), values) for name, values in data.items()]
        return _with_targets(columns, y, AUTO)
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        return table_of(*data)
    if not _is_array(data) or getattr(data.dtype, "kind", "") == "O":
        if not isinstance(data, Iterable):
            raise TypeError(f"a path, a frame, a dict, arrays or an iterable is wanted, not {type(data).__name__}")
        data = list(_plain(data))
        if data and isinstance(data[0], Mapping):
            names = dict.fromkeys(itertools.chain.from_iterable(data))
            return table_of({name: [row.get(name) for row in data] for name in names}, y)
        if data and isinstance(data[0], tuple) and len(data[0]) == 2 and y is None:
            return table_of([x for x, _ in data], [y for _, y in data])
    return _of_sequences(data, y)


# ---- examples ----


def _of_sequences(x: Any, y: Any) -> Table:
    """[examples, steps], [examples, steps, features], as many sequences, or texts; one axis of numbers: one series."""
    if not _size(x):
        raise ValueError("there are no data: x is empty; fix: give at least one sequence")
    first = x[0]
    if isinstance(first, str):
        return _with_targets([("text", "tokens", False, 1, list(x), None)], y, 0)
    if _is_one(first):
        numbers, width, _ = _numbers([x], "x")
        return _with_targets([("x", "numbers", False, 1, numbers, None)], y, 1)
    numbers, width, lengths = _numbers(x, "x")
    return _with_targets([("x", "numbers", False, width, numbers, lengths)], y, 0, lengths)


def _with_targets(columns: list[Column], y: Any, rows_are_steps: int, lengths: Any = None) -> Table:
    rows = {name: len(lengths_ or data) if cell == "numbers" else len(data) for name, cell, _, _, data, lengths_ in columns}
    if len(set(rows.values())) > 1:
        raise ValueError("columns of different lengths: " + ", ".join(f"'{n}' {count}" for n, count in rows.items()))
    count = next(iter(rows.values()), 0)
    if y is not None and _size(y) != count:
        raise ValueError(f"x has {count} examples and y {_size(y)}; fix: a target for each")
    targets = [] if y is None else _targets(list(_plain(y)), lengths)
    return Table(None, columns + targets, count, rows_are_steps)


def _targets(y: list[Any], lengths: Any) -> list[Column]:
    """A label or a number for each example, or, in lists, for each step; otherwise several numbers for each example."""
    if not y:
        return []
    if _is_one(y[0]):
        if all(isinstance(v, float) or v is None for v in y) and any(v is not None for v in y):
            return [("target", "numbers", True, 1, array.array("f", [math.nan if v is None else v for v in y]), None)]
        return [("label", "label", True, 1, [_text(v) for v in y], None)]
    entries = [_size(v) for v in y]
    if lengths is not None and entries == list(lengths):
        name = "tag" if isinstance(y[0][0], str) or not _is_float(y[0][0]) else "target"
        if name == "tag":
            return [(name, "word", False, 1, [[_text(v) for v in row] for row in y], None)]
        numbers, width, steps = _numbers(y, name)
        return [(name, "numbers", False, width, numbers, steps)]
    numbers, width, _ = _numbers([y], "y")
    return [("target", "numbers", True, width, numbers, None)]


# ---- columns ----


def _column(name: str, values: Any) -> Column:
    """A value a row is handed on as text: whether it is a number, a category, a time or a text is found as in a file."""
    values = list(_plain(values)) if not _is_array(values) or len(values.shape) == 1 else values
    first = next((v for v in values if v is not None), None)
    if first is None or _is_one(first):
        return name, "text", True, 1, [_text(v) for v in values], None
    if isinstance(first, Mapping) or not isinstance(first, Iterable):
        raise TypeError(f"column '{name}': a number, a str, a date, None or a list of these is wanted, not "
                        f"{type(first).__name__}")  # fmt: skip
    if isinstance(next(iter(first), None), str):
        return name, "word", False, 1, [[_text(w) for w in row or ()] for row in values], None
    numbers, width, lengths = _numbers([[] if row is None else row for row in values], name)
    return name, "numbers", False, width, numbers, lengths


def _text(value: Any) -> Optional[str]:
    """As it would stand in a file. None: missing."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int)):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat() if value == value else None        # NaT is not
    if hasattr(value, "item"):                                      # a number of NumPy's
        return _text(value.item())
    raise TypeError(f"a number, a str, a date or None is wanted, not {type(value).__name__}")


def _is_one(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float, datetime.date)) or getattr(value, "shape", None) == ()


def _is_float(value: Any) -> bool:
    return isinstance(value.item() if hasattr(value, "item") else value, float)


def _is_array(data: Any) -> bool:
    """Of NumPy, PyTorch and the like."""
    return hasattr(data, "__array__") and hasattr(data, "shape")


def _size(data: Any) -> int:
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


def _plain(values: Any) -> Iterable[Any]:
    """Values of Python's own types, of an array or a series too."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "M":                                     # times, which tolist() would make numbers
        return [None if text == "NaT" else text for text in map(str, _numpy().asarray(values).astype(str))]
    plain: Iterable[Any] = getattr(values, _to_list(values))() if _to_list(values) else values
    return plain


def _to_list(values: Any) -> str:
    """The method that makes an array or a series a list; "": it has none, or is a frame."""
    names = () if hasattr(values, "columns") else ("tolist", "to_list", "to_pylist")
    return next((name for name in names if hasattr(values, name)), "")


# ---- numbers ----


def _numpy() -> Any:
    import numpy

    return numpy


def _numbers(rows: Any, name: str) -> tuple[Any, int, Any]:
    """float32 of all steps one behind the other, the features of a step, and the steps of each row (int32)."""
    if _is_array(rows):
        return _of_array(_numpy().asarray(rows), name)
    flat = array.array("f")
    lengths = array.array("i")
    widths: set[int] = set()
    for number, row in enumerate(rows):
        steps = _flat(row, flat, widths, f"{name}, row {number + 1}")
        lengths.append(steps)
    if len(widths) > 1:
        raise ValueError(f"{name}: steps have {' and '.join(map(str, sorted(widths)))} features; fix: as many in each")
    return flat, widths.pop() if widths else 1, lengths


def _of_array(values: Any, name: str) -> tuple[Any, int, Any]:
    if not 2 <= values.ndim <= 3:
        raise ValueError(f"{name}: [examples, steps] or [examples, steps, features] is wanted, not {list(values.shape)}")
    width = values.shape[2] if values.ndim == 3 else 1
    lengths = array.array("i", [values.shape[1]]) * values.shape[0]
    return _float32(values, name).reshape(-1), width, lengths


def _float32(values: Any, name: str) -> Any:
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name}: numbers are wanted, not {values.dtype}")
    return _numpy().ascontiguousarray(values, dtype="float32")


def _flat(row: Any, flat: array.array[float], widths: set[int], place: str) -> int:
    """Adds the steps of a sequence; gives how many."""
    if _is_array(row):
        values = _float32(_numpy().asarray(row), place)
        if not 1 <= values.ndim <= 2:
            raise ValueError(f"{place}: [steps] or [steps, features] is wanted, not {list(values.shape)}")
        widths |= {values.shape[1] if values.ndim == 2 else 1} if values.shape[0] else set()
        flat.frombytes(values.tobytes())
        return int(values.shape[0])
    steps = list(_plain(row))
    try:
        for step in steps:
            several = not _is_one(step)
            widths.add(len(step) if several else 1)
            flat.extend(math.nan if v is None else v for v in (step if several else (step,)))
    except TypeError as error:
        raise TypeError(f"{place}: numbers are wanted; {error}") from None
    return len(steps)


# ---- options ----


def options_text(options: Options) -> str:
    """ "key=value,key=value" of a dict: a list is a;b, a dict inside a=b;c=d, True is 1; what is None is left out."""
    if options is None or isinstance(options, str):
        return options or ""
    if not isinstance(options, Mapping):
        raise TypeError(f"options: a dict or a str 'key=value,..' is wanted, not {type(options).__name__}")
    texts = {name: _option(value) for name, value in options.items() if value is not None}
    for name, text in texts.items():
        if "," in text:
            raise ValueError(f"{name}: '{text}' has a comma, which ends an option; fix: a list, or another name")
    return ",".join(f"{name}={text}" for name, text in texts.items())


def _option(value: Any) -> str:
    if isinstance(value, Mapping):
        return ";".join(f"{name}={_option(v)}" for name, v in value.items())
    if isinstance(value, (list, tuple)):
        return ";".join(_option(v) for v in value)
    return str(int(value)) if isinstance(value, bool) else str(value)
