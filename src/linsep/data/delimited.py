"""Text tables: comma, semicolon, tab or blanks between the cells.

A small file is cut by the standard library, which is there at once; a larger one by pyarrow on
all cores, where it is installed; a large one that holds nothing but numbers by compiled code,
straight into the matrix. All give the same table. What one does not take as it stands is left to
the one before, and the standard library knows the lines.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linsep.data import fast
from linsep.data.columns import NUMBER, Column, Source, from_codes, from_texts, whole
from linsep.data.layout import Layout, check_width, records

_COLD = 1 << 25  # bytes from which loading numba pays although pyarrow is good, too,
_ALONE = 1 << 22  # and where there is no pyarrow
_ROWWISE_COLUMNS = 4096  # columns from which rows are made, and not columns
SMALL = 1 << 16  # bytes up to which importing pyarrow costs more than it saves


def read_numbers(data: bytes, layout: Layout) -> tuple[Any, Any] | None:
    """Features and labels of a large table of plain numbers; None for any other table."""
    plain = all(layout.numeric) and layout.row_names is None and layout.delimiter != " "
    if not plain:
        return None
    quick = len(data) > SMALL and fast.pays(len(data), cold=_COLD if _arrow_is_there() else _ALONE)
    if not quick:
        return _wide_numbers(data, layout) if len(layout.names) > _ROWWISE_COLUMNS else None
    start = data.find(b"\n", _first_line(data)[1]) + 1 if layout.header else 0
    found = fast.parse_table(data, start, layout.delimiter, len(layout.names), layout.target)
    if found is None:
        return None
    return found[0], np.empty(0) if layout.target is None else whole(found[1])


def _wide_numbers(data: bytes, layout: Layout) -> tuple[Any, Any] | None:
    """The same for a table of so many columns that an object for each of them would cost most."""
    width = len(layout.names)
    rows: list[Any] = []
    for line, cells in records(layout.path, data.decode("utf-8"), layout.delimiter):
        check_width(layout.path, line, cells, width)
        if layout.header and not rows:
            rows.append(np.zeros(0))
            continue
        if not all(map(NUMBER.fullmatch, cells)):
            return None
        rows.append(np.array(list(map(float, cells))))
    table = np.array(rows[1:] if layout.header else rows)
    if not np.isfinite(table).all():
        return None
    if layout.target is None:
        return table, np.empty(0)
    labels = table[:, layout.target]
    if (np.abs(labels) >= 2.0**53).any():  # as doubles, different labels might become one
        return None
    return np.delete(table, layout.target, axis=1), whole(labels)


def read_columns(data: bytes, layout: Layout) -> tuple[list[Column], Source]:
    """Cut a text table into columns of numbers and of text."""
    columns = None
    if len(data) > SMALL and _arrow_agrees(data, layout) and _arrow_is_there():
        columns = _by_arrow(data, layout)
    if columns is None:
        columns = _by_csv(data, layout)

    def line_of(row: int) -> int:
        lines = records(layout.path, data.decode("utf-8"), layout.delimiter)
        return next(n for k, (n, _) in enumerate(lines) if k == row + layout.header)

    return columns, Source(layout.path, line_of)


def _roles(layout: Layout) -> list[bool]:
    """For each column, whether it stays text whatever it holds."""
    return [j in (layout.target, layout.row_names) for j in range(len(layout.names))]


def _by_csv(data: bytes, layout: Layout) -> list[Column]:
    rows = []
    width = len(layout.names)
    skip = layout.header
    for line, cells in records(layout.path, data.decode("utf-8"), layout.delimiter):
        if skip:
            skip = False
            continue
        if len(cells) != width:
            check_width(layout.path, line, cells, width)
        rows.append(cells)
    return [
        from_texts(name, texts, keep_text=keep)
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


def _by_arrow(data: bytes, layout: Layout) -> list[Column] | None:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    keep = _roles(layout)
    types = [
        pa.float64() if number and not role else text for number, role in zip(layout.numeric, keep)
    ]
    for attempt in (types, [text] * len(types)):
        try:
            table = _arrow_table(pa, data, layout, attempt)
        except pa.ArrowInvalid:
            continue
        columns = [
            _from_arrow(name, table.column(j), keep_text=stay)
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


def _from_arrow(name: str, chunked: Any, *, keep_text: bool) -> Column:
    import pyarrow as pa

    if pa.types.is_floating(chunked.type):
        return Column(name, numbers=chunked.to_numpy())
    whole = chunked.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.chunked_array(whole.chunks).chunk(0)
    codes = whole.indices.to_numpy(zero_copy_only=False)
    return from_codes(name, codes, whole.dictionary.to_pylist(), keep_text=keep_text)
