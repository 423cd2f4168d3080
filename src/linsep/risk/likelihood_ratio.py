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
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.decisions import lagrangian_bound
from linsep.errors import DataError, ProofError, SettingError
from linsep.risk.intervals import check_level
from linsep.risk.tables import Number, Table, as_likelihoods, as_table, show

__all__ = ["NeymanPearson", "neyman_pearson"]


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
        the state to be found. With y: scores of a sample, high for the last of two classes.
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
    NeymanPearson or ThresholdRule

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
        from linsep.risk.thresholds import neyman_pearson_threshold

        if confidence is not None:
            check_level(confidence, "confidence")
        return neyman_pearson_threshold(
            likelihoods, y, level, confidence=confidence, randomised=randomised
        )
    if confidence is not None:
        raise SettingError(
            "confidence is for scores of a sample (give y); a table of probabilities has no doubt."
        )
    table = as_likelihoods(likelihoods)
    if table.values.shape[1] != 2:
        raise DataError(
            f"the table of p(x|k) has {table.values.shape[1]} columns; this test has two: the "
            "normal state and the state to be found."
        )
    if not (table.exact and not isinstance(eps, float)):
        return _test(table.floats(), float(level), randomised)
    return _test(table, level, randomised)


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


def _test(table: Table, eps: Number, randomised: bool) -> NeymanPearson:
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
