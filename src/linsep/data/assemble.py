"""From columns to a Table: labels, row names, text features, missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.data.columns import DROP, NUMBER, Column, Source, as_labels, is_missing, is_number
from linsep.data.layout import Layout, position
from linsep.errors import DataError, FormatError, SettingError

Encode = str | Sequence[str] | Mapping[str, Any] | None

_TOO_MANY = 1000  # different values of a text column from which it is no category
_ROWS_AT_ONCE = 2048  # rows written together, so that they stay in the cache
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_SIGNS = (("no", "yes"), ("false", "true"))


@dataclass
class Parts:
    """What a reader found, before labels are recoded."""

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    target: str
    notes: list[str]
    encoding: Mapping[str, Any] | None = None
    sample_weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None


def plain_parts(X: NDArray[np.float64], y: NDArray[Any], layout: Layout) -> Parts:
    """Parts of a table that is all numbers."""
    names = [name for j, name in enumerate(layout.names) if j != layout.target]
    target = "y" if layout.target is None else layout.names[layout.target]
    titles = tuple(names) if layout.header else None
    return Parts(X, y, titles, None, target, list(layout.notes))


def assemble(
    columns: list[Column], layout: Layout, source: Source, *, encode: Encode, missing: str
) -> Parts:
    """Turn columns into numbers, labels and names."""
    if missing not in ("error", "drop"):
        raise SettingError(f"missing is {missing!r}; allowed: 'error', 'drop'.")
    notes = list(layout.notes)
    recipe = _recipe(columns, layout, source, encode)
    if missing == "drop":
        columns = _without_gaps(columns, recipe, layout, source, notes)
    else:
        _refuse_gaps(columns, recipe, source)
    features: list[NDArray[Any]] = []
    names: list[str] = []
    for at, kind, values in recipe:
        _encode(columns[at], kind, values, features, names, notes)
    y = np.empty(0)
    if layout.target is not None:
        y = as_labels(columns[layout.target], layout.target, source)
    rows = None
    if layout.row_names is not None:
        rows = _texts(columns[layout.row_names])
    changed = any(kind != "number" for _, kind, _ in recipe)
    return Parts(
        X=_stack(features, len(columns[0])),
        y=y,
        feature_names=tuple(names) if layout.header or changed else None,
        row_names=rows,
        target="y" if layout.target is None else layout.names[layout.target],
        notes=notes,
        encoding=_as_mapping(recipe, columns, layout) if changed else None,
    )


# -- which column becomes what --------------------------------------------------------------------

Recipe = list[tuple[int, str, tuple[str, ...]]]  # column, kind, values


def _recipe(columns: list[Column], layout: Layout, source: Source, encode: Encode) -> Recipe:
    if isinstance(encode, Mapping):
        recipe = _recipe_of(encode, layout)
        for at, kind, _ in recipe:
            if kind == "number" and _is_text(columns[at], at, source):
                raise _text_error(columns, [at], source)
        return recipe
    if isinstance(encode, str) and encode != "onehot":
        raise SettingError(
            f"encode is {encode!r}; allowed: None, 'onehot', a list of column names, or the "
            "encoding of another table."
        )
    features = [j for j in range(len(columns)) if j not in (layout.target, layout.row_names)]
    if not features:
        raise DataError(f"{source.path}: there is no column of features beside the labels.")
    listed = not isinstance(encode, str) and encode is not None
    forced = {position(layout, name, "encode") for name in encode} if listed and encode else set()
    recipe = []
    text = []
    for j in features:
        column = columns[j]
        if j not in forced and _is_text(column, j, source):
            text.append(j)
        if j in forced or (j in text and encode == "onehot"):
            recipe.append(_categories(column, j, source))
        else:
            recipe.append((j, "number", ()))
    if text and encode != "onehot":
        raise _text_error(columns, text, source)
    return recipe


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
        f"correct the cell, or read the column as text with encode=[{column.name!r}]{header}."
    )


def _has_letter(text: str) -> bool:
    return not is_missing(text) and text.lower().lstrip("+-") not in ("inf", "infinity")


def _what_is_wrong(text: str) -> str:
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return "is not a finite number; "
    if is_number(text.replace(",", ".", 1)) and "," in text:
        return "has a decimal comma; write a point, "
    return "does not fit in a double; " if NUMBER.fullmatch(text) else "is not a number; "


def _categories(column: Column, at: int, source: Source) -> tuple[int, str, tuple[str, ...]]:
    values = sorted({"missing" if is_missing(v) else v for v in _different(column)})
    if tuple(sorted(v.lower() for v in values)) in _SIGNS:
        return at, "sign", tuple(sorted(values, key=str.lower))
    if len(values) > _TOO_MANY:
        raise DataError(
            f"{source.path}: column {column.name!r} has {len(values)} different values; that is "
            "text, not a category. Count its words first, or remove the column."
        )
    return at, "onehot", tuple(values)


class TextColumnError(FormatError):
    """Whole columns are no plain numbers; no cell of a column of numbers is damaged."""


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
        f"{source.place(row, text[0])}: {head} text, here {shown!r}; features are numbers. Give "
        "encode='onehot' to make a 0/1 column of each value, or remove the text.",
        options={"encode='onehot'": "--encode"},
    )


# -- missing values -------------------------------------------------------------------------------


def _gaps(columns: list[Column], recipe: Recipe) -> dict[int, NDArray[np.bool_]]:
    gaps = {at: columns[at].missing for at, kind, _ in recipe if kind == "number"}
    return {at: missing for at, missing in gaps.items() if missing.any()}


def _refuse_gaps(columns: list[Column], recipe: Recipe, source: Source) -> None:
    gaps = _gaps(columns, recipe)
    if not gaps:
        return
    row, at = min((int(np.flatnonzero(missing)[0]), at) for at, missing in gaps.items())
    column = columns[at]
    assert column.codes is not None
    total = sum(int(missing.sum()) for missing in gaps.values())
    count = "the only one" if total == 1 else f"{total} values are missing in all"
    raise FormatError(
        f"{source.place(row, at)}: no value ({column.values[column.codes[row]]!r}) in column "
        f"{column.name!r}, {count}; fill them in, or leave such rows out with missing='drop'.",
        options=DROP,
    )


def _without_gaps(
    columns: list[Column], recipe: Recipe, layout: Layout, source: Source, notes: list[str]
) -> list[Column]:
    watched = [at for at, _, _ in recipe]
    if layout.target is not None:
        watched.append(layout.target)
    return whole_rows(columns, watched, source, notes)


def whole_rows(
    columns: list[Column], watched: Sequence[int], source: Source, notes: list[str]
) -> list[Column]:
    """The rows without a gap in the columns watched; how many that leaves out is noted."""
    keep = np.ones(len(columns[0]), dtype=bool)
    for at in watched:
        keep &= ~columns[at].missing
    if keep.all():
        return columns
    if not keep.any():
        raise DataError(f"{source.path}: every row has a missing value, no row is left.")
    notes.append(f"{(~keep).sum()} of {keep.size} rows left out, a value is missing in them")
    return [_rows_of(column, keep) for column in columns]


def _rows_of(column: Column, keep: NDArray[np.bool_]) -> Column:
    if column.numbers is not None:
        return Column(column.name, numbers=column.numbers[keep])
    assert column.codes is not None
    return Column(column.name, codes=column.codes[keep], values=column.values)


# -- encoding -------------------------------------------------------------------------------------


def _different(column: Column) -> list[str]:
    if column.numbers is not None:
        return [_plain(number) for number in np.unique(column.numbers).tolist()]
    assert column.codes is not None
    return [column.values[code] for code in np.unique(column.codes)]


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _texts(column: Column) -> tuple[str, ...]:
    if column.numbers is not None:
        return tuple(map(_plain, column.numbers.tolist()))
    assert column.codes is not None
    return tuple(column.values[code] for code in column.codes.tolist())


def _encode(
    column: Column,
    kind: str,
    values: tuple[str, ...],
    features: list[NDArray[Any]],
    names: list[str],
    notes: list[str],
) -> None:
    if kind == "number":
        features.append(_as_numbers(column))
        names.append(column.name)
        return
    texts = np.array(["missing" if is_missing(v) else v for v in _texts(column)], dtype=np.str_)
    unseen = int((~np.isin(texts, values)).sum())
    if unseen:
        rows = count(unseen, "row has", "rows have")
        notes.append(f"{rows} an unknown value of {column.name!r}, coded as 0")
    if kind == "sign":
        features.append(np.where(texts == values[1], 1.0, np.where(texts == values[0], -1.0, 0.0)))
        names.append(column.name)
        notes.append(f"{column.name!r}: {values[0]} = -1, {values[1]} = +1")
        return
    features.extend((texts == value).astype(np.float64) for value in values)
    names.extend(f"{column.name}={value}" for value in values)
    notes.append(f"{column.name!r} became {count(len(values), 'column')} of 0 and 1")


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


def _as_mapping(recipe: Recipe, columns: list[Column], layout: Layout) -> dict[str, Any]:
    """Describe the encoding in plain values that fit in a JSON file."""
    return {
        "header": layout.header,
        "columns": [
            {"name": columns[at].name, "position": at, "kind": kind, "values": list(values)}
            for at, kind, values in recipe
        ],
    }


def _recipe_of(encoding: Mapping[str, Any], layout: Layout) -> Recipe:
    by_name = bool(encoding["header"]) and layout.header
    return [
        (
            position(layout, entry["name"] if by_name else int(entry["position"]), "encode"),
            str(entry["kind"]),
            tuple(entry["values"]),
        )
        for entry in encoding["columns"]
    ]
