"""Numbers of the lectures on lifting: G6, G10, and their errata."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import linsep
from linsep.lift import Lift

XOR = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
LABELS = np.array([-1, 1, -1, 1])


def test_xor_map_and_the_perceptron_behind_it():
    lift = Lift("x1, x2, (x1-x2)**2")
    rows = lift.fit_transform(XOR)
    assert rows.tolist() == [[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]]
    run = linsep.trace(linsep.Perceptron(), rows, LABELS)
    weights = [[step.intercept, *step.coef.tolist()] for step in run[1:]]
    assert weights == [[-1, 0, 0, 0], [0, 1, 0, 1], [-1, 0, -1, 1], [0, 0, 0, 2], [-1, 0, 0, 2]]
    assert [step.row for step in run[1:]] == [0, 1, 2, 3, 0]
    assert run.outcome.visits == 9
    whole = linsep.trace(make_pipeline(lift, linsep.Perceptron()), XOR, LABELS)
    assert whole.feature_names == ["x1", "x2", "(x1-x2)**2"]
    assert [step.coef.tolist() for step in whole] == [step.coef.tolist() for step in run]


def test_preimage_of_the_plane_of_xor_is_one_over_root_two():
    lift = Lift("x1, x2, (x1-x2)**2").fit(XOR)
    f = lift.pullback(([0, 0, 1.0], -0.5))
    assert f.polynomial == {"x1**2": 1.0, "x1*x2": -2.0, "x2**2": 1.0, "1": -0.5}
    lines = f.contour((-1, 2), (-1, 2))
    differences = np.concatenate([line[:, 0] - line[:, 1] for line in lines])
    np.testing.assert_allclose(np.abs(differences), np.sqrt(0.5), rtol=1e-12)
    assert len(lines) == 2
    quarter = lift.pullback(([0, 0, 1.0], -0.25))
    assert (f.predict(XOR) == LABELS).all()
    assert (quarter.predict(XOR) == LABELS).all()
    np.testing.assert_allclose(quarter([[0.5, 0.0], [0.0, 0.5]]), 0.0, atol=1e-16)


def test_without_offset_the_zero_row_is_never_learned():
    rows = Lift("x1, x2, (x1-x2)**2").fit_transform(XOR)
    assert linsep.separability(rows, LABELS, fit_intercept=False).separable is False


def test_function_of_the_lifted_line():
    f = Lift("x, x**2 - 1").fit([[-1.0], [1.0]]).pullback(([-1.5, 3.12], 3.0))
    assert f.polynomial == pytest.approx({"x**2": 3.12, "x": -1.5, "1": -0.12})
    np.testing.assert_allclose(f.roots(), [-0.069851, 0.550620], atol=5e-7)
    assert [label for _, _, label in f.intervals()] == [1, -1, 1]


@pytest.mark.parametrize("r", [0.6, 1.0, 2.0])
def test_which_lift_is_faster_depends_on_the_data(r):
    """Of 30 sets of 20 points, the shifted square wins neither always nor never; G10."""
    rng = np.random.default_rng(7)
    shifted, bounds = 0, True
    for _ in range(30):
        inner, outer = rng.uniform(0, 0.9 * r, 10), rng.uniform(1.1 * r, 2 * r, 10)
        X = (np.concatenate([inner, outer]) * rng.choice([-1, 1], 20))[:, None]
        y = np.repeat([-1, 1], 10)
        order = rng.permutation(20)
        found = linsep.lift.compare(["x, x**2", "x, x**2 - 1"], X[order], y[order])
        shifted += found[1].updates < found[0].updates
        bounds &= all(row.updates <= row.bound for row in found.rows)
    assert bounds
    assert (shifted < 15) if r == 0.6 else (shifted > 15)
