"""From a column to numbers: one class for each role, learned from rows and kept in plain values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linsep.core.schema import Check, listed, maybe, real, record, text, truth, whole, word
from linsep.core.words import count
from linsep.data.columns import is_dash
from linsep.errors import DataError, LinsepWarning, require
from linsep.tables.roles import Role, cells, is_plain
from linsep.tables.styles import Style

Array = NDArray[np.float64]

_TWICE = 2  # rows that a value or word of a long list needs to get a column of its own
_LIST = 40  # different values from which a list is long
_NAMED_VALUES = 3  # unknown values that a warning names


class Encoder(Protocol):
    """Numbers of one column."""

    kind: ClassVar[str]
    schema: ClassVar[Check]

    @property
    def name(self) -> str:
        """Of the column."""

    @property
    def names(self) -> list[str]:
        """Of the columns that are made of it."""

    @property
    def units(self) -> Array:
        """What one step of each made column is in units of the table's column."""

    @property
    def zeros(self) -> Array:
        """Where each made column is zero, in units of the table's column."""

    def transform(self, column: Any) -> Any:
        """The made columns for these cells, dense or sparse."""

    def words(self) -> str:
        """What is done."""

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""


class _Plain:
    """Fields that go into a file as they are."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return {"kind": self.kind} | {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Numbers(_Plain):
    """A number, gaps filled with the median; in standard deviations from the mean if scaled."""

    kind: ClassVar[str] = "number"
    schema: ClassVar[Check] = record(
        optional=["unit", "mark", "lenient"], kind=word("number"), name=text,
        decimal=word(".", ","), groups=text, fill=real(), gaps=truth, mean=real(),
        deviation=real(0), unit=text, mark=text, lenient=truth,
    )  # fmt: skip

    name: str
    decimal: str
    groups: str
    fill: float
    gaps: bool
    """Whether training had gaps; then a column of 0 and 1 tells of them."""
    mean: float
    deviation: float
    unit: str = ""
    """Beside the digits of every cell."""
    mark: str = ""
    """A number that stands for no value."""
    lenient: bool = False
    """Whether a cell that is no number is a gap."""

    @classmethod
    def fit(cls, name: str, column: Any, role: Role, *, scale: bool) -> Numbers:
        """Learn from these cells."""
        style = role.style
        bare = cls(
            name, style.decimal, style.groups, 0.0, gaps=False, mean=0.0, deviation=1.0,
            unit=style.unit, mark=role.mark, lenient=role.lenient,
        )  # fmt: skip
        return bare._learned(bare._read(column), scale=scale)

    def _learned(self, values: Array, *, scale: bool) -> Numbers:
        """The same with what these numbers tell."""
        missing = np.isnan(values)
        gaps = bool(missing.any())
        known = values[~missing] if gaps else values
        fill = float(np.median(known)) if known.size else 0.0
        filled = np.where(missing, fill, values) if gaps else values
        mean, deviation = (_mean(filled), _deviation(filled)) if scale else (0.0, 1.0)
        return replace(self, fill=fill, gaps=gaps, mean=mean, deviation=deviation)

    @classmethod
    def fit_all(cls, names: list[str], columns: Array, *, scale: bool) -> list[Numbers]:
        """Learn from plain numbers, a column of the table a row; the same as one by one."""
        bare = [cls(str(name), ".", "", 0.0, gaps=False, mean=0.0, deviation=1.0) for name in names]
        return [
            one._learned(one._finite(values), scale=scale) for one, values in zip(bare, columns)
        ]

    @staticmethod
    def transform_all(encoders: list[Numbers], columns: Array) -> Array:
        """The made columns of plain numbers; the same as one by one."""
        widths = [1 + one.gaps for one in encoders]
        made = np.empty((columns.shape[1], sum(widths)))
        at = 0
        for one, values, width in zip(encoders, columns, widths):
            gap = np.isnan(one._finite(values))
            made[:, at] = (np.where(gap, one.fill, values) - one.mean) / one.deviation
            if width == 2:
                made[:, at + 1] = gap
            at += width
        return made

    @property
    def names(self) -> list[str]:
        """The column, and whether it has a value."""
        return [self.name, *([f"{self.name} is missing"] if self.gaps else [])]

    @property
    def units(self) -> Array:
        """Its deviation."""
        return np.array([self.deviation, 1.0][: 1 + self.gaps])

    @property
    def zeros(self) -> Array:
        """Its mean."""
        return np.array([self.mean, 0.0][: 1 + self.gaps])

    def transform(self, column: Any) -> Any:
        """One or two columns."""
        values = self._read(column)
        gap = np.isnan(values)
        scaled = (np.where(gap, self.fill, values) - self.mean) / self.deviation
        return np.column_stack([scaled, gap]) if self.gaps else scaled[:, None]

    def words(self) -> str:
        """What is done."""
        told = ["a number"]
        style = str(self._style)
        told += [f"with {style}"] if style else []
        told += [f"{self.mark} is a gap"] if self.mark else []
        told += ["what is no number is a gap"] * self.lenient
        told += [
            f"gaps are filled with the median {self.fill:.6g} and told by a column"
        ] * self.gaps
        if self.deviation != 1 or self.mean != 0:
            told.append(f"in units of {self.deviation:.4g} from {self.mean:.4g}")
        return ", ".join(told)

    @property
    def _style(self) -> Style:
        return Style(self.decimal, self.groups, self.unit)

    def _read(self, column: Any) -> Array:
        values = self._as_written(column)
        if self.mark:
            values = np.where(values == float(self.mark), np.nan, values)
        return self._finite(values)

    def _as_written(self, column: Any) -> Array:
        types = require("pandas", extra="study").api.types
        if is_plain(column.dtype):
            values: Array = column.to_numpy(dtype=np.float64)
        elif column.dtype.kind == "m":
            values = column.dt.total_seconds().to_numpy(dtype=np.float64)
        elif types.is_numeric_dtype(column.dtype):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            style = self._style
            told = cells(column).map(_or_gap)
            table = {cell: style.read(cell) for cell in told.dropna().unique()}
            values = np.array([table.get(cell, math.nan) for cell in told], dtype=np.float64)
            bad = np.flatnonzero(np.isnan(values) & told.notna().to_numpy())
            if bad.size and not self.lenient:
                written = f" with {style}" if str(style) else ""
                raise DataError(
                    f"row {bad[0] + 1}: {told.iloc[bad[0]]!r:.40} in column {self.name!r} is not "
                    f"a number{written}; correct the cell, or leave it empty."
                )
        return values

    def _finite(self, values: Array) -> Array:
        endless = np.flatnonzero(np.isinf(values))
        if endless.size:
            raise DataError(
                f"row {endless[0] + 1}: {values[endless[0]]} in column {self.name!r} is not a "
                "finite number; correct the cell, or leave it empty."
            )
        return values


def _or_gap(cell: str | None) -> str | None:
    return None if cell is None or is_dash(cell) else cell


def _mean(values: Array) -> float:
    largest = float(np.abs(values).max(initial=0.0))
    return float((values / largest).mean() * largest) if largest > 0 else 0.0


def _deviation(values: Array) -> float:
    """Not zero, and finite whatever the size of the numbers."""
    largest = float(np.abs(values).max(initial=0.0))
    found = float((values / largest).std() * largest) if largest > 0 else 0.0
    return found if found > 0 else 1.0


@dataclass(frozen=True)
class Categories(_Plain):
    """A column of 0 and 1 for each value; one for two of them."""

    kind: ClassVar[str] = "category"
    schema: ClassVar[Check] = record(
        kind=word("category"), name=text, values=listed(text), gaps=truth, rest=whole(),
    )  # fmt: skip

    name: str
    values: list[str]
    gaps: bool
    """Whether no value is one more value."""
    rest: int
    """How many rare values stand together as "other"."""

    @classmethod
    def fit(cls, name: str, column: Any, role: Role, *, scale: bool) -> Categories:
        """Learn from these cells."""
        told = cells(column)
        counts = told.value_counts()
        rare = counts[counts < _TWICE] if len(counts) > _LIST else counts[:0]
        values = sorted(set(counts.index) - set(rare.index))
        return cls(name, values, bool(told.isna().any()), len(rare))

    @cached_property
    def _ends(self) -> list[str]:
        more = ["missing"] * self.gaps + ["other"] * (self.rest > 0)
        return self.values[1:] if len(self.values) == 2 and not more else [*self.values, *more]

    @property
    def names(self) -> list[str]:
        """Column and value."""
        return [f"{self.name}={value}" for value in self._ends]

    @property
    def units(self) -> Array:
        """They are 0 or 1."""
        return np.ones(len(self._ends))

    @property
    def zeros(self) -> Array:
        """They are 0 or 1."""
        return np.zeros(len(self._ends))

    def transform(self, column: Any) -> Any:
        """One column a value, sparse; a value that training had not is none of them."""
        told = cells(column)
        place = {value: j for j, value in enumerate(self.values)}
        skip = len(self.values) - len(self._ends) if len(self._ends) < len(self.values) else 0
        gap = len(self.values) if self.gaps else -1
        rest = len(self.values) + self.gaps if self.rest else -1
        at = np.array([gap if c is None else place.get(c, -2) for c in told], dtype=np.int64)
        unknown = at == -2
        if unknown.any() and rest < 0:
            self._tell_of(told[unknown])
        at[unknown] = rest
        rows = np.flatnonzero(at >= skip)
        shape = (len(at), len(self._ends))
        ones = np.ones(len(rows))
        return sparse.csr_array((ones, (rows, at[rows] - skip)), shape=shape)

    def _tell_of(self, unknown: Any) -> None:
        values = unknown.unique()
        named = ", ".join(repr(value) for value in values[:_NAMED_VALUES])
        more = " ..." if len(values) > _NAMED_VALUES else ""
        warnings.warn(
            f"{count(len(unknown), 'row has', 'rows have')} values of {self.name!r} that training "
            f"had not ({named}{more}); they count as none of its values.",
            LinsepWarning,
            stacklevel=2,
        )

    def words(self) -> str:
        """What is done."""
        told = f"{count(len(self.values), 'category', 'categories')}"
        made = count(len(self._ends), "column")
        gaps = ", a gap is one more" if self.gaps else ""
        rest = f", {self.rest} rare ones stand together" if self.rest else ""
        return f"{told}{gaps}{rest}: {made} of 0 and 1"


@dataclass(frozen=True)
class Dates(_Plain):
    """Year and seconds as numbers; month, day, weekday and hour as points of a circle."""

    kind: ClassVar[str] = "date"
    schema: ClassVar[Check] = record(
        kind=word("date"), name=text, format=maybe(text), times=truth, gaps=truth,
        means=listed(real()), deviations=listed(real(0)),
    )  # fmt: skip

    name: str
    format: str | None
    times: bool
    gaps: bool
    means: list[float]
    deviations: list[float]

    @classmethod
    def fit(cls, name: str, column: Any, role: Role, *, scale: bool) -> Dates:
        """Learn from these cells."""
        bare = cls(name, role.format, times=True, gaps=False, means=[], deviations=[])
        stamps = bare._read(column)
        known = stamps.dropna()
        times = bool((known != known.dt.normalize()).any())
        bare = cls(name, role.format, times, gaps=False, means=[], deviations=[])
        values = bare._parts(stamps)[~stamps.isna().to_numpy()]
        means = [_mean(part) for part in values.T]
        deviations = [_deviation(part) for part in values.T]
        return cls(name, role.format, times, bool(stamps.isna().any()), means, deviations)

    @cached_property
    def _encoder(self) -> Any:
        """Of skrub; which parts it makes depends only on whether there are times of day."""
        pandas, skrub = (require(name, extra="study") for name in ("pandas", "skrub"))
        encoder = skrub.DatetimeEncoder(add_weekday=True, periodic_encoding="circular")
        one = pandas.Timestamp(2024, 2, 3, 4 if self.times else 0)
        return encoder.fit(pandas.Series([one], name=self.name))

    @property
    def names(self) -> list[str]:
        """Column and part."""
        parts = [name.replace("_circular", "") for name in self._encoder.all_outputs_]
        return [*parts, *([f"{self.name} is missing"] if self.gaps else [])]

    @property
    def units(self) -> Array:
        """Deviations of the parts."""
        return np.array([*self.deviations, *([1.0] if self.gaps else [])])

    @property
    def zeros(self) -> Array:
        """Means of the parts."""
        return np.array([*self.means, *([0.0] if self.gaps else [])])

    def transform(self, column: Any) -> Any:
        """A column for each part."""
        stamps = self._read(column)
        gap = stamps.isna().to_numpy()
        parts = (self._parts(stamps) - np.array(self.means)) / np.array(self.deviations)
        parts[gap] = 0.0  # a date that is not known is an average one
        return np.column_stack([parts, gap]) if self.gaps else parts

    def words(self) -> str:
        """What is done."""
        told = "a date" if self.format is None else f"a date, written as {self.format}"
        hour = ", hour" if self.times else ""
        gaps = ", gaps told by a column" if self.gaps else ""
        return f"{told}: year, seconds, month, day, weekday{hour}{gaps}"

    def _read(self, column: Any) -> Any:
        pandas = require("pandas", extra="study")
        if pandas.api.types.is_datetime64_any_dtype(column.dtype):
            if isinstance(column.dtype, pandas.ArrowDtype):  # skrub knows none of them
                column = pandas.to_datetime(column.astype(object), utc=True)
            zone = getattr(column.dt, "tz", None)
            return column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
        told = cells(column).map(_or_gap)
        stamps = pandas.to_datetime(
            told, format=self.format or "ISO8601", errors="coerce", utc=True
        )
        bad = np.flatnonzero((stamps.isna() & told.notna()).to_numpy())
        if bad.size:
            raise DataError(
                f"row {bad[0] + 1}: {told.iloc[bad[0]]!r:.40} in column {self.name!r} is no date "
                f"of the form {self.format}; correct the cell, or leave it empty."
            )
        return stamps.dt.tz_localize(None)

    def _parts(self, stamps: Any) -> Array:
        named = stamps.rename(self.name)
        made: Array = self._encoder.transform(named).to_numpy(dtype=np.float64)
        return np.nan_to_num(made, nan=0.0)


@dataclass(frozen=True)
class Texts(_Plain):
    """Words, weighted by how rare they are (tf-idf), rows of length one."""

    kind: ClassVar[str] = "text"
    schema: ClassVar[Check] = record(
        kind=word("text"), name=text, vocabulary=listed(text), rarity=listed(real(0)),
    )  # fmt: skip

    name: str
    vocabulary: list[str]
    rarity: list[float]

    @classmethod
    def fit(cls, name: str, column: Any, role: Role, *, scale: bool) -> Texts:
        """Learn from these cells."""
        told = cells(column).fillna("").tolist()
        for least in (_TWICE, 1):
            vectorizer = _vectorizer(least)
            try:
                vectorizer.fit(told)
            except ValueError:  # no word is left
                continue
            words = vectorizer.get_feature_names_out().tolist()
            return cls(name, words, vectorizer.idf_.tolist())
        raise DataError(f"column {name!r} has no words; leave it out with drop=[{name!r}].")

    @cached_property
    def _fitted(self) -> Any:
        vectorizer = _vectorizer(1, self.vocabulary)
        vectorizer.idf_ = np.array(self.rarity)
        return vectorizer

    @property
    def names(self) -> list[str]:
        """Column and word."""
        return [f"{self.name}: {entry}" for entry in self.vocabulary]

    @property
    def units(self) -> Array:
        """They are weights of words."""
        return np.ones(len(self.vocabulary))

    @property
    def zeros(self) -> Array:
        """No word."""
        return np.zeros(len(self.vocabulary))

    def transform(self, column: Any) -> Any:
        """A column for each word, sparse."""
        told = cells(column).fillna("").tolist()
        return sparse.csr_array(self._fitted.transform(told))

    def words(self) -> str:
        """What is done."""
        return (
            f"text: {count(len(self.vocabulary), 'word')}, weighted by how rare they are (tf-idf)"
        )


def _vectorizer(least: int, vocabulary: list[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        min_df=1 if vocabulary else least, sublinear_tf=True, strip_accents="unicode",
        vocabulary=vocabulary,
    )  # fmt: skip


ENCODERS: Mapping[str, Any] = {one.kind: one for one in (Numbers, Categories, Dates, Texts)}
"""By role."""
