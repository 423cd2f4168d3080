"""Model files of LIBLINEAR, LIBSVM and SVMlight: whose it is, and the lines of its head.

All are text. Those of the first two have lines ``name value ...`` up to a line ``w`` or ``SV``,
then numbers. None holds the cost C, so an objective can only be named together with a C given from
outside.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, ModelError

_WHOLE = re.compile(r"[+-]?[0-9]+")
_LONGEST_HEAD = 64  # lines; the longest that either library writes has a dozen
_LARGEST = 2**40 - 1  # number of a feature; beyond it some byte is damaged
_FIRST = (b"solver_type", b"svm_type", b"SVM-light Version")


class Head:
    """The named lines of a model file, and the number of the first line after them."""

    def __init__(self, path: str, lines: list[str], end: str) -> None:
        self.path, self.fields, self.line = path, dict[str, tuple[int, list[str]]](), 0
        for at, line in enumerate(lines[:_LONGEST_HEAD]):
            name, *values = line.split() or [""]
            if name == end:
                self.line = at + 1
                return
            if name:
                if name in self.fields:
                    raise self.error(at, f"{name!r} is given twice")
                self.fields[name] = (at, values)
        raise ModelError(f"{path}: there is no line {end!r}; the file ends too early.")

    def error(self, at: int, what: str) -> ModelError:
        """An error with its place; lines are counted from 1."""
        return ModelError(f"{self.path}:{at + 1}: {what}.")

    def words(self, name: str, count: int | None = None) -> list[str]:
        """The values of a line, which must be there; ``count`` of them if that is known."""
        if name not in self.fields:
            raise ModelError(f"{self.path}: there is no line {name!r}; the file is damaged.")
        at, values = self.fields[name]
        if count is not None and len(values) != count:
            raise self.error(at, f"{name} has {len(values)} values, {count} are needed")
        return values

    def wholes(self, name: str, count: int | None = None) -> list[int]:
        """Integers of a line."""
        return [whole(v, self.path, self.fields[name][0]) for v in self.words(name, count)]

    def numbers(self, name: str, count: int | None = None) -> list[float]:
        """Finite numbers of a line."""
        return [number(v, self.path, self.fields[name][0]) for v in self.words(name, count)]

    def one_of(self, name: str, known: Any, what: str) -> str:
        """The one word of a line, from a list."""
        value = self.words(name, 1)[0]
        if value not in known:
            at = self.fields[name][0]
            raise self.error(at, f"{name} is {value!r}, {what}; known are {', '.join(known)}")
        return value


def looks_like_text_model(data: bytes) -> bool:
    """Whether these are the first bytes of a file of LIBLINEAR, LIBSVM or SVMlight."""
    return data.lstrip().startswith(_FIRST)


def load_text(path: str | os.PathLike[str]) -> Any:
    """A model file of LIBLINEAR, LIBSVM or SVMlight."""
    from linsep.core.boundary import boundary
    from linsep.core.sources import fetch
    from linsep.formats.liblinear import LiblinearModel
    from linsep.formats.libsvm import LibsvmModel
    from linsep.formats.svmlight_model import read_svmlight_model

    try:
        data = fetch(path).lstrip()
        light = data.startswith(_FIRST[2])  # whose comments may be in any encoding
        lines = data.decode("latin-1").split("\n") if light else data.decode("ascii").splitlines()
    except DataError as error:
        raise ModelError(str(error)) from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: byte {error.start} is no plain text; give a model file of "
                         "LIBLINEAR, LIBSVM or SVMlight.") from error  # fmt: skip
    with boundary(path, ModelError, "no model can be made of this", "train the model again"):
        if light:
            return read_svmlight_model(lines, str(path))
        kind = LiblinearModel if lines[0].startswith("solver_type") else LibsvmModel
        return kind.from_lines(lines, str(path))


def number(text: str, path: str, at: int) -> float:
    """A finite number of a file."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ModelError(f"{path}:{at + 1}: {text!r:.40} is no finite number.")
    return value


def whole(text: str, path: str, at: int) -> int:
    """An integer of a file."""
    found = int(text) if len(text) <= 20 and _WHOLE.fullmatch(text) else None
    if found is None or not -(2**63) <= found < 2**63:
        raise ModelError(f"{path}:{at + 1}: {text!r:.40} is no whole number of 64 bits.")
    return found


def pairs(words: list[str], path: str, at: int) -> tuple[list[int], list[float]]:
    """Places, counted from 0, and values of words ``index:value`` with increasing indices."""
    places, values, last = list[int](), list[float](), 0
    for word in words:
        first, colon, second = word.partition(":")
        if not colon:
            raise ModelError(f"{path}:{at + 1}: {word!r:.40} is not index:value.")
        index = whole(first, path, at)
        if not last < index <= _LARGEST:
            raise ModelError(f"{path}:{at + 1}: index {index} after {last}; features are counted "
                             "from 1 on and stand in increasing order.")  # fmt: skip
        places.append(index - 1)
        values.append(number(second, path, at))
        last = index
    return places, values


def sorted_labels(labels: Any, where: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels in sorted order, and where each stands in the order of the file."""
    found = np.asarray(labels, dtype=np.int64)
    order = np.argsort(found, kind="stable")
    if len(found) < 2 or (np.diff(found[order]) == 0).any():
        raise ModelError(f"{where}: the labels {found.tolist()} are not those of two classes or "
                         "more, each named once.")  # fmt: skip
    return found[order], order.astype(np.int64)


def whole_labels(classes: Any, library: str) -> NDArray[np.int64]:
    """The classes as the integers that a file can hold."""
    given = np.asarray(classes)
    labels = given.astype(np.int64) if given.dtype.kind in "biuf" else None
    if labels is None or not np.array_equal(labels, given):
        raise ModelError(f"{library}'s labels are whole numbers; the classes are {given.tolist()}. "
                         "Number them, or save the model as .json.")  # fmt: skip
    return labels


def write_lines(lines: list[str], path: str | os.PathLike[str]) -> None:
    """Write a text, all of it or nothing."""
    from linsep.core.files import atomic_write_bytes

    try:
        atomic_write_bytes(path, "\n".join([*lines, ""]).encode())
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error
