"""A state from a file: every number and array is held against the solver before it is used.

A file may be damaged or forged, and compiled code trusts its arguments. So an array has the type
and the shape that a fresh state of this solver has for this problem, or those that the state
declares (``State.held``); indices are indices of rows; counters count.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import ANY, Held, State, Status
from linsep.core.schema import LARGEST, Refused, real, text, truth

_DEFAULT = Held()
_HEX = re.compile("-?0x[0-9a-f]+")
_SEARCH_DIGITS = 1 << 22  # of an integer of a search that never rounds
_SUMS_OFF = 1e-6  # relative: how far sums of another machine may be off

Numbers = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def restore(
    problem: Any, solver: Any, state: State, numbers: Numbers, arrays: Arrays, prefix: str = ""
) -> None:
    """Fill a fresh state with what a file holds, or raise ``Refused`` with the name of an entry."""
    plain = [field.name for field in dataclasses.fields(state) if not _is_part(state, field.name)]
    fresh = {name: getattr(state, name) for name in plain}
    flat = [name for name in plain if not isinstance(fresh[name], np.ndarray)]
    for name in flat:
        if prefix + name not in numbers:
            raise Refused(prefix + name, None, "an entry")
        held = state.held.get(name, _DEFAULT)
        setattr(state, name, _number(numbers[prefix + name], fresh[name], held, prefix + name))
    tables = [name for name in plain if isinstance(fresh[name], np.ndarray)]
    later = [name for name in tables if _names(state.held.get(name, _DEFAULT).shape)]
    for group, extents in ((set(tables) - set(later), False), (later, True)):
        known = _extents(problem, solver, state) if extents and group else {}
        for name in group:
            place = prefix + name
            if place not in arrays:
                raise Refused(place, None, "an array")
            held = state.held.get(name, _DEFAULT)
            size = _Sizes(known, problem, state)
            setattr(state, name, _array(arrays[place], fresh[name], held, size, place))
    size = _Sizes(_extents(problem, solver, state), problem, state)
    for name in tables:
        _check_entries(state, name, size, prefix + name)
    for name in flat:
        _check_bound(state, name, size, prefix + name)
    for start, where, whose, inner in _within(problem, solver, state):
        restore(where, whose, inner, numbers, arrays, prefix + start)


def _is_part(state: State, name: str) -> bool:
    """Whether a field holds states."""
    value = getattr(state, name)
    return isinstance(value, State) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], State)
    )


def _within(problem: Any, solver: Any, state: State) -> Iterable[tuple[str, Any, Any, State]]:
    found: Any = getattr(solver, "within", None)
    return () if found is None else found(problem, state)


def _extents(problem: Any, solver: Any, state: State) -> dict[str, int]:
    found: Any = getattr(solver, "extents", None)
    return {} if found is None else found(problem, state)


@dataclasses.dataclass(frozen=True)
class _Sizes:
    """What names of lengths and bounds stand for."""

    known: Mapping[str, int]
    problem: Any
    state: State

    def of(self, name: int | str) -> int:
        if isinstance(name, int):
            return name
        if name in self.known:
            return self.known[name]
        found = getattr(self.state, name, None)
        if not isinstance(found, np.ndarray | int):
            found = getattr(self.problem, name)
        return len(found) if isinstance(found, np.ndarray) else int(found)


def _names(shape: tuple[int | str | None, ...] | None) -> bool:
    return any(isinstance(axis, str) and axis != "?" for axis in shape or ())


# -- numbers --------------------------------------------------------------------------------------


def _number(stored: Any, old: Any, held: Held, where: str) -> Any:
    """What was stored, of the type that it has in a fresh state."""
    if isinstance(old, Status):
        if text(stored, where) not in Status.__members__:
            raise Refused(where, stored, "the name of a status")
        return Status[stored]
    if isinstance(old, Fraction):
        if not isinstance(stored, list) or len(stored) != 2:
            raise Refused(where, stored, "a pair of integers")
        above, below = (_integer(v, where) for v in stored)
        if below <= 0:
            raise Refused(where, below, "a number above 0")
        return Fraction(above, below)
    if isinstance(old, list):
        if not isinstance(stored, list):
            raise Refused(where, stored, "a list of integers")
        return [_integer(v, where) for v in stored]
    if isinstance(old, bool):
        return truth(stored, where)
    if isinstance(old, str):
        if text(stored, where) not in held.words:
            raise Refused(where, stored, f"one of {', '.join(map(repr, held.words))}")
        return stored
    if isinstance(old, int):
        found = _integer(stored, where)
        if found < held.low or (found > LARGEST and not held.endless):
            raise Refused(where, found, f"a whole number from {held.low} to {LARGEST}")
        same = found == old
    else:
        found = real(endless=True)(stored, where)
        same = _close(found, old)
    if held.fixed and not same:
        raise Refused(where, found, f"{old!r}")
    return found


def _integer(stored: Any, where: str) -> int:
    """A JSON integer, or a long one in hexadecimal, which has no limit of digits."""
    if type(stored) is int:
        return stored
    if type(stored) is str and len(stored) <= _SEARCH_DIGITS and _HEX.fullmatch(stored):
        return int(stored, 16)
    raise Refused(where, stored, "a whole number")


def _check_bound(state: State, name: str, size: _Sizes, where: str) -> None:
    """Bounds of whole numbers that have names."""
    held, value = state.held.get(name, _DEFAULT), getattr(state, name)
    values = value if isinstance(value, list) else [value]
    if held.below is not None and any(not held.low <= v < size.of(held.below) for v in values):
        raise Refused(where, value, f"a whole number below {size.of(held.below)}")
    if held.most is not None and any(v > size.of(held.most) for v in values):
        raise Refused(where, value, f"a whole number up to {size.of(held.most)}")


def _close(found: Any, old: Any) -> bool:
    return bool(np.allclose(found, old, rtol=_SUMS_OFF, atol=0.0, equal_nan=True))


# -- arrays ---------------------------------------------------------------------------------------


def _array(
    found: NDArray[Any], old: NDArray[Any], held: Held, size: _Sizes, where: str
) -> NDArray[Any]:
    """The array, of the type and a shape that its place asks for."""
    due = f"an array of {old.dtype} and shape {old.shape if held.shape is None else held.shape}"
    told = f"an array of {found.dtype} and shape {found.shape}"
    alike = found.dtype == old.dtype or (held.any_width and found.dtype in (np.float32, np.float64))
    if not alike or found.ndim != old.ndim:
        raise _refused(where, told, due)
    if not (held.empty and found.size == 0):
        shape = held.shape if held.shape is not None else (None,) * old.ndim
        for want, have, fresh in zip(shape, found.shape, old.shape):
            length = fresh if want is None else have if want == "?" else size.of(want)
            if length not in (have, ANY):
                raise _refused(where, told, due)
    if held.fixed and not (found.shape == old.shape and _close(found, old)):
        raise _refused(where, "another array", "the one of these data")
    return found


def _refused(where: str, told: str, due: str) -> Refused:
    error = Refused(where, None, due)
    error.args = (f"{where} is {told}; {due} is due",)
    return error


def _check_entries(state: State, name: str, size: _Sizes, where: str) -> None:
    """Indices and counters in their ranges, floats finite as long as the run goes on."""
    array, held = getattr(state, name), state.held.get(name, _DEFAULT)
    if array.dtype.kind == "f":
        free = held.endless or held.fixed or state.status.done
        if not free and not np.isfinite(array).all():
            raise _refused(where, "an array with infinity or NaN", "a finite one")
        return
    if array.dtype.kind not in "iu" or not array.size:
        return
    below = LARGEST if held.below is None else size.of(held.below)
    if int(array.min()) < held.low or int(array.max()) >= below:
        reach = f"{int(array.min())} to {int(array.max())}"
        raise _refused(where, f"an array from {reach}", f"one from {held.low} to {below - 1}")
    (length, *more) = held.shape or (None,)
    free = not more and (length == "?" or size.known.get(str(length)) == ANY)
    if free and isinstance(held.below, str) and array.size > below:
        raise _refused(where, f"a list of {array.size}", f"a list of at most {below}")
    if held.most is not None:
        rest = np.delete(array, list(held.entries))
        if rest.max(initial=0) > size.of(held.most):
            raise _refused(where, f"an array up to {int(rest.max())}", f"at most {held.most}")
    for at, bound in held.entries.items():
        if not 0 <= int(array[at]) < size.of(bound):
            raise _refused(f"{where}[{at}]", str(int(array[at])), f"less than {size.of(bound)}")
