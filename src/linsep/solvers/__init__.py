"""Solvers: settings over a state that drive advances; one algorithm, one file."""
