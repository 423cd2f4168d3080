"""Which class a scheme gives to a row, or that it gives none or several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError
from linsep.multiclass.one_vs_one import OneVsOne

__all__ = ["NONE", "SEVERAL", "by_acceptance", "by_votes", "decided_by", "scheme_of"]

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

NONE, SEVERAL = -1, -2


def scheme_of(model: Any) -> str:
    """How a model decides."""
    if isinstance(model, OneVsOne):
        return "votes"
    return "unanimous" if getattr(model, "decide", "argmax") == "unanimous" else "argmax"


def decided_by(model: Any, X: Any, scheme: str) -> Numbers:
    """Class number of each row under a scheme; -1 for none, -2 for several."""
    if scheme == "votes":
        if not isinstance(model, OneVsOne):
            raise CapabilityError(f"{type(model).__name__} has no duels to count; take OneVsOne.")
        return by_votes(model.votes(X))
    if scheme == "unanimous":
        if isinstance(model, OneVsOne):
            won = model.votes(X) == len(model.classes_) - 1
            return by_acceptance(won)
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        return by_acceptance(_columns(scores) > 0)
    return np.asarray(_columns(np.asarray(model.decision_function(X), float)).argmax(axis=1))


def _columns(scores: Array) -> Array:
    """One column a class; of two classes equal scores mean the last one."""
    if scores.ndim == 1:
        return np.column_stack([-scores, np.where(scores == 0, 1.0, scores)])
    return scores


def by_acceptance(accepts: NDArray[np.bool_]) -> Numbers:
    """The only class that is accepted."""
    count = accepts.sum(axis=1)
    return np.where(count == 1, accepts.argmax(axis=1), np.where(count == 0, NONE, SEVERAL))


def by_votes(votes: NDArray[np.int64]) -> Numbers:
    """The only class with most votes."""
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(tied, SEVERAL, votes.argmax(axis=1))
