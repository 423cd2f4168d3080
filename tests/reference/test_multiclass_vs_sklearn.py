"""The schemes of many classes against scikit-learn's, with the same machines inside."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import linsep


def tables():
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        yield pytest.param(StandardScaler().fit_transform(X), y, id=name)
    X, y = make_classification(
        120, 6, n_informative=5, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=3
    )
    yield pytest.param(X, np.array(["e", "a", "d", "b", "c"])[y], id="made")
    X, y = load_digits(n_class=4, return_X_y=True)
    yield pytest.param(scipy.sparse.csr_array(X[:120] / 16), y[:120], id="digits, sparse")


INNER = [
    LinearSVC(random_state=0), LogisticRegression(C=10), RidgeClassifier(), Perceptron(),
    SVC(gamma=0.1),
    linsep.LinearSVM(),
]  # fmt: skip
every = pytest.mark.parametrize("inner", INNER, ids=lambda e: f"{type(e).__module__[:3]}-{e}")


@every
@pytest.mark.parametrize(("X", "y"), list(tables()))
def test_one_against_the_rest(inner, X, y):
    ours = linsep.OneVsRest(inner).fit(X, y)
    theirs = OneVsRestClassifier(inner).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


@every
@pytest.mark.parametrize(("X", "y"), list(tables()))
def test_one_against_one(inner, X, y):
    ours = linsep.OneVsOne(inner).fit(X, y)
    theirs = OneVsOneClassifier(inner).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    raw = np.column_stack([e.decision_function(X) for e in theirs.estimators_])
    np.testing.assert_allclose(ours.pairwise_decision_function(X), raw, atol=1e-9)


@pytest.mark.parametrize(("X", "y"), list(tables())[:3])
def test_two_classes_have_the_same_shapes(X, y):
    keep = np.isin(y, np.unique(y)[:2])
    inner = LinearSVC(random_state=0)
    for ours, theirs in (
        (linsep.OneVsRest, OneVsRestClassifier),
        (linsep.OneVsOne, OneVsOneClassifier),  # squeezes the one value, we give it as it is
    ):
        a, b = ours(inner).fit(X[keep], y[keep]), theirs(inner).fit(X[keep], y[keep])
        assert a.decision_function(X).shape == b.decision_function(X).shape
        np.testing.assert_array_equal(a.decision_function(X) > 0, b.decision_function(X) > 0)
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
        alone = LinearSVC(random_state=0).fit(X[keep], y[keep])
        np.testing.assert_allclose(a.decision_function(X), alone.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(("X", "y"), list(tables())[:2])
def test_the_native_machine_and_linear_svc(X, y):
    """LinearSVM, its wrapper, and LinearSVC of the same objective, whose offset is penalised."""
    native = linsep.LinearSVM(loss="squared_hinge", tol=1e-8).fit(X, y)
    wrapped = linsep.OneVsRest(linsep.LinearSVM(loss="squared_hinge", tol=1e-8)).fit(X, y)
    np.testing.assert_allclose(wrapped.coef_, native.coef_, atol=1e-4)
    with_one = np.column_stack([X, np.ones(len(X))])
    inner = linsep.LinearSVM(loss="squared_hinge", fit_intercept=False, tol=1e-8)
    same = linsep.OneVsRest(inner).fit(with_one, y)
    peer = LinearSVC(tol=1e-10, max_iter=100_000, dual=False).fit(X, y)
    np.testing.assert_allclose(same.coef_[:, :-1], peer.coef_, atol=1e-4)
    np.testing.assert_array_equal(same.predict(with_one), peer.predict(X))


def test_rows_never_seen():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    train, test = slice(0, 900), slice(900, None)
    theirs = OneVsOneClassifier(LinearSVC(C=0.1)).fit(X[train], y[train])
    ours = linsep.OneVsOne(linsep.LinearSVM(C=0.1)).fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > theirs.score(X[test], y[test]) - 0.01
    assert len(ours.certificates_) == 45
    assert max(c.relative_gap for c in ours.certificates_) <= 1e-3
