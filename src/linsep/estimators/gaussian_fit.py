"""Maximum likelihood of Gaussian classes, and what to do where it does not exist.

mu_k    mean of the rows of class k
S_k     their second moments about it, divided by n_k (not n_k - 1): the likelihood's maximum
shared  sum_k n_k S_k / n;   diagonal: only its diagonal

Where a covariance is singular the likelihood has no maximum. Then R = diag(r v) is added to every
covariance, v the variances of the columns over all rows, so that a change of units changes
nothing; the sum is the maximum of the likelihood with the term -n tr(C^-1 R) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from linsep.core.moments import class_rows, moments_about
from linsep.core.problem import Problem
from linsep.errors import DataError, LabelError

__all__ = ["FLOOR", "Estimate", "estimate"]

Array = NDArray[np.float64]
FLOOR = 1e-6  # of the variance of a column; added where a covariance is singular
_RANK_TOL = 1e-12  # share of a column's variance that must be left after those before it
_WIDEST = 20_000  # columns up to which a matrix of their covariances is held


@dataclass(frozen=True)
class Estimate:
    """The parameters of all classes."""

    weight: Array
    means: Array
    covariance: Array
    """(K, d, d), (d, d), (K, d) or (d,) by structure; without variance in ignored columns."""
    ridge: Array
    """What was added to the variances, (d,)."""
    used: NDArray[np.bool_]
    """Columns that are not constant over all rows."""
    trouble: str
    """Where a covariance was singular, in words; empty if nowhere."""


def estimate(problem: Problem, structure: str, regularization: float | None) -> Estimate:
    """Estimate the parameters; raise DataError where none exist and none may be made up."""
    shared, diagonal = structure.startswith("shared"), structure.endswith("diagonal")
    if not diagonal and problem.d > _WIDEST:
        raise DataError(
            f"covariance={structure!r} needs a {problem.d} x {problem.d} matrix; choose "
            "covariance='shared-diagonal' or 'diagonal', or fewer columns."
        )
    weight, means, scatter, reach = _moments(problem, diagonal)
    share = weight / weight.sum()
    spread = _total_variance(share, means, scatter, diagonal)
    _refuse_range(problem, spread, np.maximum(reach, np.ptp(means, axis=0)))
    used = spread > 0
    covariance = np.tensordot(share, scatter, axes=1) if shared else scatter
    words = _singular(problem, covariance, used, shared, diagonal)
    constant = [] if used.all() else [_constant(problem, used)]
    if (words or constant) and regularization == 0:
        raise DataError(f"{_sentence([*constant, *words])} {_WAYS}")
    left_out = "is left out" if np.sum(~used) == 1 else "are left out"
    trouble = _sentence([*(f"{text} and {left_out}" for text in constant), *words])
    factor = (FLOOR if words else 0.0) if regularization is None else float(regularization)
    ridge = factor * spread
    covariance = covariance + (ridge if diagonal else np.diag(ridge))
    return Estimate(weight, means, covariance, ridge, used, trouble)


_WAYS = (
    "Leave out such columns, choose covariance='shared-diagonal' or 'shared', or give "
    "regularization=1e-3, the share of each column's variance to add."
)


def _moments(problem: Problem, diagonal: bool) -> tuple[Array, Array, Array, Array]:
    """Weight, mean and second moments of every class; how far columns reach from a mean."""
    K, d = problem.K, problem.d
    weight, means, reach = np.zeros(K), np.zeros((K, d)), np.zeros(d)
    scatter = np.zeros((K, d) if diagonal else (K, d, d))
    for k in range(K):
        rows = class_rows(problem, k)
        if not rows.size:
            raise LabelError(
                f"class {problem.classes.tolist()[k]!r} has no row of positive weight; leave it "
                "out or give some of its rows a weight."
            )
        first = problem.matrix[rows[:1]]
        first = np.asarray(first.toarray() if problem.sparse else first, np.float64)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = first + moments_about(problem, k, first, products=False).first
            about = moments_about(problem, k, mean, products=not diagonal)
            means[k] = mean + about.first
            drift = about.first**2 if diagonal else np.outer(about.first, about.first)
            scatter[k] = about.second - drift
        weight[k] = about.weight
        reach = np.fmax(reach, about.reach)
    return weight, means, scatter, reach


def _refuse_range(problem: Problem, variance: Array, reach: Array) -> None:
    """Variances that float64 cannot hold: columns of 1e200 or of 1e-200."""
    bad = ~np.isfinite(variance) | ((reach > 0) & (reach < 1e-140)) | (reach > 1e140)
    if bad.any():
        j = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the variance of column {j} ({problem.feature_name(j)!r}) is beyond the range of "
            f"float64: its values differ from their mean by up to {reach[j]:.3g}. Scale the "
            "columns, for instance with sklearn.preprocessing.StandardScaler."
        )


def _total_variance(share: Array, means: Array, scatter: Array, diagonal: bool) -> Array:
    """Variance of every column over all rows; exactly 0 for a constant one."""
    within = scatter if diagonal else np.einsum("kjj->kj", scatter)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = means - means[0]
        apart = apart - share @ apart
        return np.asarray(share @ (np.maximum(within, 0.0) + apart**2))


def _constant(problem: Problem, used: NDArray[np.bool_]) -> str:
    return f"{_names(problem, np.flatnonzero(~used))} the same value in every row"


def _sentence(words: list[str]) -> str:
    text = "; ".join(words[:3]) + (f"; and {len(words) - 3} more" if len(words) > 3 else "")
    return text[:1].upper() + text[1:] + "." if text else ""


def _singular(
    problem: Problem, covariance: Array, used: NDArray[np.bool_], shared: bool, diagonal: bool
) -> list[str]:
    """Where the covariances of the columns in use are singular, in words."""
    words = []
    parts = [covariance] if shared else covariance
    for k, C in enumerate(parts):
        count = problem.n - problem.K if shared else len(class_rows(problem, k)) - 1
        whose = "the classes together" if shared else f"class {problem.classes.tolist()[k]!r}"
        if diagonal:
            without = np.flatnonzero(used & ~(C > 0))
            if without.size:
                words.append(f"within {whose} {_names(problem, without)} no variance")
            continue
        rank, dependent = _rank(C[np.ix_(used, used)], count)
        if rank < used.sum():
            columns = np.flatnonzero(used)[dependent]
            words.append(
                f"the covariance of {whose} ({_rows(problem, k, shared)}) has rank "
                f"{rank} of {int(used.sum())}: {_names(problem, columns)} no variance of "
                f"{'its' if len(columns) == 1 else 'their'} own beside the others"
            )
    return words


def _rows(problem: Problem, k: int, shared: bool) -> str:
    n = problem.n if shared else len(class_rows(problem, k))
    return "1 row" if n == 1 else f"{n} rows"


def _rank(C: Array, most: int) -> tuple[int, NDArray[np.intp]]:
    """Rank of a covariance, and the columns left over, by Cholesky with pivots."""
    if not len(C):
        return 0, np.zeros(0, dtype=np.intp)
    scale = np.sqrt(np.maximum(np.diag(C), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    _, pivots, rank, _ = dpstrf(C / scale / scale[:, None], tol=_RANK_TOL)
    rank = min(int(rank) if C.any() else 0, max(most, 0))
    return rank, np.sort(pivots[rank:] - 1)


def _names(problem: Problem, columns: NDArray[np.intp]) -> str:
    """Columns by name, a few of them, with the verb: 'column x1 has', 'columns x1, x2 have'."""
    shown = [problem.feature_name(int(j)) for j in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    verb = "has" if len(columns) == 1 else "have"
    return f"column{'s' * (len(columns) > 1)} {', '.join(shown)}{more} {verb}"
