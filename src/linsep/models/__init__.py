"""Estimators: scikit-learn classifiers over the solvers."""
