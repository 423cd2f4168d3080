"""What a fitted logistic model tells: probabilities, odds, words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from linsep.core import Problem
from linsep.core.lanes import one_blas_thread, sum_of_pieces
from linsep.core.words import count, misplaced, percent
from linsep.estimators.summary import rule_text
from linsep.losses.logistic import loss, probability

__all__ = ["LogisticFacts", "log_likelihoods", "logistic_summary"]

Array = NDArray[np.float64]


class LogisticFacts:
    """Probabilities and odds from scores; the model has decision_function and classes_."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of ``classes_``; each row sums to 1.

        The class that ``predict`` gives always has the largest probability: where two are equal
        up to rounding, the other is lowered by the last bit.
        """
        scores = self._scores(X)
        if scores.ndim == 1:
            p = np.column_stack([probability(scores), probability(-scores)])
            chosen = (scores >= 0).astype(np.int64)
        else:
            p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            chosen = scores.argmax(axis=1)
        return _lead(p, chosen)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, exact where the probabilities underflow."""
        scores = self._scores(X)
        if scores.ndim == 1:
            return np.column_stack([-loss(-scores), -loss(scores)])
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def log_odds(self, X: Any) -> Array:
        """log(p / (1 - p)): w.x + b of the positive class, shape (n,); (n, K) for K > 2."""
        scores = self._scores(X)
        if scores.ndim == 1:
            return scores
        out = np.empty_like(scores)
        for k in range(scores.shape[1]):
            out[:, k] = scores[:, k] - logsumexp(np.delete(scores, k, axis=1), axis=1)
        return out

    def odds(self, X: Any) -> Array:
        """p / (1 - p) of the positive class, shape (n,); of every class, (n, K), for K > 2."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_odds(X))

    def _scores(self, X: Any) -> Array:
        scores: Array = self.decision_function(X)  # type: ignore[attr-defined]
        return scores


def _lead(p: Array, chosen: NDArray[np.int64]) -> Array:
    """Make the chosen class the only largest one of its row."""
    at = np.arange(len(p))
    own = p[at, chosen]
    rival = p.copy()
    rival[at, chosen] = -1.0
    tied = np.flatnonzero(rival.max(axis=1) >= own)
    for i in tied.tolist():
        top = max(float(own[i]), float(rival[i].max()))
        lower = np.nextafter(top, 0.0)
        p[i] = np.minimum(p[i], lower)
        p[i, chosen[i]] = top
    return p


def logistic_summary(model: Any) -> str:
    """Several lines: the objective and its proof, the likelihood, the rule."""
    gap, outcome = model.certificate_, getattr(model, "outcome_", None)
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
        f"  minimised   {gap.words}",
        f"  objective   {gap.objective:.8g}, and no model has less than {gap.lower_bound:.8g}",
    ]
    if model.status_.name == "NO_MAXIMUM":
        lines.append(f"  no maximum  {model.separation_}")
        lines.append(
            f"  supremum    minus the log likelihood comes as near to a number between "
            f"{gap.lower_bound:.6g} and {gap.objective:.6g} as one likes; C=1 gives small weights"
        )
    else:
        lines.append(f"  proved      within {percent(gap.relative_gap)} of the best possible")
    full, null = model.log_likelihood_, model.null_log_likelihood_
    lines.append(f"  likelihood  logarithm {full:.8g}; {null:.8g} for the classes' shares alone")
    lines.append(f"  errors      {misplaced(gap.errors)}")
    if outcome is not None:  # a model read from a file has weights and certificate only
        work = f"{count(outcome.steps, outcome.unit)}, {count(outcome.passes, 'pass', spec='.4g')}"
        lines.insert(2, f"  work        {work}, {outcome.seconds:.3g} s")
    lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    if len(model.classes_) == 2:
        last = model.classes_[-1]
        name = last.item() if hasattr(last, "item") else last
        lines.append(f"  odds        of {name!r} are exp of the left side minus the right side")
    return "\n".join(lines)


def log_likelihoods(
    problem: Problem, objective: float, coef: Array, cost: float
) -> dict[str, float]:
    """Log likelihoods of weights, from their objective, and of an intercept alone, by attribute."""
    plain = np.isinf(cost)
    penalty = 0.0 if plain else 0.5 * float((coef**2).sum())
    totals, K = _class_weights(problem), problem.K
    share = totals / totals.sum() if problem.fit_intercept else np.full(K, 1 / K)
    return {
        "log_likelihood_": -(objective - penalty) / (1.0 if plain else cost),
        "null_log_likelihood_": float(xlogy(totals, share).sum()),
    }


def _class_weights(problem: Problem) -> Array:
    """Weight of the rows of each class."""
    if not problem.binary:
        return np.asarray(np.bincount(problem.label, problem.weight, problem.K), dtype=np.float64)
    with one_blas_thread():
        total, balance = sum_of_pieces(_mass, problem.weight, problem.sign).tolist()
    return np.array([total - balance, total + balance]) / 2


def _mass(weight: Array, sign: Array) -> Array:
    return np.array([weight.sum(), weight @ sign])
