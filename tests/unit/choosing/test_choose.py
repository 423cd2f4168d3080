"""Choosing among models by cross-validation."""

from __future__ import annotations

import signal
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import linsep
from linsep.errors import CapabilityError, DataError, LabelError, LinsepWarning, SettingError
from linsep.risk import structural_bound


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(90, 2))
    y = np.where(X[:, 1] - 2 * X[:, 0] ** 2 + 0.5 + 0.2 * rng.normal(size=90) > 0, "up", "down")
    return X, y


def test_risk_is_the_mean_over_all_rows(data):
    X, y = data
    cv = KFold(7, shuffle=True, random_state=0)  # folds of unequal size
    choice = linsep.choose(SVC(), X, y, "gamma", [0.1, 1.0, 10.0], cv=cv)
    for k, gamma in enumerate(choice.values):
        predicted = cross_val_predict(SVC(gamma=gamma), X, y, cv=cv)
        assert choice.cv_risk[k] == pytest.approx(np.mean(predicted != y))
        folds = 1 - cross_val_score(SVC(gamma=gamma), X, y, cv=cv)
        np.testing.assert_allclose(choice.fold_risk[k], folds, atol=1e-12)
        error = folds.std(ddof=1) / np.sqrt(7)
        assert choice.standard_error[k] == pytest.approx(error)
    assert choice.best_index == int(choice.cv_risk.argmin())
    assert choice.best_estimator_.gamma == choice.best


def test_one_standard_error_takes_the_simplest_model_below_the_line(data):
    X, y = data
    values = [1, 2, 3, 5]
    choice = linsep.choose(
        LogisticRegression(C=100, solver="newton-cholesky"), X, y, "lift degree", values
    )
    limit = choice.cv_risk.min() + choice.standard_error[choice.best_index]
    assert choice.chosen_index == int(np.flatnonzero(choice.cv_risk <= limit)[0])
    assert choice.chosen == 2
    back = linsep.choose(
        LogisticRegression(C=100, solver="newton-cholesky"),
        X,
        y,
        "lift degree",
        values[::-1],
        simplest="last",
    )
    assert back.chosen == choice.chosen
    np.testing.assert_allclose(back.cv_risk[::-1], choice.cv_risk)


def test_degree_is_that_of_polynomial_features(data):
    X, y = data
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    choice = linsep.choose(scaled, X, y, "lift degree", [1, 3], cv=4)
    for k, degree in enumerate((1, 3)):
        features = PolynomialFeatures(degree, include_bias=False)
        other = make_pipeline(features, StandardScaler(), LogisticRegression())
        scores = cross_val_score(other, X, y, cv=4)
        np.testing.assert_allclose(1 - scores, choice.fold_risk[k], atol=1e-12)
    own = make_pipeline(linsep.Lift("x1, x2"), LogisticRegression())
    again = linsep.choose(own, X, y, "degree", [1, 3], cv=4)
    assert [m[0].phi for m in again.estimators_] == ["poly(1)", "poly(3)"]
    svc = linsep.choose(SVC(kernel="poly"), X, y, "degree", [1, 3], cv=4)
    assert [m.degree for m in svc.estimators_] == [1, 3]


