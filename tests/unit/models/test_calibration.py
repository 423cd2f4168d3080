"""calibrate=: probabilities that never disagree with predict."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import linsep
from linsep.errors import DataError, ModelError, SettingError
from linsep.models.calibration import METHODS, Calibration, fit_calibration

CLASSES = [linsep.Perceptron, linsep.Kozinec, linsep.LinearSVM, linsep.LeastSquares,
           linsep.HoKashyap]  # fmt: skip
methods = pytest.mark.parametrize("method", METHODS)
quiet = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")


def blobs(n, K, seed=0, **options):
    return make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=K, n_clusters_per_class=1,
        random_state=seed, flip_y=0.1, **options,
    )  # fmt: skip


@quiet
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(
    ("estimator", "method"),
    [(linsep.LinearSVM, method) for method in METHODS] + list(zip(CLASSES, METHODS + METHODS)),
)
def test_the_class_predicted_has_the_largest_probability(estimator, K, method):
    X, y = blobs(50, K)
    names = np.array(["d", "a", "c", "b"])[y]
    plain = estimator(max_iter=30).fit(X, names)
    model = estimator(max_iter=30, calibrate=method).fit(X, names)
    rows = np.vstack([X, np.zeros((1, 5)), 1e3 * X, 1e-9 * X])
    p = model.predict_proba(rows)
    assert p.shape == (len(rows), K) and (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows))
    np.testing.assert_array_equal(model.predict(rows), plain.predict(rows))
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_without_calibrate_there_is_no_predict_proba():
    X, y = blobs(40, 2)
    model = linsep.LinearSVM().fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    model.set_params(calibrate="sigmoid")
    with pytest.raises(ModelError, match="set to 'sigmoid' after the fit; fit again"):
        model.predict_proba(X)
    with pytest.raises(SettingError, match="'calibrate' parameter of LinearSVM must be None or"):
        linsep.LinearSVM(calibrate="platt").fit(X, y)


numbers = st.one_of(
    st.floats(-10, 10), st.sampled_from([0.0, -0.0, 1e-300, 5e-324, -5e-324, 1e300, -1e300])
)


@methods
@settings(max_examples=40, deadline=None)
@given(data=st.data(), n=st.integers(2, 12), K=st.integers(2, 4))
def test_any_scores(method, data, n, K):
    shape = n if K == 2 else (n, K)
    scores = data.draw(hnp.arrays(np.float64, shape, elements=numbers))
    labels = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, K - 1)))
    weight = data.draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.5, 1.0, 3.0])))
    found = fit_calibration(method, scores, labels, weight)
    new = data.draw(hnp.arrays(np.float64, (9, *np.shape(scores)[1:]), elements=numbers))
    for values in (scores, new):
        p = found.probabilities(values)
        top = (values >= 0).astype(int) if K == 2 else values.argmax(axis=1)
        assert np.isfinite(p).all() and (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(p.argmax(axis=1), top)
    again = Calibration.from_dict(found.to_dict(), K)
    np.testing.assert_array_equal(again.probabilities(new), found.probabilities(new))


@methods
def test_a_probability_never_falls_when_its_score_grows(method):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(300, 4))
    labels = np.where(rng.random(300) < 0.6, scores.argmax(axis=1), rng.integers(0, 4, 300))
    found = fit_calibration(method, scores, labels, np.ones(300))
    for _ in range(20):
        line = np.repeat(rng.normal(size=(1, 4)), 400, axis=0)
        k = rng.integers(4)
        line[:, k] = np.linspace(-5, 5, 400)
        p = found.probabilities(line)[:, k]
        assert (np.diff(p) >= -1e-12).all()
    f = np.linspace(-4, 4, 801)
    two = fit_calibration(method, scores[:, 0], (scores[:, 0] > 0.3).astype(int), np.ones(300))
    assert (np.diff(two.probabilities(f)[:, 1]) >= -1e-15).all()


@methods
def test_where_platt_disagrees_with_predict_we_do_not(method):
    """A plane moved by class weights: Platt's sigmoid is 1/2 elsewhere than on the plane."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1.0).astype(int)
    weight = {0: 1, 1: 9}
    platt = CalibratedClassifierCV(SVC(kernel="linear", class_weight=weight), ensemble=False)
    platt.fit(X, y)
    plane = platt.calibrated_classifiers_[0].estimator
    assert (platt.predict_proba(X).argmax(axis=1) != plane.predict(X)).any()
    model = linsep.LinearSVM(class_weight=weight, calibrate=method).fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()
    assert 0 < model.predict(X).mean() < 1


