"""Certificates of all linear rules name the same margins, and mean the same by them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linsep

RULES = [
    linsep.Perceptron(max_iter=50),
    linsep.Kozinec(max_iter=200),
    linsep.LeastSquares(),
    linsep.HoKashyap(max_iter=50),
    linsep.LogisticRegression(),
    linsep.LogisticRegression(C=np.inf, solver="gradient", max_iter=20),
    linsep.LinearSVM(),
    linsep.LinearSVM(loss="squared_hinge", fit_intercept=False),
]


def tables():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, 0.0]
    return {"separable": (X, X[:, 0] + 0.2 * X[:, 1] > 1.0), "noisy": (X, rng.random(60) < 0.5)}


@pytest.mark.parametrize("name", ["separable", "noisy"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: repr(rule).replace("\n", " "))
def test_margins_are_what_their_names_say(rule, name, tmp_path):
    X, y = tables()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rule.fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    values = np.where(y, 1, -1) * (X @ w + b)
    found = model.certificate_
    near = {"rel": 1e-9, "abs": 1e-9}
    assert found.functional_margin == pytest.approx(values.min(), **near)
    assert found.margin == pytest.approx(values.min() / np.linalg.norm(w), **near)
    assert found.margin_aug == pytest.approx(values.min() / np.linalg.norm([*w, b]), **near)
    if hasattr(found, "words"):  # of a machine: the street between f = -1 and f = 1
        assert found.width == pytest.approx(2 / np.linalg.norm(w))
    else:
        assert found.width == pytest.approx(2 * max(found.margin, 0.0), **near)
    assert np.isfinite(found.objective)
    if isinstance(rule, (linsep.Perceptron, linsep.Kozinec, linsep.HoKashyap)):
        assert found.objective == pytest.approx(np.maximum(-values, 0).sum(), **near)
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json").certificate_
    assert (again.functional_margin, again.margin_aug) == (
        found.functional_margin,
        found.margin_aug,
    )


def test_three_classes():
    rng = np.random.default_rng(5)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 3 * np.eye(3)[y][:, :2]
    model = linsep.LogisticRegression().fit(X, y)
    scores = model.decision_function(X)
    own = scores[np.arange(90), y].copy()
    scores[np.arange(90), y] = -np.inf
    least, softmax = (own - scores.max(axis=1)).min(), model.certificate_
    assert softmax.functional_margin == pytest.approx(least)
    size = np.linalg.norm([*model.coef_.ravel(), *model.intercept_])
    assert softmax.margin_aug == pytest.approx(least / size)
    rest = linsep.LinearSVM().fit(X, y).certificate_
    assert rest.functional_margin == min(part.functional_margin for part in rest.parts)
    assert rest.margin_aug == min(part.margin_aug for part in rest.parts)
    kernel = linsep.KernelSVM().fit(X, y).certificate_
    assert kernel.margin_aug is None  # a curve has no augmented space of its own
