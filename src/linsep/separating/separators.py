"""The set of all planes that separate two classes, described in numbers.

With z_i = y_i [x_i, 1] the weights a = [w, b] separate where z_i . a > 0 for all rows: the inside
of a cone. Its extreme rays, and lines if it holds any, are found in integers by the double
description method (Motzkin, Raiffa, Thompson, Thrall 1953): one row after the other cuts it; a ray
on each side of the cut that share a face make a new one on it. The work may grow fast with the
number of weights, so it is given up beyond ``_MOST_RAYS``, and bounds come from linear programmes
then.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.words import count
from linsep.errors import DataError, LabelError
from linsep.numerics.integers import scaled_integers
from linsep.rows.exact import reflected
from linsep.rows.signs import row_signs
from linsep.separating.verdict import decide

Array = NDArray[np.float64]
Vector = tuple[int, ...]

_MOST_RAYS = 1000  # rays of a cone
_WEIGHTS = 12  # up to which rays are looked for


@dataclass(frozen=True)
class Separators:
    """All (coef, intercept) with every row strictly on its own side, up to a positive factor.

    True as a condition if there are any.
    """

    problem: Problem
    separable: bool | None
    rays: NDArray[Any] | None
    """Extreme rays [w, b] of the closed cone, in integers without a common factor; every separator
    is a sum of positive multiples of them, and of any multiples of the lines. None where they are
    too many to be found."""
    lines: NDArray[Any] | None
    """Directions [w, b] along which nothing changes for any row."""
    bounds: Array
    """Of shape (d + 1, 2): the least and the largest value of each weight, the intercept last,
    where the largest of all weights is 1 in size."""
    interval: tuple[Any, Any] | None
    """Where the boundary may cross the axis of the last feature: of one feature the thresholds, of
    two the c of the lines x2 = m x1 + c; the ends do not belong to it. Fractions where they are no
    integers. None where the sign of the last weight is not the same for all separators."""

    def contains(self, coef: Any, intercept: Any = 0.0) -> bool:
        """Whether these weights separate, decided without rounding; a ``Linear`` will do too."""
        if hasattr(coef, "coef_"):
            coef, intercept = coef.coef_, coef.intercept_
        w, b = np.ravel(np.asarray(coef)), np.ravel(np.asarray(intercept))
        if w.size != self.problem.d or b.size != 1:
            raise DataError(
                f"coef has {count(w.size, 'weight')} and intercept {count(b.size, 'number')}, X "
                f"has {count(self.problem.d, 'column')}: give a weight for each and one intercept."
            )
        try:
            exact = [Fraction(v) for v in [*w.tolist(), *b.tolist()]]
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"weights are finite numbers; got {coef!r:.60}, {intercept!r:.40}."
            ) from error
        if not self.problem.fit_intercept and exact[-1]:
            return False
        flat = np.array(exact[:-1], dtype=object) if w.dtype == object else w
        return bool((row_signs(self.problem, flat, b[0]) > 0).all())

    def __bool__(self) -> bool:
        return bool(self.separable)

    def __str__(self) -> str:
        if self.separable is None:
            return "not decided whether any plane separates"
        if not self.separable:
            return "no plane separates: the set of separators is empty"
        parts = ["the separators are a cone of weights [w, b]"]
        if self.rays is not None and self.lines is not None:
            parts[0] += f" with {count(len(self.rays), 'extreme ray')}"
            if len(self.lines):
                parts[0] += f" and {count(len(self.lines), 'line')}"
        if self.interval is not None:
            low, high = self.interval
            what = {1: "the threshold", 2: "c of the lines x2 = m x1 + c"}.get(
                self.problem.d, f"where they cross the axis of x{self.problem.d}"
            )
            parts.append(f"{what} lies strictly between {_told(low)} and {_told(high)}")
        fixed = [
            f"{_name(self.problem, j)} {'>' if low >= 0 else '<'} 0"
            for j, (low, high) in enumerate(self.bounds.tolist())
            if low >= 0 < high or high <= 0 > low
        ]
        if fixed:
            parts.append(f"all have {', '.join(fixed[:8])}, or 0 at an end")
        return "; ".join(parts)


def separators(X: Any, y: Any, *, fit_intercept: bool = True) -> Separators:
    """The set of all planes that separate two classes.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Two classes; the last in sorted order is positive.
    fit_intercept : bool, default=True
        False: planes through the origin only.

    Returns
    -------
    Separators

    Examples
    --------
    >>> import linsep
    >>> found = linsep.separators([[0, -1], [0, 1]], [0, 1])  # lecture 002
    >>> found.interval, found.rays.tolist(), found.lines.tolist()
    ((-1, 1), [[0, 1, -1], [0, 1, 1]], [[1, 0, 0]])
    >>> found.contains([5, 1], 0.5), found.contains([5, 1], 1)
    (True, False)
    """
    problem = Problem(X, y, fit_intercept=fit_intercept, half_space=True)
    if not problem.binary:
        raise LabelError(f"y has {problem.K} classes; the set of separators is that of two.")
    dim = problem.d + int(fit_intercept)
    cone = None
    if dim <= _WEIGHTS:
        block = np.unique(reflected(problem, np.arange(problem.n)), axis=0)
        rows = [tuple(scaled_integers(row)[0]) for row in block.tolist()]
        cone = _cone(rows, dim)
    if cone is None:
        separable = decide(problem).separable
        return Separators(
            problem, separable, None, None, _bounds(problem, separable=separable), None
        )
    rays, lines = cone
    inside = [sum(ray[j] for ray in rays) for j in range(dim)]
    separable = all(_dot(row, inside) > 0 for row in rows)
    padded = [[_padded(v, problem) for v in part] for part in (sorted(rays), sorted(lines))]
    return Separators(
        problem,
        separable,
        _table(padded[0], problem.d + 1),
        _table(padded[1], problem.d + 1),
        _bounds(problem, separable=separable),
        _interval(padded[0], padded[1]) if separable else None,
    )


def _cone(rows: list[Vector], dim: int) -> tuple[list[Vector], list[Vector]] | None:
    """Extreme rays and lines of {a : row . a >= 0 for all rows}; None if they are too many."""
    lines = [tuple(int(i == j) for j in range(dim)) for i in range(dim)]
    rays: dict[Vector, int] = {}  # with the rows that hold with equality, as bits
    for k, row in enumerate(rows):
        bit, before = 1 << k, (1 << k) - 1
        out = next((line for line in lines if _dot(row, line)), None)
        if out is not None:
            up = out if _dot(row, out) > 0 else tuple(-v for v in out)
            lines = [_onto(row, line, up) for line in lines if line is not out]
            rays = {_onto(row, ray, up): tight | bit for ray, tight in rays.items()} | {up: before}
            continue
        rays = _cut(rays, row, bit)
        if len(rays) > _MOST_RAYS:
            return None
    return list(rays), lines


def _cut(rays: dict[Vector, int], row: Vector, bit: int) -> dict[Vector, int]:
    """The rays of the cone where also row . a >= 0."""
    value = {ray: _dot(row, ray) for ray in rays}
    kept = {
        ray: tight | (0 if value[ray] else bit) for ray, tight in rays.items() if value[ray] >= 0
    }
    for up in [ray for ray in rays if value[ray] > 0]:
        for down in [ray for ray in rays if value[ray] < 0]:
            common = rays[up] & rays[down]
            if any(common & ~t == 0 for r, t in rays.items() if r != up and r != down):
                continue  # they share no face of two dimensions
            p, q = value[up], -value[down]
            kept[_primitive([q * u + p * d for u, d in zip(up, down)])] = common | bit
    return kept


def _onto(row: Vector, vector: Vector, up: Vector) -> Vector:
    """The vector moved along up until row . vector = 0."""
    p, q = _dot(row, up), _dot(row, vector)
    return _primitive([p * v - q * u for v, u in zip(vector, up)])


def _dot(p: Any, q: Any) -> int:
    return sum(x * y for x, y in zip(p, q))


def _primitive(vector: list[int]) -> Vector:
    divisor = gcd(*vector) or 1
    return tuple(v // divisor for v in vector)


def _padded(vector: Vector, problem: Problem) -> Vector:
    return vector if problem.fit_intercept else (*vector, 0)


def _table(vectors: list[Vector], width: int) -> NDArray[Any]:
    small = all(abs(v) < 2**62 for vector in vectors for v in vector)
    return np.array(vectors, dtype=np.int64 if small else object).reshape(len(vectors), width)


def _interval(rays: list[Vector], lines: list[Vector]) -> tuple[Any, Any] | None:
    """Bounds of -b / w_d: it has its ends at rays, for it is the same along all multiples."""
    if any(line[-2] for line in lines):
        return None
    sign = {(ray[-2] > 0) - (ray[-2] < 0) for ray in rays} - {0}
    if len(sign) != 1:
        return None
    ends = [Fraction(-ray[-1], ray[-2]) for ray in rays if ray[-2]]
    low, high = min(ends), max(ends)
    flat = [-ray[-1] * sign.copy().pop() for ray in rays if not ray[-2]]
    free = any(line[-1] for line in lines)
    lowest = -inf if free or any(v < 0 for v in flat) else _whole(low)
    highest = inf if free or any(v > 0 for v in flat) else _whole(high)
    return lowest, highest


def _whole(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else value


def _bounds(problem: Problem, *, separable: bool | None) -> Array:
    """Each weight of the closed cone within the cube of side 2, by linear programmes."""
    width = problem.d + 1
    if not separable:
        return np.full((width, 2), np.nan)
    Z = reflected(problem, np.arange(problem.n))
    scale = np.abs(Z).max(axis=1, keepdims=True)
    A, out = -Z / np.where(scale > 0, scale, 1.0), np.zeros((width, 2))
    for j in range(A.shape[1]):
        for k, sign in enumerate((1.0, -1.0)):
            c = np.zeros(A.shape[1])
            c[j] = sign
            found: Any = scipy.optimize.linprog(c, A_ub=A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
            near = round(float(found.x[j]), 12) + 0.0
            out[j, k] = near
    return out


def _name(problem: Problem, j: int) -> str:
    return "b" if j == problem.d else f"w{j + 1}"


def _told(value: Any) -> str:
    return {inf: "infinity", -inf: "-infinity"}.get(value) or str(value)
