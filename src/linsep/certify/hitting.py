"""How much it costs at least to take one member out of every set.

A branch-and-bound search in whole numbers or fractions that shares nothing with the search
whose claim it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

__all__ = ["hits_cost_at_least", "packing_bound"]


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
