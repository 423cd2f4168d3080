"""Tables of probabilities and losses as people write them: lists, arrays, frames, dictionaries.

Fractions, integers and decimals stay exact; one float makes a table a table of floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, SettingError

Number = Fraction | float
Names = tuple[Any, ...] | None
_TOLERANCE = 1e-6  # by which floats may miss the sum of one; float32 needs so much


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns, with names where the caller gave some.

    ``values`` holds Fractions in an array of objects when the table is exact, else floats.
    """

    values: NDArray[Any]
    rows: Names = None
    columns: Names = None

    @property
    def exact(self) -> bool:
        """Whether the numbers are rational numbers as the caller gave them."""
        return self.values.dtype == object

    def row(self, i: int) -> Any:
        """The name of a row, its number if it has none."""
        return i if self.rows is None else self.rows[i]

    def column(self, j: int) -> Any:
        """The name of a column, its number if it has none."""
        return j if self.columns is None else self.columns[j]

    def floats(self) -> Table:
        """The same rounded to floats."""
        return Table(self.values.astype(np.float64), self.rows, self.columns)

    def fractions(self) -> Table:
        """The same with every float as the rational number it is."""
        if self.exact:
            return self
        out = np.empty(self.values.shape, dtype=object)
        out[:] = [[Fraction(v) for v in row] for row in self.values.tolist()]
        return Table(out, self.rows, self.columns)


# -- reading --------------------------------------------------------------------------------------


def as_table(given: Any, what: str, cell: str = "p(x, k)") -> Table:
    """Any table as numbers with names; the message of an error says ``what`` it is."""
    if isinstance(given, Table):
        return given
    rows: Names = None
    columns: Names = None
    if isinstance(given, Mapping):
        given, rows, columns = _from_mapping(given, what)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        rows, columns = tuple(given.index), tuple(given.columns)
        given = given.to_numpy()
    cells = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(cells, Sequence) or isinstance(cells, str | bytes) or not len(cells):
        raise DataError(f"{what} is {given!r}; give a table with rows and columns.")
    lines = [c.tolist() if isinstance(c, np.ndarray) else c for c in cells]
    if not all(isinstance(c, Sequence) and not isinstance(c, str | bytes) for c in lines):
        raise DataError(f"{what} has one axis; give rows and columns, one row for each {cell[2]}.")
    width = len(lines[0])
    if not width:
        raise DataError(f"{what} has no columns; give one for each class at least.")
    for i, line in enumerate(lines):
        if len(line) != width:
            raise DataError(
                f"{what} has {len(line)} entries in row {i} and {width} in row 0; "
                "give the same number in every row."
            )
    return Table(_numbers(lines, what, rows, columns), rows, columns)


def _from_mapping(given: Mapping[Any, Any], what: str) -> tuple[list[list[Any]], Names, Names]:
    """Rows by name: {x: {k: p}}, {x: [p, p]} or {(x, k): p}; what is not named is zero."""
    if not given:
        raise DataError(f"{what} is an empty dictionary; give at least one row.")
    first = next(iter(given.values()))
    if not isinstance(first, Mapping | Sequence | np.ndarray):
        if not all(isinstance(key, tuple) and len(key) == 2 for key in given):
            raise DataError(
                f"{what} is a dictionary of numbers; its keys must be pairs (row, column), "
                f"and {next(k for k in given if not isinstance(k, tuple) or len(k) != 2)!r} is not."
            )
        nested: dict[Any, dict[Any, Any]] = {}
        for (x, k), value in given.items():
            nested.setdefault(x, {})[k] = value
        given = nested
    rows = tuple(given)
    if all(isinstance(line, Mapping) for line in given.values()):
        columns = tuple(dict.fromkeys(k for line in given.values() for k in line))
        return [[line.get(k, 0) for k in columns] for line in given.values()], rows, columns
    if any(isinstance(line, Mapping) for line in given.values()):
        raise DataError(f"{what} has some rows as dictionaries and some as lists; use one kind.")
    return [list(line) for line in given.values()], rows, None


def _numbers(lines: Sequence[Sequence[Any]], what: str, rows: Names, columns: Names) -> Any:
    exact = True
    out = np.empty((len(lines), len(lines[0])), dtype=object)
    for i, line in enumerate(lines):
        for j, value in enumerate(line):
            place = f"row {name_of(rows, i)}, column {name_of(columns, j)}"
            out[i, j], rational = _number(value, f"{what} at {place}")
            exact &= rational
    return out if exact else out.astype(np.float64)


def _number(value: Any, place: str) -> tuple[Any, bool]:
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value)), True
    if isinstance(value, Rational | np.integer):
        return Fraction(int(value.numerator), int(value.denominator)), True
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value), True
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise DataError(f"{place} is {value!r}; give a finite number.")
    return number, False


def name_of(names: Names, i: int) -> str:
    """The name of a row or column for a message."""
    return str(i) if names is None else repr(names[i])


def show(value: Number) -> str:
    """A number for a sentence: a fraction as it is while it is short, else six digits.

    >>> from fractions import Fraction
    >>> show(Fraction(3, 8)), show(0.123456789)
    ('3/8', '0.123457')
    """
    if isinstance(value, Fraction) and len(str(value)) <= 15:
        return str(value)
    return f"{float(value):.6g}"


