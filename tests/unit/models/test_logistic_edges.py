"""Logistic regression at the edges: tiny and huge costs, weights and entries, wide tables."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.cli.main import main
from linsep.errors import DataError, GapWarning, NoMaximumWarning

INF = float("inf")


def table(K=2, n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    scores = X @ rng.normal(size=(3, K)) + rng.gumbel(size=(n, K))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e-100])
def test_a_tiny_C_leaves_the_best_constant(C):
    X, y = table()
    model = linsep.LogisticRegression(C=C).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.intercept_[0] == pytest.approx(np.log(y.sum() / (len(y) - y.sum())), rel=1e-6)
    assert model.log_likelihood_ == pytest.approx(model.null_log_likelihood_, rel=1e-9)


def test_tiny_weights_are_as_a_tiny_C():
    X, y = table()
    model = linsep.LogisticRegression().fit(X, y, np.full(len(y), 1e-300))
    assert model.status_.name == "CERTIFIED"


@pytest.mark.parametrize("C", [1e20, 1e50, 1e99])
def test_softmax_with_a_huge_C_is_proved_by_the_likelihood(C):
    X, y = table(K=3)
    model = linsep.LogisticRegression(C=C).fit(X, y)
    plain = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.lower_bound <= C * plain.certificate_.objective
    assert model.certificate_.lower_bound == pytest.approx(C * plain.certificate_.objective)


@pytest.mark.parametrize("C", [1.0, INF])
@pytest.mark.parametrize("K", [2, 3])
def test_weights_beyond_numbers_are_refused_with_a_way_out(C, K):
    X, y = table(K)
    s = np.ones(len(y))
    s[7] = 1e300
    with pytest.raises(DataError, match=r"sample_weight\[7\] is 1e\+300.*divide all weights"):
        linsep.LogisticRegression(C=C).fit(X, y, s)
    fine = linsep.LogisticRegression(C=C).fit(X, y, np.full(len(y), 1e60))
    assert fine.certificate_.relative_gap <= 1e-3


def test_entries_whose_squares_underflow_are_named():
    X, y = table()
    X[:, 1] *= 1e-300
    with pytest.warns(GapWarning, match="column 'x2' are so small"):
        linsep.LogisticRegression(C=INF).fit(X, y)


def test_a_wide_separable_table_is_proved_by_the_plane_that_was_found():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(820, 3300, 0.005, "csr", random_state=1)
    y = np.where(rng.random(820) > 0.5, "up", "down")
    X = scipy.sparse.hstack([X, (y == "up")[:, None] - 0.5]).tocsr()
    with pytest.warns(NoMaximumWarning, match="separable"):
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_.name == "NO_MAXIMUM"
    assert model.proof_.separable and model.proof_.margin[0] > 0
    assert model.proof_.check(X, y)
    assert (model.predict(X) == y).all() and model.log_likelihood_ >= -1e-3


def test_verify_recomputes_log_likelihoods(tmp_path, capsys):
    X, y = table()
    data, path = tmp_path / "t.csv", tmp_path / "m.json"
    rows = [",".join(map(repr, [*x, f"c{k}"])) for x, k in zip(X.tolist(), y.tolist())]
    data.write_text("\n".join(["a,b,c,y", *rows]).replace("'", "") + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["fit", str(data), "--algorithm", "logistic-regression", "-o", str(path)]) == 0
    assert main(["verify", str(path), str(data)]) == 0
    for name in ("log_likelihood_", "null_log_likelihood_"):
        fields = json.loads(path.read_text())
        text = json.dumps(fields)
        assert f'"{name}"' in text
        _change(fields, name)
        forged = tmp_path / "forged.json"
        forged.write_text(json.dumps(fields))
        capsys.readouterr()
        assert main(["verify", str(forged), str(data)]) == 1
        assert name.rstrip("_") in capsys.readouterr().out


def _change(fields, name):
    """Add 1 to a number wherever it stands in nested fields."""
    for key, value in fields.items():
        if key == name:
            fields[key] = value + 1.0
        elif isinstance(value, dict):
            _change(value, name)


@pytest.mark.parametrize("C", [1e10, 1e20, 1e30])
def test_separable_rows_with_a_huge_C_have_a_tight_certificate(C):
    """Margins of 40 and more: their rounding errors hardly change the losses."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 20)), np.arange(10) % 2
    model = linsep.LogisticRegression(C=C).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    m = np.where(y, 1, -1) * model.decision_function(X)
    told = 0.5 * float((model.coef_**2).sum()) + C * float(np.log1p(np.exp(-m)).sum())
    assert model.certificate_.objective == pytest.approx(told, rel=1e-6)


def test_a_gap_of_rounding_is_told_as_such():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    y = X @ [0.3, -0.2, 0.1, 0.0] + rng.logistic(size=3000) > 1
    with pytest.warns(GapWarning, match=r"numbers of 16 digits; tol=\de-\d+ is proved") as told:
        model = linsep.LogisticRegression(C=np.inf, tol=1e-15).fit(X, y)
    assert "depend on each other" not in str(told[0].message)
    tol = float(str(told[0].message).split("tol=")[1].split()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = linsep.LogisticRegression(C=np.inf, tol=tol).fit(X, y)
    assert again.status_.ok and model.certificate_.relative_gap < 1e-9


def test_other_solvers_keep_one_number_of_curvature_and_no_standard_errors():
    from types import SimpleNamespace

    from linsep.models.logistic_regression import standard_errors

    assert standard_errors(SimpleNamespace(curvature=0.25), 1.0, 2) is None
    H = np.array([[3.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(standard_errors(SimpleNamespace(curvature=H), 1.0, 1), [0.5])
