"""Predictions as a frame: the table that `unroll predict` prints."""

from __future__ import annotations

from typing import Any

_ELSEWHERE = frozenset("group group_name time time_name series levels quantiles probabilities".split())


def _columns(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the columns of one prediction: a value, or a list with one for each row."""
    columns: dict[str, Any] = {}
    for key in ("group", "time"):
        if key in answer:
            columns[answer.get(f"{key}_name") or key] = answer[key]
    for key, value in answer.items():
        if key in _ELSEWHERE:
            continue
        if key == "forecast":
            levels = answer.get("levels") or []
            for name, numbers in value.items():
                columns[name] = numbers
                for i in (0, len(levels) - 1) if len(levels) > 1 else ():
                    columns[f"{name}_{levels[i]:g}"] = answer["quantiles"][name][i]
        elif key == "items":
            for name in value[0] if value else ():
                columns[name] = [item[name] for item in value]
        elif key == "labels":
            columns[key] = "|".join(value)
        elif isinstance(value, list) and "tags" not in answer:
            columns.update({f"{key}_{i + 1}": one for i, one in enumerate(value)})
        else:
            columns[key] = value
    return columns


def frame_of(answers: list[dict[str, Any]]) -> Any:
    import pandas  # type: ignore[import-untyped,unused-ignore]

    rows = []
    for answer in answers:
        columns = _columns(answer)
        count = max((len(value) for value in columns.values() if isinstance(value, list)), default=1)
        for row in range(count):
            rows.append({name: value[row] if isinstance(value, list) else value for name, value in columns.items()})
    return pandas.DataFrame(rows)
