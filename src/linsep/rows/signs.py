"""The side of a plane that each row lies on, decided without doubt.

Floating point decides where its error bound allows; the few rows that are left are evaluated
in integers. The bound holds for any order of summation, with and without fused operations:

    |computed - true| <= g (|x| |w| + |b|) + u,   g = (m + 8) 2^-53 / (1 - (m + 8) 2^-53)

with m the columns, or the most entries of a sparse row, as zeros add no rounding, and u for what
underflow may lose. Overflow makes the bound infinite, so that integers decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.numerics.integers import integer_products, scaled_integers
from linsep.numerics.rounding import LEAST, U
from linsep.rows.exact import Tick, no_tick, reflected

Array = NDArray[np.float64]

_ENTRIES_AT_ONCE = 1 << 18


def flat_weights(problem: Problem, coef: Any, intercept: Any) -> list[Any]:
    """Weights in the order of the blocks of ``exact.reflected``; the last class is subtracted."""
    coef = np.asarray(coef)
    if problem.binary:
        tail = [np.ravel(intercept)[0]] if problem.fit_intercept else []
        return [*coef.ravel().tolist(), *tail]
    blocks = []
    offsets = np.ravel(intercept).tolist()
    last = [*coef[-1].tolist(), *offsets[-1:]][: problem.width]
    for w, b in zip(coef[:-1].tolist(), offsets[:-1]):
        block = [*w, b][: problem.width]
        blocks += [_minus(p, q) for p, q in zip(block, last)]
    return blocks


def _minus(p: Any, q: Any) -> Any:
    return p if q == 0 else Fraction(p) - Fraction(q)


def float_bounds(
    problem: Problem, coef: Any, intercept: Any, scores: Array | None = None
) -> tuple[Array, Array]:
    """Values of all reflected rows in floats, and how far each may be off.

    Rational weights are rounded first; the bound covers that too. scores may hold X @ coef of
    two classes, with coef and scores rounded once more each.
    """
    w = np.asarray(coef, dtype=np.float64).reshape(-1, problem.d)
    b = np.asarray(intercept, dtype=np.float64).reshape(-1)
    g, h = (_relative(terms) for terms in (_most_terms(problem), problem.d))
    tiny = 1e-160 * sqrt(problem.d)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        length = np.sqrt(problem.squared_lengths)
        length *= 1 + h
        length += tiny
        slack = 4 * (problem.d + 2) * LEAST * (length + 2)
        if problem.binary:
            size, offset = np.sqrt(w[0] @ w[0]) * (1 + h) + tiny, b[0]
            values = problem.product(w[0]) if scores is None else scores
            values = problem.sign * (values + offset)
            length *= size
            length += abs(offset)
            length *= g
            length += slack
            return values, length
        size = np.sqrt((w * w).sum(axis=1)) * (1 + h) + tiny
        values = problem.values(np.column_stack([w, b]).ravel())
        each = g * (length[:, None] * size + np.abs(b)) + slack[:, None]
        own = each[np.arange(problem.n), problem.label]
        others = np.ones(each.shape, dtype=bool)
        others[np.arange(problem.n), problem.label] = False
        return values, 2 * (own[:, None] + each)[others]


def _relative(terms: int) -> float:
    """How far a sum of so many products may be off, in units of the sum of their sizes."""
    g = (terms + 8) * U
    return g / (1 - g)


def _most_terms(problem: Problem) -> int:
    """Most products in a score of a row."""
    return int(np.diff(problem.matrix.indptr).max(initial=0)) if problem.sparse else problem.d


def row_signs(
    problem: Problem, coef: Any, intercept: Any, *, tick: Tick = no_tick
) -> NDArray[np.int8]:
    """Exact signs of y (w . x + b) for all reflected rows, with K > 2 of the Kesler rows.

    Weights are floats, or Fractions in an array of objects.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.core import Problem
    >>> from linsep.rows.signs import row_signs
    >>> X = [[1.0, 2.0**-60], [1.0, 0.0], [1.0, -(2.0**-60)]]
    >>> row_signs(Problem(X, [1, 1, -1]), np.array([0.0, 1.0]), 0.0).tolist()
    [1, 0, 1]
    """
    values, bound = float_bounds(problem, *bounded_weights(coef, intercept))
    signs = np.zeros(len(values), dtype=np.int8)
    with np.errstate(invalid="ignore"):
        signs[values > bound] = 1
        signs[values < -bound] = -1
    unsure = np.flatnonzero(signs == 0)
    if not len(unsure):
        return signs
    weights, _ = scaled_integers(flat_weights(problem, coef, intercept))
    used = np.array([j for j, v in enumerate(weights) if v], dtype=np.int64)
    step = max(1, _ENTRIES_AT_ONCE // max(1, problem.d))
    for at in range(0, len(unsure), step):
        tick()
        some = unsure[at : at + step]
        block = reflected(problem, some)[:, used]
        signs[some] = _integer_signs(block, [weights[j] for j in used])
    return signs


def bounded_weights(coef: Any, intercept: Any) -> tuple[Array, Array]:
    """Weights as floats; rational ones are scaled to be below 1 before they are rounded."""
    coef, intercept = np.asarray(coef), np.asarray(intercept)
    if coef.dtype != object and intercept.dtype != object:
        return coef.astype(np.float64, copy=False), intercept.astype(np.float64, copy=False)
    both = [Fraction(v) for v in [*coef.ravel().tolist(), *intercept.ravel().tolist()]]
    largest = max(map(abs, both)) or Fraction(1)
    floats = np.array([float(v / largest) for v in both])
    return floats[: coef.size].reshape(coef.shape), floats[coef.size :].reshape(intercept.shape)


def _integer_signs(block: Array, weights: list[int]) -> NDArray[np.int8]:
    if not len(weights):
        return np.zeros(len(block), dtype=np.int8)
    values = integer_products(block, [weights])[0][:, 0]
    return np.asarray((values > 0).astype(np.int8) - (values < 0).astype(np.int8))


def exact_values(block: Array, weights: Sequence[Any]) -> list[Fraction]:
    """block @ weights as Fractions."""
    integers, scale = scaled_integers(weights)
    values, low = integer_products(block, [integers])
    factor = scale * Fraction(2) ** low
    return [int(v) * factor for v in values[:, 0]]
