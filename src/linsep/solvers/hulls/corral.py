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

from linsep.solvers.hulls.cloud import Cloud
from linsep.solvers.hulls.loops import exchange, survey

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class Corral:
    """Rows with groups and multipliers; only the first ``size`` places of the arrays count.

    States of searches are corrals: arrays and numbers, to be copied and saved.
    """

    groups: int
    size: int
    factor: Array
    half: Array
    points: Array
    row_numbers: NDArray[np.int64]
    group: NDArray[np.int64]
    all_multipliers: Array

    @staticmethod
    def blank(groups: int, cloud: Cloud, room: int = 48) -> dict[str, Any]:
        """Fields of a corral without rows; coordinates are held where that saves products."""
        m = cloud.m if cloud.held else 0
        return {
            "groups": groups,
            "size": 0,
            "factor": np.zeros((room, room)),
            "half": np.zeros((2, room)),
            "points": np.zeros((room, m)),
            "row_numbers": np.zeros(room, dtype=np.int64),
            "group": np.zeros(room, dtype=np.int64),
            "all_multipliers": np.zeros(room),
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
        if not cloud.held:
            return cloud.combine(self.rows, self.multipliers)
        return np.asarray(self.multipliers @ self.points[: self.size])

    def outside(
        self, cloud: Cloud, side: NDArray[np.int64], values: Array, edge: Array, batch: int
    ) -> tuple[NDArray[np.int64], Array]:
        """Rows whose values are least and below all in the corral, and the least of each side.

        edge bounds them from above for each side; it goes down to the values in the corral.
        """
        least, found = edge.copy(), np.empty(batch * len(edge), dtype=np.int64)
        count = survey(
            values,
            side,
            edge,
            least,
            self.row_numbers,
            self.group,
            self.size,
            batch,
            found,
            size=cloud.entries,
            work=10 * len(values),
            alike=True,
        )
        return found[:count], least

    def join(self, cloud: Cloud, rows: NDArray[np.int64], goal: Array | None = None) -> None:
        """Take in rows, the most promising first, and go to the best point.

        The first rows of an empty corral are one of each group. A cone needs the goal.
        """
        k, b = self.size, len(rows)
        self.reserve(k + b)
        self.row_numbers[k : k + b] = rows
        self.group[k : k + b] = cloud.side[rows]
        toward = np.zeros(b)
        if not cloud.held:
            products = cloud.products(rows, self.row_numbers[: k + b])
            if goal is not None:
                toward = cloud.values(goal)[rows]
        else:
            block = self.points[k : k + b]
            block[:] = cloud.take(rows)
            products = block @ self.points[: k + b].T
            if goal is not None:
                toward = block @ goal
        self.size = exchange(
            self.factor,
            self.half,
            self.points,
            self.row_numbers,
            self.group,
            self.all_multipliers,
            k,
            self.groups,
            products,
            toward,
            int(rows[0]) if b else -1,
            size=cloud.entries,
            work=10 * (k + b) ** 2,
            alike=True,
        )

    def reserve(self, room: int) -> None:
        """Make room for that many rows."""
        if room <= len(self.group):
            return
        room = max(room, 2 * len(self.group))
        for name in ("factor", "half", "points", "row_numbers", "group", "all_multipliers"):
            array = getattr(self, name)
            shape = {"factor": (room, room), "half": (2, room)}.get(name, (room, *array.shape[1:]))
            more = np.zeros(shape, dtype=array.dtype)
            more[tuple(map(slice, array.shape))] = array
            setattr(self, name, more)
