"""Whole numbers that a double cannot hold are refused, never rounded in silence.

A proof is about the numbers in the file. Above 2^53 only some integers are doubles. A decimal
point or an exponent says that a number was measured, and that rounding is meant.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.data.columns import Column
from linsep.data.layout import Layout, records
from linsep.errors import FormatError

__all__ = ["check_columns", "check_features", "check_integers", "check_pairs"]

_LARGE = 2.0**53
_INTEGER = re.compile(r"[+-]?[0-9]+")
_PAIR = re.compile(rb":([+-]?[0-9]{16,})(?=\s|$)")


def check_columns(columns: list[Column], data: bytes, layout: Layout) -> None:
    """Look at the large numbers of the features again, as text."""
    rows: set[int] = set()
    for j, column in enumerate(columns):
        if column.numbers is not None and j not in (layout.target, layout.row_names):
            rows.update(np.flatnonzero(np.abs(column.numbers) >= _LARGE).tolist())
    _look(rows, data, layout)


def check_features(X: NDArray[np.float64], data: bytes, layout: Layout) -> None:
    """The same for a matrix of all features."""
    if _some_large(X):
        _look(set(np.flatnonzero((np.abs(X) >= _LARGE).any(axis=1)).tolist()), data, layout)


def check_pairs(path: str, values: NDArray[np.float64], data: bytes) -> None:
    """The same for svmlight text, whose values these are."""
    if not _some_large(values):
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        for found in _PAIR.finditer(line.partition(b"#")[0]):
            if _is_rounded(found[1].decode()):
                raise _error(f"{path}:{number}:{found.start(1) + 1}", found[1].decode())


def check_integers(path: str, column: Column, chunked: Any) -> None:
    """The same for a column of an Arrow table."""
    numbers = column.numbers
    if numbers is None or not _some_large(numbers):
        return
    for row in np.flatnonzero(np.abs(numbers) >= _LARGE).tolist():
        value = chunked[row].as_py()
        if isinstance(value, int) and int(numbers[row]) != value:
            raise _error(f"{path}: row {row + 1}", str(value), column.name)


def _some_large(values: NDArray[Any]) -> bool:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) >= _LARGE


def _is_rounded(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and int(float(text)) != int(text)


def _look(rows: set[int], data: bytes, layout: Layout) -> None:
    if not rows:
        return
    lines = records(layout.path, data.decode("utf-8"), layout.delimiter)
    for k, (number, cells) in enumerate(lines):
        if k - layout.header not in rows:
            continue
        for j, cell in enumerate(cells):
            if j not in (layout.target, layout.row_names) and _is_rounded(cell):
                raise _error(f"{layout.path}:{number}:{j + 1}", cell, layout.names[j])


def _error(place: str, text: str, name: str = "") -> FormatError:
    column = f" of column {name!r}" if name else ""
    return FormatError(
        f"{place}: the integer {text}{column} is no double (the nearest is {int(float(text))}), so "
        "nothing could be proved about it. Leave the column out if it numbers the rows, subtract "
        f"a constant from it, or write {text}.0 if rounding is meant."
    )
