"""Both sides of a proof about strategies on finite tables, from the numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_risks(p: NDArray[Any], W: NDArray[Any], q: NDArray[Any]) -> list[Any]:
    """sum_x p(x|k) sum_d q(x, d) W(d, k) for every class k.

    >>> import numpy as np
    >>> class_risks(np.eye(2), 1 - np.eye(2), np.array([[1.0, 0.0], [0.5, 0.5]]))
    [0.0, 0.5]
    """
    if np.any(q < 0) or any(abs(float(total) - 1) > 1e-9 for total in q.sum(axis=1)):
        return [np.inf] * p.shape[1]
    expected = q @ W  # x, k
    risks: list[Any] = (p * expected).sum(axis=0).tolist()
    return risks


def least_risk(p: NDArray[Any], W: NDArray[Any], prior: Sequence[Any]) -> Any:
    """The Bayes risk of a prior, which bounds the largest risk of every strategy from below.

    >>> import numpy as np
    >>> least_risk(np.array([[0.5, 0.0], [0.5, 1.0]]), 1 - np.eye(2), [0.5, 0.5])
    0.25
    """
    weights = np.asarray(prior, dtype=p.dtype)
    if np.any(weights < 0) or abs(float(weights.sum()) - 1) > 1e-9:
        return -np.inf
    low = ((p * weights) @ W.T).min(axis=1).sum()
    return low if p.dtype == object else float(low)


def lagrangian_bound(p: NDArray[Any], price: Any, eps: Any) -> Any:
    """No test with a false alarm rate of at most eps misses less than this (p[:, 0] normal).

    For any price >= 0 and any test:  miss >= miss + price (alarm - eps)
                                           >= sum_x min(p(x|1), price p(x|0)) - price eps.

    >>> import numpy as np
    >>> lagrangian_bound(np.array([[0.75, 0.25], [0.25, 0.75]]), 1.0, 0.25)
    0.25
    """
    if price < 0:
        return -np.inf
    low = np.minimum(p[:, 1], price * p[:, 0]).sum() - price * eps
    return low if p.dtype == object else float(low)


# -- How much it costs at least to take one member out of every set -------------------------------
#
# A branch-and-bound search in whole numbers or fractions that shares nothing with the search
# whose claim it checks.


class TooLongError(Exception):
    """The search was given up."""


def hits_cost_at_least(
    sets: Iterable[Iterable[int]], costs: Sequence[Any], bound: Any, nodes: float = inf
) -> bool | None:
    """Whether every choice of members that meets all sets costs at least so much.

    None after so many nodes of the search without an answer.

    >>> hits_cost_at_least([{0, 1}, {1, 2}, {0, 2}], [1, 1, 1], 2)
    True
    >>> hits_cost_at_least([{0, 1}, {1, 2}], [1, 1, 1], 2)
    False
    """
    masks = sorted({_mask(members) for members in sets}, key=int.bit_count)
    least = [m for i, m in enumerate(masks) if not any(o & m == o for o in masks[:i])]
    count = [nodes]
    try:
        return _costs(least, costs, bound, count)
    except TooLongError:
        return None


def _mask(members: Iterable[int]) -> int:
    out = 0
    for i in members:
        out |= 1 << i
    return out


def _members(mask: int) -> list[int]:
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def _costs(masks: list[int], costs: Sequence[Any], budget: Any, count: list[float]) -> bool:
    """Whether no choice for less than the budget meets all sets."""
    count[0] -= 1
    if count[0] < 0:
        raise TooLongError
    if budget <= 0:
        return True
    if not masks or _packing(masks, costs) >= budget:
        return bool(masks)
    smallest = min(masks, key=int.bit_count)
    counts = {i: sum(m >> i & 1 for m in masks) for i in _members(smallest)}
    barred = 0
    for i in sorted(counts, key=lambda i: -counts[i]):
        # the sets that i does not meet, without the members tried before i
        left = [m & ~barred for m in masks if not m >> i & 1]
        if all(left) and not _costs(left, costs, budget - costs[i], count):
            return False
        barred |= 1 << i
    return True


def packing_bound(sets: Iterable[Iterable[int]], costs: Sequence[Any]) -> Any:
    """A bound that needs no search: what prices for the sets add up to."""
    return _packing([_mask(members) for members in sets], costs)


def _packing(masks: list[int], costs: Sequence[Any]) -> Any:
    """A lower bound: prices of the sets such that no member is paid more than its cost."""
    rest: dict[int, Any] = {}
    total: Any = 0
    for mask in sorted(masks, key=int.bit_count):
        members = _members(mask)
        price = min(rest.get(i, costs[i]) for i in members)
        if price > 0:
            total += price
            for i in members:
                rest[i] = rest.get(i, costs[i]) - price
    return total


# -- The least cost of a threshold on a line: there are few enough to look at all of them ---------


def least_line_cost(
    x: NDArray[np.float64], positive: NDArray[np.bool_], costs: Sequence[Any], *, offset: bool
) -> tuple[Any, float, Any]:
    """(cost, w, b) of a best rule w x + b > 0; a row on the threshold is wrong.

    With an offset a rule is a direction and a place between two neighbours, or a constant;
    without, only a direction, or 0, which is wrong everywhere.

    >>> import numpy as np
    >>> positive = np.array([False, True, False])
    >>> least_line_cost(np.array([-1.0, 1, 3]), positive, [1] * 3, offset=True)
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


