"""Numerical tools that know nothing of models: linear systems, lines, exact sums."""
