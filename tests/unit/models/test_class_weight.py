"""Weights of classes: the same rule in every estimator."""

import numpy as np
import pytest
from sklearn.svm import SVC

import linsep
from linsep.errors import LinsepError

MODELS = [
    linsep.LeastSquares(class_weight="balanced"),
    linsep.LogisticRegression(class_weight="balanced", tol=1e-10),
    linsep.LinearSVM(class_weight="balanced", tol=1e-10),
    linsep.KernelSVM(class_weight="balanced", tol=1e-10),
    linsep.AdditiveSVM(class_weight="balanced", tol=1e-8),
    linsep.OneVsRest(linsep.LinearSVM(tol=1e-10), class_weight="balanced"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore")
def test_balanced_counts_a_row_of_weight_two_as_two_rows(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(24, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=24) > 0.7).astype(int)
    weight = np.where(np.arange(24) % 3 == 0, 2, 1)
    weighted = model.fit(X, y, sample_weight=weight).decision_function(X)
    repeated = model.fit(X.repeat(weight, axis=0), y.repeat(weight)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_certify_counts_rows_for_svc_as_svc_does():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0.5).astype(int)
    weight = np.where(y == 1, 5.0, 1.0)
    model = SVC(class_weight="balanced", tol=1e-8).fit(X, y, sample_weight=weight)
    assert linsep.certify(model, X, y, sample_weight=weight).relative_gap < 1e-5


@pytest.mark.parametrize("wrong", [3, {"x": 1.0}, "even"])
def test_weights_of_no_class_are_refused_in_arrays_and_in_streams(wrong, tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y)))
    stream = linsep.data.stream(str(path), target="y")
    model = linsep.LinearSVM().fit(stream).set_params(class_weight=wrong)  # as a file may hold it
    for rows in ((X, y), (stream,)):
        with pytest.raises(LinsepError, match="class_weight"):
            linsep.certify(model, *rows)


@pytest.mark.parametrize("kind", [linsep.HoKashyap, linsep.Perceptron, linsep.LeastSquares])
@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
def test_a_class_without_weight_is_no_class_of_the_verdict(kind):
    """Pairs of classes were looked at one by one, and \"y has one class\" was said of them."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 1.5 * y[:, None]
    weight = np.where(y == 0, 0.0, 1.0)
    model = kind().fit(X, y, sample_weight=weight)
    assert list(model.classes_) == [0, 1, 2]
    assert model.score(X[y > 0], y[y > 0]) > 0.5
