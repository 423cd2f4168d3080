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

from typing import Any

from linsep._public import PublicNames

# No module bears the name of something public: importing it would hide that.
PUBLIC = PublicNames(__spec__)

__all__ = list(PUBLIC.homes)


def __getattr__(name: str) -> Any:
    return PUBLIC.find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
