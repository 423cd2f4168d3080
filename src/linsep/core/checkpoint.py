"""Saving a state and going on from it: a .npz file with a JSON header, never pickle.

The file names the data by fingerprint and the solver by its settings, and is refused for any
other. It is written to a temporary file first, so a kill leaves the last whole one.

Every number and array of a file is held against the solver before it is used: it may be damaged or
forged, and compiled code trusts its arguments. So an array has the type and the shape that a fresh
state of this solver has for this problem, or those that the state declares (``State.held``);
indices are indices of rows; counters count.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep._version import __version__
from linsep.core.boundary import boundary
from linsep.core.drive import Moment, Observer, Outcome
from linsep.core.files import atomic_write_bytes
from linsep.core.limits import clock
from linsep.core.notes import warn
from linsep.core.problem import Problem
from linsep.core.protocol import ANY, Held, Solver, State, Status
from linsep.core.schema import (
    LARGEST,
    Refused,
    anything,
    from_json,
    from_npz,
    listed,
    mapped,
    real,
    record,
    text,
    truth,
    whole,
    word,
)
from linsep.core.sources import fetch
from linsep.core.words import count
from linsep.errors import CheckpointError, DataError, LinsepWarning

S = TypeVar("S", bound=State)
_FORMAT = "linsep-checkpoint"
_VERSION = 2
_WAY = "start afresh without --resume, or resume from another file"
_FIRST_FILE = 1.0  # seconds until the first file
_HEXADECIMAL = 1 << 63  # integers from which they are written in hexadecimal


def save_checkpoint(path: str | Path, problem: Problem, solver: Solver[S], state: S) -> None:
    """Write a state to a file, whole or not at all."""
    arrays: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for holder, name, key in _places(state):
        value = getattr(holder, name)
        if isinstance(value, np.ndarray):
            arrays[key] = value
        else:
            numbers[key] = _pack(value)
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "linsep": __version__,
        "solver": describe(solver),
        "fingerprint": problem.fingerprint,
        "shape": [problem.n, problem.d],
        "numbers": numbers,
        "digest": _digest(numbers, arrays),
    }
    buffer = io.BytesIO()
    head = json.dumps(header).encode()
    np.savez(buffer, header=np.frombuffer(head, dtype=np.uint8), **arrays)
    atomic_write_bytes(path, buffer.getvalue())


def load_checkpoint(path: str | Path, problem: Problem, solver: Solver[S]) -> S:
    """Read a state back for the same data and the same solver, or raise CheckpointError."""
    header, arrays = _read(path)
    n, d = header["shape"]
    if header["fingerprint"] != problem.fingerprint:
        raise CheckpointError(
            f"{path} was made for {n} x {d} data (fingerprint {header['fingerprint'][:8]}); this "
            f"problem is {problem.n} x {problem.d} (fingerprint {problem.fingerprint[:8]}). "
            "Resume with the data it was made for, or start afresh without --resume."
        )
    if header["solver"] != describe(solver):
        raise CheckpointError(
            f"{path} was made by {header['solver']}, not by {describe(solver)}; "
            "resume with the same settings."
        )
    state = solver.init(problem)
    with boundary(path, CheckpointError, "it is damaged", _WAY):
        restore(problem, solver, state, header["numbers"], arrays)
        if header["digest"] != _digest(header["numbers"], arrays):
            raise CheckpointError(f"{path}: its numbers were changed since it was written; {_WAY}.")
    return state


def _places(state: Any, prefix: str = "") -> Iterator[tuple[Any, str, str]]:
    """Every number and array of a state and of the states inside it: where, and under which key."""
    for field in dataclasses.fields(state):
        value, key = getattr(state, field.name), prefix + field.name
        if isinstance(value, State):
            yield from _places(value, f"{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], State):
            for at, part in enumerate(value):
                yield from _places(part, f"{key}.{at}.")
        else:
            yield state, field.name, key


def _pack(value: Any) -> Any:
    """A number, a name or a list as JSON; long integers in hexadecimal, which has no limit."""
    if isinstance(value, Status):
        return value.name
    if isinstance(value, Fraction):
        return [_pack(value.numerator), _pack(value.denominator)]
    if isinstance(value, list):
        return [_pack(v) for v in value]
    if isinstance(value, int) and abs(value) >= _HEXADECIMAL:
        return hex(value)
    return value


def describe(solver: Any) -> str:
    """A solver and its settings in one line; functions by their names."""
    settings = []
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        if dataclasses.is_dataclass(value):
            shown = describe(value)
        elif isinstance(value, np.ndarray):  # in full, which a printed array is not
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            shown = f"{value.dtype}{list(value.shape)}:{digest[:16]}"
        elif callable(value):
            shown = f"{value.__module__}.{value.__qualname__}"
        else:
            shown = repr(value)
        settings.append(f"{field.name}={shown}")
    return f"{type(solver).__name__}({', '.join(settings)})"


_HEAD = record(
    format=word(_FORMAT), version=whole(), linsep=text, solver=text, fingerprint=text,
    shape=listed(whole(), 2), numbers=mapped(anything), digest=text,
)  # fmt: skip


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The head and the arrays of a file, whole and of this version."""
    try:
        data = fetch(path)
    except DataError as error:
        way = "" if os.path.exists(path) else "; start without --resume"
        raise CheckpointError(f"{str(error).rstrip('.')}{way}.") from error
    with boundary(path, CheckpointError, "it is not a linsep checkpoint, or it is damaged", _WAY):
        arrays = from_npz(data, str(path))
        found = from_json(arrays.pop("header").tobytes(), endless=True)
        version = found.get("version")
        if found.get("format") == _FORMAT and version != _VERSION:
            raise CheckpointError(
                f"{path} is a {_FORMAT} of version {version!r:.20}; this linsep reads {_FORMAT} of "
                f"version {_VERSION}. Resume with linsep {found.get('linsep')!r:.40}, or start "
                "afresh without --resume."
            )
        header = _HEAD(found, "")
    return header, arrays


