"""linsep.certify against models that the other libraries have solved to many digits.

A tight gap shows that the objective named is the one that was minimised: any other one would
leave a gap. LIBLINEAR and LIBSVM are used where they are installed.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

import linsep
import linsep.risk
from linsep.errors import ModelError


def wine(K):
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(K).permutation(len(y))
    X, y = scale(X)[order] + 0.3, y[order]
    return (X, y) if K == 3 else (X[y < 2], 4 * y[y < 2] - 1)


SOLVED = {"tol": 1e-8, "max_iter": 200_000, "random_state": 0}
MODELS = [
    (LinearSVC(loss="hinge", **SOLVED), "x sum of hinge losses; the intercept is penalised"),
    (LinearSVC(**SOLVED), "squared hinge"),
    (LinearSVC(dual=True, **SOLVED), "squared hinge"),
    (LinearSVC(intercept_scaling=10, **SOLVED), "constant feature 10"),
    (LinearSVC(fit_intercept=False, **SOLVED), "no intercept"),
    (LinearSVC(class_weight="balanced", **SOLVED), "weighted"),
    (LinearSVC(multi_class="crammer_singer", **SOLVED), "penalised as the weight"),
    (LinearSVC(multi_class="crammer_singer", fit_intercept=False, **SOLVED), "no intercept"),
    (LinearSVC(penalty="l1", **SOLVED), "|w|_1 + 1 x sum of squared hinge"),
    (LinearSVC(penalty="l1", C=0.05, fit_intercept=False, **SOLVED), "|w|_1 + 0.05"),
    (SVC(kernel="linear", tol=1e-7), "not penalised"),
    (SVC(kernel="linear", tol=1e-7, class_weight="balanced"), "weighted hinge"),
    (SVC(kernel="poly", degree=2, tol=1e-7), "feature space"),
]


@pytest.mark.parametrize(("model", "word"), MODELS, ids=lambda v: str(v)[:50])
@pytest.mark.parametrize("K", [2, 3])
def test_a_solved_model_has_a_small_gap_for_the_objective_named(model, word, K):
    X, y = wine(K)
    report = linsep.certify(model.fit(X, y), X, y)
    assert report.relative_gap < 2e-5
    assert word in report.words
    assert report.errors == (model.predict(X) != y).sum()


def test_weights_of_rows_and_balanced_classes():
    X, y = wine(3)
    s = 1.0 + np.arange(len(y)) % 3
    for model in (
        LinearSVC(class_weight="balanced", **SOLVED),
        LinearSVC(multi_class="crammer_singer", class_weight={0: 3.0, 1: 0.5, 2: 1.0}, **SOLVED),
        linsep.LinearSVM(class_weight="balanced"),
        linsep.LinearSVM(class_weight="balanced", multi_class="crammer-singer"),
    ):
        report = linsep.certify(model.fit(X, y, s), X, y, sample_weight=s)
        assert report.relative_gap < 1e-4 and "weighted" in report.words


def test_penalties_of_logistic_models():
    X, y = wine(2)
    for solver, word in (("liblinear", "penalised as"), ("saga", "not penalised")):
        model = LogisticRegression(l1_ratio=1.0, solver=solver, C=0.2, tol=1e-8, max_iter=20_000)
        report = linsep.certify(model.fit(X, y), X, y)
        assert report.relative_gap < 1e-6 and report.words.startswith("|w|_1 + 0.2")
        assert word in report.words
    mixed = LogisticRegression(l1_ratio=0.5, solver="saga", C=0.2, max_iter=20_000).fit(X, y)
    with pytest.raises(ModelError, match="mixture"):
        linsep.certify(mixed, X, y)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_rough_model_with_the_one_norm_gets_a_sharp_bound(intercept):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 12)) * np.geomspace(0.1, 10.0, 12)
    y = (X[:, 3] + X[:, 8] + 3.0 * rng.logistic(size=150) > 0).astype(int)
    for kind, options in (
        (LinearSVC, {"penalty": "l1", "loss": "squared_hinge"}),
        (LogisticRegression, {"l1_ratio": 1.0, "solver": "liblinear"}),
    ):
        make = {"C": 0.3, "fit_intercept": intercept, "random_state": 0, **options}
        rough = linsep.certify(kind(tol=0.5, **make).fit(X, y), X, y)
        best = linsep.certify(kind(tol=1e-10, max_iter=10**6, **make).fit(X, y), X, y)
        assert rough.lower_bound <= best.objective and best.relative_gap < 1e-6
        assert rough.lower_bound > 0.999 * best.objective
        assert rough.objective > best.objective
        again = linsep.certify(kind(tol=0.5, **make).fit(X, y), scipy.sparse.csr_array(X), y)
        assert again.lower_bound == pytest.approx(rough.lower_bound, rel=1e-6)


def test_another_librarys_class_is_not_judged_by_its_name():
    X, y = wine(2)
    ours = LogisticRegression(C=0.5, tol=1e-8).fit(X, y)

    class LogisticRegression_:
        coef_, intercept_, classes_ = ours.coef_, ours.intercept_, ours.classes_
        C, penalty, class_weight, fit_intercept = 0.5, "l2", None, True

    LogisticRegression_.__name__ = "LogisticRegression"
    LogisticRegression_.__module__ = "fastlearn.linear"
    with pytest.raises(ModelError, match="of fastlearn is not known") as told:
        linsep.certify(LogisticRegression_(), X, y)
    line = re.search(r"linsep\.certify\(.*\), X, y\)", str(told.value))[0]  # as it stands there
    report = eval(line.replace("C=1.0", "C=0.5"), {"linsep": linsep, "model": ours, "X": X, "y": y})
    assert report.relative_gap < 1e-6
    assert report.objective == pytest.approx(linsep.certify(ours, X, y).objective, rel=1e-9)

    class Child(type(ours)):
        pass

    assert linsep.certify(Child(C=0.5, tol=1e-8).fit(X, y), X, y).relative_gap < 1e-6


def test_refusals_name_a_way_that_works():
    X, y = wine(2)
    for other in (RandomForestClassifier(5), KNeighborsClassifier(), BaggingClassifier()):
        with pytest.raises(ModelError, match=r"linsep\.risk\.empirical_risk") as told:
            linsep.certify(other.fit(X, y), X, y)
        assert "coef" not in str(told.value) and "estimators_" not in str(told.value)
        assert 0.0 <= float(linsep.risk.empirical_risk(other, X, y)) < 0.2
    for other in (SVR(), Ridge()):
        with pytest.raises(ModelError, match="predicts numbers; classifiers"):
            linsep.certify(other.fit(X, y), X, y)
    for other in (SVC(), NuSVC(), LinearSVC()):
        with pytest.raises(ModelError, match="call fit first"):
            linsep.certify(other, X, y)


def test_nu_with_a_kernel_is_a_machine_with_the_cost_it_comes_to():
    X, y = wine(2)
    model = NuSVC(nu=0.2, gamma=0.05, tol=1e-9).fit(X, y)
    report = linsep.certify(model, X, y)
    C = np.abs(model.dual_coef_).max()
    twin = SVC(C=C, gamma=0.05, tol=1e-9).fit(X, y)
    assert report.relative_gap < 1e-4 and "nu=0.2" in report.words
    assert report.objective == pytest.approx(linsep.certify(twin, X, y).objective, rel=1e-5)
    with pytest.raises(ModelError, match="the rows of two classes"):
        linsep.certify(NuSVC(nu=0.2).fit(*wine(3)), *wine(3))


def test_nu_is_turned_into_the_cost_it_comes_to():
    X, y = wine(2)
    report = linsep.certify(NuSVC(kernel="linear", nu=0.1, tol=1e-8).fit(X, y), X, y)
    assert report.relative_gap < 1e-4 and "nu=0.1" in report.words


def test_wrappers_are_opened_or_refused_with_the_way_out():
    X, y = wine(2)
    pipe = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    search = GridSearchCV(pipe, {"linearsvc__C": [0.01]}, cv=2).fit(X, y)
    assert "0.01 x sum" in linsep.certify(search, X, y).words
    with pytest.raises(ModelError, match=r"calibrated_classifiers_\[k\]\.estimator"):
        linsep.certify(CalibratedClassifierCV(LinearSVC(), cv=2).fit(X, y), X, y)
    with pytest.raises(ModelError, match=r"estimators_\[k\]"):
        linsep.certify(OneVsRestClassifier(LinearSVC()).fit(*wine(3)), *wine(3))
    with pytest.raises(ModelError, match="GaussianClassifier"):
        linsep.certify(LinearDiscriminantAnalysis().fit(X, y), X, y)
    with pytest.raises(ModelError, match="not fitted"):
        linsep.certify(LinearSVC(), X, y)
    with pytest.raises(ModelError, match="modified_huber"):
        linsep.certify(SGDClassifier(loss="modified_huber", random_state=0).fit(X, y), X, y)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", range(8))
@pytest.mark.parametrize("bias", [-1, 1, 2.5])
def test_every_solver_of_liblinear(K, solver, bias, tmp_path):
    peer = pytest.importorskip("liblinear.liblinearutil")
    X, y = wine(K)
    model = peer.train(y.tolist(), X.tolist(), f"-s {solver} -B {bias} -c 0.5 -e 1e-7 -q")
    peer.save_model(str(tmp_path / "a.model"), model)
    found = [linsep.certify(model, X, y), linsep.certify(tmp_path / "a.model", X, y, C=0.5)]
    limit = 0.05 if solver == 3 else 1e-4  # it gives up before it is there
    for report in found:
        assert report.relative_gap < limit
        assert ("constant feature" in report.words) == (bias > 0)
    assert found[0] == found[1]
    labels = peer.predict(y.tolist(), X.tolist(), model, "-q")[0]
    assert (linsep.load(tmp_path / "a.model").predict(X) == labels).all()


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kernel", range(4))
def test_every_kernel_of_libsvm(K, kernel, tmp_path):
    peer = pytest.importorskip("libsvm.svmutil")
    X, y = wine(K)
    model = peer.svm_train(y.tolist(), X.tolist(), f"-t {kernel} -c 0.7 -e 1e-6 -q")
    peer.svm_save_model(str(tmp_path / "a.model"), model)
    for report in (linsep.certify(model, X, y), linsep.certify(tmp_path / "a.model", X, y, C=0.7)):
        assert report.relative_gap < 1e-4 or kernel == 3  # tanh is no kernel
        assert "0.7 x" in report.words
    labels = peer.svm_predict(y.tolist(), X.tolist(), model, "-q")[0]
    assert (linsep.load(tmp_path / "a.model").predict(X) == labels).all()


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_libsvm_there_and_back(K, seed, tmp_path):
    peer = pytest.importorskip("libsvm.svmutil")
    X, y = wine(K)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y, path = X[order], y[order], tmp_path / "a.model"
    peer.svm_save_model(str(path), peer.svm_train(y.tolist(), X.tolist(), "-b 1 -g 0.1 -q"))
    model = peer.svm_load_model(str(path))
    _, _, given = peer.svm_predict([], X.tolist(), model, "-b 1 -q")
    ours = linsep.load(path)
    sorted_ = np.argsort(model.get_labels())
    np.testing.assert_allclose(ours.predict_proba(X), np.array(given)[:, sorted_], atol=1e-9)
    linsep.save(ours, path)
    again = peer.svm_load_model(str(path))
    assert again.get_labels() == model.get_labels()
    assert peer.svm_predict([], X.tolist(), again, "-b 1 -q")[2] == given


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", [0, 6, 7])
def test_probabilities_of_liblinear_there_and_back(K, solver, tmp_path):
    peer = pytest.importorskip("liblinear.liblinearutil")
    X, y = wine(K)
    path = tmp_path / "a.model"
    peer.save_model(str(path), peer.train(y.tolist(), X.tolist(), f"-s {solver} -B 2 -q"))
    model = peer.load_model(str(path))
    _, _, given = peer.predict([], X.tolist(), model, "-b 1 -q")
    ours = linsep.load(path)
    wanted = np.array(given)[:, np.argsort(model.get_labels())]
    np.testing.assert_allclose(ours.predict_proba(X), wanted, atol=1e-12)
    linsep.save(ours, path)
    again = peer.predict([], X.tolist(), peer.load_model(str(path)), "-b 1 -q")[2]
    np.testing.assert_allclose(again, given, atol=1e-12)


def test_weights_of_classes_of_the_two_libraries_must_be_told():
    peer = pytest.importorskip("liblinear.liblinearutil")
    X, y = wine(3)
    model = peer.train(y.tolist(), X.tolist(), "-s 2 -B 1 -w1 3 -e 1e-7 -q")
    with pytest.raises(ModelError, match="class_weight="):
        linsep.certify(model, X, y)
    assert linsep.certify(model, X, y, class_weight={1: 3.0}).relative_gap < 1e-6