# -- Bounds of the radius of the smallest ball that holds all rows, from a centre and shares alone
#
# From above   every centre c:              R <= max_i |x_i - c|
# From below   shares a_i >= 0 of sum 1:    R^2 >= sum_i a_i |x_i|^2 - |sum_i a_i x_i|^2
#              since any centre keeps a mean squared distance of at least that from the rows


Array = NDArray[np.float64]
_CHUNK = 1 << 20


def radius_bounds(X: Any, centre: Array, rows: NDArray[np.int64], shares: Array) -> Any:
    """(low, high) of R in floats, rounded outwards.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> low, high = radius_bounds(X, np.array([1.0]), np.array([0, 2]), np.array([0.5, 0.5]))
    >>> low < 1 < high, high - low < 1e-14
    (True, True)
    """
    rounding = (X.shape[1] + len(rows) + 8) * 2.0**-52
    high = float(np.sqrt(squared_distances(X, centre).max())) * (1 + rounding)
    block = _dense(X, rows) - centre
    a = shares / shares.sum()
    spread = float(a @ np.einsum("ij,ij->i", block, block))
    mean = a @ block
    low2 = spread * (1 - 4 * rounding) - float(mean @ mean) * (1 + 4 * rounding)
    low = float(np.sqrt(max(low2, 0.0))) * (1 - rounding)
    return low, max(high, low)


def squared_distances(X: Any, centre: Array) -> Array:
    """|x_i - c|^2 of all rows, in blocks."""
    n, d = X.shape
    out = np.empty(n)
    step = max(1, _CHUNK // max(1, d))
    for at in range(0, n, step):
        block = _dense(X, slice(at, at + step)) - centre
        out[at : at + step] = np.einsum("ij,ij->i", block, block)
    return out


def _dense(X: Any, rows: Any) -> Array:
    block = X[rows]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)


def exact_radius_bounds(
    X: Any, centre: Sequence[Fraction], rows: NDArray[np.int64], shares: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    """(low, high) of R^2 in rational numbers; equal when the ball is the smallest."""
    block = [[Fraction(v) for v in row] for row in _dense(X, slice(None)).tolist()]
    high = max(sum((v - c) ** 2 for v, c in zip(row, centre)) for row in block)
    if min(shares) < 0 or sum(shares) != 1:
        return Fraction(0), Fraction(high)
    chosen = [block[i] for i in rows.tolist()]
    mean = [sum(a * row[j] for a, row in zip(shares, chosen)) for j in range(len(centre))]
    low = sum(a * sum((v - m) ** 2 for v, m in zip(row, mean)) for a, row in zip(shares, chosen))
    return Fraction(low), Fraction(high)
