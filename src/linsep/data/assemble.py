"""From columns to a Table: labels, row names, missing values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.data.columns import (
    DROP,
    NUMBER,
    Column,
    Source,
    TextColumnError,
    as_labels,
    is_dash,
    is_missing,
    is_number,
)
from linsep.data.layout import Layout
from linsep.errors import DataError, FormatError, SettingError

_ROWS_AT_ONCE = 2048  # rows written together, so that they stay in the cache
_ANSWERS = (("yes", "no"), ("true", "false"))
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_TABLES = "linsep.tables.read keeps such columns, and linsep.tables.Tabular trains on them"


@dataclass
class Parts:
    """What a reader found, before labels are recoded."""

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    target: str
    notes: list[str]
    sample_weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None


def plain_parts(
    X: NDArray[np.float64], y: NDArray[Any], rows: tuple[str, ...] | None, layout: Layout
) -> Parts:
    """Parts of a table whose features are all numbers."""
    apart = (layout.target, layout.row_names)
    titles = None
    if layout.header:
        titles = tuple(name for j, name in enumerate(layout.names) if j not in apart)
    target = "y" if layout.target is None else layout.names[layout.target]
    return Parts(X, y, titles, rows, target, list(layout.notes))


def assemble(columns: list[Column], layout: Layout, source: Source, *, missing: str) -> Parts:
    """Turn columns of numbers into a matrix, labels and names."""
    if missing not in ("error", "drop"):
        raise SettingError(f"missing is {missing!r}; allowed: 'error', 'drop'.")
    notes = list(layout.notes)
    features = [j for j in range(len(columns)) if j not in (layout.target, layout.row_names)]
    if not features:
        raise DataError(f"{source.path}: there is no column of features beside the labels.")
    columns = [
        one if j in (layout.target, layout.row_names) else _signs(_emptied(one), notes)
        for j, one in enumerate(columns)
    ]
    text = [j for j in features if _is_text(columns[j], j, source)]
    if text:
        raise _text_error(columns, text, source)
    if missing == "drop":
        watched = features if layout.target is None else [*features, layout.target]
        columns = whole_rows(columns, watched, source, notes)
    else:
        _refuse_gaps(columns, features, source)
    y = np.empty(0)
    if layout.target is not None:
        y = as_labels(columns[layout.target], layout.target, source)
    rows = None
    if layout.row_names is not None:
        rows = _texts(columns[layout.row_names])
    return Parts(
        X=_stack([_as_numbers(columns[j]) for j in features], len(columns[0])),
        y=y,
        feature_names=tuple(columns[j].name for j in features) if layout.header else None,
        row_names=rows,
        target="y" if layout.target is None else layout.names[layout.target],
        notes=notes,
    )


# -- columns that are no numbers ------------------------------------------------------------------


def _emptied(column: Column) -> Column:
    """Dashes among numbers stand for no value; any other column as it is."""
    values = [value for value in column.values if not is_missing(value)]
    dashes = [value for value in values if is_dash(value)]
    if not dashes or len(dashes) == len(values) or not all(map(_is_plain, values)):
        return column
    emptied = tuple("" if is_dash(value) else value for value in column.values)
    return Column(column.name, codes=column.codes, values=emptied)


def _is_plain(value: str) -> bool:
    return is_number(value) or is_dash(value)


def _signs(column: Column, notes: list[str]) -> Column:
    """A column of answers as 1 and -1, which the notes tell; any other as it is."""
    used = {} if column.codes is None else {v: v.strip().lower() for v in column.values}
    for yes, no in _ANSWERS:
        if used and set(used.values()) <= {yes, no}:
            notes.append(f"column {column.name!r}: {yes} is 1, {no} is -1")
            table = np.array([1.0 if used[v] == yes else -1.0 for v in column.values])
            return Column(column.name, numbers=table[column.codes])
    return column


def _is_text(column: Column, at: int, source: Source) -> bool:
    """True for a column of text; a cell of text among numbers is an error."""
    if column.numbers is not None:
        return False
    missing = column.missing
    good = column.where(is_number)
    bad = ~good & ~missing
    if not bad.any():
        return False
    if 2 * bad.sum() >= good.sum() + bad.sum() and column.where(_has_letter).any():
        return True
    row = int(np.flatnonzero(bad)[0])
    assert column.codes is not None
    text = column.values[column.codes[row]]
    header = ", or say header=True if the first line is a header" if row == 0 else ""
    raise FormatError(
        f"{source.place(row, at)}: {text!r} in column {column.name!r} {_what_is_wrong(text)}"
        f"correct the cell{header}.",
        options={", or say header=True if the first line is a header": ""},
    )


def _has_letter(text: str) -> bool:
    return not is_missing(text) and text.lower().lstrip("+-") not in ("inf", "infinity")


def _what_is_wrong(text: str) -> str:
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return "is not a finite number; "
    if is_number(text.replace(",", ".", 1)) and "," in text:
        return "has a decimal comma; write a point, "
    return "does not fit in a double; " if NUMBER.fullmatch(text) else "is not a number; "


def _text_error(columns: list[Column], text: list[int], source: Source) -> FormatError:
    names = ", ".join(repr(columns[j].name) for j in text[:8]) + (" ..." if len(text) > 8 else "")
    first = columns[text[0]]
    row = int(np.flatnonzero(~first.missing & ~first.where(is_number))[0])
    assert first.codes is not None
    shown = first.values[first.codes[row]]
    shown = shown if len(shown) < 40 else shown[:37] + "..."
    if _DECIMAL_COMMA.fullmatch(shown):
        return TextColumnError(
            f"{source.place(row, text[0])}: {shown!r} in column {first.name!r} has a decimal "
            f"comma; write decimal points, here {shown.replace(',', '.')}."
        )
    head = f"column {names} holds" if len(text) == 1 else f"{len(text)} columns ({names}) hold"
    return TextColumnError(
        f"{source.place(row, text[0])}: {head} text, here {shown!r}; a matrix has numbers only. "
        f"{_TABLES} (pip install 'linsep[study]').",
        options={_TABLES: "linsep fit, check, trace and study take such columns"},
    )


# -- missing values -------------------------------------------------------------------------------


def _refuse_gaps(columns: list[Column], features: list[int], source: Source) -> None:
    gaps = {at: columns[at].missing for at in features}
    gaps = {at: missing for at, missing in gaps.items() if missing.any()}
    if not gaps:
        return
    row, at = min((int(np.flatnonzero(missing)[0]), at) for at, missing in gaps.items())
    column = columns[at]
    assert column.codes is not None
    empty = [columns[at].name for at, missing in gaps.items() if missing.all()]
    if empty:
        raise TextColumnError(
            f"{source.place(row, at)}: column {empty[0]!r} is empty; leave it out. {_TABLES} "
            "(pip install 'linsep[study]').",
            options={_TABLES: "linsep fit, check, trace and study leave it out"},
        )
    total = sum(int(missing.sum()) for missing in gaps.values())
    count = "the only one" if total == 1 else f"{total} values are missing in all"
    raise FormatError(
        f"{source.place(row, at)}: no value ({column.values[column.codes[row]]!r}) in column "
        f"{column.name!r}, {count}; fill them in, or leave such rows out with missing='drop'.",
        options=DROP,
    )


def whole_rows(
    columns: list[Column], watched: Sequence[int], source: Source, notes: list[str]
) -> list[Column]:
    """The rows without a gap in the columns watched; how many that leaves out is noted."""
    keep = np.ones(len(columns[0]), dtype=bool)
    for at in watched:
        keep &= ~columns[at].missing
    if keep.all():
        return columns
    say_left_out(source.path, int((~keep).sum()), int(keep.sum()), notes)
    return [_rows_of(column, keep) for column in columns]


def say_left_out(path: str, left_out: int, kept: int, notes: list[str]) -> None:
    """How many rows have a gap; raise where all have."""
    if not kept:
        raise DataError(f"{path}: every row has a missing value, no row is left.")
    if left_out:
        notes.append(f"{left_out} of {left_out + kept} rows left out, a value is missing in them")


def _rows_of(column: Column, keep: NDArray[np.bool_]) -> Column:
    if column.numbers is not None:
        return Column(column.name, numbers=column.numbers[keep])
    assert column.codes is not None
    return Column(column.name, codes=column.codes[keep], values=column.values)


# -- numbers and texts ---------------------------------------------------------------------------


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _texts(column: Column) -> tuple[str, ...]:
    if column.numbers is not None:
        return tuple(map(_plain, column.numbers.tolist()))
    assert column.codes is not None
    return tuple(column.values[code] for code in column.codes.tolist())


def _as_numbers(column: Column) -> NDArray[np.float64]:
    if column.numbers is not None:
        return column.numbers
    assert column.codes is not None
    table = np.array([float(v) if is_number(v) else np.nan for v in column.values])
    return np.asarray(table[column.codes], dtype=np.float64)


def _stack(features: list[NDArray[Any]], n: int) -> NDArray[np.float64]:
    X = np.empty((n, len(features)))
    for at in range(0, n, _ROWS_AT_ONCE):
        block = X[at : at + _ROWS_AT_ONCE]
        for j, feature in enumerate(features):
            block[:, j] = feature[at : at + _ROWS_AT_ONCE]
    return X
