"""Mean loss on data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, zero_one_loss

import linsep
from linsep.errors import DataError, LabelError, ModelError, SettingError
from linsep.risk import counted_margin, empirical_risk

pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20)


@given(pairs)
def test_errors_are_those_of_scikit_learn(rows):
    predicted, y = map(np.array, zip(*rows))
    risk = empirical_risk(predicted, y)
    assert risk == pytest.approx(zero_one_loss(y, predicted))
    assert risk.errors == (predicted != y).sum()
    if len(risk.classes) > 1:
        assert (risk.counts == confusion_matrix(y, predicted).T).all()


@given(pairs, st.lists(st.floats(-5, 5), min_size=9, max_size=9), st.integers(0, 10**6))
def test_any_loss_and_weights_by_a_plain_sum(rows, numbers, seed):
    predicted, y = map(np.array, zip(*rows))
    W = np.array(numbers).reshape(3, 3)
    s = np.random.default_rng(seed).random(len(y)) + 0.01
    risk = empirical_risk(predicted, y, loss=W, labels=[0, 1, 2], sample_weight=s)
    total = sum(w * W[d, k] for w, d, k in zip(s, predicted, y))
    assert risk == pytest.approx(total / s.sum(), abs=1e-12)


def test_models_of_any_library_and_order_of_the_classes():
    X, y = linsep.data.load("five-points")
    model = LogisticRegression().fit(X, y)
    wrong = model.predict(X) != y
    assert empirical_risk(model, X, y) == pytest.approx(wrong.mean())
    dear = empirical_risk(model, X, y, loss=[[0, 7], [1, 0]])
    missed = wrong & (np.asarray(y) == 1)
    assert dear == pytest.approx((wrong.sum() + 6 * missed.sum()) / 5)
    swapped = empirical_risk(model, X, y, loss=[[0, 1], [7, 0]], labels=[1, -1])
    assert swapped == pytest.approx(dear)


def test_reject_has_a_row_of_its_own():
    loss = [[0, 1], [1, 0], [0.25, 0.25]]
    assert empirical_risk(["a", "reject", "b"], ["a", "b", "a"], loss=loss) == pytest.approx(
        1.25 / 3
    )
    assert empirical_risk([1, -1, 2], [1, 2, 1], loss=loss) == pytest.approx(1.25 / 3)
    named = pd.DataFrame(loss, index=["a", "b", "?"], columns=["a", "b"])
    assert empirical_risk(["a", "?", "b"], ["a", "b", "a"], loss=named) == pytest.approx(1.25 / 3)
    asked = empirical_risk([1, 9, 2], [1, 2, 1], loss=loss, reject_label=9)
    assert asked == pytest.approx(1.25 / 3)


def test_intervals_cover_the_risk():
    rng = np.random.default_rng(0)
    inside = {"exact": 0, "bounded": 0}
    W = np.array([[0.0, 1.0], [0.5, 0.0]])
    for _ in range(300):
        y = rng.random(40) < 0.5
        predicted = np.where(rng.random(40) < 0.3, ~y, y)
        a = empirical_risk(predicted, y, labels=[False, True], confidence=0.9).interval
        b = empirical_risk(predicted, y, loss=W, labels=[False, True], confidence=0.9).interval
        inside["exact"] += a[0] <= 0.3 <= a[1]
        inside["bounded"] += b[0] <= 0.3 * 0.75 <= b[1]
    assert inside["exact"] >= 0.9 * 300 and inside["bounded"] >= 0.9 * 300


def test_interval_with_weights_is_wider():
    y = np.arange(40) % 2
    even = empirical_risk(y, y, confidence=0.95, sample_weight=np.ones(40)).interval
    skew = empirical_risk(y, y, confidence=0.95, sample_weight=np.arange(40.0)).interval
    assert skew[1] > even[1] > 0


def test_wrong_calls_say_what_is_missing():
    with pytest.raises(DataError, match="true labels are missing"):
        empirical_risk([1, 2])
    with pytest.raises(DataError, match="needs data"):
        empirical_risk(linsep.Perceptron(), [[1.0]])
    with pytest.raises(ModelError, match="no predict"):
        empirical_risk(len, [1], [1])
    with pytest.raises(LabelError, match="2 predictions and 3 labels"):
        empirical_risk([1, 2], [1, 2, 2])
    with pytest.raises(LabelError, match="prediction 5"):
        empirical_risk([1, 5], [1, 2], loss=[[0, 1], [1, 0]])
    with pytest.raises(SettingError, match="loss has shape"):
        empirical_risk([1, 2], [1, 2], loss=[[0, 1, 2]])
    with pytest.raises(SettingError, match="confidence"):
        empirical_risk([1, 2], [1, 2], confidence=95)
    with pytest.raises(LabelError, match="different kinds"):
        empirical_risk(np.array(["a", 1], dtype=object), np.array([1, "a"], dtype=object))
    with pytest.raises(DataError, match="all sample weights"):
        empirical_risk([1, 2], [1, 2], sample_weight=[0, 0])


def test_counted_margin_counts_rows_inside_the_margin():
    X, y = linsep.data.load("five-points")
    model = linsep.LinearSVM(C=1.0).fit(X, y)
    value = counted_margin(model, X, y, beta=3.0)
    margins = np.where(np.asarray(y) > 0, 1, -1) * model.decision_function(X)
    assert value.rows.tolist() == np.flatnonzero(margins < 1 - 1e-6).tolist()
    assert value.errors == (margins <= 0).sum()
    assert value == pytest.approx((model.coef_**2).sum() / 2 + 3 * len(value.rows))
    hard = counted_margin(
        linsep.LinearSVM(C=np.inf).fit(*linsep.data.load("mse-1")), *linsep.data.load("mse-1")
    )
    assert not len(hard.rows) and hard == pytest.approx(2.5)
    with pytest.raises(SettingError, match="beta"):
        counted_margin(model, X, y, beta=-1)
