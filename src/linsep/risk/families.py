"""What a wrong estimate of the densities costs.

Excess    R(q') - R(q*), q' the best strategy for p_hat, q* the best for p
Bound     sum_{x,k} |p - p_hat| (max_d W(d, k) - min_d W(d, k)); for the 0/1 loss the sum alone.
          Proof: q' is best for p_hat, so R(q') - R(q*) <= sum (p - p_hat) (W(q', k) - W(q*, k)).

No such bound helps when the family of densities is wrong: then |p - p_hat| never vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, SettingError
from linsep.risk.bayes import bayes_risk, bayes_strategy
from linsep.risk.linear_rules import LogisticRule, gaussian_weights
from linsep.risk.tables import Number, as_joint, as_loss, show


def excess_bound(p: Any, p_hat: Any, loss: Any = None) -> Number:
    """Largest excess risk that an estimated table can cause, from the estimation error alone.

    Parameters
    ----------
    p, p_hat : tables of shape (n_x, K)
        True and estimated joint probabilities, as for ``bayes_risk``.
    loss : table W[d, k], optional
        None counts errors.

    Returns
    -------
    Fraction or float

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from linsep.risk import excess_bound, excess_risk
    >>> p = [[F(3, 8), F(1, 8)], [F(1, 4), F(1, 4)]]
    >>> p_hat = [[F(1, 8), F(3, 8)], [F(1, 4), F(1, 4)]]
    >>> excess_risk(p, p_hat), excess_bound(p, p_hat)
    (Fraction(1, 4), Fraction(1, 2))
    """
    true, guess = as_joint(p, None, None), as_joint(p_hat, None, None)
    _same(true, guess)
    W = as_loss(loss, true)
    if not (true.exact and guess.exact and W.exact):
        true, guess, W = true.floats(), guess.floats(), W.floats()
    span = W.values.max(axis=0) - W.values.min(axis=0)
    total = (abs(true.values - guess.values) * span).sum()
    return total if isinstance(total, Fraction) else float(total)


def excess_risk(p: Any, p_hat: Any, loss: Any = None) -> Number:
    """Risk under p of the strategy that is best for p_hat, less the Bayes risk of p."""
    _same(as_joint(p, None, None), as_joint(p_hat, None, None))
    chosen = bayes_strategy(p_hat, loss).decisions
    least: Number = bayes_strategy(p, loss).risk
    return bayes_risk(p, list(chosen), loss) - least


def _same(p: Any, p_hat: Any) -> None:
    if p.values.shape != p_hat.values.shape:
        raise DataError(
            f"p has shape {p.values.shape} and p_hat {p_hat.values.shape}; give one table each "
            "over the same observations and classes."
        )
    for mine, other in ((p.rows, p_hat.rows), (p.columns, p_hat.columns)):
        if mine is not None and other is not None and mine != other:
            raise DataError(
                f"p names {list(mine)} and p_hat {list(other)}; name the same in the same order."
            )


@dataclass(frozen=True, eq=False)
class WrongFamily:
    """Two classes on four points for which fitted Gaussians decide almost everything wrongly.

    Attributes
    ----------
    points : tuple of Fraction
        The observations.
    p : tuple of tuples of Fraction
        Joint probabilities, a row for each point, a column for class 0 and class 1.
    best_risk, plug_in_risk, linear_risk : Fraction
        Of the Bayes rule, of the rule with the Gaussians of an endless training set, and of
        the best single threshold.
    """

    points: tuple[Fraction, ...]
    p: tuple[tuple[Fraction, Fraction], ...]
    best_risk: Fraction
    plug_in_risk: Fraction
    linear_risk: Fraction

    @property
    def excess(self) -> Fraction:
        """Risk of the plug-in rule above the Bayes risk; no number of rows removes it."""
        return self.plug_in_risk - self.best_risk

    def gaussian_rule(self) -> LogisticRule:
        """The rule that fitted Gaussians tend to as the training set grows."""
        return _limit_rule(self.points, self.p)

    def sample(
        self, n: int, random_state: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """n independent rows X of shape (n, 1) and labels y."""
        rng = np.random.default_rng(random_state)
        flat = np.array([float(v) for row in self.p for v in row])
        cell = rng.choice(len(flat), size=n, p=flat / flat.sum())
        x = np.array([float(v) for v in self.points])
        return x[cell // 2][:, None], (cell % 2).astype(np.int64)

    def risk(self, rule: Any) -> Fraction:
        """Exact risk of a classifier with predict."""
        chosen = rule.predict(np.array([[float(v)] for v in self.points]))
        return Fraction(bayes_risk(self.p, [int(c) for c in chosen]))

    def __str__(self) -> str:
        return (
            f"Bayes risk {show(self.best_risk)}, best threshold {show(self.linear_risk)}, "
            f"Gaussian plug-in {show(self.plug_in_risk)} however many rows it is fitted to"
        )


def wrong_family(rare: Any = Fraction(1, 20)) -> WrongFamily:
    """Show that densities of a wrong family can make the plug-in rule arbitrarily bad.

    Class 1 is at +1, and with the small probability ``rare`` far out at -M; class 0 is the
    mirror image. M is so large that the means change sides: with equal variances the Gaussian
    rule puts its threshold at 0 and calls the positive side class 0. Its risk is 1 - rare,
    while the threshold 0 the other way round has the risk rare, and the Bayes rule 0.

    Parameters
    ----------
    rare : Fraction, float or str, default=1/20
        Above 0 and below 1/2; the smaller, the worse the plug-in rule.

    Returns
    -------
    WrongFamily

    Examples
    --------
    >>> from linsep import GaussianClassifier
    >>> from linsep.risk import wrong_family
    >>> case = wrong_family("1/20")
    >>> print(case)
    Bayes risk 0, best threshold 1/20, Gaussian plug-in 19/20 however many rows it is fitted to
    >>> model = GaussianClassifier("shared").fit(*case.sample(20000, random_state=0))
    >>> case.risk(model)
    Fraction(19, 20)
    """
    r = Fraction(rare)
    if not 0 < r < Fraction(1, 2):
        raise SettingError(f"rare must be above 0 and below 1/2. Got {rare!r} instead.")
    far = 2 * (1 - r) / r
    points = (-far, Fraction(-1), Fraction(1), far)
    often, seldom, zero = (1 - r) / 2, r / 2, Fraction(0)
    p = ((zero, seldom), (often, zero), (zero, often), (seldom, zero))
    at = np.array([[float(v)] for v in points])
    rule = _limit_rule(points, p)
    linear = min(_risk(p, [int(side * v > side * t) for v in points])
                 for t in points for side in (1, -1))  # fmt: skip
    return WrongFamily(
        points,
        p,
        best_risk=Fraction(bayes_strategy(p).risk),
        plug_in_risk=_risk(p, [int(k) for k in rule.predict(at)]),
        linear_risk=linear,
    )


def _risk(p: Any, chosen: list[int]) -> Fraction:
    return Fraction(bayes_risk(p, chosen))


def _limit_rule(points: Any, p: Any) -> LogisticRule:
    """Gaussian rule with the exact moments of the table."""
    priors = [sum(row[k] for row in p) for k in (0, 1)]
    means = [sum(x * row[k] for x, row in zip(points, p)) / priors[k] for k in (0, 1)]
    variance = sum(row[k] * (x - means[k]) ** 2 for x, row in zip(points, p) for k in (0, 1))
    return gaussian_weights(
        [[float(m)] for m in means], [float(variance)], [float(v) for v in priors]
    )
