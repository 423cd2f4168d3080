"""What a text table looks like: its delimiter, its header, its label column.

Everything is decided on the first rows, so that the small and the large reader decide alike.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count, on_a_line
from linsep.data.columns import NUMBER, PYTHON_DIGITS, Column, is_dash, is_missing, is_number
from linsep.errors import DataError, FormatError, SettingError

SAMPLE = 1 << 16  # bytes looked at
_TARGETS = (
    "y", "label", "labels", "target", "species", "survived", "diagnosis", "churn", "outcome",
    "class",
)  # fmt: skip
_ROW_NAMES = ("name", "names", "id", "sample", "row", "index", "rowname", "rownames", "row.names")
_ROWS, _CELLS = 300, 6000  # rows and cells looked at
WIDE = 4096  # columns from which only the first and the last are looked at, and rows are made
_MOST_COLUMNS = 1 << 24
_NOTES = 20  # about columns of one name
_FEW_LABELS = 10  # different whole numbers that pass as labels in a table of any length
_CODES = 0.8  # share of the numbers from 0 or 1 on that occur, from which they are codes of classes
_UNIT = re.compile(r"\[.*\]|\(.*\)|-|%|[^\W\d_][\w/*.^\u00b0\u00b2\u00b3-]{0,11}|\u00b0\w?")
_TOTAL = re.compile(
    r"(?:grand |sub)?(?:totals?|sum|average|mean|median|count|summe|gesamt|mittelwert|durchschnitt"
    r"|somme|moyenne)\s*:?",
    re.IGNORECASE,
)
_REMARK = re.compile(rb"(?:#|\|[0-9]+x[0-9]+ ).*", re.DOTALL)  # the second: UCI's adult.test

Choice = str | int | bool | None


@dataclass
class Layout:
    """How to cut a text table into columns."""

    path: str
    delimiter: str
    names: Sequence[str]
    header: bool
    target: int | None
    row_names: int | None
    numeric: list[bool]
    notes: list[str] = field(default_factory=list)
    units: int = 0
    """Line below the header that holds no row, 0 if there is none."""


def records(path: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells, without blanks around them, of every row that is not blank."""
    if delimiter == " ":
        for number, line in enumerate(io.StringIO(text, newline=None), 1):
            cells = line.split()
            if cells:
                yield number, cells
        return
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )
    end = 0
    try:
        for row in reader:
            start, end = end + 1, reader.line_num
            if len(row) > 1 or (row and row[0].strip()):
                yield start, [cell.strip(" \t") for cell in row]
    except csv.Error as error:
        raise FormatError(f"{path}:{end + 1}:1: not cut into cells ({error}).") from error


def without_preamble(data: bytes, notes: list[str]) -> bytes:
    """The text with its first lines blank that are comments or Excel's ``sep=;``.

    A line that begins with # is one of titles if it has as many marks between cells as the next.
    """
    lines = data[:SAMPLE].splitlines(keepends=True)
    said = 0
    while said < len(lines) and (not lines[said].strip() or _is_remark(lines[said], said)):
        said += 1
    if said and said < len(lines) and lines[said - 1].startswith(b"#"):
        titles, first = lines[said - 1], lines[said]
        said -= any(titles.count(mark) == first.count(mark) > 0 for mark in b"\t;|,")
    remarks = sum(1 for line in lines[:said] if line.strip())
    if not remarks or said == len(lines):
        return data
    notes.append(f"{count(remarks, 'line')} before the table left out")
    blank = [line[len(line.rstrip(b"\r\n")) :] for line in lines[:said]]
    return b"".join(blank) + data[sum(map(len, lines[:said])) :]


def _is_remark(line: bytes, at: int) -> bool:
    if at == 0 and re.fullmatch(rb"sep=.\s*", line) is not None:
        return True
    return _REMARK.fullmatch(line) is not None


def laid_out(
    path: str, data: bytes, ending: str, told: list[str], **choices: Any
) -> tuple[bytes, Layout]:
    """The text without lines that are no rows, and what it looks like.

    Left out are remarks before the table, units beneath the titles, and at the foot totals and
    lines without any cell; what was told before stands first among the notes.
    """
    data = without_preamble(data, told)
    layout = find_layout(path, data, ending, **choices)
    if layout.units:
        at = 0
        for _ in range(layout.units - 1):
            at = data.find(b"\n", at) + 1
        end = data.find(b"\n", at)
        data = data[:at] + data[end:]  # lines keep their numbers
    left = _without_foot(data, layout)
    if len(left) < len(data) or layout.units:  # what was taken for rows may have been all of them
        text, _ = _first_lines(left)
        if len(list(islice(records(path, text, layout.delimiter), 2))) <= layout.header:
            raise FormatError(_no_row(path, 1))
    layout.notes[:0] = told
    return left, layout


