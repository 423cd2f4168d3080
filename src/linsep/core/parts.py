"""Problems made of others: a class against the rest, some rows or columns, other offsets."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem

__all__ = ["against_rest", "columns_of", "each_against_rest", "moved", "rows_of"]

_COMPUTED = ("sign", "rows", "fingerprint", "row_hashes", "squared_lengths")  # once asked for


def against_rest(problem: Problem, k: int) -> Problem:
    """Class k as the positive class against all others."""
    part = copy.copy(problem)
    for name in ("sign", "rows", "fingerprint", "_aims", "_right_side", "_each_against_rest"):
        part.__dict__.pop(name, None)
    part.label = (problem.label == k).astype(np.int64)
    part.classes = np.array(["rest", str(problem.classes[k])])
    part.K = 2
    return part


def rows_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some rows alone; the classes stay, though one may have no row left."""
    part = _twin(problem)
    part.matrix = problem.matrix[index]
    part.label, part.weight = problem.label[index], problem.weight[index]
    part.n = len(index)
    return part


def columns_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some columns alone."""
    part = _twin(problem)
    part.matrix, part.d = problem.matrix[:, index], len(index)
    if problem.feature_names is not None:
        part.feature_names = [problem.feature_names[j] for j in index.tolist()]
    return part


def moved(problem: Problem, offsets: NDArray[np.float64]) -> Problem:
    """The same problem with an offset taken off each column, in float64; dense rows only."""
    part = _twin(problem)
    part.matrix = problem.matrix.astype(np.float64) - offsets
    return part


def _twin(problem: Problem) -> Problem:
    """A copy without anything that was computed from rows or labels."""
    twin = copy.copy(problem)
    for name in [name for name in twin.__dict__ if name in _COMPUTED or name.startswith("_")]:
        del twin.__dict__[name]
    return twin


def each_against_rest(problem: Problem) -> list[Problem]:
    """Every class against all others; made once and kept with the problem."""
    kept: list[Problem] | None = problem.__dict__.get("_each_against_rest")
    if kept is None:
        kept = [against_rest(problem, k) for k in range(problem.K)]
        problem.__dict__["_each_against_rest"] = kept
    return kept
