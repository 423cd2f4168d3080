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


def test_functions_of_single_features_add_up_and_are_ranked():
    X, y = np.abs(rows()[0]), rows()[1]
    model = linsep.AdditiveSVM("chi2").fit(X, y)
    told = model.explain(X[7])
    assert told.score == pytest.approx(float(model.decision_function(X[7:8])[0]))
    assert told.predicted == model.predict(X[7:8])[0] and "= h(" in str(told)
    for term in told.terms:
        k = int(term.name[1:]) - 1
        assert term.at == X[7, k]
        assert term.product == pytest.approx(float(model.feature_function(k, [X[7, k]])[1][0]))
    assert dict(model.ranking()) == pytest.approx(
        dict(zip(("x1", "x2", "x3"), model.feature_ranges()))
    )
    h = np.column_stack([model.feature_function(k, X[:, k])[1] for k in range(3)])
    ranked = model.ranking(X)
    assert dict(ranked) == pytest.approx(dict(zip(("x1", "x2", "x3"), h.std(axis=0))))
    assert "h_k" in str(ranked) and "larger scale" in ranked.warning
    X3, y3 = np.abs(rows(3)[0]), rows(3)[1]
    three = linsep.AdditiveSVM().fit(X3, y3)
    scores = np.sort(three.decision_function(X3[:1])[0])
    assert three.explain(X3[0]).score == pytest.approx(scores[-1] - scores[-2])
    with pytest.raises(DataError, match="row 0, column 1"):
        model.explain([1.0, -2.0, 3.0])


def test_pairs_of_a_kernel_machine_are_explained_by_the_pair_that_decides():
    X, y = rows(3)
    model = linsep.KernelSVM(decision_function_shape="ovo").fit(X, y)
    pairs = {frozenset(p): k for k, p in enumerate(["ab", "ac", "bc"])}
    for row in X[:12]:
        told = model.explain(row)
        classes = {label for t in told.terms for label in [t.name.split("'")[1]]}
        value = model.decision_function(row[None])[0][pairs[frozenset(classes)]]
        assert told.predicted in classes and told.score > 0
        assert told.score == pytest.approx(abs(value))


@pytest.mark.parametrize(
    "model",
    [linsep.KernelSVM(), linsep.KernelPerceptron(), linsep.AdditiveSVM(), linsep.LinearSVM(),
     linsep.Kozinec(kernel="rbf")],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_a_row_of_another_width_is_refused(model):
    X = np.abs(rows()[0])
    model.fit(X[:2], ["a", "b"])
    for bad in ([1.0], X[:2], np.ones((1, 4))):
        with pytest.raises(DataError, match="give one row of 3 numbers"):
            model.explain(bad)


def test_the_criterion_of_a_machine_with_a_kernel():
    X, y = np.abs(rows()[0]), rows()[1]
    for model in (linsep.KernelSVM(C=3.0), linsep.AdditiveSVM(C=3.0)):
        model.fit(X, y)
        criterion = model.criterion_
        assert repr(criterion) == "Hinge(C=3.0)"
        assert criterion.value(model, X, y) == pytest.approx(model.certificate_.objective)
        f = np.where(y == "b", 1, -1) * model.decision_function(X)
        np.testing.assert_allclose(criterion.losses(model, X, y), np.maximum(0, 1 - f))
        with pytest.raises(CapabilityError, match="no gradient"):
            criterion.gradient(model, X, y)
    mistakes = linsep.KernelPerceptron(max_iter=3)
    with pytest.warns(linsep.errors.NotSeparatedWarning):
        mistakes.fit(X, y)
    value = mistakes.criterion_.value(mistakes, X, y)
    assert value == pytest.approx(mistakes.certificate_.objective) and value > 0
    gaussian = linsep.GaussianClassifier().fit(X, y)
    assert not hasattr(gaussian, "criterion_")
    with pytest.raises(AttributeError, match="largest likelihood"):
        _ = gaussian.criterion_
