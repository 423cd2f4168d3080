"""Whether a Gram matrix is positive semidefinite: by construction, by a factor, or assumed.

The bounds of a kernel machine hold if K has no negative eigenvalue. The kernels of the library have
none, which their formulas show. Of numbers that somebody gives it is proved by a factorisation
(Rump, Verification of positive definiteness, BIT 46, 2006): if Cholesky's method in float64, in any
order of its operations, comes to an end for a symmetric matrix B, then

    B + c I is positive semidefinite,   c = g / (1 - g) trace(B),   g = (n + 1) u / (1 - (n + 1) u),

up to underflow. Where B = K - 2c I has a factor, so K is. Otherwise B = K + t I is tried with a
growing t, up to what rounding of the entries of K explains, and what is proved is about K + s I:
the shift s is part of the machine that the bounds are about, and they pay for it. Larger matrices
are looked at in a sample, and that they are positive semidefinite is assumed, which is said.

Products of matrices are often not symmetric to the last bit. The machine meant is then that of the
symmetric part S = (K + K') / 2. Its rounding counts as part of c, and the bounds pay for the
difference of K and S as they pay for errors of the values.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import GIVEN_FACTORED
from linsep.core.problem import Problem
from linsep.errors import DataError
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import U32, U
from linsep.proofs.kernel import POSITIVE, Definite, entry_error, roots

Array = NDArray[np.float64]

_ASKED = 1000  # rows up to which a kernel is asked for all its values and they are factored
_SAMPLE = 500  # rows of larger ones whose eigenvalues are looked at
_NEGATIVE = 1e-10  # eigenvalues below this share of the largest entry, times n, are no rounding
_ROUNDINGS = 16  # beside n of them, of an entry of the factor; a division may be two operations
_STEP = 16.0  # from one shift that is tried to the next
_TINY = 2.0**-1074


def definite(problem: Problem, kernel: Kernel | None) -> Definite:
    """What is known of the eigenvalues of the Gram matrix of these rows; None: it is given."""
    known = None if kernel is None else kernel.positive
    if known:
        return POSITIVE
    values, n = KernelValues(problem, kernel), problem.n
    whole = n <= (GIVEN_FACTORED if kernel is None else _ASKED)
    some = np.arange(n) if whole else np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLE])
    K = values.block(some, some)
    scale = float(np.abs(K).max(initial=0.0))
    uneven = rounded = 0.0
    if not np.array_equal(K, K.T):
        _refuse_lopsided(values, some, K, scale, known=known)
        if kernel is None or not kernel.symmetric:  # of a formula the rounding is paid for
            uneven = _uneven(K)
        K = (K + K.T) / 2
        rounded = 2 * U * float(np.linalg.norm(K)) + len(K) * _TINY
    short = kernel is None and problem.matrix.dtype == np.float32  # its entries are rounded
    allowed = (8 * U32 if short else _NEGATIVE) * scale * len(K)
    shift = _shift(K, (U32 if short else U) * scale * len(K) ** 0.5, allowed, rounded)
    if shift is None:
        words = f"; the kernel is not positive semidefinite (eigenvalue {_negative(K, allowed)})"
        return Definite(convex=False, how=words)
    if whole and uneven < np.inf:
        return Definite(shift=_with_errors(values, shift), uneven=uneven)
    if known is False and not whole:
        how = "; the kernel is not positive semidefinite in general"
        return Definite(convex=False, how=how)
    seen = "its values are not symmetric to the last digit"
    if not whole:
        seen = f"no negative eigenvalue on a sample of {_SAMPLE} rows"
    return Definite(proved=False, how=f"; {seen}")


def _refuse_lopsided(
    values: KernelValues, some: NDArray[np.int64], K: Array, scale: float, *, known: bool | None
) -> None:
    lopsided = np.abs(K - K.T)
    if known is None and not lopsided.max(initial=0.0) <= 1e-6 * scale:
        i, j = np.unravel_index(int(lopsided.argmax()), K.shape)
        a, b = int(values.columns[some[i]]), int(values.columns[some[j]])
        raise DataError(
            f"the kernel is not symmetric: K[{a}, {b}] = {K[i, j]:.6g} but "
            f"K[{b}, {a}] = {K[j, i]:.6g}; use (K + K.T) / 2."
        )


def _with_errors(values: KernelValues, shift: float) -> float:
    """The shift that also covers errors of the values, where they are those of a formula."""
    error = entry_error(values)
    if error == 0.0:
        return shift
    every = np.arange(values.n)
    root = roots(values, every, every, convex=False)
    return (shift + error * float(root @ root)) * (1 + 1e-12)


def _uneven(K: Array) -> float:
    """How far entries are from those of the symmetric part, as a share of sqrt(K_ii K_jj)."""
    root = np.sqrt(np.maximum(K.diagonal(), 0.0))
    away, size = 0.5 * np.abs(K - K.T), np.outer(root, root)
    some = away > 0
    if not (size[some] > 0).all():
        return np.inf
    return float((away[some] / size[some]).max(initial=0.0)) * (1 + 8 * U)


def _shift(K: Array, noise: float, allowed: float, rounded: float = 0.0) -> float | None:
    """Some s >= 0 for which K + s I is proved to be positive semidefinite; None if none is small.

    K is symmetric to the last bit. Rounding of its entries moves eigenvalues by about ``noise``;
    those of the matrix that is meant are no more than ``rounded`` below.
    """
    n, diagonal = len(K), K.diagonal()
    lost = _lost(n, float(np.abs(diagonal).sum()), float(np.abs(diagonal).max(initial=0.0)))
    if not np.isfinite(lost):
        return None
    first, wide = max(lost, 1.5 * noise), max(allowed, 4 * lost)
    grown = [first * _STEP**k for k in range(64) if first * _STEP**k < wide]
    for more in (-2.01 * lost - 1.01 * rounded, *grown, wide):
        B = K + 0.0
        B[np.diag_indices(n)] += more
        if (diagonal + more < 0).any():
            continue
        if not scipy.linalg.lapack.dpotrf(B.T, lower=1, overwrite_a=1, clean=0)[1]:
            top = float((diagonal + more).max(initial=0.0))
            own = _lost(n, float((diagonal + more).sum()), top)
            # its diagonal is rounded: K_ii + more is less than 2 U of it away
            return max((more + own + rounded + 4 * U * (top + abs(more))) * (1 + 1e-12), 0.0)
    return None


def _lost(n: int, trace: float, top: float) -> float:
    """c: by how much an eigenvalue of a matrix with a factor may be below zero, and more."""
    terms = (n + _ROUNDINGS) * U
    return 1.01 * terms / (1 - 2 * terms) * trace + 4.0 * (n + 1) * (2 * (n + 2) + top) * _TINY


def _negative(K: Array, allowed: float) -> str:
    """The least eigenvalue in words, or of a larger matrix a value that it is not above."""
    if len(K) <= _SAMPLE:
        return f"{float(np.linalg.eigvalsh(K)[0]):.3g}"
    B = K + 0.0
    B[np.diag_indices(len(K))] += allowed
    factor, at = scipy.linalg.lapack.dpotrf(B, lower=1, clean=0)
    v = np.zeros(len(K))
    v[at - 1], lead = 1.0, factor[: at - 1, : at - 1]
    if at > 1:  # the leading rows have a factor, the next one shows the sign
        half = scipy.linalg.solve_triangular(lead, B[: at - 1, at - 1], lower=True)
        v[: at - 1] = -scipy.linalg.solve_triangular(lead, half, lower=True, trans=1)
    return f"{float(v @ (K @ v) / (v @ v)):.3g} or less"
