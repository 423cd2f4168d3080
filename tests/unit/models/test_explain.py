"""A prediction as a sum of terms, and features by their weights."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import scipy.sparse

import linsep
from linsep.errors import CapabilityError, DataError


def rows(K=2, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * [1.0, 20.0, 0.1]
    score = X @ [1.0, 0.05, -10.0] + 0.3 * rng.normal(size=60)
    return X, np.array(list("abc"))[np.digitize(score, [0.0] if K == 2 else [-1.0, 1.0])]


@pytest.mark.parametrize(
    "model", [linsep.LinearSVM(), linsep.LogisticRegression(), linsep.LeastSquares()], ids=repr
)
def test_terms_of_a_linear_model_add_up_to_its_score(model):
    X, y = rows()
    model.fit(X, y)
    for x in X[:5]:
        told = model.explain(x)
        assert told.score == pytest.approx(model.decision_function([x])[0])
        assert {t.name: t.product for t in told.terms} == pytest.approx(
            dict(zip(("x1", "x2", "x3"), model.coef_[0] * x))
        )
        assert told.predicted == model.predict([x])[0] and "intercept" in str(told)
    assert model.explain(scipy.sparse.csr_array(X[:1])).score == model.explain(X[0]).score
    with pytest.raises(DataError, match="one row of 3"):
        model.explain(X[:2])


def test_names_come_from_the_data_frame():
    X, y = rows()
    frame = pandas.DataFrame(X, columns=["mass", "age", "size"])
    model = linsep.LinearSVM().fit(frame, y)
    told = model.explain(frame.iloc[0])
    assert {term.name for term in told.terms} == {"mass", "age", "size"}
    assert told.score == pytest.approx(model.decision_function(frame.iloc[:1])[0])


def test_more_classes_tell_the_lead_of_the_best():
    X, y = rows(3)
    model = linsep.LogisticRegression().fit(X, y)
    scores = np.sort(model.decision_function(X[:1])[0])
    assert model.explain(X[0]).score == pytest.approx(scores[-1] - scores[-2])


@pytest.mark.parametrize("model", [
    linsep.KernelSVM(C=2.0), linsep.KernelSVM(kernel="linear"),
    linsep.KernelPerceptron(max_iter=99),
], ids=repr)  # fmt: skip
@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
def test_terms_of_a_kernel_machine_are_weight_sign_and_similarity(model):
    X, y = rows()
    model.fit(X, y)
    for x in X[:4]:
        told = model.explain(x)
        assert told.score == pytest.approx(model.decision_function([x])[0])
        assert len(told.terms) == len(model.support_)
        for term in told.terms:
            assert term.weight >= 0 and term.sign == (1 if y[term.row] == "b" else -1)
            assert term.value == pytest.approx(model.kernel_.gram([x], X[[term.row]])[0, 0])
    with pytest.raises(CapabilityError, match="3 classes"):
        linsep.KernelSVM().fit(*rows(3)).explain(X[0])


def test_xor_of_lecture_003_is_explained_by_all_four_rows():
    table = linsep.data.load("xor")
    kernel = linsep.kernels.Polynomial(2, 1.0)
    model = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(table.X, table.y)
    told = model.explain(table.X[0])
    assert [t.weight for t in told.terms] == pytest.approx([0.125] * 4)
    assert sorted(t.value for t in told.terms) == pytest.approx([1, 1, 1, 9])
    assert abs(told.score) == pytest.approx(1.0)


def test_features_are_ranked_by_weight_and_in_units_of_the_data():
    table = linsep.data.load("students")
    plane = linsep.Linear([-1.5, 0.5, 1.0, 1.0], -1)
    ranked = plane.ranking()
    assert ranked[0] == ("x1", 1.5) and ranked.names[-1] == "x2" and len(ranked) == 4
    assert "one scale" in str(ranked) and "this solution" in ranked.warning
    X, y = rows()
    model = linsep.LogisticRegression(C=100.0).fit(X, y)
    assert model.ranking().names[0] == "x3"
    scaled = model.ranking(X)
    assert dict(scaled) == pytest.approx(
        dict(zip(("x1", "x2", "x3"), np.abs(model.coef_[0]) * X.std(axis=0)))
    )
    assert plane.explain(table.X[0]).score == pytest.approx(plane.decision_function(table.X)[0])


def test_gaussian_rules_that_are_linear_have_weights_to_explain():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = linsep.GaussianClassifier(covariance="shared").fit(X[50:], y[50:])
    told = model.explain(X[60])
    assert told.score == pytest.approx(float(model.decision_function(X[60:61])[0]))
    assert told.predicted == model.predict(X[60:61])[0] and len(told.terms) == 4
    assert model.ranking().names[0] == f"x{1 + int(np.abs(model.coef_[0]).argmax())}"
    three = linsep.GaussianClassifier(covariance="shared").fit(X, y)
    scores = np.sort(three.decision_function(X[60:61])[0])
    assert three.explain(X[60]).score == pytest.approx(scores[-1] - scores[-2])
    curved = linsep.GaussianClassifier(covariance="full").fit(X, y)
    for ask in (curved.ranking, lambda: curved.explain(X[0])):
        with pytest.raises(linsep.errors.CapabilityError, match="log odds quadratic"):
            ask()
