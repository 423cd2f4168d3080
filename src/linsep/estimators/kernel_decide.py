"""Decisions of a kernel machine: values of the pairs, votes, weights of linear ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.estimators.kernel_base import KernelClassifier
from linsep.estimators.kernel_facts import pair_columns, votes_and_sums
from linsep.estimators.kernel_scores import sure_sums

__all__ = ["KernelDeciding"]


class KernelDeciding(KernelClassifier):
    """The half of KernelSVM that works on new rows."""

    decision_function_shape: str
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    n_support_: NDArray[Any]

    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients and offsets of all pairs, for values >= 0 for the second class of each."""
        if len(self.classes_) == 2:
            return self.dual_coef_.T, self.intercept_
        return -pair_columns(self.dual_coef_, self.n_support_), -self.intercept_

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Values of the pairs, >= 0 for the second class of each."""
        rows = self._rows(X)
        coef, offset = self._columns()
        return self._scores_of(rows, coef) + offset

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        raw = self._pair_values(X)
        return raw[:, 0] if len(self.classes_) == 2 else votes_and_sums(raw, len(self.classes_))

    def _quick_scores(self, X: Any) -> NDArray[np.float64]:
        """Scores from values with the right signs; where votes are equal, from exact ones."""
        rows, K = self._rows(X), len(self.classes_)
        coef, offset = self._columns()
        if self._precomputed or not len(coef):
            return self._scores(X)
        raw = sure_sums(self._kernel, rows, self.support_vectors_, coef, offset)
        if K == 2:
            return raw[:, 0]
        scores = votes_and_sums(raw, K)
        first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
        # sums count for less than 1/3 of a vote, and K - 1 votes are more than others can have
        tied = np.flatnonzero((first - second <= 0.7) & (np.rint(first) < K - 1))
        if len(tied):
            scores[tied] = votes_and_sums(self._scores_of(rows[tied], coef) + offset, K)
        return scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: (n,) for two classes; (n, K) or (n, K (K - 1) / 2) for more."""
        if len(getattr(self, "classes_", ())) > 2 and self.decision_function_shape == "ovo":
            return -self._pair_values(X)
        return self._scores(X)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the plane; exists for two classes and the linear kernel only."""
        if len(getattr(self, "classes_", ())) != 2:
            raise AttributeError("coef_ exists after a fit of two classes with the linear kernel")
        return self.pair_coef_

    @property
    def pair_coef_(self) -> NDArray[np.float64]:
        """Weights of the plane of each pair of classes; exists for the linear kernel only."""
        if type(getattr(self, "kernel_", None)).__name__ != "Linear":
            raise AttributeError("weights exist after a fit with the linear kernel only")
        dual = self.dual_coef_
        if len(self.classes_) > 2:
            dual = pair_columns(dual, self.n_support_).T
        return np.asarray(dual @ self.support_vectors_, dtype=np.float64)
