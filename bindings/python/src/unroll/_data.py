"""Converts Python objects to a table for a data set: decides which object is which column. Tables and frames (Arrow) are
read by the extension."""

from __future__ import annotations

import array
import datetime
import itertools
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

Options = Union[None, str, Mapping[str, Any]]

#: name, cell, of_example, width, data, lengths: the argument of unroll._core.Dataset._of_table.
Column = tuple[str, str, bool, int, Any, Any]

AUTO = -1       # whether rows are steps is detected from the content


class Table(NamedTuple):
    frame: Any                  # with __arrow_c_stream__, or None; additional columns are below
    columns: list[Column]
    rows: int                   # AUTO: the frame's
    rows_are_steps: int


def is_path(data: Any) -> bool:
    return isinstance(data, (str, bytes, os.PathLike))


def table_of(data: Any, y: Any = None) -> Table:
    """Converts a frame, a dict of columns, an array or a list of sequences, texts, or an iterable of rows or of (x, y).
    """
    data = _with_index(data)
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
            raise TypeError(f"expected a path, a frame, a dict, arrays or an iterable, not {type(data).__name__}")
        data = list(_plain(data))
        if data and isinstance(data[0], Mapping):
            names = dict.fromkeys(itertools.chain.from_iterable(data))
            return table_of({name: [row.get(name) for row in data] for name in names}, y)
        if data and isinstance(data[0], tuple) and len(data[0]) == 2 and y is None:
            return table_of([x for x, _ in data], [y for _, y in data])
    return _of_sequences(data, y)


# ---- pandas ----


def _with_index(data: Any) -> Any:
    """Returns a pandas frame like its csv file: an index other than row numbers becomes the first column, and periods
    become text. A series indexed by times becomes such a frame."""
    index: Any = getattr(data, "index", None)
    if not hasattr(data, "reset_index"):
        return data
    plain = type(index).__name__ == "RangeIndex" and index.name is None
    if not hasattr(data, "columns"):
        if type(index).__name__ not in ("DatetimeIndex", "PeriodIndex"):
            return data
        data = data.to_frame("value" if data.name is None else data.name)
    if not plain:
        data = data.reset_index()
    periods = [name for name, kind in data.dtypes.items() if type(kind).__name__ == "PeriodDtype"]
    return data.assign(**{name: _period_text(data[name]) for name in periods}) if periods else data


def _period_text(values: Any) -> Any:
    """Returns 2024Q1 or 2024-01; for weeks, which are written as two dates, the first one."""
    text = values.astype(str).where(values.notna(), None)
    return values.dt.start_time if text.str.contains("/").any() else text


# ---- examples ----


def _of_sequences(x: Any, y: Any) -> Table:
    """Converts [examples, steps], [examples, steps, features], a list of sequences, or texts; one axis of numbers is a
    series.
    """
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
        raise ValueError(f"x has {count} examples and y {_size(y)}; fix: give a target for each")
    targets = [] if y is None else _targets(list(_plain(y)), lengths)
    return Table(None, columns + targets, count, rows_are_steps)


def _targets(y: list[Any], lengths: Any) -> list[Column]:
    """Converts a label or a number for each example, or in lists for each step; otherwise several numbers for each
    example.
    """
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
    """Columns with one value per row are passed on as text: numbers, categories, times and texts are distinguished as in
    a file.
    """
    values = list(_plain(values)) if not _is_array(values) or len(values.shape) == 1 else values
    first = next((v for v in values if v is not None), None)
    if first is None or _is_one(first):
        return name, "text", True, 1, [_text(v) for v in values], None
    if isinstance(first, Mapping) or not isinstance(first, Iterable):
        raise TypeError(f"column '{name}': expected a number, a str, a date, None or a list of these, not "
                        f"{type(first).__name__}")  # fmt: skip
    if isinstance(next(iter(first), None), str):
        return name, "word", False, 1, [[_text(w) for w in row or ()] for row in values], None
    numbers, width, lengths = _numbers([[] if row is None else row for row in values], name)
    return name, "numbers", False, width, numbers, lengths


