"""Thresholds on the scores of a sample of two classes: equal errors, or few false alarms.

A rule answers "positive" above the threshold t, "negative" below it, and "positive" with
probability g at t itself. Rates of a sample are counts divided by counts, so all of this is
exact. The rate in the sample is not the rate to come; ``interval`` says how far it may be off.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.labels import as_labels
from linsep.errors import DataError, SettingError
from linsep.risk.intervals import binomial_interval, exceedance_bound
from linsep.risk.tables import Table, as_loss, show

__all__ = ["ThresholdRule", "minimax_threshold", "neyman_pearson_threshold"]


@dataclass(frozen=True, eq=False)
class ThresholdRule:
    """A threshold on scores, with its rates on the sample it was made from.

    Attributes
    ----------
    threshold : float
        Scores above it are positive, scores below it negative.
    at_threshold : Fraction
        Probability of "positive" for a score that equals the threshold.
    false_alarm, miss : Fraction
        Shares of the sample: negatives called positive, positives called negative.
    risks : tuple
        Expected loss in the two classes; (false_alarm, miss) for the 0/1 loss.
    false_alarm_interval, miss_interval : (float, float)
        Clopper-Pearson intervals of level ``confidence`` for the rates to come, each on its
        own. They cover every way to treat scores equal to the threshold.
    why : str
        The rule that chose the threshold, and its proof.
    """

    threshold: float
    at_threshold: Fraction
    false_alarm: Fraction
    miss: Fraction
    risks: tuple[Any, Any]
    false_alarm_interval: tuple[float, float]
    miss_interval: tuple[float, float]
    confidence: float
    classes: tuple[Any, Any]
    why: str

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Probability of the answer "positive" for each score."""
        s = np.asarray(scores, dtype=np.float64)
        return np.where(s == self.threshold, float(self.at_threshold), s > self.threshold)

    def predict(self, scores: Any, random_state: int = 0) -> NDArray[Any]:
        """Classes of scores; chance decides at the threshold, the same chance every time."""
        q = self.probabilities(scores)
        chance = np.random.default_rng(random_state).random(q.shape)
        names = np.array(self.classes)
        return np.asarray(names[(chance < q).astype(int)])

    @property
    def risk(self) -> Any:
        """The larger of the two risks."""
        return max(self.risks)

    def __str__(self) -> str:
        rule = f"positive above {self.threshold:.6g}"
        if self.at_threshold:
            rule += f" and with probability {show(self.at_threshold)} at it"
        low, high = self.false_alarm_interval
        return (
            f"{rule}: false alarms {show(self.false_alarm)} of the sample ({low:.3g} to "
            f"{high:.3g} to come, {self.confidence:.0%} confidence), misses {show(self.miss)}; "
            f"{self.why}"
        )


@dataclass(frozen=True)
class _Sample:
    """Sorted scores of the two classes."""

    negative: NDArray[np.float64]
    positive: NDArray[np.float64]
    classes: tuple[Any, Any]

    def rates(self, t: float, g: Fraction) -> tuple[Fraction, Fraction]:
        """False alarms and misses."""
        alarms = self._above(self.negative, t, g)
        return alarms, 1 - self._above(self.positive, t, g)

    @staticmethod
    def _above(scores: NDArray[np.float64], t: float, g: Fraction) -> Fraction:
        low = int(np.searchsorted(scores, t, side="left"))
        high = int(np.searchsorted(scores, t, side="right"))
        return Fraction(len(scores) - high + g * (high - low), len(scores))

    def rule(self, t: float, g: Fraction, risks: Any, confidence: float, why: str) -> ThresholdRule:
        """The rule with its rates; the intervals span all ways to decide at the threshold."""
        alarm, miss = self.rates(t, g)
        intervals = []
        for scores in (self.negative, self.positive):
            above = len(scores) - int(np.searchsorted(scores, t, side="right"))
            from_t = len(scores) - int(np.searchsorted(scores, t, side="left"))
            first = binomial_interval(above if g < 1 else from_t, len(scores), confidence)[0]
            last = binomial_interval(from_t if g > 0 else above, len(scores), confidence)[1]
            intervals.append((first, last))
        hits = intervals[1]
        return ThresholdRule(
            threshold=t,
            at_threshold=g,
            false_alarm=alarm,
            miss=miss,
            risks=(alarm, miss) if risks is None else risks(alarm, miss),
            false_alarm_interval=intervals[0],
            miss_interval=(1 - hits[1], 1 - hits[0]),
            confidence=confidence,
            classes=self.classes,
            why=why,
        )


def _sample(scores: Any, y: Any) -> _Sample:
    s = np.asarray(scores)
    if s.ndim == 2 and s.shape[1] == 1:
        s = s[:, 0]
    if s.ndim != 1 or not len(s) or s.dtype.kind not in "biuf":
        raise DataError(
            f"scores have shape {s.shape} and type {s.dtype}; with y give one number for each row, "
            "for instance model.decision_function(X)."
        )
    s = s.astype(np.float64)
    if np.isnan(s).any():
        raise DataError(f"scores contain NaN at row {int(np.flatnonzero(np.isnan(s))[0])}.")
    classes, label = as_labels(y, len(s))
    if len(classes) != 2:
        raise DataError(f"y has {len(classes)} classes; a threshold needs two.")
    names = tuple(classes.tolist())
    return _Sample(np.sort(s[label == 0]), np.sort(s[label == 1]), (names[0], names[1]))


