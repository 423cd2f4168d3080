"""What is written with arrays and as a loop for machine code has the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from linsep.core import compile as compiling
from linsep.rows import hinge, logistic
from linsep.rows.reader import in_order

N, D = 203, 6


@pytest.fixture(params=[np.float64, np.float32])
def block(request):
    rng = np.random.default_rng(11)
    X = (rng.standard_normal((N, D)) * 10.0 ** rng.integers(-3, 3, D)).astype(request.param)
    sign = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    return X, sign, rng.random(N) + 0.01, rng.standard_normal(N).astype(request.param) * 3


def both(forms, *makers):
    """Arrays that the two forms have filled, as bytes."""
    found = []
    for form in forms:
        arrays = [make() for make in makers]
        found.append((form(*arrays), *(array.tobytes() for array in arrays)))
    return found


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(
    ("h", "form"), [(0.4, (0.0, 1.0)), (1e-9, (0.0, 1.0)), (0.0, (0.5, np.inf)), (0.0, (0.2, 1.0))]
)
def test_hinge_losses(block, h, form, centred):
    X, sign, cost, scores = block
    center = np.linspace(0.0, 1.0, N) if centred else np.empty(0)

    bands = [np.empty(N + 1, np.int64) for _ in range(2)]

    def of(bend, band):
        return lambda u, zy, zp, sums: bend(
            scores, sign, cost, center, 0.3, h, form, u, zy, zp, band, sums
        )

    found = both(
        [of(hinge.bend_block, bands[0]), of(hinge._machine_bend, bands[1])],
        lambda: np.empty(N),
        *[lambda: np.empty(N, X.dtype)] * 2,
        lambda: np.full(hinge.N_SUMS, 0.1),
    )
    assert found[0] == found[1]
    k = found[0][0]
    assert (bands[0][:k] == bands[1][:k]).all()


@pytest.mark.parametrize("even", [False, True])
def test_curvature_of_hinge_losses(block, even):
    X, _, cost, scores = block
    cost = np.full(N, 0.7) if even else cost
    band = np.flatnonzero(np.abs(scores) < 2.0)

    def of(form):
        return lambda curved, root, out: form(
            X, cost, even, band, len(band), curved, root, out, True
        )

    one, other = both(
        [of(hinge.add_curvature), of(hinge._machine_curvature)],
        lambda: np.zeros((N, D), X.dtype),
        lambda: np.zeros(N, X.dtype),
        lambda: np.full((D + 1, D + 1), 0.1),
    )
    assert one == other


def test_logistic_losses(block):
    X, sign, cost, scores = block
    scores = scores * np.float64([1, 1, 40, 400])[np.arange(N) % 4]  # far beyond exp(-708)

    def of(form):
        return lambda m, e, z, log, signed, sums: form(
            scores, sign, cost, -0.2, m, e, z, log, signed, sums
        )

    forms = [of(logistic.add_block), of(logistic._machine_add_block)]
    makers = [lambda: np.empty(N)] * 4
    signed, sums = lambda: np.empty(N, X.dtype), lambda: np.full(logistic.N_SUMS, 0.1)
    one, other = both(forms, *makers, signed, sums)
    assert one == other
    m = sign * (scores.astype(float) - 0.2)
    np.testing.assert_allclose(np.frombuffer(one[2]), np.exp(-np.minimum(abs(m), 708)), rtol=1e-15)


@pytest.mark.parametrize("offset", [False, True])
def test_roots_of_curvature(block, offset):
    X, _, cost, scores = block
    e = np.exp(-np.abs(scores.astype(float)))
    one, other = both(
        [lambda out, f=f: f(e, cost, out) for f in (logistic.roots, logistic._machine_roots)],
        lambda: np.empty(N),
    )
    assert one == other
    forms = (logistic.times_roots, logistic._machine_times_roots)
    one, other = both(
        [lambda out, f=f: f(X, cost, out, offset) for f in forms],
        lambda: np.zeros((N, D + 1), X.dtype),
    )
    assert one == other


def test_sums_are_those_of_a_loop():
    values = np.random.default_rng(2).standard_normal(1000) * 1e8
    total = 0.0
    for value in values:
        total += value
    assert in_order(values) == total != values.sum()


def test_a_first_machine_of_middling_size_compiles_nothing(monkeypatch):
    """20000 x 20: arrays are enough, whatever is on the disk; a pass in Python would be seconds."""
    from linsep import LinearSVM, LogisticRegression

    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000, 20))
    y = X @ rng.standard_normal(20) + rng.logistic(size=len(X)) > 0
    made: list[str] = []
    monkeypatch.setattr(compiling, "_kept", frozenset)
    monkeypatch.setattr(compiling, "_spent_before", dict)
    monkeypatch.setattr(compiling, "has_numba", lambda: made.append("numba"))
    for routine in (hinge.fused, logistic.fused, logistic.curve):
        monkeypatch.setattr(routine, "_ready", {})
        monkeypatch.setattr(routine, "_spent", {})
    for model in (LinearSVM(), LogisticRegression()):
        assert model.fit(X, y).certificate_.relative_gap < 1e-3
    assert not made
