"""Tables of the lab: bundled sets, drawn ones, and files that were dropped on the page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from linsep.core.sources import STDIN
from linsep.core.words import count
from linsep.data.columns import TextColumnError
from linsep.data.lectures import available, load
from linsep.data.read import read
from linsep.data.table import Table
from linsep.errors import DataError, FormatError, LinsepError
from linsep.lab.lectures import LECTURES
from linsep.lab.methods import METHODS
from linsep.lab.player import table_message


@cache
def sets() -> dict[str, Any]:
    """All that a page offers before the first question: sets, methods, lectures."""
    return {
        "sets": [*(_told(load(name)) for name in available()), *(_told(made()) for made in DRAWN)],
        "methods": [method.told() for method in METHODS],
        "lectures": LECTURES,
    }


def _told(table: Table) -> dict[str, Any]:
    return table_message(table)


def table_of_bytes(data: bytes, name: str) -> dict[str, Any]:
    """The table of a file that a page sends: CSV, svmlight, npz and others, told by its content."""

    name = Path(name.replace("\\", "/")).name[-80:] or "pasted.csv"
    ending = "".join(Path(name).suffixes)[-20:] or ".csv"
    place, path = tempfile.mkstemp(suffix=ending.replace("/", ""))
    try:
        with os.fdopen(place, "wb") as file:
            file.write(data)
        try:
            found = table_of_file(path, missing="drop")
        except LinsepError as error:
            raise DataError(str(error).replace(path, name)) from error
    finally:
        os.unlink(path)
    if not found.y.size:
        raise DataError(f"{name} has no labels; the last column is the class of a row.")
    title = Path(name).name.split(".")[0]
    message = table_message(replace(found, name=title))
    shape = f"{count(len(message['X']), 'row')}, {count(len(message['features']), 'feature')}"
    notes = message["notes"].replace(path, name)
    return message | {"notes": f"{shape}. {notes}".strip()}


def table_of_file(path: str, **options: Any) -> Table:
    """A matrix of the rows; columns of text and dates become numbers, of rows without gaps."""
    try:
        return read(path, **options)
    except FormatError as error:
        if path == STDIN or find_spec("pandas") is None:
            raise
        from linsep.tables.read import holds_columns

        if not holds_columns(path):
            raise
        try:
            return _of_columns(path, options)
        except LinsepError:
            if isinstance(error, TextColumnError):
                raise
            raise error from None  # it names the cell


def _of_columns(path: str, options: dict[str, Any]) -> Table:
    from linsep.tables.columns import Columns
    from linsep.tables.read import read as read_frame

    frame = read_frame(path, **options | {"missing": "drop"})
    columns = Columns(scale=False).fit(frame.columns)
    X = columns.transform(frame.columns)
    notes = [*frame.notes, *columns.report(most=20).split("\n")]
    return Table(
        X=X.toarray() if hasattr(X, "toarray") else X,
        y=frame.y,
        feature_names=tuple(map(str, columns.get_feature_names_out())),
        row_names=frame.row_names,
        classes=tuple(np.unique(frame.y).tolist()),
        name=Path(path).name.split(".")[0],
        notes="; ".join(notes),
        source=frame.source,
        target=frame.target,
    )


def _blobs(name: str, centres: list[tuple[float, float]], spread: float, each: int) -> Table:
    rng = np.random.default_rng(7)
    K = len(centres)
    y = np.repeat(np.arange(K), each)
    X = (np.asarray(centres)[y] + spread * rng.normal(size=(K * each, 2))).round(2)
    return Table(X=X, y=y, feature_names=("x1", "x2"), name=name, notes=f"{K} classes, drawn.")


def _ring() -> Table:
    rng = np.random.default_rng(3)
    angle = rng.uniform(0, 2 * np.pi, 40)
    radius = np.where(np.arange(40) < 18, rng.uniform(0.1, 0.9, 40), rng.uniform(1.5, 2.2, 40))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).round(2)
    y = np.where(np.arange(40) < 18, 1, -1)
    return Table(
        X=X, y=y, feature_names=("x1", "x2"), classes=("outside", "inside"), name="ring",
        notes="A disc in a ring: no line separates it, the lift x1, x2, x1**2 + x2**2 does.",
    )  # fmt: skip


def _listed(name: str, X: list[list[float]], y: list[int], notes: str) -> Table:
    names = tuple(f"x{j + 1}" for j in range(len(X[0])))
    return Table(X=np.array(X), y=np.array(y), feature_names=names, name=name, notes=notes)


def _interval() -> Table:
    rng = np.random.default_rng(5)
    x = np.unique(rng.uniform(-1.5, 1.5, 120).round(2))
    rng.shuffle(x)
    f = -0.12 - 1.5 * x + 3.12 * x**2
    x = x[np.abs(f) > 0.12]
    inside = -0.12 - 1.5 * x + 3.12 * x**2 < 0
    x = np.concatenate([x[inside][:7], x[~inside][:13]])
    return _listed(
        "an interval", x[:, None].tolist(), [-1] * 7 + [1] * 13,
        "One class between two parts of the other: no point separates them, x1, x1**2 - 1 does.",
    )  # fmt: skip


def _close() -> Table:
    rng = np.random.default_rng(0)
    X = rng.uniform([0, 0], [4, 3], size=(60, 2)).round(2)
    score = X[:, 1] - 0.6 * X[:, 0] - 0.3
    kept = np.flatnonzero(np.abs(score) > 0.35)[:24]
    return Table(
        X=X[kept], y=np.where(score[kept] > 0, 1, -1), feature_names=("x1", "x2"),
        name="two close classes", notes="Separable, with little room: methods take several steps.",
    )  # fmt: skip


def _arms() -> Table:
    turn = np.linspace(0.6, 3.4, 30)
    arm = np.column_stack([turn * np.sin(2 * turn), turn * np.cos(2 * turn)]) * 0.6
    X = np.vstack([arm, -arm]).round(2)
    return Table(
        X=X, y=np.repeat([-1, 1], 30), feature_names=("x1", "x2"), name="two spirals",
        notes="Two arms around each other: a narrow Gaussian kernel separates them.",
    )  # fmt: skip


def _corners() -> Table:
    found = _blobs("four corners", [(1.5, 1.5), (-1.5, -1.5), (1.5, -1.5), (-1.5, 1.5)], 0.5, 9)
    return Table(
        X=found.X, y=np.where(np.arange(36) < 18, 1, -1), feature_names=("x1", "x2"),
        name="four corners", notes="Exclusive or, in clouds; the lift x1, x2, x1*x2 separates it.",
    )  # fmt: skip


DRAWN: tuple[Callable[[], Table], ...] = (
    lambda: _blobs("two clouds", [(-1.5, -1.0), (1.5, 1.2)], 0.7, 14),
    _close,
    lambda: _blobs("two clouds that meet", [(-0.5, -0.3), (0.6, 0.4)], 0.9, 16),
    _ring,
    _corners,
    _arms,
    lambda: _listed(
        "two points", [[1.0, 2.0], [2.0, 1.0]], [1, -1],
        "From weights 0 and through the origin the perceptron errs once on each, and is done.",
    ),
    lambda: _listed(
        "points on a line", [[-1.4], [2.1], [-0.6], [1.2], [-2.0], [0.5], [1.7], [-0.9]],
        [-1, 1, -1, 1, -1, 1, 1, -1], "One feature, separable.",
    ),
    _interval,
    lambda: _blobs("three classes", [(0.0, 1.8), (1.8, -1.0), (-1.8, -1.0)], 0.55, 9),
    lambda: _blobs(
        "five classes", [(0, 2.6), (2.5, 0.8), (1.5, -2), (-1.5, -2), (-2.5, 0.8)], 0.5, 8
    ),
)  # fmt: skip
