"""What each column of a table is: number, category, date, text, identifier, or of no use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.data.columns import first_code, is_dash, is_missing, is_number
from linsep.errors import DataError, SettingError, require
from linsep.tables.styles import PLAIN, Style, find_style, looks_like_number, unit_of

KINDS = ("number", "category", "date", "text", "identifier", "ignored")
USED = KINDS[:4]

_FEW_VALUES = 40  # different values up to which text is a category, whatever it says
_FEW_UNITS = 4  # up to which texts of digits and letters are numbers in several units
_WORDS = 3.0  # mean number of words from which it is a text
_DISTINCT_ROWS = 20  # rows from which a column of distinct values can be told from a category
_DAYS = 5  # different dates written as numbers, from which they are taken for dates
_TWICE = 2  # rows in which a number stands that may mark gaps
_MOSTLY = 0.8  # share of numbers from which a column of text was meant to be one of numbers
_ID = re.compile(
    r"(?:.*[\s_.-])?(?:id|uuid|guid|key|nr|index|rowid|row)|unnamed: ?0"
    r"|.*(?:nr|nummer)|.*(?-i:[a-z]I[dD])",
    re.IGNORECASE,
)
_RARE_FORMATS = (
    "%d %b %Y", "%b %d, %Y", "%d-%b-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y",
    "%d-%b-%y", "%d %b %y",
    "%b %d, %Y %I:%M %p", "%d.%m.%y %H:%M", "%d/%m/%y %H:%M", "%m/%d/%y %H:%M",
    "%B %d, %Y", "%d %B %Y", "%B %Y", "%b %Y",
)  # fmt: skip
_DATE = re.compile(r"[0-9]{1,4}(?:[-/.: T]|, ?)[0-9A-Za-z]{1,9}|[A-Za-z]{3,9} [0-9]{4}")
_DAY = re.compile(  # what hardly can be anything but a date
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[ T].*)?|[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})"
    r"(?: .*)?|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}(?: .*)?"
)
_COMPACT = "%Y%m%d"  # 20240131, a date written as a number
_GAP_MARKS = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)


@dataclass(frozen=True)
class Role:
    """What a column is taken for, and how its cells are read."""

    kind: str
    why: str
    """In a few words."""
    style: Style = PLAIN
    """Of numbers that are written as text."""
    format: str | None = None
    """Of dates that are written as text."""
    mark: str = ""
    """A number that stands for no value, as asked."""
    lenient: bool = False
    """Whether cells that are no numbers are gaps, as asked."""
    doubt: str = ""
    """A number that may stand for no value."""


def find_roles(
    frame: Any,
    *,
    roles: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    decimal: str | None = None,
) -> dict[str, Role]:
    """The role of every column of a pandas frame; what the caller says decides."""
    asked = dict(roles or {})
    for name in (*asked, *drop):
        if name not in frame.columns:
            known = ", ".join(repr(str(c)) for c in frame.columns[:12])
            raise SettingError(f"there is no column {name!r}; the table has {known}.")
    for name, words in asked.items():
        kind, _, form = words.partition(":")
        good = not form or kind == "date" or (kind == "number" and is_number(form))
        if kind not in KINDS or not good:
            raise SettingError(
                f"the role of {name!r} is {words!r}; known: {', '.join(KINDS)}, "
                "date:%d/%m/%Y for dates of a form, and number:-999 for numbers among which that "
                "one is a gap."
            )
    found = {}
    bulk = _plain_numbers(frame, {*asked, *drop})
    for name in frame.columns:
        if name in bulk:
            found[name] = bulk[name]
        elif name in drop or asked.get(name) == "ignored":
            found[name] = Role("ignored", "left out as asked")
        elif name in asked:
            found[name] = _as_asked(frame[name], asked[name], decimal)
        else:
            found[name] = _find(frame[name], decimal)
    return found


def _plain_numbers(frame: Any, named: set[str]) -> dict[str, Role]:
    """Roles of the columns of floats and whole numbers, where there are many: all at once."""
    names = [c for c, d in zip(frame.columns, frame.dtypes) if is_plain(d) and c not in named]
    if len(names) < MANY:
        return {}
    found = {}
    for name, values in zip(names, plain_columns(frame, names)):
        found[name] = _number(str(name), values[~np.isnan(values)], len(values))
    return found


MANY = 50  # columns of numbers from which they are read together


def is_plain(dtype: Any) -> bool:
    """Whether a column of this type is an array of floats or whole numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu"


