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

__all__ = ["Level", "Peeled", "along", "peel", "stack"]

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
        free = np.setdiff1d(np.arange(problem.n), self.left)
        values = integer_products(reflected(problem, free), directions)[0].astype(object)
        parts, at, open_rows = [], 0, np.ones(len(free), dtype=bool)
        for level in self.levels:
            mine = range(at, at + len(level))
            at += len(level)
            reached = open_rows & np.array([any(row[j] > 0 for j in mine) for row in values])
            parts.append(([Fraction(int(j in mine)) for j in range(len(flat))], reached))
            open_rows &= ~reached
        total, _ = scaled_integers(stack(values, parts))
        weights = [sum(t * v for t, v in zip(total, column)) for column in zip(*directions)]
        divisor = gcd(*weights)
        return [w // divisor for w in weights]


def peel(problem: Problem) -> Peeled:
    """Take off the rows that single columns separate, as long as there are any."""
    left = np.arange(problem.n)
    levels: list[list[tuple[int, int, float]]] = []
    while problem.binary and len(levels) < _LEVELS:
        block = problem.matrix if len(left) == problem.n else problem.matrix[left]
        label = problem.label[left]
        found = _touching(block, label, problem.fit_intercept)
        if not found:
            break
        level, reached = _cover(block, found)
        if not reached.any() or reached.all():
            break
        levels.append(level)
        left = left[~reached]
    return Peeled(left, levels)


def _touching(block: Any, label: Rows, fit_intercept: bool) -> list[tuple[int, int, float]]:
    """Columns with no row on the wrong side: number, sign, and the value where classes touch."""
    if len(np.unique(label)) < 2:
        return []
    low, high = {}, {}
    for k in (0, 1):
        part = block[label == k]
        low[k], high[k] = _dense(part.min(axis=0)), _dense(part.max(axis=0))
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
    block: Any, found: list[tuple[int, int, float]]
) -> tuple[list[tuple[int, int, float]], NDArray[np.bool_]]:
    """Few of the columns that reach all rows that the columns reach together."""
    columns = block[:, [j for j, _, _ in found]]
    columns = columns if isinstance(columns, np.ndarray) else columns.toarray()
    off = columns != np.array([t for _, _, t in found])
    reached = off.any(axis=1)
    open_rows, level = reached.copy(), []
    while open_rows.any():
        best = int(off[open_rows].sum(axis=0).argmax())
        level.append(found[best])
        open_rows &= ~off[:, best]
    return level, reached


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

    values holds the value of each row along each direction, as Python integers; each level
    has the rows that it is positive on.
    """
    total = levels[-1][0]
    for level, rows in reversed(levels[:-1]):
        gain, one = along(values, level)
        loss, other = along(values, total)
        worst = max(
            (-b * other / (a * one) for a, b, r in zip(gain, loss, rows) if r and b < 0),
            default=Fraction(0),
        )
        factor = 1
        while factor <= worst:
            factor *= 2
        total = [factor * a + b for a, b in zip(level, total)]
    return total


def along(values: NDArray[Any], level: Level) -> tuple[list[int], Fraction]:
    """Values of the rows along a combination of directions: integers, and their scale > 0."""
    used = [j for j, t in enumerate(level) if t]
    numbers, scale = scaled_integers([level[j] for j in used])
    return (values[:, used] @ np.array(numbers, dtype=object)).tolist(), scale
