"""What a score of exactly zero is, and runs that start at a row."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.errors import SettingError

X, Y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
MODELS = [
    linsep.Perceptron, linsep.Kozinec, linsep.LeastSquares, linsep.HoKashyap, linsep.LinearSVM,
    linsep.LogisticRegression, linsep.KernelSVM, linsep.KernelPerceptron,
]  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_every_estimator_has_the_rule_for_zero(kind, tmp_path):
    more = {"kernel": "linear"} if "Kernel" in kind.__name__ else {}
    answers = {}
    for zero in ("positive", "negative", "reject"):
        model = kind(zero=zero, **more).fit(X, Y)
        model.intercept_ = np.zeros(1)
        assert model.predict(X).tolist() == Y.tolist()
        answers[zero] = model.predict([[0.0]])[0]
        linsep.save(model, tmp_path / "m.json")
        assert linsep.load(tmp_path / "m.json").predict([[0.0]])[0] == answers[zero]
    assert answers == {"positive": 1, "negative": 0, "reject": -1}
    with pytest.raises(SettingError, match="zero"):
        kind(zero="maybe", **more).fit(X, Y)


def test_a_perceptron_may_start_at_the_first_row():
    table = linsep.data.load("students")
    run = linsep.trace(linsep.Perceptron(start="sample"), table.X, table.y)
    sign = 1.0 if table.y[0] == max(table.y) else -1.0
    assert run[0].coef.ravel().tolist() == (sign * table.X[0]).tolist()
    assert np.ravel(run[0].intercept)[0] == sign
    fitted = linsep.Perceptron(start="sample").fit(table.X, table.y)
    assert fitted.coef_.ravel().tolist() == run[-1].coef.ravel().tolist()
    with pytest.raises(SettingError, match="two classes"):
        linsep.Perceptron(start="sample").fit(np.eye(3), [0, 1, 2])