def _no_row(path: str, line: int) -> str:
    return f"{path}:{line}:1: there is a header but no row below it; a row a line is needed."


def _without_foot(data: bytes, layout: Layout) -> bytes:
    """The text without totals at its end, and without lines of nothing but delimiters."""
    left_out = []
    while layout.delimiter != " ":
        text = data.rstrip()
        at = text.rfind(b"\n") + 1
        line = text[at:].decode("utf-8", "replace")
        if not at or '"' in line or len(line) > SAMPLE:
            break
        cells = [cell.strip() for cell in line.split(layout.delimiter)]
        words = [cell for cell in cells if cell and not is_number(cell)]
        if any(cells):
            if len(cells) != len(layout.names) or not words or not _TOTAL.fullmatch(words[0]):
                break
            if data.count(words[0].encode()) > 1:  # a category of that name
                break
            left_out.append(words[0])
        data = data[:at]
    if left_out:
        named = ", ".join(map(repr, reversed(left_out)))
        layout.notes.append(f"{count(len(left_out), 'line')} at the foot left out: {named}")
    return data


def find_layout(
    path: str,
    data: bytes,
    ending: str,
    *,
    header: bool | None,
    target: Choice,
    names: Choice,
    features: Collection[str] = (),
    delimiter: str | None = None,
) -> Layout:
    """Decide on delimiter, header, label column and row names."""
    text, whole = _first_lines(data)
    if delimiter is None:
        delimiter = _find_delimiter(path, text, ending)
    elif len(delimiter) != 1 or delimiter in '"\r\n':
        raise SettingError(f"delimiter is {delimiter!r}; one character is needed.")
    if text[: (text.find("\n") + 1 or len(text))].count(delimiter) >= _MOST_COLUMNS:
        raise FormatError(
            f"{path}:1:1: the first line has more than {_MOST_COLUMNS} cells; write such rows as "
            "svmlight or npz, or set the delimiter if this is not one."
        )
    found = islice(records(path, text, delimiter), _ROWS + 1)
    first = next(found, None)
    if first is None:
        raise FormatError(f"{path}:1:1: there is no row, only blanks and quotes.")
    rows = [(number, len(row), _ends(row)) for number, row in chain([first], found)]
    if not whole and len(rows) > 1:
        rows.pop()  # may be half of a quoted cell
    del rows[max(50, min(_ROWS, _CELLS // rows[0][1])) :]
    widths = [width for _, width, _ in rows[:20]]
    width = max(set(widths), key=widths.count) if len(rows) > 2 else widths[-1]
    titles = _header(first[1], [row for _, _, row in rows[1:]], width, asked=header)
    body = rows if titles is None else rows[1:]
    if not body:
        raise FormatError(_no_row(path, first[0]))
    if titles is not None:
        check_width(path, first[0], len(titles), width)
    for number, cells, _ in body:
        check_width(path, number, cells, width)
    layout = Layout(path, delimiter, [], titles is not None, None, None, [])
    if titles is not None and _are_units(body[0][2], [row for _, _, row in body[1:]]):
        layout.units = body[0][0]
        shown = ", ".join(cell for cell in body[0][2][:4] if cell)
        layout.notes.append(f"the line of units below the titles left out: {shown}")
        body = body[1:]
    if titles is not None and header is None and all(map(NUMBER.fullmatch, titles)):
        layout.notes.append("the first line 0, 1, 2, ... was taken for a header")
    layout.names = _unique_names(titles, width, layout.notes)
    columns = dict(zip(_ends(range(width)), zip(*(row for _, _, row in body))))
    layout.numeric = [True] * width
    for j, column in columns.items():
        layout.numeric[j] = all(map(is_number, column))
    find_roles(layout, columns, titles, target=target, names=names, features=features)
    return layout


def _ends(row: Any) -> Any:
    """The cells of a row that are looked at: all of them, unless they are very many."""
    return row if len(row) <= WIDE else [*row[: WIDE // 2], *row[-(WIDE // 2) :]]


def find_roles(
    layout: Layout,
    columns: Mapping[int, tuple[str, ...]],
    titles: Sequence[str] | None,
    *,
    target: Choice,
    names: Choice,
    features: Collection[str] = (),
) -> None:
    """Decide which column holds the labels and which one the names of the rows.

    Columns known to be features, because a model was trained on them, are neither.
    """
    layout.row_names = _find_names(layout, columns, titles, names, target)
    if target is None and features and layout.header and set(features) <= set(layout.names):
        rest = [
            name
            for j, name in enumerate(layout.names)
            if name not in features and j != layout.row_names
        ]
        target = target_by_name(rest) or (rest[-1] if rest else False)
    layout.target = _find_target(layout, columns, target)


def check_width(path: str, line: int, cells: int, width: int) -> None:
    """Every row has as many cells as the first."""
    if cells != width:
        found = count(cells, "cell")
        raise FormatError(
            f"{path}:{line}:{min(cells, width) + 1}: {found} where the other rows have "
            f"{width}; complete the row, delete it, or quote a cell that holds the delimiter."
        )


def _first_lines(data: bytes) -> tuple[str, bool]:
    if len(data) <= SAMPLE:
        return data.decode("utf-8"), True
    cut = max(data.rfind(b"\n", 0, SAMPLE), data.rfind(b"\r", 0, SAMPLE)) + 1
    if cut == 0:  # one very long line, for example thousands of columns
        ends = [at for at in (data.find(b"\n", SAMPLE), data.find(b"\r", SAMPLE)) if at >= 0]
        cut = min(ends, default=len(data) - 1) + 1
    second = data.find(b"\n", cut)  # a header alone says nothing about the columns
    if data.count(b"\n", 0, cut) < 3:
        for _ in range(8):
            cut = second + 1 if second >= 0 else len(data)
            second = data.find(b"\n", cut)
    return data[:cut].decode("utf-8"), cut == len(data)


def _find_delimiter(path: str, text: str, ending: str) -> str:
    lines = [line for line in text[:8192].splitlines() if line.strip()][:20]
    if len(lines) > 2 and len(text) > 8192:
        lines.pop()
    best, most = "", 0
    for delimiter in "\t;|,":
        widths = [len(row) for _, row in records(path, "\n".join(lines), delimiter)]
        width = max(set(widths), key=widths.count, default=0)
        if width > 1 and widths.count(width) > most:
            best, most = delimiter, widths.count(width)
    if best and 2 * most >= len(lines):
        return best
    if ending in (".csv", ".tsv"):
        return "\t" if ending == ".tsv" else ","
    return best or " "


# -- header -------------------------------------------------------------------------------------


def _header(
    first: list[str], rest: list[list[str]], width: int, *, asked: bool | None
) -> list[str] | None:
    if asked is False:
        return None
    if len(first) == width - 1:
        ends = all(row[-1] == "" for row in rest)  # each row ends with a delimiter
        first = [*first, ""] if ends else ["", *first]  # R leaves out the name of the row names
    if asked or (len(first) == width and _looks_like_header(first, rest)):
        return first
    return None


def _are_units(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the line below the titles holds units: new words where all others are numbers."""
    if len(rest) < 3:
        return False
    numbers = texts = 0
    for cell, column in zip(first, zip(*rest)):
        given = [one for one in column if not is_missing(one)]
        if given and all(map(is_number, given)):
            if cell and _UNIT.fullmatch(cell) is None:
                return False
            numbers += bool(cell)
        elif cell in given and cell:
            return False  # a value as in other rows
        texts += bool(cell) and not is_dash(cell)
    return numbers > 0 and texts > 0


def _looks_like_header(first: list[str], rest: list[list[str]]) -> bool:
    places, first = _ends(range(len(first))), _ends(first)
    text = [not is_missing(cell) and not NUMBER.fullmatch(cell) for cell in first]
    rest = [row for row in rest if len(row) == len(first)]
    if not rest:
        return all(text)
    numbered = [cell == str(j) for j, cell in zip(places, first)]
    if sum(numbered) > 2 and all(n or t for n, t in zip(numbered, text)):
        # pandas numbers columns 0, 1, 2, ...; some may have got a name
        return any(not cell.isdigit() for cell, n in zip(rest[0], numbered) if n)
    below = list(zip(*rest))
    numeric = [sum(map(_numeric, column)) * 2 > len(column) for column in below]
    if any(numeric):
        # an empty cell is no evidence: pandas and R leave the title of the row names empty
        told = [t for t, n, cell in zip(text, numeric, first) if n and not is_missing(cell)]
        return sum(told) * 2 > len(told)
    new = all(cell not in column for cell, column in zip(first, below))
    return all(text) and new and len(set(first)) == len(first)


def _numeric(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None


@dataclass(frozen=True)
class _Numbered(Sequence[str]):
    """x1, x2, ... as names of so many columns."""

    width: int

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, at: Any) -> Any:
        names = range(1, self.width + 1)[at]
        return f"x{names}" if isinstance(names, int) else [f"x{j}" for j in names]


def _unique_names(titles: list[str] | None, width: int, notes: list[str]) -> Sequence[str]:
    if titles is None:
        return _Numbered(width)
    names = [title or f"x{j + 1}" for j, title in enumerate(titles)]
    if len(set(names)) == width:
        return names
    seen: set[str] = set()
    times: dict[str, int] = {}
    for j, name in enumerate(names):
        fresh = name
        while fresh in seen:
            times[name] = times.get(name, 1) + 1
            fresh = f"{name}.{times[name]}"
        if fresh != name and len(notes) < _NOTES:
            told, called = on_a_line(name), on_a_line(fresh)
            notes.append(f"a second column {told!r} is called {called!r}")
        seen.add(fresh)
        names[j] = fresh
    return names


# -- label column and row names -----------------------------------------------------------------


def position(layout: Layout, choice: str | int, role: str) -> int:
    """Column number of a name or number given by the caller."""
    names = layout.names
    if isinstance(choice, str) and choice in names:
        return names.index(choice)
    try:
        number = int(choice)
    except ValueError:
        near = difflib.get_close_matches(str(choice), names, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        shown = ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
        raise DataError(
            f"{layout.path}: there is no column {choice!r} for {role}; {guess}There are: {shown}."
        ) from None
    if not -len(names) <= number < len(names):
        raise DataError(
            f"{layout.path}: {role} is column {number}, but there are {len(names)} columns; "
            f"count from 0 to {len(names) - 1}, or from the end with -1."
        )
    return number % len(names)


def _find_names(
    layout: Layout,
    columns: Mapping[int, tuple[str, ...]],
    titles: Sequence[str] | None,
    asked: Choice,
    target: Choice,
) -> int | None:
    if asked is False:
        return None
    if asked is True:
        raise SettingError("names is True; give the name or number of a column, or False.")
    if asked is not None:
        return position(layout, asked, "names")
    if titles is None or len(layout.names) < 2 or target in (0, titles[0]):
        return None
    text = not any(layout.numeric[:1])
    named = text and titles[0].lower() in _ROW_NAMES and len(set(columns[0])) == len(columns[0])
    if titles[0] and not named:
        return None
    layout.notes.append("the first column holds the names of the rows")
    return 0


def target_by_name(titles: Sequence[str]) -> str | None:
    """The title that is that of labels, of tables and of streams alike.

    >>> target_by_name(["Class", "a", "Y"]), target_by_name(["a", "b"])
    ('Y', None)
    """
    lower = [title.lower() for title in titles]
    found = next((name for name in _TARGETS if lower.count(name) == 1), None)
    return None if found is None else titles[lower.index(found)]


def _find_target(
    layout: Layout, columns: Mapping[int, tuple[str, ...]], asked: Choice
) -> int | None:
    if asked is False:
        return None
    if asked is True:
        raise SettingError("target is True; give the name or number of a column, or False.")
    if asked is not None:
        return position(layout, asked, "target")
    named = target_by_name(layout.names) if layout.header else None
    if named is not None:
        layout.notes.append(f"labels: column {named!r}, by its name")
        return list(layout.names).index(named)
    free = [j for j in columns if j != layout.row_names]  # of very many those at both ends
    while len(free) > 2 and not any(columns[free[-1]]):
        free.pop()  # behind the last delimiter of every row there is nothing
    if len(free) < 2:
        raise DataError(
            f"{layout.path}: there is one column, {layout.names[free[0]]!r}, where features and "
            "labels are needed; give target=False if there are no labels.",
            options={"give target=False": "only linsep predict takes a file"},
        )
    last, first = free[-1], free[0]
    text = not layout.numeric[first]
    good = _repeats(columns[last]) if text else _label_like(columns[last])
    still = not layout.header and len(set(columns[last])) == 1  # a dark corner of every picture
    other = _repeats(columns[first]) and (text or layout.numeric[last])
    other = other and not _is_amount(columns[first])
    if other and (not good or (still and len(set(columns[first])) > 1)):
        layout.notes.append(
            f"labels: the first column {layout.names[first]!r}, because the last one does "
            "not look like labels; name another as the target"
        )
        return first
    amount = _is_amount(columns[last])
    if amount or not (_label_like(columns[last]) or all(map(_whole, columns[last]))):
        raise _no_labels(layout, columns, free, amount=amount)
    layout.notes.append(f"labels: the last column {layout.names[last]!r}")
    return last


def _is_amount(column: tuple[str, ...]) -> bool:
    """Whether whole numbers are measured, such as ages: many, and no codes from 0 or 1 on."""
    different = set(column)
    if len(different) <= _FEW_LABELS or not all(map(is_number, different)):
        return False
    numbers = [float(cell) for cell in different]
    codes = min(numbers) in (0.0, 1.0) and len(different) > _CODES * (max(numbers) + 1)
    return not codes and all(number.is_integer() for number in numbers)


def _no_labels(
    layout: Layout, columns: Mapping[int, tuple[str, ...]], free: list[int], *, amount: bool
) -> DataError:
    """The last column holds amounts: which others it could be, and how to say so."""
    name = layout.names[free[-1]]
    like = [layout.names[j] for j in free[:-1] if 1 < len(set(columns[j])) <= _FEW_LABELS]
    like = [title for title in like if _repeats(_of(layout, columns, title))]
    if not like:
        return DataError(
            f"{layout.path}: no column looks like labels; the last one, {name!r}, "
            "holds measurements. Give target='name' or its number.",
            options={"target='name'": "--target NAME"},
        )
    what = f"{count(len(set(columns[free[-1]])), 'different number')}" if amount else "measurements"
    shown = ", ".join(map(repr, like[:6])) + (" ..." if len(like) > 6 else "")
    best = next(
        (title for title in reversed(like) if len(set(_of(layout, columns, title))) == 2), like[-1]
    )
    few = f"column {shown} looks" if len(like) == 1 else f"columns {shown} look"
    return DataError(
        f"{layout.path}: which column holds the labels? The last one, {name!r}, has {what} and "
        f"{few} like labels; say it with target={best!r}.",
        options={f"target={best!r}": f"--target {shlex.quote(best)}"},
    )


def _of(layout: Layout, columns: Mapping[int, tuple[str, ...]], title: str) -> tuple[str, ...]:
    return columns[layout.names.index(title)]


def _repeats(column: tuple[str, ...]) -> bool:
    """True when a few values, whole numbers or text, come again and again."""
    different = set(column)
    if len(different) <= 2 < len(column):
        return True
    few = len(different) <= 2 or 2 * len(different) <= len(column)
    return few and all(map(_whole, different))


def _label_like(column: tuple[str, ...]) -> bool:
    """True also for text and a few whole numbers in a short table."""
    different = set(column)
    few = len(different) <= _FEW_LABELS or not all(map(is_number, different))
    return _repeats(column) or (few and all(map(_whole, different)))


def _whole(cell: str) -> bool:
    return not is_number(cell) or float(cell).is_integer()


# -- Whole numbers that a double cannot hold are refused, never rounded in silence ----------------
#
# A proof is about the numbers in the file. Above 2^53 only some integers are doubles. A decimal
# point or an exponent says that a number was measured, and that rounding is meant.


_WHOLE_NUMBERS = 2.0**53
_INTEGER = re.compile(r"[+-]?[0-9]+")
_PAIR = re.compile(rb":([+-]?[0-9]{16,})(?=\s|$)")


def check_columns(columns: list[Column], data: bytes, layout: Layout) -> None:
    """Look at the large numbers of the features again, as text."""
    rows: set[int] = set()
    for j, column in enumerate(columns):
        if column.numbers is not None and j not in (layout.target, layout.row_names):
            rows.update(np.flatnonzero(np.abs(column.numbers) >= _WHOLE_NUMBERS).tolist())
    _look(rows, data, layout)


def check_features(X: NDArray[np.float64], data: bytes, layout: Layout) -> None:
    """The same for a matrix of all features."""
    if _some_large(X):
        _look(set(np.flatnonzero((np.abs(X) >= _WHOLE_NUMBERS).any(axis=1)).tolist()), data, layout)


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
    for row in np.flatnonzero(np.abs(numbers) >= _WHOLE_NUMBERS).tolist():
        value = chunked[row].as_py()
        if isinstance(value, int) and int(numbers[row]) != value:
            raise _error(f"{path}: row {row + 1}", str(value), column.name)


def _some_large(values: NDArray[Any]) -> bool:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) >= _WHOLE_NUMBERS


def _is_rounded(text: str) -> bool:
    if _INTEGER.fullmatch(text) is None:
        return False
    return len(text) > PYTHON_DIGITS or int(float(text)) != int(text)


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
