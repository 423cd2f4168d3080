"""Planes with numbers that are exact as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.numerics.integers import scaled_integers
from linsep.rows.exact import Tick, reflected
from linsep.rows.signs import exact_values, row_signs

Plane = tuple[NDArray[Any], Any]
"""coef and intercept: (d,) and a number for two classes, (K, d) and (K,) for more."""

Scores = NDArray[np.float64] | None
"""X @ coef, up to a rounding of each factor and of the quotient."""


def plane_of(problem: Problem, a: NDArray[np.float64]) -> Plane | None:
    """The plane with normal a, in the middle between two classes; nearest rows have value 1.

    None when the numbers do not fit into floats.
    """
    return scored_plane(problem, a)[0]


def scored_plane(problem: Problem, a: NDArray[np.float64]) -> tuple[Plane | None, Scores]:
    """The same with X @ coef, where that is known to a few roundings."""
    scores: Scores = None
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        if problem.binary:
            w, b = a[:-1], 0.0
            scores = problem.product(w)
            positive = problem.label == 1
            if problem.fit_intercept:
                inner, outer = float(scores[positive].min()), float(scores[~positive].max())
                least, b = (inner - outer) / 2, -(inner + outer) / 2
            else:
                least = float((problem.sign * scores).min())
            plane: Plane = w / least, float(np.divide(b, least))
            # nothing that underflowed in the product counts beside a value of 1
            scores = scores / least if least > 1e-100 else None
        else:
            coef, intercept = problem.split(a)
            least = float(problem.values(a).min())
            plane = coef / least, intercept / least
    fits = least > 0 and np.isfinite(plane[0]).all() and np.isfinite(plane[1]).all()
    return (plane, scores) if fits else (None, None)


def exact_plane(problem: Problem, weights: list[int]) -> Plane:
    """Integer weights as floats if floats hold them, else as Fractions below 2."""
    largest = max(map(abs, weights))
    if largest <= 2**53 and problem.binary:
        floats = [float(w) for w in weights]
        intercept = floats.pop() if problem.fit_intercept else 0.0
        return np.array(floats), intercept
    scale = 1 if largest <= 2**53 else 1 << (largest.bit_length() - 1)
    return _floats_if_exact(problem, [Fraction(w, scale) for w in weights])


def _floats_if_exact(problem: Problem, weights: list[Fraction]) -> Plane:
    coef, intercept = split_weights(problem, weights)
    if not all(map(_is_float, weights)):
        return coef, intercept
    coef = coef.astype(np.float64)
    return coef, float(intercept) if problem.binary else intercept.astype(np.float64)


def _is_float(value: Fraction) -> bool:
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def rational_planes(problem: Problem, weights: list[Fraction], tick: Tick) -> Iterator[Plane]:
    """The plane of rational weights, with ever more digits; only those that separate all rows.

    weights belong to ``rows.exact.reflected``, or lack the intercept of two classes: then
    the plane is put in the middle between them.
    """
    if problem.binary and problem.fit_intercept and len(weights) == problem.d:
        weights = [*weights, _middle(problem, weights, tick)]
    nice = _nice(problem, weights, tick)
    if nice is not None:
        yield nice
        return
    largest = max(map(abs, weights))
    weights = [w / largest for w in weights]
    for bits in (53, 106, 212, 424, 848):
        plane = _floats_if_exact(problem, [_rounded(w, bits) for w in weights])
        if (row_signs(problem, *plane, tick=tick) > 0).all():
            yield plane
    yield split_weights(problem, weights)


def _nice(problem: Problem, weights: list[Fraction], tick: Tick) -> Plane | None:
    """The plane in floats without any rounding, the nearest row at 1 or else in integers."""
    integers, _ = scaled_integers(weights)
    if max(map(abs, integers)) > 2**53:
        return None
    plane = exact_plane(problem, integers)
    if not (row_signs(problem, *plane, tick=tick) > 0).all():
        return None
    coef, intercept = plane
    least = float(problem.values(problem.join(coef, intercept)).min())
    if not 0 < least < np.inf:
        return plane
    flat = [Fraction(w) / Fraction(least) for w in integers]
    unit = _floats_if_exact(problem, flat)
    return plane if unit[0].dtype == object else unit


def _rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number of that many binary digits."""
    if value == 0:
        return value
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - bits)
    return round(value / unit) * unit


def _middle(problem: Problem, weights: list[Fraction], tick: Tick) -> Fraction:
    """Intercept that has the nearest rows of both classes at the same distance."""
    scale = max(map(abs, weights))
    floats = np.array([float(w / scale) for w in weights])
    scores = problem.product(floats)
    ends = []
    for label, sign in ((1, 1), (0, -1)):
        members = np.flatnonzero(problem.label == label)
        order = members[np.argsort(sign * scores[members], kind="stable")]
        tick()
        near = order[: max(64, len(problem.matrix.shape))]
        values = exact_values(sign * reflected(problem, near)[:, : problem.d], weights)
        ends.append(min(sign * v for v in values) * sign)
    return -(ends[0] + ends[1]) / 2


def split_weights(problem: Problem, weights: list[Any]) -> Plane:
    """coef and intercept of weights of ``rows.exact.reflected``, as Fractions."""
    blocks = np.array([Fraction(w) for w in weights], dtype=object).reshape(-1, problem.width)
    if not problem.binary:
        blocks = np.vstack([blocks, np.array([Fraction(0)] * problem.width, dtype=object)])
    if problem.fit_intercept:
        coef, intercept = blocks[:, :-1], blocks[:, -1]
    else:
        coef = blocks
        intercept = np.array([Fraction(0)] * len(blocks), dtype=object)
    return (coef[0], intercept[0]) if problem.binary else (coef, intercept)
