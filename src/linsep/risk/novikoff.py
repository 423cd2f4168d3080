"""How many mistakes a perceptron can make (Novikoff 1962, Rosenblatt 1957).

Given     reflected rows z_i, D = max |z_i|, and a unit vector u with u . z_i >= gamma > 0
From 0    t updates need t gamma <= |a| <= sqrt(t) D, so t <= D^2 / gamma^2
From a0   t gamma + u . a0 <= sqrt(|a0|^2 + t D^2)     (eta = 1)
Batch     the rows added up in all steps number at most n D^2 / gamma^2

The lengths and the margin are those of the augmented space, where the offset is a coordinate.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.proofs.certificate import judge
from linsep.solvers.hulls.nearest import NearestHulls


class NovikoffBound(float):
    """The largest number of updates, as a float with its ingredients.

    Attributes
    ----------
    radius : float
        D, the length of the longest reflected row.
    margin : tuple of float
        Bounds of the best gamma; the lower one is used.
    separator : array
        The unit vector u, offset last.
    batch : float
        Bound of the rows added up by the batch rule from zero.
    """

    radius: float
    margin: tuple[float, float]
    separator: NDArray[np.float64]
    batch: float

    @classmethod
    def make(
        cls,
        updates: float,
        radius: float,
        margin: tuple[float, float],
        separator: NDArray[np.float64],
        n: int,
    ) -> Self:
        """The number with its ingredients."""
        bound = cls(updates)
        bound.radius, bound.margin, bound.separator = radius, margin, separator
        bound.batch = n * radius**2 / margin[0] ** 2 if margin[0] > 0 else np.inf
        return bound

    def inequalities(self, trace: Any) -> list[tuple[int, float, float, bool]]:
        """Check the two inequalities of the proof on every step of a trace (eta = 1).

        Gives (t, |a|^2 - |a0|^2 - t D^2, t gamma + u.a0 - u.a, both <= 0) for each step t of a
        single-sample run.
        """
        out = []
        start = _vector(trace[0])
        for step in trace:
            a, t = _vector(step), step.update
            growth = float(a @ a - start @ start - t * self.radius**2)
            lag = float(t * self.margin[0] + self.separator @ (start - a))
            slack = 1e-9 * (1 + float(a @ a))
            out.append((t, growth, lag, growth <= slack and lag <= slack))
        return out


def novikoff_bound(
    X: Any, y: Any, *, start: Any = None, fit_intercept: bool = True
) -> NovikoffBound:
    """Bound the updates of a single-sample perceptron with "<=" and eta = 1.

    Parameters
    ----------
    X, y
        Data, as for fit.
    start : (coef, intercept), optional
        Weights that the perceptron starts from; zeros without it.
    fit_intercept : bool, default=True
        Whether the rows carry a constant 1.

    Returns
    -------
    NovikoffBound
        A float; infinite when the classes are not separable.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> bound = linsep.risk.novikoff_bound(table.X, table.y)
    >>> round(bound, 6), round(bound.radius**2, 6), round(bound.margin[0]**2, 6)
    (10.0, 5.0, 0.5)
    """
    problem = Problem(X, y, fit_intercept=fit_intercept, half_space=True)
    homogeneous = problem if not fit_intercept else _augmented(problem)
    outcome = drive(
        homogeneous, NearestHulls(tol=1e-12), limits=Limits(steps=100_000), certifier=judge
    )
    low, high = outcome.certificate.margin_aug_low, outcome.certificate.margin_aug_high
    radius2 = float(homogeneous.squared_lengths.max()) * (1 if problem.binary else 2)
    radius = float(np.sqrt(radius2))
    coef, _ = homogeneous.split(outcome.witness.a)
    u = coef.ravel()
    if not fit_intercept:
        u = np.column_stack([coef, np.zeros(len(coef))]).ravel()
    size = float(np.linalg.norm(u))
    if low <= 0 or size == 0:
        return NovikoffBound.make(np.inf, radius, (0.0, high), u, problem.n_rows)
    u = u / size
    a0 = np.zeros(problem.dim) if start is None else problem.join(*start)
    return NovikoffBound.make(
        _most_updates(u, a0, radius2, low), radius, (low, high), u, problem.n_rows
    )


def kozinec_bound(X: Any, y: Any, *, fit_intercept: bool = True) -> float:
    """Bound the updates of Kozinec's plain rule in the augmented space: D^2 / m^2 - 1.

    For w.x <= 0 a step to the foot point gives 1 / |w'|^2 >= 1 / |w|^2 + 1 / |x|^2. From the
    first row 1 / |w_t|^2 >= (t + 1) / D^2, and |w_t| >= m, how far the hull is from 0.

    Parameters
    ----------
    X, y
        Data, as for fit.
    fit_intercept : bool, default=True
        Whether the rows carry a constant 1.

    Returns
    -------
    float
        Infinite when the classes are not separable.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> round(linsep.risk.kozinec_bound(table.X, table.y), 6)
    9.0
    """
    novikoff = novikoff_bound(X, y, fit_intercept=fit_intercept)
    low = novikoff.margin[0]
    return float(novikoff.radius**2 / low**2 - 1.0) if low > 0 else float("inf")


def _most_updates(
    u: NDArray[np.float64], a0: NDArray[np.float64], radius2: float, gamma: float
) -> float:
    """Largest t with u.a0 + t gamma <= sqrt(|a0|^2 + t D^2): a root of a quadratic."""
    lead, size2 = float(u @ a0), float(a0 @ a0)
    # (lead + t gamma)^2 = size2 + t radius2
    half = (radius2 - 2 * lead * gamma) / (2 * gamma**2)
    return half + float(np.sqrt(max(half**2 + (size2 - lead**2) / gamma**2, 0.0)))


def _augmented(problem: Problem) -> Problem:
    """The same rows with the constant 1 as a column of the matrix."""
    ones = np.ones((problem.n, 1))
    if problem.sparse:
        import scipy.sparse

        matrix: Any = scipy.sparse.hstack([problem.matrix, ones], format="csr")
    else:
        matrix = np.hstack([problem.matrix, ones.astype(problem.matrix.dtype)])
    return Problem(matrix, problem.label, fit_intercept=False)


def _vector(step: Any) -> NDArray[np.float64]:
    coef = np.atleast_2d(step.coef)
    return np.column_stack([coef, np.ravel(step.intercept)]).ravel()
