"""Are the classes linearly separable? The answer comes with its proof."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from linsep.certify.proof import Proof
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem
from linsep.core.validate import as_matrix
from linsep.errors import SettingError
from linsep.separating.clock import Clock
from linsep.separating.judge import Judge
from linsep.solvers.samples import by_products

__all__ = ["separability"]

_SMALL = 4_000_000  # entries up to which a matrix is copied where that saves time


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    exact: bool = True,
    time_limit: float | None = None,
) -> Proof:
    """Decide whether a hyperplane separates the classes, and prove it.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        The samples.
    y : array of shape (n,)
        Labels of any kind, two classes or more. More than two are separated by a linear
        machine: one weight vector a class, and the own class has the largest score.
    fit_intercept : bool, default=True
        Whether planes may keep away from the origin.
    exact : bool, default=True
        Prove the answer in rational arithmetic. False stops at what floating point says when
        the classes look inseparable; then ``quasi`` is not decided.
    time_limit : float, optional
        Seconds after which to give back what is known.

    Returns
    -------
    proof : Proof
        The verdict with its numbers. ``print(proof)`` says it in a sentence.

    Examples
    --------
    >>> import linsep
    >>> print(linsep.separability([[0.0], [1.0], [4.0]], ["low", "low", "high"]))
    separable, margin 1.5
    >>> print(linsep.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    not separable: these four rows prove it (0, 1, 2 and 3)
    """
    begin = time.perf_counter()
    if time_limit is not None and not time_limit >= 0:
        raise SettingError(f"time_limit is {time_limit!r}; give seconds >= 0, or None.")
    problem = Problem(
        _by_rows(X), y, fit_intercept=fit_intercept, feature_names=_names(X), check_finite=False
    )
    with one_blas_thread():
        with np.errstate(over="ignore", invalid="ignore"):
            if by_products(problem):  # they are needed anyhow, and hold the lengths
                problem.prepare_gram()
            finite = np.isfinite(problem.squared_lengths).all()
        if not finite:  # or too large to be squared
            problem.check_finite()
        return decide(problem, exact=exact, time_limit=time_limit, begin=begin)


def decide(
    problem: Problem,
    *,
    exact: bool = True,
    time_limit: float | None = None,
    begin: float | None = None,
) -> Proof:
    """The verdict on a problem that is validated already; begin is when the clock started."""
    begin = time.perf_counter() if begin is None else begin
    if time_limit is not None:
        begin += _load_libraries()
    judge = Judge(problem, exact, Clock(begin, time_limit))
    # one BLAS thread: the products are small, and two libraries with two threads each (numpy's
    # and scipy's) make them several times slower on two cores
    # numbers may overflow on the way: every answer is checked in integers where that happens
    with one_blas_thread(), np.errstate(all="ignore"):
        return judge.decide()


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return list(columns)


def _load_libraries() -> float:
    """Seconds that it took; the first time these are more than most small problems need."""
    begin = time.perf_counter()
    import flint  # noqa: F401

    with one_blas_thread():
        return time.perf_counter() - begin


def _by_rows(X: Any) -> Any:
    """X itself; a tall matrix of moderate size that is held by columns once for all by rows."""
    matrix = as_matrix(X)
    if isinstance(matrix, np.ndarray) and len(matrix) >= matrix.shape[1] and matrix.size <= _SMALL:
        return np.ascontiguousarray(matrix)
    return matrix
