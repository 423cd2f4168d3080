"""Log likelihoods that a model file claims, held against the data."""

from __future__ import annotations

from typing import Any

from linsep.core import Problem
from linsep.estimators.logistic_facts import log_likelihoods

__all__ = ["refuted_likelihood"]


def refuted_likelihood(problem: Problem, model: Any, found: Any) -> list[str]:
    """Whether stored log likelihoods are those of the weights and of the intercept alone."""
    if not hasattr(model, "null_log_likelihood_"):
        return []
    wrong = []
    known = log_likelihoods(problem, found.objective, model.coef_, model._cost)
    for name, value in known.items():
        told = getattr(model, name, None)
        if not (isinstance(told, float) and abs(told - value) <= 1e-6 * abs(value) + 1e-9):
            wrong.append(f"{name.rstrip('_')}: found {value:.6g}, stored {told}")
    return wrong
