"""Conjugate gradients with a scaling, for systems that are known by their products alone.

System x = r, positive definite. The scaling is an inverse diagonal, and for some systems a few
rows kept whole beside it: whatever turns the diagonal's answer into that of both.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine

Array = NDArray[np.float64]

_NEAR = 10.0  # times what is enough: go on to it


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
    def size(self) -> int:
        """Entries of the data behind it: small ones are not worth compiled code."""

    @property
    def share(self) -> float:
        """Work of one product, in passes over the data."""

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""

    def scaling(self) -> tuple[Array, Correction | None]:
        """The inverse of a diagonal, 0 for columns without any entry, and what goes with it."""


def conjugate_gradients(
    system: System, r: Array, forcing: float, most: int = 200, enough: float = 0.0
) -> tuple[Array, float]:
    """x with system x = r to a relative accuracy, and the work in passes; columns without any
    entry are left at 0.

    enough is a squared length of what is left of r that is small enough; it is gone for when it
    is near.
    """
    inverse, beside = system.scaling()
    size, d = system.size, len(r)
    r, x, p, q = r.copy(), np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    rz = _length(beside, go(0.0, p, p, inverse, x, r, size=size, work=d), r)
    goal, beta, work = forcing**2 * rz, 0.0, 0.0
    for _ in range(most):
        left = float(r @ r) if enough else np.inf
        if left <= enough or not (rz > goal or (rz > 0.0 and left <= _NEAR * enough)):
            break
        turn(beta, inverse, r, p, size=size, work=d)
        if beside is not None:
            beside.correct(p)
            work += beside.share
        pq = system.product(p, q)
        work += system.share
        if not pq > 0:
            break
        new = _length(beside, go(rz / pq, p, q, inverse, x, r, size=size, work=d), r)
        rz, beta = new, new / rz
    return x, work


def _length(beside: Correction | None, scaled: float, r: Array) -> float:
    """r . M^-1 r, given r . D^-1 r."""
    return float(scaled) if beside is None else float(scaled) - beside.weigh(r)


@routine
def go(t, p, q, inverse, x, r):
    """x += t p and r -= t q; gives back r . inverse r."""
    s0 = 0.0
    s1 = 0.0
    d = p.shape[0]
    for j in range(0, d - 1, 2):
        x[j] += t * p[j]
        x[j + 1] += t * p[j + 1]
        r[j] -= t * q[j]
        r[j + 1] -= t * q[j + 1]
        s0 += r[j] * inverse[j] * r[j]
        s1 += r[j + 1] * inverse[j + 1] * r[j + 1]
    if d % 2 == 1:
        x[d - 1] += t * p[d - 1]
        r[d - 1] -= t * q[d - 1]
        s0 += r[d - 1] * inverse[d - 1] * r[d - 1]
    return s0 + s1


@routine
def turn(beta, inverse, r, p):
    """p = inverse r + beta p."""
    for j in range(p.shape[0]):
        p[j] = inverse[j] * r[j] + beta * p[j]
