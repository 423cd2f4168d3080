"""What a file may hold: kinds of values, each a function that checks one, for all formats.

A check takes a value and the name of its place. It gives the value as it is kept, or raises
``Refused`` with the place and what is wrong there. Formats are built of these; nothing reaches
compiled code, pyarrow or a rational before its check.

>>> point = record(x=real(), n=whole(0, 10))
>>> point({"x": 1.5, "n": 3}, "p")
{'x': 1.5, 'n': 3}
>>> point({"x": 1.5, "n": 30}, "p")
Traceback (most recent call last):
linsep.core.schema.Refused: p.n is 30; a whole number from 0 to 10 is due
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from linsep.core.sources import budget

Check = Callable[[Any, str], Any]

LARGEST = 1 << 53  # counters of a run beyond this were not counted
_MOST_DIGITS = 200_000  # of a numerator; those of a proof over a thousand rows have some 20 000
_RATIO = re.compile(r"([+-]?[0-9]+)(?:/([0-9]+))?")
_PYTHON_DIGITS = 3000  # up to which Python converts itself
_MEMBERS = 10_000  # arrays of one file
_LETTERS = 10_000_000  # of one text
_DEPTH = 200  # lists in lists; those of a model have some twenty


class Refused(ValueError):
    """A value is not what its place asks for; the message begins with the place."""

    def __init__(self, where: str, value: object, due: str) -> None:
        super().__init__(f"{where} is {shown(value)}; {due} is due")


def shown(value: object) -> str:
    """A value in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not -(10**30) < value < 10**30:  # its digits may be millions
        return "a very large number"
    return f"{value!r:.60}"


# -- numbers, words -------------------------------------------------------------------------------


def whole(low: int = 0, high: int = LARGEST) -> Check:
    """An integer from low to high."""

    def check(value: Any, where: str) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Refused(where, value, f"a whole number from {low} to {high}")
        return value

    return check


def real(low: float = -math.inf, high: float = math.inf, *, endless: bool = False) -> Check:
    """A number from low to high, finite unless endless ones and NaN are allowed."""

    def check(value: Any, where: str) -> float:
        try:
            found = float(value) if type(value) in (int, float) else None
        except OverflowError:
            found = None
        if found is None or not (endless or math.isfinite(found)) or found < low or found > high:
            reach = "" if low == -math.inf and high == math.inf else f" from {low} to {high}"
            raise Refused(where, value, f"a {'' if endless else 'finite '}number{reach}")
        return found

    return check


def truth(value: Any, where: str) -> bool:
    """True or False."""
    if type(value) is not bool:
        raise Refused(where, value, "true or false")
    return value


def text(value: Any, where: str) -> str:
    """A text."""
    if type(value) is not str or len(value) > _LETTERS:
        raise Refused(where, value, "a text")
    return value


def word(*known: str) -> Check:
    """One of some words."""

    def check(value: Any, where: str) -> str:
        if type(value) is not str or value not in known:
            raise Refused(where, value, f"one of {', '.join(known)}")
        return value

    return check


def ratio(value: Any, where: str) -> Fraction:
    """A Fraction written as "p/q" or "p", of digits that can be computed with."""
    short = type(value) is str and len(value) <= 2 * _MOST_DIGITS
    found = _RATIO.fullmatch(value) if short else None
    if found is None or max(len(part or "") for part in found.groups()) > _MOST_DIGITS:
        raise Refused(where, value, f"a fraction p/q of at most {_MOST_DIGITS} digits each")
    below = _integer(found[2] or "1")
    if below == 0:
        raise Refused(where, value, "a fraction p/q with q > 0")
    return Fraction(_integer(found[1]), below)


def ratio_text(value: Fraction) -> str:
    """What ``ratio`` reads; decimal digits of any length, beyond some 4300 Python alone refuses."""
    above, below = _decimal(value.numerator), _decimal(value.denominator)
    return above if below == "1" else f"{above}/{below}"


def _integer(digits: str) -> int:
    if len(digits) < _PYTHON_DIGITS:
        return int(digits)
    import flint

    return int(flint.fmpz(digits.removeprefix("+")))


