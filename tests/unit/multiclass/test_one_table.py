"""Binary problems of one table: work is shared, answers are those of machines fitted alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

import linsep
from linsep.errors import SettingError

SHARING = [
    linsep.LinearSVM(), linsep.LinearSVM(loss="squared_hinge", fit_intercept=False),
    linsep.LinearSVM(C=np.inf), linsep.LeastSquares(), linsep.LogisticRegression(),
    linsep.Perceptron(max_iter=20), linsep.LinearSVM(class_weight="balanced"),
    linsep.LinearSVM(random_state=np.random.RandomState(3)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("inner", SHARING, ids=lambda m: re.sub(r" at 0x\w+", "", str(m)))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_machines_that_share_a_table_are_those_fitted_alone(scheme, inner, sparse, weighted):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 4, 60)
    weight = rng.integers(0, 3, 60).astype(float) if weighted else None
    X = csr_matrix(X) if sparse else X
    model = scheme(clone(inner)).fit(X, y, sample_weight=weight)
    for machine, rows, target in model.binary_problems(y):
        given = None if weight is None else weight[rows]
        alone = clone(inner).fit(X[rows], target, sample_weight=given)
        assert (machine.coef_ == alone.coef_).all()
        assert (machine.intercept_ == alone.intercept_).all()
        assert machine.classes_.tolist() == [0, 1] and machine.n_features_in_ == 4
        assert "_given" not in vars(machine)  # a model keeps no rows
        if hasattr(alone, "support_"):
            assert (machine.support_ == alone.support_).all()


def test_rows_are_looked_at_once_for_all_classes(monkeypatch):
    from linsep.models import fit as base
    from linsep.rows import reader as home

    looks, read = [], home._sparse
    monkeypatch.setattr(home, "_sparse", lambda *a: looks.append(1) or read(*a))
    monkeypatch.setattr(base, "validate_data", lambda *a, **k: pytest.fail("checked again"))
    rng = np.random.default_rng(0)
    X = csr_matrix(np.where(rng.random((90, 30)) < 0.2, 1.0, 0.0))
    linsep.OneVsRest(linsep.LinearSVM()).fit(X, rng.integers(0, 6, 90))
    assert len(looks) == 1


def test_settings_that_are_wrong_are_named_before_any_work():
    X, y = np.eye(3), [0, 1, 2]
    for wrong in ({"C": -1}, {"C": "1"}, {"loss": "none"}, {"solver": 3}, {"fit_intercept": 2}):
        for scheme in (linsep.OneVsRest, linsep.OneVsOne):
            with pytest.raises(SettingError, match=f"{next(iter(wrong))!r} parameter of LinearSVM"):
                scheme(linsep.LinearSVM(**wrong)).fit(X, y)
