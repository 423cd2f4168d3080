"""What every pass over rows for a loss shares: lanes, machine code or numpy, sums in fixed order.

A pass reads each block of rows while it sits in the cache: scores, slopes of the loss, their
combination with the rows, and what the curvature needs. Small sets of rows go block by block
through numpy, so that nothing is compiled for them; large ones in one compiled call a lane. The
loops differ from loss to loss, the frame does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import COMPILED
from linsep.core.lanes import Lanes
from linsep.core.layouts import CSR
from linsep.rows.loops import scatter

Array = NDArray[np.float64]


class Reader:
    """Rows with their signs and costs: all rows of a problem, or a sample of them.

    Parameters
    ----------
    matrix : array or CSR matrix of shape (n, d)
    sign, cost : array of length n
    wide : bool
        Calculate in float64 whatever the matrix is.
    widens : bool
        Whether compiled lanes can read float32 as float64.
    most : int
        Lanes, at most.
    serial : int
        Entries below which threads cost more than they bring.
    """

    def __init__(
        self, matrix: Any, sign: Array, cost: Array, *,
        wide: bool, widens: bool, most: int = 8, serial: int,
    ) -> None:  # fmt: skip
        self.lanes = Lanes(matrix, wide=wide, scatter=scatter, least=3, most=most, serial=serial)
        self.sign, self.cost = sign, cost
        self.n, self.d = matrix.shape
        self.size = self.n * self.d
        self.widened = self.lanes.dtype != matrix.dtype
        self.X = self._for_machine_code(matrix, widens)

    def _for_machine_code(self, matrix: Any, widens: bool) -> Any:
        """The rows for the compiled lane, or None if they go block by block through Python.

        A function of shape and layout alone, since the two differ in their last bits.
        """
        if self.size < COMPILED or (self.widened and not widens):
            return None
        if self.lanes.sparse:
            return CSR(matrix.data, matrix.indices, matrix.indptr)
        return matrix if matrix.flags.c_contiguous else None


def added(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """The sums of all lanes, in their order, so that the number of threads does not matter.

    >>> [total.tolist() for total in added([(np.ones(2), np.zeros(1)), (np.ones(2), np.ones(1))])]
    [[2.0, 2.0], [1.0]]
    """
    totals = parts[0]
    for part in parts[1:]:
        for total, more in zip(totals, part):
            total += more
    return totals


def in_order(values: Array) -> float:
    """The sum of numbers, added one after the other as a loop does; numpy's has another order.

    >>> in_order(np.array([1.0, 1e-16, 1e-16])), in_order(np.zeros(0))
    (1.0, 0.0)
    """
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
