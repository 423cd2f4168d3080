"""Perceptrons and Kozinec's rule against plain code and against other libraries."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.svm import SVC

import linsep
from linsep.core.order import permutation, with_replacement
from linsep.core.protocol import Status
from linsep.errors import NotSeparatedWarning, SettingError

quiet = pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")


def data(seed, n=30, d=3, distance=0.7, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return rng.normal(size=(n, d)) + distance * y[:, None], y


def naive(X, y, order, passes, *, eta=lambda k: 1.0, seed=0):
    """The single-sample rule as a lecture writes it: (a, updates, visits, sum of weights)."""
    Z = np.column_stack([X, np.ones(len(X))]) * np.where(y == y.max(), 1.0, -1.0)[:, None]
    a, updates, visits, total, clean = np.zeros(Z.shape[1]), 0, 0, np.zeros(Z.shape[1]), 0
    position, epoch = 0, 0
    rows = np.arange(len(X))
    while visits < passes * len(X):
        if position == 0 and order in ("shuffle", "random"):
            draw = permutation if order == "shuffle" else with_replacement
            rows = draw(seed, epoch, len(X))
        z = Z[rows[position]]
        position, visits = position + 1, visits + 1
        value = z @ a
        if value <= 0:
            updates += 1
            a = a + eta(updates) * z
            clean = 0
            if order == "restart":
                position = 0
        else:
            clean += 1
        total += a
        if position == len(X):
            position, epoch = 0, epoch + 1
        if clean >= len(X) and (Z @ a > 0).all():
            break
    return a, updates, visits, total / visits


@quiet
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from(["cyclic", "shuffle", "random", "restart"]),
    distance=st.sampled_from([0.0, 1.0, 6.0]),
    decay=st.sampled_from(["constant", "inverse", "square"]),
)
def test_single_sample_rule_against_plain_code(seed, order, distance, decay):
    X, y = data(seed, distance=distance)
    function = {"constant": lambda k: 1.0, "inverse": lambda k: 1 / k, "square": lambda k: k**-0.5}
    model = linsep.Perceptron(
        order=order,
        keep="last",
        decay=function["square"] if decay == "square" else decay,
        max_iter=7,
        random_state=5,
    )
    model.fit(X, y)
    a, updates, visits, _ = naive(X, y, order, 7, eta=function[decay], seed=5)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], a, rtol=1e-9, atol=1e-9)
    assert (model.n_updates_, model.outcome_.state.n_visits) == (updates, visits)


@quiet
@pytest.mark.parametrize("seed", range(5))
def test_average_is_the_mean_over_all_visits(seed):
    X, y = data(seed)
    model = linsep.Perceptron(keep="average", order="shuffle", random_state=2, max_iter=9)
    model.fit(X, y)
    if model.status_ is not Status.SEPARATED:
        mean = naive(X, y, "shuffle", 9, seed=2)[3]
        np.testing.assert_allclose([*model.coef_[0], *model.intercept_], mean, rtol=1e-9)


@quiet
@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_weights_as_scikit_learn(passes, dtype):
    X, y = data(1, n=200, d=6)
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = ScikitPerceptron(max_iter=passes, tol=None, shuffle=False).fit(X, y)
    model = linsep.Perceptron(max_iter=passes, keep="last").fit(X, y)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4  # scikit-learn keeps float32 weights
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=tolerance)


@quiet
@pytest.mark.parametrize("seed", range(6))
def test_pocket_never_keeps_more_errors_than_the_best_iterate(seed):
    X, y = data(seed, n=40, distance=0.5)
    run = linsep.trace(linsep.Perceptron(order="random", random_state=seed, max_iter=20), X, y)
    model = linsep.Perceptron(order="random", random_state=seed, max_iter=20, keep="pocket")
    model.fit(X, y)
    assert model.certificate_.errors == min(len(step.errors) for step in run)


@pytest.mark.parametrize("seed", range(8))
def test_kozinec_finds_the_plane_of_the_svm(seed):
    X, y = data(seed, n=60, d=4, distance=6.0)
    model = linsep.Kozinec(eps=1e-7).fit(X, y)
    peer = SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y)
    margin = 1 / np.linalg.norm(peer.coef_)
    certificate = model.certificate_
    assert certificate.margin_low <= margin * (1 + 1e-6)
    assert certificate.margin_high >= margin * (1 - 1e-6)
    assert certificate.gap <= 1e-7 + 1e-12


@pytest.mark.parametrize("classes", [3, 5])
def test_kozinec_and_perceptron_separate_many_classes(classes):
    rng = np.random.default_rng(classes)
    y = np.arange(60) % classes
    angles = 2 * np.pi * y / classes
    X = 8 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(size=(60, 2)) / 2
    for model in (linsep.Perceptron(), linsep.Kozinec(), linsep.Kozinec(eps=None, steps="plain")):
        model.fit(X, y)
        assert model.certificate_.separable is True
        assert model.score(X, y) == 1.0
        scores = X @ model.coef_.T + model.intercept_
        own = scores[np.arange(60), y]
        gaps = [
            (own[i] - scores[i, r]) / np.linalg.norm(model.coef_[y[i]] - model.coef_[r])
            for i in range(60) for r in range(classes) if r != y[i]
        ]  # fmt: skip
        assert model.certificate_.margin == pytest.approx(min(gaps), rel=1e-9)


def test_novikoff_bound_ends_a_hopeless_run():
    X, y = data(3, n=50, distance=0.3)
    model = linsep.Perceptron(min_margin=0.3, order="shuffle", max_iter=10_000).fit(X, y)
    assert model.status_ is Status.BOUND_EXCEEDED
    radius2 = (X**2).sum(axis=1).max() + 1
    assert model.n_updates_ == int(radius2 / 0.3**2) + 1


def test_patience_ends_a_run_that_does_not_improve():
    X, y = data(4, n=50, distance=0.3)
    model = linsep.Perceptron(keep="pocket", order="shuffle", patience=10, max_iter=10_000)
    with pytest.warns(NotSeparatedWarning, match="PATIENCE"):
        model.fit(X, y)
    assert model.status_ is Status.PATIENCE


@quiet
def test_weights_of_integers_equal_repeated_rows_in_the_batch_rule():
    X, y = data(5)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    times[:2] = 1
    first = linsep.Perceptron(update="batch", max_iter=13).fit(X, y, sample_weight=times)
    second = linsep.Perceptron(update="batch", max_iter=13).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-9)


@pytest.mark.parametrize("update", ["single", "batch"])
def test_the_run_ends_once_the_pocket_makes_few_enough_errors(update):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    fewest = linsep.risk.minimum_errors(X, y).errors
    model = linsep.Perceptron(update=update, keep="pocket", target_errors=fewest + 8).fit(X, y)
    assert model.status_ is Status.ENOUGH and model.status_.ok
    assert fewest <= (model.predict(X) != y).sum() <= fewest + 8
    with pytest.raises(SettingError, match="it watches the pocket"):
        linsep.Perceptron(update=update, target_errors=3).fit(X, y)
