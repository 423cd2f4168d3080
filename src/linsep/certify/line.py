"""The least cost of a threshold on a line: there are few enough to look at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_line_cost"]


def least_line_cost(
    x: NDArray[np.float64], positive: NDArray[np.bool_], costs: Sequence[Any], offset: bool
) -> tuple[Any, float, Any]:
    """(cost, w, b) of a best rule w x + b > 0; a row on the threshold is wrong.

    With an offset a rule is a direction and a place between two neighbours, or a constant;
    without, only a direction, or 0, which is wrong everywhere.

    >>> import numpy as np
    >>> least_line_cost(np.array([-1.0, 1, 3]), np.array([False, True, False]), [1] * 3, True)
    (1, 0.0, -1.0)
    """
    total = sum(costs)
    best: tuple[Any, float, Any] = (total, 0.0, 0.0)
    if not offset:
        for w in (1.0, -1.0):
            right = (w * x > 0) & positive | (w * x < 0) & ~positive
            best = min(best, (total - _sum(costs, right), w, 0.0), key=lambda rule: rule[0])
        return best
    ups = _sum(costs, positive)
    best = min(best, (ups, 0.0, -1.0), (total - ups, 0.0, 1.0), key=lambda rule: rule[0])
    order = np.argsort(x, kind="stable")
    wrong_up, wrong_down = total - ups, ups  # of w = 1 and of w = -1, while all rows are above
    for at, i in enumerate(order.tolist()):
        change = costs[i] if positive[i] else -costs[i]
        wrong_up, wrong_down = wrong_up + change, wrong_down - change
        if at + 1 < len(order) and x[order[at + 1]] > x[i]:
            for cost, w in ((wrong_up, 1.0), (wrong_down, -1.0)):
                if cost < best[0]:
                    cut = _between(float(x[i]), float(x[order[at + 1]]))
                    best = cost, w, -w * cut if isinstance(cut, float) else -int(w) * cut
    return best


def _sum(costs: Sequence[Any], chosen: NDArray[np.bool_]) -> Any:
    return sum(costs[i] for i in np.flatnonzero(chosen).tolist())


def _between(low: float, high: float) -> float | Fraction:
    """A number strictly between two others, a float if there is one."""
    middle = low / 2 + high / 2
    return middle if low < middle < high else (Fraction(low) + Fraction(high)) / 2