@methods
@pytest.mark.parametrize("K", [2, 3])
def test_as_good_as_scikit_learns_on_new_rows(method, K):
    if method == "temperature":
        pytest.importorskip("sklearn", minversion="1.8")
    X, y = blobs(1200, K, seed=5)
    model = linsep.LinearSVM(calibrate=method).fit(X[:600], y[:600])
    peer = CalibratedClassifierCV(linsep.LinearSVM(), method=method, ensemble=False)
    peer.fit(X[:600], y[:600])
    ours, theirs = (log_loss(y[600:], m.predict_proba(X[600:])) for m in (model, peer))
    assert ours < theirs + 0.03
    if K == 2:
        right = brier_score_loss(y[600:], model.predict_proba(X[600:])[:, 1])
        assert right < np.mean(model.predict(X[600:]) != y[600:])


def test_temperature_of_two_classes_is_the_sigmoid_of_the_likelihood():
    """Against a direct search of the same likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import expit

    rng = np.random.default_rng(1)
    f = rng.normal(size=200)
    y = (rng.random(200) < expit(2 * f)).astype(int)
    found = fit_calibration("temperature", f, y, np.ones(200))
    n1, n0 = y.sum(), 200 - y.sum()
    t = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def cost(a):
        return -(t * np.log(expit(a * f)) + (1 - t) * np.log(expit(-a * f))).sum()

    best = minimize_scalar(cost, bounds=(0, 20), method="bounded", options={"xatol": 1e-10}).x
    assert found.inverse_temperature == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(found.probabilities(f)[:, 1], expit(best * f), atol=1e-7)


def test_isotonic_of_two_classes_is_the_least_squares_on_each_side():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(2)
    f, y = rng.normal(size=60), rng.integers(0, 2, 60)
    p = fit_calibration("isotonic", f, y, np.ones(60)).probabilities(f)[:, 1]
    up = f >= 0
    right = IsotonicRegression(y_min=0.5).fit_transform(f[up], y[up])
    left = IsotonicRegression(y_max=0.5).fit_transform(f[~up], y[~up])
    n = up.sum(), (~up).sum()
    np.testing.assert_allclose(p[up], np.minimum(right, (n[0] + 1) / (n[0] + 2)), atol=1e-12)
    np.testing.assert_allclose(p[~up], np.maximum(left, 1 / (n[1] + 2)), atol=1e-12)


@methods
def test_one_row_of_a_class_and_weights_of_zero(method):
    X = np.array([[0.0], [1], [2], [3], [10], [11], [50]])
    y = np.array(["a", "a", "a", "b", "b", "b", "one"])
    model = linsep.LinearSVM(C=10, calibrate=method).fit(X, y)
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
    weight = np.array([1.0, 1, 0, 1, 1, 1, 2])
    sparse = scipy.sparse.csr_array(X)
    model.fit(sparse, y, sample_weight=weight)
    assert (model.classes_[model.predict_proba(sparse).argmax(axis=1)] == model.predict(X)).all()
    with pytest.raises(DataError, match="needs a class with two rows"):
        model.fit(X[[0, 4]], y[[0, 4]])


@quiet
@methods
def test_model_files_keep_it(method, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = linsep.Perceptron(max_iter=30, calibrate=method).fit(X, y)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    text = (tmp_path / "m.json").read_text().replace('"rows": 150', '"rows": "x"')
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ModelError, match="calibration cannot be read"):
        linsep.load(tmp_path / "bad.json")


def test_targets_are_cut_with_the_rows():
    X, y = blobs(60, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linsep.errors.LinsepWarning)
        model = linsep.LeastSquares(targets=np.linspace(1, 2, 60), calibrate="sigmoid").fit(X, y)
    assert model.predict_proba(X).shape == (60, 2)


@methods
@pytest.mark.parametrize("tiny", [5e-324, 1e-300, 1e-155, 1e155, 1e308])
def test_scores_of_any_size(method, tiny):
    scores = np.array([[tiny, 0, 0], [0, 0, 0], [0, tiny, 0]])
    found = fit_calibration(method, scores, np.array([0, 0, 1]), np.full(3, 3.0))
    for values in (scores, np.array([[0, 1e300, 1e300], [1e-310, 0, 2e-310]])):
        p = found.probabilities(values)
        assert np.isfinite(p).all()
        np.testing.assert_array_equal(p.argmax(axis=1), values.argmax(axis=1))
    two = fit_calibration(method, scores[:, 0] - scores[:, 1], np.array([1, 0, 0]), np.ones(3))
    assert two.probabilities(np.array([-tiny, 0.0, tiny])).argmax(axis=1).tolist() == [0, 1, 1]


# -- how rows are held out ---------------------------------------------------------------------

SPLITS = [
    3, KFold(4), StratifiedKFold(3), ShuffleSplit(4, random_state=0), TimeSeriesSplit(3),
    RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
]  # fmt: skip


@quiet
@pytest.mark.parametrize("cv", SPLITS, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("estimator", [linsep.LinearSVM(), linsep.OneVsOne(), linsep.KernelSVM()])
def test_own_splitters(estimator, cv):
    X, y = blobs(60, 3)
    model = clone(estimator).set_params(calibrate="sigmoid", calibrate_cv=cv).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    folds = StratifiedKFold(cv) if isinstance(cv, int) else cv
    assert model.calibration_.rows == sum(len(test) for _, test in folds.split(X, y))


def test_splits_decide_which_rows_are_looked_at():
    """Against the same by hand: fit, score, calibrate."""
    X, y = blobs(80, 2, seed=3)
    splits = list(GroupKFold(4).split(X, y, np.arange(80) // 7))
    model = linsep.LinearSVM(calibrate="temperature", calibrate_cv=splits).fit(X, y)
    held = np.concatenate([test for _, test in splits])
    scores = np.concatenate([
        linsep.LinearSVM().fit(X[train], y[train]).decision_function(X[test])
        for train, test in splits
    ])  # fmt: skip
    by_hand = fit_calibration("temperature", scores, y[held], np.ones(80))
    np.testing.assert_allclose(
        model.calibration_.inverse_temperature, by_hand.inverse_temperature, rtol=1e-9
    )
    masks = [(np.isin(np.arange(80), a), np.isin(np.arange(80), b)) for a, b in splits]
    same = linsep.LinearSVM(calibrate="temperature", calibrate_cv=masks).fit(X, y)
    assert same.calibration_ == model.calibration_


@methods
def test_classes_that_a_split_holds_out_as_a_whole(method):
    """Sorted rows in folds without shuffling: no model of a fold would know its own class."""
    X, y = load_iris(return_X_y=True)
    keep = np.arange(20, 150)
    model = linsep.LinearSVM(calibrate=method, calibrate_cv=KFold(4)).fit(X[keep], y[keep])
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    assert model.calibration_.rows == 100  # all but the 30 rows of the first class
    with pytest.raises(DataError, match="holds out no row whose class is left to train on"):
        linsep.LinearSVM(calibrate=method, calibrate_cv=KFold(3)).fit(X, y)


def test_splits_that_are_none(tmp_path):
    X, y = blobs(40, 2)

    def fit(cv):
        return linsep.LinearSVM(calibrate="sigmoid", calibrate_cv=cv).fit(X, y)

    for cv in (1, True, "prefit", 2.5, (pair for pair in ())):
        with pytest.raises(SettingError, match="'calibrate_cv' parameter of LinearSVM must be"):
            fit(cv)
    with pytest.raises(SettingError, match="split 0 of calibrate_cv trains on rows that it holds"):
        fit([(np.arange(30), np.arange(20, 40))])
    with pytest.raises(SettingError, match="names the row 77; X has 40 rows"):
        fit([(np.arange(30), [77])])
    model = fit(KFold(3))
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.calibrate_cv is None  # how rows were held out is not in the file
    linsep.save(fit(3), tmp_path / "m.json")
    assert linsep.load(tmp_path / "m.json").calibrate_cv == 3


def test_every_classifier_with_calibrate_takes_splits():
    for name in dir(linsep):
        found = getattr(linsep, name)
        if isinstance(found, type) and hasattr(found, "get_params"):
            known = found().get_params(deep=False) if name not in ("Lift", "Linear") else {}
            assert ("calibrate" in known) == ("calibrate_cv" in known), name
