"""A bound for the likelihood of several classes where it has no maximum.

A loss log(1 + sum over rivals k of exp(f_k - f_y)) only shrinks when rivals are left out, so the
least sum of losses of some rivals of some rows is a lower bound for all. On quasi-separable data
the rivals that remain in doubt, however far one goes, have a maximum of their own, and the
supremum of all is that of these alone: weights close to it and the bound close the gap. Which
rivals are left out needs no proof; a poor choice gives a poor bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.centred import centred
from linsep.certify.softmax_limit import likelihood_bound
from linsep.certify.softmax_primal import objective_above
from linsep.core.problem import Problem

__all__ = ["face_bound"]

Array = NDArray[np.float64]

_FAR, _TRIES = 2.0, 8  # margins from which rivals may be left out, at the largest ratios
_LARGE = 100_000  # weights times rows from which fewer are tried


def face_bound(
    problem: Problem, blocks: Array, S: Array, cost: Array, reference: int | None
) -> float:
    """The best bound of those for the rivals nearer than some margin; 0 if there is none."""
    W, b = blocks[:, :-1], blocks[:, -1]
    margins = S[problem.label, np.arange(problem.n)] - S
    rival = np.ones(S.shape, dtype=bool)
    rival[problem.label, np.arange(problem.n)] = False
    values = margins[rival]
    far = np.unique(values[values > _FAR])
    ratio = far / np.append(_FAR, far[:-1])
    twin, _ = centred(problem)
    best, high = 0.0, np.inf
    tries = _TRIES if problem.n * problem.dim <= _LARGE else 2
    for at in np.argsort(-ratio, kind="stable")[:tries]:
        some = np.where(rival & (margins >= far[at]), -np.inf, S)
        total, doubt, off = objective_above(problem, W, b, some, cost, penalty=False)
        if not total - doubt > best:
            continue
        low = total - doubt - likelihood_bound(twin, some, cost, reference, off, problem)
        if low > best:
            best, high = low, total
        if best > 0 and high - best <= 1e-9 * high:
            break
    return best
