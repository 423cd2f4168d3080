"""A line cut into pieces of one class each: exactly for polynomials, by a search for others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError
from linsep.lift.polynomial import Polynomial
from linsep.lift.roots import between, polynomial_roots, sign_changes

__all__ = ["cuts_of", "exact_pieces", "merged", "part_of_line", "searched_pieces"]

Numbers = Callable[[NDArray[np.float64]], NDArray[np.intp]]
Piece = tuple[float, float, int]
"""From, to, and the number of the class; -1 for none."""


def part_of_line(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The ends as they are used: None for an infinite one."""
    left = -math.inf if low is None else float(low)
    right = math.inf if high is None else float(high)
    if not left < right:
        raise DataError(f"low is {left:g} and high is {right:g}; low must be below high.")
    return (None if math.isinf(left) else left), (None if math.isinf(right) else right)


def cuts_of(
    polynomials: Sequence[Polynomial], low: float | None, high: float | None
) -> list[float]:
    """Roots of the function, or of the differences between the classes, within the ends."""
    p = polynomials
    functions = p if len(p) == 1 else [a - b for k, a in enumerate(p) for b in p[:k]]
    roots = sorted({root for function in functions for root in polynomial_roots(function)})
    return [r for r in roots if (low is None or low < r) and (high is None or r < high)]


def exact_pieces(
    polynomials: Sequence[Polynomial], low: float | None, high: float | None
) -> list[Piece]:
    """The pieces between the roots, with the class at a rational point of each."""
    cuts = cuts_of(polynomials, low, high)
    ends = [-math.inf if low is None else low, *cuts, math.inf if high is None else high]
    numbers = [_number_at(polynomials, point) for point in _points(cuts, low, high)]
    return [(a, b, number) for (a, b), number in zip(pairwise(ends), numbers)]


def searched_pieces(numbers: Numbers, low: float, high: float) -> list[Piece]:
    """The pieces between the changes of class that a grid shows."""
    lefts = [a for a, _ in sign_changes(numbers, low, high)]
    found = numbers(np.array([*lefts, high])).tolist()
    return [(a, b, int(k)) for (a, b), k in zip(pairwise([low, *lefts, high]), found)]


def merged(pieces: Sequence[Piece], classes: Sequence[Any]) -> list[tuple[float, float, Any]]:
    """Neighbours of the same class together, with the class instead of its number."""
    out: list[tuple[float, float, Any]] = []
    for a, b, number in pieces:
        label = None if number < 0 else classes[number]
        if out and out[-1][2] == label:
            out[-1] = (out[-1][0], float(b), label)
        else:
            out.append((float(a), float(b), label))
    return out


def _number_at(polynomials: Sequence[Polynomial], point: Fraction) -> int:
    values = [p.exact([point]) for p in polynomials]
    return int(values[0] >= 0) if len(values) == 1 else values.index(max(values))


def _points(cuts: list[float], low: float | None, high: float | None) -> list[Fraction]:
    """A point in each interval between the ends and the cuts."""
    inner = between(cuts)
    first, last = (cuts[0], cuts[-1]) if cuts else (None, None)
    if low is not None:
        right = first if first is not None else low + 1 if high is None else high
        inner[0] = (Fraction(low) + Fraction(right)) / 2
    if high is not None:
        left = last if last is not None else high - 1 if low is None else low
        inner[-1] = (Fraction(high) + Fraction(left)) / 2
    return inner
