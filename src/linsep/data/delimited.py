"""Text tables: comma, semicolon, tab or blanks between the cells.

A small file is cut by the standard library, which is there at once; a larger one by pyarrow on
all cores, where it is installed; a large one that holds nothing but numbers by compiled code,
straight into the matrix. All give the same table. What one does not take as it stands is left to
the one before, and the standard library knows the lines.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.data import fast
from linsep.data.assemble import Parts, plain_parts, say_left_out
from linsep.data.columns import (
    Column,
    Source,
    as_labels,
    first_code,
    from_codes,
    from_texts,
    is_missing,
    is_number,
    whole,
)
from linsep.data.layout import WIDE, Layout, check_width, records
from linsep.errors import FormatError

_COLD = 1 << 25  # bytes from which loading numba pays although pyarrow is good, too,
_ALONE = 1 << 22  # and where there is no pyarrow
_MOST_OBJECTS = 100_000  # columns up to which each may be an object
_DIGITS = re.compile(r"[-+.0-9eE,]*")
SMALL = 1 << 16  # bytes up to which importing pyarrow costs more than it saves


def read_numbers(data: bytes, layout: Layout, *, missing: str) -> Parts | None:
    """A large or wide table of plain numbers; None for any other table."""
    if layout.delimiter == " ":
        return None
    plain = all(layout.numeric) and layout.row_names is None
    quick = len(data) > SMALL and fast.pays(len(data), cold=_COLD if _arrow_is_there() else _ALONE)
    if plain and quick:
        start = data.find(b"\n", _first_line(data)[1]) + 1 if layout.header else 0
        found = fast.parse_table(data, start, layout.delimiter, len(layout.names), layout.target)
        if found is not None:
            y = np.empty(0) if layout.target is None else whole(found[1])
            return plain_parts(found[0], y, None, layout)
    return _by_rows(data, layout, missing) if len(layout.names) > WIDE else None


def _by_rows(data: bytes, layout: Layout, missing: str) -> Parts | None:
    """The same of so many columns that an object for each of them would cost most.

    Labels and names of rows may be texts. Where another cell is no number, None, so that columns
    are looked at; of a table that is too wide for that, it is refused.
    """
    width = len(layout.names)
    target = -1 if layout.target is None else layout.target
    apart = {j: list[str]() for j in (layout.target, layout.row_names) if j is not None}
    places = sorted(apart)
    lines = data.count(b"\n") + data.count(b"\r") + 1
    X = np.empty((min(lines, len(data) // width + 1), width - len(apart)))  # a cell takes a byte
    n, left_out = 0, 0
    rows = records(layout.path, data.decode("utf-8"), layout.delimiter)
    for line, cells in islice(rows, int(layout.header), None):
        check_width(layout.path, line, len(cells), width)
        texts = {j: cells.pop(j) for j in reversed(places)}
        numbers = _plain_numbers(cells)
        gap = numbers is None and any(map(is_missing, cells))
        if missing == "drop" and (gap or is_missing(texts.get(target, "0"))):
            left_out += 1
            continue
        if numbers is None and width <= _MOST_OBJECTS:
            return None
        if numbers is None:
            at = next(j for j, cell in enumerate(cells) if not is_number(cell))
            told = cells[at]
            for j in places:
                at += j <= at
            raise FormatError(
                f"{layout.path}:{line}:{at + 1}: {told!r} in column {layout.names[at]!r} is no "
                f"number; of more than {_MOST_OBJECTS} columns all but labels and names of rows "
                "have to be. Correct the cell, or leave out the row or the column."
            )
        X[n] = numbers
        n += 1
        for j, cell in texts.items():
            apart[j].append(cell)

    say_left_out(layout.path, left_out, n, layout.notes)
    y, names = np.empty(0), None
    if target in apart:
        column = from_texts(layout.names[target], apart[target], keep_text=True)
        y = as_labels(column, target, _source(data, layout))
    if layout.row_names is not None:
        names = tuple(apart[layout.row_names])
    return plain_parts(X[:n], y, names, layout)


def _plain_numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """The cells of a row if all of them are finite numbers."""
    if _DIGITS.fullmatch(",".join(cells)) is None:
        return None
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def read_columns(
    data: bytes, layout: Layout, *, codes: bool = False
) -> tuple[list[Column], Source]:
    """Cut a text table into columns of numbers and of text, if asked also codes such as 01067."""
    columns = None
    if len(data) > SMALL and _arrow_agrees(data, layout) and _arrow_is_there():
        columns = _by_arrow(data, layout, codes=codes and _has_codes(data, layout.delimiter))
    if columns is None:
        columns = _by_csv(data, layout, codes=codes)
    return columns, _source(data, layout)


def _has_codes(data: bytes, delimiter: str) -> bool:
    """Whether some cell has zeros in front, as no amount has."""
    mark = re.escape(delimiter.encode())
    return re.search(rb'[\r\n"' + mark + rb']0[0-9]{3,}[\r\n"' + mark + rb"]", data) is not None


def _source(data: bytes, layout: Layout) -> Source:
    def line_of(row: int) -> int:
        lines = records(layout.path, data.decode("utf-8"), layout.delimiter)
        return next(n for k, (n, _) in enumerate(lines) if k == row + layout.header)

    return Source(layout.path, line_of)


def _roles(layout: Layout) -> list[bool]:
    """For each column, whether it stays text whatever it holds."""
    return [j in (layout.target, layout.row_names) for j in range(len(layout.names))]


def _by_csv(data: bytes, layout: Layout, *, codes: bool) -> list[Column]:
    rows = []
    width = len(layout.names)
    skip = layout.header
    for line, cells in records(layout.path, data.decode("utf-8"), layout.delimiter):
        if skip:
            skip = False
            continue
        check_width(layout.path, line, len(cells), width)
        rows.append(cells)
    return [
        from_texts(name, texts, keep_text=keep or (codes and first_code(texts) is not None))
        for name, texts, keep in zip(layout.names, zip(*rows), _roles(layout))
    ]


# -- pyarrow ------------------------------------------------------------------------------------


def _arrow_is_there() -> bool:
    """Whether the optional package is installed; asked of larger files only, since it is slow."""
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return False
    return True


def _arrow_agrees(data: bytes, layout: Layout) -> bool:
    """False for what the two libraries cut differently: blanks, and a quote after a blank."""
    if layout.delimiter == " ":
        return False
    quote = layout.delimiter.encode() + b' "'
    start, end = _first_line(data)
    return data.count(b'"', start, end) % 2 == 0 and quote not in data


def _first_line(data: bytes) -> tuple[int, int]:
    """Start and end of the first line that is not blank."""
    match = re.search(rb"[^\r\n]*[^\s][^\r\n]*", data)
    return match.span() if match else (0, 0)


def _by_arrow(data: bytes, layout: Layout, *, codes: bool) -> list[Column] | None:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    keep = _roles(layout)
    types = [
        pa.float64() if number and not role and not codes else text
        for number, role in zip(layout.numeric, keep)
    ]
    for attempt in (types, [text] * len(types)):
        try:
            table = _arrow_table(pa, data, layout, attempt)
        except pa.ArrowInvalid:
            continue
        columns = [
            _from_arrow(name, table.column(j), keep_text=stay, codes=codes)
            for j, (name, stay) in enumerate(zip(layout.names, keep))
        ]
        if all(c.numbers is None or np.isfinite(c.numbers).all() for c in columns):
            return columns
    return None


def _arrow_table(pa: Any, data: bytes, layout: Layout, types: list[Any]) -> Any:
    import pyarrow.csv

    start, end = _first_line(data)
    if layout.header:
        start = end + 1
    keys = [str(j) for j in range(len(types))]  # names may repeat or be odd
    return pyarrow.csv.read_csv(
        pa.BufferReader(pa.py_buffer(data)[start:]),
        read_options=pyarrow.csv.ReadOptions(column_names=keys, block_size=1 << 21),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=b'"' in data
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict(zip(keys, types)),
            null_values=[],
            strings_can_be_null=False,
        ),
    )


def _from_arrow(name: str, chunked: Any, *, keep_text: bool, codes: bool) -> Column:
    import pyarrow as pa

    if pa.types.is_floating(chunked.type):
        return Column(name, numbers=chunked.to_numpy())
    whole = chunked.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.chunked_array(whole.chunks).chunk(0)
    at, values = whole.indices.to_numpy(zero_copy_only=False), whole.dictionary.to_pylist()
    keep_text = keep_text or (codes and first_code(values) is not None)
    return from_codes(name, at, values, keep_text=keep_text)
