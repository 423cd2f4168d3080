"""Columns of a text table, and what a cell may be: a number, nothing, or text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import FormatError

DROP = {"missing='drop'": "--drop-missing"}  # what to type on the command line instead
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = frozenset({"", "?", "...", "na", "n/a", "n.a.", "nan", "-nan", "null", "none"}) | {
    "<na>",
    "#na",
    "#n/a",
    "#nv",
    "#value!",
    "#ref!",
    "#div/0!",
    "missing",
}
_DASHES = frozenset({"-", "--", "---", "\u2013", "\u2014", ".", "..", "*", "\u2205"}) | {
    "unknown",
    "not available",
    "nil",
    "k.a.",
    "keine angabe",
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_PADDED = re.compile(r"0[0-9]{3,}")
PYTHON_DIGITS = 4000  # up to which Python converts an integer


class TextColumnError(FormatError):
    """Whole columns are no plain numbers; no cell of a column of numbers is damaged."""


@dataclass(frozen=True)
class Column:
    """Either clean numbers, or text as codes into a list of the different values."""

    name: str
    numbers: NDArray[np.float64] | None = None
    codes: NDArray[np.int64] | None = None
    values: tuple[str, ...] = ()

    def __len__(self) -> int:
        part = self.numbers if self.numbers is not None else self.codes
        return 0 if part is None else len(part)

    def where(self, good: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Rows whose text satisfies a condition; the condition is asked once a value."""
        if self.codes is None:
            return np.zeros(len(self), dtype=bool)
        return np.array([good(v) for v in self.values], dtype=bool)[self.codes]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows without a value."""
        return self.where(is_missing)


@dataclass(frozen=True)
class Source:
    """A file, and how to name a place in it."""

    path: str
    line_of: Callable[[int], int] | None = None

    def place(self, row: int, column: int) -> str:
        """``path:line:column`` in a text file; the row in any other."""
        if self.line_of is None:
            return f"{self.path}: row {row + 1}, column {column + 1}"
        return f"{self.path}:{self.line_of(row)}:{column + 1}"


def is_missing(text: str) -> bool:
    """True for an empty cell and for what is written in place of a value."""
    return text.lower() in _MISSING


def is_dash(text: str) -> bool:
    """True for dashes, points and "unknown", no values among numbers and dates.

    Among texts they are some.
    """
    return text.lower() in _DASHES


def first_code(texts: Sequence[str]) -> str | None:
    """A cell such as 01067 in a column of nothing but digits: codes, since no amount is so written.

    None for any other column.
    """
    found = next(filter(_PADDED.fullmatch, texts), None)
    digits = found is not None and all(one.isascii() and one.isdigit() for one in texts if one)
    return found if digits else None


def is_number(text: str) -> bool:
    """True for a decimal number that fits in a double."""
    return NUMBER.fullmatch(text) is not None and abs(float(text)) != float("inf")


def from_texts(name: str, texts: Sequence[str], *, keep_text: bool = False) -> Column:
    """Make a column of cells without blanks around them; numbers if all of them are."""
    if not keep_text and all(map(NUMBER.fullmatch, texts)):
        numbers = np.array(list(map(float, texts)), dtype=np.float64)
        if np.isfinite(numbers).all():
            return Column(name, numbers=numbers)
    index: dict[str, int] = {}
    codes = [index.setdefault(text, len(index)) for text in texts]
    return Column(name, codes=np.array(codes, dtype=np.int64), values=tuple(index))


def from_codes(name: str, codes: NDArray[Any], values: Sequence[str], *, keep_text: bool) -> Column:
    """Make the same column from codes into values that may repeat or have blanks around."""
    merged = from_texts(name, [value.strip(" \t") for value in values], keep_text=keep_text)
    if merged.numbers is not None:
        return Column(name, numbers=merged.numbers[codes])
    assert merged.codes is not None
    codes = merged.codes[codes]
    # values are numbered in the order of their first row, as from_texts does
    present, first = np.unique(codes, return_index=True)
    order = present[np.argsort(first)]
    rank = np.empty(len(merged.values), dtype=np.int64)
    rank[order] = np.arange(order.size)
    return Column(name, codes=rank[codes], values=tuple(merged.values[v] for v in order))


def as_labels(column: Column, position: int, source: Source) -> NDArray[Any]:
    """Turn a label column into whole numbers, numbers or text, the first that holds all."""
    if column.numbers is not None:
        return whole(column.numbers)
    assert column.codes is not None
    if column.missing.any():
        rows = np.flatnonzero(column.missing)
        text = column.values[column.codes[rows[0]]]
        raise FormatError(
            f"{source.place(int(rows[0]), position)}: no label ({text!r}) in column "
            f"{column.name!r}, {rows.size} in all; give the label, or leave such rows out with "
            "missing='drop'.",
            options=DROP,
        )
    return label_values(column.values)[column.codes]


def label_values(values: Sequence[str]) -> NDArray[Any]:
    """Labels as int64 if all are whole, as float64 if all are numbers, as text otherwise."""
    if all(map(_INTEGER.fullmatch, values)):
        short = all(len(value) <= PYTHON_DIGITS for value in values)
        integers = [int(value) for value in values] if short else []
        if short and all(-(2**63) <= value < 2**63 for value in integers):
            return np.array(integers, dtype=np.int64)
        return np.array(values, dtype=np.str_)  # as doubles, different labels might become one
    if all(map(is_number, values)):
        return whole(np.array(list(map(float, values)), dtype=np.float64))
    return np.array(values, dtype=np.str_)


def whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Give whole numbers as int64, any others back."""
    if (np.abs(numbers) < 2.0**53).all() and (numbers == np.rint(numbers)).all():
        return numbers.astype(np.int64)
    return numbers