# -- equal errors ---------------------------------------------------------------------------------


def minimax_threshold(
    scores: Any, y: Any, loss: Any = None, confidence: float = 0.95
) -> ThresholdRule:
    """The threshold whose larger class risk on the sample is least."""
    sample = _sample(scores, y)
    W = as_loss(loss, Table(np.zeros((1, 2)), None, sample.classes))
    if W.values.shape != (2, 2):
        raise DataError(
            f"loss has {len(W.values)} rows; a threshold has two answers, one for each class."
        )
    w = W.fractions().values

    def risks(alarm: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        return (
            w[0, 0] * (1 - alarm) + w[1, 0] * alarm,
            w[1, 1] * (1 - miss) + w[0, 1] * miss,
        )

    best: tuple[Fraction, float, Fraction] | None = None
    for t in _promising(sample, w.astype(np.float64)):
        ends = [risks(*sample.rates(t, Fraction(g))) for g in (0, 1)]
        for g in (Fraction(0), Fraction(1), _crossing(*ends)):
            if g is None:
                continue
            value = max((1 - g) * a + g * b for a, b in zip(*ends))
            if best is None or value < best[0]:
                best = value, t, g
    assert best is not None
    why = (
        f"the larger risk is {show(best[0])} on the sample; no threshold has less, since the "
        "risks of all of them were compared"
    )
    return sample.rule(best[1], best[2], risks, confidence, why)


def _promising(sample: _Sample, w: NDArray[np.float64]) -> list[float]:
    """Thresholds that rounded numbers cannot tell from the best one."""
    ts = np.unique(np.concatenate([sample.negative, sample.positive]))
    ends = []
    for side in ("right", "left"):  # "negative" and "positive" at the threshold
        alarm, hit = (
            1 - np.searchsorted(scores, ts, side=side) / len(scores)
            for scores in (sample.negative, sample.positive)
        )
        ends.append((w[0, 0] + (w[1, 0] - w[0, 0]) * alarm, w[0, 1] + (w[1, 1] - w[0, 1]) * hit))
    (a, b), (c, d) = ends
    value = np.minimum(np.maximum(a, b), np.maximum(c, d))
    start, end = a - b, c - d
    cross = start * end < 0
    g = start[cross] / (start - end)[cross]
    value[cross] = np.minimum(value[cross], (1 - g) * a[cross] + g * c[cross])
    near: list[float] = ts[value <= value.min() + 1e-9 * (1 + np.abs(w).max())].tolist()
    return near


def _crossing(first: tuple[Any, Any], last: tuple[Any, Any]) -> Fraction | None:
    """Where the two risks are equal between the two ends, if they are."""
    start, end = first[0] - first[1], last[0] - last[1]
    if start == end or not min(start, end) < 0 < max(start, end):
        return None
    return Fraction(start, start - end)


# -- few false alarms -----------------------------------------------------------------------------


def neyman_pearson_threshold(
    scores: Any, y: Any, eps: Fraction, *, confidence: float | None, randomised: bool
) -> ThresholdRule:
    """The lowest threshold with at most a share eps of false alarms.

    With a confidence: at most eps in the population, not only in the sample.
    """
    sample = _sample(scores, y)
    negative, n = sample.negative, len(sample.negative)
    level = 0.95 if confidence is None else confidence
    if confidence is not None:
        above = _allowed(n, eps, confidence)
        t = float(negative[n - 1 - above])
        why = (
            f"with {confidence:.0%} confidence at most {show(eps)} of the negatives to come are "
            f"above the negative number {above + 1} from the top of {n}"
        )
        return sample.rule(t, Fraction(0), None, level, why)
    above = floor(eps * n)
    why = f"at most {show(eps)} false alarms on the sample, and no threshold misses less there"
    if above >= n:
        return sample.rule(-np.inf, Fraction(0), None, level, why)
    t = float(negative[n - 1 - above])
    over = n - int(np.searchsorted(negative, t, side="right"))
    equal = int(np.searchsorted(negative, t, side="right")) - int(
        np.searchsorted(negative, t, side="left")
    )
    g = Fraction(eps * n - over, equal) if randomised else Fraction(0)
    return sample.rule(t, g, None, level, why)


def _allowed(n: int, eps: Fraction, confidence: float) -> int:
    """How many negatives of the sample may lie above the threshold.

    The share of the population above the (k+1)-th largest of n independent scores is at most
    eps with the probability of the Beta(k + 1, n - k) distribution, or more with ties.
    """
    if exceedance_bound(0, n, confidence) > eps:
        need = floor(log(1 - confidence) / log(1 - float(eps))) + 1 if 0 < eps < 1 else None
        more = "" if need is None else f" {need} are enough."
        raise SettingError(
            f"{n} negatives cannot promise a false alarm rate of at most {show(eps)} with "
            f"{confidence:.0%} confidence, wherever the threshold lies.{more}"
        )
    low, high = 0, n - 1
    while low < high:
        middle = (low + high + 1) // 2
        if exceedance_bound(middle, n, confidence) <= eps:
            low = middle
        else:
            high = middle - 1
    return low
