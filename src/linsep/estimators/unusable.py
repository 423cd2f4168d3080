"""Rows that cannot be worked with, by value and place."""

from __future__ import annotations

import numpy as np

from linsep.certify.survey import survey
from linsep.core import Problem
from linsep.errors import DataError

__all__ = ["overflow_words", "refuse_tiny", "refuse_unusable"]

_TINY = 1e-70  # largest entry below which the square of a hard margin's weights may overflow


def refuse_unusable(problem: Problem) -> None:
    """NaN, infinity, and numbers too large for sums of squares, by name and place."""
    if survey(problem).usable:
        return
    problem.check_finite()
    data = problem.matrix.data if problem.sparse else problem.matrix
    if float(max(data.max(), -data.min())) > 1e100:
        raise DataError(overflow_words(problem))


def refuse_tiny(problem: Problem) -> None:
    """Numbers so small that the weights of a hard margin are not among the floating ones."""
    data = problem.matrix.data if problem.sparse else problem.matrix
    largest = float(np.abs(data).max(initial=0.0))
    if 0.0 < largest < _TINY:
        raise DataError(
            f"the largest entry of X is {largest:.3g}, so the weights of a hard margin (C=inf) "
            "overflow. Scale the columns, for instance with sklearn.preprocessing.MaxAbsScaler."
        )


def overflow_words(problem: Problem) -> str:
    """What to say when sums of squares overflow."""
    return (
        f"the numbers overflowed: {_largest(problem)}. Scale the columns, for instance "
        "with sklearn.preprocessing.MaxAbsScaler."
    )


def _largest(problem: Problem) -> str:
    """Where the largest entry of X stands."""
    values = abs(problem.matrix)
    if problem.sparse:
        at = int(values.data.argmax())
        column, size = int(values.indices[at]), float(values.data[at])
    else:
        at = int(values.argmax())
        column, size = at % problem.d, float(values.flat[at])
    return f"column {column} ({problem.feature_name(column)!r}) reaches {size:.3g}"
