"""Products that are split without loss, and their sums, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from linsep.numerics.rounding import (
    LOST,
    SPLITTABLE,
    rounded_once,
    split_product,
    sum_of_pairs,
)


def numbers(seed, low, high):
    r = np.random.default_rng(seed)
    return r.standard_normal(200) * 10.0 ** r.uniform(low, high, 200)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("powers", [(-8, 8), (-100, 100), (-139, 139)])
def test_a_split_product_is_the_product(seed, powers):
    a, b = numbers(seed, *powers), numbers(seed + 10, *powers)
    first, second = split_product(a, b)
    for p, q, u, v in zip(first.tolist(), second.tolist(), a.tolist(), b.tolist()):
        assert abs(Fraction(p) + Fraction(q) - Fraction(u) * Fraction(v)) <= Fraction(LOST)


def test_the_largest_numbers_do_not_overflow():
    first, second = split_product(np.array([SPLITTABLE]), np.array([-SPLITTABLE]))
    assert np.isfinite(first).all() and np.isfinite(second).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_that_cancels_is_rounded_once(seed):
    a, b = numbers(seed, -8, 8), numbers(seed + 10, -8, 8)
    a, b = np.append(a, a), np.append(b, -b * (1 + 2.0**-40))
    true = sum(Fraction(u) * Fraction(v) for u, v in zip(a.tolist(), b.tolist()))
    assert sum_of_pairs(*split_product(a, b)) == float(true)


@pytest.mark.parametrize("n", [3, 257, 5000])
@pytest.mark.parametrize("spread", [0, 30, 300])
def test_many_numbers_are_added_as_by_fsum(n, spread):
    rng = np.random.default_rng(n + spread)
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-spread, min(spread, 100), size=n)
    x[1::3] = -x[: len(x[1::3])]  # some cancel
    for some in (x, np.abs(x), np.zeros(n), x[::-2]):
        assert rounded_once(some) == math.fsum(some)
    assert np.isnan(rounded_once(np.append(x, np.nan)))
    assert rounded_once(np.append(x, np.inf)) == np.inf
