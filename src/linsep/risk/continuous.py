"""Bayes, minimax and Neyman-Pearson strategies for known densities of continuous observations.

Problem   p(x | k) of each class as a frozen distribution of scipy.stats, in one dimension or more;
          priors, or none, or a bound on false alarms
Rule      the decision d of least sum_k v_k W(d, k) p(x | k) for weights v of the classes: the
          priors; for minimax the prior that is worst; for Neyman and Pearson such that the bound
          on false alarms is met
Risks     one dimension: the line is cut where the decision changes, found by bisection between
          quantiles of the classes, and the distribution functions give the risks; the error is
          what a quadrature of the least cost says otherwise. More dimensions: exactly for two
          Gaussians of one covariance, whose log ratio is Gaussian itself; otherwise the mean over
          samples, with its standard error
Ties      a ratio of densities that is constant on a set of some probability makes risks jump
          with v; then two rules are mixed by chance, as the best strategy does
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError
from linsep.risk.linear_rules import check_priors, gaussian_weights
from linsep.risk.tables import Table, as_loss

Array = NDArray[np.float64]

_TAIL = 1e-15  # probability beyond which nobody looks for changes of the decision
_CELLS = 1000  # quantiles of a class that are looked at
_SAMPLES = 100_000  # of a class, in more than one dimension
_HALVINGS = 200
_HAIR = 1e-14  # of weights between which no difference is made
_EQUAL_RISKS = 1e-9  # of risks that need no chance to be equal
_AFFINE = 1e-9  # of log ratios that are called linear
_ROUNDS = 500  # of the search for the worst prior of several classes


@dataclass(frozen=True, eq=False)
class DensityStrategy:
    """A strategy for continuous observations.

    Attributes
    ----------
    risk : float
        Bayes: the expected loss. Minimax: the largest risk of a class. Neyman-Pearson: the
        probability of a miss.
    risks : array of shape (K,)
        Expected loss in each class.
    error : float
        How far risk and risks may be off: an estimate; one standard error where they come from
        samples.
    weights : array of shape (K,)
        Priors, or what takes their place: the worst prior, or the weights of the test.
    thresholds : array or None
        One dimension: where the decision changes, from the left to the right.
    regions : tuple of (low, high, decision), or None
        One dimension: what is decided where.
    linear : bool
        Whether boundaries are planes: in one dimension, whether each decision has one interval.
    coef, intercept : array and float, or None
        Two classes and a linear rule: the last class where coef . x + intercept > 0.
    chance, other : float and DensityStrategy, or None
        The strategy takes the rule ``other`` with this probability. None where no chance is
        needed.
    samples : int
        Samples of a class behind the risks; 0 where they are computed.
    """

    risk: float
    risks: Array
    error: float
    weights: Array
    thresholds: Array | None
    regions: tuple[tuple[float, float, Any], ...] | None
    linear: bool
    coef: Array | None
    intercept: float | None
    words: str = ""
    chance: float = 0.0
    other: DensityStrategy | None = None
    samples: int = 0
    densities: tuple[Any, ...] = field(default=(), repr=False)
    loss: Table | None = field(default=None, repr=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """The decision for each observation; where chance is needed, that of the first rule."""
        assert self.loss is not None
        names = np.array([self.loss.row(d) for d in range(len(self.loss.values))])
        if self.regions is None or self.thresholds is None:
            return names[_decide(_log_densities(self.densities, X), self.weights, self.loss)]
        decided = np.array([decision for *_, decision in self.regions], dtype=names.dtype)
        x = np.asarray(X, dtype=np.float64).reshape(-1)
        return decided[np.searchsorted(self.thresholds, x, side="right")]

    def __call__(self, x: Any) -> Any:
        """The decision for one observation."""
        return self.predict([x])[0]

    def __str__(self) -> str:
        where = ""
        if self.regions is not None:
            cuts = [f"{d} from {low:.6g} to {high:.6g}" for low, high, d in self.regions]
            where = f": {', '.join(cuts)}"
        elif self.coef is not None and self.intercept is not None:
            terms = [
                f"{'-' if w < 0 else '+'} {'' if abs(w) == 1 else f'{abs(w):.6g} '}x{j + 1}"
                for j, w in enumerate(self.coef.tolist())
                if w
            ]
            sum_ = " ".join(terms).removeprefix("+ ") or "0"
            where = f": the last class where {sum_} > {-self.intercept + 0.0:.6g}"
        kind = "the rule is linear" if self.linear else "the rule is not linear"
        mixed = "" if self.other is None else f"; another rule with probability {self.chance:.6g}"
        exact = f" +- {self.error:.1g}"
        each = ", ".join(f"{r:.6g}" for r in self.risks)
        return f"{self.words} {self.risk:.6g}{exact} (by class {each}){where}{mixed}; {kind}"


def is_densities(given: Any) -> bool:
    """Whether these are distributions and no table."""
    return isinstance(given, (list, tuple)) and any(
        hasattr(one, "logpdf") or hasattr(one, "logpmf") for one in given
    )


def bayes_of_densities(given: Any, loss: Any, priors: Any) -> DensityStrategy:
    """The strategy of least expected loss."""
    world = world_of(given)
    if loss is not None and np.ndim(loss) == 1:
        raise DataError(
            f"loss has one axis ({loss!r:.40}); give a row for each decision and a column for each "
            "class. Probabilities of the classes are given by name: priors=[...]."
        )
    W = as_loss(loss, Table(np.zeros((1, world.K))))
    weights = check_priors(priors, world.K)
    found = world.rule(weights, W)
    return _finished(world, found, float(weights @ found.risks), "Bayes risk")


def minimax_of_densities(given: Any, loss: Any) -> DensityStrategy:
    """The strategy with the least largest risk; its weights are the worst prior."""
    world = world_of(given)
    W = as_loss(loss, Table(np.zeros((1, world.K))))
    if world.K == 2:
        found = _balanced(world, W, lambda risks: risks[0] - risks[1])
    else:
        found = _worst_prior(world, W)
    return _finished(world, found, float(found.risks.max()), "largest risk")


def best_test_of_densities(given: Any, eps: float) -> DensityStrategy:
    """The test with the fewest misses of those with at most eps false alarms."""
    world = world_of(given)
    if world.K != 2:
        raise DataError(
            f"{world.K} densities are given; this test has two: the normal state first."
        )
    W = as_loss(None, Table(np.zeros((1, 2))))
    found = _balanced(world, W, lambda risks: risks[0] - eps)
    words = f"false alarms {found.risks[0]:.6g}, misses"
    return _finished(world, found, float(found.risks[1]), words)


def _finished(world: World, found: DensityStrategy, risk: float, words: str) -> DensityStrategy:
    rules = [found] if found.other is None else [found, found.other]
    error = max(world.error(one) for one in rules)
    return replace(found, risk=risk, words=words, error=error)


# -- Weights of the classes ----------------------------------------------------------------------


def _balanced(world: World, W: Table, miss: Callable[[Array], float]) -> DensityStrategy:
    """Weights (1 - c, c) at which ``miss`` of the risks is 0; two rules are mixed at a jump.

    The risk of the first class grows with c, that of the second falls.
    """

    def at(c: float) -> DensityStrategy:
        return world.rule(np.array([1.0 - c, c]), W)

    low, high = at(0.0), at(1.0)
    if miss(low.risks) >= 0.0:
        return low
    if miss(high.risks) <= 0.0:
        return high
    a, b = 0.0, 1.0
    while b - a > _HAIR * min(b, 1.0 - a):
        c = 0.5 * (a + b)
        found = at(c)
        if miss(found.risks) <= 0.0:
            a, low = c, found
        else:
            b, high = c, found
    below, above = miss(low.risks), miss(high.risks)
    if above - below <= world.grain:
        return low
    chance = -below / (above - below)
    risks = (1.0 - chance) * low.risks + chance * high.risks
    return replace(low, risks=risks, chance=chance, other=high)


def _worst_prior(world: World, W: Table) -> DensityStrategy:
    """The prior of the largest Bayes risk, which is concave in it, by cutting planes."""
    from scipy.optimize import linprog

    K = world.K
    rules = [world.rule(np.full(K, 1.0 / K), W)]
    for k in range(K):
        rules.append(world.rule(np.where(np.arange(K) == k, 1.0 - 1e-3 * (K - 1), 1e-3), W))
    for _ in range(_ROUNDS):
        table = np.array([rule.risks for rule in rules])
        # mix rules so that the largest risk is least; the multipliers are a prior
        cost = np.append(np.zeros(len(rules)), 1.0)
        limits = np.column_stack([table.T, -np.ones(K)])
        whole = np.append(np.ones(len(rules)), 0.0)[None]
        answer = linprog(
            cost, limits, np.zeros(K), whole, [1.0], [(0, None)] * len(rules) + [(None, None)]
        )
        prior = np.maximum(-answer.ineqlin.marginals, 0.0)
        chance, value = np.asarray(answer.x[:-1]), float(answer.x[-1])
        new = world.rule(prior / prior.sum(), W)
        if float(new.weights @ new.risks) >= value - _EQUAL_RISKS or any(
            np.abs(new.risks - rule.risks).max() <= _EQUAL_RISKS for rule in rules
        ):
            break
        rules.append(new)
    equal = _equalised(world, W, new.weights)
    if equal is not None and float(equal.risks.max()) <= value + max(1e-7, world.grain):
        return equal
    first, second = np.argsort(-chance)[:2].tolist()
    risks = chance @ np.array([rule.risks for rule in rules[: len(chance)]])
    one: DensityStrategy = rules[first]
    rest = 1.0 - float(chance[first])
    return replace(one, risks=risks, chance=rest, other=rules[second], weights=new.weights)


def _equalised(world: World, W: Table, prior: Array) -> DensityStrategy | None:
    """The rule of a prior near the given one at which all risks are equal, if there is one."""
    from scipy.optimize import root

    def rule(logs: Array) -> DensityStrategy:
        weights = np.exp(np.append(logs, 0.0) - max(float(logs.max()), 0.0))
        return world.rule(weights / weights.sum(), W)

    def apart(logs: Array) -> Array:
        risks = rule(logs).risks
        return np.asarray(risks[:-1] - risks[-1])

    if not (prior > 0).all():
        return None
    found = root(apart, np.log(prior[:-1] / prior[-1]), tol=1e-12)
    return rule(found.x) if np.abs(found.fun).max() <= 10 * world.grain else None


# -- Where risks come from ------------------------------------------------------------------------


class World(Protocol):
    """Densities of which the risks of a rule are known."""

    K: int
    grain: float
    """Steps by which risks grow anyhow."""

    def error(self, found: DensityStrategy) -> float:
        """How far its risks may be off."""

    def rule(self, weights: Array, W: Table) -> DensityStrategy:
        """The best rule for weights of the classes, with its risks."""


def _one_of(k: int, distribution: Any) -> Any:
    try:
        return distribution.rvs(random_state=0)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the distribution of class {k} draws nothing ({str(error)[:60]}...): give one with "
            "its parameters, such as norm(0, 1); scales are > 0."
        ) from None


def world_of(given: Any) -> World:
    """The densities, checked."""
    found = list(given)
    for k, one in enumerate(found):
        if not hasattr(one, "logpdf"):
            raise DataError(
                f"the distribution of class {k} has no density (logpdf): give frozen continuous "
                "distributions of scipy.stats, such as norm(0, 1); of discrete ones a table p(x|k)."
            )
    if len(found) < 2:
        raise DataError(f"{len(found)} density is given; a decision needs two classes.")
    shapes = [np.shape(_one_of(k, one)) for k, one in enumerate(found)]
    if len(set(shapes)) > 1:
        raise DataError(f"the densities differ in their dimensions: {shapes}.")
    if shapes[0] == ():
        return Line(found)
    shared = _shared_covariance(found)
    return Cloud(found) if shared is None or len(found) > 2 else Shared(found, *shared)


def _log_densities(densities: Sequence[Any], X: Any) -> Array:
    """Of shape (n, K)."""
    x = np.asarray(X, dtype=np.float64)
    if hasattr(densities[0], "ppf"):
        x = x.reshape(-1)
    elif x.ndim < 2:
        x = x.reshape(1, -1)
    return np.column_stack([np.atleast_1d(one.logpdf(x)) for one in densities])


def _decide(log: Array, weights: Array, W: Table) -> NDArray[np.intp]:
    """The decision of least cost for each row of log densities; of equal ones the first."""
    top = log.max(axis=1, keepdims=True)
    p = np.exp(log - np.where(np.isfinite(top), top, 0.0))
    cost = (p * weights) @ np.asarray(W.values, dtype=np.float64).T
    return np.asarray(cost.argmin(axis=1))


def _counts_errors(W: Table) -> bool:
    values = np.asarray(W.values, dtype=np.float64)
    K = values.shape[1]
    same = values[~np.eye(K, dtype=bool)] if values.shape == (K, K) else np.zeros(0)
    return len(same) > 0 and not values.diagonal().any() and bool((same == same[0]).all())


class Line:
    """One dimension: risks by the distribution functions."""

    grain = _EQUAL_RISKS

    def __init__(self, densities: list[Any]) -> None:
        self.densities, self.K = densities, len(densities)
        tails = np.logspace(np.log10(_TAIL), -3, 200)
        share = np.concatenate([tails, np.linspace(1e-3, 1.0 - 1e-3, _CELLS)])
        ends = [x for one in densities for x in one.support() if np.isfinite(x)]
        points = [one.ppf(share) for one in densities] + [one.isf(tails) for one in densities]
        grid = np.unique(np.concatenate([*points, np.array(ends, dtype=np.float64)]))
        grid = grid[np.isfinite(grid)]
        self.grid = np.sort(np.concatenate([grid, 0.5 * (grid[1:] + grid[:-1])]))
        self.logs = _log_densities(self.densities, self.grid)
        known = np.isfinite(self.logs).any(axis=1)
        self.grid, self.logs = self.grid[known], self.logs[known]

    def rule(self, weights: Array, W: Table) -> DensityStrategy:
        x, best = self.grid, _decide(self.logs, weights, W)
        at = np.flatnonzero(best[1:] != best[:-1])
        cuts = self._bisect(x[at], x[at + 1], best[at], weights, W)
        kinds = best[np.append(at, len(best) - 1)]
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        regions = tuple(
            (float(low), float(high), W.row(int(d)))
            for low, high, d in zip(edges[:-1], edges[1:], kinds)
        )
        values = np.asarray(W.values, dtype=np.float64)
        risks = np.array(
            [
                sum(
                    _between(one, lo, hi) * values[d, k]
                    for lo, hi, d in zip(edges, edges[1:], kinds)
                )
                for k, one in enumerate(self.densities)
            ]
        )
        names = [W.row(int(d)) for d in kinds]
        linear = len(set(names)) == len(names)
        coef, intercept = None, None
        if linear and self.K == 2 and len(values) == 2 and len(cuts) == 1:
            sign = 1.0 if kinds[-1] == 1 else -1.0
            coef, intercept = np.array([sign]), -sign * float(cuts[0])
        return DensityStrategy(
            float(weights @ risks), risks, np.nan, weights, cuts, regions, linear,
            coef, intercept, densities=tuple(self.densities), loss=W,
        )  # fmt: skip

    def _bisect(
        self, low: Array, high: Array, left: NDArray[np.intp], weights: Array, W: Table
    ) -> Array:
        """The points between low and high up to which the decision is that of the left."""
        low, high = low.copy(), high.copy()
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if not len(middle) or not ((low < middle) & (middle < high)).any():
                break
            stays = _decide(_log_densities(self.densities, middle), weights, W) == left
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        return 0.5 * (low + high)

    def error(self, found: DensityStrategy) -> float:
        """How far a quadrature of the least cost is from the risk by distribution functions."""
        from scipy.integrate import quad

        assert found.loss is not None and found.thresholds is not None
        values = np.asarray(found.loss.values, dtype=np.float64)

        def cost(x: float) -> float:
            p = np.array([one.pdf(x) for one in self.densities])
            return float((values @ (found.weights * p)).min())

        tails = np.logspace(-12, -1, 12)
        points = [one.ppf(np.append(tails, 0.5)) for one in self.densities]
        points += [one.isf(tails) for one in self.densities]
        marks = np.unique(np.concatenate([found.thresholds, *points]))
        pieces = [quad(cost, lo, hi) for lo, hi in pairwise(marks)]
        total, doubt = (float(sum(column)) for column in zip(*pieces))
        own = float(found.weights @ self.rule(found.weights, found.loss).risks)
        return abs(total - own) + doubt


def _between(one: Any, low: float, high: float) -> float:
    """Probability of an interval, without loss of digits in the upper tail."""
    if low > one.median():
        return float(one.sf(low) - one.sf(high))
    return float(one.cdf(high) - one.cdf(low))


class Shared:
    """Two Gaussians of one covariance: the log ratio is Gaussian in both classes."""

    K, grain = 2, _EQUAL_RISKS

    def __init__(self, densities: list[Any], means: Array, covariance: Array) -> None:
        from scipy.stats import norm

        self.densities = densities
        both = gaussian_weights(means, covariance)
        self.coef, self.intercept = both.coef_[0], float(both.intercept_[0])
        length = float(np.sqrt(max(self.coef @ covariance @ self.coef, 0.0)))
        centres = means @ self.coef + self.intercept
        if not length > 0.0:
            raise DataError("the densities are equal; there is nothing to decide by.")
        self.line = Line([norm(centre, length) for centre in centres])

    def error(self, found: DensityStrategy) -> float:
        assert found.loss is not None
        return self.line.error(self.line.rule(found.weights, found.loss))

    def rule(self, weights: Array, W: Table) -> DensityStrategy:
        found = self.line.rule(weights, W)  # of the log ratio
        coef = intercept = None
        if found.coef is not None and found.intercept is not None:
            sign = float(found.coef[0])
            coef, intercept = sign * self.coef, sign * self.intercept + found.intercept
        return replace(
            found, thresholds=None, regions=None, linear=True, coef=coef, intercept=intercept,
            densities=tuple(self.densities),
        )  # fmt: skip


class Cloud:
    """Any densities in more dimensions: risks are means over samples."""

    grain = 10.0 / _SAMPLES

    def __init__(self, densities: list[Any]) -> None:
        self.densities, self.K = densities, len(densities)
        drawn = [one.rvs(_SAMPLES, random_state=k) for k, one in enumerate(densities)]
        self.logs = [_log_densities(self.densities, rows) for rows in drawn]
        some = np.concatenate([rows[:2000] for rows in drawn])
        self.planes = self._affine(some, np.concatenate([log[:2000] for log in self.logs]))

    def error(self, found: DensityStrategy) -> float:
        return found.error

    def _affine(self, X: Array, log: Array) -> Array | None:
        """Weights and offsets of the log ratios to the first class, if these are linear."""
        ratio = log[:, 1:] - log[:, :1]
        if not np.isfinite(ratio).all():
            return None
        table = np.column_stack([X, np.ones(len(X))])
        fit = np.linalg.lstsq(table, ratio, rcond=None)[0]
        off = np.abs(table @ fit - ratio).max()
        return (
            np.asarray(fit.T, dtype=np.float64)
            if off <= _AFFINE * (1.0 + np.abs(ratio).max())
            else None
        )

    def rule(self, weights: Array, W: Table) -> DensityStrategy:
        values = np.asarray(W.values, dtype=np.float64)
        losses = [values[_decide(log, weights, W), k] for k, log in enumerate(self.logs)]
        risks = np.array([one.mean() for one in losses])
        errors = [one.std() / np.sqrt(len(one)) for one in losses]
        linear = self.planes is not None and (self.K == 2 or _counts_errors(W))
        coef = intercept = None
        if linear and self.K == 2 and _counts_errors(W) and (weights > 0).all():
            assert self.planes is not None
            coef = self.planes[0, :-1]
            intercept = float(self.planes[0, -1] + np.log(weights[1] / weights[0]))
        return DensityStrategy(
            float(weights @ risks), risks, float(max(errors)), weights, None, None,
            linear, coef, intercept, samples=_SAMPLES, densities=tuple(self.densities), loss=W,
        )  # fmt: skip


def _shared_covariance(densities: list[Any]) -> tuple[Array, Array] | None:
    """Means and the covariance of Gaussians that share one."""
    if not all(type(one).__name__ == "multivariate_normal_frozen" for one in densities):
        return None
    covariances = [np.asarray(one.cov, dtype=np.float64) for one in densities]
    if any(not np.array_equal(other, covariances[0]) for other in covariances[1:]):
        return None
    return np.array([np.atleast_1d(one.mean) for one in densities]), np.atleast_2d(covariances[0])
