"""Statistical models whose Bayes rule is linear, and its weights.

Gaussians of one covariance S     w = S^-1 (mu_1 - mu_0),  b = -(mu_0 + mu_1)'w / 2 + ln(p_1 / p_0)
Independent binary features       w_j = logit a_1j - logit a_0j,
                                  b = sum_j ln((1 - a_1j) / (1 - a_0j)) + ln(p_1 / p_0)

In both the posterior is logistic: P(1 | x) = e^s / (1 + e^s) with s = w.x + b. A positive weight
speaks for class 1. The derivation 1 / (1 + exp(v.x + v0)) found in lectures has v = -w, v0 = -b.
With more classes there is one score for each and the posterior is their softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logit as _logit

from linsep.errors import DataError, SettingError
from linsep.losses.logistic import posteriors
from linsep.losses.logistic import probability as of_the_own_class

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogisticRule:
    """Logistic weights: P(last class | x) = e^s / (1 + e^s), s = coef . x + intercept.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (K, d) for K > 2 classes, where the posterior is softmax
    intercept_ : array of shape (1,) or (K,)
    classes_ : array of shape (K,)
    """

    coef_: Array
    intercept_: Array
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Array:
        """Log odds for two classes, a score for each class for more."""
        scores = np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict_proba(self, X: Any) -> Array:
        """Posterior of each class."""
        return posteriors(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest posterior; of two equal ones the last."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def derivation_form(self) -> tuple[Array, float]:
        """(v, v0) with P(last class | x) = 1 / (1 + exp(v.x + v0)), the sign of the derivation."""
        if len(self.coef_) != 1:
            raise SettingError(
                f"the form 1 / (1 + exp(...)) is for two classes; there are {len(self.classes_)}."
            )
        return -self.coef_[0], -float(self.intercept_[0])


def gaussian_weights(
    means: ArrayLike, covariance: ArrayLike, priors: ArrayLike | None = None, classes: Any = None
) -> LogisticRule:
    """Bayes rule of Gaussian classes that share one covariance.

    Parameters
    ----------
    means : array of shape (K, d)
    covariance : array of shape (d, d), or (d,) for variances of independent features
    priors : array of shape (K,), optional
        Equal ones without it.
    classes : sequence of K labels, optional
        0, 1, ... without it.

    Returns
    -------
    LogisticRule

    Examples
    --------
    >>> from linsep.risk import gaussian_weights
    >>> rule = gaussian_weights([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.5], [0.5, 1.0]])
    >>> rule.coef_.round(4).tolist(), rule.intercept_.round(4).tolist()
    ([[2.6667, -1.3333]], [-2.6667])
    """
    mu = np.atleast_2d(np.asarray(means, dtype=np.float64))
    S = np.asarray(covariance, dtype=np.float64)
    K, d = mu.shape
    if S.shape not in ((d, d), (d,)):
        raise DataError(f"covariance has shape {S.shape}; the means ask for ({d}, {d}) or ({d},).")
    if S.ndim == 2 and not np.allclose(S, S.T, rtol=1e-12, atol=0):
        raise DataError("covariance is not symmetric; give S with S[i, j] = S[j, i].")
    p = check_priors(priors, K)
    centre = mu.mean(axis=0)
    linear = _solve(S, (mu - centre).T).T
    offset = -np.einsum("kd,kd->k", linear, (mu + centre) / 2) + np.log(p)
    return rule_of_scores(linear, offset, _labels(classes, K))


def rule_of_scores(linear: Array, offset: Array, classes: NDArray[Any]) -> LogisticRule:
    """Scores of K classes as a rule; of two classes the difference, last minus first."""
    if len(linear) == 2:
        linear, offset = linear[1:] - linear[:1], offset[1:] - offset[:1]
    return LogisticRule(linear, offset, classes)


def bernoulli_weights(
    probabilities: ArrayLike, priors: ArrayLike | None = None, classes: Any = None
) -> LogisticRule:
    """Bayes rule of independent binary features.

    Parameters
    ----------
    probabilities : array of shape (K, d)
        P(x_j = 1 | class k), above 0 and below 1: a feature that never or always occurs in a
        class has an infinite weight, so smooth such estimates first.
    priors, classes
        As for ``gaussian_weights``.

    Returns
    -------
    LogisticRule

    Examples
    --------
    >>> from linsep.risk import bernoulli_weights
    >>> rule = bernoulli_weights([[0.5, 0.2], [0.8, 0.2]])
    >>> rule.coef_.round(4).tolist(), rule.intercept_.round(4).tolist()
    ([[1.3863, 0.0]], [-0.9163])
    """
    a = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    bad = ~((a > 0) & (a < 1))
    if bad.any():
        k, j = np.argwhere(bad)[0]
        raise DataError(
            f"probabilities[{k}, {j}] is {a[k, j]}; the weight of that feature is not finite. "
            "Give values above 0 and below 1, for instance (count + 1) / (n + 2)."
        )
    p = check_priors(priors, len(a))
    offset = np.log1p(-a).sum(axis=1) + np.log(p)
    return rule_of_scores(np.asarray(logit(a)), offset, _labels(classes, len(a)))


def check_priors(priors: Any, K: int, classes: Any = None) -> Array:
    """Probabilities of K classes that sum to 1; equal ones for None, by label for a dict."""
    if priors is None:
        return np.full(K, 1.0 / K)
    if isinstance(priors, dict):
        labels = list(range(K)) if classes is None else np.asarray(classes).tolist()
        if set(priors) != set(labels):
            raise SettingError(
                f"priors names the classes {sorted(priors, key=str)}; the classes are {labels}."
            )
        priors = [priors[label] for label in labels]
    p = np.array(priors, dtype=np.float64)  # a copy: who gives them may change them
    if p.shape != (K,):
        raise SettingError(f"priors has shape {p.shape}; give one number for each of {K} classes.")
    bad = ~(p > 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise SettingError(
            f"priors[{at}] is {p[at]}; every class needs a prior above 0. Leave out the rows of a "
            "class that cannot occur."
        )
    total = float(p.sum())
    if not abs(total - 1.0) <= 1e-9:
        raise SettingError(f"priors sum to {total:.10g}; they must sum to 1.")
    return p


def _labels(classes: Any, K: int) -> NDArray[Any]:
    labels = np.arange(K) if classes is None else np.asarray(classes)
    if labels.shape != (K,):
        raise SettingError(
            f"there are {labels.size} class labels for {K} classes; give one for each."
        )
    return labels


def _solve(S: Array, right: Array) -> Array:
    """S^-1 right, in units in which the variances are 1."""
    variance = S if S.ndim == 1 else np.diag(S)
    bad = ~((variance > 0) & np.isfinite(variance))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"the variance of feature {at} is {variance[at]}; it must be above 0.")
    scale = np.sqrt(variance)[:, None]
    if S.ndim == 1:
        return np.asarray(right / scale / scale)
    try:
        factor = cho_factor(S / scale / scale.T)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "covariance is not positive definite: some combination of the features has no "
            "variance. Leave out features that others determine."
        ) from error
    return np.asarray(cho_solve(factor, right / scale) / scale)


# -- Probabilities, odds and log odds, safe at both ends ------------------------------------------
#
# odds(p) = p / (1 - p)          logit(p) = ln odds(p)          p = e^l / (1 + e^l)
#     p = 0, 1/2, 1   ->   logit -inf, 0, +inf
#
# A float64 probability near 1 has no digits left for 1 - p: the largest one below 1 has the log
# odds 36.7. Whoever needs more keeps q = 1 - p, for which logit(p) = -logit(q).


def logit(p: ArrayLike) -> float | NDArray[np.float64]:
    """Log odds ln(p / (1 - p)) of probabilities.

    Parameters
    ----------
    p : float or array
        Between 0 and 1; the ends give -inf and +inf.

    Returns
    -------
    float or array of the same shape

    Examples
    --------
    >>> from linsep.risk import logit
    >>> logit([0.0, 0.5, 1.0]).tolist()
    [-inf, 0.0, inf]
    """
    return _plain(_logit(_probabilities(p)))


def inverse_logit(log_odds: ArrayLike) -> float | NDArray[np.float64]:
    """Probability e^l / (1 + e^l) of log odds l; no l overflows.

    The probability of the other event, 1 - p, keeps all its digits as inverse_logit(-l).

    Examples
    --------
    >>> from linsep.risk import inverse_logit
    >>> inverse_logit([-float("inf"), 0.0, 800.0]).tolist()
    [0.0, 0.5, 1.0]
    """
    values = np.asarray(log_odds, dtype=np.float64)
    _refuse(np.isnan(values), values, "log odds", "a number, -inf or inf")
    return _plain(logistic(values))


def logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + e^-l), also where the result is too small for a normal float."""
    return of_the_own_class(-values)


