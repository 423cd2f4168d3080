"""Log likelihoods that a model file claims, held against the data."""

from __future__ import annotations

from typing import Any

from linsep.core import Problem

__all__ = ["refuted_likelihood"]


def refuted_likelihood(problem: Problem, model: Any, found: Any) -> list[str]:
    """Whether stored log likelihoods are those of the weights and of the intercept alone."""
    if not hasattr(model, "null_log_likelihood_"):
        return []
    wrong = []
    for name, value in model._likelihoods(problem, found).items():
        told = getattr(model, name, None)
        if not (isinstance(told, float) and abs(told - value) <= 1e-6 * abs(value) + 1e-9):
            wrong.append(f"{name.rstrip('_')}: found {value:.6g}, stored {told}")
    return wrong