def test_structural_bound_stands_beside(data):
    X, y = data
    choice = linsep.choose(linsep.LinearSVM(), X, y, "lift degree", [1, 2, 3], eta=0.1)
    assert choice.vc_dimension.tolist() == [3, 6, 10]
    for k, model in enumerate(choice.estimators_):
        risk = 1 - model.score(X, y)
        assert choice.empirical_risk[k] == pytest.approx(risk)
        expected = structural_bound(risk, int(choice.vc_dimension[k]), 90, 0.1 / 3)
        assert choice.bound[k] == pytest.approx(expected)
    assert choice.structural_index == int(choice.bound.argmin())
    assert "probability 0.9" in choice.bound_note
    flat = linsep.choose(linsep.LinearSVM(fit_intercept=False), X, y, "C", [1.0])
    assert flat.vc_dimension.tolist() == [2]


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (SVC(), {}, "SVC has no coef_"),
        (LogisticRegression(), {"scoring": "roc_auc"}, "share of errors only"),
        (LogisticRegression(), {"loss": [[0, 2], [1, 0]]}, "share of errors only"),
        (LogisticRegression(), {"sample_weight": np.arange(1, 91)}, "different weights"),
    ],
)
def test_no_bound_has_its_reason(data, model, options, words):
    choice = linsep.choose(model, *data, "C", [1.0], cv=3, **options)
    assert words in choice.bound_note
    assert np.isnan(choice.bound).all()
    assert choice.structural_index is None


def test_losses_of_all_kinds(data):
    X, y = data
    cv = StratifiedKFold(3)
    predicted = cross_val_predict(LogisticRegression(), X, y, cv=cv)
    table = np.array([[0.0, 5.0], [1.0, 0.0]])
    expected = table[(predicted == "up").astype(int), (y == "up").astype(int)].mean()
    choice = linsep.choose(LogisticRegression(), X, y, "C", [1.0], cv=cv, loss=table)
    assert choice.cv_risk[0] == pytest.approx(expected)
    choice = linsep.choose(
        LogisticRegression(), X, y, "C", [1.0], cv=cv, loss=lambda y, p: 3.0 * (y != p)
    )
    assert choice.cv_risk[0] == pytest.approx(3 * np.mean(predicted != y))
    scores = cross_val_score(LogisticRegression(), X, y, cv=cv, scoring="roc_auc")
    choice = linsep.choose(LogisticRegression(), X, y, "C", [1.0], cv=cv, scoring="roc_auc")
    assert choice.cv_risk[0] == pytest.approx(-scores.mean())
    weight = np.linspace(0, 2, 90)
    choice = linsep.choose(LogisticRegression(), X, y, "C", [1.0], cv=cv, sample_weight=weight)
    parts = []
    for train, test in cv.split(X, y):
        fitted = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        parts.append(weight[test] @ (fitted.predict(X[test]) != y[test]))
    assert choice.cv_risk[0] == pytest.approx(sum(parts) / weight.sum())
    squares = linsep.choose(Ridge(), X, X[:, 0] * 2, "alpha", [1.0, 0.1], simplest="last")
    assert squares.measure == "squared error"
    assert squares.best == 0.1


