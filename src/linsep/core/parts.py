"""Binary problems inside a problem of K classes; the matrix is shared, never copied."""

from __future__ import annotations

import copy

import numpy as np

from linsep.core.problem import Problem

__all__ = ["against_rest"]


def against_rest(problem: Problem, k: int) -> Problem:
    """Class k as the positive class against all others."""
    part = copy.copy(problem)
    for name in ("sign", "rows", "fingerprint"):
        part.__dict__.pop(name, None)
    part.label = (problem.label == k).astype(np.int64)
    part.classes = np.array(["rest", str(problem.classes[k])])
    part.K = 2
    return part
