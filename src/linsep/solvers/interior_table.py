"""The rows that interior points work with: times their labels, in as few columns as will do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem

__all__ = ["Table", "inside", "outside", "table_of"]

Array = NDArray[np.float64]


class Table(NamedTuple):
    """Rows times their labels, the constant column last, and what leads back to all columns."""

    of: tuple[Any, Array]
    """Matrix and labels that it was made of: copies of a problem may have others."""
    rows: Array
    basis: tuple[Array, Array] | None
    """Reflections that make orthonormal directions which hold all rows, where there are fewer
    rows than columns."""


def table_of(problem: Problem) -> Table:
    """The rows to work with, made once and kept with the problem."""
    X, sign = problem.matrix, problem.sign
    known: Table | None = problem.__dict__.get("_interior_table")
    if known is not None and known.of[0] is X and known.of[1] is sign:
        return known
    of = (X, sign)
    basis = None
    if problem.n < problem.d:
        X, basis = _corner(problem)
    else:
        X = _dense(problem)
    parts = [X, np.ones((problem.n, 1))] if problem.fit_intercept else [X]
    rows = np.concatenate(parts, axis=1) * sign[:, None]
    made = Table(of, rows, basis)
    problem.__dict__["_interior_table"] = made
    return made


def _dense(problem: Problem) -> Array:
    X = problem.matrix
    return np.asarray(X.toarray() if problem.sparse else X, dtype=np.float64)


def _corner(problem: Problem) -> tuple[Array, tuple[Array, Array]]:
    """Rows in as many columns as there are rows, and the reflections that make them so.

    Problems that differ in their labels alone share them.
    """
    held: dict[str, Any] = problem.__dict__.setdefault("_corner", {})
    if held.get("of") is not problem.matrix:
        n = problem.n
        with one_blas_thread():
            size = int(lapack.dgeqrf_lwork(problem.d, n)[0])
            reflections, factors, _, _ = lapack.dgeqrf(_dense(problem).T, lwork=size)
        made = np.ascontiguousarray(np.triu(reflections[:n]).T), (reflections, factors)
        held["made"], held["of"] = made, problem.matrix
    found: tuple[Array, tuple[Array, Array]] = held["made"]
    return found


def _turned(basis: tuple[Array, Array], w: Array, *, back: bool) -> Array:
    """Weights of the few columns as weights of all, or back."""
    reflections, factors = basis
    d, n = reflections.shape
    column = np.zeros((d, 1), order="F")
    column[: len(w), 0] = w
    with one_blas_thread():
        out, _, _ = lapack.dormqr("L", "T" if back else "N", reflections, factors, column, 64 * 64)
    return np.asarray(out[: n if back else d, 0])


def outside(problem: Problem, table: Table, w: Array) -> Array:
    """Weights of all columns, and the intercept."""
    d = len(w) - problem.fit_intercept
    full = w[:d] if table.basis is None else _turned(table.basis, w[:d], back=False)
    return np.append(full, w[-1] if problem.fit_intercept else 0.0)


def inside(problem: Problem, table: Table, a: Array) -> Array:
    """The reverse; what is orthogonal to all rows is lost, and does not help."""
    w = a[:-1] if table.basis is None else _turned(table.basis, a[:-1], back=True)
    return np.append(w, a[-1]) if problem.fit_intercept else np.asarray(w)