def made_by(path: str | Path) -> str:
    """The solver whose state a file holds, with its settings, in one line."""
    return str(_read(path)[0]["solver"])


def fingerprint_of(path: str | Path) -> str:
    """The mark of the problem that a file was made for."""
    return str(_read(path)[0]["fingerprint"])


def require_free(path: str | Path) -> None:
    """Refuse a place where something lies that a checkpoint would replace: data, or a run that
    has not ended."""
    try:
        if not Path(path).expanduser().is_file() or not fetch(path):
            return
        steps = _unfinished(_read(path)[0])
    except CheckpointError as error:
        if f"is a {_FORMAT}" not in str(error):  # of another version it is one
            raise CheckpointError(
                f"{path} is no checkpoint, and would be replaced by one; choose another place, or "
                "remove it first."
            ) from error
    except DataError:
        return  # empty, or not to be read: told when it is written
    else:
        if steps:
            raise CheckpointError(
                f"{path} holds a run that has not ended ({count(steps, 'step')}) and would be "
                f"replaced. Go on with --resume {path}, choose another place, or remove it first."
            )


def _unfinished(header: dict[str, Any]) -> int:
    """Steps of a run that could go on; 0 for one that has ended."""
    numbers = header["numbers"]
    going_on = numbers.get("status") in (Status.READY.name, Status.RUNNING.name)
    steps = numbers.get("steps")
    return steps if going_on and isinstance(steps, int) else 0


def _digest(numbers: dict[str, Any], arrays: dict[str, Any]) -> str:
    """A mark of all that a state holds: damage that looks like a state is noticed."""
    out = hashlib.sha256(json.dumps(numbers, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        out.update(f"{name} {array.dtype} {array.shape}".encode())
        out.update(array.data)
    return out.hexdigest()


class Checkpointer(Observer):
    """Writes the state after a second, then every so many seconds, and at the end.

    A file that cannot be written is no reason to end a fit: a warning names it, and the next
    one is tried when its time comes. The old file stays whole. Where another run writes the same
    file meanwhile, neither loses its work: this one goes on beside it, in a file that a warning
    names. The same is done where the file holds a run that has not ended and has come further.

    Parameters
    ----------
    path : path of the file
    every : float, default=10.0
        Seconds between two files.
    """

    def __init__(self, path: str | Path, *, every: float = 10.0) -> None:
        self.path = Path(path)
        self.every = every
        self._next = clock() + min(every, _FIRST_FILE)
        self._now: Moment[Any] | None = None
        self._warned = False
        self._left: tuple[int, int, int] | None = None  # marks of the file as we left it

    def moment(self, now: Moment[Any]) -> None:
        """Write when it is time."""
        self._now = now
        if clock() >= self._next:
            self._write(now)

    def finish(self, outcome: Outcome[Any]) -> None:
        """Write the last state."""
        if self._now is not None:
            self._write(dataclasses.replace(self._now, state=outcome.state))

    def _write(self, now: Moment[Any]) -> None:
        marks = _marks(self.path)
        if self._left is None and marks is not None and _further(self.path, now.state.steps):
            self._step_aside(
                f"the checkpoint {self.path} holds a run that has not ended and has come further",
                "To go on with it: resume(X, y, FILE).",
            )
        elif self._left is not None and marks not in (None, self._left):
            self._step_aside(
                f"another run writes the checkpoint {self.path}, too",
                "Give each run a file of its own.",
            )
        try:
            save_checkpoint(self.path, now.problem, now.solver, now.state)
            self._left = _marks(self.path)
        except (OSError, MemoryError) as error:  # a copy of the state may be more than there is
            if not self._warned:
                why = getattr(error, "strerror", None) or str(error) or "not enough memory"
                warn(
                    f"the checkpoint {self.path} could not be written ({why}); the fit goes on "
                    "without it, and tries again. What it held before is whole.",
                    LinsepWarning,
                )
            self._warned = True
        self._next = clock() + self.every

    def _step_aside(self, why: str, way: str) -> None:
        """Leave the file to the other run that has written it, and take one of our own."""
        shared = self.path
        tries = (f"{shared.stem}-{os.getpid()}-{k}{shared.suffix}" for k in itertools.count(1))
        self.path = next(p for name in tries if not os.path.lexists(p := shared.with_name(name)))
        self._left = None
        warn(f"{why}; this one writes {self.path}. {way}", LinsepWarning)


def _further(path: Path, steps: int) -> bool:
    """Whether a file holds a run that has not ended and has more steps than these."""
    try:
        return _unfinished(_read(path)[0]) > steps
    except CheckpointError:  # nothing that could be gone on with
        return False


def _marks(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another of its name; None if there is none, or it is no file."""
    try:
        found = os.stat(path.expanduser())
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


# -- a state from a file ----------------------------------------------------------------------

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
        if held.width and not (0.0 < found < math.inf if old > 0 else found == 0):
            raise Refused(where, found, "a number above 0" if old > 0 else "0")
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
