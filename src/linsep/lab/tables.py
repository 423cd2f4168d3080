"""Tables of the lab: bundled sets, drawn ones, and files that were dropped on the page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linsep.core.words import count
from linsep.data.lectures import available, load
from linsep.data.read import read
from linsep.data.table import Table
from linsep.errors import DataError, LinsepError
from linsep.lab.lectures import LECTURES
from linsep.lab.methods import METHODS
from linsep.lab.player import table_message


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
            found = read(path, encode="onehot", missing="drop")
        except LinsepError as error:
            raise DataError(str(error).replace(path, name)) from error
    finally:
        os.unlink(path)
    if not found.y.size:
        raise DataError(f"{name} has no labels; the last column is the class of a row.")
    message = table_message(found)
    title = Path(name).name.split(".")[0]
    shape = f"{count(len(message['X']), 'row')}, {count(len(message['features']), 'feature')}"
    notes = found.notes.replace(path, name)
    return message | {"name": title, "notes": f"{shape}. {notes}".strip()}


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


DRAWN: tuple[Callable[[], Table], ...] = (
    lambda: _blobs("two clouds", [(-1.5, -1.0), (1.5, 1.2)], 0.7, 14),
    lambda: _blobs("two clouds that meet", [(-0.5, -0.3), (0.6, 0.4)], 0.9, 16),
    _ring,
    lambda: _blobs("three classes", [(0.0, 1.8), (1.8, -1.0), (-1.8, -1.0)], 0.55, 9),
    lambda: _blobs(
        "five classes", [(0, 2.6), (2.5, 0.8), (1.5, -2), (-1.5, -2), (-2.5, 0.8)], 0.5, 8
    ),
)
