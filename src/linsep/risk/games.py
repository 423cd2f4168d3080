"""Minimax: the least of the largest risk over the classes, when there are no priors.

Given    p(x|k) and W(d, k);  r_k(q) = sum_x p(x|k) sum_d q(x, d) W(d, k)
Find     q with the least max_k r_k(q); it is randomised in general
Proof    a prior u (the least favourable one) whose Bayes risk is that maximum: for all q
         max_k r_k(q) >= sum_k u_k r_k(q) >= Bayes risk of u

All numbers are rational, so the two sides of the proof are equal, not nearly equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, ProofError, SettingError
from linsep.numerics.integers import scaled_integers
from linsep.risk.continuous import is_densities, minimax_of_densities
from linsep.risk.tables import Number, Table, as_likelihoods, as_loss, show


@dataclass(frozen=True, eq=False)
class Minimax:
    """The strategy with the least largest risk, and the prior that proves it.

    Attributes
    ----------
    strategy : array of shape (n_x, n_decisions)
        Probabilities of the decisions for each x.
    risk : Fraction or float
        The largest of ``risks``.
    risks : tuple
        Expected loss in each class.
    prior : tuple
        The least favourable prior: no strategy has a smaller expected loss under it than
        ``lower_bound``.
    lower_bound : Fraction or float
        No strategy has a largest risk below this. It equals ``risk`` unless randomness was
        forbidden.
    mixture : tuple of (weight, decisions)
        The strategy as a mixture of at most K strategies that do not randomise.
    """

    strategy: NDArray[Any]
    risk: Number
    risks: tuple[Number, ...]
    prior: tuple[Number, ...]
    lower_bound: Number
    mixture: tuple[tuple[Number, tuple[Any, ...]], ...]
    table: Table = field(repr=False)
    loss: Table = field(repr=False)

    @property
    def randomised(self) -> bool:
        """Whether some x is decided by chance."""
        return len(self.mixture) > 1

    @property
    def decisions(self) -> tuple[Any, ...]:
        """The decision for each x, or {decision: probability} where it is left to chance."""
        out: list[Any] = []
        for row in self.strategy:
            kept = {self.loss.row(d): q for d, q in enumerate(row) if q}
            out.append(next(iter(kept)) if len(kept) == 1 else kept)
        return tuple(out)

    def check(self) -> bool:
        """Recompute both sides of the proof from the tables; True, or ProofError.

        Examples
        --------
        >>> from linsep.risk import minimax
        >>> minimax([[0.9, 0.2], [0.1, 0.8]]).check()
        True
        """
        from linsep.proofs.risk import class_risks, least_risk

        p, W = self.table.values, self.loss.values
        if not (self.table.exact and self.loss.exact):
            p, W = p.astype(np.float64), W.astype(np.float64)
        slack = 0 if p.dtype == object else 1e-9 * max(1.0, float(np.abs(W).max()))
        worst = max(class_risks(p, W, self.strategy))
        low = least_risk(p, W, self.prior)
        if worst > self.risk + slack or low < self.lower_bound - slack:
            raise ProofError(
                f"the proof does not hold: the strategy has the largest risk {show(worst)}, the "
                f"prior bounds it by {show(low)}; {show(self.risk)} and {show(self.lower_bound)} "
                "are claimed."
            )
        return True

    def __str__(self) -> str:
        names = ", ".join(f"{self.table.column(k)}: {show(v)}" for k, v in enumerate(self.risks))
        prior = ", ".join(show(v) for v in self.prior)
        chance = "randomised" if self.randomised else "without randomness"
        proof = f"the prior ({prior}) proves that no strategy has less"
        if self.lower_bound < self.risk:
            proof = f"with randomness {show(self.lower_bound)} is possible"
        return f"largest risk {show(self.risk)} ({names}), {chance}; {proof}"


def minimax(
    likelihoods: Any, loss: Any = None, *, y: Any = None, deterministic: bool = False
) -> Any:
    """The strategy whose largest risk over the classes is least.

    Parameters
    ----------
    likelihoods : table of shape (n_x, K), or scores of shape (n,)
        p(x|k): a row for each observation, a column for each class; every column sums to 1.
        With y: scores of a sample, high for the last of two classes. Or a list of frozen
        distributions of scipy.stats, one a class.
    loss : table W[d, k], optional
        A row for each decision, a column for each class. None counts errors.
    y : array of shape (n,), optional
        Labels of the scores. The answer is then a threshold: see ThresholdRule.
    deterministic : bool, default=False
        Forbid randomness. The best such strategy is found by looking at all that could be
        best, so this is for small tables.

    Returns
    -------
    Minimax, ThresholdRule, or DensityStrategy for distributions

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from linsep.risk import minimax
    >>> p = [[F(3, 4), F(1, 3)], [F(1, 4), F(2, 3)]]
    >>> answer = minimax(p)
    >>> print(answer)
    largest risk 4/13 (0: 4/13, 1: 4/13), randomised; the prior (4/13, 9/13) proves that no ...
    >>> answer.decisions
    ({0: Fraction(12, 13), 1: Fraction(1, 13)}, 1)
    >>> minimax(p, deterministic=True).risk
    Fraction(1, 3)
    """
    if y is not None:
        from linsep.risk.likelihood_ratio import minimax_threshold

        if deterministic:
            raise SettingError(
                "deterministic is for tables; a threshold on scores decides by chance only for "
                "scores that equal it (rule.at_threshold)."
            )
        return minimax_threshold(likelihoods, y, loss)
    if is_densities(likelihoods):
        if deterministic:
            raise SettingError(
                "deterministic is for tables; with densities chance is needed only where their "
                "ratio is constant on a set of some probability: attributes chance and other."
            )
        return minimax_of_densities(likelihoods, loss)
    table = as_likelihoods(likelihoods)
    W = as_loss(loss, table)
    game = Game(table, W)
    mixture, prior, value = game.solve()
    if deterministic:
        mixture = [(Fraction(1), game.best_fixed(mixture))]
    return _answer(game, mixture, prior, value)


def _answer(game: Game, mixture: Mixture, prior: list[Fraction], value: Fraction) -> Minimax:
    """The answer in the caller's numbers and names."""
    n, D = game.cost.shape[:2]
    q = np.full((n, D), Fraction(0), dtype=object)
    total = [Fraction(0)] * game.K
    for weight, plan in mixture:
        for x, d in enumerate(plan):
            q[x, d] += weight
        total = [t + weight * r / u for t, r, u in zip(total, game.risks(plan), game.unit)]
    risks: list[Number] = [t - game.shift for t in total]
    names = tuple((w, tuple(game.W.row(d) for d in plan)) for w, plan in mixture)
    low: Number = value - game.shift
    numbers: list[Number] = list(prior)
    if not (game.table.exact and game.W.exact):
        q, risks = q.astype(np.float64), [float(r) for r in risks]
        names = tuple((float(w), plan) for w, plan in names)  # type: ignore[misc]
        low, numbers = float(low), [float(u) for u in numbers]
    return Minimax(q, max(risks), tuple(risks), tuple(numbers), low, names, game.table, game.W)


