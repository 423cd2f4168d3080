"""Decisions of Gaussian classes: densities, posteriors, risks, and other forms of the rule."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.errors import CapabilityError
from linsep.estimators.gaussian_forms import Densities, Quadratic
from linsep.risk.decision import Decisions
from linsep.risk.linear_rules import LogisticRule, posterior_of_scores

__all__ = ["GaussianRule"]

Array = NDArray[np.float64]


class GaussianRule:
    """What a fitted Gaussian classifier says about rows."""

    covariance: str
    classes_: NDArray[Any]
    decisions_: NDArray[Any]
    priors_: Array
    coef_: Array
    intercept_: Array
    _forms: Densities
    _decide: Decisions
    _posterior: LogisticRule | None
    """Weights of the log odds where these are linear; those of coef_ without the loss."""

    # -- decisions --------------------------------------------------------------------------

    def log_density(self, X: Any) -> Array:
        """ln p(x | k) of every row and class, shape (n, K)."""
        X = self._rows(X)
        return self._forms.log_density(X)

    def log_odds(self, X: Any) -> Array:
        """ln P(last class | x) / P(first class | x) for two classes, whatever the loss."""
        if len(self._fitted().classes_) != 2:
            raise CapabilityError(
                f"log odds are for two classes; there are {len(self.classes_)}. "
                "predict_log_proba gives the logarithms of all posteriors."
            )
        return self._scores(self._rows(X))

    def decision_function(self, X: Any) -> Array:
        """Scores of the rows.

        Two classes: the log odds plus the threshold of the loss, shape (n,); the sign decides.
        With a reject option, or a loss that rewards mistakes, the log odds alone. More classes:
        shape (n, K), coef_ . x + intercept_ where the log odds are linear, else
        ln p(k) p(x | k); without a loss the largest decides.
        """
        X = self._rows(X)
        signed = self._signed(X)
        return self._scores(X) if signed is None else signed

    def predict_proba(self, X: Any) -> Array:
        """Posteriors p(k | x), shape (n, K)."""
        return posterior_of_scores(self._scores(self._rows(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posteriors, exact also where these are too small for a float."""
        scores = self._scores(self._rows(X))
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def conditional_risk(self, X: Any) -> Array:
        """Expected loss of every decision, sum_k p(k | x) W(d, k), shape (n, n_decisions)."""
        posterior = self.predict_proba(X)
        return self._decide.risk(posterior)

    def predict(self, X: Any) -> NDArray[Any]:
        """Decisions of least expected loss; of two classes with equal ones the last."""
        chosen, _ = self._choose(self._rows(X))
        return np.asarray(self.decisions_[chosen])

    def _choose(self, X: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Number of the decision for each row, and whether it was a tie."""
        signed = self._signed(X)
        if signed is not None:
            return (signed >= 0).astype(np.intp), signed == 0
        scores = self._scores(X)
        if self._decide.plain:
            top = scores.max(axis=1, keepdims=True)
            return scores.argmax(axis=1), (scores == top).sum(axis=1) > 1
        posterior = posterior_of_scores(scores)
        risk = self._decide.risk(posterior)
        least = risk.min(axis=1, keepdims=True)
        return self._decide.choose(posterior), (risk == least).sum(axis=1) > 1

    def _scores(self, X: Any) -> Array:
        """Log odds of two classes; for more, scores whose softmax is the posterior."""
        if self._posterior is not None:
            return self._posterior.decision_function(X)
        joint = self._forms.log_density(X) + np.log(self.priors_)
        if len(self.classes_) > 2:
            return np.asarray(joint)
        with np.errstate(invalid="ignore"):
            odds = joint[:, 1] - joint[:, 0]
        return np.where(np.isnan(odds), 0.0, odds)  # both densities are too small for a float

    def _signed(self, X: Any) -> Array | None:
        """Scores of two classes whose sign decides; None where there are none."""
        shift = self._decide.shift()
        if len(self.classes_) > 2 or shift is None:
            return None
        if self._posterior is not None:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return self._scores(X) + shift

    def _rows(self, X: Any) -> Any:
        self._fitted()
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _fitted(self) -> Self:
        check_is_fitted(self, "means_")
        return self

    # -- other forms of the rule --------------------------------------------------------------

    @property
    def quadratic_(self) -> Quadratic:
        """A, b, c of every class with ln p(k) p(x | k) = x'A x + b.x + c."""
        return self._fitted()._forms.quadratic()

    def to_logistic(self) -> LogisticRule:
        """The logistic weights with the same posterior; for structures with linear log odds.

        P(last class | x) = e^s / (1 + e^s), s = coef_ . x + intercept_; a softmax for more
        classes. The loss has no part in it.

        Examples
        --------
        >>> import linsep
        >>> table = linsep.data.load("students")
        >>> model = linsep.GaussianClassifier("shared-diagonal", regularization=0.1)
        >>> rule = model.fit(table.X, table.y).to_logistic()
        >>> bool(abs(rule.predict_proba(table.X) - model.predict_proba(table.X)).max() < 1e-12)
        True
        """
        rule = self._fitted()._posterior
        if rule is None:
            raise CapabilityError(
                f"covariance={self.covariance!r} has quadratic log odds, which are no logistic "
                "regression in x; choose covariance='shared' or 'shared-diagonal'."
            )
        return LogisticRule(rule.coef_.copy(), rule.intercept_.copy(), rule.classes_)
