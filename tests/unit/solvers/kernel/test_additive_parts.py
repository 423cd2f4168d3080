"""The parts AdditiveSVM is made of: a source of rows, blocks in bytes, sets in sets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import linsep
from linsep.core import drive
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import GapWarning
from linsep.kernels import Intersection, PowerMean
from linsep.kernels.additive import Levels
from linsep.solvers.kernel import additive_rows as additive_blocks
from linsep.solvers.kernel.additive_rows import (
    AdditiveRows,
    _entries,
    _unit,
    kernel_block,
    share_squares,
)
from linsep.solvers.kernel.smo import SMO
from linsep.solvers.kernel.working_set import movable, solve_set


def noise(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 1.0, (n, d)), rng.integers(0, 2, n)


# -- blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1.0, 2.0, 7.0], 1.0),
        ([3.0, 6.0, 21.0], 3.0),
        (np.arange(1, 256, dtype=np.float32) / np.float32(255), 1 / 255),
        ([0.1, 0.25], None),  # multiples of 0.05, but no gap says so
        ([1.0, 1.5, 1000.0], None),
        (np.arange(1.0, 300.0), None),
        (np.sqrt(np.arange(1.0, 9.0)), None),
        ([], None),
    ],
)
def test_the_unit_of_whole_multiples(values, unit):
    got = _unit(np.asarray(values, dtype=np.float64))
    assert got is None if unit is None else got == pytest.approx(unit, rel=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_minima_in_bytes_are_exact(share):
    """Rows with more entries than 16 bits hold the sum of, and not a multiple of four."""
    rng = np.random.default_rng(0)
    X = rng.integers(200, 256, (70, 1027)).astype(float) / 4
    X[rng.random(X.shape) > share] = 0.0
    levels = Levels(X, -np.inf)
    assert _entries(levels, short=True)[0].dtype == np.uint8
    new, rows = np.array([3, 69, 0]), np.arange(66)
    want = np.minimum(X[new, None], X[None, rows]).sum(axis=2)
    np.testing.assert_array_equal(kernel_block(levels, new, rows, short=True), want)
    np.testing.assert_allclose(kernel_block(levels, new, rows), want, rtol=1e-14)


@pytest.mark.parametrize("p", [-np.inf, -1.0, -2.0, 0.0])
@pytest.mark.parametrize("short", [True, False])
def test_a_square_is_made_by_halves(p, short):
    X, _ = noise(300, 5)
    rows, more = np.arange(300), np.arange(300)
    square = kernel_block(Levels(X, p), rows, rows, short=short)
    np.testing.assert_allclose(
        square, kernel_block(Levels(X, p), rows, more, short=short), rtol=1e-6
    )
    np.testing.assert_allclose(square, square.T, rtol=1e-6)


def test_squares_are_read_from_the_shared_matrix():
    X, _ = noise(80, 5)
    levels, rows = Levels(X, -1.0), np.array([5, 1])
    plain = kernel_block(levels, rows, np.arange(80))
    share_squares(levels)
    levels.operations = 0
    np.testing.assert_array_equal(kernel_block(levels, rows, np.arange(80)), plain)
    assert levels.operations == 0


def test_a_kernel_matrix_of_many_rows_is_not_made():
    levels = Levels(np.ones((4097, 1)), -np.inf)
    share_squares(levels)
    kernel_block(levels, np.arange(2), np.arange(2))
    assert levels.operations > 0


@pytest.mark.parametrize("p", [-np.inf, -1.0, -2.0])
def test_a_source_of_rows_is_what_a_gram_matrix_says(p):
    X, _ = noise(90, 4)
    K = PowerMean(p).gram(X)
    source, rows = AdditiveRows(Levels(X, p), True), np.array([7, 80, 3])
    np.testing.assert_allclose(source.square(rows), K[np.ix_(rows, rows)], rtol=1e-6)
    whole, f = np.zeros((96, 96)), np.ones(90)
    source.whole(whole)
    np.testing.assert_allclose(whole[:90, :90], K, rtol=1e-7)
    read = source.add(f, rows, np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose(f, 1 + K[:, rows] @ [1.0, -2.0, 0.5], rtol=1e-11)
    assert read == 93  # a pass over all, and the rows that changed


def test_rough_squares_do_not_reach_the_scores(monkeypatch):
    """Squares that are off by a thousandth cost rounds; f is that of the variables all the same."""
    X, y = noise(300, 5)
    right = additive_blocks.kernel_block

    def off(levels, new, rows, **kept):
        K = right(levels, new, rows, **kept)
        return K * (1 + 1e-3 * np.cos(new[:, None] + rows))

    monkeypatch.setattr(additive_blocks, "kernel_block", off)
    outcome = drive(Problem(X, y), SMO(PowerMean(-1.0), 1.0, 1e-6, 1e-6, q=64, by_features=True))
    part, sign = outcome.state.parts[0], np.where(y == 1, 1.0, -1.0)
    want = PowerMean(-1.0).gram(X) @ (part.alpha * sign) - sign
    np.testing.assert_allclose(part.f, want, atol=1e-9)
    assert outcome.status is Status.CERTIFIED


def test_classes_agree_with_and_without_a_shared_matrix(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400] % 3
    shared = linsep.AdditiveSVM().fit(X, y)
    monkeypatch.setattr(additive_blocks, "_SHARED", 399 * 399 * 4)
    alone = linsep.AdditiveSVM().fit(X, y)
    best = max(shared.certificate_.lower_bound, alone.certificate_.lower_bound)
    assert max(shared.certificate_.objective, alone.certificate_.objective) <= best * 1.0011


# -- sets -----------------------------------------------------------------------------------------


def gram_of(X, p=-np.inf):
    rows = np.arange(len(X))
    return kernel_block(Levels(X, p), rows, rows)


def test_a_large_set_is_solved_in_smaller_ones():
    X, label = noise(640, 4)
    K, y = gram_of(X), np.where(label == 1, 1.0, -1.0)
    top, a, f = np.full(640, 0.5), np.zeros(640), -y.copy()
    taken = solve_set(K, y, top, a, f, 1e-3, 10**6)
    assert 0 < taken < 10**6
    np.testing.assert_allclose(f, K @ (a * y) - y, atol=1e-9)
    up, low = movable(y, top, a)
    assert f[low].max() - f[up].min() <= 1e-3
    assert abs(float(a @ y)) < 1e-10 and (a >= 0).all() and (a <= top).all()


# -- huge C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [-np.inf, -1.0, -0.5])
def test_contradicting_labels_at_a_huge_cost(p):
    """Pairs of variables would need millions of steps."""
    X, y = noise(80, 5)
    model = linsep.AdditiveSVM(p, C=1e5, tol=1e-3).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    assert linsep.certify(model, X, y).relative_gap <= 1e-3


def test_the_proof_does_not_lose_digits_with_the_number_of_values():
    X, y = noise(400, 5)
    outcome = drive(Problem(X, y), SMO(Intersection(), 1e3, 1e-8, 1e-8, by_features=True))
    assert outcome.state.gap <= 1e-8
    model = linsep.AdditiveSVM(C=1e3, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6


# -- callbacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["intersection", "chi2", "hellinger"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_callbacks(kernel, classes):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150] % classes

    class Monitor:
        def __init__(self):
            self.calls = []

        def setup(self, estimator, context):
            self.calls.append("setup")

        def teardown(self, estimator, context):
            self.calls.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.calls.append(context.task_name)
            assert fitted_estimator.predict(X).shape == (150,)

    monitor = Monitor()
    model = linsep.AdditiveSVM(kernel, callbacks=[monitor]).fit(X, y)
    assert model.status_.ok
    assert monitor.calls[0] == "setup" and monitor.calls[-1] == "teardown"
    assert len(monitor.calls) > 3


def test_a_strange_callback_is_refused():
    X, y = noise(20, 2)
    with pytest.raises(TypeError, match="callbacks holds 3"):
        linsep.AdditiveSVM(callbacks=[3]).fit(X, y)


def test_a_warning_names_the_line_that_called_fit():
    X, y = noise(200, 3)
    with pytest.warns(GapWarning, match="STEP_LIMIT") as caught:
        linsep.AdditiveSVM(C=100, max_iter=1, tol=1e-9).fit(X, y)
    assert caught[0].filename == __file__
