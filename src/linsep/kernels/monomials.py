"""The explicit feature map of a polynomial kernel: its monomials with their weights."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError

__all__ = ["exponents", "monomials"]

Array = NDArray[Any]

_MOST = 50_000_000  # numbers in the result


def monomials(X: Any, degree: int, coef0: float, gamma: float) -> Array:
    """Rows phi(x) with phi(x) . phi(z) = (gamma x . z + coef0) ** degree.

    The monomial of the columns c_1 .. c_m has the weight sqrt(coef0^(degree - m) gamma^m times
    the number of ways to write it). With coef0 = 0 they stand in the order x1^2, x1 x2, x2^2;
    otherwise by degree, those of more different columns first: 1, x1, x2, x1 x2, x1^2, x2^2.
    """
    n, d = X.shape
    if coef0 < 0:
        raise CapabilityError(
            f"coef0 is {coef0:g}: below zero the kernel is not positive semidefinite, so it has "
            "no feature map."
        )
    width = comb(d + degree - 1, degree) if coef0 == 0 else comb(d + degree, degree)
    if width * n > _MOST:
        raise CapabilityError(
            f"the feature map of degree {degree} of {d} columns has {width} coordinates for each "
            f"of {n} rows; use the kernel itself, or sklearn.kernel_approximation."
        )
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    out = np.empty((n, width), dtype=np.float64)
    for at, columns in enumerate(exponents(d, degree, homogeneous=coef0 == 0)):
        m = len(columns)
        counts = Counter(columns)
        ways = factorial(degree) // prod(map(factorial, counts.values())) // factorial(degree - m)
        out[:, at] = sqrt(ways) * sqrt(coef0) ** (degree - m) * sqrt(gamma) ** m
        for column in columns:
            out[:, at] *= dense[:, column]
    return out


def exponents(d: int, degree: int, *, homogeneous: bool) -> list[tuple[int, ...]]:
    """The columns of each monomial, in the order of the feature map."""
    if homogeneous:
        return list(combinations_with_replacement(range(d), degree))
    found: list[tuple[int, ...]] = []
    for m in range(degree + 1):
        own = combinations_with_replacement(range(d), m)
        found += sorted(own, key=lambda columns: (-len(set(columns)), columns))
    return found
