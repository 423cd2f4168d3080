"""Saving a state and going on from it: a .npz file with a JSON header, never pickle.

The file names the data by fingerprint and the solver by its settings, and is refused for any
other. It is written to a temporary file first, so a kill leaves the last whole one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from linsep._version import __version__
from linsep.core.drive import Moment, Observer, Outcome
from linsep.core.files import atomic_write_bytes
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, State
from linsep.core.status import Status
from linsep.errors import CheckpointError

S = TypeVar("S", bound=State)
_FORMAT = "linsep-checkpoint"
_VERSION = 1
_LONG = 1 << 63  # integers from which they are written in hexadecimal


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
    }
    buffer = io.BytesIO()
    text = json.dumps(header).encode()
    np.savez(buffer, header=np.frombuffer(text, dtype=np.uint8), **arrays)
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
    for holder, name, key in _places(state):
        old = getattr(holder, name)
        if isinstance(old, np.ndarray):
            new: Any = arrays.get(key)
            if new is None or new.dtype != old.dtype or new.ndim != old.ndim:
                raise CheckpointError(f"{path} has no usable array {key!r}; it is damaged.")
        elif key not in header["numbers"]:
            raise CheckpointError(f"{path} has no entry {key!r}; it is damaged.")
        else:
            new = _unpack(path, key, old, header["numbers"][key])
        setattr(holder, name, new)
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
    if isinstance(value, int) and abs(value) >= _LONG:
        return hex(value)
    return value


def _unpack(path: str | Path, key: str, old: Any, stored: Any) -> Any:
    """What _pack wrote, of the type that it has in a fresh state."""
    try:
        if isinstance(old, Status):
            return Status[stored]
        if isinstance(old, Fraction):
            return Fraction(*map(_integer, stored))
        if isinstance(old, list):
            return [_integer(v) for v in stored]
        return _integer(stored) if type(old) is int else stored
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise CheckpointError(f"{path} has no usable entry {key!r}; it is damaged.") from None


def _integer(stored: Any) -> Any:
    return int(stored, 16) if isinstance(stored, str) else stored


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


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        known = header["format"] == _FORMAT and header["version"] == _VERSION
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist; start without --resume.") from None
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} is not a linsep checkpoint, or it is damaged.") from error
    if not known:
        raise CheckpointError(
            f"{path} is a {header['format']} of version {header['version']}; "
            f"this linsep reads {_FORMAT} of version {_VERSION}."
        )
    return header, arrays


class Checkpointer(Observer):
    """Writes the state every so many seconds, and at the end.

    Parameters
    ----------
    path : path of the file
    every : float, default=10.0
        Seconds between two files.
    """

    def __init__(self, path: str | Path, *, every: float = 10.0) -> None:
        self.path = Path(path)
        self.every = every
        self._last = time.perf_counter()
        self._now: Moment[Any] | None = None

    def moment(self, now: Moment[Any]) -> None:
        """Write when it is time."""
        self._now = now
        if time.perf_counter() - self._last >= self.every:
            self._write(now)

    def finish(self, outcome: Outcome[Any]) -> None:
        """Write the last state."""
        if self._now is not None:
            self._write(self._now)

    def _write(self, now: Moment[Any]) -> None:
        save_checkpoint(self.path, now.problem, now.solver, now.state)
        self._last = time.perf_counter()
