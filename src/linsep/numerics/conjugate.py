"""Conjugate gradients with a scaling, for systems that are known by their products alone.

System x = r, positive definite. The scaling is an inverse diagonal, and for some systems a few
rows kept whole beside it: whatever turns the diagonal's answer into that of both.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NEARLY = 10.0  # times what is enough: go on to it


class Correction(Protocol):
    """What a scaling M has beside its diagonal D."""

    share: float
    """Work of one use, in passes over the data."""

    def weigh(self, r: Array) -> float:
        """Look at r; gives back what r . M^-1 r is less than r . D^-1 r."""

    def correct(self, p: Array) -> None:
        """p += M^-1 r - D^-1 r, for the r that was looked at last."""


class System(Protocol):
    """A positive definite matrix, as its products and its scaling."""

    @property
    def share(self) -> float:
        """Work of one product, in passes over the data."""

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""

    def scaling(self) -> tuple[Array, Correction | None]:
        """The inverse of a diagonal, 0 for columns without any entry, and what goes with it."""


def conjugate_gradients(
    system: System,
    r: Array,
    forcing: float,
    most: int = 200,
    enough: float = 0.0,
    scaling: tuple[Array, Correction | None] | None = None,
) -> tuple[Array, float]:
    """x with system x = r to a relative accuracy, and the work in passes; columns without any
    entry are left at 0.

    enough is a squared length of what is left of r that is small enough; it is gone for when it
    is near. scaling, a diagonal and what goes with it, takes the place of the system's own.
    """
    inverse, beside = system.scaling() if scaling is None else scaling
    r, x, p, q = r.copy(), np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    rz = _length(beside, inverse, r)
    goal, beta, work = forcing**2 * rz, 0.0, 0.0
    for _ in range(most):
        left = float(r @ r) if enough else np.inf
        if left <= enough or not (rz > goal or (rz > 0.0 and left <= _NEARLY * enough)):
            break
        p *= beta
        p += inverse * r
        if beside is not None:
            beside.correct(p)
            work += beside.share
        pq = system.product(p, q)
        work += system.share
        if not pq > 0:
            break
        t = rz / pq
        x += t * p
        r -= t * q
        new = _length(beside, inverse, r)
        rz, beta = new, new / rz
    return x, work


def _length(beside: Correction | None, inverse: Array, r: Array) -> float:
    """r . M^-1 r."""
    scaled = float(r @ (inverse * r))
    return scaled if beside is None else scaled - beside.weigh(r)
