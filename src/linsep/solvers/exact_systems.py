"""The linear systems of a nearest-point search, solved in integers.

Solutions are numerators over one positive denominator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import independent_columns, to_integers

__all__ = ["best_in_hulls", "best_in_span", "independent_rows"]

Solution = tuple[list[int], int]


def best_in_hulls(block: NDArray[np.float64], group: NDArray[np.int64]) -> Solution:
    """Multipliers of the shortest combination of rows; those of each group sum to 1."""
    import flint

    k = len(block)
    Z = flint.fmpz_mat(_plain_integers(block))
    products = (Z * Z.transpose()).table()
    member = [[int(h == g) for h in group] for g in range(int(group.max()) + 1)]
    size = max(abs(int(v)) for v in (products[i][i] for i in range(k))) or 1
    member = [[size * v for v in row] for row in member]  # keeps the entries of one size
    system = [list(p) + [row[i] for row in member] for i, p in enumerate(products)]
    system += [row + [0] * len(member) for row in member]
    right = [[0]] * k + [[size]] * len(member)
    numbers, whole = _over_one(flint.fmpz_mat(system).solve(flint.fmpz_mat(right)))
    return numbers[:k], whole


def best_in_span(
    block: NDArray[np.float64], base: NDArray[np.float64], shares: list[int]
) -> Solution:
    """Multipliers of the combination of rows nearest minus the sum of shares times base."""
    import flint

    k = len(block)
    table = _plain_integers(np.vstack([block, base]))
    Z = flint.fmpz_mat(table[:k])
    goal = flint.fmpz_mat([shares]) * flint.fmpz_mat(table[k:])
    return _over_one((Z * Z.transpose()).solve(Z * goal.transpose() * -1))


def independent_rows(
    block: NDArray[np.float64], group: NDArray[np.int64], *, affine: bool
) -> list[int]:
    """Rows that are linearly independent, earlier ones first; affinely within the groups."""
    table = to_integers(block).table
    if affine:
        member = np.asarray(group[:, None] == np.unique(group), dtype=np.int64)
        table = np.column_stack([table, member])
    return independent_columns(np.ascontiguousarray(table.T))


def _over_one(solution: Any) -> Solution:
    numerators, denominator = solution.numer_denom()
    sign = -1 if denominator < 0 else 1
    return [sign * int(n) for n in numerators.entries()], sign * int(denominator)


def _plain_integers(block: NDArray[np.float64]) -> list[list[int]]:
    """The block times one power of two that makes all of it integer."""
    table, shift = to_integers(block)
    up = [int(s) for s in shift - shift.min()]
    return [[int(v) << u for v, u in zip(row, up)] for row in table.tolist()]
