"""The set of all separators: rays, interval, bounds, and whether weights belong to it."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.errors import LabelError


def test_the_two_points_of_lecture_002():
    table = linsep.data.load("two-separators")
    found = linsep.separators(table.X, table.y)
    assert found and found.interval == (-1, 1)  # y = m x + b with -1 < b < 1, any m
    assert found.rays.tolist() == [[0, 1, -1], [0, 1, 1]] and found.lines.tolist() == [[1, 0, 0]]
    assert found.bounds.tolist() == [[-1, 1], [0, 1], [-1, 1]]
    assert "strictly between -1 and 1" in str(found)
    for m in (-7, 0, Fraction(1, 3)):
        assert found.contains([-m, 1], Fraction(-999, 1000)) and not found.contains([-m, 1], -1)
    assert not found.contains([1, 0], 0)  # an upright line
    assert found.contains(linsep.Linear([3, 2], 1))


def test_thresholds_of_one_feature():
    found = linsep.separators([[1.0], [2.0], [-1.0], [4.5]], ["no", "yes", "no", "yes"])
    assert found.interval == (1, 2) and len(found.rays) == 2
    assert sorted(found.rays.tolist()) == [[1, -2], [1, -1]]
    turned = linsep.separators([[0.25], [3.0]], [1, 0])
    assert turned.interval == (Fraction(1, 4), 3) and turned.bounds[0].tolist() == [-1.0, 0.0]


def test_no_separator_of_xor_and_the_five_points():
    for name in ("xor", "five-points"):
        found = linsep.separators(*linsep.data.load(name))
        assert not found and found.separable is False and found.interval is None
        assert "no plane separates" in str(found) and not found.contains([1, 1], 0)
    assert len(found.rays) == 0  # a = 0 is the only a with Ya >= 0 (G3)


def test_through_the_origin_only():
    X, y = [[1.0], [2.0]], [-1, 1]
    assert linsep.separators(X, y) and not linsep.separators(X, y, fit_intercept=False)
    found = linsep.separators([[1.0, 0.0], [0.0, 1.0]], [1, 0], fit_intercept=False)
    assert found.rays.tolist() == [[0, -1, 0], [1, 0, 0]] and not found.contains([1, -1], 1)


def test_an_open_end():
    found = linsep.separators([[0, 0], [0, 5], [3, 1]], [0, 0, 1])
    assert found.interval is None  # lines of both slopes separate
    with pytest.raises(LabelError, match="3 classes"):
        linsep.separators([[0], [1], [2]], [0, 1, 2])
    high = linsep.separators([[0, 0], [1, 1]], [0, 1])
    assert high.interval is None and high.contains([1, 1], -1)
    up = linsep.separators([[-1, 0], [1, 0], [0, 5]], [0, 0, 1])
    assert up.interval == (0, 5) and inf not in up.interval


@given(st.integers(1, 3), st.integers(2, 9), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_sums_of_rays_separate_and_the_verdict_is_that_of_the_judge(d, n, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, size=(n, d)), np.arange(n) % 2
    found = linsep.separators(X, y)
    proof = linsep.separability(X, y)
    assert found.separable == proof.separable
    Z = np.column_stack([X, np.ones(n, int)]) * (2 * y - 1)[:, None]
    if len(found.rays):
        assert (Z @ found.rays.T >= 0).all()
    if len(found.lines):
        assert not (Z @ found.lines.T).any()
    if not found:
        return
    weights = rng.integers(1, 9, len(found.rays)) @ found.rays
    weights = weights + rng.integers(-5, 6, len(found.lines)) @ found.lines
    assert found.contains(weights[:-1], weights[-1])
    coef, offset = np.asarray(proof.coef, float).ravel(), float(proof.intercept)
    assert found.contains(coef, offset)
    # every separator is a sum of the rays and lines
    A = np.vstack([found.rays, found.lines, -found.lines]).T.astype(float)
    from scipy.optimize import nnls

    target = np.append(coef, offset)
    assert nnls(A, target)[1] <= 1e-8 * np.abs(target).max()
    scaled = target / np.abs(target).max()
    assert (scaled >= found.bounds[:, 0] - 1e-9).all() and (
        scaled <= found.bounds[:, 1] + 1e-9
    ).all()
    if found.interval is not None:
        low, high = found.interval
        assert low <= -Fraction(offset) / Fraction(coef[-1]) <= high


def test_many_features_have_bounds_and_no_rays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 15))
    found = linsep.separators(X, X[:, 0] > 0)
    assert found and found.rays is None and found.bounds.shape == (16, 2)
    assert found.contains(np.eye(15)[0], 0.0)