def _decimal(number: int) -> str:
    if abs(number).bit_length() < 3 * _PYTHON_DIGITS:
        return str(number)
    import flint

    return str(flint.fmpz(number))


# -- together -------------------------------------------------------------------------------------


def anything(value: Any, where: str) -> Any:
    """No check: the value is checked elsewhere, or never looked at."""
    return value


def nothing(value: Any, where: str) -> None:
    """None."""
    if value is not None:
        raise Refused(where, value, "nothing")


def scalar(value: Any, where: str) -> Any:
    """A number, a text, true, false or nothing; the label of a class, for instance."""
    if not isinstance(value, str | int | float | None):
        raise Refused(where, value, "a number or a text")
    return value


def maybe(check: Check) -> Check:
    """The same, or nothing."""
    return lambda value, where: None if value is None else check(value, where)


def either(*checks: Check) -> Check:
    """What the first of some checks takes."""

    def check(value: Any, where: str) -> Any:
        for last, one in enumerate(checks, 1):
            try:
                return one(value, where)
            except Refused:
                if last == len(checks):
                    raise
        raise Refused(where, value, "something else")

    return check


def listed(item: Check, count: int | None = None) -> Check:
    """A list, of so many values where that is known."""

    def check(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple) or (count is not None and len(value) != count):
            raise Refused(where, value, "a list" if count is None else f"a list of {count}")
        return [item(one, f"{where}[{k}]") for k, one in enumerate(value)]

    return check