# -- The game between a strategy and the classes, solved in rational numbers ----------------------
#
# The strategies that do not randomise have risk vectors r in R^K, and the best mixture of them
# solves, with all losses made positive,
#     maximise sum_j v_j  subject to  sum_j v_j r_j <= 1, v >= 0
# by the simplex method with K rows, whose columns are found by a Bayes strategy for the prices. A
# lexicographic rule keeps it from cycling. Dantzig, Wolfe, Operations Research 8 (1960); Dantzig,
# Orden, Wolfe, Pacific J. Math. 5 (1955).


Vector = list[Fraction]
Option = tuple[tuple[int, ...], tuple[int, ...]]
Mixture = list[tuple[Fraction, tuple[int, ...]]]
_FRONT = 20_000  # risk vectors that are kept in the search without randomness


class Game:
    """The table in integers: risk vectors, Bayes strategies, the simplex method.

    ``cost`` is p(x|k) (W(d, k) + shift), and the costs of class k have been multiplied by
    ``unit[k]``, which makes them integers.
    """

    def __init__(self, table: Table, W: Table) -> None:
        self.table, self.W = table, W
        p, w = table.fractions().values, W.fractions().values
        self.shift = 1 - min(w.ravel())
        losses, scale = _integers(w + self.shift)
        # a column divided by its sum, since floats miss the sum of one by a little
        columns = [_integers(column)[0] for column in p.T]
        self.unit = [Fraction(sum(column)) / scale for column in columns]
        self.cost = np.array(columns, dtype=object).T[:, None, :] * losses[None, :, :]  # x, d, k
        self.K = p.shape[1]

    def risks(self, plan: tuple[int, ...]) -> list[int]:
        """unit[k] r_k of a strategy without randomness."""
        return list(self.cost[np.arange(len(plan)), list(plan)].sum(axis=0))

    def bayes(self, prices: Vector) -> tuple[int, ...]:
        """The best strategy for a prior; the first of equals."""
        weighted = self.cost @ _integers(np.array(prices, dtype=object))[0]
        return tuple(int(d) for d in np.argmin(weighted, axis=1))

    def solve(self) -> tuple[Mixture, Vector, Fraction]:
        """The mixture, the prior and the value (with shifted losses)."""
        K = self.K
        inverse = [[Fraction(int(i == j)) for j in range(K)] for i in range(K)]
        basis: list[tuple[int, ...] | None] = [None] * K  # None is a slack
        amount = list(self.unit)
        plan = self.bayes([1 / unit for unit in self.unit])
        while True:
            column = self.risks(plan)
            change = [sum((a * b for a, b in zip(row, column)), Fraction(0)) for row in inverse]
            out = _leaving(amount, inverse, change)
            _pivot(inverse, amount, change, out)
            basis[out] = plan
            prices = [
                sum((inverse[i][k] for i in range(K) if basis[i] is not None), Fraction(0))
                for k in range(K)
            ]
            plan = self.bayes(prices)
            if sum((a * b for a, b in zip(prices, self.risks(plan))), Fraction(0)) >= 1:
                break  # no strategy costs less than those at hand
        prior = [a * b for a, b in zip(prices, self.unit)]
        total = sum(prior, Fraction(0))
        mixture = [(a / total, b) for a, b in zip(amount, basis) if b is not None and a > 0]
        return mixture, [v / total for v in prior], 1 / total

    def best_fixed(self, mixture: Mixture) -> tuple[int, ...]:
        """The best strategy without randomness: row by row, only risk vectors that no other
        beats in every class and that can still end below the best known maximum are kept."""
        n, D = self.cost.shape[:2]
        rest = np.cumsum(self.cost.min(axis=1)[::-1], axis=0)[::-1]
        rest = np.vstack([rest, np.zeros((1, self.K), dtype=object)])
        known = min(self._worst(self.risks(plan)) for _, plan in mixture)
        front: list[Option] = [((0,) * self.K, ())]
        for x in range(n):
            options = [
                (tuple(a + b for a, b in zip(total, self.cost[x, d])), (*plan, d))
                for total, plan in front
                for d in range(D)
            ]
            front = _undominated(
                [
                    o
                    for o in options
                    if self._worst([a + b for a, b in zip(o[0], rest[x + 1])]) <= known
                ]
            )
            if len(front) > _FRONT:
                raise DataError(
                    f"{n} observations and {self.K} classes leave more than {_FRONT} strategies "
                    "to compare; ask for the randomised one (deterministic=False), which is "
                    "never worse."
                )
        return min(front, key=lambda item: (self._worst(list(item[0])), item[1]))[1]

    def _worst(self, risks: list[int]) -> Fraction:
        return max(r / u for r, u in zip(risks, self.unit))


