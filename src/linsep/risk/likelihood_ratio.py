"""Neyman and Pearson: fewest misses among all tests with at most a share eps of false alarms.

Given    p(x|0) of the normal state, p(x|1) of the state to be found, 0 <= eps <= 1
Find     q(x) = probability of an alarm, with sum_x p(x|0) q(x) <= eps and the least
         miss = sum_x p(x|1) (1 - q(x))
Rule     alarm where p(x|1) / p(x|0) is above a threshold t, by chance where it equals t
Proof    for every test, miss >= sum_x min(p(x|1), t p(x|0)) - t eps; the rule attains it

Neyman, Pearson, Phil. Trans. R. Soc. A 231 (1933).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.validate import as_labels
from linsep.errors import DataError, ProofError, SettingError
from linsep.proofs.risk import lagrangian_bound
from linsep.risk.continuous import best_test_of_densities, is_densities
from linsep.risk.intervals import binomial_interval, check_level, exceedance_bound
from linsep.risk.tables import Number, Table, as_likelihoods, as_loss, as_table, show


@dataclass(frozen=True, eq=False)
class NeymanPearson:
    """The most powerful test, and its proof.

    Attributes
    ----------
    alarm : array of shape (n_x,)
        Probability of an alarm for each x.
    threshold : Fraction or float
        Of the likelihood ratio p(x|1) / p(x|0): alarm above it, none below it.
    at_threshold : Fraction or float
        Probability of an alarm where the ratio equals the threshold.
    false_alarm, miss, power : Fraction or float
        Their probabilities; power is 1 - miss.
    lower_bound : Fraction or float
        No test with at most eps false alarms misses less. Equal to ``miss`` unless randomness
        was forbidden.
    """

    alarm: NDArray[Any]
    threshold: Number
    at_threshold: Number
    false_alarm: Number
    miss: Number
    eps: Number
    lower_bound: Number
    table: Table = field(repr=False)

    @property
    def power(self) -> Number:
        """Probability of an alarm when there should be one."""
        return 1 - self.miss

    @property
    def strategy(self) -> NDArray[Any]:
        """Probabilities of the decisions (no alarm, alarm) for each x."""
        return np.column_stack([1 - self.alarm, self.alarm])

    def check(self) -> bool:
        """Recompute both sides of the proof from the table; True, or ProofError."""
        p = self.table.values
        slack = 0 if self.table.exact else 1e-9
        alarms = (p[:, 0] * self.alarm).sum()
        miss = (p[:, 1] * (1 - self.alarm)).sum()
        low = lagrangian_bound(p, self.threshold, self.eps)
        good = np.all((self.alarm >= 0) & (self.alarm <= 1))
        if not (
            good
            and alarms <= self.eps + slack
            and miss <= self.miss + slack
            and low >= self.lower_bound - slack
        ):
            raise ProofError(
                f"the proof does not hold: the test has {show(alarms)} false alarms and "
                f"{show(miss)} misses, the threshold proves a bound of {show(low)}."
            )
        return True

    def __str__(self) -> str:
        rule = f"alarm where p(x|1)/p(x|0) > {show(self.threshold)}"
        if self.at_threshold:
            rule += f", with probability {show(self.at_threshold)} where it is equal"
        proof = "no test with so few false alarms misses less"
        if self.lower_bound < self.miss:
            proof = f"with randomness {show(self.lower_bound)} is possible"
        return f"{rule}: false alarms {show(self.false_alarm)}, misses {show(self.miss)}; {proof}"


def neyman_pearson(
    likelihoods: Any,
    eps: Any = 0.05,
    *,
    y: Any = None,
    confidence: float | None = None,
    randomised: bool = True,
) -> Any:
    """The test with the fewest misses among those with at most eps false alarms.

    Parameters
    ----------
    likelihoods : table of shape (n_x, 2), or scores of shape (n,)
        p(x|k): the first column is the normal state, in which an alarm is false; the second
        the state to be found. With y: scores of a sample, high for the last of two classes. Or
        two frozen distributions of scipy.stats.
    eps : number, default=0.05
        The largest probability of a false alarm.
    y : array of shape (n,), optional
        Labels of the scores. The answer is then a threshold: see ThresholdRule.
    confidence : float, optional
        For scores: choose the threshold so that with this confidence the rate of false alarms
        of new data is at most eps, not only the rate in the sample.
    randomised : bool, default=True
        Leave the decision at the threshold to chance, which the best test needs. False takes
        no alarm there; then there may be better tests without randomness.

    Returns
    -------
    NeymanPearson, ThresholdRule, or DensityStrategy for distributions

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from linsep.risk import neyman_pearson
    >>> p = [[F(1, 2), F(1, 10)], [F(3, 10), F(3, 10)], [F(1, 5), F(3, 5)]]
    >>> test = neyman_pearson(p, F(1, 4))
    >>> print(test)
    alarm where p(x|1)/p(x|0) > 1, with probability 1/6 where it is equal: false alarms 1/4,
    misses 7/20; no test with so few false alarms misses less
    >>> test.check()
    True

    Of a sample, 19 negatives and 3 positives:

    >>> scores = list(range(19)) + [17.5, 18.5, 30]
    >>> rule = neyman_pearson(scores, 0.1, y=[0] * 19 + [1] * 3)
    >>> rule.threshold, rule.at_threshold, rule.miss
    (17.0, Fraction(9, 10), Fraction(0, 1))
    """
    level = _level(eps)
    if y is not None:
        if confidence is not None:
            check_level(confidence, "confidence")
        return neyman_pearson_threshold(
            likelihoods, y, level, confidence=confidence, randomised=randomised
        )
    if confidence is not None:
        raise SettingError(
            "confidence is for scores of a sample (give y); a table of probabilities has no doubt."
        )
    if is_densities(likelihoods):
        return best_test_of_densities(likelihoods, float(level))
    table = as_likelihoods(likelihoods)
    if table.values.shape[1] != 2:
        raise DataError(
            f"the table of p(x|k) has {table.values.shape[1]} columns; this test has two: the "
            "normal state and the state to be found."
        )
    if not (table.exact and not isinstance(eps, float)):
        return _test(table.floats(), float(level), randomised=randomised)
    return _test(table, level, randomised=randomised)


def _level(eps: Any) -> Fraction:
    if np.ndim(eps) > 0:
        raise SettingError(
            "eps is an array; for scores of a sample write neyman_pearson(scores, eps, y=y)."
        )
    try:
        value = as_table([[eps]], "eps").values[0, 0]
    except DataError:
        value = -1
    if not 0 <= value <= 1:
        raise SettingError(f"eps must lie between 0 and 1. Got {eps!r} instead.")
    if isinstance(value, Fraction):
        return value
    return Fraction(value).limit_denominator(10**12)  # 0.05 means 1/20


def _test(table: Table, eps: Number, *, randomised: bool) -> NeymanPearson:
    p = table.values
    n = len(p)
    ratio = [_ratio(p[x, 1], p[x, 0]) for x in range(n)]
    alarm = np.zeros(n) if p.dtype != object else np.full(n, Fraction(0), dtype=object)
    left: Number = eps
    threshold: Number = inf
    chance: Number = 0 * eps
    for t in sorted(set(ratio), reverse=True):
        group = [x for x in range(n) if ratio[x] == t]
        need = sum(p[x, 0] for x in group)
        threshold, chance = t, 0 * eps
        if t <= 0:  # nothing to find there
            break
        if need > left:
            chance = left / need if randomised else chance
            alarm[group] = chance
            break
        alarm[group] = 1
        left = left - need
    else:
        threshold = 0 * eps
    alarms, miss = (p[:, 0] * alarm).sum(), (p[:, 1] * (1 - alarm)).sum()
    low = lagrangian_bound(p, threshold, eps)
    if p.dtype != object:
        alarms, miss, low, threshold = float(alarms), float(miss), float(low), float(threshold)
        low = miss if randomised else min(low, miss)  # equal but for rounding; check() compares
        chance = float(chance)
    return NeymanPearson(alarm, threshold, chance, alarms, miss, eps, low, table)


def _ratio(above: Any, below: Any) -> Any:
    """p(x|1) / p(x|0); infinite where only the second state is possible, 0 where none is."""
    if below == 0:
        return inf if above > 0 else 0 * above
    return above / below


# -- Thresholds on the scores of a sample of two classes: equal errors, or few false alarms -------
#
# A rule answers "positive" above the threshold t, "negative" below it, and "positive" with
# probability g at t itself. Rates of a sample are counts divided by counts, so all of this is
# exact. The rate in the sample is not the rate to come; ``interval`` says how far it may be off.


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