def test_splitters_groups_frames_and_jobs(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    groups = np.arange(90) % 4
    model = make_pipeline(linsep.Lift("a, b, a**2"), linsep.LinearSVM())
    one = linsep.choose(model, frame, y, "C", [0.1, 1.0], cv=GroupKFold(4), groups=groups)
    with joblib.parallel_config(backend="threading"):
        options = {"cv": GroupKFold(4), "groups": groups, "n_jobs": 2}
        two = linsep.choose(model, frame, y, "linearsvm__C", [0.1, 1.0], **options)
    np.testing.assert_array_equal(one.fold_risk, two.fold_risk)
    assert one.fold_risk.shape == (2, 4)
    random = linsep.choose(SVC(), X, y, "C", [1.0], cv=ShuffleSplit(3, random_state=0))
    assert random.fold_risk.shape == (1, 3)
    each = linsep.choose(SVC(), X[:20], y[:20], "C", [1.0], cv=LeaveOneOut())
    assert each.fold_risk.shape == (1, 20)
    single = linsep.choose(SVC(), X, y, "C", [1.0, 2.0], cv=ShuffleSplit(1, random_state=0))
    assert np.isnan(single.standard_error).all()
    assert single.chosen == single.best


def test_a_sequence_of_models(data):
    X, y = data
    models = [linsep.LinearSVM(), make_pipeline(linsep.Lift(), linsep.LinearSVM()), SVC(gamma=30)]
    choice = linsep.choose(models, X, y)
    assert choice.values == ["LinearSVM", "Pipeline", "SVC"]
    assert choice.chosen == "Pipeline"
    assert np.isnan(choice.bound[2])
    assert np.isfinite(choice.bound[:2]).all()
    twins = linsep.choose([SVC(C=1), SVC(C=2)], X, y)
    assert twins.values == ["1 SVC", "2 SVC"]


def test_words_and_frame(data):
    choice = linsep.choose(linsep.LinearSVM(), *data, "lift degree", [1, 2, 3])
    text = choice.table()
    assert len(text.splitlines()) == 5
    assert "structural bound" in text
    assert text.splitlines()[1 + choice.best_index].rstrip().endswith(("best", "chosen"))
    assert str(choice) == text
    assert "of 3)" in repr(choice)
    frame = choice.frame()
    assert frame["lift degree"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(frame["cv_risk"], choice.cv_risk)


def test_warnings_of_fits_are_counted_once(data):
    X, y = data
    model = SGDClassifier(max_iter=1, tol=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = linsep.choose(model, X, y, "alpha", [1e-4], cv=3)
        loud = linsep.choose(LogisticRegression(max_iter=1), X, y, "C", [1.0, 2.0], cv=3)
    assert quiet.notes == []
    assert loud.notes == [f"{ConvergenceWarning.__name__} in 6 of 6 fits."]
    assert loud.notes[0] in loud.table()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((SVC(), "Gamma", [1]), {}, "did you mean gamma"),
        ((SVC(), "C", []), {}, "at least one value"),
        ((SVC(), "C", 3), {}, "at least one value"),
        ((SVC, "C", [1]), {}, "give an estimator"),
        ((SVC(), None, None), {}, "a parameter and its values"),
        (([], None, None), {}, "at least one"),
        (([SVC()], "C", [1]), {}, "needs no parameter"),
        ((SVC(), "C", [1]), {"loss": [[0, 1], [1, 0]], "scoring": "accuracy"}, "not both"),
        ((SVC(), "C", [1]), {"scoring": "speed"}, "scoring is 'speed'"),
        ((SVC(), "C", [1]), {"simplest": "middle"}, "'first' or 'last'"),
        ((SVC(), "lift degree", [0]), {}, "degree must be a whole number"),
        ((SVC(), "C", [1]), {"loss": accuracy_score}, "one number for each row"),
    ],
)
def test_wrong_settings_are_named(data, arguments, options, words):
    model, parameter, values = arguments
    with pytest.raises(SettingError, match=words):
        linsep.choose(model, *data, parameter, values, **options)


def test_wrong_data_are_named(data):
    X, y = data
    with pytest.raises(DataError, match="cv=60 cannot split"):
        linsep.choose(SVC(), X, y, "C", [1], cv=60)
    with pytest.raises(CapabilityError, match="takes no sample_weight"):
        linsep.choose(KNeighborsClassifier(), X, y, "n_neighbors", [1], sample_weight=np.ones(90))
    with pytest.raises(LabelError, match="y is None"):
        linsep.choose(SVC(), X, None, "C", [1])
    with pytest.raises(DataError, match="do not fit together"):
        linsep.choose(SVC(), X, y[:-1], "C", [1])
    one_class = [(np.flatnonzero(y == "up"), np.flatnonzero(y == "down"))]
    with pytest.raises(LabelError) as caught:
        linsep.choose(linsep.LinearSVM(), X, y, "C", [1.0], cv=one_class)
    assert "C 1, fold 1" in caught.value.__notes__[0]
    pipe = make_pipeline(
        StandardScaler(),
        SVC(),
    )
    assert linsep.choose(pipe, X, y, "gamma", [1.0]).estimators_[0][-1].gamma == 1.0


class Stops(DecisionTreeClassifier):
    """Ctrl-C in the fit of depth 3."""

    def fit(self, X, y):
        if self.max_depth == 3:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupt_keeps_what_is_finished(data):
    with pytest.warns(LinsepWarning, match="2 of 4 values of max_depth"):
        choice = linsep.choose(Stops(), *data, "max_depth", [1, 2, 3, 4])
    assert choice.interrupted
    assert choice.values == [1, 2]
    assert "Interrupted" in choice.table()
    with pytest.raises(KeyboardInterrupt):
        linsep.choose(Stops(), *data, "max_depth", [3])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_children_work_ends_them_in_order(data, monkeypatch, number):
    ended = []

    class Waiting:
        """Children whose second answer never comes."""

        def __init__(self, n_jobs):
            pass

        def __call__(self, tasks):
            answers = [function(*args) for function, args, _ in tasks]
            if answers and ended.append(1) is None and len(ended) == 2:
                try:
                    signal.raise_signal(number)
                    time.sleep(60)
                finally:
                    ended.append("children")
            return answers

    monkeypatch.setattr("linsep.core.limits.Interrupts._used_up", set())
    monkeypatch.setattr("linsep.choosing.choose.Parallel", Waiting)
    monkeypatch.setattr("linsep.choosing.choose.delayed", lambda f: lambda *a: (f, a, {}))
    model = DecisionTreeClassifier(random_state=0)
    if number == signal.SIGINT:
        with pytest.warns(LinsepWarning, match="1 of 2 values of max_depth"):
            choice = linsep.choose(model, *data, "max_depth", [1, 2], n_jobs=2)
        assert choice.values == [1]
    else:
        with pytest.raises(SystemExit) as end:
            linsep.choose(model, *data, "max_depth", [1, 2], n_jobs=2)
        assert end.value.code == 128 + number
    assert ended == [1, 1, "children"]


def test_an_interrupt_that_a_fit_of_linsep_survives_ends_the_choice(data, monkeypatch):
    fit = linsep.LinearSVM.fit

    def stopped(self, X, y, sample_weight=None):
        from dataclasses import replace

        fit(self, X, y, sample_weight)
        if self.C == 2.0:
            self.outcome_ = replace(self.outcome_, interrupted=True)
        return self

    monkeypatch.setattr(linsep.LinearSVM, "fit", stopped)
    with pytest.warns(LinsepWarning, match="1 of 3 values of C"):
        choice = linsep.choose(linsep.LinearSVM(), *data, "C", [1.0, 2.0, 3.0])
    assert choice.interrupted
    assert choice.values == [1.0]


def test_progress_on_stderr(data, capsys):
    linsep.choose(SVC(), *data, "C", [1.0, 2.0], cv=3, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("C 2: cross-validated")


def test_a_grid_of_two_parameters_is_that_of_scikit_learn():
    from sklearn.datasets import make_moons
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    X, y = make_moons(90, noise=0.3, random_state=0)
    costs, gammas = [0.1, 1.0, 10.0], [0.1, 1.0]
    folds = StratifiedKFold(3)
    choice = linsep.choose(linsep.KernelSVM(), X, y, ["C", "gamma"], [costs, gammas], cv=folds)
    assert choice.values == [(c, g) for c in costs for g in gammas]
    assert choice.parameter == "C, gamma"
    theirs = GridSearchCV(linsep.KernelSVM(), {"C": costs, "gamma": gammas}, cv=folds).fit(X, y)
    scores = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(1 - choice.cv_risk, scores, atol=1e-12)
    best = choice.best_estimator_
    assert (best.C, best.gamma) == choice.best
    assert str(choice.best) in str(choice)


@pytest.mark.parametrize("values", [[[1.0]], "ab", [[1.0], []], None])
def test_a_grid_needs_values_for_every_parameter(values):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    with pytest.raises(linsep.errors.SettingError, match="values"):
        linsep.choose(linsep.KernelSVM(), X, y, ["C", "gamma"], values)
