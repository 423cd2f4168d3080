"""The game between a strategy and the classes, solved in rational numbers.

The strategies that do not randomise have risk vectors r in R^K, and the best mixture of them
solves, with all losses made positive,
    maximise sum_j v_j  subject to  sum_j v_j r_j <= 1, v >= 0
by the simplex method with K rows, whose columns are found by a Bayes strategy for the prices. A
lexicographic rule keeps it from cycling. Dantzig, Wolfe, Operations Research 8 (1960); Dantzig,
Orden, Wolfe, Pacific J. Math. 5 (1955).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import scaled_integers
from linsep.errors import DataError
from linsep.risk.tables import Table

__all__ = ["Game", "Mixture"]

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