def plain_columns(frame: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """These columns, one a row, each in one piece, as a column alone would be."""
    whole = frame if len(names) == frame.shape[1] else frame[list(names)]
    return np.ascontiguousarray(whole.to_numpy(dtype=np.float64).T)


def cells(column: Any) -> Any:
    """The column as text without blanks around it, None where there is no value."""
    pandas = require("pandas", extra="study")
    try:
        codes, different = pandas.factorize(column.astype(object))
    except TypeError as error:  # lists and the like
        first = next(value for value in column if value is not None)
        raise DataError(
            f"column {str(column.name)!r} holds a {type(first).__name__} in every cell, such as "
            f"{first!r:.40}; make columns of it, or leave it out with drop=[{column.name!r}].",
            options={f"drop=[{column.name!r}]": f"--drop {column.name}"},
        ) from error
    texts = [_text(value) for value in different]
    table = np.array([*(None if is_missing(cell) else cell for cell in texts), None], dtype=object)
    return pandas.Series(table[codes], index=column.index, dtype=object)


def _text(value: Any) -> str:
    """As a person writes it: a whole number without its .0."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else str(value).strip()


def _find(column: Any, decimal: str | None) -> Role:
    if is_plain(column.dtype):  # most often
        values = column.to_numpy(dtype=np.float64)
        return _number(str(column.name), values[~np.isnan(values)], len(values))
    pandas = require("pandas", extra="study")
    types = pandas.api.types
    present = column.dropna()
    if not len(present):
        return Role("ignored", "empty")
    if types.is_bool_dtype(column.dtype):
        return Role("category", "true or false")
    if types.is_datetime64_any_dtype(column.dtype):
        return Role("date", "a date")
    if column.dtype.kind == "m":
        seconds = present.dt.total_seconds().to_numpy(dtype=np.float64)
        return _number(str(column.name), seconds, len(column))
    if types.is_complex_dtype(column.dtype):
        raise DataError(
            f"column {str(column.name)!r} holds complex numbers; give their real and imaginary "
            "parts as two columns."
        )
    if types.is_numeric_dtype(column.dtype):
        return _number(str(column.name), present.to_numpy(dtype=np.float64), len(column))
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return Role("category", f"{count(present.nunique(), 'value')}")
    return _find_text(column, decimal)


def _number(name: str, present: NDArray[np.float64], rows: int) -> Role:
    """Of numbers without gaps, in a column of so many rows."""
    if not present.size:
        return Role("ignored", "empty")
    if present.min() == present.max():
        return _one_value(f"{present[0]:g}", len(present), rows)
    if len(present) == rows and numbers_the_rows(name, present):
        return Role("identifier", "a number of its own for every row")
    if _are_days(present):
        return Role("date", f"dates such as {present[0]:.0f}", format=_COMPACT)
    return Role("number", "numbers", doubt=_gap_mark(present))


def _are_days(values: NDArray[np.float64]) -> bool:
    """Whether whole numbers are dates such as 20240131: hardly any others are."""
    if values.min() < 19000101 or values.max() > 21001231 or len(values) < _DISTINCT_ROWS:
        return False
    different = np.unique(values)
    if len(different) < _DAYS or not (different == np.rint(different)).all():
        return False
    return _fits([f"{value:.0f}" for value in different], _COMPACT)


def _gap_mark(values: NDArray[np.float64]) -> str:
    """A number such as -999 in several rows, further from all others than they are apart."""
    for end in (float(values.min()), float(values.max())):
        if end in _GAP_MARKS:
            rest = values[values != end]
            apart = np.abs(rest - end).min()
            if len(values) - len(rest) >= _TWICE and apart > np.ptp(rest):
                return f"{end:g}"
    return ""


def _one_value(value: str, present: int, rows: int) -> Role:
    """Of a column of one value: with gaps it is a mark, which only some rows have."""
    if present == rows:
        return Role("ignored", f"always {value}")
    return Role("category", f"a mark, {value} in {present} of {rows} rows")


def numbers_the_rows(name: str, values: NDArray[np.float64]) -> bool:
    """Whether a column of numbers names its rows: 1, 2, 3, ..., or each its own under "id"."""
    if len(values) < _DISTINCT_ROWS or not (values == np.rint(values)).all():
        return False
    named = _ID.fullmatch(name) is not None and len(np.unique(values)) == len(values)
    return named or bool((np.diff(values) == 1).all())


def _find_text(column: Any, decimal: str | None) -> Role:
    text = cells(column)
    present = text.dropna()
    if not len(present):
        return Role("ignored", "empty")
    different = present.unique()
    if len(different) == 1:
        return _one_value(f"{different[0]!r:.40}", len(present), len(column))
    told = [value for value in different if not is_dash(value)]
    code = first_code(told)
    if code is not None:
        return _codes(present, told, code)
    style = find_style(told, str(column.name), decimal)
    if style is not None:
        read = present[present.isin(told)].map(style.read).to_numpy(dtype=np.float64)
        role = _number(str(column.name), read, len(column))
        if role.kind == "date":
            return role
        return replace(role, why=f"{role.why} written as text{_with(style)}", style=style)
    _refuse_mixed(text, told, str(column.name))
    found = _date_format(present[present.isin(told)], told)
    if found is not None:
        _refuse_two_readings(str(column.name), found, told)
        return Role("date", f"dates such as {different[0]!r:.40}", format=found)
    _refuse_mixed_dates(text, told, str(column.name))
    lettered = any(character.isalpha() for value in different for character in value)
    words = float(np.mean([len(value.split()) for value in present])) if lettered else 0.0
    if len(different) > _FEW_VALUES and words >= _WORDS:
        return Role("text", f"{words:.3g} words a row")
    if len(different) == len(present) >= _DISTINCT_ROWS:
        if words >= 2:
            return Role("text", f"{words:.3g} words a row, none twice")
        return Role("identifier", f"a {'text' if lettered else 'code'} of its own for every row")
    return Role("category", f"{count(len(different), 'value')}")


def _codes(present: Any, different: Sequence[str], code: str) -> Role:
    """Of codes such as 01067: categories, or one for each row."""
    if len(different) == len(present) >= _DISTINCT_ROWS:
        return Role("identifier", "a code of its own for every row")
    return Role("category", f"codes with zeros in front, such as {code!r:.40}")


def _with(style: Style) -> str:
    return f", {style}" if str(style) else ""


def _refuse_mixed(text: Any, different: Sequence[str], name: str) -> None:
    """A column of numbers with some cells that are none was not meant as one of categories."""
    units = [unit_of(value) for value in different] if len(different) > _FEW_VALUES else []
    few = len({unit for unit in units if unit}) <= _FEW_UNITS  # of seats and ordinals are more
    good = np.array([looks_like_number(value) for value in different])
    if units and few:
        good |= np.array([bool(unit) for unit in units])
    if good.sum() < _MOSTLY * len(good) or len(good) < 5:
        return
    bad = different[int(np.flatnonzero(~good)[0])] if not good.all() else None
    if bad is None:
        raise DataError(
            f"column {name!r} writes numbers in more than one way, such as {different[0]!r}; "
            f"correct it, or take its values as they stand with roles={{{name!r}: 'category'}}.",
            options={f"roles={{{name!r}: 'category'}}": f"--role {name}=category"},
        )
    row = int(np.flatnonzero((text == bad).to_numpy(dtype=bool))[0])
    if bad == name:
        raise DataError(f"row {row + 1}: the header stands there again ({bad!r}); delete the line.")
    raise DataError(
        f"row {row + 1}: {bad!r:.40} in column {name!r} is not a number, as most others are; "
        f"correct the cell, take such cells for gaps with roles={{{name!r}: 'number'}}, or all as "
        f"they stand with roles={{{name!r}: 'category'}}.",
        options={
            f"roles={{{name!r}: '{kind}'}}": f"--role {name}={kind}"
            for kind in ("number", "category")
        },
    )


def _refuse_mixed_dates(text: Any, different: Sequence[str], name: str) -> None:
    """A column of dates with some cells of another form was not meant as one of categories."""
    good = np.array([_DAY.fullmatch(value) is not None for value in different], dtype=bool)
    if len(good) < _DAYS or good.sum() < _MOSTLY * len(good):
        return
    example = different[int(np.flatnonzero(good)[0])]
    bad = different[int(np.flatnonzero(~good)[0])] if not good.all() else _other_form(different)
    row = int(np.flatnonzero((text == bad).to_numpy(dtype=bool))[0])
    raise DataError(
        f"row {row + 1}: {bad!r:.40} in column {name!r} is no date of the form of {example!r:.40}; "
        f"write all in one form, or take them as they stand with roles={{{name!r}: 'category'}}.",
        options={f"roles={{{name!r}: 'category'}}": f"--role {name}=category"},
    )


def _other_form(different: Sequence[str]) -> str:
    """The first date that is not written as the first one is."""
    shape = re.sub("[0-9]+", "0", different[0])
    return next((v for v in different if re.sub("[0-9]+", "0", v) != shape), different[-1])


def _date_format(present: Any, different: Sequence[str]) -> str | None:
    """The format of a column of dates; None for any other text."""
    if not all(_DATE.search(value) for value in different[:50]):
        return None
    skrub = require("skrub", extra="study")
    to_datetime = skrub.ToDatetime()
    try:
        to_datetime.fit(present.astype(str))
    except ValueError:  # skrub's way to say that it knows no form of them
        return _rare_format(different)
    form = to_datetime.format_ or "ISO8601"
    if form.startswith("%m.") and _fits(different, _turned(form)):
        return _turned(form)
    return form


def _rare_format(different: Sequence[str]) -> str | None:
    """A form of dates that pandas does not guess, if it is the only one that fits all."""
    fits = [form for form in _RARE_FORMATS if _fits(different, form)]
    return fits[0] if len({frozenset((form, _turned(form))) for form in fits}) == 1 else None


def _fits(different: Sequence[str], form: str) -> bool:
    """Whether all cells are dates of a form."""
    pandas = require("pandas", extra="study")
    try:
        pandas.to_datetime(list(different), format=form)
    except ValueError:
        return False
    return True


def _turned(form: str) -> str:
    """The form in which day and month have changed places."""
    return form.translate({ord("d"): "m", ord("m"): "d"})


def _refuse_two_readings(name: str, form: str, different: Sequence[str]) -> None:
    """03/04/2021 may be in March or in April: where no cell tells, the caller must.

    With the year in front the month follows, and with dots the day comes first.
    """
    pandas = require("pandas", extra="study")
    other = _turned(form)
    if not {"%d", "%m"} <= set(re.findall("%.", form)) or form.startswith(("%Y", "%d.")):
        return
    if not _fits(different, other):
        return
    read, turned = (pandas.to_datetime(list(different), format=one) for one in (form, other))
    differs = np.flatnonzero(read != turned)
    if not len(differs):
        return
    forms = sorted({form, other})
    ways = " or ".join(f"roles={{{name!r}: 'date:{one}'}}" for one in forms)
    raise DataError(
        f"column {name!r} has dates with two readings, such as {different[differs[0]]!r}, and no "
        f"cell tells which one is meant; say it with {ways}.",
        options={ways: " or ".join(f"--role {name}=date:{one}" for one in forms)},
    )


def _as_asked(column: Any, kind: str, decimal: str | None) -> Role:
    """The role that a caller asks for, with what is needed to read the cells."""
    pandas = require("pandas", extra="study")
    types, name = pandas.api.types, str(column.name)
    kind, _, form = kind.partition(":")
    if kind == "number" and not types.is_numeric_dtype(column.dtype):
        text = cells(column)
        different = [value for value in text.dropna().unique() if not is_dash(value)]
        style = find_style(different, name, decimal)
        lenient = style is None
        if lenient:  # the others are gaps
            some = [value for value in different if looks_like_number(value)]
            style = find_style(some, name, decimal) if some else None
        if style is None:
            bad = next((v for v in different if not looks_like_number(v)), different[:1])
            raise DataError(f"column {name!r} cannot be numbers: {bad!r:.40} is none.")
        why = f"as asked{_with(style)}"
        return Role("number", why, style, mark=form, lenient=lenient)
    if kind == "number":
        return Role("number", "as asked", mark=form)
    if kind == "date" and not types.is_datetime64_any_dtype(column.dtype):
        text = cells(column)
        present = text.dropna()
        present = present[~present.map(is_dash)]
        found = form or _date_format(present, present.unique())
        if found is None:
            raise DataError(f"column {name!r} cannot be dates: {present.iloc[0]!r:.40} is none.")
        if form:
            _refuse_other_forms(name, form, text, present.unique())
        else:
            _refuse_two_readings(name, found, present.unique())
        return Role("date", "as asked", format=found)
    return Role(kind, "as asked")


def _refuse_other_forms(name: str, form: str, text: Any, different: Sequence[str]) -> None:
    """Every cell must be of the form that the caller has given."""
    if not _fits(different, form):
        bad = next(value for value in different if not _fits([value], form))
        row = int(np.flatnonzero((text == bad).to_numpy(dtype=bool))[0])
        raise DataError(
            f"row {row + 1}: {bad!r:.40} in column {name!r} is no date of the form {form}; correct "
            "the cell, leave it empty, or give another form."
        )