def _integers(values: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Integers and the scale that gives the values back: value = integer * scale."""
    numbers, scale = scaled_integers(values.ravel())
    return np.array(numbers, dtype=object).reshape(values.shape), scale


def _leaving(amount: Vector, inverse: list[Vector], change: Vector) -> int:
    """The row that limits the step; of equals the lexicographically least, so that no basis
    comes back."""
    rows = [i for i, c in enumerate(change) if c > 0]
    return min(rows, key=lambda i: [v / change[i] for v in (amount[i], *inverse[i])])


def _pivot(inverse: list[Vector], amount: Vector, change: Vector, out: int) -> None:
    """Let a column with these coefficients take the place of row ``out`` of the basis."""
    top = change[out]
    inverse[out] = [v / top for v in inverse[out]]
    amount[out] /= top
    for i, c in enumerate(change):
        if i != out and c:
            inverse[i] = [v - c * w for v, w in zip(inverse[i], inverse[out])]
            amount[i] -= c * amount[out]


def _undominated(options: list[Option]) -> list[Option]:
    """Those whose vector no other is at most in every place; of equals the first."""
    kept: list[Option] = []
    for vector, plan in sorted(options):
        if len(vector) == 2:  # sorted by the first number: only the last kept one can beat it
            beaten = bool(kept) and kept[-1][0][1] <= vector[1]
        else:
            beaten = any(all(a <= b for a, b in zip(old, vector)) for old, _ in kept)
        if not beaten:
            kept.append((vector, plan))
    return kept
