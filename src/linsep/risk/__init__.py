"""Decisions, risks and capacity.

Known distributions    bayes_risk, bayes_strategy, minimax, neyman_pearson
Data                   empirical_risk, minimum_errors, counted_margin
Capacity               vc_dimension, compare_margins, enclosing_ball, cover_count,
                       cover_probability
Densities              plug_in, Histogram, excess_bound, excess_risk, wrong_family
Linear Bayes rules     gaussian_weights, bernoulli_weights, logit, inverse_logit, odds
Promises               structural_bound, structural_minimum, novikoff_bound
"""

from __future__ import annotations

import importlib
from typing import Any

# Public names and where they live; imported when first used, so that nothing is loaded in vain.
# No module bears the name of something public: importing it would hide that.
_HOMES = {
    "BayesStrategy": "bayes",
    "bayes_risk": "bayes",
    "bayes_strategy": "bayes",
    "PlugInClassifier": "density_rules",
    "plug_in": "density_rules",
    "WrongFamily": "families",
    "excess_bound": "families",
    "excess_risk": "families",
    "wrong_family": "families",
    "Histogram": "piecewise",
    "LogisticRule": "linear_rules",
    "bernoulli_weights": "linear_rules",
    "gaussian_weights": "linear_rules",
    "inverse_logit": "log_odds",
    "logit": "log_odds",
    "odds": "log_odds",
    "probability": "log_odds",
    "Minimax": "games",
    "minimax": "games",
    "NeymanPearson": "likelihood_ratio",
    "neyman_pearson": "likelihood_ratio",
    "ThresholdRule": "thresholds",
    "EmpiricalRisk": "empirical",
    "empirical_risk": "empirical",
    "CountedMargin": "counting",
    "counted_margin": "counting",
    "LeastErrors": "least_errors",
    "minimum_errors": "least_errors",
    "MarginTable": "side_by_side",
    "VCDimension": "capacity",
    "compare_margins": "side_by_side",
    "vc_dimension": "capacity",
    "cover_count": "cover",
    "cover_probability": "cover",
    "EnclosingBall": "ball",
    "enclosing_ball": "ball",
    "StructuralBound": "structural",
    "StructuralMinimum": "family",
    "structural_bound": "structural",
    "structural_minimum": "family",
    "NovikoffBound": "novikoff",
    "novikoff_bound": "novikoff",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linsep.risk' has no attribute {name!r}")
    return getattr(importlib.import_module(f"linsep.risk.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