# -- probabilities --------------------------------------------------------------------------------


def as_joint(p: Any, priors: Any = None, evidence: Any = None) -> Table:
    """The joint table p(x, k): given as it is, or from p(x|k) and p(k), or from p(k|x) and p(x)."""
    if priors is not None and evidence is not None:
        raise SettingError(
            "both priors and evidence are given; priors go with a table of p(x|k), "
            "evidence goes with a table of p(k|x)."
        )
    if priors is not None:
        table = as_likelihoods(p)
        return _times(table, _vector(priors, table.columns, table.values.shape[1], "priors"), 1)
    if evidence is not None:
        table = nonnegative(as_table(p, "p(k|x)", "p(k|x)"), "p(k|x)")
        for i, total in enumerate(table.values.sum(axis=1)):
            require_one(total, f"row {name_of(table.rows, i)} of p(k|x)", "divide it by its sum")
        return _times(table, _vector(evidence, table.rows, len(table.values), "evidence"), 0)
    table = nonnegative(as_table(p, "p"), "p")
    total = table.values.sum()
    way = "divide the table by its sum"
    if _all_one(table.values.sum(axis=0)):
        way = "its columns sum to 1: if it holds p(x|k), give priors=[...] too"
    elif _all_one(table.values.sum(axis=1)):
        way = "its rows sum to 1: if it holds p(k|x), give evidence=[...] with p(x) too"
    require_one(total, "the joint table p(x, k)", way)
    return table


def as_likelihoods(p: Any) -> Table:
    """A table of p(x|k): every column sums to one."""
    table = nonnegative(as_table(p, "the table of p(x|k)", "p(x|k)"), "p(x|k)")
    for j, total in enumerate(table.values.sum(axis=0)):
        way = "divide it by its sum"
        if _all_one([table.values.sum()]):
            way += ", which is the prior p(k), if the table holds p(x, k)"
        require_one(total, f"column {name_of(table.columns, j)} of p(x|k)", way)
    return table


def nonnegative(table: Table, what: str) -> Table:
    """The table, or DataError at its first negative entry."""
    bad = np.argwhere(table.values < 0)
    if len(bad):
        i, j = (int(v) for v in bad[0])
        raise DataError(
            f"{what} at row {name_of(table.rows, i)}, column {name_of(table.columns, j)} is "
            f"{table.values[i, j]}; probabilities are not negative."
        )
    return table


def _is_one(total: Any) -> bool:
    return total == 1 if isinstance(total, Fraction) else abs(float(total) - 1) <= _TOLERANCE


def _all_one(totals: Any) -> bool:
    return all(_is_one(total) for total in totals)


def require_one(total: Any, what: str, way: str) -> None:
    """DataError unless probabilities sum to one; way says what to do."""
    if not _is_one(total):
        shown = show(total) if isinstance(total, Fraction) else f"{float(total):.10g}"
        raise DataError(f"{what} sums to {shown} and not to 1; {way}.")


def _vector(given: Any, names: Names, size: int, what: str) -> NDArray[Any]:
    if isinstance(given, Mapping):
        keys = range(size) if names is None else names
        strange = [key for key in given if key not in keys]
        if strange:
            raise DataError(f"{what} names {strange[0]!r}, which the table does not have.")
        given = [given.get(key, 0) for key in keys]
    elif hasattr(given, "to_numpy"):
        given = given.to_numpy()
    table = nonnegative(as_table([list(given)], what), what)
    if table.values.shape[1] != size:
        raise DataError(f"{what} has {table.values.shape[1]} numbers; the table needs {size}.")
    require_one(table.values.sum(), what, "divide them by their sum")
    return np.asarray(table.values[0])


def _times(table: Table, factor: NDArray[Any], axis: int) -> Table:
    values = table.values
    if values.dtype != factor.dtype:
        values, factor = values.astype(np.float64), factor.astype(np.float64)
    out = values * (factor[None, :] if axis == 1 else factor[:, None])
    return Table(out, table.rows, table.columns)


# -- losses ---------------------------------------------------------------------------------------


def as_loss(loss: Any, table: Table) -> Table:
    """W[d, k] with one row for each decision and one column for each class of the table.

    None is the 0/1 loss, whose decisions are the classes. Decisions beyond the classes, such
    as "reject", are further rows.
    """
    K = table.values.shape[1]
    if loss is None:
        out = np.full((K, K), Fraction(1), dtype=object)
        out[np.arange(K), np.arange(K)] = Fraction(0)
        return Table(out, table.columns, table.columns)
    given = as_table(loss, "loss", "W(d, k)")
    values, rows = given.values, given.rows
    if values.shape[1] != K:
        raise DataError(
            f"loss has {values.shape[1]} columns and the table {K} classes; give W[d, k] with a "
            "row for each decision and a column for each class."
        )
    if given.columns is not None and table.columns is not None and given.columns != table.columns:
        if set(given.columns) != set(table.columns):
            raise DataError(
                f"loss names the classes {list(given.columns)}, the table {list(table.columns)}."
            )
        values = values[:, [given.columns.index(k) for k in table.columns]]
    if rows is None and len(values) == K:
        rows = table.columns
    return Table(values, rows, table.columns)
