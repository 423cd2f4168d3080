"""ONNX files give the labels, scores and probabilities of the model, in another program."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

import linsep
from linsep import kernels
from linsep.errors import MissingExtraError, ModelError

onnx = pytest.importorskip("onnx", reason="ONNX files need onnx")

X, LABEL = load_iris(return_X_y=True)
TWO, WORDS, NUMBERS = LABEL == 2, np.array(["a", "bb", "c"])[LABEL], LABEL
SUM = kernels.RBF(gamma=0.3) * kernels.Linear() + 0.5 * kernels.Polynomial(2, 1.0) + 2.0

MODELS = {
    "machine": (linsep.LinearSVM(), TWO),
    "machine of words": (linsep.LinearSVM(), WORDS),
    "crammer-singer": (linsep.LinearSVM(multi_class="crammer-singer"), NUMBERS),
    "zero is negative": (linsep.Perceptron(zero="negative"), LABEL == 0),
    "kozinec": (linsep.Kozinec(), LABEL == 0),
    "logistic": (linsep.LogisticRegression(), TWO),
    "softmax": (linsep.LogisticRegression(), WORDS),
    "kernel logistic": (linsep.LogisticRegression(kernel="rbf"), NUMBERS),
    "least squares": (linsep.LeastSquares(), NUMBERS * 2.0),
    "gaussian": (linsep.GaussianClassifier(), TWO),
    "gaussian, three": (linsep.GaussianClassifier(covariance="diagonal"), WORDS),
    "gaussian, shared": (linsep.GaussianClassifier(covariance="shared"), NUMBERS),
    "rbf": (linsep.KernelSVM(), TWO),
    "pairs": (linsep.KernelSVM(kernel=SUM), WORDS),
    "sigmoid": (linsep.KernelPerceptron(kernel=kernels.Sigmoid(0.01, 0.0), max_iter=5), NUMBERS),
    "one vs rest": (linsep.OneVsRest(linsep.LinearSVM()), WORDS),
    "one vs one": (linsep.OneVsOne(linsep.LinearSVM()), NUMBERS),
    "kesler": (linsep.Kesler(linsep.Perceptron(max_iter=20)), NUMBERS),
    "scaled": (make_pipeline(StandardScaler(), linsep.LinearSVM()), WORDS),
    "scaled twice": (make_pipeline(MinMaxScaler(), MaxAbsScaler(), linsep.KernelSVM()), TWO),
}


def run(path, rows):
    """Results by name, computed by ONNX's own reference and, where it is there, a runtime."""
    from onnx.reference import ReferenceEvaluator

    names = [one.name for one in onnx.load(path).graph.output]
    found = dict(zip(names, ReferenceEvaluator(str(path)).run(None, {"X": rows})))
    if "onnxruntime" in sys.modules:  # loaded by whoever wants to compare with it
        import onnxruntime

        for name, other in zip(names, onnxruntime.InferenceSession(path).run(None, {"X": rows})):
            if other.dtype.kind == "f":
                np.testing.assert_allclose(found[name], other, rtol=1e-9, atol=1e-12)
            else:
                np.testing.assert_array_equal(found[name], other)
    return found


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_file_gives_what_the_model_gives(name, tmp_path):
    model, labels = MODELS[name]
    model.fit(X, labels)
    path = tmp_path / "model.onnx"
    linsep.save(model, path)
    rows = np.vstack([X, X + np.random.default_rng(0).normal(size=X.shape)])
    found = run(path, rows)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    scores = model.decision_function(rows)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-12 * np.abs(scores).max())
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-12)


def test_a_model_that_nothing_here_has_fitted_is_refused(tmp_path):
    """It was told as a fault of the caller's, by scikit-learn: it is no estimator of its own."""
    linsep.save(linsep.KernelSVM().fit(X, NUMBERS), tmp_path / "m.model")
    with pytest.raises(ModelError, match=r"file of another program.*fit it again"):
        linsep.save(linsep.load(tmp_path / "m.model"), tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_a_score_of_zero_has_the_class_that_predict_gives(tmp_path):
    for zero, label in (("positive", 1), ("negative", -1)):
        plane = linsep.Linear([1.0, -1.0], 0.0)
        model = linsep.Perceptron(zero=zero).fit([[0.0, 1.0], [1.0, 0.0]], [-1, 1])
        model.coef_, model.intercept_ = plane.coef_, plane.intercept_
        linsep.save(model, tmp_path / "m.onnx")
        assert run(tmp_path / "m.onnx", np.array([[2.0, 2.0]]))["label"].tolist() == [label]
        assert model.predict([[2.0, 2.0]]).tolist() == [label]


def test_rows_far_from_zero_keep_their_digits(tmp_path):
    far = X + 1e6
    for model in (linsep.GaussianClassifier(), linsep.KernelSVM()):
        model.fit(far, NUMBERS)
        linsep.save(model, tmp_path / "m.onnx")
        np.testing.assert_array_equal(run(tmp_path / "m.onnx", far)["label"], model.predict(far))


def test_the_certificate_stands_in_the_file(tmp_path):
    model = linsep.LinearSVM().fit(X, TWO)
    linsep.save(model, tmp_path / "m.onnx")
    about = {one.key: one.value for one in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert about["estimator"] == "LinearSVM" and about["status"].startswith("CERTIFIED")
    assert float(about["lower_bound"]) == model.certificate_.lower_bound


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (linsep.AdditiveSVM(), "neither weights nor support vectors"),
        (linsep.LinearSVM(zero="reject"), "rejects rows"),
        (linsep.LinearSVM(calibrate="sigmoid"), "calibrated"),
        (linsep.KernelSVM(kernel="intersection"), "has no form in ONNX"),
        (linsep.OneVsRest(linsep.LinearSVM(), decide="unanimous"), "rejects rows"),
        (make_pipeline(PolynomialFeatures(), linsep.LinearSVM()), "PolynomialFeatures"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(model, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        linsep.save(model.fit(X, TWO), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_such_files_are_not_read(tmp_path):
    linsep.save(linsep.LinearSVM().fit(X, TWO), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match="written and not read"):
        linsep.load(tmp_path / "m.onnx")


def test_without_onnx_the_line_to_type_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'linsep\[onnx\]'"):
        linsep.save(linsep.LinearSVM().fit(X, TWO), tmp_path / "m.onnx")
