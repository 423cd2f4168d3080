"""The same rows with columns of mean nearly 0, where an intercept makes up for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.parts import moved
from linsep.core.problem import Problem

__all__ = ["centred"]

_LARGE = 20_000_000  # entries beyond which no copy is made


def centred(problem: Problem) -> tuple[Problem, NDArray[np.float64]]:
    """A twin of the problem, and what was taken off its columns; itself where none is made.

    The columns of [X, 1] span the same space. An entry less the mean is rounded once, so columns
    far from 0 keep all their digits.
    """
    nothing = np.zeros(problem.d)
    if problem.sparse or not problem.fit_intercept or problem.n * problem.d > _LARGE:
        return problem, nothing
    means = problem.matrix.mean(axis=0, dtype=np.float64)
    twin = moved(problem, means)
    return (twin, means) if np.isfinite(twin.matrix).all() else (problem, nothing)
