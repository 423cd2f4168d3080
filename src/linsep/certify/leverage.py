"""Samples of rows, long ones more often, each within the next larger one.

Row i is in the sample of a size if u_i < size s_i (1 / (2 mass) + |x_i|^2 / (2 total)), u_i
uniform, mass and total the sums of s and of s |x|^2: rows with rare features, which are long, are
always in, and a row of weight s counts as s rows. Costs s_i / chance make sums unbiased.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.lanes import run_all
from linsep.core.order import generator
from linsep.core.problem import Problem

__all__ = ["sample", "sample_matrix"]

Array = NDArray[np.float64]

_PIECE = 20_000  # rows whose random numbers one stream gives, at least


def sample(
    problem: Problem,
    size: int,
    seed: int = 0,
    threads: int | None = None,
    within: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], Array]:
    """Rows of a sample of about ``size`` rows, and their costs; within is a larger sample."""
    kept: tuple[int, Array, Array] | None = problem.__dict__.get("_leverage")
    if kept is None or kept[0] != seed:
        rate = _rates(problem, survey(problem, threads).rows)
        from_size = _thresholds(rate, seed, threads)
        kept = problem.__dict__["_leverage"] = seed, rate, from_size
    _, rate, from_size = kept
    if within is None:
        index = np.flatnonzero(from_size < size)
    else:
        index = within[from_size[within] < size]
    return index, problem.weight[index] / np.minimum(1.0, size * rate[index])


def _thresholds(rate: Array, seed: int, threads: int | None) -> Array:
    """Size from which on each row is in: a uniform number divided by its rate."""
    out = np.empty(len(rate))
    pieces = max(1, min(8, len(rate) // _PIECE))
    edges = [len(rate) * k // pieces for k in range(pieces + 1)]

    def piece(k: int) -> None:
        part = out[edges[k] : edges[k + 1]]
        generator(seed, k).random(out=part)
        part /= rate[edges[k] : edges[k + 1]]

    run_all([partial(piece, k) for k in range(pieces)], threads)
    return out


def _rates(problem: Problem, lengths: Array) -> Array:
    """Chance of each row in a sample of size 1."""
    s = problem.weight
    total, mass = float(s @ lengths), float(s.sum())
    if not 0 < total < np.inf:
        return s / mass
    rate = lengths * (0.5 / total)
    rate += 0.5 / mass
    if s.min() != s.max() or s[0] != 1.0:
        rate *= s
    return rate


def sample_matrix(
    problem: Problem, size: int, seed: int = 0, threads: int | None = None
) -> tuple[NDArray[np.int64], Array, Any]:
    """Rows of a sample, their costs, and the matrix of these rows; the last one is kept."""
    kept: tuple[int, int, NDArray[np.int64], Array, Any] | None = problem.__dict__.get("_sample")
    if kept is None or kept[:2] != (size, seed):
        if kept is not None and kept[1] == seed and kept[0] > size:
            index, cost = sample(problem, size, seed, threads, within=kept[2])
            part = _gather(kept[4], np.searchsorted(kept[2], index), threads)
        else:
            index, cost = sample(problem, size, seed, threads)
            part = _gather(problem.matrix, index, threads)
        kept = problem.__dict__["_sample"] = size, seed, index, cost, part
    return kept[2:]


def _gather(matrix: Any, index: NDArray[np.int64], threads: int | None = None) -> Any:
    """matrix[index], in pieces by several threads where it is dense and large."""
    if not isinstance(matrix, np.ndarray) or len(index) < 4096:
        return matrix[index]
    out = np.empty((len(index), matrix.shape[1]), matrix.dtype)
    edges = [len(index) * k // 8 for k in range(9)]

    def piece(lo: int, hi: int) -> None:
        np.take(matrix, index[lo:hi], axis=0, out=out[lo:hi], mode="clip")

    run_all([partial(piece, lo, hi) for lo, hi in pairwise(edges)], threads)
    return out