def _text(value: Any) -> Optional[str]:
    """Formats a value as in a file. None: missing."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int)):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat() if value == value else None        # NaT is not
    if hasattr(value, "item"):                                      # a NumPy scalar
        return _text(value.item())
    raise TypeError(f"expected a number, a str, a date or None, not {type(value).__name__}")


def _is_one(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float, datetime.date)) or getattr(value, "shape", None) == ()


def _is_float(value: Any) -> bool:
    return isinstance(value.item() if hasattr(value, "item") else value, float)


def _is_array(data: Any) -> bool:
    """True for arrays of NumPy, PyTorch and the like."""
    return hasattr(data, "__array__") and hasattr(data, "shape")


def _size(data: Any) -> int:
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


def _plain(values: Any) -> Iterable[Any]:
    """Returns values of Python's own types, also from an array or a series."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "M":                                     # times, which tolist() would convert to numbers
        return [None if text == "NaT" else text for text in map(str, _numpy().asarray(values).astype(str))]
    plain: Iterable[Any] = getattr(values, _to_list(values))() if _to_list(values) else values
    return plain


def _to_list(values: Any) -> str:
    """Returns the name of the method that converts an array or a series to a list; "" if there is none, or for a frame.
    """
    names = () if hasattr(values, "columns") else ("tolist", "to_list", "to_pylist")
    return next((name for name in names if hasattr(values, name)), "")


# ---- numbers ----


def _numpy() -> Any:
    import numpy

    return numpy


def _numbers(rows: Any, name: str) -> tuple[Any, int, Any]:
    """Returns the float32 values of all steps concatenated, the number of features, and the steps of each row (int32).
    """
    if _is_array(rows):
        return _of_array(_array(rows), name)
    flat = array.array("f")
    lengths = array.array("i")
    widths: set[int] = set()
    for number, row in enumerate(rows):
        steps = _flat(row, flat, widths, f"{name}, row {number + 1}")
        lengths.append(steps)
    if len(widths) > 1:
        raise ValueError(f"{name}: steps have {' and '.join(map(str, sorted(widths)))} features; fix: as many in each")
    return flat, widths.pop() if widths else 1, lengths


def _array(values: Any) -> Any:
    """Converts NumPy arrays; masked values become NaN."""
    numpy = _numpy()
    if isinstance(values, numpy.ma.MaskedArray) and values.dtype.kind in "fiub":
        return values.astype("float32").filled(numpy.nan)
    return numpy.asarray(values)


def _of_array(values: Any, name: str) -> tuple[Any, int, Any]:
    if not 2 <= values.ndim <= 3:
        raise ValueError(f"{name}: expected [examples, steps] or [examples, steps, features], not {list(values.shape)}")
    width = values.shape[2] if values.ndim == 3 else 1
    lengths = array.array("i", [values.shape[1]]) * values.shape[0]
    return _float32(values, name).reshape(-1), width, lengths


def _float32(values: Any, name: str) -> Any:
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected numbers, not {values.dtype}")
    return _numpy().ascontiguousarray(values, dtype="float32")


def _flat(row: Any, flat: array.array[float], widths: set[int], place: str) -> int:
    """Appends the steps of a sequence and returns their number."""
    if _is_array(row):
        values = _float32(_array(row), place)
        if not 1 <= values.ndim <= 2:
            raise ValueError(f"{place}: expected [steps] or [steps, features], not {list(values.shape)}")
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
        raise TypeError(f"{place}: expected numbers; {error}") from None
    return len(steps)


# ---- options ----


def options_text(options: Options) -> str:
    """Formats a dict as "key=value,key=value": a list is a;b, a nested dict a=b;c=d, True is 1; None is omitted."""
    if options is None or isinstance(options, str):
        return options or ""
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a dict or a str 'key=value,..', not {type(options).__name__}")
    texts = {name: _option(value) for name, value in options.items() if value is not None}
    for name, text in texts.items():
        if "," in text:
            raise ValueError(f"{name}: '{text}' has a comma, which ends an option; fix: use a list, or another name")
    return ",".join(f"{name}={text}" for name, text in texts.items())


def _option(value: Any) -> str:
    if isinstance(value, Mapping):
        return ";".join(f"{name}={_option(v)}" for name, v in value.items())
    if isinstance(value, (list, tuple)):
        return ";".join(_option(v) for v in value)
    return str(int(value)) if isinstance(value, bool) else str(value)