def mapped(item: Check) -> Check:
    """An object whose values are all of one kind."""

    def check(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not all(type(key) is str for key in value):
            raise Refused(where, value, "an object")
        return {key: item(one, f"{where}.{key:.40}") for key, one in value.items()}

    return check


def record(optional: Iterable[str] = (), **entries: Check) -> Check:
    """An object with these entries; others are left out, those named optional may be absent."""
    spared = frozenset(optional)

    def check(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Refused(where, value, "an object")
        out, prefix = {}, f"{where}." if where else ""
        for name, one in entries.items():
            if name in value:
                out[name] = one(value[name], prefix + name)
            elif name not in spared:
                raise Refused(prefix + name, None, "an entry")
        return out

    return check


def numbers(*shape: int | None, whole: bool = False, endless: bool = False) -> Check:
    """Nested lists of finite numbers as an array; a None in the shape is any length."""
    kinds = {int} if whole else {int, float}
    kind = "whole" if whole else "" if endless else "finite"
    due = f"{' x '.join('n' if k is None else str(k) for k in shape)} {kind} numbers"

    def check(value: Any, where: str) -> NDArray[Any]:
        flat, found = _flat(value, len(shape))
        if flat is None or set(map(type, flat)) - kinds:
            raise Refused(where, value, due)
        try:
            out = np.array(flat, dtype=np.int64 if whole else np.float64).reshape(found)
        except OverflowError:
            raise Refused(where, "a number beyond 64 bits", due) from None
        fits = all(want is None or want == have for want, have in zip(shape, found))
        if not fits or not (endless or np.isfinite(out).all()):
            raise Refused(where, value, due)
        return out

    return check


def labels(value: Any, where: str) -> NDArray[Any]:
    """A list of labels of classes, all of one type that an array holds."""
    kinds = {type(one) for one in listed(scalar)(value, where)}
    if len(kinds) > 1 or kinds & {type(None)}:
        raise Refused(where, value, "a list of labels of one type")
    try:
        return np.array(value, dtype=np.int64 if kinds == {int} else None)
    except OverflowError:
        raise Refused(where, value, "a list of whole numbers of 64 bits") from None


def _flat(value: Any, axes: int) -> tuple[list[Any] | None, tuple[int, ...]]:
    """The values of lists in lists, all of one length on each axis, and these lengths."""
    lengths: list[int] = []
    flat = [value]
    for _ in range(axes):
        if not all(isinstance(one, list | tuple) for one in flat):
            return None, ()
        sizes = {len(one) for one in flat}
        if len(sizes) > 1:
            return None, ()
        lengths.append(sizes.pop() if sizes else 0)
        flat = [item for one in flat for item in one]
    return flat, tuple(lengths)


def facts(kind: type) -> Callable[[Any], dict[str, Any]]:
    """The fields of a dataclass, checked by their types; objects inside have ``from_dict``."""

    def read(data: Any) -> dict[str, Any]:
        found: dict[str, Any] = _fields_of(kind)(data, kind.__name__)
        return found

    return read


@cache
def _fields_of(kind: type) -> Check:
    hints = get_type_hints(kind)
    return record((), **{field.name: _by_hint(hints[field.name], kind) for field in fields(kind)})


def _by_hint(hint: Any, kind: type) -> Check:
    """The check of a type; parts of a ``kind`` are of this kind themselves."""
    simple: dict[Any, Check] = {
        bool: truth, int: whole(-LARGEST, LARGEST), float: real(endless=True), str: text,
        Fraction: ratio, type(None): nothing, Any: scalar,
    }  # fmt: skip
    if hint in simple:
        return simple[hint]
    parts = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return either(*(_by_hint(part, kind) for part in parts))
    if get_origin(hint) is tuple and parts[-1] is ...:
        inner = listed(_by_hint(parts[0], kind))
        return lambda value, where: tuple(inner(value, where))
    if is_dataclass(hint):
        made: Any = kind if issubclass(kind, hint) else hint  # type: ignore[arg-type]
        return lambda value, where: made.from_dict(mapped(anything)(value, where))
    raise TypeError(f"no check for {hint}")


# -- JSON -----------------------------------------------------------------------------------------


def from_json(data: bytes | str, *, endless: bool = False) -> Any:
    """The values of a JSON text, in which no field stands twice; NaN and Infinity if allowed."""
    constant = float if endless else _no_number
    value = json.loads(data, parse_constant=constant, object_pairs_hook=_once)
    _check_depth(value)
    if "\\u" in data if isinstance(data, str) else b"\\u" in data or b"\xed" in data:
        json.dumps(value, ensure_ascii=False).encode()  # halves of characters cannot be written
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a field is given twice")
    return out


def _check_depth(value: Any) -> None:
    """Refuse lists in lists in lists, over which functions that call themselves would fall."""
    layer = [value]
    for _ in range(_DEPTH):
        layer = [
            inner
            for one in layer
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, list | dict)
        ]
        if not layer:
            return
    raise RecursionError


# -- arrays in a zip file -------------------------------------------------------------------------


def from_npz(data: bytes, path: str) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file, by their names; none of objects, none larger than it says.

    The sizes that the file claims are added up before anything is unpacked, and the head of each
    array is compared with the bytes that follow it.
    """
    from linsep.core.sources import too_large
    from linsep.errors import FormatError

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(members) > _MEMBERS or len(set(names)) != len(names):
            raise ValueError(f"{len(members)} members, or two of one name")
        if sum(member.file_size for member in members) > budget(len(data)):
            raise FormatError(too_large(path, len(data), budget(len(data))))
        return {name: _array(archive.read(member)) for name, member in zip(names, members)}


def _array(raw: bytes) -> NDArray[Any]:
    """The array of a .npy file."""
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array of format {version}")
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = read[version[0]](stream)
    if dtype.kind not in "biufcSU" or dtype.itemsize == 0:
        raise ValueError(f"an array of {dtype}, which would run code or is no number")
    body = len(raw) - stream.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != body:
        raise ValueError(f"an array of shape {shape} in {body} bytes")
    flat = np.frombuffer(raw, dtype=dtype, offset=stream.tell())
    if dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
        raise ValueError("truths that are neither 0 nor 1")
    codes = flat.view(dtype.byteorder + "u4") if dtype.kind == "U" else np.zeros(0, np.uint32)
    if (codes > 0x10FFFF).any() or ((codes >= 0xD800) & (codes < 0xE000)).any():
        raise ValueError("letters that no text has")
    array = flat.reshape(shape, order="F" if by_columns else "C")
    return np.array(array, dtype=dtype.newbyteorder("="), order="K")
