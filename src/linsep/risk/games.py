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

from linsep.errors import ProofError, SettingError
from linsep.risk.game_simplex import Game, Mixture
from linsep.risk.tables import Number, Table, as_likelihoods, as_loss, show

__all__ = ["Minimax", "minimax"]


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
        from linsep.certify.decisions import class_risks, least_risk

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
        With y: scores of a sample, high for the last of two classes.
    loss : table W[d, k], optional
        A row for each decision, a column for each class. None counts errors.
    y : array of shape (n,), optional
        Labels of the scores. The answer is then a threshold: see ThresholdRule.
    deterministic : bool, default=False
        Forbid randomness. The best such strategy is found by looking at all that could be
        best, so this is for small tables.

    Returns
    -------
    Minimax or ThresholdRule

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
        from linsep.risk.thresholds import minimax_threshold

        if deterministic:
            raise SettingError(
                "deterministic is for tables; a threshold on scores decides by chance only for "
                "scores that equal it (rule.at_threshold)."
            )
        return minimax_threshold(likelihoods, y, loss)
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
