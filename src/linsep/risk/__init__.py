"""Decisions, risks and capacity.

Known distributions    bayes_risk, bayes_strategy, minimax, neyman_pearson
Data                   empirical_risk, minimum_errors, counted_margin
Capacity               vc_dimension, compare_margins, enclosing_ball, cover_count,
                       cover_probability
Densities              plug_in, Histogram, excess_bound, excess_risk, wrong_family
Linear Bayes rules     gaussian_weights, bernoulli_weights, logit, inverse_logit, odds
Promises               structural_bound, structural_minimum, novikoff_bound
"""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
