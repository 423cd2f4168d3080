"""Single columns that separate weakly: cheap to find, and the best reading there is.

A column that ends in one class where it begins in the other has no row on its wrong side, and
every row off that value is strictly on its right side. Without these rows other columns may do
the same, and so on, level by level. A level is weighted enough to outdo all later ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import integer_products, reflected, scaled_integers
from linsep.core.problem import Problem

__all__ = ["Level", "Peeled", "all_but", "along", "peel", "stack"]

Rows = NDArray[np.int64]
Level = list[Fraction]
"""Multiples of directions."""

_LEVELS = 20


@dataclass(frozen=True)
class Peeled:
    """Rows that are left, and for each level the columns, their signs and where they touch."""

    left: Rows
    levels: list[list[tuple[int, int, float]]]

    def weights(self, problem: Problem) -> list[int]:
        """Integer weights that vanish on the rows left and are positive on all others."""
        flat = [item for level in self.levels for item in level]
        directions = [_direction(problem, *item) for item in flat]
        free = all_but(problem.n, self.left)
        values = integer_products(reflected(problem, free), directions)[0]
        parts, at, open_rows = [], 0, np.ones(len(free), dtype=bool)
        for level in self.levels:
            mine = range(at, at + len(level))
            at += len(level)
            reached = open_rows & (values[:, mine] > 0).any(axis=1)
            parts.append(([Fraction(int(j in mine)) for j in range(len(flat))], reached))
            open_rows &= ~reached
        total, _ = scaled_integers(stack(values, parts))
        weights = [sum(t * v for t, v in zip(total, column)) for column in zip(*directions)]
        divisor = gcd(*weights)
        return [w // divisor for w in weights]


def all_but(n: int, rows: Rows) -> Rows:
    """The numbers below n that are not among the rows."""
    free = np.ones(n, dtype=bool)
    free[rows] = False
    return np.flatnonzero(free)


def peel(problem: Problem) -> Peeled:
    """Take off the rows that single columns separate, as long as there are any."""
    if not problem.binary:
        return Peeled(np.arange(problem.n), [])
    left = [np.flatnonzero(problem.label == k) for k in (0, 1)]
    parts = [problem.matrix[rows] for rows in left]
    levels: list[list[tuple[int, int, float]]] = []
    while len(levels) < _LEVELS and len(left[0]) and len(left[1]):
        found = _touching(parts, problem.fit_intercept)
        if not found:
            break
        level, reached = _cover(parts, found)
        if all(r.all() for r in reached):
            break
        levels.append(level)
        left = [rows[~r] for rows, r in zip(left, reached)]
        parts = [part[~r] for part, r in zip(parts, reached)]
    return Peeled(np.sort(np.concatenate(left)), levels)


def _touching(parts: list[Any], fit_intercept: bool) -> list[tuple[int, int, float]]:
    """Columns with no row on the wrong side: number, sign, and the value where classes touch."""
    low = [_dense(part.min(axis=0)) for part in parts]
    high = [_dense(part.max(axis=0)) for part in parts]
    if fit_intercept:
        up = (low[1] == high[0]) & (low[0] < high[1])
        down = (low[0] == high[1]) & (low[1] < high[0])
        at = np.where(up, low[1], low[0])
    else:
        up = (low[1] >= 0) & (high[0] <= 0) & ((high[1] > 0) | (low[0] < 0))
        down = (low[0] >= 0) & (high[1] <= 0) & ((high[0] > 0) | (low[1] < 0))
        at = np.zeros(len(up))
    return [(int(j), 1 if up[j] else -1, float(at[j])) for j in np.flatnonzero(up | down).tolist()]


def _dense(row: Any) -> NDArray[Any]:
    return np.ravel(row if isinstance(row, np.ndarray) else row.toarray())


def _cover(
    parts: list[Any], found: list[tuple[int, int, float]]
) -> tuple[list[tuple[int, int, float]], list[NDArray[np.bool_]]]:
    """Few of the columns that reach all rows that the columns reach together, and which rows."""
    index, touch = [j for j, _, _ in found], np.array([t for _, _, t in found])
    off = np.concatenate([_columns(part, index) != touch for part in parts])
    reached = off.any(axis=1)
    open_rows, level = off[reached], []
    while len(open_rows):
        best = int(open_rows.sum(axis=0).argmax())
        level.append(found[best])
        open_rows = open_rows[~open_rows[:, best]]
    return level, np.split(reached, [parts[0].shape[0]])


def _columns(part: Any, index: list[int]) -> NDArray[Any]:
    if isinstance(part, np.ndarray):
        return part.take(index, axis=1)
    return np.asarray(part[:, index].toarray())


def _direction(problem: Problem, column: int, sign: int, touch: float) -> list[int]:
    """sign (x_column - touch) as integer weights."""
    scale = Fraction(touch)
    out = [0] * problem.width
    out[column] = sign * scale.denominator
    if problem.fit_intercept:
        out[-1] = -sign * scale.numerator
    return out


def stack(values: NDArray[Any], levels: list[tuple[Level, NDArray[np.bool_]]]) -> Level:
    """One combination that is positive on all rows: earlier levels outweigh later ones.

    values holds the value of each row along each direction, int64 or Python integers; each
    level has the rows that it is positive on.
    """
    total = levels[-1][0]
    for level, rows in reversed(levels[:-1]):
        gain, one = along(values, level)
        loss, other = along(values, total)
        behind = np.flatnonzero(rows & (loss < 0))
        worst = max(
            (Fraction(-b, a) for a, b in zip(gain[behind].tolist(), loss[behind].tolist())),
            default=Fraction(0),
        )
        worst *= other / one
        factor = 1
        while factor <= worst:
            factor *= 2
        total = [factor * a + b for a, b in zip(level, total)]
    return total


def along(values: NDArray[Any], level: Level) -> tuple[NDArray[Any], Fraction]:
    """Values of the rows along a combination of directions: integers, and their scale > 0."""
    used = [j for j, t in enumerate(level) if t]
    numbers, scale = scaled_integers([level[j] for j in used])
    part = values[:, used]
    if part.dtype != object:
        largest = max(int(part.max(initial=0)), -int(part.min(initial=0)))
        if largest * sum(map(abs, numbers)) < 2**62:
            return part @ np.array(numbers, dtype=np.int64), scale
    return part.astype(object) @ np.array(numbers, dtype=object), scale
