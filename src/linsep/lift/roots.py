"""Where functions of one variable change sign.

Polynomials with rational coefficients: all real roots, isolated by ball arithmetic, so none is
missed and none is invented. Other functions: sign changes between the points of a grid, narrowed
by bisection; what lies between two neighbouring points, or beyond the ends, is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linsep.lift.polynomial import Polynomial

__all__ = ["GRID", "between", "polynomial_roots", "sign_changes"]

Array = NDArray[np.float64]
GRID = 4096


def polynomial_roots(polynomial: Polynomial) -> list[float]:
    """All real roots of a polynomial of one variable, each once, as the nearest floats.

    Roots beyond the range of floats are left out: no input lies there.

    >>> x = Polynomial.variable(0)
    >>> polynomial_roots((x - 1) ** 2 * (x**2 + 1) * (2 * x + 1))
    [-0.5, 1.0]
    """
    from flint import ctx, fmpz_poly

    if polynomial.degree == 0:
        return []
    coefficients = [Fraction(0)] * (polynomial.degree + 1)
    for monomial, c in polynomial.terms.items():
        coefficients[monomial[0][1] if monomial else 0] = c
    scale = math.lcm(*(c.denominator for c in coefficients))
    whole = fmpz_poly([int(c * scale) for c in coefficients])
    with ctx.workprec(128):
        found = [float(root.real.mid()) for root, _ in whole.complex_roots() if root.imag == 0]
    return sorted({root for root in found if math.isfinite(root)})


def between(cuts: Sequence[float]) -> list[Fraction]:
    """One rational point in each of the intervals that the cuts make of the line."""
    if not cuts:
        return [Fraction(0)]
    exact = [Fraction(cut) for cut in cuts]
    inner = [(a + b) / 2 for a, b in pairwise(exact)]
    return [exact[0] - abs(exact[0]) - 1, *inner, exact[-1] + abs(exact[-1]) + 1]


def sign_changes(
    classes: Callable[[Array], NDArray[np.intp]], low: float, high: float, points: int = GRID
) -> list[tuple[float, float]]:
    """Neighbouring floats (a, b) between low and high whose classes differ.

    ``classes`` gives a class number for each point, -1 where the function has no value.
    """
    grid = np.linspace(low, high, points + 1)
    found = classes(grid)
    out = []
    for k in np.flatnonzero(found[1:] != found[:-1]).tolist():
        out.append(_narrow(classes, float(grid[k]), float(grid[k + 1]), int(found[k])))
    return out


def _narrow(
    classes: Callable[[Array], NDArray[np.intp]], a: float, b: float, left: int
) -> tuple[float, float]:
    for _ in range(200):
        middle = a + (b - a) / 2
        if not a < middle < b:
            break
        if int(classes(np.array([middle]))[0]) == left:
            a = middle
        else:
            b = middle
    return a, b
