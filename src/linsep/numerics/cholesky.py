"""Solving H x = q where columns may be of any size and may depend on each other.

H is positive semidefinite up to rounding. Its columns are scaled to a diagonal of 1, so that no
column drowns beside another, and a little is added to that diagonal: more, where Cholesky's
method breaks down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]


def growing(first: float, then: float = 0.0, most: float = 1e3) -> Iterator[float]:
    """first, then ten times as much each time, at least ``then``, up to ``most``.

    >>> list(growing(1.0, 20.0, 300.0))
    [1.0, 20.0, 200.0]
    """
    while first <= most:
        yield first
        first = max(10 * first, then)


def inverse_roots(diagonal: Array) -> Array:
    """1 / sqrt(diagonal), the scale of the columns; 0 where it is not positive: these stay."""
    moving = diagonal > 0
    return np.asarray(np.where(moving, 1.0 / np.sqrt(np.where(moving, diagonal, 1.0)), 0.0))


def triangle(
    H: NDArray[Any], dampings: Iterable[float], *, lower: bool = False, turned: bool = False
) -> NDArray[Any] | None:
    """The factor of H with its diagonal set to 1 + damping, for the first of them that will do.

    lower says which triangle of H is read. turned hands over the transpose instead, whose other
    triangle it is: of an array by rows no copy is made then, and last bits differ.
    """
    factorise = lapack.spotrf if H.dtype == np.float32 else lapack.dpotrf
    for damping in dampings:
        np.fill_diagonal(H, 1.0 + damping)
        found, failed = factorise(H.T if turned else H, lower=lower != turned)
        if not failed:
            return np.asarray(found)
    return None


class Factor(NamedTuple):
    """A factor of a matrix whose columns were scaled."""

    triangle: NDArray[Any]
    scale: Array
    lower: bool

    @classmethod
    def of(
        cls, H: Array, scale: Array, dampings: Iterable[float], *,
        lower: bool = False, turned: bool = False,
    ) -> Factor | None:  # fmt: skip
        """The factor of H, which is scaled in place; None if no damping is enough."""
        H *= scale[:, None]
        H *= scale
        found = triangle(H, dampings, lower=lower, turned=turned)
        return None if found is None else cls(found, scale, lower != turned)

    def solve(self, q: Array) -> Array:
        """H^-1 q."""
        found, _ = lapack.dpotrs(self.triangle, self.scale * q, lower=self.lower)
        return np.asarray(self.scale * found)


def solved(H: Array, q: Array) -> Array:
    """H^-1 q; columns of diagonal 0 stay where they are, and all do if H is of no use."""
    width = len(H)
    factor = Factor.of(H.copy(), inverse_roots(H.diagonal()), growing(1e-15 * width, 1e-13 * width))
    return np.zeros_like(q) if factor is None else factor.solve(q)
