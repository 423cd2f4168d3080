"""Columns that depend on others, proved in integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.exact import integer_products, scaled_integers
from linsep.certify.normal import Gram
from linsep.core.problem import Problem

__all__ = ["independent"]

Array = NDArray[np.float64]

_ALIKE = 1e-6  # what is left of a column that may depend on others, relative to its length
_DENOMINATOR = 1000
_SLOW = 200_000  # entries beyond which only small integers are multiplied
_CHUNK = 1 << 20


def independent(problem: Problem, known: Gram) -> list[int] | None:
    """Columns that all others are combinations of; None unless each combination is proved.

    Floats suggest the combinations; their coefficients are read as fractions, and X~ times
    each of them must be exactly zero in every row.
    """
    lengths = np.where(known.lengths > 0, known.lengths, 1.0)
    M = known.matrix / lengths / lengths[:, None]
    kept, rest = _pivots(M)
    if not rest:
        return kept
    part = known.matrix[np.ix_(kept, kept)] / np.outer(lengths[kept], lengths[kept])
    right = known.matrix[np.ix_(kept, rest)] / lengths[kept][:, None]
    try:
        combined = scipy.linalg.solve(part, right, assume_a="pos") / lengths[kept][:, None]
    except (scipy.linalg.LinAlgError, ValueError):
        return None
    vectors = []
    for k, j in enumerate(rest):
        vector = [Fraction(0)] * problem.width
        for i, value in zip(kept, combined[:, k].tolist()):
            vector[i] = Fraction(value).limit_denominator(_DENOMINATOR)
        vector[j] = Fraction(-1)
        vectors.append(scaled_integers(vector)[0])
    return kept if _all_vanish(problem, vectors) else None


def _pivots(M: Array) -> tuple[list[int], list[int]]:
    """The columns by Cholesky with pivoting: the independent ones, and the rest."""
    _, order, rank, _ = scipy.linalg.lapack.dpstrf(M, tol=_ALIKE**2)
    places = (order - 1).tolist()
    return sorted(places[:rank]), sorted(places[rank:])


def _all_vanish(problem: Problem, vectors: list[list[int]]) -> bool:
    """Whether X~ times every vector is exactly zero."""
    used = [j for j in range(problem.width) if any(vector[j] for vector in vectors)]
    small = [[vector[j] for j in used] for vector in vectors]
    if max(abs(v) for vector in small for v in vector) > 2**40:
        return False
    step = max(1, _CHUNK // problem.width)
    for lo in range(0, problem.n, step):
        block = problem.matrix[lo : lo + step]
        block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
        if problem.fit_intercept:
            block = np.column_stack([block, np.ones(len(block))])
        block = np.ascontiguousarray(block[:, used])
        if problem.n * len(used) > _SLOW and not (np.rint(block) == block).all():
            return False
        if integer_products(block, small)[0].any():
            return False
    return True
