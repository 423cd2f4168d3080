"""What scikit-learn asks of its calibrated classifiers, asked of ours; and LIBSVM's beside them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import linsep

METHODS = ("sigmoid", "isotonic", "temperature")
methods = pytest.mark.parametrize("method", METHODS)
quiet = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")


@pytest.fixture(scope="module")
def noisy():
    """Rows to train on and new rows, with labels of which a tenth is wrong."""
    X, y = make_classification(
        600, 6, n_informative=4, n_redundant=0, flip_y=0.2, class_sep=0.7, random_state=42
    )
    return X[:300], y[:300], X[300:], y[300:]


@methods
@pytest.mark.parametrize(
    "estimator",
    [linsep.LinearSVM(), linsep.KernelSVM(), linsep.Perceptron(max_iter=50), linsep.LeastSquares()],
    ids=lambda e: type(e).__name__,
)
@quiet
def test_better_than_a_sigmoid_of_the_scores(noisy, estimator, method):
    X, y, new, truth = noisy
    raw = clone(estimator).fit(X, y)
    ours = clone(estimator).set_params(calibrate=method).fit(X, y)
    before = brier_score_loss(truth, expit(raw.decision_function(new)))
    after = brier_score_loss(truth, ours.predict_proba(new)[:, 1])
    assert after < before + 0.01  # hinge scores are near to log odds by themselves
    if isinstance(estimator, linsep.Perceptron):
        assert after < 0.8 * before  # those of a perceptron are not


@methods
def test_names_of_the_classes_do_not_matter(noisy, method):
    X, y, new, _ = noisy
    model = linsep.LinearSVM(calibrate=method)
    p = clone(model).fit(X, y).predict_proba(new)
    for names in ([1, 2], [-1, 1], ["a", "b"]):
        same = clone(model).fit(X, np.array(names)[y]).predict_proba(new)
        np.testing.assert_array_equal(same, p)
    turned = clone(model).fit(X, 1 - y).predict_proba(new)
    np.testing.assert_allclose(turned[:, ::-1], p, atol=1e-4)


@methods
def test_sparse_rows_and_pipelines_give_the_same(noisy, method):
    X, y, new, _ = noisy
    model = linsep.LinearSVM(calibrate=method)
    p = clone(model).fit(X, y).predict_proba(new)
    sparse = clone(model).fit(csr_matrix(X), y).predict_proba(csr_matrix(new))
    np.testing.assert_allclose(sparse, p, atol=1e-6)
    line = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert (line.predict(new) == line.classes_[line.predict_proba(new).argmax(axis=1)]).all()


@methods
@pytest.mark.parametrize("K", [2, 3])
def test_a_weight_of_two_is_two_rows(method, K):
    X, y = make_blobs(40, centers=K, cluster_std=4.0, random_state=1)
    weight = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(40), weight.astype(int))
    splits = list(StratifiedKFold(4).split(X, y))
    place = [np.flatnonzero(np.isin(twice, rows)) for pair in splits for rows in pair]
    copies = list(zip(place[::2], place[1::2]))
    weighted = linsep.LinearSVM(calibrate=method, calibrate_cv=splits)
    repeated = linsep.LinearSVM(calibrate=method, calibrate_cv=copies)
    p = weighted.fit(X, y, sample_weight=weight).predict_proba(X)
    q = repeated.fit(X[twice], y[twice]).predict_proba(X)
    np.testing.assert_allclose(p, q, atol=1e-5)
    assert abs(p - clone(weighted).fit(X, y).predict_proba(X)).max() > 1e-4  # weights count


@methods
@quiet
def test_many_classes_are_better_than_a_softmax_of_the_scores(method):
    X, y = make_blobs(400, centers=4, cluster_std=3.0, random_state=42)
    for estimator in (linsep.LinearSVM(), linsep.Perceptron(max_iter=10)):
        raw = clone(estimator).fit(X[::2], y[::2])
        ours = clone(estimator).set_params(calibrate=method).fit(X[::2], y[::2])
        p = ours.predict_proba(X[1::2])
        assert (ours.predict(X) == raw.predict(X)).all()
        before = log_loss(y[1::2], softmax(raw.decision_function(X[1::2]), axis=1))
        assert log_loss(y[1::2], p) < before + 0.02  # those of a hinge are good as they are
        if isinstance(estimator, linsep.Perceptron):
            assert log_loss(y[1::2], p) < 0.8 * before
        theirs = CalibratedClassifierCV(
            clone(estimator), method=method, ensemble=False, cv=StratifiedKFold(5)
        ).fit(X[::2], y[::2])
        assert log_loss(y[1::2], p) < log_loss(y[1::2], theirs.predict_proba(X[1::2])) + 0.1


def test_scores_come_from_rows_that_were_not_trained_on():
    """The temperature is the one of cross_val_predict's scores, found by a plain search."""
    X, y = make_blobs(80, centers=3, cluster_std=4.0, random_state=7)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = linsep.LinearSVM(calibrate="temperature", calibrate_cv=folds).fit(X, y)
    scores = cross_val_predict(linsep.LinearSVM(), X, y, cv=folds, method="decision_function")
    count = np.bincount(y)
    target = np.where(np.eye(3)[y] > 0, (count[y] + 1)[:, None], 0.5) / (count[y] + 2)[:, None]
    grid = np.exp(np.linspace(-4, 1.5, 2751))
    loss = [-(target * np.log(softmax(scores * a, axis=1))).sum() for a in grid]
    found = model.calibration_.inverse_temperature
    np.testing.assert_allclose(found, grid[np.argmin(loss)], rtol=3e-3)
    none_held = softmax(linsep.LinearSVM().fit(X, y).decision_function(X) * found, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), none_held, rtol=1e-9)


@quiet
def test_scikit_learns_own_tools_take_our_classifiers(noisy):
    X, y, new, truth = noisy
    theirs = CalibratedClassifierCV(linsep.LinearSVM(), ensemble=False).fit(X, y)
    ours = linsep.LinearSVM(calibrate="sigmoid").fit(X, y)
    a, b = theirs.predict_proba(new)[:, 1], ours.predict_proba(new)[:, 1]
    assert abs(brier_score_loss(truth, a) - brier_score_loss(truth, b)) < 0.02
    import matplotlib

    matplotlib.use("Agg")
    shown = CalibrationDisplay.from_estimator(ours, new, truth, n_bins=3, strategy="quantile")
    assert abs(shown.prob_true - shown.prob_pred).max() < 0.2


def _tables():
    X, y = make_classification(
        240, 8, n_informative=4, n_classes=4, flip_y=0.3, class_sep=0.5, random_state=3
    )
    yield X, y
    X, y = load_iris(return_X_y=True)
    yield X[:, :2], y


@methods
@pytest.mark.parametrize("table", range(2))
@quiet
def test_where_libsvm_contradicts_itself_we_do_not(table, method):
    X, y = list(_tables())[table]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # probability=True is to go, for this reason
        libsvm = SVC(C=10, probability=True, random_state=0).fit(X, y)
        theirs = libsvm.classes_[libsvm.predict_proba(X).argmax(axis=1)]
    assert (theirs != libsvm.predict(X)).any()
    for ours in (linsep.KernelSVM(C=10), linsep.OneVsOne(), linsep.LinearSVM()):
        ours = ours.set_params(calibrate=method).fit(X, y)
        p = ours.predict_proba(X)
        assert (ours.classes_[p.argmax(axis=1)] == ours.predict(X)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
