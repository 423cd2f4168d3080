"""Writing a verdict down: rows of the search become samples of the caller."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.proof import Proof
from linsep.core.problem import Problem

__all__ = ["named", "proof_of"]

Rows = NDArray[np.int64]


def named(problem: Problem, rows: Rows, multipliers: tuple[Fraction, ...]) -> dict[str, Any]:
    """Reflected rows, in order, as samples and rivals."""
    order = np.argsort(rows)
    rows = np.asarray(rows)[order]
    multipliers = tuple(multipliers[i] for i in order)
    samples = np.array([problem.sample_of(int(r)) for r in rows], dtype=np.int64)
    rivals = None
    if not problem.binary:
        rivals = np.array([problem.rival_of(int(r)) for r in rows], dtype=np.int64)
    return {"rows": samples, "rivals": rivals, "multipliers": multipliers}


def proof_of(problem: Problem, **fields: Any) -> Proof:
    """A proof about a problem."""
    names = problem.feature_names
    return Proof(
        classes=problem.classes,
        fit_intercept=problem.fit_intercept,
        n_samples=problem.n,
        n_features=problem.d,
        feature_names=None if names is None else tuple(names),
        fingerprint=problem.fingerprint,
        **fields,
    )
