"""The few rows a nearest-point search holds, with the Cholesky factor of their products.

Wolfe (1976), Finding the nearest point in a polytope. A corral is a set of rows, affinely
independent, with multipliers. Its target are the multipliers of the point of least length in
their affine hull. Rows whose multiplier would become negative on the way there leave.

    hull   groups = 1 or 2: multipliers of each group sum to 1, the point is sum l_i z_i
    cone   groups = 0: multipliers are free to grow, the point is sum l_i z_i - goal
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit.corral import exchange
from linsep.solvers.cloud import Cloud

__all__ = ["Corral"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class Corral:
    """Rows with groups and multipliers; only the first ``size`` places of the arrays count.

    States of searches are corrals: arrays and numbers, to be copied and saved.
    """

    groups: int
    size: int
    factor: Array
    points: Array
    row_numbers: NDArray[np.int64]
    group: NDArray[np.int64]
    all_multipliers: Array
    toward: Array

    @staticmethod
    def blank(groups: int, cloud: Cloud, room: int = 16) -> dict[str, Any]:
        """Fields of a corral without rows; rows of a wide cloud are not copied into it."""
        m = 0 if cloud.wide else cloud.m
        return {
            "groups": groups,
            "size": 0,
            "factor": np.zeros((room, room)),
            "points": np.zeros((room, m)),
            "row_numbers": np.zeros(room, dtype=np.int64),
            "group": np.zeros(room, dtype=np.int64),
            "all_multipliers": np.zeros(room),
            "toward": np.zeros(room),
        }

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows."""
        return self.row_numbers[: self.size]

    @property
    def multipliers(self) -> Array:
        """Multipliers of the rows."""
        return self.all_multipliers[: self.size]

    def point(self, cloud: Cloud) -> Array:
        """The combination of the rows."""
        if cloud.wide:
            return cloud.combine(self.rows, self.multipliers)
        return np.asarray(self.multipliers @ self.points[: self.size])

    def missing(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the rows that are not inside."""
        return np.asarray(rows[~(rows[:, None] == self.rows).any(axis=1)])

    def join(self, cloud: Cloud, rows: NDArray[np.int64], goal: Array | None = None) -> None:
        """Take in rows, the most promising first, and go to the best point.

        The first rows of an empty corral are one of each group. A cone needs the goal.
        """
        k, b = self.size, len(rows)
        self._reserve(k + b)
        if cloud.wide:
            cross, inner = cloud.products(rows, self.rows), cloud.products(rows, rows)
            toward = np.zeros(b) if goal is None else cloud.values(goal)[rows]
        else:
            block = cloud.take(rows)
            self.points[k : k + b] = block
            cross, inner = np.ascontiguousarray(block @ self.points[:k].T), block @ block.T
            toward = np.zeros(b) if goal is None else block @ goal
        self.row_numbers[k : k + b] = rows
        self.group[k : k + b] = cloud.group_of(rows)
        self.toward[k : k + b] = toward
        work = (k + b) ** 2
        self.size = exchange(
            self.factor,
            self.points,
            self.row_numbers,
            self.group,
            self.all_multipliers,
            self.toward,
            k,
            self.groups,
            cross,
            inner,
            b,
            k,
            int(rows[0]) if b else -1,
            size=cloud.entries,
            work=10 * work,
        )

    def _reserve(self, room: int) -> None:
        if room <= len(self.group):
            return
        room = max(room, 2 * len(self.group))
        old = self.factor
        self.factor = np.zeros((room, room))
        self.factor[: len(old), : len(old)] = old
        for name in ("points", "row_numbers", "group", "all_multipliers", "toward"):
            array = getattr(self, name)
            more = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
            more[: len(array)] = array
            setattr(self, name, more)
