"""Plain arrays are taken without the checks of scikit-learn, and refused where it refuses them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import linsep

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
MODELS = [linsep.LinearSVM, linsep.KernelSVM, linsep.GaussianClassifier, linsep.LeastSquares]
KINDS = [np.asarray, np.float32, np.asfortranarray, pd.DataFrame, csr_array]


def test_foreign_byte_order_gives_the_same_model():
    model = linsep.LinearSVM().fit(X, y)
    other = linsep.LinearSVM().fit(X.astype(">f8"), y.astype(">i4"))
    assert np.array_equal(model.coef_, other.coef_)
    assert np.array_equal(model.predict(X), other.predict(X.astype(">f8")))


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_not_judged(Model, bad):
    rows = X[:5].copy()
    rows[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        Model().fit(X, y).predict(rows)


@pytest.mark.parametrize("Model", MODELS)
def test_other_columns_than_those_of_the_fit_are_refused(Model):
    model = Model().fit(X, y)
    with pytest.raises(ValueError, match=r"2 features, but .* is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])


def test_names_of_columns_are_those_of_the_last_fit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = linsep.LinearSVM().fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "kind", [np.asarray, np.float32, np.asfortranarray, pd.DataFrame, csr_array]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_not_finite_is_refused_whatever_its_weight(bad, kind, classes):
    """Scores show it, unless a weight is 0: then the rows are looked through as well."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0], [0.0, 0.5][: classes - 1])
    for zero in (False, True):
        model = linsep.LinearSVM().fit(kind(X), y)
        if zero:
            model.coef_[:, 1] = 0.0
        for column in range(3):
            spoilt = X.copy()
            spoilt[7, column] = bad
            for ask in (model.predict, model.decision_function):
                with pytest.raises(linsep.errors.DataError, match=r"NaN|infinity"):
                    ask(kind(spoilt))
        assert np.isfinite(model.decision_function(kind(X))).all()


def test_rows_of_a_table_are_read_once_where_scores_tell_enough(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = linsep.LinearSVM().fit(X, X[:, 0] > 0)
    looked = []
    monkeypatch.setattr(
        "linsep.models.fit.all_finite", lambda values: looked.append(values) or True
    )
    model.predict(X)
    assert not looked
    model.coef_[0, 1] = 0.0
    model.predict(X)
    assert len(looked) == 1
