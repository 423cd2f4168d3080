"""Least squares in rational arithmetic: the minimiser itself, not a number near it.

Floats are fractions, so the normal equations X~' S X~ A = X~' S T have coefficients that are
fractions, and so has their solution of least length: a particular solution minus its part along
the null vectors N, which is N (N'N)^-1 N' A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linsep.certify.normal import aims
from linsep.core.problem import Problem

__all__ = ["RationalSquares", "rational_squares"]

_ENTRIES = 3000  # of X~ up to which fractions take no time worth speaking of
_COLUMNS = 20


@dataclass(frozen=True)
class RationalSquares:
    """The weights of least length among the minimisers, and the minimum."""

    weights: tuple[tuple[Fraction, ...], ...]
    """One tuple for two classes, K for more: coefficients, then the offset if there is one."""
    minimum: Fraction


def rational_squares(problem: Problem) -> RationalSquares | None:
    """The exact answer, or None where the table is too large for it."""
    if problem.width > _COLUMNS or problem.n * problem.width > _ENTRIES:
        return None
    T = aims(problem)
    if T.shape[1] > _COLUMNS:
        return None
    X = problem.matrix.toarray() if problem.sparse else problem.matrix
    rows = [[*map(float, row), *([1.0] if problem.fit_intercept else [])] for row in X.tolist()]
    W, aim, S = _matrix(rows), _matrix(T.tolist()), problem.weight.tolist()
    SW = _matrix([[Fraction(s) * Fraction(v) for v in row] for s, row in zip(S, rows)])
    N, H = W.transpose() * SW, SW.transpose() * aim
    A = _least_length(N, H)
    columns = [[_fraction(v) for v in row] for row in A.transpose().tolist()]
    total = sum(
        (Fraction(s) * Fraction(t) ** 2 for s, row in zip(S, T.tolist()) for t in row), Fraction(0)
    )
    used = sum((_fraction(v) for v in _diagonal(H.transpose() * A)), Fraction(0))
    return RationalSquares(tuple(map(tuple, columns)), total - used)


def _least_length(N: Any, H: Any) -> Any:
    """The solution of N A = H of least length; H is in the range of N, which is symmetric."""
    D = N.nrows()
    reduced, rank = N.rref()
    if rank == D:
        return N.solve(H)
    if rank == 0:
        return H  # which is zero as well
    lines = reduced.tolist()[:rank]
    pivots = [next(j for j, v in enumerate(line) if v != 0) for line in lines]
    free = sorted(set(range(D)) - set(pivots))
    every = N.tolist()
    part = _of([[every[i][j] for j in pivots] for i in pivots])
    right = H.tolist()
    solved = part.solve(_of([right[i] for i in pivots])).tolist()
    import flint

    zero = flint.fmpq(0)
    A = [[zero] * H.ncols() for _ in range(D)]
    for at, values in zip(pivots, solved):
        A[at] = values
    null = [[zero] * len(free) for _ in range(D)]
    for k, j in enumerate(free):
        null[j][k] = flint.fmpq(1)
        for at, line in zip(pivots, lines):
            null[at][k] = -line[j]
    particular, basis = _of(A), _of(null)
    across = basis.transpose()
    return particular - basis * (across * basis).solve(across * particular)


def _matrix(rows: Sequence[Sequence[Any]]) -> Any:
    import flint

    flat = [Fraction(v) for row in rows for v in row]
    entries = [flint.fmpq(v.numerator, v.denominator) for v in flat]
    return flint.fmpq_mat(len(rows), len(rows[0]), entries)


def _of(rows: Sequence[Sequence[Any]]) -> Any:
    import flint

    return flint.fmpq_mat(len(rows), len(rows[0]), [v for row in rows for v in row])


def _fraction(v: Any) -> Fraction:
    return Fraction(int(v.p), int(v.q))


def _diagonal(M: Any) -> list[Any]:
    return [M[i, i] for i in range(M.nrows())]