def odds(p: ArrayLike) -> float | NDArray[np.float64]:
    """Odds p / (1 - p); inf for p = 1.

    Examples
    --------
    >>> from linsep.risk import odds
    >>> odds(0.75)
    3.0
    """
    values = _probabilities(p)
    with np.errstate(divide="ignore"):
        return _plain(values / (1.0 - values))


def probability(odds: ArrayLike) -> float | NDArray[np.float64]:
    """Probability o / (1 + o) of odds o; 1 for infinite odds.

    Examples
    --------
    >>> from linsep.risk import probability
    >>> probability(3.0)
    0.75
    """
    values = np.asarray(odds, dtype=np.float64)
    _refuse(~(values >= 0), values, "odds", "a number >= 0")
    small = np.minimum(values, 1.0)  # of o and 1/o the one that cannot overflow
    with np.errstate(divide="ignore"):
        large = 1.0 / np.maximum(values, 1.0)
    return _plain(np.where(values <= 1.0, small / (1.0 + small), 1.0 / (1.0 + large)))


def _probabilities(p: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(p, dtype=np.float64)
    _refuse(~((values >= 0) & (values <= 1)), values, "p", "a probability, from 0 to 1")
    return values


def _refuse(bad: NDArray[np.bool_], values: NDArray[np.float64], name: str, words: str) -> None:
    if bad.any():
        at = np.argwhere(bad)[0]
        place = f"[{', '.join(map(str, at))}]" if values.ndim else ""
        raise DataError(f"{name}{place} is {values[tuple(at)]}; give {words}.")


def _plain(values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """A float for one value, else the array."""
    return values if np.ndim(values) else float(values)
